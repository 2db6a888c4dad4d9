"""Sections of the summary: each is a function of the run, listed in the protocol's manifest."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar.ack_sync import NONE
from simulator.protocols.pulsar.admin.stats import oldest_pending_us
from simulator.protocols.pulsar.creation import schemas
from simulator.protocols.pulsar.creation.replicator_start import PASSED
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.shadow.topic import lost_messages
from simulator.protocols.pulsar.verdicts import SubscriptionCounts, failover_summary, subscription_summary
from simulator.trace.registry import NULL
from simulator.trace.trace import BLOCK_ROWS

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.creation.replicator_start import Outcome
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.shadow.reads import Reads
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic
    from simulator.protocols.pulsar.verdicts import CountedRun
    from simulator.trace.trace import Trace
    from simulator.world import World


# --- the sections of a run's summary: logs, subscriptions, replicators, brokers, migrations and shadows


# --- `clusters`, `subscriptions` and `snapshots` of the summary: logs, cursors and snapshot rounds


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


def ack_sync(run: World) -> dict[str, dict[str, dict[str, Any]]]:
    """The sync figures of subscriptions that synchronise by the scenario or by a migration.

    Returns {subscription: {cluster: {filtered, last_sync_us}}} with the clusters that have them. `filtered`
    are messages that the cluster skipped because a peer had reported them as acknowledged. `last_sync_us` is
    the instant at which it last applied a peer's state (null: never). Partitions are summed, and the latest
    instant counts.

    `ack_sync` of the summary: figures of acknowledgement-state sync, by subscription and cluster.
    """
    runtime = run.runtime
    shown: dict[str, dict[str, dict[str, Any]]] = {}
    for name in sorted(runtime.subscriptions):
        found = {
            cluster: [
                topic.subscriptions[name]
                for topic in runtime.clusters[cluster].topics.values()
                if name in topic.subscriptions
            ]
            for cluster in runtime.cluster_names
        }
        asked = runtime.subscriptions[name].acknowledgement_sync != NONE
        if not asked and all(
            one.sender is None and one.filter.received_us is None for here in found.values() for one in here
        ):
            continue
        shown[name] = {cluster: _here(here) for cluster, here in found.items() if here}
    return shown


def _here(partitions: list[Subscription]) -> dict[str, Any]:
    instants = [one.filter.received_us for one in partitions if one.filter.received_us is not None]
    return {
        "filtered": sum(one.filter.filtered for one in partitions),
        "last_sync_us": max(instants, default=None),
    }


# --- `brokers` and `latency` of the summary: work of declared brokers, and age of messages at delivery
#
# Rules: a broker's figures count the dispatches that have left it. Latency is from publishing to the first
# delivery of each message in that cluster, for subscriptions of topics on declared brokers. Percentiles are
# by nearest rank, so they are latencies that occurred.


MILLION = 1_000_000
_ID_BITS = 40
"""A message as one integer: producer's name number and sequence id."""


def brokers(run: World) -> dict[str, Any]:
    """By broker: its cluster, topics, work so far and queue length."""
    found = [broker for name in run.runtime.cluster_names for broker in run.runtime.clusters[name].brokers]
    peaks = _busiest_seconds(run) if found else {}
    return {
        broker.name: {**broker_figures(broker), "bytes_out_per_s_max": peaks.get(broker.number, 0)}
        for broker in sorted(found, key=lambda broker: broker.name)
    }


def _busiest_seconds(run: World) -> dict[int, int]:
    """By broker the most bytes sent within one second of the clock."""
    who, when_us, _message = rows_of(
        run.trace, run.seq, "message.dispatched", ("cluster", "topic", "size_bytes")
    )
    served_by = brokers_of(run, who, when_us)
    return {
        broker: int(
            np.bincount(
                when_us[served_by == broker] // MILLION, weights=who["size_bytes"][served_by == broker]
            ).max()
        )
        for broker in np.unique(served_by).tolist()
    }


def brokers_of(run: World, who: dict[str, np.ndarray], when_us: np.ndarray) -> np.ndarray:
    """The broker (name number) of each dispatch, from the last `topic.assigned` row before it.

    Dispatches are given by `cluster`, `topic` and instant. At the very instant of a move, dispatches belong
    to the former broker, because a command takes effect at the end of its instant.
    """
    trace = run.trace
    served_by = np.full(len(when_us), -1, dtype=np.int64)
    for seq in trace.seqs(0, run.seq, types=("topic.assigned",)):
        row = trace.row(seq)
        cluster, topic, broker = (trace.number(row[name]) for name in ("cluster", "topic", "broker"))
        assert broker is not None, "the trace has the name of a broker that it assigned"
        served_by[(who["cluster"] == cluster) & (who["topic"] == topic) & (when_us > row["at_us"])] = broker
        if not row["at_us"]:
            served_by[(who["cluster"] == cluster) & (who["topic"] == topic) & (when_us == 0)] = broker
    return served_by


def broker_figures(broker: Broker) -> dict[str, Any]:
    """One broker now; `busy_millionths` is the share of the time so far that its dispatches took."""
    now_us = broker.runtime.now_us
    return {
        "cluster": broker.spec.cluster,
        "topics": sorted(broker.topics),
        "dispatches": broker.dispatches,
        "bytes_out": broker.bytes_out,
        "busy_us": broker.busy_us,
        "busy_millionths": broker.busy_us * MILLION // now_us if now_us else 0,
        "queued": broker.queued,
        "queued_us": broker.queued_us,
        "queued_us_max": broker.queued_us_max,
    }


def latency(run: World) -> dict[str, Any]:
    """By subscription and cluster: `distribution` of its latencies, for topics on a declared broker."""
    runtime, trace = run.runtime, run.trace
    served = {
        (subscription.number, cluster.number): (subscription.name, name)
        for name, cluster in runtime.clusters.items()
        for topic in cluster.topics.values()
        if topic.broker is not None
        for subscription in topic.subscriptions.values()
    }
    if not served:
        return {}
    published_us = published_instants(trace, run.seq)
    result: dict[str, Any] = {}
    who, when, message = rows_of(trace, run.seq, "message.delivered", ("subscription", "cluster"))
    for key, (subscription, cluster) in sorted(served.items(), key=lambda entry: entry[1]):
        chosen = (who["subscription"] == key[0]) & (who["cluster"] == key[1])
        waited_us = when[chosen] - published_us.of(message[chosen])
        first = np.unique(message[chosen], return_index=True)[1]
        result.setdefault(subscription, {})[cluster] = distribution(waited_us[first])
    return result


def distribution(values: np.ndarray) -> dict[str, int | None]:
    """Count, mean, p50, p99 and maximum of values in microseconds; null without any."""
    names = ("mean_us", "p50_us", "p99_us", "max_us")
    if not len(values):
        return {"delivered": 0, **dict.fromkeys(names)}
    values = np.sort(values)
    ranks = [-(-len(values) * share // 100) - 1 for share in (50, 99)]
    figures = (int(values.sum()) // len(values), *(int(values[rank]) for rank in ranks), int(values[-1]))
    return {"delivered": len(values), **dict(zip(names, figures, strict=True))}


class Instants:
    """When each message was published, by its packed identity."""

    def __init__(self, message: np.ndarray, at_us: np.ndarray) -> None:
        order = np.argsort(message, kind="stable")
        self._message, self._at_us = message[order], at_us[order]

    def of(self, message: np.ndarray) -> np.ndarray:
        """The instants of these messages."""
        return self._at_us[np.searchsorted(self._message, message)]


def published_instants(trace: Trace, upto_seq: int) -> Instants:
    """The instants of every `message.published` row before `upto_seq`."""
    _who, when, message = rows_of(trace, upto_seq, "message.published", ())
    return Instants(message, when)


def rows_of(
    trace: Trace, upto_seq: int, event: str, names: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """(columns `names`, instants, packed messages) of the rows of a type, read block by block."""
    wanted = ("type", "at_us", "producer", "sequence_id", *names)
    parts: dict[str, list[np.ndarray]] = {name: [np.empty(0, dtype=np.int64)] for name in wanted}
    for first in range(0, upto_seq, BLOCK_ROWS):
        columns = trace.columns(first, min(first + BLOCK_ROWS, upto_seq), names=wanted)
        chosen = columns["type"] == CODE[event]
        for name in wanted:
            parts[name].append(columns[name][chosen])
    whole = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    return (
        {name: whole[name] for name in names},
        whole["at_us"],
        (whole["producer"] << _ID_BITS) + whole["sequence_id"],
    )


# --- `audiences` of the summary: delivery latency, time to connect, and traffic of their brokers
#
# Rules: latencies and bytes are from the rows, connections and cursors from the state. Latency is from
# publishing to delivery, of every message that any member received. Percentiles are by nearest rank.


def audiences(run: World) -> dict[str, Any]:
    """By audience, with the sums of its partitions."""
    by_name: dict[str, list[Audience]] = {}
    for audience in run.runtime.fan_out.audiences:
        by_name.setdefault(audience.name, []).append(audience)
    if not by_name:
        return {}
    published_us = published_instants(run.trace, run.seq)
    who, when_us, message = rows_of(run.trace, run.seq, "message.delivered", ("subscription",))
    result = {}
    for name, parts in sorted(by_name.items()):
        chosen = who["subscription"] == parts[0].number
        result[name] = {
            **audience_figures(parts),
            "latency": distribution(when_us[chosen] - published_us.of(message[chosen])),
        }
    return result


def audience_figures(parts: list[Audience]) -> dict[str, Any]:
    """Figures of one audience from the state.

    `connect_us` is from the request to the last member's connection, null until then.
    """
    took = [part.connected_all_us for part in parts if part.connected_all_us is not None]
    return {
        "topic": parts[0].spec.topic,
        "cluster": parts[0].spec.cluster,
        "brokers": sorted(
            dict.fromkeys(part.topic.broker.name for part in parts if part.topic.broker is not None)
        ),
        "subscriptions": parts[0].size,
        "connected": min(part.connected for part in parts),
        "connect_us": max(took) if len(took) == len(parts) else None,
        "delivered": sum(part.delivered for part in parts),
        "repeated": sum(part.repeated for part in parts),
        "backlog": sum(part.backlog() for part in parts),
        "lost_to_retention": sum(part.lost_to_retention for part in parts),
    }


POINTS_MAX = 240
"""Places of the fan-out for a page: about one for every three pixels of its chart."""


def latency_by_place(audience: Audience) -> list[list[int]]:
    """Latency of the last delivery by place in the fan-out, as [place, latency in us].

    The places are of evenly spaced members with a delivery.
    """
    members = np.unique(np.linspace(0, audience.size - 1, min(POINTS_MAX, audience.size)).astype(np.int64))
    return [
        [int(member), int(audience.latencies_us[member])]
        for member in members
        if audience.latencies_us[member] >= 0
    ]


SPANS = 120
"""Spans of the run so far: about one for every five pixels of a chart."""


# The rows up to now decide, so load and latency are the same live, after a seek and in a report. Time is cut
# into equal spans. A dispatch counts in the span in which it leaves. A span's wait is that of the oldest
# message that left in it: how far the broker was behind.


def broker_load(run: World) -> dict[str, Any]:
    """The object of docs/http-api.md; every list is empty where no brokers are declared."""
    runtime, trace = run.runtime, run.trace
    brokers = [broker for name in runtime.cluster_names for broker in runtime.clusters[name].brokers]
    span_us = -(-max(run.now_us, SPANS) // SPANS)
    found: dict[str, Any] = {
        "at_us": run.now_us,
        "span_us": span_us,
        "brokers": {},
        "readers": [],
        "audiences": {},
    }
    if not brokers:
        return found
    who, when_us, message = rows_of(
        trace,
        run.seq,
        "message.dispatched",
        ("cluster", "topic", "subscription", "size_bytes", "duration_us"),
    )
    waited_us = when_us - published_instants(trace, run.seq).of(message)
    served_by, place = brokers_of(run, who, when_us), np.minimum(when_us // span_us, SPANS - 1)
    for broker in sorted(brokers, key=lambda one: one.name):
        chosen = served_by == broker.number
        found["brokers"][broker.name] = {
            **broker_figures(broker),
            "limits": {
                "dispatch_us": broker.spec.dispatch_us,
                "bandwidth_bytes_per_s": broker.spec.bandwidth_bytes_per_s,
                "connect_us": broker.spec.connect_us,
            },
            **_over_time(
                place[chosen],
                who["duration_us"][chosen],
                who["size_bytes"][chosen],
                waited_us[chosen],
                span_us,
            ),
        }
    names = trace.names
    reader = (((who["cluster"] << _NAME_BITS) + who["topic"]) << _NAME_BITS) + who["subscription"]
    for key in np.unique(reader).tolist():
        cluster, topic, subscription = key >> 2 * _NAME_BITS, key >> _NAME_BITS & _ONE_NAME, key & _ONE_NAME
        chosen = reader == key
        last = waited_us[chosen][when_us[chosen] > run.now_us - RECENT_US]
        who_reads = {
            "name": names[subscription],
            "cluster": names[cluster],
            "topic": names[topic],
            "broker": names[int(served_by[chosen][-1])],
        }
        found["readers"].append(
            {**who_reads, "so_far": distribution(waited_us[chosen]), "lately": distribution(last)}
        )
    for audience in runtime.fan_out.audiences:
        found["audiences"][f"{audience.name}/{audience.topic.name}"] = {
            **audience_figures([audience]),
            "latency_by_place": latency_by_place(audience),
        }
    return found


RECENT_US = 2 * MILLION
"""The span of recent figures."""
_NAME_BITS = 21
_ONE_NAME = (1 << _NAME_BITS) - 1
"""Three name numbers fit in one integer."""


def _over_time(
    place: np.ndarray, busy_us: np.ndarray, size_bytes: np.ndarray, waited_us: np.ndarray, span_us: int
) -> dict[str, list]:
    """By span: the broker's busy share in millionths, bytes per second, and the longest wait.

    The wait is that of the messages that left, null without any.
    """
    busy, sent = (np.bincount(place, weights=values, minlength=SPANS) for values in (busy_us, size_bytes))
    longest = np.full(SPANS, -1, dtype=np.int64)
    np.maximum.at(longest, place, waited_us)
    return {
        "busy": [min(MILLION, int(value) * MILLION // span_us) for value in busy],
        "bytes_per_s": [int(value) * MILLION // span_us for value in sent],
        "waited_us": [None if value < 0 else int(value) for value in longest],
    }


# --- `replicators` and `topics` of the summary: the state of every geo-replicator and topic
#
# A replicator has the error that prevents replication, a topic its shape and schemas.


def replicators(run: World) -> dict[str, dict[str, dict[str, Any]]]:
    """The geo-replicators by source cluster, target cluster and topic.

    Returns {X: {Y: {topic: {state, connected, replication_backlog, delay_s, retries, last_error,
    start_check}}}}. A partitioned topic has its partitions under `partitions` and the totals of pulsar-admin:
    connected when all are, the largest delay, sums. `retries` is the number of retries over the run, after a
    failed start or a lost connection. `last_error` is the error that prevents replication now.
    """
    return {name: _of_cluster(run.runtime, name) for name in run.runtime.cluster_names}


def _of_cluster(runtime: Pulsar, name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for topic in runtime.clusters[name].topics.values():
        for peer, replicator in topic.replicators.items():
            of_peer = found.setdefault(peer, {})
            if topic.partition < 0:
                of_peer[topic.name] = {**figures(replicator), **of_peer.get(topic.name, {})}
            else:
                of_peer.setdefault(topic.base, {}).setdefault("partitions", {})[topic.name] = figures(
                    replicator
                )
    for of_peer in found.values():
        for one in of_peer.values():
            if "state" not in one:
                one.update(together(list(one["partitions"].values())))
    return {peer: found[peer] for peer in sorted(found)}


def figures(replicator: Replicator) -> dict[str, Any]:
    """One log's replicator: its state, and the error that prevents replication."""
    return {
        "state": replicator.state,
        "connected": replicator.connected,
        "replication_backlog": replicator.topic.log.length - 1 - replicator.settled_mark_delete(),
        "delay_s": oldest_pending_us(replicator) // 1_000_000,
        "retries": replicator.failed_starts,
        "last_error": replicator.last_error,
        "start_check": of_replicator(replicator),
    }


def together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The totals of partitions, as pulsar-admin computes them.

    They have the first state that is not "started", and the first error with its start check.
    """
    states = [part["state"] for part in parts]
    return {
        "state": next((state for state in states if state != "started"), "started"),
        "connected": all(part["connected"] for part in parts),
        "replication_backlog": sum(part["replication_backlog"] for part in parts),
        "delay_s": max(part["delay_s"] for part in parts),
        "retries": sum(part["retries"] for part in parts),
        "last_error": next((part["last_error"] for part in parts if part["last_error"]), None),
        "start_check": next(
            (part["start_check"] for part in parts if part["last_error"]), parts[0]["start_check"]
        ),
    }


def topics(run: World) -> dict[str, dict[str, Any]]:
    """The topics of each cluster with partitions and schemas.

    Returns {cluster: {topic: {partitions, schemas}}}. 0 partitions is a plain topic. Schemas are oldest
    first, versions from 0 as in Pulsar. A topic that does not exist in a cluster has no entry for it, nor
    does a log that only has a partition's name.
    """
    runtime = run.runtime
    return {
        name: {
            base: _shape(runtime, name, base)
            for base in sorted(runtime.scenario.topics)
            if runtime.clusters[name].shape(base) is not None
        }
        for name in runtime.cluster_names
    }


def _shape(runtime: Pulsar, cluster: str, base: str) -> dict[str, Any]:
    versions = schemas.versions(runtime.clusters[cluster], base)
    listed = [
        {"version": number, "schema": schema.name, "type": schema.type}
        for number, schema in enumerate(versions)
    ]
    return {"partitions": runtime.clusters[cluster].shape(base), "schemas": listed}


def failovers(run: World) -> list[dict]:
    """Every failover up to now, in order.

    `failovers[]` of the summary: the counted figures, with the forecast at each failover's instant.
    """
    forecasts = [failover.window.forecast for failover in run.runtime.failovers]
    return [
        failover_summary(one, forecast)
        for one, forecast in zip(run.counted().failovers, forecasts, strict=True)
    ]


# --- `migrations[]` and `lookup` of the summary: each tenant's move, and the map of the LookupService


def migrations(world: World) -> list[dict[str, Any]]:
    """Every migration in the order of their start."""
    return [
        {
            "tenant": run.tenant,
            "from": run.source,
            "to": run.target,
            "strategy": run.strategy,
            "state": run.state,
            "steps": [asdict(step) for step in run.steps],
            "switched_at_us": run.switched_at_us,
            "rolled_back": run.rolled_back,
        }
        for run in (migration.run for migration in world.runtime.migrations)
    ]


def lookup(world: World) -> dict[str, str]:
    """By tenant the cluster that the LookupService names."""
    return dict(world.runtime.lookup.tenants)


# --- `shadows` of the summary: visible entries, saved bytes and losses of each shadow topic
#
# docs/pulsar.md defines the terms.


_SHADOW_SUMS = (
    "stored_bytes",
    "saved_bytes",
    "lost_to_retention",
    "behind_entries",
    "queued_adds",
    "queued_adds_ever",
    "refused_sends",
    "confirmed_reads",
)


def shadows(run: World) -> dict[str, dict[str, Any]]:
    """By shadow topic; a partitioned one has sums, null positions, and its partitions under `partitions`."""
    shown: dict[str, dict[str, Any]] = {}
    for cluster in run.runtime.clusters.values():
        for topic in cluster.topics.values():
            if topic.source is None:
                continue
            if topic.partition < 0:
                shown[topic.name] = _one(run, topic)
            else:
                shown.setdefault(topic.base, {"partitions": {}})["partitions"][topic.name] = _one(run, topic)
    for found in shown.values():
        if "partitions" in found:
            found.update(_together(list(found["partitions"].values())))
    return dict(sorted(shown.items()))


def _one(run: World, topic: ShadowTopic) -> dict[str, Any]:
    return {
        "source": topic.source.base,
        "last_confirmed": _text(topic.log.last_confirmed),
        "source_last_confirmed": _text(topic.source.log.last_confirmed),
        "stored_bytes": _stored_bytes(run, topic),
        "saved_bytes": topic.saved_bytes,
        "lost_to_retention": sum(lost_messages(topic, name) for name in sorted(topic.lost)),
        "lost_by_subscription": {name: lost_messages(topic, name) for name in sorted(topic.lost)},
        "behind_entries": topic.behind_entries,
        "stale_us": topic.stale_us,
        "queued_adds": len(topic.queued),
        "queued_adds_ever": topic.queued_ever,
        "refused_sends": topic.refused_sends,
        "confirmed_reads": topic.confirmed_reads,
        "reads": reads_by_place(topic.reads),
        "source_reads": reads_by_place(topic.source_reads),
        "replicator": _replicator(topic),
    }


def _text(position: tuple[int, int]) -> str:
    return f"{position[0]}:{position[1]}"


def _stored_bytes(run: World, topic: ShadowTopic) -> int:
    """Bytes of entries written for the shadow itself, counted in the trace, where every write is a row."""
    trace, number, total = run.trace, topic.number, 0
    columns = trace.columns(0, run.seq, ("type", "topic", "size_bytes"))
    for name in ("message.stored", "marker.written", "marker.stored"):
        chosen = (columns["type"] == CODE[name]) & (columns["topic"] == number)
        total += int(columns["size_bytes"][chosen].sum())
    return total


def reads_by_place(reads: Reads) -> dict[str, int]:
    """Entries that a broker read for this topic, by where they were served, and the bookies' bytes."""
    return {
        "cache": reads.from_cache,
        "bookies": reads.from_bookies,
        "offload": reads.from_offload,
        "bookie_bytes": reads.bookie_bytes,
    }


def _replicator(topic: ShadowTopic) -> dict[str, Any] | None:
    """The source's replicator that feeds it; null without one."""
    found = topic.source.shadows.replicators.get(topic.name)
    if found is None:
        return None
    return {
        "state": found.state,
        "connected": found.state == "started",
        "backlog": found.backlog,
        "in_flight": found.in_flight,
        "messages_out": found.sent_messages,
        "bytes_out": found.sent_bytes,
        "skipped": found.skipped,
        "resets": found.resets,
    }


def _together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The top-level fields of a partitioned shadow."""
    by_subscription: dict[str, int] = {}
    for part in parts:
        for name, count in part["lost_by_subscription"].items():
            by_subscription[name] = by_subscription.get(name, 0) + count
    return {
        "source": parts[0]["source"],
        "last_confirmed": None,
        "source_last_confirmed": None,
        **{key: sum(part[key] for part in parts) for key in _SHADOW_SUMS},
        "lost_by_subscription": dict(sorted(by_subscription.items())),
        "stale_us": max(part["stale_us"] for part in parts),
        **{
            key: {place: sum(part[key][place] for part in parts) for place in parts[0][key]}
            for key in ("reads", "source_reads")
        },
        "replicator": None,
    }


# --- results of replicators' start checks (PIP-433, #24652), by replicator and by command
#
# Rules: no request waits for a start check, so a command's own code does not include it. The last result is
# listed with the command, also when the replicator was removed. The check of a retry belongs to the command
# that requested the start. A check at the start of the run belongs to no command.


COMMANDS = ("command.applied", "command.refused")


def of_replicator(replicator: Replicator) -> dict[str, Any] | None:
    """The last start check of a replicator, None before the first.

    Returns {outcome, code, local, remote}. Shapes are numbers of partitions, 0 a plain topic, null no topic.
    """
    return None if replicator.checked is None else _words(replicator.checked)


def _words(outcome: Outcome) -> dict[str, Any]:
    return {
        "outcome": outcome.outcome,
        "code": outcome.code,
        "local": outcome.local,
        "remote": outcome.remote,
    }


def commands(run: World) -> list[dict[str, Any]]:
    """`commands[]`, each with the `start_checks` that it caused, if any.

    A start check is {from, to, topic, outcome, code, local, remote, error}. Where no scenario key lets
    clusters disagree about topics, checks that passed are left out, because all do.
    """
    results = run.command_results
    if results:
        numbers = {seq: number for number, seq in enumerate(run.trace.seqs(0, run.seq, types=COMMANDS))}
        asks = bool(run.scenario.namespaces) or any(
            topic.exists is not None for topic in run.scenario.topics.values()
        )
        for (requested_seq, source, target, log), (outcome, error) in run.runtime.start_checks.items():
            number = _command_of(run, requested_seq, numbers) if asks or outcome.outcome != PASSED else None
            if number is not None:
                results[number].setdefault("start_checks", []).append(
                    {"from": source, "to": target, "topic": log, **_words(outcome), "error": error}
                )
    return results


def _command_of(run: World, seq: int, numbers: dict[int, int]) -> int | None:
    """The number of the command that caused a row, None without one."""
    while seq != NULL and seq not in numbers:
        seq = run.trace.row(seq).get("cause_seq", NULL)
    return numbers.get(seq)
