"""The parts of a recorded run's state: topics, subscriptions, replicators, consumers and producers.

Rules: plain data that a checkpoint can pickle. Logs and cursors are those of the engine (`simulator.log`), so
positions, ranges and backlog are computed and printed in the same way. `handlers` changes the parts, row by
row.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.log.border import Border
from simulator.log.cursors import Cursor
from simulator.log.ledgers import TopicLog
from simulator.protocols.pulsar.snapshots.building import Builder
from simulator.protocols.pulsar.snapshots.cache import CachedSnapshot


@dataclass(slots=True)
class RecordedController:
    """A snapshot controller.

    `last_completed_us` is when the newest completed snapshot had been requested, None before the first.
    """

    started_us: int
    period_us: int
    pending: dict[int, Builder] = field(default_factory=dict)
    last_completed_us: int | None = None


@dataclass(slots=True)
class RecordedReplicator:
    """A replicator; `on_the_wire` has the row that sent each entry that its peer has not stored yet."""

    topic: RecordedTopic
    peer: str
    read_index: int
    connected: bool = False
    on_the_wire: dict[int, int] = field(default_factory=dict)
    last_error: str | None = None

    @property
    def state(self) -> str:
        """Started or disconnected; a recording does not have the attempts in between."""
        return "started" if self.connected else "disconnected"

    @property
    def mark_delete(self) -> int:
        """The last entry up to which the peer has stored all."""
        return min(self.on_the_wire, default=self.read_index) - 1

    @property
    def backlog(self) -> int:
        """Entries that the peer has not stored."""
        return self.topic.log.length - 1 - self.mark_delete


@dataclass(slots=True)
class RecordedConsumer:
    """A connected consumer with the entries that it received and has not acknowledged, in order."""

    state: str = "running"
    unacked: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True)
class SnapshotsOfRecorded:
    """The cached snapshots of a subscription, and when one was last used for an Update."""

    kept: list[CachedSnapshot] = field(default_factory=list)
    last_update_us: int | None = None


class RecordedSubscription:
    """A subscription in one cluster."""

    def __init__(self, topic: RecordedTopic, type_: str, mark_delete: int, replicated: bool) -> None:
        self.topic = topic
        self.type = type_
        self.replicated = replicated
        self.cursor = Cursor(mark_delete)
        self.border = Border(topic.log)
        self.snapshots = SnapshotsOfRecorded()
        self.last_applied_us: int | None = None
        self.consumers: dict[str, RecordedConsumer] = {}
        self.delivered_to = mark_delete + 1  # after the last entry delivered or filtered

    def stand_at(self, ledger: int, entry: int) -> None:
        """Show the mark-delete at this position, which may be before the first entry of a ledger."""
        if entry < 0 and (ledger, entry) != self.topic.log.position(self.cursor.mark_delete):
            self.border.move(self.cursor.mark_delete, ledger)

    @property
    def read_index(self) -> int:
        """The next entry to deliver, as far as the rows show it."""
        return max(self.delivered_to, self.cursor.mark_delete + 1)

    @property
    def read_position_text(self) -> str:
        """The position of the next entry to deliver, or one past the newest."""
        log = self.topic.log
        if self.read_index < log.length:
            return log.text(self.read_index)
        ledger, entry = log.last_confirmed
        return f"{ledger}:{entry + 1}"

    @property
    def unacked(self) -> int:
        """Entries with consumers."""
        return sum(len(consumer.unacked) for consumer in self.consumers.values())

    @property
    def mark_delete_text(self) -> str:
        """The mark-delete as Pulsar prints it."""
        ledger, entry = self.border.position(self.cursor.mark_delete)
        return f"{ledger}:{entry}"

    @property
    def backlog(self) -> int:
        """Entries after the mark-delete that are not individually deleted, markers included."""
        return max(0, self.cursor.backlog(self.topic.log.length))


class RecordedTopic:
    """One log with everything that reads or writes it; an entry's record is the row that stored it."""

    def __init__(self, cluster: str, base: str, name: str, partition: int, remotes: tuple[str, ...]) -> None:
        self.cluster = cluster
        self.base = base
        self.name = name
        self.partition = partition
        self.remotes = remotes
        self.log = TopicLog()
        self.loaded = False
        self.counts = {
            "messages": 0,
            "snapshot_request": 0,
            "snapshot_response": 0,
            "snapshot": 0,
            "subscription_update": 0,
        }
        self.marker_bytes = 0
        self.controller: RecordedController | None = None
        self.replicators: dict[str, RecordedReplicator] = {}
        self.subscriptions: dict[str, RecordedSubscription] = {}

    def append(self, ledger: int, entry: int, seq: int, size_bytes: int, now_us: int) -> None:
        """Add the entry at a position, which must be the next one of its ledger."""
        if self.log.current is None or self.log.current.id != ledger:
            self.log.open_ledger(ledger, now_us)
        assert self.log.current is not None
        if entry != self.log.current.entries:
            raise ValueError(
                f"row {seq} stores {ledger}:{entry} in {self.cluster}, and the next entry of {self.name} is "
                f"{ledger}:{self.log.current.entries}"
            )
        self.log.append(seq, size_bytes, now_us)


@dataclass(slots=True)
class RecordedCluster:
    """A cluster and its logs by name."""

    state: str = "up"
    topics: dict[str, RecordedTopic] = field(default_factory=dict)


@dataclass(slots=True)
class RecordedProducer:
    """A producer with its counts of messages."""

    cluster: str | None
    topic: str
    state: str
    published: int = 0
    receipted: int = 0
    failed: int = 0
