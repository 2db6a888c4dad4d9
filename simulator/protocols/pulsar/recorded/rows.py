"""How each recorded row changes the state that is shown."""

from __future__ import annotations

from typing import Any

from simulator.protocols.pulsar.recorded.recording import (
    RecordedConsumer,
    RecordedController,
    RecordedReplicator,
    RecordedState,
    RecordedSubscription,
    RecordedTopic,
    Row,
    RowHandler,
    subscription_of,
    topic_of,
)
from simulator.protocols.pulsar.snapshots.controller import Builder
from simulator.protocols.pulsar.snapshots.rules import CachedSnapshot
from simulator.scenarios.settings import SETTINGS
from simulator.trace.registry import NULL

# --- recorded rows about clusters, links, clients and ledgers, and what each changes in the state


# --- clusters, links, clients


def _cluster(becomes: str) -> RowHandler:
    def change(state: RecordedState, row: Row) -> None:
        state.clusters[row["cluster"]].state = becomes

    return change


def _link_cut(state: RecordedState, row: Row) -> None:
    state.links[row["cluster"], row["peer"]].cut()


def _link_healed(state: RecordedState, row: Row) -> None:
    state.links[row["cluster"], row["peer"]].heal()


def _link_slowed(state: RecordedState, row: Row) -> None:
    state.links[row["cluster"], row["peer"]].slow_us = row["duration_us"]


def _published(state: RecordedState, row: Row) -> None:
    producer = state.producers.get(row["producer"])
    if producer is not None:
        producer.cluster = row["cluster"]
        producer.published += 1


def _receipted(state: RecordedState, row: Row) -> None:
    producer = state.producers.get(row["producer"])
    if producer is not None:
        producer.receipted += 1


def _send_failed(state: RecordedState, row: Row) -> None:
    producer = state.producers.get(row["producer"])
    if producer is not None:
        producer.failed += 1


_STATES = {"started": "running", "resumed": "running"}
"""States after a change of a client; every other word of `client.changed` is the state itself."""


def _client_changed(state: RecordedState, row: Row) -> None:
    becomes = str(_STATES.get(row["reason"], row["reason"]))
    if (producer := state.producers.get(row["client"])) is not None:
        if becomes != "slowed":
            producer.state = becomes
        return
    if becomes == "slowed":
        return
    state.client_states[row["client"]] = becomes
    for topic in state.clusters[row["cluster"]].topics.values():
        for subscription in topic.subscriptions.values():
            consumer = subscription.consumers.get(row["client"])
            if consumer is not None and becomes in ("running", "paused", "closing"):
                consumer.state = becomes


# --- ledgers


def _loaded(state: RecordedState, row: Row) -> None:
    topic_of(state, row).loaded = True


def _unloaded(state: RecordedState, row: Row) -> None:
    topic_of(state, row).loaded = False


def _ledger_opened(state: RecordedState, row: Row) -> None:
    topic_of(state, row).log.open_ledger(row["ledger"], row["at_us"])


def _ledger_closed(state: RecordedState, row: Row) -> None:
    log = topic_of(state, row).log
    if log.current is not None and log.current.id == row["ledger"]:
        log.close_ledger(row["at_us"])


def _ledger_trimmed(state: RecordedState, row: Row) -> None:
    log = topic_of(state, row).log
    for ledger in log.ledgers:
        if ledger.id == row["ledger"]:
            if ledger is log.current:
                log.close_ledger(row["at_us"])
            log.trim(ledger.first_index + ledger.entries)
            return


# --- recorded rows about cursors, consumers, failovers and commands, and what each changes in the state


# --- subscriptions and cursors


def _subscription_created(state: RecordedState, row: Row) -> None:
    topic, name = topic_of(state, row), row["subscription"]
    spec = state.scenario.subscriptions.get(name)
    mark_delete = topic.log.index_of(row["ledger"], row["entry"])
    made = RecordedSubscription(topic, spec.type if spec else "Exclusive", mark_delete, row.get("count") == 1)
    made.stand_at(row["ledger"], row["entry"])
    made.border.persist()
    topic.subscriptions[name] = made


def _subscription_deleted(state: RecordedState, row: Row) -> None:
    topic_of(state, row).subscriptions.pop(row["subscription"], None)


def _replication_switched(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        subscription.replicated = row["count"] == 1


def _registered(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is None:
        return
    log = subscription.topic.log
    index = log.index_of(row["ledger"], row["entry"])
    if index < 0:
        return
    if "batch_index" in row:
        size = state.recording.batches.get(log.record(index), row["batch_index"] + 1)
        subscription.cursor.acknowledge_batch(index, row["batch_index"], size)
    else:
        subscription.cursor.acknowledge(index)


def _marker_filtered(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        index = subscription.topic.log.index_of(row["ledger"], row["entry"])
        subscription.cursor.acknowledge(index)
        subscription.delivered_to = max(subscription.delivered_to, index + 1)


def _cursor_moved(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is None:
        return
    cursor, log = subscription.cursor, subscription.topic.log
    index = log.index_of(row["to_ledger"], row["to_entry"])
    if row["reason"] == "reset":
        cursor.reset(index)
        subscription.delivered_to = index + 1
    elif index > cursor.mark_delete:
        cursor.mark_delete_to(index)
    elif row["reason"] in ("recovery", "ahead-of-last"):
        cursor.set_back(index)
    if index == cursor.mark_delete:
        subscription.stand_at(row["to_ledger"], row["to_entry"])


def _cursor_persisted(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        subscription.cursor.mark_delete_to(subscription.topic.log.index_of(row["ledger"], row["entry"]))
        subscription.cursor.persist(row["at_us"])
        subscription.border.persist()


def _cursor_recovered(state: RecordedState, row: Row) -> None:
    """A reopened cursor is the persisted one, unless the row has another mark-delete."""
    subscription = subscription_of(state, row)
    if subscription is None:
        return
    cursor, before = subscription.cursor, subscription.cursor.mark_delete
    cursor.recover()
    if cursor.mark_delete != before:
        subscription.border.recover()
    index = subscription.topic.log.index_of(row["ledger"], row["entry"])
    if index != cursor.mark_delete:
        cursor.reset(index)
    subscription.stand_at(row["ledger"], row["entry"])
    subscription.delivered_to = cursor.mark_delete + 1


# --- consumers


def _consumer_connected(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        spec = state.scenario.consumers.get(row["client"])
        begins = "paused" if spec is not None and spec.paused else "running"
        known = state.client_states.get(row["client"], begins)
        subscription.consumers[row["client"]] = RecordedConsumer("paused" if known == "paused" else "running")


def _consumer_disconnected(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is None:
        return
    subscription.consumers.pop(row["client"], None)
    if not subscription.consumers:
        subscription.delivered_to = subscription.cursor.mark_delete + 1


def _delivered(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is None:
        return
    index = subscription.topic.log.index_of(row["ledger"], row["entry"])
    subscription.delivered_to = max(subscription.delivered_to, index + 1)
    consumer = subscription.consumers.get(row["client"])
    if consumer is not None:
        consumer.unacked[index] = None


def _acknowledged(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is None:
        return
    index = subscription.topic.log.index_of(row["ledger"], row["entry"])
    consumer = subscription.consumers.get(row["client"])
    if consumer is None:
        return
    if row.get("reason") == "cumulative":
        consumer.unacked = {one: None for one in consumer.unacked if one > index}
    elif "batch_index" not in row or _ends_batch(state, subscription, index, row["batch_index"]):
        consumer.unacked.pop(index, None)


def _ends_batch(
    state: RecordedState, subscription: RecordedSubscription, index: int, batch_index: int
) -> bool:
    """Whether it is the last message of its entry."""
    return state.recording.batches.get(subscription.topic.log.record(index), 1) == batch_index + 1


# --- failovers and commands


def _failover_started(state: RecordedState, row: Row) -> None:
    state.remember_cursors(row["seq"], row["peer"], row["subscription"])


def _command_applied(state: RecordedState, row: Row) -> None:
    state.command_results.append(_result(row, True, None))


def _command_refused(state: RecordedState, row: Row) -> None:
    state.command_results.append(_result(row, False, row.get("detail")))


def _result(row: Row, ok: bool, error: str | None) -> dict[str, Any]:
    """An entry of `commands[]`; a row has no code, and a refusal's text includes the hint."""
    return {
        "at_us": row["at_us"],
        "command": row["reason"],
        "ok": ok,
        "code": None,
        "error": error,
        "hint": None,
    }


# --- recorded rows about entries, replicators and snapshots, and what each changes in the state


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
        subscription.snapshots.used = state.recording.positions.get(row.get("snapshot", NULL), ())


def _update_applied(state: RecordedState, row: Row) -> None:
    subscription = subscription_of(state, row)
    if subscription is not None:
        subscription.last_applied_us = row["at_us"]


HANDLERS: dict[str, RowHandler] = {
    "cluster.crashed": _cluster("down"),
    "cluster.restarted": _cluster("up"),
    "cluster.lost": _cluster("lost"),
    "link.cut": _link_cut,
    "link.healed": _link_healed,
    "link.slowed": _link_slowed,
    "message.published": _published,
    "message.receipted": _receipted,
    "message.send-failed": _send_failed,
    "client.changed": _client_changed,
    "topic.loaded": _loaded,
    "topic.unloaded": _unloaded,
    "ledger.opened": _ledger_opened,
    "ledger.closed": _ledger_closed,
    "ledger.trimmed": _ledger_trimmed,
    "subscription.created": _subscription_created,
    "subscription.deleted": _subscription_deleted,
    "subscription.replication-switched": _replication_switched,
    "message.registered": _registered,
    "marker.filtered": _marker_filtered,
    "cursor.moved": _cursor_moved,
    "cursor.persisted": _cursor_persisted,
    "cursor.recovered": _cursor_recovered,
    "consumer.connected": _consumer_connected,
    "consumer.disconnected": _consumer_disconnected,
    "message.delivered": _delivered,
    "message.acknowledged": _acknowledged,
    "failover.started": _failover_started,
    "command.applied": _command_applied,
    "command.refused": _command_refused,
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
"""The rows that change the state; the others are shown and counted only."""
