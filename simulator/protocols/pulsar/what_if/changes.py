"""The changes of "what would have helped" for failovers between regions, in reading order.

`simulator.scenarios.changes` defines a change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios.changes import Change, Changed, CommandLog, given, ordered, without
from simulator.scenarios.settings import OPTIONS, SETTINGS

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


def _period(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    if not _replicates(scenario):
        return None
    default_ms = int(scenario.settings.get(PERIOD, SETTINGS[PERIOD].default))
    if default_ms < 2:
        return None
    changed = _with_setting(scenario, PERIOD, default_ms // 2, lambda value: max(1, int(value) // 2))
    return (
        "period-halved",
        f"a snapshot every {default_ms // 2} ms instead of {default_ms} ms",
        changed,
        commands,
    )


def _cache_rule(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    rule = scenario.options.get("snapshotCacheRule", "spread")
    # under spread, a cache size that is valid only with oldest-first would be refused
    if not _replicates(scenario) or any(
        CACHED in settings and settings[CACHED] < 3 for settings in _settings(scenario)
    ):
        return None
    other = OTHER_RULE[rule]
    return (
        "cache-rule",
        f"snapshot cache rule {other} instead of {rule}",
        replace(scenario, options=ordered({**scenario.options, "snapshotCacheRule": other}, OPTIONS)),
        commands,
    )


def _cache_size(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    if not any(CACHED in settings for settings in _settings(scenario)):
        return None
    size = scenario.settings.get(CACHED)
    return (
        "cache-doubled",
        "a snapshot cache twice as large",
        _with_setting(scenario, CACHED, None if size is None else size * 2, lambda value: value * 2),
        commands,
    )


def _queues(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    if all(spec.receiver_queue_size <= SMALL_QUEUE_MESSAGES for spec in scenario.consumers.values()):
        return None
    small = {
        name: replace(spec, receiver_queue_size=min(SMALL_QUEUE_MESSAGES, spec.receiver_queue_size))
        for name, spec in scenario.consumers.items()
    }
    return (
        "small-queues",
        f"receiver queues of {SMALL_QUEUE_MESSAGES}",
        replace(scenario, consumers=small),
        commands,
    )


def _holds(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    kept = without(scenario, commands, "consumer.hold")
    if kept is None and all(spec.hold is None for spec in scenario.consumers.values()):
        return None
    changed, log = kept or (scenario, commands)
    assert isinstance(changed, PulsarScenario), "dropping commands leaves the rest as it is"
    prompt = {name: replace(spec, hold=None) for name, spec in changed.consumers.items()}
    return "no-holds", "held messages acknowledged like the others", replace(changed, consumers=prompt), log


def _acks_at_once(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    if all(spec.acknowledgment_group_time_us == 0 for spec in scenario.consumers.values()):
        return None
    prompt = {
        name: replace(spec, acknowledgment_group_time_us=0) for name, spec in scenario.consumers.items()
    }
    return (
        "acks-at-once",
        "each acknowledgement sent at once, not in groups",
        replace(scenario, consumers=prompt),
        commands,
    )


def _delays(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    if all(spec.delay is None for spec in scenario.producers.values()):
        return None
    prompt = {name: replace(spec, delay=None) for name, spec in scenario.producers.items()}
    return "no-delays", "no message with delayed delivery", replace(scenario, producers=prompt), commands


def _flag(scenario: PulsarScenario, commands: CommandLog) -> Changed:
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
    return (
        "replicated",
        "replicated subscription state switched on from the start",
        replace(scenario, subscriptions=flagged),
        commands,
    )


def _acks_synced(scenario: PulsarScenario, commands: CommandLog) -> Changed:
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
    return "acks-told", name, replace(scenario, subscriptions=synced, family="tenant-migration"), commands


def _two_ways(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    if all(spec.replication is None for spec in scenario.topics.values()):
        return None
    topics = {name: replace(spec, replication=None) for name, spec in scenario.topics.items()}
    return (
        "two-ways",
        "every topic replicated between all its regions in both directions",
        replace(scenario, topics=topics),
        commands,
    )


def _planned(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    return _moved(scenario, commands, "planned", "planned", "planned move before the region failed", {})


def _drained(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    words = "producers stopped first, consumers moved when the target had every acknowledgement"
    return _moved(scenario, commands, "drained", "drained", words, {"stop-producers": True})


def _all_up(scenario: PulsarScenario, commands: CommandLog) -> Changed:
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
    return None if kept is None else ("all-up", "every region up all the time", *kept)


def _links_up(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    kept = without(scenario, commands, *LINK_FAULTS)
    return None if kept is None else ("links-up", "no link cut or slowed", *kept)


def _markers_safe(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    kept = without(scenario, commands, *MARKER_FAULTS)
    return None if kept is None else ("markers-safe", "no marker delayed or dropped by a command", *kept)


def _whole_snapshots(scenario: PulsarScenario, commands: CommandLog) -> Changed:
    partial = "unsafePartialSnapshotAfter"
    if not scenario.options.get(partial):
        return None
    options = {name: value for name, value in scenario.options.items() if name != partial}
    return (
        "whole-snapshots",
        "no snapshot completed with responses missing",
        replace(scenario, options=options),
        commands,
    )


CHANGES: tuple[Change, ...] = (
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
) -> Changed:
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
    return key, name, replace(scenario, commands=kept), log
