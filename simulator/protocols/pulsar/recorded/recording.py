"""A recording in memory: all its rows, and what one row says about another.

Rules: it never changes, so every world of a lab shares it. A message or marker on its way is found by pairing
the row that sent it with the row that stored it at the peer. Failovers are counted once, over all rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from simulator.counting import CountedFailover, CountingError
from simulator.kernel.distributions import Sampler
from simulator.kernel.links import Link
from simulator.kernel.random import stream_key
from simulator.log.cursors import Border, Cursor
from simulator.log.ledgers import TopicLog
from simulator.protocols.pulsar.creation.catalogue import partition_names
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.protocols.pulsar.snapshots.controller import Builder, SnapshotNames
from simulator.protocols.pulsar.snapshots.rules import CachedSnapshot
from simulator.protocols.pulsar.verdicts.count import count_run
from simulator.scenarios.model import Scenario
from simulator.system.system import System
from simulator.trace.recorded_files import FOLDERS, RecordedFile, damaged, read_rows
from simulator.trace.registry import Vocabulary
from simulator.trace.trace import BLOCK_ROWS, Trace

# --- the parts of a recorded run's state: topics, subscriptions, replicators, consumers and producers
#
# Rules: plain data that a checkpoint can pickle. Logs and cursors are those of the engine
# (`simulator.log`), so positions, ranges and backlog are computed and printed in the same way. `handlers`
# changes the parts, row by row.


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
    """The cached snapshots of a subscription, when one was last used for an Update, and its positions."""

    kept: list[CachedSnapshot] = field(default_factory=list)
    last_update_us: int | None = None
    used: tuple[tuple[str, int, int], ...] = ()


class RecordedSubscription:
    """A subscription in one cluster."""

    def __init__(self, topic: RecordedTopic, type_: str, mark_delete: int, replicated: bool) -> None:
        self.topic = topic
        self.type = type_
        self.replicated = replicated
        self.cursor = Cursor(mark_delete)
        self.begin = mark_delete  # entries up to here were never due to its consumers
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


RECORDINGS_KEPT = 4
"""Recordings that stay in memory, of at most 100 MB each."""

SENT = ("message.replicated", "marker.sent")
ARRIVED = ("message.stored", "marker.stored", "message.deduplicated")


class Recording:
    """The rows of one recorded run.

    - `departures`: the row that sent what a row stored at a peer.
    - `arrivals_us`: when what a row sent was stored at the peer.
    - `batches`: by the first row of an entry with several messages their number.
    - `positions`: by snapshot the positions in the other clusters, by name.
    - `logs`: the (cluster, log) pairs that occur.
    - `messages`: for each row that stored a message its number, the same in every cluster; -1 for other rows.
    """

    def __init__(self, file: RecordedFile, trace: Trace, failovers: list[CountedFailover]) -> None:
        self.file = file
        self.trace = trace
        self._rows = [
            row
            for first in range(0, len(trace), BLOCK_ROWS)
            for row in trace.tuples(first, first + BLOCK_ROWS)
        ]
        self.instants = array("q", (row[1] for row in self._rows))
        self.failovers = failovers
        self.played = False  # whether all rows have been played once, so that they are known to fit
        self.departures: dict[int, int] = {}
        self.arrivals_us: dict[int, int] = {}
        self.batches: dict[int, int] = {}
        self.positions: dict[int, tuple[tuple[str, int, int], ...]] = {}
        self.logs: dict[tuple[str, str], None] = {}
        self.messages = np.full(len(self._rows), -1, dtype=np.int64)
        self._pair_rows()
        self._count_batches()
        self._number_messages()
        self._collect_positions()
        for row in self._of_types("topic.loaded", "message.stored", "marker.written"):
            self.logs[row["cluster"], row["topic"]] = None

    def _pair_rows(self) -> None:
        on_the_way: dict[tuple[Any, ...], int] = {}
        for row in self._of_types(*SENT, *ARRIVED):
            if row.get("batch_index", 0) or "peer" not in row:
                continue
            thing = (row.get("marker"), row.get("producer"), row.get("sequence_id"))
            if row["type"] in SENT:
                on_the_way[row["cluster"], row["peer"], row["topic"], *thing] = row["seq"]
                continue
            sent = on_the_way.pop((row["peer"], row["cluster"], row["topic"], *thing), None)
            if sent is not None:
                self.departures[row["seq"]] = sent
                self.arrivals_us[sent] = row["at_us"]

    def _count_batches(self) -> None:
        first: dict[tuple[str, str], int] = {}  # (cluster, topic) -> row of the batched entry under way
        for row in self._of_types("message.stored"):
            if "batch_index" not in row:
                continue
            log = row["cluster"], row["topic"]
            if row["batch_index"] == 0:
                first[log] = row["seq"]
            if log in first:
                self.batches[first[log]] = row["batch_index"] + 1

    def _number_messages(self) -> None:
        self.numbers: dict[tuple[str, int], int] = {}
        for row in self._of_types("message.stored"):
            identity = row["producer"], row["sequence_id"]
            self.messages[row["seq"]] = self.numbers.setdefault(identity, len(self.numbers))

    def _collect_positions(self) -> None:
        found: dict[int, dict[str, tuple[int, int]]] = {}
        for row in self._of_types("snapshot.position"):
            found.setdefault(row["snapshot"], {})[row["peer"]] = (row["to_ledger"], row["to_entry"])
        for snapshot, there in found.items():
            self.positions[snapshot] = tuple((name, *there[name]) for name in sorted(there))

    def next_at_us(self, seq: int) -> int | None:
        """The instant of row `seq`; None after the last row."""
        return self.instants[seq] if seq < len(self.instants) else None

    def values(self, seq: int) -> tuple[int, ...]:
        """A row as it is written to a trace."""
        return self._rows[seq]

    def row(self, seq: int) -> dict[str, Any]:
        """A row with its non-null columns, names as strings."""
        return self.trace.as_dict(seq, self._rows[seq])

    def _of_types(self, *types: str) -> Iterator[dict[str, Any]]:
        codes = [self.trace.vocabulary.code[name] for name in types]
        return (self.row(seq) for seq, values in enumerate(self._rows) if values[0] in codes)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A recording that is asked for; a file that was changed is another one."""

    path: Path
    stamp: tuple[int, int]
    scenario_text: str
    file: RecordedFile = field(compare=False)
    scenario: Scenario = field(compare=False)
    vocabulary: Vocabulary = field(compare=False)


def recording_of(scenario: Scenario, vocabulary: Vocabulary) -> Recording:
    """The recording that a scenario names. Raises RecordingError."""
    file = FOLDERS.find(scenario.recording)
    return _read(_Asked(file.path, file.stamp, scenario.canonical_text, file, scenario, vocabulary))


@lru_cache(maxsize=RECORDINGS_KEPT)
def _read(asked: _Asked) -> Recording:
    trace = read_rows(asked.file, asked.vocabulary)
    try:
        return Recording(asked.file, trace, count_run(trace, asked.scenario).failovers)
    except (AttributeError, CountingError, IndexError, KeyError, TypeError, ValueError) as error:
        raise damaged(asked.path, f"its rows contradict each other ({error})") from error


# --- the state of a recorded run at an instant, which its rows change one by one


RANGES_MAX = 200
"""Ranges of a cursor that are remembered of a failover."""

Row = dict[str, Any]


class RecordedState(System):
    """Clusters, links and producers of a recorded run.

    `cursors_at_failovers` has for each failover, by the row that began it, the target's cursors then.
    """

    scenario: PulsarScenario
    shared_types = (Recording,)

    def __init__(self, scenario: PulsarScenario, seed: int, trace: Trace, recording: Recording) -> None:
        super().__init__(scenario, seed, trace)
        self.recording = recording
        self.cluster_names = sorted(scenario.clusters)
        self.snapshot_names = SnapshotNames()
        self.clusters = {name: RecordedCluster() for name in self.cluster_names}
        self.subscriptions = dict(scenario.subscriptions)
        self.client_states: dict[str, str] = {}  # of consumers, once they changed
        self.cursors_at_failovers: dict[int, dict[str, dict[str, Any]]] = {}
        self.producers = {
            name: RecordedProducer(spec.cluster, spec.topic, "paused" if spec.paused else "running")
            for name, spec in sorted(scenario.producers.items())
        }
        for (source, target), link in sorted(scenario.links.items()):
            sampler = Sampler(link.latency, stream_key(seed, f"latency/{source}/{target}"))
            self.links[source, target] = Link(source, target, sampler, link.bandwidth_bytes_per_s)
        self._add_logs()

    def _add_logs(self) -> None:
        """Every log of the scenario and of the rows, so that worlds of a branch have the same ones."""
        for base, spec in sorted(self.scenario.topics.items()):
            known = dict(partition_names(base, spec.partitions))
            for cluster in self.cluster_names:
                own = [log for where, log in self.recording.logs if where == cluster]
                named = {log: known[log] for log in known if cluster in spec.clusters}
                named |= {log: _partition(base, log) for log in sorted(own) if _is_log_of(base, log)}
                remotes = tuple(sorted(peer for peer in spec.clusters if peer != cluster))
                for log, partition in named.items():
                    self.clusters[cluster].topics[log] = RecordedTopic(cluster, base, log, partition, remotes)

    def remember_cursors(self, seq: int, target: str, subscription: str) -> None:
        """Remember the cursors of a subscription in the cluster to which it fails over."""
        self.cursors_at_failovers[seq] = {
            name: {
                "mark_delete_index": found.cursor.mark_delete,
                "ranges": [list(pair) for pair in found.cursor.ranges(RANGES_MAX)],
            }
            for name, topic in self.clusters[target].topics.items()
            if (found := topic.subscriptions.get(subscription)) is not None
        }

    # --- the interface that the world requires of every protocol

    @property
    def subscription_names(self) -> list[str]:
        return sorted(self.subscriptions)

    @property
    def topic_names(self) -> dict[str, list[str]]:
        return {name: list(cluster.topics) for name, cluster in self.clusters.items()}

    def growing(self) -> dict[Any, Any]:
        return {(topic.cluster, topic.name): topic.log for topic in self._every_topic()}

    def adopt(self, grown: Mapping[Any, Any]) -> None:
        for topic in self._every_topic():
            topic.log.share(grown[topic.cluster, topic.name])

    def depart(self) -> None:
        super().depart()
        for topic in self._every_topic():
            topic.log.depart()

    def cut_back(self) -> None:
        super().cut_back()
        for topic in self._every_topic():
            topic.log.cut_back()

    def _every_topic(self) -> list[RecordedTopic]:
        return [topic for name in self.cluster_names for topic in self.clusters[name].topics.values()]


RowHandler = Callable[[RecordedState, Row], None]


def topic_of(state: RecordedState, row: Row) -> RecordedTopic:
    """The log of a row."""
    return state.clusters[row["cluster"]].topics[row["topic"]]


def subscription_of(state: RecordedState, row: Row) -> RecordedSubscription | None:
    """The subscription of a row; None for rows that come after it was deleted."""
    return topic_of(state, row).subscriptions.get(row["subscription"])


def _is_log_of(base: str, log: str) -> bool:
    return log == base or log.startswith(f"{base}-partition-")


def _partition(base: str, log: str) -> int:
    """The number of a partition, -1 for a plain topic."""
    number = log.removeprefix(f"{base}-partition-")
    return int(number) if log != base and number.isdecimal() else -1
