"""The history of each stream of a group: its leases, progress, deliveries and acknowledgements.

Rules: this module only reads rows, it judges nothing. A position after the last message of a closed stream is
`END`. Rows are in order of seq. Rows of messages and of sessions' reports, most of a trace, are read a block
at a time by columns, after the block's other rows, which do not depend on them. A share of a run's topics
lacks the rows of other topics only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simulator.protocols.emqx.events import BY_NAME
from simulator.protocols.emqx.protocol import END
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.trace.trace import Trace


class Row(NamedTuple):
    """One row of the trace, as numbers, with the columns that this module needs."""

    seq: int
    type: int
    at_us: int
    cause_seq: int
    subscription: int
    topic: int
    client: int
    producer: int
    sequence_id: int
    entry: int
    to_entry: int
    ledger: int
    count: int  # type: ignore[assignment]  # the trace's column; nothing counts in a row
    reason: int
    detail: int
    key: int
    duration_us: int


class Step(NamedTuple):
    """Progress up to `position`, recorded by `who`: a leader, or a session and its borrower."""

    seq: int
    position: int
    who: Any


Reader = tuple[int, int]
"""A session and the number of its borrower."""


class Delivery(NamedTuple):
    seq: int
    at_us: int
    client: int
    chunk_seq: int


class Acknowledgement(NamedTuple):
    seq: int
    client: int


@dataclass(slots=True)
class Lease:
    """One lease of a stream, from its grant until it was released or its borrower was gone."""

    seq: int
    at_us: int
    client: int
    borrower: int
    leader: int
    position: int
    granted_seq: int  # the leader's decision
    end_us: int | None = None


@dataclass(slots=True)
class StreamHistory:
    """The history of one stream in one group."""

    found_us: int | None = None
    done_us: int | None = None
    leases: list[Lease] = field(default_factory=list)
    reports: list[Step] = field(default_factory=list)
    saved: list[Step] = field(default_factory=list)
    persisted: list[Step] = field(default_factory=list)
    position: int = 0  # in the latest leader's memory
    # (client, first offset, offset after the last) of each chunk
    taken: list[tuple[int, int, int]] = field(default_factory=list)
    # by the row of a chunk, its lease; None: the session sent its own chunk again
    chunks: dict[int, Lease | None] = field(default_factory=dict)
    decisions: dict[Reader, int] = field(default_factory=dict)  # seq of the latest decision to grant
    newest: dict[Reader, Lease] = field(default_factory=dict)  # the latest lease of each reader
    delivered: dict[int, list[Delivery]] = field(default_factory=dict)  # by offset
    acknowledged: dict[int, list[Acknowledgement]] = field(default_factory=dict)


@dataclass(slots=True)
class Life:
    """A group from its declaration until it was destroyed.

    It reads the messages that were stored from `start_us` on and before the row `until_seq`.
    """

    start_us: int
    until_seq: int = END

    def covers(self, at_us: int, seq: int) -> bool:
        """Whether the group reads a message that was stored then."""
        return at_us >= self.start_us and seq < self.until_seq


@dataclass(slots=True)
class GroupHistory:
    """One group: its lives, streams, sessions that subscribed and leaders.

    Lives and leaders are in order; streams are keyed by name number.
    """

    name: str
    filter: str
    lives: list[Life] = field(default_factory=list)
    streams: dict[int, StreamHistory] = field(default_factory=dict)
    sessions: dict[int, None] = field(default_factory=dict)
    leaders: list[int] = field(default_factory=list)
    # the streams that each reader was ever granted
    read: dict[Reader, dict[int, StreamHistory]] = field(default_factory=dict)

    def stream(self, number: int) -> StreamHistory:
        if number not in self.streams:
            self.streams[number] = StreamHistory()
        return self.streams[number]


@dataclass(slots=True)
class Stored:
    """The messages of a stream in storage: publisher, number, row and instant, by offset."""

    topic: str
    messages: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)


class Histories:
    """Every group's history in the rows before `upto_seq`.

    `end_us` is the instant of the last one.
    """

    def __init__(self, trace: Trace, upto_seq: int | None = None, end_us: int | None = None) -> None:
        """A share of a run is given the run's `end_us`, as it may lack the last row."""
        self.upto_seq = len(trace) if upto_seq is None else min(upto_seq, len(trace))
        self.names = trace.names
        self.groups: dict[int, GroupHistory] = {}
        self.stored: dict[int, Stored] = {}
        self.clients: dict[tuple[int, int], int] = {}  # message -> the MQTT client that published it
        if end_us is None:
            end_us = trace.at_us(self.upto_seq - 1) if self.upto_seq else 0
        self.end_us = end_us
        takes = {BY_NAME[name].code: partial(take, self) for name, take in _TAKES.items()}
        wanted = sorted(takes)
        for seqs, columns in trace.parts(self.upto_seq, Row._fields[1:]):
            for row in _rows(seqs, columns, wanted):
                takes[row.type](row)
            for name, (take, names) in _TAKES_COLUMNS.items():
                places = np.flatnonzero(columns["type"] == BY_NAME[name].code)
                take(self, seqs[places].tolist(), *(columns[column][places].tolist() for column in names))

    def _stream(self, row: Row) -> StreamHistory:
        return self.groups[row.subscription].stream(row.topic)

    def _published(
        self, _seqs: list[int], producers: list[int], numbers: list[int], clients: list[int]
    ) -> None:
        self.clients.update(zip(zip(producers, numbers), clients))

    def _stored(
        self,
        seqs: list[int],
        topics: list[int],
        offsets: list[int],
        producers: list[int],
        numbers: list[int],
        instants: list[int],
    ) -> None:
        for topic, offset, message in zip(topics, offsets, zip(producers, numbers, seqs, instants)):
            self.stored[topic].messages[offset] = message

    def _delivered(
        self,
        seqs: list[int],
        groups: list[int],
        topics: list[int],
        offsets: list[int],
        instants: list[int],
        clients: list[int],
        chunks: list[int],
    ) -> None:
        for seq, group, topic, offset, at_us, client, chunk_seq in zip(
            seqs, groups, topics, offsets, instants, clients, chunks
        ):
            if group in self.groups:
                self.groups[group].stream(topic).delivered.setdefault(offset, []).append(
                    Delivery(seq, at_us, client, chunk_seq)
                )

    def _acknowledged(
        self, seqs: list[int], groups: list[int], topics: list[int], offsets: list[int], clients: list[int]
    ) -> None:
        for seq, group, topic, offset, client in zip(seqs, groups, topics, offsets, clients):
            if group in self.groups:
                self.groups[group].stream(topic).acknowledged.setdefault(offset, []).append(
                    Acknowledgement(seq, client)
                )

    def _opened(self, row: Row) -> None:
        self.stored[row.topic] = Stored(self.names[row.topic].split("/", 2)[2])

    def _progress_reported(
        self, seqs: list[int], groups: list[int], topics: list[int], entries: list[int], clients: list[int]
    ) -> None:
        for seq, group, topic, entry, client in zip(seqs, groups, topics, entries, clients):
            self.groups[group].stream(topic).reports.append(Step(seq, _position(entry), client))

    def _declared(self, row: Row) -> None:
        name, asked = self.names[row.subscription], self.names[row.detail]
        wanted = asked.split("/", 1)[1] if asked.startswith("$queue/") else asked.split("/", 2)[2]
        if row.subscription not in self.groups:
            self.groups[row.subscription] = GroupHistory(name, wanted)
        self.groups[row.subscription].lives.append(Life(row.duration_us))

    def _destroyed(self, row: Row) -> None:
        group = self.groups[row.subscription]
        group.lives[-1].until_seq = row.seq
        for stream in group.streams.values():
            stream.done_us = row.at_us if stream.done_us is None else stream.done_us

    def _subscribed(self, row: Row) -> None:
        if row.subscription in self.groups:
            self.groups[row.subscription].sessions[row.client] = None

    def _elected(self, row: Row) -> None:
        self.groups[row.subscription].leaders.append(row.count)

    def _found(self, row: Row) -> None:
        stream = self._stream(row)
        stream.found_us = row.at_us if stream.found_us is None else stream.found_us
        stream.done_us = None
        stream.position = row.entry
        stream.saved.append(Step(row.seq, row.entry, row.count))  # a stream that is found again starts over

    def _loaded(self, row: Row) -> None:
        self._stream(row).position = _position(row.entry)

    def _assigned(self, row: Row) -> None:
        if self.names[row.reason] == "granting":
            self._stream(row).decisions[row.client, row.count] = row.seq

    def _leased(self, row: Row) -> None:
        group, who = self.groups[row.subscription], (row.client, row.count)
        stream = group.stream(row.topic)
        if self.names[row.reason] == "granted":
            lease = Lease(
                row.seq, row.at_us, *who, row.ledger, _position(row.entry), stream.decisions.get(who, row.seq)
            )
            stream.leases.append(lease)
            stream.newest[who] = lease
            group.read.setdefault(who, {})[row.topic] = stream
        else:
            _release(stream, who, row.at_us)

    def _borrower(self, row: Row) -> None:
        if row.subscription in self.groups and self.names[row.reason] in ("gone", "unsubscribing"):
            who = (row.client, row.count)
            for stream in self.groups[row.subscription].read.get(who, {}).values():
                _release(stream, who, row.at_us)

    def _fetched(self, row: Row) -> None:
        if row.subscription in self.groups:
            stream, again = self._stream(row), self.names[row.reason] == "again"
            stream.taken.append((row.client, row.entry, row.to_entry))
            stream.chunks[row.seq] = None if again else stream.newest[row.client, row.count]

    def _saved(self, row: Row) -> None:
        stream = self._stream(row)
        stream.position = _position(row.to_entry)
        stream.saved.append(Step(row.seq, stream.position, row.count))
        if stream.position == END:
            stream.done_us = row.at_us

    def _persisted(self, row: Row) -> None:
        self._stream(row).persisted.append(Step(row.seq, _position(row.entry), row.count))


_TAKES: dict[str, Callable[[Histories, Row], None]] = {
    "group.declared": Histories._declared,
    "group.destroyed": Histories._destroyed,
    "session.subscribed": Histories._subscribed,
    "borrower.changed": Histories._borrower,
    "lease.changed": Histories._leased,
    "chunk.fetched": Histories._fetched,
    "progress.saved": Histories._saved,
    "progress.persisted": Histories._persisted,
    "progress.loaded": Histories._loaded,
    "stream.found": Histories._found,
    "stream.opened": Histories._opened,
    "assignment.changed": Histories._assigned,
    "leader.elected": Histories._elected,
}
"""The handler of each type of row; types neither here nor below are not about groups."""

_TAKES_COLUMNS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "message.published": (Histories._published, ("producer", "sequence_id", "key")),
    "message.stored": (Histories._stored, ("topic", "entry", "producer", "sequence_id", "at_us")),
    "message.delivered": (
        Histories._delivered,
        ("subscription", "topic", "entry", "at_us", "client", "cause_seq"),
    ),
    "message.acknowledged": (Histories._acknowledged, ("subscription", "topic", "entry", "client")),
    "progress.told": (Histories._progress_reported, ("subscription", "topic", "entry", "client")),
}
"""The handlers of a block's rows about messages and sessions' reports, and the columns that they read."""

TYPES_READ = (*_TAKES, *_TAKES_COLUMNS)
COLUMNS_READ = Row._fields[1:]
"""The types and columns of the rows that counting reads."""


def _release(stream: StreamHistory, who: Reader, at_us: int) -> None:
    lease = stream.newest.get(who)
    if lease is not None and lease.end_us is None:
        lease.end_us = at_us


def _position(entry: int) -> int:
    return END if entry == NULL else entry


def _rows(seqs: np.ndarray, columns: Mapping[str, np.ndarray], wanted: list[int]) -> Iterator[Row]:
    """A block's rows of these types, in order."""
    places = np.flatnonzero(np.isin(columns["type"], wanted))
    return map(Row, seqs[places].tolist(), *(columns[name][places].tolist() for name in Row._fields[1:]))
