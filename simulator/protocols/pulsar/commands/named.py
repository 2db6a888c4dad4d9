"""Resolves the names in commands: clusters, topics, subscriptions, brokers, clients.

A cluster must be up and a client in a suitable state. Each function raises CommandError when there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker.cluster import LOST
from simulator.protocols.pulsar.broker.dispatch import full_topic_name
from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import base_of
from simulator.scenarios.tree import suggestion

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.pulsar import Pulsar


def cluster_up(runtime: Pulsar, name: str) -> Cluster:
    """A cluster whose admin service responds."""
    cluster = runtime.clusters[name]
    if not cluster.up:
        hint = "it was lost for good; name another cluster" if cluster.state == LOST else "restart it first"
        raise CommandError("cluster-down", f"{name} is {cluster.state}", hint)
    return cluster


def topic_here(runtime: Pulsar, arguments: dict) -> Cluster:
    """The cluster of the arguments, which has their topic."""
    cluster, base = cluster_up(runtime, arguments["cluster"]), arguments["topic"]
    if cluster.shape(base) is None:
        raise not_found(runtime, cluster, base)
    return cluster


def not_found(runtime: Pulsar, cluster: Cluster, base: str) -> CommandError:
    """The response to a request about a missing topic (AdminResource.getTopicNotFoundErrorMessage)."""
    return CommandError(
        "404",
        f"Topic {full_name(runtime, base)} not found",
        f"create it in {cluster.name}, or name a cluster that has it",
    )


def full_name(runtime: Pulsar, base: str, name: str | None = None) -> str:
    """A declared topic as in Pulsar's errors, persistent://tenant/namespace/topic.

    `name` is that of one of its partitions.
    """
    return full_topic_name(runtime.scenario.topics[base].namespace, name or base)


def full_log_name(runtime: Pulsar, name: str) -> str:
    """A topic, or a partition, as in Pulsar's errors."""
    return full_name(runtime, base_of(runtime.scenario.topics, name), name)


def topics_of(runtime: Pulsar, cluster: str, name: str) -> list[Topic]:
    """The logs of a topic, or the log of a partition, in a cluster that is up."""
    found = [
        topic for topic in cluster_up(runtime, cluster).topics.values() if name in (topic.base, topic.name)
    ]
    if not found:
        raise CommandError(
            "no-topic", f"{cluster} does not have the topic {name}", "name a cluster of the topic's list"
        )
    return found


def at_a_broker(topics: list[Topic], arguments: dict) -> None:
    """Refuse a command whose topics are not all loaded."""
    if not all(topic.loaded for topic in topics):
        raise CommandError(
            "not-loaded",
            f"{arguments['topic']} is at no broker of {arguments['cluster']}",
            "wait until it is loaded",
        )


def subscriptions_of(runtime: Pulsar, arguments: dict) -> list[Subscription]:
    """The subscription of the arguments in each log of its topic that has it, in their cluster."""
    name = arguments["subscription"]
    topics = topics_of(runtime, arguments["cluster"], runtime.subscriptions[name].topic)
    found = [topic.subscriptions[name] for topic in topics if name in topic.subscriptions]
    if not found:
        raise CommandError(
            "no-subscription",
            f"{name} does not exist in {arguments['cluster']}",
            "create it, or let a consumer subscribe there",
        )
    return found


def broker_of(runtime: Pulsar, cluster: str, name: str) -> Broker:
    """A declared broker of the cluster."""
    brokers = {broker.name: broker for broker in runtime.clusters[cluster].brokers}
    if name not in brokers:
        raise CommandError(
            "no-broker", f"{name} is not a broker of {cluster}", str(suggestion(name, brokers))
        )
    return brokers[name]


def producer_in(runtime: Pulsar, arguments: dict, states: tuple[str, ...], do: str) -> Producer:
    """The producer of the arguments, in one of the states that `do` needs."""
    producer = runtime.producers[arguments["producer"]]
    if producer.state not in states:
        raise CommandError(
            "wrong-state", f"{producer.name} is {producer.state}", f"{do} needs it {' or '.join(states)}"
        )
    return producer


def consumer_in(runtime: Pulsar, arguments: dict, states: tuple[str, ...], do: str) -> Consumer:
    """The consumer of the arguments, in one of the states that `do` needs."""
    consumer = runtime.consumers[arguments["consumer"]]
    if consumer.state not in states:
        raise CommandError(
            "wrong-state", f"{consumer.name} is {consumer.state}", f"{do} needs it {' or '.join(states)}"
        )
    return consumer
