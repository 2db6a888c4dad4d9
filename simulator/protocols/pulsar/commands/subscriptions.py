"""Commands about subscriptions: cursors, replication, and failover to another region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulator.protocols.pulsar.commands.named import (
    at_a_broker,
    cluster_up,
    full_log_name,
    full_name,
    subscriptions_of,
    topics_of,
)
from simulator.protocols.pulsar.failover.automatic import AutomaticFailover
from simulator.protocols.pulsar.failover.failover import Failover
from simulator.protocols.pulsar.storage import retention
from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import parse_position
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar

_SECOND_US = 1_000_000


def reset(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.reset: to a position, an end of the log, or an instant of publishing."""
    subscriptions = subscriptions_of(runtime, arguments)
    targets = [_reset_target(subscription, arguments) for subscription in subscriptions]
    runtime.in_portions(_reset(subscriptions, targets, begin(), arguments["by"] == "client"))


def _reset(subscriptions: list[Subscription], targets: list[int], cause: int, seeks: bool) -> Iterator[int]:
    for subscription, mark_delete in zip(subscriptions, targets, strict=True):
        if mark_delete > subscription.cursor.mark_delete:
            yield from retention.pass_over(subscription, mark_delete, "message.skipped", cause, "reset")
        subscription.reset(mark_delete, "reset", cause, seeks)


def _reset_target(subscription: Subscription, arguments: dict) -> int:
    """The mark-delete index that a reset requests."""
    log = subscription.topic.log
    if "time_us" in arguments:
        found = retention.newest_before(subscription.topic, arguments["time_us"])
        return log.first_kept - 1 if found is None else found
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
        index = yield from retention.after_skipping(subscription.topic, subscription.cursor, count)
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


def expire_messages(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """subscription.expire-messages: by age, or up to a position (`PersistentTopicsBase`)."""
    name, cluster = arguments["subscription"], arguments["cluster"]
    base = runtime.subscriptions[name].topic
    topics = topics_of(runtime, cluster, base)
    at_a_broker(topics, {**arguments, "topic": base})
    found = [topic.subscriptions[name] for topic in topics if name in topic.subscriptions]
    if not found:
        raise CommandError(
            "404",
            f"Subscription {name} not found for topic {full_name(runtime, base)}",
            "create it, or let a consumer subscribe there",
        )
    if "position" in arguments:
        last = expiry_position(runtime, topics, arguments, name)
        runtime.in_portions(retention.expire_to(found[0], last, begin(code="204")))
        return
    seconds = arguments["expireTime_us"] // _SECOND_US
    found = [one for one in found if retention.may_expire(one, seconds * _SECOND_US)]
    if not found:
        raise not_issued(runtime, base, name)
    runtime.in_portions(_expire_messages(found, runtime.now_us - seconds * _SECOND_US, begin(code="204")))


def _expire_messages(found: list[Subscription], limit_us: int, cause: int) -> Iterator[int]:
    for subscription in found:
        yield from retention.expire_published_before(subscription, limit_us, cause)


def not_issued(runtime: Pulsar, topic: str, cursor: str) -> CommandError:
    """The response when no log of a topic has a cursor whose messages are looked at."""
    return CommandError(
        "409",
        (
            f"Expire message by timestamp not issued on topic {full_log_name(runtime, topic)} for "
            f"subscription {cursor} due to ongoing message expiration not finished or subscription almost "
            "catch  up. If it's performed on a partitioned topic operation might succeeded on other "
            "partitions, please check stats of individual partition."
        ),
        f"wait for a backlog of {retention.BACKLOG_TO_EXPIRE:,} entries, or for an oldest entry that is 1.5 "
        "times as old",
    )


def expiry_position(runtime: Pulsar, topics: list[Topic], arguments: dict, cursor: str) -> int:
    """The last entry up to which messages are to expire; refuses what has no such entry."""
    if topics[0].partition >= 0:
        raise CommandError(
            "405",
            "Expire message at position is not supported for partitioned-topic",
            "give expireTime instead",
        )
    place, log = parse_position(arguments["position"]), topics[0].log
    if place > log.last_confirmed:
        raise CommandError(
            "409",
            (
                f"Expire message by position not issued on topic {full_name(runtime, topics[0].base)} for "
                f"subscription {cursor} due to ongoing message expiration not finished or invalid message "
                "position provided."
            ),
            "give a position at or below {}:{}, the topic's last".format(*log.last_confirmed),
        )
    return log.index_of(*place)


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
    "subscription.expire-messages": expire_messages,
    "subscription.create": create,
    "subscription.delete": delete,
    "subscription.replicate": replicate,
    "subscription.sync-acknowledgements": sync_acknowledgements,
    "subscription.fail-over": fail_over,
}
