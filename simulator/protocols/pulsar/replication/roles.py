"""Protocols by role: what the rules for one entry need of a replicator and of both topics.

Rules: `replication.replicator.Replicator`, `broker.topic.Topic`, `broker.cluster.Cluster` and
`runtime.Runtime` play these roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from simulator.protocols.pulsar.storage.roles import ClusterOfLog, RuntimeOfLog, TopicInCluster

if TYPE_CHECKING:
    from simulator.log.columns import SharedColumn
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.broker.hot_settings import HotSettings
    from simulator.protocols.pulsar.markers.entries import Marker
    from simulator.protocols.pulsar.replication.copy_size import CopySize
    from simulator.protocols.pulsar.replication.receipts import Receipts
    from simulator.protocols.pulsar.snapshots.controller import SnapshotController
    from simulator.protocols.pulsar.storage.retention import Expired
    from simulator.protocols.pulsar.storage.tail_read import TailRead


class ClusterOfEntries(ClusterOfLog, Protocol):
    """A cluster to which entries are replicated."""

    @property
    def topics(self) -> Mapping[str, TopicOfEntries]:
        """Its topics by name."""


class RuntimeOfEntries(RuntimeOfLog, Protocol):
    """Clock, trace, clusters, and the requested faults of markers."""

    marker_faults: list[dict[str, Any]]

    @property
    def clusters(self) -> Mapping[str, ClusterOfEntries]:
        """The clusters by name."""


class ReaderOfTail(Protocol):
    """A replicator of the topic, whose read may wait at the end of the log."""

    tail: TailRead


class TopicOfEntries(TopicInCluster, Protocol):
    """A topic that a replicator reads, or to which it appends."""

    hot: HotSettings
    producers_seen: dict[str, tuple[int, int]]
    controller: SnapshotController | None

    @property
    def replicators(self) -> Mapping[str, ReaderOfTail]:
        """Its replicators by peer."""

    @property
    def stored_seqs(self) -> SharedColumn:
        """The rows that stored the entries, by index in its log."""

    def note_marker(
        self, event: str, marker: Marker, peer: str | None, index: int, cause: int, *more: int
    ) -> int:
        """Write a row about the marker at `index`."""

    def replicated_subscriptions_possible(self) -> bool:
        """Whether the feature is on and the topic is replicated."""

    def create_controller(self) -> SnapshotController:
        """Create its snapshot controller, if it has none."""

    def start_controller(self, reason: str, cause: int) -> SnapshotController:
        """Create the controller and start its timer."""

    def append_marker(self, marker: Marker, source: str | None, cause: int, copied_bytes: int = 0) -> int:
        """Append a marker; returns its row's seq."""

    def append_messages(
        self, first: int, count: int, source: int, size_bytes: int, cause: int, source_index: int
    ) -> int:
        """Append an entry; returns the seq of its first row."""

    def wake(self, cause: int) -> None:
        """Entries were appended: replicators and dispatchers continue."""

    def wake_dispatchers(self, cause: int) -> None:
        """A message of another cluster was appended: dispatchers continue."""


class ReplicatorOfEntries(Protocol):
    """A replicator to which the rules for an entry apply."""

    peer: str
    peer_number: int
    peer_bit: int
    origin_index: int
    cursor: Cursor
    expired: Expired
    receipts: Receipts
    read_index: int
    read_to: int
    copy_size: CopySize

    @property
    def topic(self) -> TopicOfEntries:
        """The topic that it reads."""

    @property
    def runtime(self) -> RuntimeOfEntries:
        """Clock, trace and clusters."""

    def send(self, index: int, size_bytes: int, copied_bytes: int, seq: int, extra_us: int = 0) -> None:
        """Put an entry on the wire."""
