"""The live state of a recorded run for the page, in the shape of docs/http-api.md.

Rules: reads, never writes. What no row shows is null or empty: permits and queues of consumers,
figures of a forecast, and why no snapshot is taken. The read position is the one after the last
delivered entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pyroaring import BitMap

from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.views.view import (
    LEDGERS_MAX,
    RANGES_MAX,
    TEXT_CHARACTERS_MAX,
    UNACKED_MAX,
    pending_snapshots,
)
from simulator.system.links import shown

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
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
        "forecast": {name: found for name in state.subscriptions if (found := _forecast(run, name))},
        "why_no_snapshot": {name: dict.fromkeys(cluster.topics) for name, cluster in state.clusters.items()},
        "snapshot_regions": state.snapshot_names.parts(),
        "failovers": _failovers(run),
        "lookup": {"up": True, "tenants": {}, "answered": {}, "failed": 0, "clients": {}},
        "migrations": [],
    }


def _forecast(run: World, name: str) -> dict[str, Any] | None:
    """The marked entries of a subscription. A recorded run has no figures of a failover: `to` is empty."""
    state: RecordedState = run.runtime
    source = _source_of(state, name)
    if source is None:
        return None
    failover = next((one for one in reversed(state.failovers) if one.subscription == name), None)
    lost, missing = {}, {}
    if failover is not None:
        lost = {failover.target: failover.window.lost()}
        if state.clusters[failover.source].state != "up":
            missing = {failover.source: failover.window.missing()}
    entries: dict[str, dict[str, Any]] = {}
    for log, here in state.clusters[source].topics.items():
        if here.base != state.subscriptions[name].topic:
            continue
        copies = [cluster.topics[log] for cluster in state.clusters.values() if log in cluster.topics]
        acked = BitMap.union(BitMap(), *(_acked(state, topic, name) for topic in copies))
        acked = acked.difference(*lost.values())
        for there in copies:
            marked = _Marked(state, name, here, there, there.cluster in lost)
            entries.setdefault(there.cluster, {})[log] = marked.marks(
                acked, lost.get(there.cluster, BitMap()), missing.get(there.cluster, BitMap())
            )
    return {"from": source, "to": {}, "entries": entries}


def _source_of(state: RecordedState, name: str) -> str | None:
    """A cluster that is up and has the subscription's consumers, else one that has the subscription."""
    having = [
        topic
        for cluster in state.clusters.values()
        for topic in cluster.topics.values()
        if name in topic.subscriptions
    ]
    used = [
        topic
        for topic in having
        if topic.subscriptions[name].consumers and state.clusters[topic.cluster].state == "up"
    ]
    return next((topic.cluster for topic in [*used, *having]), None)


def _messages(state: RecordedState, topic: RecordedTopic) -> tuple[int, np.ndarray]:
    """The messages of the newest entries, -1 for markers, and the index of the first."""
    first = max(topic.log.first_kept, topic.log.length - forecasting.ENTRIES_SEARCHED)
    return first, state.recording.messages[topic.log.records.view(first, topic.log.length)]


def _covered(cursor: Cursor, first: int, count: int) -> np.ndarray:
    covered = np.arange(first, first + count) <= cursor.mark_delete
    above = cursor.acknowledged() & BitMap(range(first, first + count))
    covered[np.array(above.to_array(), dtype=np.int64) - first] = True
    return covered


def _acked(state: RecordedState, topic: RecordedTopic, name: str) -> BitMap:
    """The messages that the subscription's cursor covers, among those due to its consumers."""
    own = topic.subscriptions.get(name)
    if own is None:
        return BitMap()
    first, messages = _messages(state, topic)
    due = np.arange(first, first + len(messages)) > own.begin
    return BitMap(messages[(messages >= 0) & due & _covered(own.cursor, first, len(messages))].tolist())


class _Marked:
    """The marked entries of the log `there` of one subscription, whose consumers read `here`.

    `moved_here` says whether the latest failover moved them there.
    """

    def __init__(
        self, state: RecordedState, name: str, here: RecordedTopic, there: RecordedTopic, moved_here: bool
    ) -> None:
        self.state, self.here, self.there, self.moved_here = state, here, there, moved_here
        self.own, self.target = here.subscriptions.get(name), there.subscriptions.get(name)
        self.first, self.messages = _messages(state, there)

    def marks(self, acked: BitMap, lost: BitMap, missing: BitMap) -> dict[str, Any]:
        """The marks from numbers of messages: acked in any cluster, lost, and not in the target."""
        count = len(self.messages)
        covered = np.zeros(count, dtype=bool)
        if self.target is not None:
            covered = _covered(self.target.cursor, self.first, count)
        open_ = self._entries(self._holds(acked) & ~covered)
        repeats = self._repeats(open_)
        return forecasting.marks(
            repeats,
            len(repeats),
            self._causes(repeats),
            acked=open_ - repeats,
            lost=self._entries(self._holds(lost) & covered),
            missing=self._entries(self._holds(missing)),
        )

    def _repeats(self, open_: BitMap) -> BitMap:
        """The entries acked elsewhere that would be delivered again, or still will be after a failover."""
        if self.target is None:
            return BitMap()
        if self.moved_here:
            return open_.difference(*(BitMap(one.unacked) for one in self.target.consumers.values()))
        return BitMap() if self.here is self.there else open_

    def _causes(self, repeats: BitMap) -> list[list[Any]]:
        if self.here is self.there or not repeats:
            return []
        first, messages = _messages(self.state, self.here)
        mark_delete = self.here.log.length if self.own is None else self.own.cursor.mark_delete
        after = messages[max(0, mark_delete + 1 - first) :]
        indices = np.array(repeats.to_array(), dtype=np.int64)
        beyond = np.isin(self.messages[indices - self.first], after[after >= 0])
        return forecasting.causes_of(self.own, self.target, self.there.cluster, indices, beyond, None)

    def _holds(self, messages: BitMap) -> np.ndarray:
        return np.isin(self.messages, np.array(messages.to_array(), dtype=np.int64))

    def _entries(self, chosen: np.ndarray) -> BitMap:
        return BitMap((self.first + np.flatnonzero(chosen)).tolist())


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
