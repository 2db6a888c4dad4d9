"""The summary of a run up to now: what `simulate --json` prints (docs/counting.md).

Names are only ever added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simulator.protocols.emqx.summary_sections import groups
from simulator.protocols.pulsar.summary_sections import (
    acknowledgement_sync,
    audiences,
    brokers,
    creation,
    shadows,
    start_checks,
)
from simulator.protocols.pulsar.summary_sections.migration import lookup, migrations
from simulator.protocols.pulsar.verdicts import SubscriptionCounts, failover_summary, subscription_summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.runtime import Runtime
    from simulator.protocols.pulsar.verdicts import CountedRun
    from simulator.world import World

MARKER_COUNTS = ("snapshot_request", "snapshot_response", "snapshot", "subscription_update")
_SUMS = ("delivered", "acknowledged", "repeated", "expired", "skipped", "backlog", "cached_snapshots")


SECTIONS: dict[str, Callable[[World], Any]] = {
    "audiences": audiences.audiences,
    "brokers": brokers.brokers,
    "latency": brokers.latency,
    "ack_sync": acknowledgement_sync.ack_sync,
    "replicators": creation.replicators,
    "topics": creation.topics,
    "shadows": shadows.shadows,
    "migrations": migrations,
    "lookup": lookup,
}
"""Sections that belong to one system of Pulsar's each, by name; always present, empty when unused."""


def summarise(world: World) -> dict[str, Any]:
    """The whole object."""
    from simulator.world import ENGINE_VERSION

    failovers = failovers_of(world, world.counted())
    return {
        "scenario": world.scenario.name,
        "seed": world.seed,
        "engine_version": ENGINE_VERSION,
        "trace_sha256": world.digest(),
        "simulated_us": world.now_us,
        "events": world.seq,
        "failovers": failovers,
        "commands": start_checks.commands(world),
        "violations": [asdict(violation) for violation in world.all_violations(failovers)],
        **{name: section(world) if name in world.protocol.sections else {} for name, section in _ALL.items()},
    }


def failovers_of(world: World, counted: CountedRun) -> list[dict]:
    """`failovers[]`, each with what was foretold at its instant."""
    forecasts = [failover.window.forecast for failover in world.runtime.failovers]
    return [
        failover_summary(one, forecast) for one, forecast in zip(counted.failovers, forecasts, strict=True)
    ]


def _clusters(world: World) -> dict[str, Any]:
    return {name: {"topics": _topics(world.runtime, name)} for name in world.runtime.cluster_names}


def _subscriptions(world: World) -> dict[str, Any]:
    runtime, counted = world.runtime, world.counted()
    return {name: _clusters_of(runtime, name, counted) for name in sorted(runtime.subscriptions)}


def _topics(runtime: Runtime, cluster: str) -> dict[str, Any]:
    """By topic; a partitioned one has sums, and its partitions under `partitions`."""
    result: dict[str, Any] = {}
    for name, topic in runtime.clusters[cluster].topics.items():
        if topic.partition < 0:
            result[name] = _log(topic)
        else:
            result.setdefault(topic.base, {}).setdefault("partitions", {})[name] = _log(topic)
    for found in result.values():
        # a plain topic may stand beside logs that are named like its partitions
        if "partitions" in found and "entries" not in found:
            parts = list(found["partitions"].values())
            markers = {marker: sum(part["markers"][marker] for part in parts) for marker in MARKER_COUNTS}
            sums = {key: sum(part[key] for part in parts) for key in ("entries", "messages", "marker_bytes")}
            found.update({"last_position": None, **sums, "markers": markers})
    return result


def _log(topic: Topic) -> dict[str, Any]:
    ledger, entry = topic.log.last_confirmed
    return {
        "last_position": f"{ledger}:{entry}",
        "entries": topic.log.length - topic.log.first_kept,
        "messages": topic.counts["messages"],
        "markers": {marker: topic.counts[marker] for marker in MARKER_COUNTS},
        "marker_bytes": topic.marker_bytes,
    }


def _clusters_of(runtime: Runtime, name: str, counted: CountedRun) -> dict[str, Any]:
    base = runtime.subscriptions[name].topic
    result = {}
    for cluster in runtime.cluster_names:
        topics = [
            t for t in runtime.clusters[cluster].topics.values() if t.base == base and name in t.subscriptions
        ]
        if topics:
            result[cluster] = _one_cluster(runtime, name, cluster, base, topics, counted)
    return result


def _one_cluster(
    runtime: Runtime, name: str, cluster: str, base: str, topics: list[Topic], counted: CountedRun
) -> dict[str, Any]:
    parts = {
        t.name: _one_topic(t.subscriptions[name], counted.partitions.get((name, cluster, t.name)))
        for t in topics
    }
    if list(parts) == [base]:
        return parts[base]
    first = next(iter(parts.values()))
    outer = {"type": first["type"], "topic": base, "mark_delete": None, "individually_deleted": None}
    return {**outer, **{key: sum(part[key] for part in parts.values()) for key in _SUMS}, "partitions": parts}


def _one_topic(subscription: Subscription, counted: SubscriptionCounts | None) -> dict[str, Any]:
    log = subscription.topic.log
    return {
        "type": subscription.type,
        "topic": subscription.topic.name,
        "mark_delete": subscription.mark_delete_text,
        "individually_deleted": subscription.cursor.text(log),
        **subscription_summary(counted or SubscriptionCounts()),
        "backlog": subscription.backlog,
        "cached_snapshots": len(subscription.snapshots.kept),
    }


def _snapshots(world: World) -> dict[str, dict[str, int]]:
    """Counted in the trace, for a controller's own counters die with it.

    A second round is not a second snapshot.
    """
    events = {
        "requested": "snapshot.requested",
        "completed": "snapshot.completed",
        "timed_out": "snapshot.timed-out",
    }
    runtime = world.runtime
    result = {
        name: {"requested": 0, "completed": 0, "timed_out": 0, "pending": 0} for name in runtime.cluster_names
    }
    for key, event in events.items():
        for seq in world.trace.seqs(0, world.seq, types=(event,)):
            row = world.trace.row(seq)
            if event != "snapshot.requested" or row["count"] == 1:
                result[row["cluster"]][key] += 1
    for name in runtime.cluster_names:
        for topic in runtime.clusters[name].topics.values():
            result[name]["pending"] += len(topic.controller.pending) if topic.controller else 0
    return result


PULSAR_SECTIONS: dict[str, Callable[[World], Any]] = {
    "clusters": _clusters,
    "subscriptions": _subscriptions,
    "snapshots": _snapshots,
    **SECTIONS,
}

EMQX_SECTIONS: dict[str, Callable[[World], Any]] = {"groups": groups.groups}

_ALL = {**PULSAR_SECTIONS, **EMQX_SECTIONS}
"""Every section of every protocol: those of another than the world's are empty."""
