"""Builds the simulated system of a scenario: clusters, links, topics, clients and scheduled commands."""

from __future__ import annotations

from simulator.kernel.distributions import Sampler
from simulator.kernel.links import Link
from simulator.kernel.random import stream_key
from simulator.protocols.pulsar.broadcast.audience import add_audiences, member_name
from simulator.protocols.pulsar.broadcast.broker import Broker
from simulator.protocols.pulsar.broadcast.fan_out import FanOut
from simulator.protocols.pulsar.broker.cluster import Cluster
from simulator.protocols.pulsar.broker.topic import Topic
from simulator.protocols.pulsar.client.consumer import Consumer, new_delivered_sets
from simulator.protocols.pulsar.client.producer import Producer
from simulator.protocols.pulsar.commands.effects import HANDLERS
from simulator.protocols.pulsar.creation import catalogue, policies
from simulator.protocols.pulsar.creation.catalogue import partition_names
from simulator.protocols.pulsar.creation.remote_admin import RemoteAdmin
from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.pulsar.migration.blue_green import BlueGreen
from simulator.protocols.pulsar.migration.resources import directory_of
from simulator.protocols.pulsar.pulsar import Pulsar
from simulator.protocols.pulsar.shadow.source import NO_SHADOWS, ShadowList
from simulator.protocols.pulsar.shadow.topic import ShadowTopic
from simulator.scenarios.model import Scenario
from simulator.system.commanding import schedule_planned
from simulator.system.system import Handlers
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

# --- creates the parts of a cluster: its brokers, and its topics of either kind with their audiences


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


_HANDLERS = Handlers(HANDLERS)


def build(scenario: Scenario, seed: int, trace: Trace) -> Pulsar:
    """A system at instant 0: everything loaded and connected, its commands scheduled."""
    runtime = Pulsar(scenario, seed, trace)
    runtime.handlers = _HANDLERS
    runtime.fan_out = FanOut(runtime)
    blue_green = runtime.blue_green = BlueGreen(runtime)
    runtime.directory = directory_of(runtime)
    _intern_names(scenario, trace)
    seq = runtime.rows.run_started(NULL, detail=scenario.name)
    for (source, target), spec in sorted(scenario.links.items()):
        sampler = Sampler(spec.latency, stream_key(seed, f"latency/{source}/{target}"))
        runtime.links[(source, target)] = Link(source, target, sampler, spec.bandwidth_bytes_per_s)
    for name in runtime.cluster_names:
        cluster = runtime.clusters[name] = Cluster(runtime, name, new_topic)
        cluster.brokers = [*brokers_of(cluster)]
    runtime.remote_admin = RemoteAdmin(runtime)
    new_delivered_sets(runtime)
    # sources before their shadows
    for base in sorted(scenario.topics, key=lambda name: (scenario.topics[name].shadow_of is not None, name)):
        _add_topic(runtime, base)
    for name in runtime.cluster_names:
        for topic in runtime.clusters[name].topics.values():
            topic.loaded = True
    for name in runtime.cluster_names:
        for topic in runtime.clusters[name].topics.values():
            topic.load(seq, first=True)
    # a topic whose namespace does not allow a cluster is removed as soon as it is loaded there
    catalogue.apply(runtime, seq)
    _schedule_clients(runtime)
    blue_green.start()
    schedule_planned(runtime)
    return runtime


def _intern_names(scenario: Scenario, trace: Trace) -> None:
    """Number every name that is known before the run, in an order that depends only on the scenario."""
    for section in (
        scenario.clusters,
        scenario.topics,
        scenario.subscriptions,
        scenario.producers,
        scenario.consumers,
        scenario.brokers,
        scenario.tenants,
    ):
        for name in sorted(section):
            trace.intern(name)
    for name in sorted(scenario.audiences):
        trace.intern(name)
        for member in range(scenario.audiences[name].subscriptions):
            trace.intern(member_name(name, member))
    for word in (*MARKER_TYPES, "individual", "cumulative"):
        trace.intern(word)


def _add_topic(runtime: Pulsar, base: str) -> None:
    spec = runtime.scenario.topics[base]
    runtime.replication[base] = policies.pairs(runtime, base)
    for name, partitions in sorted(spec.shapes.items()):
        cluster = runtime.clusters[name]
        if spec.shadow_of is not None:
            partitions = cluster.shape(spec.shadow_of)  # copied once, when it is created
        if partitions:
            cluster.partitioned[base] = partitions
        for log, partition in partition_names(base, partitions):
            cluster.add_topic(base, log, partition)
        if spec.shadow_of is not None and spec.shadow_replication is not False:
            listed = runtime.shadow_lists.get((name, spec.shadow_of), NO_SHADOWS)
            runtime.shadow_lists[name, spec.shadow_of] = ShadowList((*listed.names, base))


def _schedule_clients(runtime: Pulsar) -> None:
    scenario = runtime.scenario
    for name in sorted(scenario.consumers):
        spec = scenario.consumers[name]
        consumer = runtime.consumers[name] = Consumer(runtime, spec)
        runtime.schedule(spec.start_us, consumer.rank, consumer.start)
        if spec.stop_us is not None:
            runtime.schedule(spec.stop_us, consumer.rank, consumer.stop_as_planned)
    for name in sorted(scenario.producers):
        producer = runtime.producers[name] = Producer(runtime, scenario.producers[name])
        producer.begin()
