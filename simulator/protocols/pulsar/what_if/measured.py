"""What an experiment measures in a run with failovers, and the period with which its faults are moved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from simulator.protocols.pulsar.client.consumer import RUNNING
from simulator.protocols.pulsar.failover.forecasting import resent
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.protocols.pulsar.what_if.changes import reduced
from simulator.protocols.pulsar.what_if.closed_form import expected
from simulator.scenarios.settings import SETTINGS
from simulator.system.measured import Failure, Flow, Load, Measure, Measured

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.failover.failover import FailoverWindow
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.model import ProducerSpec, TopicSpec
    from simulator.scenarios.model import CommandSpec
    from simulator.world import World


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
    """Whether these measures of the run are final.

    Rules: this is the only place that decides where a run of which only figures are wanted may stop. The
    question is answered from the state, and "no" in every doubtful case; a run is then simulated to its end.
    It is "yes" when no command is pending, each subscription that failed over has its consumers at the
    target, its backlog is drained, and everything else that can reach them was never delivered before and
    comes once. Later messages then add no duplicate, redelivery, extra delivery or lost message. An entry
    whose append is not complete is in its log already, so it is examined like the others. If reordered
    messages are measured, there may be only one consumer, and messages must come in the order of their
    producers.
    """
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


PERIOD = "replicatedSubscriptionsSnapshotFrequencyMillis"
ENDS = ("cluster.crash", "cluster.lose")
"""The commands that end the traffic of a cluster's producers."""

RECONNECT_S = 0.5
"""Until the consumers have subscribed again; the receiver queues are empty until then."""


def load_of(scenario: PulsarScenario) -> Load | None:
    """The load of the consumers that the first failover moves; None without a failover.

    How busy the consumers of the first failover are, and how long its backlog takes to drain.

    Rules: nothing is simulated. The rates are means, so they are for a text beside an answer and for
    estimating the time that runs take; no figure of a run depends on them.
    """
    moves = [spec for spec in scenario.commands if spec.do == "subscription.fail-over"]
    if not moves:
        return None
    move = min(moves, key=lambda spec: spec.at_us)
    subscription = scenario.subscriptions[move.arguments["subscription"]]
    consumers = [one for one in scenario.consumers.values() if one.subscription == subscription.name]
    producers = [one for one in scenario.producers.values() if one.topic == subscription.topic]
    flows = tuple(_flow(one, scenario) for one in producers if one.every_us)
    rate = sum(flow.rate for flow in flows)
    spans_s = [one.processing.mean_us() / 1e6 for one in consumers]
    if not consumers or not all(spans_s):
        return Load(rate, None, RECONNECT_S, flows)
    partitions = max(1, scenario.topics[subscription.topic].partitions)
    working = spans_s if "Shared" in subscription.type else spans_s[:partitions]
    capacity = sum(1 / span for span in working)
    unread = max(0.0, rate - capacity) * move.at_us / 1e6
    backlog = rate * (_behind_s(scenario, move) + RECONNECT_S) + unread
    # the consumer that subscribes first fills its receiver queue before the others are there
    prefetched = min(backlog, max(one.receiver_queue_size for one in consumers))
    return Load(rate, capacity, RECONNECT_S + max(prefetched * max(working), backlog / capacity), flows)


def _flow(producer: ProducerSpec, scenario: PulsarScenario) -> Flow:
    """What it publishes until it stops, or until its cluster crashes and is not started again."""
    ends_us = [] if producer.stop_us is None else [producer.stop_us]
    restarted = any(spec.do == "cluster.restart" for spec in scenario.commands)
    for spec in scenario.commands:
        if spec.do in ENDS and spec.arguments["cluster"] == producer.cluster and not restarted:
            ends_us.append(spec.at_us)
    assert producer.every_us, "it has a rate"
    return Flow(producer.every_us, producer.start_us, min(ends_us, default=None), producer.count)


def _behind_s(scenario: PulsarScenario, move: CommandSpec) -> float:
    """By how much the target's cursor is behind the source's: half a period, and a snapshot's own time."""
    source = move.arguments["from"]
    own = scenario.clusters[source].settings if source in scenario.clusters else {}
    settings = {**scenario.settings, **own}
    period_s = settings.get(PERIOD, SETTINGS[PERIOD].default_under(scenario.options)) / 1000
    latency_s = max((link.latency.nominal_us for link in scenario.links.values()), default=0) / 1e6
    return period_s / 2 + 3 * latency_s


QUEUE = "replicationProducerQueueSize"


def _assumed(scenario: PulsarScenario) -> list[str]:
    """What limits replication to the first failover's target, where more is published than it carries.

    A replicator has at most its queue of entries without a receipt (`PersistentReplicator`), so it sends one
    queue in each round trip.
    """
    moves = [spec for spec in scenario.commands if spec.do == "subscription.fail-over"]
    if not moves:
        return []
    move = min(moves, key=lambda spec: spec.at_us)
    topic = scenario.topics[scenario.subscriptions[move.arguments["subscription"]].topic]
    pairs = sorted(
        pair
        for pair in scenario.links
        if pair[1] == move.arguments["to"] and (topic.replication is None or pair in topic.replication)
    )
    found = [_limited(scenario, topic, *pair, move.at_us) for pair in pairs]
    return [words for words in found if words]


def _limited(scenario: PulsarScenario, topic: TopicSpec, source: str, target: str, at_us: int) -> str:
    """The sentences about one link; "" where it carries what its source publishes."""
    producers = [
        one
        for one in scenario.producers.values()
        if one.topic == topic.name and one.cluster == source and one.every_us and one.start_us < at_us
    ]
    partitions = max(1, topic.partitions)
    entries = sum(_flow(one, scenario).rate / one.batch for one in producers) / partitions
    own = {**scenario.settings, **scenario.clusters[source].settings, **topic.settings}
    queue = own.get(QUEUE, SETTINGS[QUEUE].default_under(scenario.options))
    there, back = scenario.links[source, target], scenario.links.get((target, source))
    trip_us = there.latency.nominal_us + (back.latency.nominal_us if back else 0)
    by_queue = queue * 1e6 / trip_us if trip_us else math.inf
    size_bytes = max((one.size_bytes * one.batch for one in producers), default=0)
    by_link = (there.bandwidth_bytes_per_s or math.inf) / partitions / max(1, size_bytes)
    most = min(by_queue, by_link)
    if entries <= most:
        return ""
    where = "of a partition " if topic.partitions else ""
    if by_queue <= by_link:
        why = f"{QUEUE} is {queue:,}, and a receipt takes a round trip of {trip_us / 1000:.0f} ms"
        right = f"a {QUEUE} of at least {math.ceil(entries * trip_us / 1e6):,} would carry it"
    else:
        why = f"the link {source} -> {target} has {there.bandwidth_bytes_per_s / 1e6:,.1f} MB/s"  # type: ignore[operator]
        right = f"a bandwidth of at least {entries * partitions * size_bytes / 1e6:,.1f} MB/s would carry it"
    late_s = (at_us - min(one.start_us for one in producers)) / 1e6 * (1 - most / entries)
    return (
        f"Replication from {source} to {target} carries about {most:,.0f} entries {where}per second, of "
        f"{entries:,.0f} that are published: {why}; {right}. So copies, snapshots and updates are later the "
        f"longer it runs, by the failover about {late_s:.1f} s. The figures are those of {at_us / 1e6:g} s "
        f"of traffic before the failure: with more, more messages are not replicated, and more are "
        f"duplicates."
    )


SUMS = (
    Measure("duplicates", "duplicates"),
    Measure("extra_deliveries", "extra deliveries"),
    Measure("redeliveries", "redelivered"),
    Measure("stranded", "not replicated"),
    Measure("stranded_unprocessed", "not replicated (unread)"),
    Measure("stranded_missing", "not replicated by the end (unread)"),
    Measure("lost", "lost"),
    Measure("reordered", "reordered"),
)
"""Messages of a run: the sum over its failovers."""

LONGEST = (
    Measure("outage_us", "delivery gap", "us"),
    Measure("drained_us", "until the backlog was acked", "us"),
)
"""The longest of the run's failovers, `drained_us` from the failover on; none if one has no value."""

FAULTS = {
    "subscription.fail-over": "consumers of {subscription} move from {from} to {to}",
    "cluster.crash": "{cluster} goes down",
    "cluster.lose": "{cluster} is lost permanently",
    "client.kill": "{client} is killed",
    "link.cut": "the link {link} is cut",
    "link.partition": "the link {link} is partitioned",
    "link.slow": "the link {link} takes {latency}",
    "topic.unload": "{topic} is unloaded in {cluster}",
    "topic.crash": "the broker of {topic} in {cluster} crashes",
    "subscription.reset": "the cursor of {subscription} in {cluster} is reset",
}


def _of(run: World) -> dict[str, int | None]:
    failovers = run.counted().failovers
    found: dict[str, int | None] = {
        one.name: sum(getattr(each, one.name) for each in failovers) for one in SUMS
    }
    drained = [None if one.drained_us is None else one.drained_us - one.at_us for one in failovers]
    return {
        **found,
        "outage_us": _longest([one.outage_us for one in failovers]),
        "drained_us": _longest(drained),
    }


def _period_us(scenario: PulsarScenario) -> int | None:
    """The longest period in force at the beginning with which a subscription reports its progress."""
    subscriptions = scenario.subscriptions.values()
    periods_us = [one.ack_sync_period_us for one in subscriptions if one.acknowledgement_sync == "periodic"]
    if any(one.replicate_subscription_state for one in subscriptions):
        otherwise_ms = scenario.settings.get(PERIOD, SETTINGS[PERIOD].default_under(scenario.options))
        own = [cluster.settings for cluster in scenario.clusters.values()]
        own += [topic.settings for topic in scenario.topics.values()]
        given_ms = [settings[PERIOD] for settings in own if PERIOD in settings]
        periods_us += [1000 * period_ms for period_ms in (otherwise_ms, *given_ms)]
    return max(periods_us, default=None)


def _late(scenario: PulsarScenario) -> tuple[str, ...]:
    """Where messages may come out of order at any time: several consumers, or several partitions."""
    for name, subscription in scenario.subscriptions.items():
        consumers = [one for one in scenario.consumers.values() if one.subscription == name]
        if len(consumers) > 1 or scenario.topics[subscription.topic].partitions > 1:
            return ("reordered",)
    return ()


def _uncounted(scenario: PulsarScenario) -> str:
    """Why no run can have a duplicate: nothing moves, by a failover or a migration."""
    if any(spec.do.startswith(("subscription.fail-over", "migration.")) for spec in scenario.commands):
        return ""
    return (
        "Duplicates are counted for a move of a subscription to another cluster (subscription.fail-over, or "
        "a migration), and this scenario has none, so there are 0. What is delivered again within one "
        "cluster is counted in the lab of a run, as repeated."
    )


def _longest(spans_us: list[int | None]) -> int | None:
    known = [span for span in spans_us if span is not None]
    return max(known) if known and len(known) == len(spans_us) else None


def _failures(run: World) -> list[Failure]:
    return [
        Failure(one.at_us, f"{one.subscription} from {one.source} to {one.target}")
        for one in run.counted().failovers
    ]


def _causes(run: World) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in run.counted().failovers:
        for cause, count in one.by_cause.items():
            found[cause] = found.get(cause, 0) + count
    return found


def _delivering(run: World) -> int:
    return sum(bool(one.pending_repeats) for one in run.counted().failovers)


MEASURED = Measured(
    (*SUMS, *LONGEST),
    _of,
    _period_us,
    FAULTS,
    settled,
    expected,
    _late,
    _failures,
    causes=_causes,
    delivering=_delivering,
    load=load_of,
    assumed=_assumed,
    reduced=reduced,
    uncounted=_uncounted,
    period_says="snapshot period",
)


# --- the settings that a swarm may choose, with values that reach other branches of the rules


SWARM_SETTINGS: dict[str, tuple] = {
    "replicatedSubscriptionsSnapshotFrequencyMillis": (200, 1000),
    "replicatedSubscriptionsSnapshotTimeoutSeconds": (1,),
    "enableReplicatedSubscriptions": (True, False),
    "replicatedSubscriptionsSnapshotMaxCachedPerSubscription": (3,),
    "replicationStartAt": ("latest", "earliest"),
    "replicationProducerQueueSize": (5,),
    "brokerDeduplicationEnabled": (True, False),
    "managedLedgerMaxEntriesPerLedger": (7, 50000),
    "managedLedgerMinLedgerRolloverTimeMinutes": (0,),
    "managedLedgerDefaultMarkDeleteRateLimit": (0, 1),
    "retentionCheckIntervalInSeconds": (1,),
    "defaultRetentionTimeInMinutes": (-1, 0),
    "defaultRetentionSizeInMB": (-1, 0),
    "ttlDurationDefaultInSeconds": (0, 1, 3),
    "maxUnackedMessagesPerConsumer": (2, 0),
    "maxUnackedMessagesPerSubscription": (3, 0),
    "dispatcherMaxRoundRobinBatchSize": (1,),
    "activeConsumerFailoverDelayTimeMillis": (0, 1000),
    "delayedDeliveryEnabled": (True, False),
    "allowAutoTopicCreation": (True, False),
    "allowAutoTopicCreationType": ("partitioned", "non-partitioned"),
    "defaultNumPartitions": (1, 3),
    "createTopicToRemoteClusterForReplication": (True, False),
    "isAllowAutoUpdateSchemaEnabled": (True, False),
    "topicLevelPoliciesEnabled": (True, False),
    "clusterMigrationCheckDurationSeconds": (1, 0),
    "clusterMigrationAutoResourceCreation": (True, False),
    "managedLedgerOffloadDriver": ("none", "aws-s3"),
}
