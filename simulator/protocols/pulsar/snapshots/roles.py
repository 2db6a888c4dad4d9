"""Protocols by role: what a snapshot controller needs of its topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.storage.roles import RuntimeOfLog, TopicInCluster

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.markers.entries import Marker
    from simulator.protocols.pulsar.scenario.client_model import SubscriptionSpec
    from simulator.protocols.pulsar.snapshots.names import SnapshotNames
    from simulator.protocols.pulsar.snapshots.rules import Rule


class RuntimeOfController(RuntimeOfLog, Protocol):
    """What a controller needs of the simulated system (`runtime.Runtime`)."""

    seed: int
    marker_count: int
    snapshot_count: int
    snapshot_names: SnapshotNames
    subscriptions: dict[str, SubscriptionSpec]
    rule: Rule

    def chance(self, stream: str, index: int, share_millionths: int) -> bool:
        """Whether an item of a random stream falls in the share."""


class ReplicatorOfController(Protocol):
    """The replication to another cluster (`replication.replicator.Replicator`)."""

    @property
    def connected(self) -> bool:
        """Whether its producer is connected."""


class SubscriptionOfController(Protocol):
    """A replicated subscription (`broker.subscription.Subscription`)."""

    name: str
    number: int
    cursor: Cursor
    last_applied_us: int | None

    @property
    def topic(self) -> TopicInCluster:
        """The topic that it reads."""

    def acknowledge_up_to(self, index: int, reason: str, cause: int) -> bool:
        """Move the mark-delete to `index`."""

    def acknowledge_listed(self, entries: Sequence[int], peer: str, evidence_seq: int, cause: int) -> None:
        """Individually delete entries that a peer's Update lists."""


class TopicOfController(TopicInCluster, Protocol):
    """The topic whose snapshots a controller takes (`broker.topic.Topic`)."""

    terminated: bool
    data_timestamp_ms: int

    @property
    def runtime(self) -> RuntimeOfController:
        """Clock, trace and counters."""

    @property
    def replicators(self) -> Mapping[str, ReplicatorOfController]:
        """Its replicators by peer."""

    @property
    def subscriptions(self) -> Mapping[str, SubscriptionOfController]:
        """Its subscriptions by name."""

    @property
    def last_confirmed(self) -> tuple[int, int]:
        """Position of the last entry whose append is complete."""

    def append_marker(self, marker: Marker, source: str | None, cause: int) -> int:
        """Append a marker; returns its row's seq."""

    def wake(self, cause: int) -> None:
        """Entries were appended: replicators and dispatchers continue."""

    def add_subscription(
        self, name: str, type_: str, mark_delete: int, replicated: bool, reason: str, cause: int
    ) -> SubscriptionOfController:
        """Open a cursor with this mark-delete index."""
