"""The shared state of a simulated EMQX: nodes, storage, the leaders' store, groups, messages, network.

Rules: one per world, made as `runtime.Emqx`, which also holds the processes. The modules of the processes
import this one and not each other. Groups have the scenario's names. A group that a session subscribes to
without a declaration gets a name and begins at that instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.kernel.links import Link
from simulator.log.ledgers import SharedColumn
from simulator.protocols.emqx.figures import Figures, RowsWithFigures
from simulator.protocols.emqx.leader import FIRST_ROOT, Committed, LeaderStore
from simulator.protocols.emqx.scenario.sections import QUEUE, Subscription, matches
from simulator.protocols.emqx.storage import Rank, RankProgress, Reading, Storage, Stream
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import SETTINGS
from simulator.system.system import System
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

if TYPE_CHECKING:
    from simulator.protocols.emqx.network import Network
    from simulator.protocols.emqx.session import Session


# --- the order in which a session reads its private streams: in each shard, generation by generation
#
# Rules: a private stream waits until all streams of its subscription in the same shard with an earlier
# generation are read to their end. Borrowed streams never wait
# (`emqx_persistent_session_ds_stream_scheduler`). Nothing is added to a closed generation, so a stream that
# may be read stays readable.


def in_turn(reading: Reading, readings: Mapping[int, Reading], storage: Storage) -> bool:
    """Whether a stream may be read now."""
    if reading.borrower is None and not reading.in_turn:
        own = storage.streams[reading.stream].rank.generation
        reading.in_turn = all(
            other.at_end or generation >= own for other, generation in _beside(reading, readings, storage)
        )
    return reading.borrower is not None or reading.in_turn


def next_generations(ended: Reading, readings: Mapping[int, Reading], storage: Storage) -> list[int]:
    """The numbers of the readings that may have waited for this reading, which is at the stream's end."""
    if ended.borrower is not None:
        return []
    own = storage.streams[ended.stream].rank.generation
    return [other.number for other, generation in _beside(ended, readings, storage) if generation > own]


def _beside(
    reading: Reading, readings: Mapping[int, Reading], storage: Storage
) -> Iterator[tuple[Reading, int]]:
    """The other streams of a subscription in the same shard, each with its generation."""
    shard = storage.streams[reading.stream].rank.shard
    for other in readings.values():
        rank = storage.streams[other.stream].rank
        if other is not reading and other.subscription == reading.subscription and rank.shard == shard:
            yield other, rank.generation


FAULTY = (
    "crashes",
    "last-write-wins",
    "resubscribes",
    "multiply",
    "kills-leader",
    "forgotten",
    "invalidates",
    "claims",
    "unreachable",
)
"""Values of options that select a known fault of EMQX's code."""


class Node:
    """A node of the cluster."""

    __slots__ = ("name", "up")

    def __init__(self, name: str) -> None:
        self.name, self.up = name, True


class NodeLink(Link):
    """A link between two nodes, with its shares of lost, duplicated and reordered messages."""

    __slots__ = ("loss_millionths", "duplication_millionths", "reordering_millionths")
    loss_millionths: int
    duplication_millionths: int
    reordering_millionths: int


class Group(NamedTuple):
    """A group: its name in the lab, and the group and filter of its shared subscription."""

    name: str
    group: str
    filter: str


class Messages:
    """The stored messages by number: publisher, number at the publisher, quality of service (QoS)."""

    __slots__ = ("publisher", "number", "quality", "length")

    def __init__(self) -> None:
        self.publisher, self.number, self.quality = SharedColumn(), SharedColumn(), SharedColumn()
        self.length = 0

    def add(self, publisher: int, number: int, quality: int) -> int:
        """Add a message; returns its number."""
        place = self.length
        for column, value in zip(self.columns, (publisher, number, quality), strict=True):
            column.append_at(place, value)
        self.length = place + 1
        return place

    @property
    def columns(self) -> tuple[SharedColumn, SharedColumn, SharedColumn]:
        return self.publisher, self.number, self.quality

    @columns.setter
    def columns(self, given: tuple[SharedColumn, SharedColumn, SharedColumn]) -> None:
        self.publisher, self.number, self.quality = given


class ClusterState(System):
    """The shared state. `runtime.Emqx` sets `sessions` and `network`."""

    __slots__ = (
        "node_names",
        "nodes",
        "storage",
        "store",
        "messages",
        "sessions",
        "leader_count",
        "network",
        "groups",
        "settings",
        "batch_size",
        "max_inflight",
        "individual",
        "figures",
    )

    writers = RowsWithFigures
    rows: RowsWithFigures
    sessions: Mapping[str, Session]
    network: Network
    links: dict[tuple[str, str], NodeLink]  # type: ignore[assignment]  # of nodes, all of them

    def __init__(self, scenario: Scenario, seed: int, trace: Trace) -> None:
        super().__init__(scenario, seed, trace)
        self.settings: dict[str, Any] = dict(scenario.settings)
        self.node_names = sorted(scenario.nodes)
        self.nodes = {name: Node(name) for name in self.node_names}
        self.storage = Storage(self.setting("n_shards"))
        self.store = LeaderStore()
        self.messages = Messages()
        self.leader_count = 0
        self.figures = Figures()
        self.groups: dict[str, Group] = {}
        self.batch_size: int = self.setting("batch_size")
        self.max_inflight: int = self.setting("max_inflight")
        self.individual = self.name("individual")

    # --- what a protocol provides to the world

    def growing(self) -> dict[Any, Any]:
        return {
            "messages": self.messages.columns,
            "streams": {name: stream.columns for name, stream in self.storage.streams.items()},
        }

    def _holders(self) -> list[Messages | Stream]:
        return [self.messages, *self.storage.streams.values()]

    def adopt(self, grown: Mapping[Any, Any]) -> None:
        self.messages.columns = grown["messages"]
        for name, stream in self.storage.streams.items():
            stream.columns = grown["streams"][name]

    def depart(self) -> None:
        super().depart()
        for holder in self._holders():
            first, second, third = holder.columns
            length = holder.length
            holder.columns = first.prefix(length), second.prefix(length), third.prefix(length)

    def cut_back(self) -> None:
        super().cut_back()
        for holder in self._holders():
            for column in holder.columns:
                column.cut(holder.length)

    # --- settings

    def setting(self, name: str) -> Any:
        """The value of a setting by the broker's name for it; durations are us."""
        return self.settings[name] if name in self.settings else SETTINGS[name].default

    def fault(self, name: str) -> bool:
        """Whether an option selects a known fault of EMQX's code."""
        return self.option(name) in FAULTY

    # --- groups

    def declare(self, name: str, group: str, wanted: str, start_us: int, cause: int) -> None:
        """Declare a group, so that messages that match its filter are stored from now on."""
        self.groups[name] = Group(name, group, wanted)
        life = self.store.next_root()
        root = FIRST_ROOT if self.option("redeclaredGroup") == "adopted" else life
        self.store.groups[name] = Committed(
            start_us, RankProgress(self.fault("replayedGeneration")), root, life
        )
        self.storage.add_route(wanted)
        self.rows.group_declared(
            cause, subscription=name, duration_us=start_us, detail=Subscription(group, wanted).text
        )

    def destroy(self, name: str, cause: int) -> None:
        """Delete a group with its progress and its route.

        Its leader is informed by its next commit, which fails.
        """
        self.rows.group_destroyed(cause, subscription=name)
        del self.store.groups[name]
        self.storage.remove_route(self.groups[name].filter)

    def streams_of(self, name: str, start_us: int) -> list[tuple[str, Rank]]:
        """The streams of a group that reads from an instant on; none before that instant."""
        return self.storage.listed(self.groups[name].filter, start_us) if start_us <= self.now_us else []

    def group_name(self, subscription: Subscription) -> str | None:
        """The lab's name of a subscription's group; None for a private subscription."""
        return next(
            (one.name for one in self.groups.values() if (one.group, one.filter) == subscription), None
        )

    def subscription_of(self, name: str) -> Subscription:
        """The subscription with which a client joins a group."""
        return Subscription(self.groups[name].group, self.groups[name].filter)

    def register(self, subscription: Subscription, direct: bool, cause: int) -> None:
        """Store messages for a new subscription, by its route or by its group.

        A group that was not declared is declared. A private subscription may be `direct`.
        """
        group, wanted = subscription
        if group is None:
            self.storage.add_route(wanted, direct)
        elif self.option("emqxEdition") == "enterprise":
            name = self.group_name(subscription) or self.new_group_name(subscription)
            if name not in self.store.groups:
                self.declare(name, group, wanted, self.now_us, cause)
        elif self.group_name(subscription) is None:
            name = self.new_group_name(subscription)
            self.groups[name] = Group(name, group, wanted)

    def new_group_name(self, subscription: Subscription) -> str:
        """A name for a group that was not declared.

        It is the group's own name, or the subscription's text when that name is taken.
        """
        plain = "queue" if subscription.group == QUEUE else subscription.group
        return plain if plain is not None and plain not in self.groups else subscription.text

    def next_leader(self) -> int:
        """The number of a new leader, from 1."""
        self.leader_count += 1
        return self.leader_count

    # --- messages

    def keep(
        self, shard: int, topic: str, publisher: int, number: int, quality: int, size_bytes: int, cause: int
    ) -> None:
        """Store a published message if a route matches, and wake the readers of its stream."""
        kept = self.storage.wanted(topic)
        if kept is None:
            return
        stream, new = self.storage.stream_for(shard, topic, kept)
        message = self.messages.add(publisher, number, quality)
        # a message that is not kept has no rows before its delivery
        seq = self._note_stored(stream, new, publisher, number, size_bytes, cause) if kept else cause
        stream.append(message, seq, self.now_us)
        if new:
            self._offer(stream, seq)
        self.wake(stream)

    def _note_stored(
        self, stream: Stream, new: bool, publisher: int, number: int, size_bytes: int, cause: int
    ) -> int:
        if new:
            cause = self.rows.stream_opened(
                cause, topic=stream.name, count=stream.rank.shard, ledger=stream.rank.generation
            )
        return self.rows.message_stored(
            cause,
            cluster=NULL,
            peer=NULL,
            topic=self.name(stream.name),
            producer=publisher,
            sequence_id=number,
            ledger=stream.rank.generation,
            entry=stream.length,
            batch_index=NULL,
            size_bytes=size_bytes,
        )

    def _offer(self, stream: Stream, cause: int) -> None:
        """Let private subscriptions read a new stream from its beginning."""
        for session in self.sessions.values():
            if stream.kept or session.direct:
                for number, subscription in session.subscriptions.items():
                    if subscription.group is None and matches(stream.topic, subscription.filter):
                        session.read(number, None, None, stream.name, 0, cause)

    def wake(self, stream: Any) -> None:
        """Wake the readings that wait for a change of a stream."""
        readers, stream.readers = stream.readers, {}
        for session, reading in readers:
            self.sessions[session].wake(reading)

    def quality(self, reading: Reading, offset: int) -> int:
        """The quality of service (QoS) with which a message was published."""
        message = self.storage.streams[reading.stream].messages[offset]
        return self.messages.quality[message]
