"""The state of a recorded run at an instant, which its rows change one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulator.kernel.distributions import Sampler
from simulator.kernel.links import Link
from simulator.kernel.random import stream_key
from simulator.protocols.pulsar.creation.catalogue import partition_names
from simulator.protocols.pulsar.recorded.model import (
    RecordedCluster,
    RecordedProducer,
    RecordedSubscription,
    RecordedTopic,
)
from simulator.protocols.pulsar.recorded.recording import Recording
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.protocols.pulsar.snapshots.names import SnapshotNames
from simulator.system.system import System
from simulator.trace.trace import Trace

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
