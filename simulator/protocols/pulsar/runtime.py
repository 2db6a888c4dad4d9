"""What every part of a simulated Pulsar shares beside clock and trace: tables of names, messages and markers.

Rules: one Runtime per world. Trace, messages, markers and the scenario are shared by the worlds of a branch
(see `simulator.checkpoint`); everything else is this world's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.broadcast.fan_out import FanOut
from simulator.protocols.pulsar.creation.policies import PolicyBook
from simulator.protocols.pulsar.creation.schema_registry import SchemaBook
from simulator.protocols.pulsar.lookup.service import LookupService
from simulator.protocols.pulsar.markers.entries import MarkerTable
from simulator.protocols.pulsar.migration.blue_green import BlueGreen
from simulator.protocols.pulsar.migration.resources import directory_of
from simulator.protocols.pulsar.storage.messages import MessageTable
from simulator.system.system import System
from simulator.trace.trace import Trace

if TYPE_CHECKING:
    from simulator.kernel.links import Link
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.creation.remote_admin import RemoteAdmin
    from simulator.protocols.pulsar.creation.replicator_start import Told
    from simulator.protocols.pulsar.failover.failover import Failover
    from simulator.protocols.pulsar.failover.window import FailoverWindow
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.shadow.source import ShadowList
    from simulator.scenarios.model import Scenario


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
        "replication",
        "partitions",
        "failovers",
        "marker_faults",
        "acknowledged",
        "delivered",
        "settled",
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
    )

    def __init__(self, scenario: Scenario, seed: int, trace: Trace) -> None:
        super().__init__(scenario, seed, trace)
        self.messages = MessageTable()
        self.fan_out = FanOut(self)
        self.message_count = 0
        self.snapshot_count = 0
        self.cluster_names: list[str] = sorted(scenario.clusters)
        self.clusters: dict[str, Cluster] = {}
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}
        self.markers = MarkerTable()
        self.marker_count = 0
        self.failovers: list[Failover] = []
        self.windows: dict[str, FailoverWindow] = {}  # subscription -> the window of its latest failover
        self.replication: dict[str, list[tuple[str, str]]] = {}  # topic -> ordered pairs that replicate now
        self.policies = PolicyBook(scenario)
        self.remote_admin: RemoteAdmin | None = None  # put here when the system is built
        self.schemas = SchemaBook(scenario) if scenario.schemas else None
        # (row that asked for the start, from, to, log) -> what the check came to last
        self.start_checks: dict[tuple[int, str, str, str], Told] = {}
        # (cluster, source topic) -> the shadow topics that it feeds
        self.shadow_lists: dict[tuple[str, str], ShadowList] = {}
        self.marker_faults: list[dict] = []  # orders to delay or drop the next marker of a type
        # subscription -> BitMap of message numbers the application acknowledged
        self.acknowledged: dict[str, Any] = {}
        # subscription -> BitMap of message numbers handed to the application
        self.delivered: dict[str, Any] = {}
        self.settled: dict[str, Any] = {}  # subscription -> BitMap of message numbers expired or skipped
        self.subscriptions: dict[str, Any] = dict(scenario.subscriptions)
        self.lookup = LookupService(self)
        self.migrations: list[Migration] = []  # in the order in which they were started
        self.blue_green = BlueGreen(self)
        self.directory = directory_of(self)
        # topics whose acknowledgements a migration has synchronised, beside the scenario's wish
        self.synchronised: dict[str, None] = {}

    # --- what a protocol tells the world

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

    def link_cut(self, link: Link, cause: int) -> None:
        """Connections made over the link break; what is on them is lost."""
        for topic in self.clusters[link.source].topics.values():
            if link.target in topic.replicators:
                topic.replicators[link.target].disconnect("link-cut", cause)

    # --- messages

    def look_again(self, cluster: str) -> None:
        """Messages went from a cluster's logs, or a cursor was opened there: failovers into it may wait
        for less.
        """
        for window in self.windows.values():
            if window.target == cluster:
                window.look_again()

    def window_into(self, cluster: str, subscription: str) -> FailoverWindow | None:
        """The window of the subscription's latest failover when its target is this cluster."""
        window = self.windows.get(subscription)
        return window if window is not None and window.target == cluster else None

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
