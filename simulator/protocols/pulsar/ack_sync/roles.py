"""Protocols by role: what acknowledgement-state sync needs of subscriptions, topics and the runtime.

Rules: `broker.subscription.Subscription`, `broker.topic.Topic`, `broker.cluster.Cluster`,
`replication.replicator.Replicator` and `runtime.Runtime` play these roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.storage.roles import ClusterOfLog, RuntimeOfLog, TopicInCluster

if TYPE_CHECKING:
    from simulator.kernel.links import Link
    from simulator.log.columns import SharedColumn
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.ack_sync.filter import AcknowledgementFilter
    from simulator.protocols.pulsar.ack_sync.sync import AcknowledgementSender
    from simulator.protocols.pulsar.scenario.client_model import SubscriptionSpec


class WindowOfSync(Protocol):
    """The window of a failover (`failover.window.FailoverWindow`)."""

    target: str

    def settled(self, message: int) -> None:
        """A message was acknowledged."""


class ClusterOfSync(ClusterOfLog, Protocol):
    """The cluster of a topic. `index` is its ordinal: the origin of the entries published there."""

    index: int

    @property
    def topics(self) -> Mapping[str, TopicOfSync]:
        """Its topics by name."""


class RuntimeOfSync(RuntimeOfLog, Protocol):
    """Clock, trace, clusters, and the latest failover of each subscription."""

    subscriptions: dict[str, SubscriptionSpec]
    synchronised: dict[str, None]

    @property
    def clusters(self) -> Mapping[str, ClusterOfSync]:
        """The clusters by name."""

    @property
    def windows(self) -> Mapping[str, WindowOfSync]:
        """The window of each subscription's latest failover."""

    def emit(self, row: tuple[int, ...]) -> int:
        """Write a row of numbers; returns its seq."""


class BrokenProcessOfSync(Protocol):
    """What a connection still carries after a broker process died (`broken_process.BrokenProcess`)."""

    @property
    def is_closing(self) -> bool:
        """Whether the peer's process is dead and the sender has not noticed."""

    def carries(self, connection: int) -> bool:
        """Whether what a dead process sent on this connection arrives."""


class ReplicatorOfSync(Protocol):
    """The replication to another cluster."""

    link: Link

    @property
    def broken(self) -> BrokenProcessOfSync:
        """What a connection still carries after a broker process died."""

    @property
    def connection(self) -> int:
        """The number of connections that it has made."""

    def reachable(self) -> bool:
        """Whether the link is up, and a broker at the peer has the topic."""


class SubscriptionOfSync(Protocol):
    """A subscription whose acknowledgements are synchronised."""

    name: str
    number: int
    type: str
    cursor: Cursor
    sender: AcknowledgementSender | None
    filter: AcknowledgementFilter

    @property
    def topic(self) -> TopicOfSync:
        """The topic that it reads."""

    @property
    def runtime(self) -> RuntimeOfSync:
        """Clock, trace and clusters."""

    def after_acknowledgement(self, before: int, reason: str, cause: int) -> None:
        """Apply the consequences of acks; the mark-delete was at `before`."""


class TopicOfSync(TopicInCluster, Protocol):
    """The topic of a synchronised subscription.

    `source_indices` are its entries' indices in the log of the cluster where they were published.
    """

    base: str
    partition: int
    source_indices: SharedColumn

    @property
    def cluster(self) -> ClusterOfSync:
        """The cluster that it is in."""

    @property
    def runtime(self) -> RuntimeOfSync:
        """Clock, trace and clusters."""

    @property
    def replicators(self) -> Mapping[str, ReplicatorOfSync]:
        """Its replicators by peer."""

    @property
    def subscriptions(self) -> Mapping[str, SubscriptionOfSync]:
        """Its subscriptions by name."""

    def remote_clusters(self) -> list[str]:
        """The clusters that it replicates to."""

    def add_subscription(
        self, name: str, type_: str, mark_delete: int, replicated: bool, reason: str, cause: int
    ) -> SubscriptionOfSync:
        """Open a cursor with this mark-delete index."""
