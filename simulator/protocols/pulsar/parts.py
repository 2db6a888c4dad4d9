"""Creates the parts of a cluster: its brokers, and its topics of either kind with their audiences."""

from __future__ import annotations

from simulator.protocols.pulsar.broadcast.audience import add_audiences
from simulator.protocols.pulsar.broadcast.broker import Broker
from simulator.protocols.pulsar.broker.cluster import Cluster
from simulator.protocols.pulsar.broker.topic import Topic
from simulator.protocols.pulsar.shadow.topic import ShadowTopic


def brokers_of(cluster: Cluster) -> list[Broker]:
    """The brokers that the scenario declares for a cluster, by name."""
    declared = cluster.runtime.scenario.brokers
    return [
        Broker(cluster, declared[name]) for name in sorted(declared) if declared[name].cluster == cluster.name
    ]


def new_topic(cluster: Cluster, base: str, name: str, partition: int) -> Topic:
    """A topic (or partition) with its audiences, not loaded yet."""
    shadow_of = cluster.runtime.scenario.topics[base].shadow_of
    if shadow_of is None:
        topic = Topic(cluster, base, name, partition)
    else:
        source = cluster.topics[shadow_of if partition < 0 else f"{shadow_of}-partition-{partition}"]
        topic = ShadowTopic(cluster, base, name, partition, source)
    add_audiences(topic)
    return topic
