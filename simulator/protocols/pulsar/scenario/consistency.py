"""The rules between the parts of a Pulsar scenario, beyond each key by itself.

Rules: all valid parts are checked, also when other problems were found. A problem is only what is always
invalid. Requests that a running cluster would refuse (such as a second consumer on an Exclusive subscription)
are left to the run.
"""

from __future__ import annotations

from typing import Any

from simulator.protocols.pulsar.scenario.check import PulsarCheck
from simulator.protocols.pulsar.scenario.consistency_clients import check_clients
from simulator.protocols.pulsar.scenario.consistency_creation import check_creation
from simulator.protocols.pulsar.scenario.families import TENANT_MIGRATION
from simulator.protocols.pulsar.scenario.model import TopicSpec
from simulator.scenarios.check import Check
from simulator.scenarios.names import PARTITION_SUFFIX, base_of
from simulator.scenarios.problems import suggestion

SMALLEST_SPREAD_CACHE = 3
"""Smallest cache of the spread rule, which keeps first and last and removes one in between.

A cache under 3 is an IllegalArgumentException.
"""


def check_consistency(asked: Check) -> None:
    """Add every problem between parts of the scenario."""
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
