"""The simulated Pulsar: its clusters, clients and services by name, beside clock and trace.

Rules: one Pulsar per world. Trace, messages, markers and the scenario are shared by the worlds of a branch
(see `simulator.system.checkpoint`). Everything else belongs to one world.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from simulator.protocols.pulsar.creation.policies import PolicyBook
from simulator.protocols.pulsar.creation.schemas import SchemaBook
from simulator.protocols.pulsar.events import PulsarRows
from simulator.protocols.pulsar.lookup import LookupService
from simulator.protocols.pulsar.markers.entries import MarkerTable
from simulator.protocols.pulsar.snapshots.controller import SnapshotNames
from simulator.protocols.pulsar.snapshots.rules import OPTION, rule_of
from simulator.protocols.pulsar.storage.messages import MessageTable
from simulator.scenarios.rule_files import BUILT_IN
from simulator.system.system import System
from simulator.trace.trace import Trace

if TYPE_CHECKING:
    from simulator.kernel.links import Link
    from simulator.protocols.pulsar.broadcast.fan_out import FanOut
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.creation.remote_admin import RemoteAdmin
    from simulator.protocols.pulsar.creation.replicator_start import CheckedStart
    from simulator.protocols.pulsar.failover.failover import Failover, FailoverWindow
    from simulator.protocols.pulsar.migration.blue_green import BlueGreen
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.migration.steps import Move
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.scenario.model import SubscriptionSpec
    from simulator.protocols.pulsar.shadow.source import ShadowList
    from simulator.scenarios.model import Scenario


class Pulsar(System):
    """The simulated Pulsar. `system.build` creates its parts."""

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
    writers = PulsarRows
    rows: PulsarRows
    shared_types = (MessageTable, MarkerTable)

    def __init__(self, scenario: Scenario, seed: int, trace: Trace) -> None:
        super().__init__(scenario, seed, trace)
        self.rule = rule_of(self.option(OPTION))
        self.compares_replays = self.option(OPTION) != BUILT_IN
        self.messages = MessageTable()
        self.fan_out: FanOut  # created by `system.build`
        self.message_count = 0
        self.snapshot_count = 0
        self.snapshot_names = SnapshotNames()
        self.cluster_names: list[str] = sorted(scenario.clusters)
        self.clusters: dict[str, Cluster] = {}
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}
        self.markers = MarkerTable()
        self.marker_count = 0
        self.failovers: list[Failover | Move] = []
        self.windows: dict[str, FailoverWindow] = {}  # subscription -> the window of its latest failover
        self.replication: dict[str, list[tuple[str, str]]] = {}  # topic -> ordered pairs that replicate now
        self.policies = PolicyBook(scenario)
        self.remote_admin: RemoteAdmin  # created by `system.build`
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
        self.migrations: list[Migration] = []  # in the order of their start
        self.blue_green: BlueGreen  # created by `system.build`
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

    def _over(self, link: Link) -> list[tuple[Replicator, bool]]:
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

    def window_into(self, cluster: str, subscription: str) -> FailoverWindow | None:
        """The window of the subscription's latest failover when its target is this cluster."""
        window = self.windows.get(subscription)
        return window if window is not None and window.target == cluster else None

    def dropped_by_client(self, subscription: str, cluster: str, message: int) -> None:
        """A client dropped a message because of its cumulative ack in another cluster."""
        self.dropped.setdefault((subscription, cluster), BitMap()).add(message)
        if (window := self.window_into(cluster, subscription)) is not None:
            window.settled(message)

    def delivered_after_drop(self, subscription: str, cluster: str, topic: str, message: int) -> None:
        """A message is delivered that a client may have dropped before."""
        dropped = self.dropped.get((subscription, cluster))
        if dropped is not None and message in dropped:
            dropped.remove(message)
            if (window := self.window_into(cluster, subscription)) is not None:
                window.cursor_reset(self.clusters[cluster].topics[topic])

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
