"""Commands about replication: lists of all clusters or of a topic in one cluster, and cursors.

Codes are the HTTP status that pulsar-admin would get.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulator.protocols.pulsar.commands.named import (
    at_a_broker,
    cluster_up,
    full_log_name,
    topic_here,
    topics_of,
)
from simulator.protocols.pulsar.commands.subscriptions import not_issued
from simulator.protocols.pulsar.commands.topic_shapes import copies_requests
from simulator.protocols.pulsar.creation import catalogue, policies, remote_admin
from simulator.protocols.pulsar.creation.policies import GLOBAL, LOCAL
from simulator.protocols.pulsar.creation.remote_admin import known_clusters, no_peers_together
from simulator.protocols.pulsar.storage import retention
from simulator.scenarios.commands import CommandError
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator

_SECOND_US = 1_000_000


def remove_cluster(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """replication.remove-cluster: cursors towards it are deleted; snapshots no longer wait for it."""
    base, name = arguments["topic"], arguments["cluster"]
    if not any(name in pair for pair in runtime.replication[base]):
        raise CommandError(
            "not-listed", f"{name} is not on {base}'s replication list", "see the topic's clusters"
        )
    _refuse_namespace_replication(runtime, base)
    cause = begin()
    runtime.replication[base] = [pair for pair in runtime.replication[base] if name not in pair]
    runtime.policies.take_pairs(runtime.scenario.topics[base], runtime.replication[base])
    for cluster in runtime.clusters.values():
        for topic in cluster.topics.values():
            if topic.base == base:
                _drop_replicators(topic, name, cause)


def _refuse_namespace_replication(runtime: Pulsar, base: str) -> None:
    """Refuse replication.add-cluster and remove-cluster for a topic that follows its namespace's list.

    These commands change a topic's lists in all clusters at once. Such a topic has none.
    """
    if any(
        runtime.policies.own_list(cluster, base) is None for cluster in runtime.scenario.topics[base].clusters
    ):
        namespace = runtime.scenario.topics[base].namespace
        raise CommandError(
            "namespace-replication",
            f"{base} replicates to the clusters of its namespace {namespace}",
            "use namespace.set-clusters or topic.set-replication-clusters",
        )


def _drop_replicators(topic: Topic, removed: str, cause: int) -> None:
    gone = (
        list(topic.replicators)
        if topic.cluster.name == removed
        else [peer for peer in topic.replicators if peer == removed]
    )
    for peer in gone:
        topic.replicators.pop(peer).remove(cause)
    if gone:
        retention.cursor_deleted(topic, cause)
    topic.evaluate_controller(cause)


def add_cluster(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """replication.add-cluster: replication both ways with every cluster on the list."""
    base, name = arguments["topic"], arguments["cluster"]
    if not any(topic.base == base for topic in runtime.clusters[name].topics.values()):
        raise CommandError(
            "no-topic",
            f"{name} does not have the topic {base}",
            "name a cluster of the topic's list in the scenario",
        )
    if any(name in pair for pair in runtime.replication[base]):
        raise CommandError("listed", f"{name} is on {base}'s replication list", "remove it first")
    _refuse_namespace_replication(runtime, base)
    listed = sorted({cluster for pair in runtime.replication[base] for cluster in pair}) or [
        cluster for cluster in sorted(runtime.scenario.topics[base].clusters) if cluster != name
    ]
    cause = begin()
    new = [(name, other) for other in listed] + [(other, name) for other in listed]
    runtime.replication[base] = sorted([*runtime.replication[base], *new])
    runtime.policies.take_pairs(runtime.scenario.topics[base], runtime.replication[base])
    for cluster in runtime.clusters.values():
        for topic in cluster.topics.values():
            if topic.base == base and topic.loaded:
                for peer in topic.remote_clusters():
                    if peer not in topic.replicators:
                        topic.add_replicator(peer, cause).start(cause)
                topic.evaluate_controller(cause)


def skip(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """replication.skip: over the next entries without receipt, markers included."""
    if (runtime.clusters[arguments["cluster"]].shape(arguments["topic"]) or 0) > 0:
        raise CommandError(
            "405", "Skip messages on a partitioned topic is not allowed", "name one of its partitions"
        )
    found = _replicators(runtime, arguments, "Replicator not found")
    runtime.in_portions(_skip(found, arguments["count"], begin(code="204")))


def _skip(found: list[Replicator], count: int, cause: int) -> Iterator[int]:
    for replicator in found:
        replicator.catch_up()
        last = yield from retention.after_skipping(replicator.topic, replicator.cursor, count)
        yield from retention.move_replication_cursor(replicator, last, "skipped", cause)


def clear(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """replication.clear: to the end of the log."""
    found = _replicators(runtime, arguments, _no_subscription(runtime, arguments))
    runtime.in_portions(_clear(found, begin(code="204")))


def _clear(found: list[Replicator], cause: int) -> Iterator[int]:
    for replicator in found:
        replicator.catch_up()
        yield from retention.move_replication_cursor(
            replicator, replicator.topic.log.length - 1, "cleared", cause
        )


def expire_messages(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """replication.expire-messages: by age only.

    The request by position looks for a subscription before it looks for a replicator
    (`PersistentTopicsBase.internalExpireMessagesNonPartitionedTopicByPosition`).
    """
    found = _replicators(runtime, arguments, "Replicator not found")
    if "position" in arguments:
        raise CommandError("404", _no_subscription(runtime, arguments), "give expireTime instead")
    age_us = arguments["expireTime_us"] // _SECOND_US * _SECOND_US
    found = [one for one in found if retention.may_expire_for(one.topic, one.cursor_now(), age_us)]
    if not found:
        raise not_issued(runtime, arguments["topic"], _cursor_name(arguments))
    runtime.in_portions(_expire_messages(found, runtime.now_us - age_us, begin(code="204")))


def _expire_messages(found: list[Replicator], limit_us: int, cause: int) -> Iterator[int]:
    for replicator in found:
        replicator.catch_up()
        last = retention.newest_published_before(replicator.topic, replicator.cursor, limit_us)
        yield from retention.expire_replication(replicator, last, "expire-messages", cause)


def reset(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """replication.reset: always refused, because a replicator is no subscription (#15466)."""
    partitions = runtime.clusters[arguments["cluster"]].shape(arguments["topic"]) or 0
    _replicators(runtime, arguments, _no_subscription(runtime, arguments))
    if partitions > 0 and "position" in arguments:
        raise CommandError(
            "405", "Reset-cursor at position is not allowed for partitioned-topic", "name a partition"
        )
    raise CommandError(
        "404",
        _no_subscription(runtime, arguments),
        "remove the cluster from the replication list and add it with replicationStartAt earliest",
    )


def _replicators(runtime: Pulsar, arguments: dict, absent: str) -> list[Replicator]:
    """The replicators of the arguments, one for each log of the topic; 404 without any."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    at_a_broker(topics, arguments)
    found = [topic.replicators[arguments["to"]] for topic in topics if arguments["to"] in topic.replicators]
    if not found:
        raise CommandError("404", absent, f"name a cluster that {arguments['topic']} replicates to")
    return found


def _cursor_name(arguments: dict) -> str:
    return f"pulsar.repl.{arguments['to']}"


def _no_subscription(runtime: Pulsar, arguments: dict) -> str:
    topic = full_log_name(runtime, arguments["topic"])
    return f"Subscription {_cursor_name(arguments)} not found for topic {topic}"


def set_list(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.set-replication-clusters: partition counts of both clusters must agree.

    Except in the proposal, a topic that a remote lacks is created first.
    """
    cluster, base, listed = _policies_of(runtime, arguments), arguments["topic"], tuple(arguments["clusters"])
    _check_list(runtime, cluster, base, listed, arguments["global"])
    shape, remotes = cluster.shape(base), [name for name in sorted(listed) if name != cluster.name]
    checks = runtime.option("replicationTopicCreation") == "proposal" or cluster.creates_remotely
    missing = _lacking(runtime, cluster, base, shape, remotes) if shape and checks else []
    cause = begin(code="204")
    for name in missing if copies_requests(runtime, cluster) else ():
        catalogue.create(
            runtime.clusters[name], base, shape or 0, "set-replication-clusters", cause, cluster.name
        )
    scope = GLOBAL if arguments["global"] else LOCAL
    _change_everywhere(runtime, cluster, base, scope, listed, cause)


def _check_list(
    runtime: Pulsar, cluster: Cluster, base: str, listed: tuple[str, ...], everywhere: bool
) -> None:
    """Refuse an invalid list, in the order of PersistentTopicsBase.internalSetReplicationClusters.

    A namespace's allowed clusters do not count here.
    """
    if not listed:
        raise CommandError(
            "412", "ClusterIds should not be null or empty", "name at least one cluster, or remove the list"
        )
    if cluster.name not in listed and not everywhere:
        raise CommandError(
            "412",
            "Can not remove local cluster from the local topic-level replication clusters policy",
            f"name {cluster.name} too, or delete the topic here",
        )
    if everywhere:
        _check_global_list(runtime, cluster, base, listed)
    known_clusters(runtime, listed)
    no_peers_together(runtime, listed)


def _check_global_list(runtime: Pulsar, cluster: Cluster, base: str, listed: tuple[str, ...]) -> None:
    """Refuse a global list with clusters to which the namespace's policies are not copied."""
    present = policies.namespace_list(runtime, cluster.name, runtime.scenario.topics[base].namespace)
    if len(present) < 2:
        raise CommandError(
            "412",
            (
                "Please do not use the global topic level policy when namespace-level replication is not "
                "enabled, because the global level policy relies on namespace-level replication"
            ),
            "replicate the namespace first, or set a local list",
        )
    if any(name not in present for name in listed):
        raise CommandError(
            "412",
            (
                "The policies at the global topic level will only be copied to the clusters included in the "
                "namespace level replication. Therefore, please do not set the policies including other "
                "clusters"
            ),
            f"name clusters of {', '.join(present)}",
        )


def _lacking(runtime: Pulsar, cluster: Cluster, base: str, shape: int, remotes: list[str]) -> list[str]:
    """Remotes without the topic; raises 412 for another count, 500 where no admin service responds."""
    missing = []
    for name in remotes:
        remote = runtime.clusters[name]
        silent = remote_admin.why_silent(cluster, remote)
        if silent is not None:
            raise CommandError("500", silent, "heal or restart what is broken")
        far = remote.shape(base)
        if far is not None and far != shape:
            raise CommandError(
                "412",
                remote_admin.other_count(remote, base, far, shape),
                "give both the same number of partitions first",
            )
        nowhere = policies.not_here(remote, base)
        if far is None and nowhere is not None and copies_requests(runtime, cluster):
            raise CommandError(
                *nowhere,
                (
                    f"the topic would have to be created in {name}: create its namespace there, or put "
                    f"{name} on the list there"
                ),
            )
        if far is None:
            missing.append(name)
    return missing


def remove_list(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.remove-replication-clusters: nothing changes where the topic has no list of its own."""
    cluster, base = _policies_of(runtime, arguments), arguments["topic"]
    scope = GLOBAL if arguments["global"] else LOCAL
    cause = begin(code="204")
    if (cluster.name, base, scope) in runtime.policies.lists:
        _change_everywhere(runtime, cluster, base, scope, None, cause)


def _policies_of(runtime: Pulsar, arguments: dict) -> Cluster:
    """The cluster of the arguments, where their topic can have policies (preValidation)."""
    cluster = cluster_up(runtime, arguments["cluster"])
    if not cluster.setting("topicLevelPoliciesEnabled"):
        raise CommandError(
            "405",
            "Topic level policies is disabled, to enable the topic level policy and retry.",
            f"turn topicLevelPoliciesEnabled on in {cluster.name}",
        )
    return topic_here(runtime, arguments)


def _change_everywhere(
    runtime: Pulsar, cluster: Cluster, base: str, scope: str, listed: tuple[str, ...] | None, cause: int
) -> None:
    """Change the list: locally at once, and a global policy in the namespace's other clusters.

    It reaches them through `__change_events`.
    """
    namespace = runtime.scenario.topics[base].namespace
    others = (
        [name for name in policies.namespace_list(runtime, cluster.name, namespace) if name != cluster.name]
        if scope == GLOBAL
        else []
    )
    _need_change_events(cluster, namespace, cause)
    seq = policies.change_list(runtime, cluster.name, base, scope, listed, cause)
    for name in sorted(others):
        runtime.remote_admin.send(runtime.remote_admin.set_global_list, cluster.name, name, base, listed, seq)
    catalogue.apply(runtime, seq)


def _need_change_events(cluster: Cluster, namespace: str, cause: int) -> None:
    """Create `__change_events`, which stores topic policies, if it is missing.

    It is created like any topic. Since #25312 its partitions are copied from a remote.
    """
    runtime = cluster.runtime
    if policies.existing(runtime, cluster.name, namespace)["change_events_partitions"] is not None:
        return
    _allowed, kind, partitions = policies.auto_creation(cluster, namespace)
    shape = partitions if kind == "partitioned" else 0
    if runtime.option("replicationTopicCreation") == "implemented" and cluster.creates_remotely:
        for name in sorted(set(policies.namespace_list(runtime, cluster.name, namespace)) - {cluster.name}):
            there = policies.of_namespace(runtime, name, namespace)
            if (
                runtime.clusters[name].up
                and there is not None
                and there["change_events_partitions"] is not None
            ):
                shape = there["change_events_partitions"]
                break
    policies.change(runtime, cluster.name, namespace, cause, change_events_partitions=shape)


HANDLERS: dict[str, Handler] = {
    "replication.remove-cluster": remove_cluster,
    "replication.add-cluster": add_cluster,
    "replication.skip": skip,
    "replication.clear": clear,
    "replication.expire-messages": expire_messages,
    "replication.reset": reset,
    "topic.set-replication-clusters": set_list,
    "topic.remove-replication-clusters": remove_list,
}
