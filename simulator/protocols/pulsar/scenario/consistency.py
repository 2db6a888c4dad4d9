"""What the sections of a scenario must agree on, and remarks about what they leave open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from simulator.protocols.pulsar.scenario.model import (
    TENANT_MIGRATION,
    AudienceSpec,
    ConsumerSpec,
    ProducerSpec,
    PulsarScenario,
    TopicSpec,
)
from simulator.scenarios.declarations import Check
from simulator.scenarios.model import Scenario, Selection
from simulator.scenarios.names import PARTITION_SUFFIX, base_of, parse_message
from simulator.scenarios.tree import suggestion

SMALLEST_SPREAD_CACHE = 3
"""Smallest cache of the spread rule, which keeps first and last and removes one in between.

A cache under 3 is an IllegalArgumentException.
"""


def check_consistency(asked: Check) -> None:
    """Add every problem between parts of the scenario.

    The rules between the parts of a Pulsar scenario, beyond each key by itself.

    Rules: all valid parts are checked, also when other problems were found. A problem is only what is always
    invalid. Requests that a running cluster would refuse (such as a second consumer on an Exclusive
    subscription) are left to the run.
    """
    check = PulsarCheck(asked.scenario, asked.root, asked.reader)
    _settings(check)
    _topics(check)
    _brokers(check)
    check_creation(check)
    _tenants(check)
    check_clients(check)
    _commands(check)


def _settings(check: PulsarCheck) -> None:
    name = "replicatedSubscriptionsSnapshotMaxCachedPerSubscription"
    if check.scenario.options.get("snapshotCacheRule", "spread") != "spread":
        return
    places: list[tuple[tuple[str, ...], dict[str, Any]]] = [((), check.scenario.settings)]
    places += [(("clusters", cluster.name), cluster.settings) for cluster in check.scenario.clusters.values()]
    for keys, settings in places:
        if name in settings and settings[name] < SMALLEST_SPREAD_CACHE:
            right = f"at least {SMALLEST_SPREAD_CACHE} with the cache rule spread"
            check.fail((*keys, "settings", name), f"{settings[name]} is too small", right)


def _topics(check: PulsarCheck) -> None:
    for name, topic in check.scenario.topics.items():
        if PARTITION_SUFFIX.search(name):
            check.fail(
                ("topics", name),
                "looks like a partition",
                "choose a name that does not end in -partition-<number>",
            )
        if topic.shadow_of is not None:
            _shadow(check, topic)
        if not topic.clusters:
            check.fail(("topics", name, "clusters"), "is empty", "name at least one cluster")
        for pair in topic.replication or ():
            for cluster in pair:
                if cluster not in topic.clusters:
                    right = suggestion(cluster, topic.clusters)
                    check.fail(
                        ("topics", name, "replication"), f'"{cluster}" is not in the list of clusters', right
                    )


def _brokers(check: PulsarCheck) -> None:
    """Topics that two brokers of one cluster declare, or that the broker's cluster does not have."""
    claimed: dict[tuple[str, str], str] = {}
    for broker in check.scenario.brokers.values():
        for index, topic in enumerate(broker.topics):
            here = ("brokers", broker.name, "topics", index)
            plain = base_of(check.scenario.topics, topic)
            check.serves(here, plain, broker.cluster)
            if plain != topic and plain in check.scenario.topics and not check.partitions(plain):
                check.fail(here, f"{plain} has no partitions", f"name {plain} itself")
            other = claimed.setdefault((broker.cluster, topic), broker.name)
            if other != broker.name:
                check.fail(
                    here,
                    f"{topic} is {other}'s in {broker.cluster}",
                    "a topic or partition has one broker in a cluster",
                )


def _shadow(check: PulsarCheck, topic: TopicSpec) -> None:
    """What a shadow topic requires of its source, and keys that it must not have."""
    here, source = ("topics", topic.name), check.scenario.topics.get(topic.shadow_of or "")
    if source is None:  # it was invalid, which has been reported
        return
    if source.shadow_of is not None:
        check.fail(
            (*here, "shadowOf"),
            f"{source.name} is a shadow itself",
            f"name the topic that writes the ledgers: {source.shadow_of}",
        )
    if len(topic.clusters) != 1 or topic.clusters[0] not in source.clusters:
        check.fail(
            (*here, "clusters"),
            f"is not one cluster of {source.name}",
            f"a shadow reads ledgers of its own cluster: name one of {', '.join(source.clusters)}",
        )
    elif topic.clusters[0] in topic.shapes and topic.clusters[0] not in source.shapes:
        check.fail(
            (*here, "shadowOf"),
            f"{source.name} does not exist when the run begins",
            "write exists: {} for the shadow too, and create it by command",
        )
    for key, given in (("partitions", topic.partitions != 0), ("replication", topic.replication is not None)):
        if given:
            check.fail(
                (*here, key),
                "does not go with shadowOf",
                "leave it out: partitions are the source's, and a shadow is not replicated",
            )


def _tenants(check: PulsarCheck) -> None:
    scenario = check.scenario
    if scenario.tenants and scenario.family != TENANT_MIGRATION:
        check.fail(
            ("tenants",),
            f"is for the family {TENANT_MIGRATION}",
            f"write family: {TENANT_MIGRATION}, whose causes cover tenant migration",
        )
    for name, tenant in scenario.tenants.items():
        topics = [topic for topic in scenario.topics.values() if topic.tenant == name]
        if not topics:
            check.fail(
                ("tenants", name),
                "has no topics",
                f"put a topic in one of its namespaces, such as namespace: {name}/default",
            )
        for topic in topics:
            check.serves(("tenants", name, "cluster"), topic.name, tenant.cluster)


def _commands(check: PulsarCheck) -> None:
    for index, command in enumerate(check.scenario.commands):
        broker = check.scenario.brokers.get(command.arguments.get("broker", ""))
        if broker is not None and broker.cluster != command.arguments["cluster"]:
            right = suggestion(
                broker.name,
                [
                    name
                    for name, one in check.scenario.brokers.items()
                    if one.cluster == command.arguments["cluster"]
                ],
            )
            check.fail(
                ("commands", index, "broker"),
                f"{broker.name} is not in {command.arguments['cluster']}",
                right,
            )
        topic = command.arguments.get("topic")
        if topic is None:
            continue
        plain = PARTITION_SUFFIX.sub("", topic)
        if plain not in check.scenario.topics:
            continue
        if check.scenario.topics[plain].exists is not None:
            continue  # its partitions are known only during the run
        if plain != topic and not check.partitions(plain):
            check.fail(("commands", index, "topic"), f"{plain} has no partitions", f"name {plain} itself")
        if command.do == "topic.grow" and not check.partitions(plain):
            check.fail(
                ("commands", index, "topic"), f"{plain} has no partitions", "only a partitioned topic grows"
            )


SHORTEST_ACK_TIMEOUT_US = 1_000_000
"""Pulsar's Java client refuses an ackTimeout under a second."""


def check_clients(check: PulsarCheck) -> None:
    """Add the problems of producers, consumers and audiences.

    The rules between clients and the rest of a scenario (see `consistency`).
    """
    for producer in check.scenario.producers.values():
        _producer(check, producer)
    for consumer in check.scenario.consumers.values():
        _consumer(check, consumer)
    for audience in check.scenario.audiences.values():
        _audience(check, audience)


def _place(check: PulsarCheck, here: tuple[str, str], topic: str, cluster: str | None) -> None:
    """A client's cluster must have its topic; without one it uses the map."""
    if cluster is not None:
        check.serves((*here, "cluster"), topic, cluster)
    elif topic in check.scenario.topics and check.scenario.topics[topic].tenant not in check.scenario.tenants:
        tenant = check.scenario.topics[topic].tenant
        check.fail(
            here,
            f"names no cluster, and the tenant {tenant} of {topic} is not in the map",
            f"name a cluster, or write tenants: {{{tenant}: {{cluster: …}}}}",
        )


def _producer(check: PulsarCheck, producer: ProducerSpec) -> None:
    here = ("producers", producer.name)
    _place(check, here, producer.topic, producer.cluster)
    for index, cluster in enumerate(producer.replicate_to or ()):
        check.serves((*here, "replicateTo", index), producer.topic, cluster)
    if producer.name in check.reader.names.of_section("consumers"):
        check.fail(here, "is also the name of a consumer", "clients need different names")
    if producer.stop_us is not None and producer.stop_us < producer.start_us:
        check.fail((*here, "stop"), "is before start", "stop at or after start")
    if producer.every_us is None and producer.at_us is None:
        for key, given in (
            ("count", producer.count is not None),
            ("arrivals", producer.arrivals != "regular"),
        ):
            if given:
                check.fail((*here, key), "has no effect without an interval", "give every, rate or at")
    if producer.at_us is not None:
        _instants(check, producer)
    _messages(check, (*here, "delay"), producer.delay, producer.topic)


def _audience(check: PulsarCheck, audience: AudienceSpec) -> None:
    here = ("audiences", audience.name)
    check.serves((*here, "cluster"), audience.topic, audience.cluster)
    if not any(broker.cluster == audience.cluster for broker in check.scenario.brokers.values()):
        check.fail(
            (*here, "cluster"),
            f"{audience.cluster} declares no brokers",
            f"an audience needs one: brokers: {{x: {{cluster: {audience.cluster}}}}}",
        )
    if audience.stop_us is not None and audience.stop_us < audience.start_us:
        check.fail((*here, "stop"), "is before start", "stop at or after start")
    for section in ("subscriptions", "consumers", "producers"):
        for name in getattr(check.scenario, section):
            if name == audience.name or re.fullmatch(rf"{audience.name}-\d+", name):
                check.fail(
                    (section, name),
                    f"is the name of audience {audience.name}, or of a member of it",
                    "choose another name",
                )


def _instants(check: PulsarCheck, producer: ProducerSpec) -> None:
    here = ("producers", producer.name)
    conflicts = {
        "every": producer.every_us is not None,
        "count": producer.count is not None,
        "start": producer.start_us != 0,
        "arrivals": producer.arrivals != "regular",
    }
    for key, given in conflicts.items():
        if given:
            check.fail((*here, key), "does not go with at", "leave it out: at lists every instant")
    if list(producer.at_us or ()) != sorted(producer.at_us or ()):
        check.fail((*here, "at"), "is not in order", "list the instants from first to last")


def _consumer(check: PulsarCheck, consumer: ConsumerSpec) -> None:
    here = ("consumers", consumer.name)
    _consumer_of(check, here, consumer)
    if consumer.stop_us is not None and consumer.stop_us < consumer.start_us:
        check.fail((*here, "stop"), "is before start", "stop at or after start")
    if 0 < consumer.ack_timeout_us < SHORTEST_ACK_TIMEOUT_US:
        check.fail((*here, "ackTimeout"), "is under a second", "0s is off; otherwise at least 1s")


def _consumer_of(check: PulsarCheck, here: tuple[str, str], consumer: ConsumerSpec) -> None:
    subscription = check.scenario.subscriptions.get(consumer.subscription)
    if subscription is None:  # it was invalid, which has been reported
        return
    _place(check, here, subscription.topic, consumer.cluster)
    if consumer.acknowledge == "cumulative" and subscription.type in ("Shared", "Key_Shared"):
        right = "acknowledge individually, or choose Exclusive or Failover"
        check.fail((*here, "acknowledge"), f"{subscription.type} subscriptions refuse cumulative acks", right)
    if (
        consumer.receiver_queue_size == 0
        and subscription.topic in check.scenario.topics
        and check.partitions(subscription.topic)
    ):
        check.fail(
            (*here, "receiverQueueSize"),
            f"is 0, and {subscription.topic} has partitions: Pulsar's client refuses that",
            "at least 1, or a topic without partitions",
        )
    _messages(check, (*here, "hold"), consumer.hold, subscription.topic)
    _messages(check, (*here, "negativeAcknowledge"), consumer.negative_acknowledge, subscription.topic)


def _messages(
    check: PulsarCheck, keys: tuple[str | int, ...], selection: Selection | None, topic: str
) -> None:
    for index, (producer, _) in enumerate(selection.messages if selection else ()):
        if producer in check.scenario.producers and check.scenario.producers[producer].topic != topic:
            check.fail(
                (*keys, "messages", index),
                f"{producer} does not publish to {topic}",
                "name messages of this topic",
            )


# --- the rules for namespaces, schemas and a topic's `exists` in a scenario (see `consistency`)


WITH_DEFINITION = ("AVRO", "JSON")


def check_creation(check: PulsarCheck) -> None:
    _namespaces(check)
    _schemas(check)
    for name in check.scenario.topics:
        _exists(check, name)


def _namespaces(check: PulsarCheck) -> None:
    for name, namespace in check.scenario.namespaces.items():
        here = ("namespaces", name)
        places = tuple(check.scenario.clusters) if namespace.clusters is None else namespace.clusters
        for cluster in namespace.overrides:
            if cluster not in places:
                check.fail(
                    (*here, "overrides", cluster),
                    "the namespace does not exist there",
                    suggestion(cluster, places),
                )
        for cluster in places:
            policies = {
                **{key: getattr(namespace, key) for key in _CHECKED},
                **namespace.overrides.get(cluster, {}),
            }
            _auto_creation(check, here, policies)
            listed = policies["replication_clusters"]
            if listed == ():
                check.fail(
                    (*here, "replicationClusters"),
                    "is empty",
                    "leave it out: a namespace without it is not replicated",
                )
            allowed = policies["allowed_clusters"]
            for other in listed or ():
                if allowed and other not in allowed:
                    check.fail(
                        (*here, "replicationClusters"),
                        f'"{other}" is not among the allowed clusters',
                        suggestion(other, allowed),
                    )


_CHECKED = (
    "replication_clusters",
    "allowed_clusters",
    "allow_auto_topic_creation_type",
    "default_num_partitions",
)


def _auto_creation(check: PulsarCheck, here: tuple[str, str], policies: dict) -> None:
    number, kind = policies["default_num_partitions"], policies["allow_auto_topic_creation_type"]
    if kind == "non-partitioned" and number is not None and number > 1:
        check.fail(
            (*here, "defaultNumPartitions"),
            f"{number} partitions of a non-partitioned topic",
            "leave it out, or choose partitioned",
        )
    if kind == "partitioned" and number == 0:
        check.fail((*here, "defaultNumPartitions"), "a partitioned topic without partitions", "at least 1")


def _schemas(check: PulsarCheck) -> None:
    for name, schema in check.scenario.schemas.items():
        needs = schema.type in WITH_DEFINITION
        if needs and schema.definition is None:
            check.fail(
                ("schemas", name, "definition"),
                "is missing",
                f"{schema.type} needs the Avro schema of its records",
            )
        if not needs and schema.definition is not None:
            check.fail(
                ("schemas", name, "definition"),
                f"has no effect for {schema.type}",
                "leave it out, or choose AVRO or JSON",
            )


def _exists(check: PulsarCheck, name: str) -> None:
    topic = check.scenario.topics[name]
    namespace = check.scenario.namespaces.get(topic.namespace)
    for cluster in topic.shapes:
        if topic.exists is not None and cluster not in topic.clusters:
            check.fail(
                ("topics", name, "exists", cluster),
                f"topic {name} is not in {cluster}",
                suggestion(cluster, topic.clusters),
            )
        if namespace is not None and namespace.clusters is not None and cluster not in namespace.clusters:
            right = f"let {topic.namespace} exist there, or leave the topic out of {cluster}"
            check.fail(
                ("topics", name), f"its namespace {topic.namespace} does not exist in {cluster}", right
            )
    if topic.exists is not None and topic.partitions:
        check.fail(
            ("topics", name, "partitions"),
            "does not go with exists",
            "leave it out: exists gives the number for each cluster",
        )


_PUBLISHING = ("producer.publish", "producer.send")


def remarks(scenario: Scenario) -> Iterator[str]:
    """A sentence for each place with messages beyond the last planned one of their producer.

    Messages that a Pulsar scenario names and that no producer is planned to publish.
    """
    by_hand = [command.arguments["producer"] for command in scenario.commands if command.do in _PUBLISHING]
    planned = {
        name: producer.count if producer.at_us is None else len(producer.at_us)
        for name, producer in scenario.producers.items()
        if name not in by_hand
    }
    for place, messages in _named(scenario):
        for name, number in messages:
            count = planned.get(name)
            if count is not None and number >= count:
                there = f"{name}/0 to {name}/{count - 1}" if count else "none"
                yield (
                    f"{place}: {name}/{number} will not be published; {name} is planned to publish {count} "
                    f"messages, {there}"
                )


def _named(scenario: Scenario) -> Iterator[tuple[str, tuple[tuple[str, int], ...]]]:
    """(place, messages) of each list of messages."""

    def of(place: str, selection: Selection | None) -> tuple[str, tuple[tuple[str, int], ...]]:
        return (f"{place}.messages", selection.messages if selection else ())

    for name, producer in scenario.producers.items():
        yield of(f"producers.{name}.delay", producer.delay)
    for name, consumer in scenario.consumers.items():
        yield of(f"consumers.{name}.hold", consumer.hold)
        yield of(f"consumers.{name}.negativeAcknowledge", consumer.negative_acknowledge)
    for index, command in enumerate(scenario.commands):
        yield (
            f"commands[{index}].messages",
            tuple(parse_message(text) for text in command.arguments.get("messages") or ()),
        )


class PulsarCheck(Check):
    """The check of a scenario of Pulsar.

    The check of a Pulsar scenario: the clusters and partitions of its topics, for the rules.
    """

    scenario: PulsarScenario

    def served(self, topic: str) -> tuple[str, ...]:
        """Clusters where a topic exists at some time of the run: its list, and those that a command adds."""
        added = [
            command.arguments["cluster"]
            for command in self.scenario.commands
            if command.do == "replication.add-cluster" and command.arguments["topic"] == topic
        ]
        return (*self.scenario.topics[topic].clusters, *added)

    def partitions(self, topic: str) -> int:
        """Number of partitions that a topic is created with; for a shadow that of its source."""
        spec = self.scenario.topics[topic]
        if spec.shadow_of is None or spec.shadow_of not in self.scenario.topics:
            return spec.partitions
        return self.scenario.topics[spec.shadow_of].partitions

    def serves(self, keys: tuple[str | int, ...], topic: str, cluster: str) -> None:
        """Add a problem when `topic` never exists in `cluster`."""
        served = self.served(topic) if topic in self.scenario.topics else (cluster,)
        if cluster not in served:
            self.fail(keys, f"topic {topic} is not in {cluster}", suggestion(cluster, served))
