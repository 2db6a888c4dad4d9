"""The changes of "what would have helped" for failovers between regions, in reading order.

`simulator.scenarios.canonical` defines a change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios.canonical import Change, CommandLog, PlacedSetting, Variant, given, ordered, without
from simulator.scenarios.rule_files import BUILT_IN, loaded_rules
from simulator.scenarios.settings import OPTIONS, RULE, SETTINGS, own_rule

if TYPE_CHECKING:
    from simulator.protocols.pulsar.scenario.model import ConsumerSpec, ProducerSpec


CONSUMERS_LEAST = 6
"""Consumers of a kind that stay at least: the slowest ack of a few consumers differs from that of many."""

SLOWER_MOST = Fraction(11, 10)
"""By what a message may take longer at most, where the number of consumers cannot be divided exactly."""

OF_A_TOPIC = (
    "replicationProducerQueueSize",
    "dispatcherMaxReadBatchSize",
    "maxUnackedMessagesPerSubscription",
    "managedLedgerMaxEntriesPerLedger",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription",
)
"""Settings in entries of a topic or subscription. 0 stays 0: it switches a limit off."""

OF_A_CONSUMER = (
    "dispatcherMaxRoundRobinBatchSize",
    "maxUnackedMessagesPerConsumer",
    "keySharedLookAheadMsgInReplayThresholdPerConsumer",
)
"""Settings in entries of a consumer, which are divided by what each of its messages takes longer."""


def reduced(scenario: PulsarScenario, factor: int) -> PulsarScenario | None:
    """The scenario at 1/`factor` of its rate; None if that cannot be.

    Instants and messages that are listed have no rate, and few consumers cannot be divided.

    Rules: producers publish a fraction of the messages to a fraction of the consumers, so that each consumer
    stays as busy as it is, and every time is kept. Limits in entries of a topic become smaller by the same
    factor, so that they hold as many seconds of traffic. Consumers that are too few to be divided have no
    such scenario: with slower consumers instead, one Exclusive consumer at 12,000 messages per second had a
    quarter fewer duplicates at a quarter of the rate. What does not become smaller, such as the turns in
    which a dispatcher serves its consumers and a snapshot's own markers, makes the result differ; who uses it
    measures by how much.
    """
    producers = scenario.producers.values()
    selected = [one.hold or one.negative_acknowledge for one in scenario.consumers.values()]
    selected += [one.delay for one in producers]
    if any(one.at_us for one in producers) or any(one is not None and one.messages for one in selected):
        return None
    if scenario.audiences:
        return None
    consumers, slower = _consumers(scenario, factor)
    if slower > SLOWER_MOST:
        return None
    part = Fraction(factor)
    entries = dict.fromkeys(OF_A_TOPIC, part) | dict.fromkeys(OF_A_CONSUMER, slower)
    whole = {name: SETTINGS[name].default_under(scenario.options) for name in entries}
    return replace(
        scenario,
        settings=_divided({**whole, **scenario.settings}, entries),
        clusters={
            name: replace(one, settings=_divided(one.settings, entries))
            for name, one in scenario.clusters.items()
        },
        topics={
            name: replace(one, settings=_divided(one.settings, entries))
            for name, one in scenario.topics.items()
        },
        links={
            pair: replace(link, bandwidth_bytes_per_s=_part(link.bandwidth_bytes_per_s, part))
            for pair, link in scenario.links.items()
        },
        brokers={
            name: replace(
                one,
                dispatch_us=one.dispatch_us * factor,
                bandwidth_bytes_per_s=_part(one.bandwidth_bytes_per_s, part),
            )
            for name, one in scenario.brokers.items()
        },
        producers={name: _producer(one, factor) for name, one in scenario.producers.items()},
        consumers=consumers,
        expect={},
        compare={},
        tour=None,
        pair={},
    )


def _producer(one: ProducerSpec, factor: int) -> ProducerSpec:
    every_us, part = None if one.every_us is None else one.every_us * factor, Fraction(factor)
    return replace(one, every_us=every_us, count=_part(one.count, part), batch=_part(one.batch, part))


def _consumers(scenario: PulsarScenario, factor: int) -> tuple[dict[str, ConsumerSpec], Fraction]:
    """The consumers that stay, and by how much each of their messages takes longer at most.

    Consumers that a command names stay.
    """
    named = {value for spec in scenario.commands for value in spec.arguments.values() if type(value) is str}
    kinds: dict[ConsumerSpec, list[str]] = {}
    for name, one in scenario.consumers.items():
        kinds.setdefault(replace(one, name=""), []).append(name)
    found, slowest = {}, Fraction(1)
    for names in kinds.values():
        wanted = max(CONSUMERS_LEAST, round(len(names) / factor), len(named.intersection(names)))
        stays = [*(name for name in names if name in named), *(name for name in names if name not in named)]
        stays = stays[:wanted]
        slower = Fraction(factor * len(stays), len(names))
        slowest = max(slowest, slower)
        found.update({name: _slower(scenario.consumers[name], slower) for name in stays})
    return {name: found[name] for name in scenario.consumers if name in found}, slowest


def _slower(one: ConsumerSpec, by: Fraction) -> ConsumerSpec:
    """The consumer if each message takes longer by this, and its queue holds as many seconds of them."""
    span = one.processing
    names = ("value_us", "low_us", "high_us")
    longer = replace(span, **{name: round(getattr(span, name) * by) for name in names})
    return replace(one, processing=longer, receiver_queue_size=_part(one.receiver_queue_size, by))


def _divided(settings: dict[str, Any], by: dict[str, Fraction]) -> dict[str, Any]:
    """The settings, those in entries divided."""
    return {name: _part(value, by[name]) if name in by else value for name, value in settings.items()}


@overload
def _part(value: int, by: Fraction) -> int: ...


@overload
def _part(value: int | None, by: Fraction) -> int | None: ...


def _part(value: int | None, by: Fraction) -> int | None:
    """A part of a number, at least 1; 0 and None stay, they switch a limit off."""
    return max(1, round(value / by)) if value else value


PERIOD, CACHED = (
    "replicatedSubscriptionsSnapshotFrequencyMillis",
    "replicatedSubscriptionsSnapshotMaxCachedPerSubscription",
)
OTHER_RULE = {"spread": "oldest-first", "oldest-first": "spread"}
SMALL_QUEUE_MESSAGES = 10
"""A receiver queue that is hardly ahead of the application; Pulsar's default is 1,000."""

MOVE, FAILURES, LINK_FAULTS = (
    "subscription.fail-over",
    ("cluster.crash", "cluster.lose", "cluster.restart"),
    ("link.cut", "link.partition", "link.slow", "link.heal"),
)
MARKER_FAULTS = ("marker.delay", "marker.drop")

BUILDER = "Java client, ConsumerBuilder"
"""Where settings of a consumer are. Clients in other languages have the same settings."""


def _period(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    if not _replicates(scenario):
        return None
    default_ms = int(scenario.settings.get(PERIOD, SETTINGS[PERIOD].default))
    if default_ms < 2:
        return None
    changed = _with_setting(scenario, PERIOD, default_ms // 2, lambda value: max(1, int(value) // 2))
    return Variant(
        "period-halved",
        f"a snapshot every {default_ms // 2} ms instead of {default_ms} ms",
        changed,
        commands,
        _broker_conf(changed, PERIOD),
    )


def _cache_rule(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    rule = scenario.options.get("snapshotCacheRule", "spread")
    # under spread, a cache size that is valid only with oldest-first would be refused
    if not _replicates(scenario) or any(
        CACHED in settings and settings[CACHED] < 3 for settings in _settings(scenario)
    ):
        return None
    other = OTHER_RULE[rule]
    return Variant(
        "cache-rule",
        f"snapshot cache rule {other} instead of {rule}",
        replace(scenario, options=ordered({**scenario.options, "snapshotCacheRule": other}, OPTIONS)),
        commands,
        no_setting="release",
    )


def _rule(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    """The rule of the file that this process was started with, or the built-in one instead of it."""
    found, now = loaded_rules(), own_rule(scenario.options)
    if found is None or not _replicates(scenario):
        return None
    value, name = (
        (found.value, f"with the rule {found.name}") if now is None else (BUILT_IN, "Pulsar's own rule")
    )
    options = ordered({**scenario.options, RULE: value}, OPTIONS)
    key = f"rule-{value.partition('@')[0]}"
    return Variant(key, name, replace(scenario, options=options), commands, no_setting="release")


def _cache_size(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    if not any(CACHED in settings for settings in _settings(scenario)):
        return None
    size = scenario.settings.get(CACHED)
    changed = _with_setting(scenario, CACHED, None if size is None else size * 2, lambda value: value * 2)
    return Variant(
        "cache-doubled",
        "a snapshot cache twice as large",
        changed,
        commands,
        _broker_conf(changed, CACHED),
    )


def _queues(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    if all(spec.receiver_queue_size <= SMALL_QUEUE_MESSAGES for spec in scenario.consumers.values()):
        return None
    small = {
        name: replace(spec, receiver_queue_size=min(SMALL_QUEUE_MESSAGES, spec.receiver_queue_size))
        for name, spec in scenario.consumers.items()
    }
    return Variant(
        "small-queues",
        f"receiver queues of {SMALL_QUEUE_MESSAGES}",
        replace(scenario, consumers=small),
        commands,
        _builder("receiverQueueSize", str(SMALL_QUEUE_MESSAGES)),
    )


def _holds(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    kept = without(scenario, commands, "consumer.hold")
    if kept is None and all(spec.hold is None for spec in scenario.consumers.values()):
        return None
    changed, log = kept or (scenario, commands)
    assert isinstance(changed, PulsarScenario), "dropping commands leaves the rest as it is"
    prompt = {name: replace(spec, hold=None) for name, spec in changed.consumers.items()}
    return Variant(
        "no-holds",
        "held messages acknowledged like the others",
        replace(changed, consumers=prompt),
        log,
        no_setting="application",
    )


def _acks_at_once(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    if all(spec.acknowledgment_group_time_us == 0 for spec in scenario.consumers.values()):
        return None
    prompt = {
        name: replace(spec, acknowledgment_group_time_us=0) for name, spec in scenario.consumers.items()
    }
    return Variant(
        "acks-at-once",
        "each acknowledgement sent at once, not in groups",
        replace(scenario, consumers=prompt),
        commands,
        _builder("acknowledgmentGroupTime", "0, TimeUnit.MILLISECONDS"),
    )


def _delays(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    if all(spec.delay is None for spec in scenario.producers.values()):
        return None
    prompt = {name: replace(spec, delay=None) for name, spec in scenario.producers.items()}
    return Variant(
        "no-delays",
        "no message with delayed delivery",
        replace(scenario, producers=prompt),
        commands,
        no_setting="application",
    )


def _flag(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    moved = {arguments["subscription"] for do, arguments, _ in given(scenario, commands) if do == MOVE}
    unflagged = [
        name
        for name, spec in scenario.subscriptions.items()
        if not spec.replicate_subscription_state and name in moved
    ]
    if not unflagged:
        return None
    flagged = {
        name: replace(spec, replicate_subscription_state=True) if name in unflagged else spec
        for name, spec in scenario.subscriptions.items()
    }
    return Variant(
        "replicated",
        "replicated subscription state switched on from the start",
        replace(scenario, subscriptions=flagged),
        commands,
        _builder("replicateSubscriptionState", "true"),
    )


def _acks_synced(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    """Acknowledgement-state sync, which Apache Pulsar does not have.

    Its causes belong to the family of tenant migration.
    """
    moved = {arguments["subscription"] for do, arguments, _ in given(scenario, commands) if do == MOVE}
    unsynced = [
        name
        for name, spec in scenario.subscriptions.items()
        if name in moved and spec.acknowledgement_sync == "none"
    ]
    if not unsynced or not _replicates(scenario):
        return None
    synced = {
        name: replace(spec, acknowledgement_sync="periodic", replicate_subscription_state=False)
        if name in unsynced
        else spec
        for name, spec in scenario.subscriptions.items()
    }
    name = "acknowledgement sync each second instead of snapshots (not in Apache Pulsar)"
    return Variant(
        "acks-told",
        name,
        replace(scenario, subscriptions=synced, family="tenant-migration"),
        commands,
        no_setting="release",
    )


def _two_ways(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    if all(spec.replication is None for spec in scenario.topics.values()):
        return None
    topics = {name: replace(spec, replication=None) for name, spec in scenario.topics.items()}
    return Variant(
        "two-ways",
        "every topic replicated between all its regions in both directions",
        replace(scenario, topics=topics),
        commands,
        _all_clusters(scenario),
    )


def _planned(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    return _moved(scenario, commands, "planned", "planned", "planned move before the region failed", {})


def _drained(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    words = "producers stopped first, consumers moved when the target had every acknowledgement"
    return _moved(scenario, commands, "drained", "drained", words, {"stop-producers": True})


def _all_up(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    """No region fails at all.

    Left out where each failed region is left at that instant: that is "planned".
    """
    every = given(scenario, commands)
    left = {(arguments["from"], at_us) for do, arguments, at_us in every if do == MOVE}
    moves = [(arguments["from"], at_us) for do, arguments, at_us in every if do == MOVE]
    fell = [(arguments["cluster"], at_us) for do, arguments, at_us in every if do in FAILURES[:2]]
    others = [
        1
        for cluster, at_us in fell
        if (cluster, at_us) not in left
        or any(moved_us > at_us and source != cluster for source, moved_us in moves)
    ]
    kept = without(scenario, commands, *FAILURES) if others else None
    return (
        None
        if kept is None
        else Variant("all-up", "every region up all the time", *kept, no_setting="failure")
    )


def _links_up(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    kept = without(scenario, commands, *LINK_FAULTS)
    return None if kept is None else Variant("links-up", "no link cut or slowed", *kept, no_setting="failure")


def _markers_safe(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    kept = without(scenario, commands, *MARKER_FAULTS)
    if kept is None:
        return None
    return Variant("markers-safe", "no marker delayed or dropped by a command", *kept, no_setting="failure")


def _whole_snapshots(scenario: PulsarScenario, commands: CommandLog) -> Variant | None:
    partial = "unsafePartialSnapshotAfter"
    if not scenario.options.get(partial):
        return None
    options = {name: value for name, value in scenario.options.items() if name != partial}
    return Variant(
        "whole-snapshots",
        "no snapshot completed with responses missing",
        replace(scenario, options=options),
        commands,
        no_setting="release",
    )


CHANGES: tuple[Change, ...] = (
    _rule,
    _period,
    _holds,
    _acks_at_once,
    _delays,
    _cache_rule,
    _cache_size,
    _queues,
    _whole_snapshots,
    _flag,
    _acks_synced,
    _two_ways,
    _planned,
    _drained,
    _all_up,
    _links_up,
    _markers_safe,
)


# --- helpers


def _builder(name: str, value: str) -> tuple[PlacedSetting, ...]:
    return (PlacedSetting(name, value, f".{name}({value})", BUILDER),)


def _broker_conf(changed: PulsarScenario, name: str) -> tuple[PlacedSetting, ...]:
    """A broker setting of the changed scenario, once for each place in which it has a value."""
    places = [("every broker of every region", changed.settings)]
    places += [(f"every broker of {cluster}", spec.settings) for cluster, spec in changed.clusters.items()]
    places += [(f"the brokers of topic {topic}", spec.settings) for topic, spec in changed.topics.items()]
    takes_effect = "" if SETTINGS[name].dynamic else "; takes effect after a restart"
    return tuple(
        PlacedSetting(
            name,
            str(settings[name]),
            f"{name}={settings[name]}",
            f"broker.conf of {where}{takes_effect}",
        )
        for where, settings in places
        if name in settings
    )


def _all_clusters(scenario: PulsarScenario) -> tuple[PlacedSetting, ...]:
    """The replication clusters of each topic that is not replicated in all directions, as its own policy.

    The namespace's policy would set them for all of its topics.
    """
    key = "set-replication-clusters"
    return tuple(
        PlacedSetting(
            key,
            clusters,
            f"pulsar-admin topics {key} --clusters {clusters} persistent://{spec.namespace}/{topic}",
            "topic policy, given in every region",
        )
        for topic, spec in scenario.topics.items()
        for clusters in [",".join(spec.clusters)]
        if spec.replication is not None
    )


def _replicates(scenario: PulsarScenario) -> bool:
    """Whether snapshots are taken at all: some topic is in several regions."""
    return any(len(topic.clusters) > 1 for topic in scenario.topics.values())


def _settings(scenario: PulsarScenario) -> list[dict[str, Any]]:
    return [
        scenario.settings,
        *(spec.settings for spec in scenario.clusters.values()),
        *(spec.settings for spec in scenario.topics.values()),
    ]


def _with_setting(
    scenario: PulsarScenario, name: str, value: Any, overridden: Callable[[Any], Any]
) -> PulsarScenario:
    """The setting `value` for all (None: unchanged), and each cluster's or topic's own changed, too."""

    def of(spec: Any) -> Any:
        return (
            replace(spec, settings={**spec.settings, name: overridden(spec.settings[name])})
            if name in spec.settings
            else spec
        )

    clusters = {key: of(spec) for key, spec in scenario.clusters.items()}
    topics = {key: of(spec) for key, spec in scenario.topics.items()}
    settings = scenario.settings if value is None else ordered({**scenario.settings, name: value}, SETTINGS)
    return replace(scenario, settings=settings, clusters=clusters, topics=topics)


def _moved(
    scenario: PulsarScenario, commands: CommandLog, key: str, mode: str, name: str, more: dict[str, Any]
) -> Variant | None:
    """Every failover in this mode, with the former region up until then."""

    def changes(do: str, arguments: dict[str, Any]) -> bool:
        return (
            do == MOVE
            and arguments.get("mode", "crash") not in ("planned", mode)
            or (do == MOVE and mode == "drained" and arguments.get("mode") == "planned")
        )

    every = given(scenario, commands)
    if not any(changes(do, arguments) for do, arguments, _ in every):
        return None
    moved = [(arguments.get("from"), at_us) for do, arguments, at_us in every if do == MOVE]

    def spared(do: str, arguments: dict[str, Any], at_us: int) -> bool:
        return do == "cluster.crash" and any(
            source == arguments.get("cluster") and at_us <= moved_us for source, moved_us in moved
        )

    kept = tuple(
        replace(spec, arguments={**spec.arguments, "mode": mode, **more})
        if changes(spec.do, spec.arguments)
        else spec
        for spec in scenario.commands
        if not spared(spec.do, spec.arguments, spec.at_us)
    )
    log = [
        {**entry, "mode": mode, **more} if changes(entry["do"], entry) else entry
        for entry in commands
        if not spared(entry["do"], entry, entry["at_us"])
    ]
    return Variant(key, name, replace(scenario, commands=kept), log, no_setting="procedure")
