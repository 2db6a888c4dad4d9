"""Recorded rows about cursors, consumers, failovers and commands, and what each changes in the state."""

from __future__ import annotations

from typing import Any

from simulator.protocols.pulsar.recorded.model import RecordedConsumer, RecordedSubscription
from simulator.protocols.pulsar.recorded.state import (
    RecordedState,
    Row,
    RowHandler,
    subscription_of,
    topic_of,
)

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


HANDLERS: dict[str, RowHandler] = {
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
}
