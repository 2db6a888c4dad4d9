"""Commands about topics at their broker: unload, crash, terminate, truncate, offload, snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key
from simulator.protocols.pulsar.commands.named import at_a_broker, broker_of, topics_of
from simulator.protocols.pulsar.shadow.reads import NO_DRIVER, driver_of
from simulator.protocols.pulsar.storage import retention
from simulator.scenarios.commands import CommandError
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar

NOT_ALLOWED = "NotAllowed"


def unload(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.unload: closed cleanly and loaded again after `topicLoadTime`; clients reconnect.

    It is loaded at another broker if one is named.
    """
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    broker = broker_of(runtime, arguments["cluster"], arguments["broker"]) if "broker" in arguments else None
    cause = begin()
    for topic in topics:
        topic.unload("unload", cause)
        if broker is not None:
            topic.take_broker(broker)
        stream = stream_key(runtime.seed, f"load/{topic.cluster.name}/{topic.name}")
        load_us = Sampler(runtime.option("topicLoadTime"), stream).at(topic.epoch)
        if load_us:
            argument = (topic.epoch, cause)
            runtime.schedule(runtime.now_us + load_us, topic.rank, topic.later.load_for_clients, argument)
        else:
            topic.load(cause)


def crash(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.crash: not closed cleanly; loaded again after the downtime."""
    topics = [topic for topic in topics_of(runtime, arguments["cluster"], arguments["topic"]) if topic.loaded]
    if not topics:
        raise CommandError(
            "not-loaded",
            f"{arguments['topic']} is at no broker of {arguments['cluster']}",
            "wait until it is loaded again",
        )
    cause = begin()
    for topic in topics:
        topic.unload("crash", cause, clean=False)
        if arguments["downtime_us"]:
            runtime.schedule(
                runtime.now_us + arguments["downtime_us"],
                topic.rank,
                topic.later.load,
                (topic.epoch, cause),
            )
        else:
            topic.load(cause)


def terminate(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.terminate: it takes no more messages."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    if topics[0].source is not None:
        raise CommandError(
            NOT_ALLOWED,
            "Terminate is not allowed on shadow topic.",
            f"terminate its source, {topics[0].source.base}",
        )
    if any(topic.terminated for topic in topics):
        raise CommandError("terminated", f"{arguments['topic']} is terminated already", "it stays so")
    if any(topic.replicators for topic in topics):
        raise CommandError(
            "replicates",
            f"{arguments['topic']} replicates to other clusters",
            "take them off its replication list first",
        )
    at_a_broker(topics, arguments)
    cause = begin()
    for topic in topics:
        topic.terminate(cause)


def truncate(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.truncate: move every cursor to the end, then delete all ledgers but the open one."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    _writes_ledgers(topics, "truncated")
    at_a_broker(topics, arguments)
    runtime.in_portions(_truncate(topics, begin()))


def _truncate(topics: list[Topic], cause: int) -> Iterator[int]:
    for topic in topics:
        for subscription in topic.subscriptions.values():
            last = topic.log.length - 1
            if last > subscription.cursor.mark_delete:
                yield from retention.pass_over(subscription, last, "message.skipped", cause, "truncate")
                subscription.acknowledge_up_to(last, "clear", cause)
        for replicator in topic.replicators.values():
            yield from retention.pass_over_replication(replicator, topic.log.length - 1, "cleared", cause)
        for shadow_replicator in topic.shadows.replicators.values():
            shadow_replicator.pushed_to(topic.log.length)
        retention.delete_ledgers(topic, topic.log.ledgers[:-1], cause)


def offload(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.offload: its closed ledgers, all at once."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    _writes_ledgers(topics, "offloaded")
    at_a_broker(topics, arguments)
    driver = driver_of(topics[0])
    if driver == NO_DRIVER:
        raise CommandError(
            "412", f"{arguments['topic']} has no offload driver", "set managedLedgerOffloadDriver for it"
        )
    cause = begin()
    for topic in topics:
        if topic.shadows.storage.offload(
            topic.log.ledgers[:-1], driver, arguments["deleteFromBookies"], cause
        ):
            topic.shadows.ledgers_changed(cause)


def _writes_ledgers(topics: list[Topic], what: str) -> None:
    if topics[0].source is not None:
        raise CommandError(
            NOT_ALLOWED,
            f"a shadow topic's ledgers are its source's: it cannot be {what}",
            f"name {topics[0].source.base}",
        )


def finish_partial(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """snapshot.finish-partial: UNSAFE, PIP-33's "tool to manually re-enable the snapshots"."""
    topics = topics_of(runtime, arguments["cluster"], arguments["topic"])
    pending = [
        (topic.controller, builder.snapshot)
        for topic in topics
        if topic.controller
        for builder in topic.controller.pending.values()
        if builder.answers
    ]
    if not pending:
        raise CommandError(
            "nothing-pending",
            "no pending snapshot has an answer",
            "wait until a snapshot is pending with at least one answer",
        )
    cause = begin()
    for controller, snapshot in pending:
        controller.finish_partial(snapshot, cause)


HANDLERS: dict[str, Handler] = {
    "topic.unload": unload,
    "topic.crash": crash,
    "topic.terminate": terminate,
    "topic.truncate": truncate,
    "topic.offload": offload,
    "snapshot.finish-partial": finish_partial,
}
