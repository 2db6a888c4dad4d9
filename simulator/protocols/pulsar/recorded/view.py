"""The live state of a recorded run for the page, in the shape of docs/python-api.md.

Rules: reads, never writes. What no row shows is null or empty: permits and queues of consumers,
forecasts, and why no snapshot is taken. The read position is the one after the last delivered entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.views.view import (
    LEDGERS_MAX,
    RANGES_MAX,
    TEXT_CHARACTERS_MAX,
    UNACKED_MAX,
    pending_snapshots,
)
from simulator.system.links import shown

if TYPE_CHECKING:
    from simulator.protocols.pulsar.recorded.recording import (
        RecordedConsumer,
        RecordedController,
        RecordedProducer,
        RecordedReplicator,
        RecordedState,
        RecordedSubscription,
        RecordedTopic,
    )
    from simulator.world import World


def view(run: World) -> dict[str, Any]:
    """This protocol's part of `World.view`."""
    state: RecordedState = run.runtime
    return {
        "clusters": {
            name: {"state": cluster.state, "topics": {log: _topic(t) for log, t in cluster.topics.items()}}
            for name, cluster in state.clusters.items()
        },
        "audiences": {},
        "brokers": {},
        "producers": {name: _producer(producer) for name, producer in state.producers.items()},
        "links": {f"{a} -> {b}": shown(link) for (a, b), link in sorted(state.links.items())},
        "sentence": None,
        "forecast": {},
        "why_no_snapshot": {name: dict.fromkeys(cluster.topics) for name, cluster in state.clusters.items()},
        "snapshot_regions": state.snapshot_names.parts(),
        "failovers": _failovers(run),
        "lookup": {"up": True, "tenants": {}, "answered": {}, "failed": 0, "clients": {}},
        "migrations": [],
    }


def _failovers(run: World) -> list[dict[str, Any]]:
    """Live figures of each failover; the latest of each subscription also has its `entries`."""
    begun = run.runtime.failovers
    latest = {one.subscription: number for number, one in enumerate(begun)}
    return [
        {**figures, "entries": one.window.entries()} if latest[one.subscription] == number else figures
        for number, (figures, one) in enumerate(zip(run.live_failovers(), begun, strict=True))
    ]


def _topic(topic: RecordedTopic) -> dict[str, Any]:
    ledger, entry = topic.log.last_confirmed
    return {
        "loaded": topic.loaded,
        "length": topic.log.length,
        "first_kept": topic.log.first_kept,
        "last_position": f"{ledger}:{entry}",
        "ledgers": [
            [ledger.id, ledger.first_index, ledger.entries] for ledger in topic.log.ledgers[-LEDGERS_MAX:]
        ],
        "counts": dict(topic.counts),
        "controller": None if topic.controller is None else _controller(topic.controller),
        "replicators": {peer: _replicator(one) for peer, one in topic.replicators.items()},
        "subscriptions": {name: _subscription(one) for name, one in topic.subscriptions.items()},
    }


def _controller(controller: RecordedController) -> dict[str, Any]:
    return {
        "started_us": controller.started_us,
        "period_us": controller.period_us,
        "last_completed_us": controller.last_completed_us,
        **pending_snapshots(list(controller.pending.values())),
    }


def _replicator(replicator: RecordedReplicator) -> dict[str, Any]:
    return {
        "state": replicator.state,
        "mark_delete_index": replicator.mark_delete,
        "read_index": replicator.read_index,
        "in_flight": len(replicator.on_the_wire),
        "backlog": replicator.backlog,
        "last_error": replicator.last_error,
    }


def _subscription(subscription: RecordedSubscription) -> dict[str, Any]:
    cursor, topic = subscription.cursor, subscription.topic
    return {
        "type": subscription.type,
        "replicated": subscription.replicated,
        "synchronised": False,
        "sync": None,
        "mark_delete_index": cursor.mark_delete,
        "mark_delete": subscription.mark_delete_text,
        "read_index": subscription.read_index,
        "read_position": subscription.read_position_text,
        "ranges": [list(pair) for pair in cursor.ranges(RANGES_MAX)],
        "ranges_total": cursor.ranges_total,
        "reported": [],
        "individually_deleted": cursor.text(topic.log, TEXT_CHARACTERS_MAX),
        "backlog": subscription.backlog,
        "unacked": subscription.unacked,
        "dispatching": bool(subscription.consumers),
        "cache": [
            {
                "snapshot": kept.snapshot,
                "index": kept.index,
                "position": topic.log.text(kept.index),
                "clusters": {name: f"{ledger}:{entry}" for name, ledger, entry in kept.clusters},
            }
            for kept in subscription.snapshots.kept
        ],
        "last_update_us": subscription.snapshots.last_update_us,
        "last_applied_us": subscription.last_applied_us,
        "consumers": {name: _consumer(one) for name, one in sorted(subscription.consumers.items())},
    }


def _consumer(consumer: RecordedConsumer) -> dict[str, Any]:
    return {
        "permits": None,
        "queued": None,
        "unacked": list(consumer.unacked)[:UNACKED_MAX],
        "unacked_total": len(consumer.unacked),
        "state": consumer.state,
    }


def _producer(producer: RecordedProducer) -> dict[str, Any]:
    return {
        "cluster": producer.cluster,
        "topic": producer.topic,
        "state": producer.state,
        "published": producer.published,
        "receipted": producer.receipted,
        "pending": max(0, producer.published - producer.receipted - producer.failed),
    }
