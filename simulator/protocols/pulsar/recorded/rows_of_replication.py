"""Recorded rows about entries, replicators and snapshots, and what each changes in the state."""

from __future__ import annotations

from simulator.protocols.pulsar.recorded.model import RecordedController, RecordedReplicator, RecordedTopic
from simulator.protocols.pulsar.recorded.state import (
    RecordedState,
    Row,
    RowHandler,
    subscription_of,
    topic_of,
)
from simulator.protocols.pulsar.snapshots.building import Builder
from simulator.protocols.pulsar.snapshots.cache import CachedSnapshot
from simulator.scenarios.settings import SETTINGS

PERIOD = "replicatedSubscriptionsSnapshotFrequencyMillis"

# --- entries


def _message_stored(state: RecordedState, row: Row) -> None:
    topic = topic_of(state, row)
    topic.counts["messages"] += 1
    if not row.get("batch_index"):
        topic.append(row["ledger"], row["entry"], row["seq"], row.get("size_bytes", 0), row["at_us"])
        _arrived(state, row)
        _pass_over(state, topic)


def _marker_stored(state: RecordedState, row: Row) -> None:
    topic = topic_of(state, row)
    topic.counts[row["reason"]] += 1
    topic.marker_bytes += row.get("size_bytes", 0)
    topic.append(row["ledger"], row["entry"], row["seq"], row.get("size_bytes", 0), row["at_us"])
    _arrived(state, row)
    _pass_over(state, topic)


# --- replication


def _arrived(state: RecordedState, row: Row) -> None:
    """The entry is at the peer of the replicator that sent it, which no longer has it on the wire."""
    sent_seq = state.recording.departures.get(row["seq"])
    if sent_seq is None:
        return
    sent = state.recording.row(sent_seq)
    topic = topic_of(state, sent)
    replicator = topic.replicators.get(sent["peer"])
    if replicator is not None:
        replicator.on_the_wire.pop(topic.log.index_of(sent["ledger"], sent["entry"]), None)


def _pass_over(state: RecordedState, topic: RecordedTopic) -> None:
    """Move the read positions of the replicators over entries that they do not send."""
    for replicator in topic.replicators.values():
        while replicator.read_index < topic.log.length and not _is_sent(state, topic, replicator):
            replicator.read_index += 1


def _is_sent(state: RecordedState, topic: RecordedTopic, replicator: RecordedReplicator) -> bool:
    """Whether the entry to be read next was written here, for this peer."""
    row = state.recording.row(topic.log.record(replicator.read_index))
    if row["type"] == "marker.written":
        return row.get("peer", replicator.peer) == replicator.peer
    return row["type"] == "message.stored" and "peer" not in row


def _replicator_created(state: RecordedState, row: Row) -> None:
    topic = topic_of(state, row)
    read_index = topic.log.index_of(row["ledger"], row["entry"]) + 1
    topic.replicators[row["peer"]] = RecordedReplicator(topic, row["peer"], read_index)
    topic.replicators = {name: topic.replicators[name] for name in sorted(topic.replicators)}
    _pass_over(state, topic)


def _replicator_removed(state: RecordedState, row: Row) -> None:
    topic_of(state, row).replicators.pop(row["peer"], None)


def _replicator_started(state: RecordedState, row: Row) -> None:
    topic = topic_of(state, row)
    if row["peer"] not in topic.replicators:
        topic.replicators[row["peer"]] = RecordedReplicator(topic, row["peer"], 0)
        topic.replicators = {name: topic.replicators[name] for name in sorted(topic.replicators)}
        _pass_over(state, topic)
    topic.replicators[row["peer"]].connected = True
    topic.replicators[row["peer"]].last_error = None


def _replicator_disconnected(state: RecordedState, row: Row) -> None:
    replicator = topic_of(state, row).replicators.get(row["peer"])
    if replicator is not None:
        replicator.read_index = replicator.mark_delete + 1
        replicator.connected = False
        replicator.on_the_wire.clear()


def _replicator_rewound(state: RecordedState, row: Row) -> None:
    topic = topic_of(state, row)
    replicator = topic.replicators.get(row["peer"])
    if replicator is not None:
        replicator.on_the_wire.clear()
        replicator.read_index = topic.log.index_of(row["ledger"], row["entry"]) + 1
        _pass_over(state, topic)


def _sent(state: RecordedState, row: Row) -> None:
    topic = topic_of(state, row)
    replicator = topic.replicators.get(row["peer"])
    if replicator is None or row.get("batch_index"):
        return
    index = topic.log.index_of(row["ledger"], row["entry"])
    replicator.on_the_wire[index] = row["seq"]
    replicator.read_index = max(replicator.read_index, index + 1)
    _pass_over(state, topic)


def _marker_lost(state: RecordedState, row: Row) -> None:
    topic = topic_of(state, row)
    replicator = topic.replicators.get(row.get("peer", ""))
    if replicator is not None:
        replicator.on_the_wire.pop(topic.log.index_of(row["ledger"], row["entry"]), None)


# --- snapshots


def _controller(state: RecordedState, row: Row) -> RecordedController:
    """A new controller with the period that the scenario sets for its cluster."""
    scenario = state.scenario
    declared = {**scenario.settings, **scenario.clusters[row["cluster"]].settings}
    period_ms = declared.get(PERIOD, SETTINGS[PERIOD].default_under(scenario.options))
    return RecordedController(row["at_us"], period_ms * 1000)


def _controller_started(state: RecordedState, row: Row) -> None:
    topic_of(state, row).controller = _controller(state, row)


def _controller_stopped(state: RecordedState, row: Row) -> None:
    topic_of(state, row).controller = None


def _snapshot_requested(state: RecordedState, row: Row) -> None:
    topic = topic_of(state, row)
    if topic.controller is None:
        topic.controller = _controller(state, row)
    if row["count"] == 1:
        state.snapshot_names.note(row["snapshot"], state.cluster_names.index(row["cluster"]))
        remotes = tuple(topic.replicators) or topic.remotes
        builder = Builder(row["snapshot"], row["at_us"], remotes, list(remotes))
        topic.controller.pending[row["snapshot"]] = builder


def _snapshot_answered(state: RecordedState, row: Row) -> None:
    controller = topic_of(state, row).controller
    if controller is not None and row["snapshot"] in controller.pending:
        controller.pending[row["snapshot"]].answer(row["peer"], (row["to_ledger"], row["to_entry"]))


def _snapshot_completed(state: RecordedState, row: Row) -> None:
    controller = topic_of(state, row).controller
    if controller is not None and (builder := controller.pending.pop(row["snapshot"], None)) is not None:
        controller.last_completed_us = max(1, builder.started_us // 1000) * 1000


def _snapshot_ended(state: RecordedState, row: Row) -> None:
    controller = topic_of(state, row).controller
    if controller is not None:
        controller.pending.pop(row["snapshot"], None)


def _snapshot_cached(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        index = subscription.topic.log.index_of(row["ledger"], row["entry"])
        positions = state.recording.positions.get(row["snapshot"], ())
        subscription.snapshots.kept.append(CachedSnapshot(row["snapshot"], index, positions))


def _snapshot_gone(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        kept = subscription.snapshots.kept
        subscription.snapshots.kept = [one for one in kept if one.snapshot != row["snapshot"]]


def _update_written(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        subscription.snapshots.last_update_us = row["at_us"]


def _update_applied(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        subscription.last_applied_us = row["at_us"]


HANDLERS: dict[str, RowHandler] = {
    "marker.stored": _marker_stored,
    "marker.written": _marker_stored,
    "message.stored": _message_stored,
    "message.deduplicated": _arrived,
    "replicator.created": _replicator_created,
    "replicator.removed": _replicator_removed,
    "replicator.started": _replicator_started,
    "replicator.disconnected": _replicator_disconnected,
    "replicator.rewound": _replicator_rewound,
    "message.replicated": _sent,
    "marker.sent": _sent,
    "marker.lost": _marker_lost,
    "marker.dropped": _marker_lost,
    "controller.started": _controller_started,
    "controller.stopped": _controller_stopped,
    "snapshot.requested": _snapshot_requested,
    "snapshot.answered": _snapshot_answered,
    "snapshot.completed": _snapshot_completed,
    "snapshot.timed-out": _snapshot_ended,
    "snapshot.abandoned": _snapshot_ended,
    "snapshot.cached": _snapshot_cached,
    "snapshot.evicted": _snapshot_gone,
    "snapshot.used": _snapshot_gone,
    "update.written": _update_written,
    "update.applied": _update_applied,
}
