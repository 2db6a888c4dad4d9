"""`clusters`, `subscriptions` and `snapshots` of the summary: logs, cursors and snapshot rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.verdicts import SubscriptionCounts, subscription_summary

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.verdicts import CountedRun
    from simulator.world import World

MARKER_COUNTS = ("snapshot_request", "snapshot_response", "snapshot", "subscription_update")
_SUMS = ("delivered", "acknowledged", "repeated", "expired", "skipped", "backlog", "cached_snapshots")


def clusters(run: World) -> dict[str, Any]:
    return {name: {"topics": _topics(run.runtime, name)} for name in run.runtime.cluster_names}


def subscriptions(run: World) -> dict[str, Any]:
    runtime, counted = run.runtime, run.counted()
    return {name: _clusters_of(runtime, name, counted) for name in sorted(runtime.subscriptions)}


def _topics(runtime: Pulsar, cluster: str) -> dict[str, Any]:
    """By topic; a partitioned one has sums, and its partitions under `partitions`."""
    result: dict[str, Any] = {}
    for name, topic in runtime.clusters[cluster].topics.items():
        if topic.partition < 0:
            result[name] = _log(topic)
        else:
            result.setdefault(topic.base, {}).setdefault("partitions", {})[name] = _log(topic)
    for found in result.values():
        # a plain topic may coexist with logs that are named like its partitions
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


def _clusters_of(runtime: Pulsar, name: str, counted: CountedRun) -> dict[str, Any]:
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
    runtime: Pulsar, name: str, cluster: str, base: str, topics: list[Topic], counted: CountedRun
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


def snapshots(run: World) -> dict[str, dict[str, int]]:
    """Counts from the trace, because a controller's own counters are lost when it closes.

    A second round is not a second snapshot.
    """
    events = {
        "requested": "snapshot.requested",
        "completed": "snapshot.completed",
        "timed_out": "snapshot.timed-out",
    }
    runtime = run.runtime
    result = {
        name: {"requested": 0, "completed": 0, "timed_out": 0, "pending": 0} for name in runtime.cluster_names
    }
    for key, event in events.items():
        for seq in run.trace.seqs(0, run.seq, types=(event,)):
            row = run.trace.row(seq)
            if event != "snapshot.requested" or row["count"] == 1:
                result[row["cluster"]][key] += 1
    for name in runtime.cluster_names:
        for topic in runtime.clusters[name].topics.values():
            result[name]["pending"] += len(topic.controller.pending) if topic.controller else 0
    return result
