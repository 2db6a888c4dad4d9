"""The live state of a simulated Pulsar for the page (docs/http-api.md).

Reads, never writes. Lists are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.shadow.topic import ShadowTopic, lost_messages
from simulator.protocols.pulsar.summary_sections import audience_figures, broker_figures, reads_by_place
from simulator.protocols.pulsar.views.creation import lookup_view, migrations_view
from simulator.protocols.pulsar.views.inspection import read_position_text
from simulator.system.links import shown

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.snapshots.controller import SnapshotController
    from simulator.world import World

RANGES_MAX, UNACKED_MAX, LEDGERS_MAX, TEXT_CHARACTERS_MAX = 200, 200, 50, 300
"""Limits of one frame for lists that grow."""


PENDING_MAX = 64
"""Pending snapshots listed, the newest ones.

It is twice the number that a period of a second and Pulsar's timeout of 30 s leave pending.
"""

REFUSALS = {
    "pending": "one snapshot is pending and none has ever been completed: no second one is asked for",
    "no-new-data": "nothing was published since the last completed snapshot began",
    "replicator-disconnected": (
        "a replicator of this topic is not connected, and one is enough to stop all snapshots"
    ),
}


def view(run: World) -> dict[str, Any]:
    """This protocol's part of `World.view`."""
    runtime = run.runtime
    forecasts = {name: _forecast(run, name) for name in run.subscriptions}
    return {
        "clusters": {
            name: {"state": runtime.clusters[name].state, "topics": _topics(runtime, name)}
            for name in runtime.cluster_names
        },
        "audiences": {
            f"{audience.name}/{audience.topic.name}": _audience(audience)
            for audience in runtime.fan_out.audiences
        },
        "brokers": {
            broker.name: broker_figures(broker)
            for name in runtime.cluster_names
            for broker in runtime.clusters[name].brokers
        },
        "producers": {name: _producer(runtime, name) for name in sorted(runtime.producers)},
        "links": {f"{a} -> {b}": shown(link) for (a, b), link in sorted(runtime.links.items())},
        "sentence": _sentence(runtime, forecasts),
        "forecast": {name: found for name, found in forecasts.items() if found is not None},
        "why_no_snapshot": {name: _refusals(runtime, name) for name in runtime.cluster_names},
        "snapshot_regions": runtime.snapshot_names.parts(),
        "failovers": _failovers(run),
        "lookup": lookup_view(run),
        "migrations": migrations_view(run),
    }


def _failovers(run: World) -> list[dict[str, Any]]:
    """Live figures of each failover; the latest of each subscription also has its `entries`."""
    windows = run.runtime.windows
    return [
        {**figures, "entries": one.window.entries()}
        if windows.get(one.subscription) is one.window
        else figures
        for figures, one in zip(run.live_failovers(), run.runtime.failovers, strict=True)
    ]


def _topics(runtime: Pulsar, cluster: str) -> dict[str, Any]:
    return {name: _topic(runtime, topic) for name, topic in runtime.clusters[cluster].topics.items()}


def _topic(runtime: Pulsar, topic: Topic) -> dict[str, Any]:
    ledger, entry = topic.log.last_confirmed
    return {
        **({"shadow": _shadow(topic)} if isinstance(topic, ShadowTopic) else {}),
        "loaded": topic.loaded,
        "length": topic.log.length,
        "first_kept": topic.log.first_kept,
        "last_position": f"{ledger}:{entry}",
        "ledgers": [
            [ledger.id, ledger.first_index, ledger.entries] for ledger in topic.log.ledgers[-LEDGERS_MAX:]
        ],
        "counts": dict(topic.counts),
        "controller": _controller(topic.controller) if topic.controller else None,
        "replicators": {peer: _replicator(replicator) for peer, replicator in topic.replicators.items()},
        "subscriptions": {
            name: _subscription(runtime, subscription) for name, subscription in topic.subscriptions.items()
        },
    }


def _shadow(topic: ShadowTopic) -> dict[str, Any]:
    """The additional fields of a shadow topic."""
    replicator = topic.source.shadows.replicators.get(topic.name)
    return {
        "source": topic.source.name,
        "loaded": topic.loaded,
        "behind_entries": topic.behind_entries,
        "stale_us": topic.stale_us,
        "saved_bytes": topic.saved_bytes,
        "queued_adds": len(topic.queued),
        "lost": {name: lost_messages(topic, name) for name in sorted(topic.lost)},
        "unreadable": None if topic.reads.stuck is None else topic.log.text(topic.reads.stuck),
        "replicator": None
        if replicator is None
        else {"state": replicator.state, "backlog": replicator.backlog, "in_flight": replicator.in_flight},
        "reads": reads_by_place(topic.reads),
        "source_reads": reads_by_place(topic.source_reads),
    }


def _controller(controller: SnapshotController) -> dict[str, Any]:
    return {
        "started_us": controller.started_us,
        "period_us": controller.period_us,
        "last_completed_us": controller.building.last_completed_ms * 1000 or None,
        **pending_snapshots(list(controller.pending.values())),
    }


def pending_snapshots(pending: Sequence[Any]) -> dict[str, Any]:
    """The newest pending snapshots of a controller, and how many there are."""
    return {
        "pending": [
            {
                "snapshot": builder.snapshot,
                "started_us": builder.started_us,
                "round": builder.round,
                "missing": list(builder.missing),
                "answers": {
                    name: f"{ledger}:{entry}" for name, (ledger, entry) in sorted(builder.answers.items())
                },
            }
            for builder in pending[-PENDING_MAX:]
        ],
        "pending_total": len(pending),
    }


def _replicator(replicator: Replicator) -> dict[str, Any]:
    replicator_cursor = replicator.settled_mark_delete()
    return {
        "state": replicator.state,
        "mark_delete_index": replicator_cursor,
        "read_index": replicator.read_index,
        "in_flight": replicator.unreceipted,
        "backlog": replicator.topic.log.length - 1 - replicator_cursor,
        "last_error": replicator.last_error,
    }


def _subscription(runtime: Pulsar, subscription: Subscription) -> dict[str, Any]:
    cursor, log, snapshots = subscription.cursor, subscription.topic.log, subscription.snapshots
    return {
        "type": subscription.type,
        "replicated": subscription.replicated,
        "synchronised": subscription.sender is not None,
        "sync": _sync(subscription),
        "mark_delete_index": cursor.mark_delete,
        "mark_delete": subscription.mark_delete_text,
        "read_index": subscription.dispatcher.read_index,
        "read_position": read_position_text(subscription.topic, subscription.dispatcher.read_index),
        "ranges": [list(pair) for pair in cursor.ranges(RANGES_MAX)],
        "ranges_total": cursor.ranges_total,
        "individually_deleted": cursor.text(log, TEXT_CHARACTERS_MAX),
        "backlog": subscription.backlog,
        "unacked": subscription.dispatcher.unacked,
        "dispatching": bool(subscription.dispatcher.sessions),
        "cache": [
            {
                "snapshot": kept.snapshot,
                "index": kept.index,
                "position": log.text(kept.index),
                "clusters": {name: f"{ledger}:{entry}" for name, ledger, entry in kept.clusters},
            }
            for kept in snapshots.kept
        ],
        "last_update_us": snapshots.last_update_us,
        "last_applied_us": subscription.last_applied_us,
        "consumers": {
            session.consumer.name: _session(runtime.consumers[session.consumer.name], session)
            for session in subscription.dispatcher.sessions
        },
    }


def _sync(subscription: Subscription) -> dict[str, Any] | None:
    """The entries that acknowledgement-state sync has sent to each peer, as far as they have arrived.

    None where the subscription is not synced.
    """
    sender, cursor = subscription.sender, subscription.cursor
    if sender is None:
        return None
    peers = {
        peer: {**_received(subscription, peer), "on_the_wire": sender.on_the_wire(peer)}
        for peer in subscription.topic.remote_clusters()
    }
    return {
        "acknowledged": cursor.mark_delete + 1 + cursor.deleted_count,
        "next_us": sender.next_us,
        "every_us": sender.period_us,
        "peers": peers,
    }


def _received(subscription: Subscription, peer: str) -> dict[str, int | None]:
    """Number of entries acked in this cluster that a peer has received as acked, and since when."""
    topic, cursor = subscription.topic, subscription.cursor
    there = topic.runtime.clusters[peer].topics.get(topic.name)
    found = there.subscriptions.get(subscription.name) if there is not None else None
    state = found.filter.reported.get(topic.cluster.name) if found is not None else None
    if state is None:
        return {"entries": 0, "at_us": None}
    named = state.whole.get(topic.cluster.index, BitMap())
    below = named.rank(cursor.mark_delete) if cursor.mark_delete >= 0 else 0
    return {
        "entries": below + named.intersection_cardinality(cursor.acknowledged()),
        "at_us": topic.runtime.trace.at_us(state.seq),
    }


def _session(consumer: Consumer, session: Session) -> dict[str, Any]:
    unacked = [key.index for key in consumer.unacked if key.place == session.topic.place]
    state = "blocked" if session.blocked else consumer.state
    return {
        "permits": session.permits,
        "queued": session.queued,
        "unacked": unacked[:UNACKED_MAX],
        "unacked_total": len(unacked),
        "state": state,
    }


def _audience(audience: Audience) -> dict[str, Any]:
    slowest_us = int(audience.latencies_us.max(initial=-1))
    return {
        **audience_figures([audience]),
        "topic": audience.topic.name,
        "slowest_us": None if slowest_us < 0 else slowest_us,
    }


def _producer(runtime: Pulsar, name: str) -> dict[str, Any]:
    producer = runtime.producers[name]
    return {
        "cluster": producer.cluster_name,
        "topic": producer.spec.topic,
        "state": producer.state,
        "published": producer.published,
        "receipted": producer.receipted,
        "pending": sum(entry[1] for entry in producer.pending),
    }


def _forecast(run: World, subscription: str) -> dict[str, Any] | None:
    source = forecasting.source_of(run.runtime, subscription)
    if source is None:
        return None
    to = run.forecast(subscription, source)
    entries = forecasting.marked_entries(run.runtime, subscription, source, to)
    return {"from": source, "to": to, "entries": entries}


def _sentence(runtime: Pulsar, forecasts: dict[str, dict | None]) -> dict[str, Any] | None:
    """The forecast of the first subscription with consumers for its first remote that is up."""
    for name, found in forecasts.items():
        for peer, figures in found["to"].items() if found else ():
            if runtime.clusters[peer].up:
                kept = {key: figures[key] for key in ("duplicates", "redeliveries", "stranded", "lost")}
                return {"subscription": name, "from": found["from"] if found else None, "to": peer, **kept}
    return None


def _refusals(runtime: Pulsar, cluster: str) -> dict[str, dict | None]:
    result: dict[str, dict | None] = {}
    for name, topic in runtime.clusters[cluster].topics.items():
        rule = topic.controller.refusal() if topic.controller else None
        result[name] = None if rule is None else {"rule": rule, "words": REFUSALS.get(rule, rule)}
        if topic.controller is None and topic.loaded:
            words = (
                "no controller runs here: no replicated subscription, the feature off, or a single cluster"
            )
            result[name] = {"rule": "no-controller", "words": words}
    return result
