"""One region: its brokers modelled as one, its ledger ids, its topics, and the losses of a crash.

Rules: a cluster is up, down (may restart from its persisted state) or lost (permanently). Ledger ids come
from one counter per cluster, shared by data and cursor ledgers, so gaps appear as in a real cluster
(BookKeeper's `LedgerIdGenerator`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.broker.topic import HotSettings
from simulator.scenarios.settings import SETTINGS, measured_settings

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar


UP, DOWN, LOST = "up", "down", "lost"
HOST, PROCESS = "host", "process"
"""What fails in a crash: the machines, with what their kernels hold, or only the broker processes."""

FIRST_LEDGERS = (192, 1234, 7655)
"""First ledger ids of the first three clusters: PIP-33's examples. Later clusters start at thousands."""


class Cluster:
    """One region, generic in the type of its topics; `broker.cluster.Cluster` binds it.

    `index` is its ordinal in sorted order, `number` its name's number in the trace.
    """

    __slots__ = (
        "brokers",
        "crashed_at_us",
        "creates_remotely",
        "deleted",
        "fault",
        "index",
        "name",
        "new_topic",
        "next_ledger",
        "number",
        "partitioned",
        "proxy_up",
        "runtime",
        "settings",
        "state",
        "topics",
    )

    def __init__(self, runtime: Pulsar, name: str, new_topic: Callable[[Any, str, str, int], Topic]) -> None:
        spec = runtime.scenario.clusters[name]
        self.runtime = runtime
        self.new_topic = new_topic
        self.name = name
        self.number = runtime.name(name)
        self.index = runtime.cluster_index(name)
        self.state = UP
        self.settings: dict[str, Any] = {
            **measured_settings(runtime.scenario.options),
            **runtime.scenario.settings,
            **spec.settings,
        }
        first = getattr(spec, "first_ledger", None)
        self.next_ledger = first if first is not None else self._first_ledger()
        self.topics: dict[str, Topic] = {}
        self.brokers: list[Broker] = []  # those that the scenario declares, by name
        # past topics: a name that is created again continues after the end of its former log
        self.deleted: dict[str, Topic] = {}
        self.partitioned: dict[str, int] = {}  # metadata of partitioned topics: how many partitions
        # read when brokers start
        self.creates_remotely: bool = self.setting("createTopicToRemoteClusterForReplication")
        self.crashed_at_us: int | None = None
        self.proxy_up = False  # its brokers are down, and a proxy in front of them accepts connections
        self.fault = HOST  # of the latest crash

    def _first_ledger(self) -> int:
        return FIRST_LEDGERS[self.index] if self.index < len(FIRST_LEDGERS) else 1000 * (self.index + 7)

    def setting(self, name: str, topic: Topic | None = None) -> Any:
        """The value of a broker setting in force.

        It is the first of: the topic's policy, the cluster's setting, the scenario's setting, the value
        that `timing: measured` stands for, Pulsar's default.
        """
        if topic is not None and name in topic.policies:
            return topic.policies[name]
        return self.settings[name] if name in self.settings else SETTINGS[name].default

    def change_setting(self, name: str, value: Any) -> None:
        """Change a broker setting.

        Static settings are read again only when a topic is loaded or a controller starts.
        """
        self.settings = {**self.settings, name: value}
        for topic in self.topics.values():
            topic.hot = HotSettings.of(topic)
            topic.timers.quota_changed()

    def take_ledger(self) -> int:
        """A new ledger id."""
        self.next_ledger += 1
        return self.next_ledger - 1

    @property
    def up(self) -> bool:
        return self.state == UP

    @property
    def accepts_connections(self) -> bool:
        """Whether a TCP connect to its service URL succeeds: all that a probe tests."""
        return self.up or self.proxy_up

    def add_topic(self, base: str, name: str, partition: int) -> Topic:
        """Create a topic (or partition) here; the caller loads it."""
        topic = self.deleted.pop(name, None) or self.new_topic(self, base, name, partition)
        if topic.terminated:
            topic.terminated, topic.refuses = False, None
        topic.migrating, topic.migrated_to = False, None
        self.topics[name] = topic
        topic.take_broker(self._broker_for(base, name))
        return topic

    def _broker_for(self, base: str, name: str) -> Broker | None:
        """The broker that serves a new topic (or partition), None in a cluster without declared brokers.

        It is the one that declares the topic, else the one with the fewest topics, those it declares
        included, the first by name among equals.
        """
        declared = [one for one in self.brokers if name in one.spec.topics or base in one.spec.topics]
        if declared:
            return declared[0]
        return min(
            self.brokers, key=lambda one: len(dict.fromkeys((*one.spec.topics, *one.topics))), default=None
        )

    def shape(self, base: str) -> int | None:
        """Number of partitions that a topic has here, 0 for a plain one, None (404) where it does not exist.

        It does not exist when there is neither metadata nor a plain topic.
        """
        return self.partitioned.get(base, 0 if base in self.topics else None)

    def logs_of(self, base: str) -> list[Topic]:
        """Every log of a topic here, plain or partitioned."""
        return [topic for topic in self.topics.values() if topic.base == base]

    def client_logs_of(self, base: str) -> list[Topic]:
        """The logs that a client of the topic connects to: its partitions, or the plain topic.

        Logs of partitions without metadata are excluded.
        """
        partitions = self.partitioned.get(base, 0)
        return [
            topic
            for topic in self.logs_of(base)
            if topic.partition < partitions and (topic.partition >= 0) == (partitions > 0)
        ]

    def every_log(self) -> tuple[Topic, ...]:
        """Present and past topics: all that have columns."""
        return (*self.topics.values(), *self.deleted.values())

    def crash(self, cause: int, state: str = DOWN, fault: str = HOST) -> int:
        """All brokers fail: state that was not persisted is lost, every connection breaks.

        With the fault HOST what is in flight from them is lost, with PROCESS kernel and network deliver it.
        """
        delivered = fault == PROCESS
        rows = self.runtime.rows
        write = rows.cluster_lost if state == LOST else rows.cluster_crashed
        seq = write(cause, cluster=self.number)
        if self.up:
            self.crashed_at_us = self.runtime.now_us
            for (source, _target), link in self.runtime.links.items():
                if source == self.name and not delivered:
                    link.drop_waiting()
            for topic in self.topics.values():
                topic.unload("crash", seq, clean=False, delivered=delivered)
                for audience in topic.audiences.values():
                    audience.region_down()
        self.state, self.fault = state, fault
        self.runtime.recount(self.name)
        for other in self.runtime.clusters.values():
            for remote in other.topics.values():
                replicator = remote.replicators.get(self.name)
                if replicator is not None:
                    replicator.disconnect("remote-down", seq, delivered)
        return seq

    def restart(self, cause: int) -> int:
        """Restart from persisted state; every topic is loaded again."""
        self.state, self.proxy_up = UP, False
        self.creates_remotely = self.setting("createTopicToRemoteClusterForReplication")
        seq = self.runtime.rows.cluster_restarted(cause, cluster=self.number)
        for topic in self.topics.values():
            topic.load(seq)
        return seq
