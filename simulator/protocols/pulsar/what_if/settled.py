"""Whether nothing that is still to come in a run can change what an experiment measures.

Rules: this is the only place that decides where a run of which only figures are wanted may stop. The question
is answered from the state, and "no" in every doubtful case; a run is then simulated to its end. It is "yes"
when no command is pending, each subscription that failed over has its consumers at the target, its backlog is
drained, and everything else that can reach them was never delivered before and comes once. Later messages
then add no duplicate, redelivery, extra delivery or lost message. An entry whose append is not complete is in
its log already, so it is examined like the others. If reordered messages are measured, there may be only one
consumer, and messages must come in the order of their producers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from simulator.protocols.pulsar.client.consumer import RUNNING
from simulator.protocols.pulsar.failover.forecasting import resent

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.failover.window import FailoverWindow
    from simulator.protocols.pulsar.pulsar import Pulsar

COMMANDS = frozenset(
    {
        "subscription.fail-over",
        "cluster.crash",
        "cluster.lose",
        "link.cut",
        "link.heal",
        "link.slow",
        "link.partition",
        "client.kill",
        "draws.reseed",
    }
)
"""Commands after which a run can settle. Others may leave a state with later consequences."""

EVENTS = frozenset(
    {
        "CursorWriter.flush",
        "RetentionTimers.trim",
        "RetentionTimers.expire",
        "LedgerRollover.age_timer",
        "LedgerRollover.ledger_made",
        "SnapshotController.tick",
        "Appends.complete",
        "Replicator.arrive",
        "Replicator.room",
        "LedgerReceipts.first_arrived",
        "Replicator.check_for_new_entries",
        "Replicator.retry_now",
        "Dispatcher.check_for_new_entries",
        "Consumer.processed",
        "AckGroup.time_over",
        "HeldMessages.hold_over",
        "Producer.tick",
        "Producer.retry",
        "Producer.send_timed_out",
    }
)
"""Events of traffic, snapshots and storage: with any other one on the calendar a run has not settled."""

LOOKED_AT_MAX = 10_000
"""The most messages on their way that are examined; with more, a run is far from settled."""


def settled(runtime: Pulsar, measures: Sequence[str]) -> bool:
    """Whether these measures of the run are final."""
    return (
        all(spec.do in COMMANDS for spec in runtime.scenario.commands)
        and _only_traffic(runtime)
        and all(_window_settled(runtime, window, measures) for window in runtime.windows.values())
    )


def _only_traffic(runtime: Pulsar) -> bool:
    """Whether no command, restart, connection or redelivery is on the calendar."""
    methods: dict[Any, None] = {event[4]: None for event in runtime.events()}
    return all(method.__qualname__ in EVENTS for method in methods)


def _window_settled(runtime: Pulsar, window: Any, measures: Sequence[str]) -> bool:
    spec = runtime.subscriptions[window.subscription]
    topics = [
        topic
        for cluster in runtime.clusters.values()
        for topic in cluster.topics.values()
        if cluster.up and topic.base == spec.topic
    ]
    targets = [topic for topic in topics if topic.cluster.name == window.target]
    in_order = "reordered" in measures
    return (
        (window.first_delivery_us is not None or "outage_us" not in measures)
        and (window.draining.drained_us is not None or "drained_us" not in measures)
        and spec.acknowledgement_sync == "none"
        and bool(targets)
        and (len(targets) == 1 or not in_order)
        and all(_stores_only(topic) for topic in topics)
        and _wires_settled(runtime, window.target)
        and all(_target_settled(window, there, topics, in_order) for there in targets)
        and ("stranded_missing" not in measures or not _still_arriving(window, topics))
    )


def _stores_only(topic: Topic) -> bool:
    """Whether appending a message has no effect other than storing and reading it."""
    hot = topic.hot
    served = (
        topic.loaded
        and topic.log.current is not None
        and topic.source is None
        and topic.refuses is None
        and not topic.blocks_producers
        and not topic.migrating
        and topic.broker is None
        and topic.reads is None
    )
    return bool(
        served
        and not hot.deduplicates
        and not hot.ttl_us
        and not topic.keeps_sources
        and not topic.audiences
        and not topic.shadows.shadows()
        and not topic.shadows.replicators
    )


def _still_arriving(window: Any, topics: list[Topic]) -> bool:
    """Whether an unread message that was not replicated at the failover may still reach the target."""
    target = window.target
    there = BitMap.union(BitMap(), *(one.present for one in topics if one.cluster.name == target))
    others = BitMap.union(BitMap(), *(one.present for one in topics if one.cluster.name != target))
    return bool(window.unread & (others - there))


def _wires_settled(runtime: Pulsar, target: str) -> bool:
    """Whether connections to the target carry only what working replicators sent."""
    return not any(
        replicator.broken.entries or replicator.held.active or (replicator.wire and not cluster.up)
        for cluster in runtime.clusters.values()
        for topic in cluster.topics.values()
        if (replicator := topic.replicators.get(target)) is not None
    )


def _target_settled(window: FailoverWindow, there: Topic, topics: list[Topic], in_order: bool) -> bool:
    """Whether one topic or partition of the target has settled."""
    name = window.subscription
    subscription = there.subscriptions.get(name)
    if subscription is None or subscription.filter.reported:
        return False
    others = [topic for topic in topics if topic.name == there.name and topic is not there]
    elsewhere = [topic.subscriptions[name] for topic in others if name in topic.subscriptions]
    dispatcher: Any = subscription.dispatcher
    sessions = dispatcher.sessions
    return (
        (len(sessions) == 1 if in_order else bool(sessions))
        and not any(one.dispatcher.sessions for one in elsewhere)
        and not getattr(dispatcher, "replay", None)
        and not getattr(dispatcher, "delayed", None)
        and not getattr(dispatcher, "waiting", False)
        and all(_delivers_once(session.consumer) for session in sessions)
        and _producers_settled(window, there)
        and _comes_once(window, there, others, dispatcher, in_order)
    )


def _delivers_once(consumer: Consumer) -> bool:
    """Whether it stays where it is and never requests a redelivery."""
    return (
        consumer.state == RUNNING
        and consumer.resolver is None
        and not consumer.selections.negatives
        and not consumer.redelivery.requested
        and not consumer.spec.ack_timeout_us
    )


def _producers_settled(window: FailoverWindow, there: Topic) -> bool:
    """Whether each producer of the topic publishes every message once, to a log that reaches the target."""
    runtime = window.runtime
    for producer in runtime.producers.values():
        if producer.spec.topic != there.base:
            continue
        if producer.brokers.resolver is not None or producer.spec.delay is not None:
            return False
        cluster = runtime.clusters[producer.cluster_name]
        if not cluster.up:
            continue
        topic = cluster.topics.get(there.name)
        reaches = topic is there or (topic is not None and window.target in topic.replicators)
        if producer.pending or producer.replicate_to != -1 or not reaches:
            return False
    return True


def _comes_once(
    window: FailoverWindow, there: Topic, others: list[Topic], dispatcher: Any, in_order: bool
) -> bool:
    """Whether no message that may reach a consumer was delivered before, comes twice, or out of order."""
    runtime, name = window.runtime, window.subscription
    known = runtime.delivered[name] | runtime.acknowledged[name]
    coming = BitMap.union(BitMap(), *(topic.present for topic in others)) - there.present
    if len(coming) > LOOKED_AT_MAX or there.log.length - dispatcher.read_index > LOOKED_AT_MAX:
        return False
    if coming & known or any(resent(topic, there) for topic in others):
        return False
    unread = list(_unread(there, dispatcher))
    if any(message in known for message in unread):
        return False
    return not in_order or (_from_home(runtime, coming) and _from_home(runtime, unread))


def _from_home(runtime: Pulsar, messages: Iterable[int]) -> bool:
    """Whether each message was published in the cluster of its producer now: one log keeps its order."""
    table, producers = runtime.messages, runtime.producers.values()
    home = {one.number: runtime.cluster_index(one.cluster_name) for one in producers}
    return all(home.get(table.producer[message]) == table.origin[message] for message in messages)


def _unread(there: Topic, dispatcher: Any) -> Iterator[int]:
    """The messages in the target's log, or in a consumer's queue, that are not delivered yet."""
    batch = there.runtime.messages.batch
    for record in there.log.records.view(dispatcher.read_index, there.log.length).tolist():
        if record >= 0:
            yield from range(record, record + batch[record])
    for session in dispatcher.sessions:
        yield from (received.message for received in session.consumer.queue)
