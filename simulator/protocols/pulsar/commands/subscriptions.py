"""Commands about subscriptions: cursors, replication, and failover to another region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulator.protocols.pulsar.commands.named import cluster_up, subscriptions_of, topics_of
from simulator.protocols.pulsar.failover.failover import AutomaticFailover, Failover
from simulator.protocols.pulsar.storage import retention
from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import parse_position
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.pulsar import Pulsar


def reset(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.reset: to a position, an end of the log, or an instant of publishing."""
    subscriptions = subscriptions_of(runtime, arguments)
    targets = [_reset_target(subscription, arguments) for subscription in subscriptions]
    runtime.in_portions(_reset(subscriptions, targets, begin()))


def _reset(subscriptions: list[Subscription], targets: list[int], cause: int) -> Iterator[int]:
    for subscription, mark_delete in zip(subscriptions, targets, strict=True):
        if mark_delete > subscription.cursor.mark_delete:
            yield from retention.pass_over(subscription, mark_delete, "message.skipped", cause, "reset")
        subscription.reset(mark_delete, "reset", cause)


def _reset_target(subscription: Subscription, arguments: dict) -> int:
    """The mark-delete index that a reset requests."""
    log = subscription.topic.log
    if "time_us" in arguments:
        index = log.first_kept
        while index < log.length and retention.published_us(subscription.topic, index) < arguments["time_us"]:
            index += 1
        return index - 1
    position = arguments["position"]
    if position in ("earliest", "latest"):
        return log.first_kept - 1 if position == "earliest" else log.length - 1
    # the entry before it, else the last lower entry that is visible in this log
    ledger, entry = parse_position(position)
    return min(max(log.index_of(ledger, max(entry - 1, -1)), log.first_kept - 1), log.length - 1)


def skip(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.skip: over the next unacked entries, with markers counted as by the broker."""
    subscriptions = subscriptions_of(runtime, arguments)
    runtime.in_portions(_skip(subscriptions, arguments["count"], begin()))


def _skip(subscriptions: list[Subscription], count: int, cause: int) -> Iterator[int]:
    for subscription in subscriptions:
        index, left = subscription.cursor.mark_delete, count
        while left and index + 1 < subscription.topic.log.length:
            index += 1
            left -= not subscription.cursor.is_acknowledged(index)
            if index % retention.LOOKED_AT_ONCE == 0:
                yield retention.LOOKED_AT_ONCE // 10
        yield from _move_over(subscription, index, "skip", cause)


def clear(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.clear: to the end of the log."""
    subscriptions = subscriptions_of(runtime, arguments)
    runtime.in_portions(_clear(subscriptions, begin()))


def _clear(subscriptions: list[Subscription], cause: int) -> Iterator[int]:
    for subscription in subscriptions:
        yield from _move_over(subscription, subscription.topic.log.length - 1, "clear", cause)


def _move_over(subscription: Subscription, index: int, reason: str, cause: int) -> Iterator[int]:
    if index > subscription.cursor.mark_delete:
        yield from retention.pass_over(subscription, index, "message.skipped", cause, reason)
        subscription.pass_over_to(index, reason, cause)


def create(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.create: like a consumer that subscribes and closes.

    It starts a snapshot controller where one is needed.
    """
    name = arguments["subscription"]
    spec = runtime.subscriptions[name]
    topics = topics_of(runtime, arguments["cluster"], spec.topic)
    if any(name in topic.subscriptions for topic in topics):
        raise CommandError(
            "exists", f"{name} exists in {arguments['cluster']}", "delete it first, or reset it"
        )
    cause = begin()
    for topic in topics:
        mark_delete = (
            topic.log.length - 1 if arguments["initialPosition"] == "Latest" else topic.log.first_kept - 1
        )
        topic.add_subscription(name, spec.type, mark_delete, arguments["replicated"], "command", cause)
        topic.evaluate_controller(cause)


def delete(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.delete: only without consumers, as in Pulsar.

    A running snapshot controller continues (#6464).
    """
    subscriptions = subscriptions_of(runtime, arguments)
    if any(subscription.dispatcher.sessions for subscription in subscriptions):
        raise CommandError(
            "has-consumers",
            f"{arguments['subscription']} has consumers in {arguments['cluster']}",
            "stop them first",
        )
    cause = begin()
    for subscription in subscriptions:
        topic = runtime.clusters[arguments["cluster"]].topics[subscription.topic.name]
        retention.cursor_deleted(topic, topic.delete_subscription(subscription.name, cause))


def replicate(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.replicate: set-replicated-subscription-status, in this cluster only.

    It applies to one partition if the arguments name it.
    """
    subscriptions = subscriptions_of(runtime, arguments)
    if "topic" in arguments:
        subscriptions = [
            found for found in subscriptions if arguments["topic"] in (found.topic.base, found.topic.name)
        ]
        if not subscriptions:
            raise CommandError(
                "no-subscription",
                f"{arguments['topic']} has no {arguments['subscription']}",
                "name a partition of its topic",
            )
    if arguments["enabled"] and not cluster_up(runtime, arguments["cluster"]).setting(
        "enableReplicatedSubscriptions"
    ):
        raise CommandError(
            "feature-off",
            "enableReplicatedSubscriptions is false",
            "switch the broker setting on first (500 in Pulsar)",
        )
    cause = begin()
    for subscription in subscriptions:
        subscription.switch_replication(arguments["enabled"], cause)


def sync_acknowledgements(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.sync-acknowledgements: the article's step 3, by hand."""
    name, source, target = arguments["subscription"], arguments["from"], arguments["to"]
    subscriptions = subscriptions_of(runtime, {**arguments, "cluster": source})
    senders = [one.sender for one in subscriptions if one.sender is not None]
    if len(senders) < len(subscriptions):
        raise CommandError(
            "no-sync",
            f"{name} does not synchronise acknowledgements",
            "give it acknowledgementSync: once or periodic in the scenario",
        )
    replicators = [sender.topic.replicators.get(target) for sender in senders]
    if not all(replicator is not None and replicator.reachable() for replicator in replicators):
        raise CommandError(
            "not-reachable",
            f"{source} cannot reach {target}",
            "replicate the topic that way, and heal or restart what is broken",
        )
    cause = begin()
    for sender in senders:
        sender.send(target, cause)


def fail_over(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.fail-over in one of its modes."""
    name, source, target = arguments["subscription"], arguments["from"], arguments["to"]
    moving = [
        c for c in runtime.consumers.values() if c.spec.subscription == name and c.cluster_name == source
    ]
    if not moving:
        raise CommandError(
            "no-consumers",
            f"no consumer of {name} is in {source}",
            f"{name}'s consumers are in "
            + (
                ", ".join(
                    sorted(
                        {c.cluster_name for c in runtime.consumers.values() if c.spec.subscription == name}
                    )
                )
                or "no cluster"
            ),
        )
    if all(consumer.spec.cluster is None for consumer in moving):
        raise CommandError(
            "looks-up",
            f"the consumers of {name} connect where the LookupService sends them",
            "migrate their tenant, or give them a cluster of their own",
        )
    topic = runtime.subscriptions[name].topic
    if not any(t.base == topic for t in runtime.clusters[target].topics.values()):
        raise CommandError(
            "no-topic", f"{target} does not have the topic {topic}", "name a cluster of the topic's list"
        )
    if arguments["mode"] in ("planned", "drained") and not runtime.clusters[source].up:
        raise CommandError(
            "source-down",
            f"{source} is {runtime.clusters[source].state}: its clients cannot finish",
            "use mode crash",
        )
    cause = begin()
    if arguments["mode"] == "auto":
        AutomaticFailover(runtime, arguments)
    else:
        Failover(runtime, arguments, arguments["mode"]).begin(cause)


HANDLERS: dict[str, Handler] = {
    "subscription.reset": reset,
    "subscription.skip": skip,
    "subscription.clear": clear,
    "subscription.create": create,
    "subscription.delete": delete,
    "subscription.replicate": replicate,
    "subscription.sync-acknowledgements": sync_acknowledgements,
    "subscription.fail-over": fail_over,
}
