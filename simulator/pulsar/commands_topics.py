"""Commands about topics, subscriptions and replication lists (rules: see `commands`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.pulsar import connecting, upkeep
from simulator.pulsar.cluster import LOST
from simulator.pulsar.creation.catalogue import grow as grow_topic
from simulator.pulsar.creation.catalogue import copy_subscriptions, shadows_of
from simulator.pulsar.creation.remote_admin import use_new_partitions
from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import parse_position
from simulator.scenarios.problems import suggestion

if TYPE_CHECKING:
    from simulator.pulsar.broadcast.broker import Broker
    from simulator.pulsar.cluster import Cluster
    from simulator.pulsar.runtime import Runtime
    from simulator.pulsar.subscription import Subscription
    from simulator.pulsar.topic import Topic


def _up(runtime: Runtime, name: str) -> Cluster:
    cluster = runtime.clusters[name]
    if not cluster.up:
        hint = "it was lost for good; name another cluster" if cluster.state == LOST else "restart it first"
        raise CommandError("cluster-down", f"{name} is {cluster.state}", hint)
    return cluster


def _topics(runtime: Runtime, cluster: str, name: str) -> list[Topic]:
    found = [topic for topic in _up(runtime, cluster).topics.values() if name in (topic.base, topic.name)]
    if not found:
        raise CommandError("no-topic", f"{cluster} does not have the topic {name}", "name a cluster of the topic's list")
    return found


def _subscriptions(runtime: Runtime, arguments: dict) -> list[Subscription]:
    name = arguments["subscription"]
    topics = _topics(runtime, arguments["cluster"], runtime.subscriptions[name].topic)
    found = [topic.subscriptions[name] for topic in topics if name in topic.subscriptions]
    if not found:
        raise CommandError("no-subscription", f"{name} does not exist in {arguments['cluster']}", "create it, or let a consumer subscribe there")
    return found


def unload(runtime, arguments, begin) -> None:
    """topic.unload: closed cleanly, loaded again at once, at another broker if one is named; clients reconnect."""
    topics = _topics(runtime, arguments["cluster"], arguments["topic"])
    broker = _broker(runtime, arguments["cluster"], arguments["broker"]) if "broker" in arguments else None
    cause = begin()
    for topic in topics:
        topic.unload("unload", cause)
        if broker is not None:
            topic.take_broker(broker)
        topic.load(cause)


def _broker(runtime: Runtime, cluster: str, name: str) -> Broker:
    """A declared broker of the cluster."""
    brokers = {broker.name: broker for broker in runtime.clusters[cluster].brokers}
    if name not in brokers:
        raise CommandError("no-broker", f"{name} is not a broker of {cluster}", suggestion(name, brokers))
    return brokers[name]


def reset(runtime, arguments, begin) -> None:
    """subscription.reset: to a position, an end of the log, or an instant of publishing."""
    subscriptions = _subscriptions(runtime, arguments)
    targets = [_reset_target(subscription, arguments) for subscription in subscriptions]
    cause = begin()
    for subscription, mark_delete in zip(subscriptions, targets, strict=True):
        if mark_delete > subscription.cursor.mark_delete:
            upkeep.pass_over(subscription, mark_delete, "message.skipped", cause, "reset")
        subscription.reset(mark_delete, "reset", cause)


def _reset_target(subscription: Subscription, arguments: dict) -> int:
    """The mark-delete index that a reset asks for."""
    log = subscription.topic.log
    if "time_us" in arguments:
        index = log.first_kept
        while index < log.length and upkeep.published_us(subscription.topic, index) < arguments["time_us"]:
            index += 1
        return index - 1
    position = arguments["position"]
    if position in ("earliest", "latest"):
        return log.first_kept - 1 if position == "earliest" else log.length - 1
    ledger, entry = parse_position(position)  # the entry before it, or, where there is none such, the last one below that is seen here
    return min(max(log.index_of(ledger, max(entry - 1, -1)), log.first_kept - 1), log.length - 1)


def skip(runtime, arguments, begin) -> None:
    """subscription.skip: over the next entries that are not acknowledged, markers counted as the broker does."""
    subscriptions = _subscriptions(runtime, arguments)
    cause = begin()
    for subscription in subscriptions:
        index, left = subscription.cursor.mark_delete, arguments["count"]
        while left and index + 1 < subscription.topic.log.length:
            index += 1
            left -= not subscription.cursor.is_acknowledged(index)
        _move_over(subscription, index, "skip", cause)


def clear(runtime, arguments, begin) -> None:
    """subscription.clear: to the end of the log."""
    subscriptions = _subscriptions(runtime, arguments)
    cause = begin()
    for subscription in subscriptions:
        _move_over(subscription, subscription.topic.log.length - 1, "clear", cause)


def _move_over(subscription: Subscription, index: int, reason: str, cause: int) -> None:
    if index > subscription.cursor.mark_delete:
        upkeep.pass_over(subscription, index, "message.skipped", cause, reason)
        subscription.acknowledge_up_to(index, reason, cause)


def create(runtime, arguments, begin) -> None:
    """subscription.create."""
    name = arguments["subscription"]
    spec = runtime.subscriptions[name]
    topics = _topics(runtime, arguments["cluster"], spec.topic)
    if any(name in topic.subscriptions for topic in topics):
        raise CommandError("exists", f"{name} exists in {arguments['cluster']}", "delete it first, or reset it")
    cause = begin()
    for topic in topics:
        mark_delete = topic.log.length - 1 if arguments["initialPosition"] == "Latest" else topic.log.first_kept - 1
        topic.add_subscription(name, spec.type, mark_delete, arguments["replicated"], "command", cause)
        topic.evaluate_controller(cause)


def delete(runtime, arguments, begin) -> None:
    """subscription.delete: only without consumers, as in Pulsar."""
    subscriptions = _subscriptions(runtime, arguments)
    if any(subscription.dispatcher.sessions for subscription in subscriptions):
        raise CommandError("has-consumers", f"{arguments['subscription']} has consumers in {arguments['cluster']}", "stop them first")
    cause = begin()
    for subscription in subscriptions:
        topic = subscription.topic
        del topic.subscriptions[subscription.name]
        seq = runtime.note("subscription.deleted", cause, topic.cluster.number, topic.number, subscription.number)
        topic.evaluate_controller(seq)


def replicate(runtime, arguments, begin) -> None:
    """subscription.replicate: set-replicated-subscription-status, this cluster only; of one partition when it is named."""
    subscriptions = _subscriptions(runtime, arguments)
    if "topic" in arguments:
        subscriptions = [found for found in subscriptions if arguments["topic"] in (found.topic.base, found.topic.name)]
        if not subscriptions:
            raise CommandError("no-subscription", f"{arguments['topic']} has no {arguments['subscription']}", "name a partition of its topic")
    if arguments["enabled"] and not _up(runtime, arguments["cluster"]).setting("enableReplicatedSubscriptions"):
        raise CommandError("feature-off", "enableReplicatedSubscriptions is false", "switch the broker setting on first (500 in Pulsar)")
    cause = begin()
    for subscription in subscriptions:
        subscription.switch_replication(arguments["enabled"], cause)


def sync_acknowledgements(runtime, arguments, begin) -> None:
    """subscription.sync-acknowledgements: the article's step 3, by hand."""
    name, source, target = arguments["subscription"], arguments["from"], arguments["to"]
    senders = [subscription.sender for subscription in _subscriptions(runtime, {**arguments, "cluster": source})]
    if not all(senders):
        raise CommandError("no-sync", f"{name} does not synchronise acknowledgements", "give it acknowledgementSync: once or periodic in the scenario")
    replicators = [sender.topic.replicators.get(target) for sender in senders]
    if not all(replicator is not None and replicator.reachable() for replicator in replicators):
        raise CommandError("not-reachable", f"{source} cannot reach {target}", "replicate the topic that way, and heal or restart what is broken")
    cause = begin()
    for sender in senders:
        sender.send(target, cause)


def remove_cluster(runtime, arguments, begin) -> None:
    """replication.remove-cluster: cursors towards it are deleted; snapshots no longer wait for it."""
    base, name = arguments["topic"], arguments["cluster"]
    if not any(name in pair for pair in runtime.replication[base]):
        raise CommandError("not-listed", f"{name} is not on {base}'s replication list", "see the topic's clusters")
    _refuse_namespace_replication(runtime, base)
    cause = begin()
    runtime.replication[base] = [pair for pair in runtime.replication[base] if name not in pair]
    runtime.policies.take_pairs(runtime.scenario.topics[base], runtime.replication[base])
    for cluster in runtime.clusters.values():
        for topic in cluster.topics.values():
            if topic.base == base:
                _drop_replicators(topic, name, cause)


def _refuse_namespace_replication(runtime: Runtime, base: str) -> None:
    """These two commands speak for all clusters at once; a topic whose list is its namespace's has no such list."""
    if any(runtime.policies.own_list(cluster, base) is None for cluster in runtime.scenario.topics[base].clusters):
        namespace = runtime.scenario.topics[base].namespace
        raise CommandError("namespace-replication", f"{base} replicates as its namespace {namespace} says", "use namespace.set-clusters or topic.set-replication-clusters")


def _drop_replicators(topic: Topic, removed: str, cause: int) -> None:
    gone = list(topic.replicators) if topic.cluster.name == removed else [peer for peer in topic.replicators if peer == removed]
    for peer in gone:
        topic.replicators.pop(peer).remove(cause)
    topic.evaluate_controller(cause)


def add_cluster(runtime, arguments, begin) -> None:
    """replication.add-cluster: replication both ways with every cluster on the list."""
    base, name = arguments["topic"], arguments["cluster"]
    if not any(topic.base == base for topic in runtime.clusters[name].topics.values()):
        raise CommandError("no-topic", f"{name} does not have the topic {base}", "name a cluster of the topic's list in the scenario")
    if any(name in pair for pair in runtime.replication[base]):
        raise CommandError("listed", f"{name} is on {base}'s replication list", "remove it first")
    _refuse_namespace_replication(runtime, base)
    listed = sorted({cluster for pair in runtime.replication[base] for cluster in pair}) or \
        [cluster for cluster in sorted(runtime.scenario.topics[base].clusters) if cluster != name]  # fmt: skip
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


def grow(runtime, arguments, begin) -> None:
    """topic.grow: new partitions in every cluster; producers and consumers use them at once."""
    base, wanted = arguments["topic"], arguments["partitions"]
    present = max((cluster.partitioned.get(base, 0) for cluster in runtime.clusters.values()), default=0)
    if not present:
        raise CommandError("not-partitioned", f"{base} has no partitions", "declare partitions in the scenario")
    if wanted <= present:
        raise CommandError("not-more", f"{base} has {present} partitions", "partitions can only be added")
    source = runtime.scenario.topics[base].shadow_of
    if source is not None and any(wanted > (cluster.shape(source) or 0) for cluster in runtime.clusters.values() if base in cluster.partitioned):
        raise CommandError("too-many", f"{source}, whose shadow {base} is, has fewer partitions", "add them to the source first")
    cause = begin()
    clusters = [cluster for cluster in runtime.clusters.values() if base in cluster.partitioned]
    for cluster in clusters:
        cluster.partitioned[base] = wanted
        runtime.note("topic.partitions-changed", cause, cluster.number, None, base, wanted, "command")
    new = [(cluster, f"{base}-partition-{number}", number) for number in range(wanted) for cluster in clusters]
    added = [cluster.add_topic(base, name, number) for cluster, name, number in new if name not in cluster.topics]
    for topic in added:
        topic.loaded = topic.cluster.up
    for topic in added:
        if topic.cluster.up:
            topic.load(cause, first=True)
    for cluster in clusters:
        copy_subscriptions(cluster, base, [topic for topic in added if topic.cluster is cluster and cluster.up], cause)
    for consumer in runtime.consumers.values():
        if consumer.sessions and runtime.subscriptions[consumer.spec.subscription].topic == base:
            connecting.connect(consumer, cause)
    if runtime.option("shadowPartitionChanges") == "follow-source":
        for cluster in clusters:
            for shadow in shadows_of(cluster, base):
                grow_topic(cluster, shadow, wanted, "follows-source", cause)
            use_new_partitions(cluster, base, cause)


def finish_partial(runtime, arguments, begin) -> None:
    """snapshot.finish-partial: UNSAFE, PIP-33's "tool to manually re-enable the snapshots"."""
    topics = _topics(runtime, arguments["cluster"], arguments["topic"])
    pending = [(topic.controller, builder) for topic in topics if topic.controller for builder in topic.controller.pending.values() if builder.answers]
    if not pending:
        raise CommandError("nothing-pending", "no pending snapshot has an answer", "wait until a snapshot is pending with at least one answer")
    cause = begin()
    for controller, builder in pending:
        controller.finish_partial(builder, cause)


HANDLERS = {
    "topic.unload": unload,
    "subscription.reset": reset,
    "subscription.sync-acknowledgements": sync_acknowledgements,
    "subscription.skip": skip,
    "subscription.clear": clear,
    "subscription.create": create,
    "subscription.delete": delete,
    "subscription.replicate": replicate,
    "replication.remove-cluster": remove_cluster,
    "replication.add-cluster": add_cluster,
    "topic.grow": grow,
    "snapshot.finish-partial": finish_partial,
}
