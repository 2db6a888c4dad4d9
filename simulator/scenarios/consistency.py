"""What one part of a scenario demands of another, beyond each key by itself.

Rules: it runs on what could be read, also when other problems were found; only what could never be right is a
problem; what a running cluster would refuse at its time (a second consumer on an Exclusive subscription, say)
is left to the run.
"""

from __future__ import annotations

import re

from simulator.scenarios.consistency_creation import check_creation
from simulator.scenarios.model import (
    AudienceSpec,
    ConsumerSpec,
    ProducerSpec,
    Scenario,
    Selection,
    SessionSpec,
    TopicSpec,
)
from simulator.scenarios.mqtt_topics import parse_subscription
from simulator.scenarios.names import PARTITION_SUFFIX, base_of
from simulator.scenarios.problems import suggestion
from simulator.scenarios.reader import Reader
from simulator.scenarios.tree import Node

SHORTEST_ACK_TIMEOUT_US = 1_000_000
"""Pulsar's Java client refuses an ackTimeout under a second."""
TENANTS_FAMILY = "tenant-migration"
"""The family whose causes of a duplicate know every strategy that a tenant may move by."""
SMALLEST_SPREAD_CACHE = 3
"""The spread rule keeps first and last and gives up one between: a cache under 3 is an
IllegalArgumentException.
"""


class _Check:
    """The scenario with the tree it was read from, so that a problem knows its place."""

    def __init__(self, scenario: Scenario, root: Node, reader: Reader) -> None:
        self.scenario, self.root, self.reader = scenario, root, reader

    def fail(self, keys: tuple[str | int, ...], what: str, right: str) -> None:
        node, path = self.root, ""
        for key in keys:
            inside = node.value if isinstance(node.value, dict) and isinstance(key, str) else {}
            if isinstance(node.value, list) and isinstance(key, int):
                node = node.value[key]
            elif key in inside:
                node = inside[key]
            path = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else key
        self.reader.fail(node, path, what, right)

    def served(self, topic: str) -> tuple[str, ...]:
        """Clusters where a topic lives at some time of the run: its list, and those that a command adds."""
        added = [
            command.arguments["cluster"]
            for command in self.scenario.commands
            if command.do == "replication.add-cluster" and command.arguments["topic"] == topic
        ]
        return (*self.scenario.topics[topic].clusters, *added)

    def partitions(self, topic: str) -> int:
        """How many a topic has when it is created; a shadow has its source's."""
        spec = self.scenario.topics[topic]
        source = self.scenario.topics.get(spec.shadow_of)
        return spec.partitions if source is None else source.partitions

    def serves(self, keys: tuple[str | int, ...], topic: str, cluster: str) -> None:
        """Notes a problem when `topic` never lives in `cluster`."""
        served = self.served(topic) if topic in self.scenario.topics else (cluster,)
        if cluster not in served:
            self.fail(keys, f"topic {topic} is not in {cluster}", suggestion(cluster, served))


def check_consistency(scenario: Scenario, root: Node, reader: Reader) -> None:
    check = _Check(scenario, root, reader)
    _settings(check)
    _topics(check)
    _brokers(check)
    check_creation(check)
    _tenants(check)
    for producer in scenario.producers.values():
        _producer(check, producer)
    for consumer in scenario.consumers.values():
        _consumer(check, consumer)
    for audience in scenario.audiences.values():
        _audience(check, audience)
    for session in scenario.sessions.values():
        _session(check, session)
    _commands(check)


def _settings(check: _Check) -> None:
    name = "replicatedSubscriptionsSnapshotMaxCachedPerSubscription"
    if check.scenario.options.get("snapshotCacheRule", "spread") != "spread":
        return
    places = [((), check.scenario.settings)]
    places += [(("clusters", cluster.name), cluster.settings) for cluster in check.scenario.clusters.values()]
    for keys, settings in places:
        if name in settings and settings[name] < SMALLEST_SPREAD_CACHE:
            right = f"at least {SMALLEST_SPREAD_CACHE} with the cache rule spread"
            check.fail((*keys, "settings", name), f"{settings[name]} is too small", right)


def _topics(check: _Check) -> None:
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


def _brokers(check: _Check) -> None:
    """A topic that two brokers of one cluster claim, or that is not where the broker is."""
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


def _shadow(check: _Check, topic: TopicSpec) -> None:
    """What a shadow topic asks of its source, and may not say of itself."""
    here, source = ("topics", topic.name), check.scenario.topics.get(topic.shadow_of)
    if source is None:  # it could not be read, and that was said
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


def _tenants(check: _Check) -> None:
    scenario = check.scenario
    if scenario.tenants and scenario.family != TENANTS_FAMILY:
        check.fail(
            ("tenants",),
            f"is for the family {TENANTS_FAMILY}",
            f"write family: {TENANTS_FAMILY}, whose causes know what moves with a tenant",
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


def _place(check: _Check, here: tuple[str, str], topic: str, cluster: str | None) -> None:
    """A client's cluster has its topic; a client without one finds it by the map."""
    if cluster is not None:
        check.serves((*here, "cluster"), topic, cluster)
    elif topic in check.scenario.topics and check.scenario.topics[topic].tenant not in check.scenario.tenants:
        tenant = check.scenario.topics[topic].tenant
        check.fail(
            here,
            f"names no cluster, and the tenant {tenant} of {topic} is not in the map",
            f"name a cluster, or write tenants: {{{tenant}: {{cluster: …}}}}",
        )


def _producer(check: _Check, producer: ProducerSpec) -> None:
    here = ("producers", producer.name)
    _place(check, here, producer.topic, producer.cluster)
    for index, cluster in enumerate(producer.replicate_to or ()):
        check.serves((*here, "replicateTo", index), producer.topic, cluster)
    if producer.name in check.reader.names.consumers:
        check.fail(here, "is also the name of a consumer", "clients need different names")
    if producer.stop_us is not None and producer.stop_us < producer.start_us:
        check.fail((*here, "stop"), "is before start", "stop at or after start")
    if producer.every_us is None and producer.at_us is None:
        for key, given in (
            ("count", producer.count is not None),
            ("arrivals", producer.arrivals != "regular"),
        ):
            if given:
                check.fail((*here, key), "says nothing without an interval", "give every, rate or at")
    if producer.at_us is not None:
        _instants(check, producer)
    _messages(check, (*here, "delay"), producer.delay, producer.topic)


def _audience(check: _Check, audience: AudienceSpec) -> None:
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


def _instants(check: _Check, producer: ProducerSpec) -> None:
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


def _consumer(check: _Check, consumer: ConsumerSpec) -> None:
    here = ("consumers", consumer.name)
    _consumer_of(check, here, consumer)
    if consumer.stop_us is not None and consumer.stop_us < consumer.start_us:
        check.fail((*here, "stop"), "is before start", "stop at or after start")
    if 0 < consumer.ack_timeout_us < SHORTEST_ACK_TIMEOUT_US:
        check.fail((*here, "ackTimeout"), "is under a second", "0s is off; otherwise at least 1s")


def _consumer_of(check: _Check, here: tuple[str, str], consumer: ConsumerSpec) -> None:
    subscription = check.scenario.subscriptions.get(consumer.subscription)
    if subscription is None:  # it could not be read, and that was said
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


def _messages(check: _Check, keys: tuple[str | int, ...], selection: Selection | None, topic: str) -> None:
    for index, (producer, _) in enumerate(selection.messages if selection else ()):
        if producer in check.scenario.producers and check.scenario.producers[producer].topic != topic:
            check.fail(
                (*keys, "messages", index),
                f"{producer} does not publish to {topic}",
                "name messages of this topic",
            )


def _session(check: _Check, session: SessionSpec) -> None:
    """An in-memory session beside durable ones: the proposal leaves it open, so the lab refuses it."""
    for index, text in enumerate(session.subscriptions):
        if not session.durable and parse_subscription(text).group is not None:
            what = (
                "an in-memory session cannot share in a group that durable storage feeds: nothing would "
                "keep its place in a stream"
            )
            check.fail(
                ("sessions", session.name, "subscriptions", index),
                what,
                "make the session durable, or let it subscribe to the filter alone",
            )


def _commands(check: _Check) -> None:
    for index, command in enumerate(check.scenario.commands):
        broker = check.scenario.brokers.get(command.arguments.get("broker"))
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
            continue  # its partitions are known when the run comes there
        if plain != topic and not check.partitions(plain):
            check.fail(("commands", index, "topic"), f"{plain} has no partitions", f"name {plain} itself")
        if command.do == "topic.grow" and not check.partitions(plain):
            check.fail(
                ("commands", index, "topic"), f"{plain} has no partitions", "only a partitioned topic grows"
            )
