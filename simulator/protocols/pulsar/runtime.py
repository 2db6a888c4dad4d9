"""The shared part of a simulated Pulsar beside clock and trace: tables of names, messages and markers.

Rules: one Runtime per world. Trace, messages, markers and the scenario are shared by the worlds of a branch
(see `simulator.system.checkpoint`). Everything else belongs to one world.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from pyroaring import BitMap

from simulator.kernel.clock import Handler
from simulator.protocols.pulsar.creation.policies import PolicyBook
from simulator.protocols.pulsar.creation.schema_registry import SchemaBook
from simulator.protocols.pulsar.lookup.service import LookupService
from simulator.protocols.pulsar.markers.entries import MarkerTable
from simulator.protocols.pulsar.snapshots.names import SnapshotNames
from simulator.protocols.pulsar.snapshots.rules import OPTION, rule_of
from simulator.protocols.pulsar.storage.messages import MessageTable
from simulator.scenarios.rule_files import BUILT_IN
from simulator.system.system import System
from simulator.trace.trace import Trace

if TYPE_CHECKING:
    from simulator.kernel.links import Link
    from simulator.protocols.pulsar.broker.session_roles import TopicOfSession
    from simulator.protocols.pulsar.creation.start_check import CheckedStart
    from simulator.protocols.pulsar.migration.run import Run
    from simulator.protocols.pulsar.runtime_roles import (
        BlueGreenOfRuntime,
        ClusterOfRuntime,
        ConsumerOfRuntime,
        FanOutOfRuntime,
        ProducerOfRuntime,
        ReplicatorOfRuntime,
    )
    from simulator.protocols.pulsar.scenario.client_model import SubscriptionSpec
    from simulator.protocols.pulsar.shadow.shadow_list import ShadowList
    from simulator.protocols.pulsar.storage.roles import TopicOfLog
    from simulator.scenarios.model import Scenario


class DrainingOfFailover(Protocol):
    """Follows how the subscription catches up (`failover.draining.Draining`)."""

    def look(self, topic: TopicOfLog) -> None:
        """Check the subscription again: its cursor in a topic of the target has moved."""


class WindowOfFailover(Protocol):
    """What the data plane reports to the window of a failover (`failover.window.FailoverWindow`)."""

    target: str

    @property
    def draining(self) -> DrainingOfFailover:
        """When the subscription has caught up at the target."""

    def delivered(self, message: int, topic: str, index: int) -> None:
        """A message is being delivered at the target."""

    def settled(self, message: int) -> None:
        """A message was acknowledged."""

    def close(self) -> None:
        """The next failover of the subscription begins."""

    def recount(self) -> None:
        """Messages were removed from a log of the target, or a cursor was opened there."""

    def cursor_reset(self, topic: TopicOfLog) -> None:
        """The subscription's cursor in a topic of the target was set back by an administrator."""

    def cursor_went_back(self, topic: TopicOfLog) -> None:
        """The subscription's cursor in a topic of the target covers less than before."""

    def topic_deleted(self, topic: TopicOfLog) -> None:
        """A topic of the target is about to be deleted."""


class FailoverOfSubscription(Protocol):
    """What the data plane needs of a failover (`failover.failover.Failover`) or of a migration's switch."""

    target: str

    @property
    def window(self) -> WindowOfFailover:
        """Its live figures."""


class MigrationOfTenant(Protocol):
    """What the data plane needs of a migration (`migration.migration.Migration`)."""

    run: Run

    def redirected(self, topic: TopicOfSession, subscription: str, cause: int) -> None:
        """A consumer of the subscription is redirected from the blue to the green cluster (PIP-188)."""


class RequestsToPeers(Protocol):
    """Sends administrative requests to other clusters (`creation.remote_admin.RemoteAdmin`)."""

    def create(self, request: Any) -> None:
        """create-partitioned-topic, copied."""

    def grow(self, request: Any) -> None:
        """update-partitioned-topic, copied."""

    def set_global_list(self, request: Any) -> None:
        """A global topic policy arrives."""

    def send(
        self,
        handle: Handler,
        source: str,
        target: str,
        base: str,
        what: int | tuple[str, ...] | None,
        cause: int,
    ) -> None:
        """Send a request, which the target passes to `handle`."""


class Runtime(System):
    """Directory of the simulated Pulsar."""

    __slots__ = (
        "messages",
        "message_count",
        "clusters",
        "cluster_names",
        "producers",
        "consumers",
        "markers",
        "snapshot_count",
        "snapshot_names",
        "replication",
        "partitions",
        "failovers",
        "marker_faults",
        "acknowledged",
        "delivered",
        "settled",
        "dropped",
        "subscriptions",
        "marker_count",
        "windows",
        "policies",
        "schemas",
        "remote_admin",
        "shadow_lists",
        "fan_out",
        "start_checks",
        "lookup",
        "migrations",
        "blue_green",
        "directory",
        "synchronised",
        "rule",
    )
    shared_types = (MessageTable, MarkerTable)

    def __init__(self, scenario: Scenario, seed: int, trace: Trace) -> None:
        super().__init__(scenario, seed, trace)
        self.rule = rule_of(self.option(OPTION))
        self.compares_replays = self.option(OPTION) != BUILT_IN
        self.messages = MessageTable()
        self.fan_out: FanOutOfRuntime  # created by `system.build`
        self.message_count = 0
        self.snapshot_count = 0
        self.snapshot_names = SnapshotNames()
        self.cluster_names: list[str] = sorted(scenario.clusters)
        self.clusters: Mapping[str, ClusterOfRuntime] = {}
        self.producers: Mapping[str, ProducerOfRuntime] = {}
        self.consumers: Mapping[str, ConsumerOfRuntime] = {}
        self.markers = MarkerTable()
        self.marker_count = 0
        self.failovers: list[FailoverOfSubscription] = []
        self.windows: dict[str, WindowOfFailover] = {}  # subscription -> the window of its latest failover
        self.replication: dict[str, list[tuple[str, str]]] = {}  # topic -> ordered pairs that replicate now
        self.policies = PolicyBook(scenario)
        self.remote_admin: RequestsToPeers  # created by `system.build`
        self.schemas = SchemaBook(scenario) if scenario.schemas else None
        # (row that requested the start, from, to, log) -> the last result of the check
        self.start_checks: dict[tuple[int, str, str, str], CheckedStart] = {}
        # (cluster, source topic) -> the shadow topics that it feeds
        self.shadow_lists: dict[tuple[str, str], ShadowList] = {}
        self.marker_faults: list[dict] = []  # requested delays and drops of the next marker of a type
        # subscription -> BitMap of message numbers the application acknowledged
        self.acknowledged: dict[str, BitMap] = {}
        # subscription -> BitMap of message numbers delivered to the application
        self.delivered: dict[str, BitMap] = {}
        self.settled: dict[str, BitMap] = {}  # subscription -> BitMap of message numbers expired or skipped
        # (subscription, cluster) -> messages whose latest copy there the client dropped because of its
        # cumulative ack in another cluster
        self.dropped: dict[tuple[str, str], BitMap] = {}
        self.subscriptions: dict[str, SubscriptionSpec] = dict(scenario.subscriptions)
        self.lookup = LookupService(self)
        self.migrations: list[MigrationOfTenant] = []  # in the order of their start
        self.blue_green: BlueGreenOfRuntime  # created by `system.build`
        # by cluster its tenants and roles, as (kind, name), also put here by `system.build`
        self.directory: dict[str, dict[tuple[str, str], None]] = {}
        # topics whose acknowledgements a migration has synchronised, beside those of the scenario
        self.synchronised: dict[str, None] = {}

    # --- the interface that the world requires of every protocol

    @property
    def subscription_names(self) -> list[str]:
        return sorted(self.subscriptions)

    @property
    def topic_names(self) -> dict[str, list[str]]:
        return {name: list(cluster.topics) for name, cluster in self.clusters.items()}

    def growing(self) -> dict[Any, Any]:
        columns = {
            (cluster.name, topic.name): (topic.log, topic.stored_seqs, topic.source_indices)
            for cluster in self.clusters.values()
            for topic in cluster.every_log()
        }
        return {"messages": self.messages, "markers": self.markers, "columns": columns}

    def adopt(self, grown: Mapping[Any, Any]) -> None:
        self.messages, self.markers = grown["messages"], grown["markers"]
        for cluster in self.clusters.values():
            for topic in cluster.every_log():
                log, topic.stored_seqs, topic.source_indices = grown["columns"][cluster.name, topic.name]
                topic.log.share(log)

    def depart(self) -> None:
        super().depart()
        self.messages = self.messages.prefix(self.message_count)
        self.markers = self.markers.prefix(self.marker_count)
        for cluster in self.clusters.values():
            for topic in cluster.every_log():
                topic.log.depart()
                topic.stored_seqs = topic.stored_seqs.prefix(topic.log.length)
                topic.source_indices = topic.source_indices.prefix(
                    topic.log.length if topic.keeps_sources else 0
                )

    def cut_back(self) -> None:
        super().cut_back()
        self.messages.cut(self.message_count)
        self.markers.cut(self.marker_count)
        for cluster in self.clusters.values():
            for topic in cluster.every_log():
                topic.log.cut_back()
                topic.stored_seqs.cut(topic.log.length)
                topic.source_indices.cut(topic.log.length if topic.keeps_sources else 0)

    def publish_at_random(self) -> None:
        for producer in self.producers.values():
            producer.publish_at_random()

    def link_cut(self, link: Link, cause: int) -> None:
        """Connections over the link break, and entries on them are lost."""
        for topic in self.clusters[link.source].topics.values():
            if link.target in topic.replicators:
                topic.replicators[link.target].disconnect("link-cut", cause)

    def link_partitioned(self, link: Link, cause: int) -> None:
        """Connections over the link hold what is sent."""
        for replicator, back in self._over(link):
            replicator.held.begin(cause, back)

    def link_healed(self, link: Link) -> None:
        """What a partition of the link held arrives."""
        for replicator, back in self._over(link):
            replicator.held.end(back)

    def _over(self, link: Link) -> list[tuple[ReplicatorOfRuntime, bool]]:
        """The replicators that send entries over the link, and those that it brings receipts (True)."""
        there, here = self.clusters[link.target].topics, self.clusters[link.source].topics
        sending = [topic.replicators.get(link.target) for topic in here.values()]
        receiving = [topic.replicators.get(link.source) for topic in there.values()]
        return [
            (replicator, back)
            for found, back in ((sending, False), (receiving, True))
            for replicator in found
            if replicator is not None
        ]

    # --- messages

    def recount(self, cluster: str) -> None:
        """Update the windows of failovers into a cluster, which may then wait for fewer messages.

        Called when messages were removed from the cluster's logs, or a cursor was opened there.
        """
        for window in self.windows.values():
            if window.target == cluster:
                window.recount()

    def window_into(self, cluster: str, subscription: str) -> WindowOfFailover | None:
        """The window of the subscription's latest failover when its target is this cluster."""
        window = self.windows.get(subscription)
        return window if window is not None and window.target == cluster else None

    def dropped_by_client(self, subscription: str, cluster: str, message: int) -> None:
        """A client dropped a message because of its cumulative ack in another cluster."""
        self.dropped.setdefault((subscription, cluster), BitMap()).add(message)
        if (window := self.window_into(cluster, subscription)) is not None:
            window.settled(message)

    def take_messages(self, count: int) -> int:
        """Reserve `count` consecutive message numbers; returns the first."""
        first = self.message_count
        self.message_count = first + count
        return first

    # --- clusters

    def clusters_of(self, base: str) -> list[str]:
        """The clusters that have the topic now, sorted."""
        return [
            name
            for name in self.cluster_names
            if any(topic.base == base for topic in self.clusters[name].topics.values())
        ]

    def cluster_index(self, name: str) -> int:
        """Ordinal of a cluster in sorted order: its bit, its origin number."""
        return self.cluster_names.index(name)
