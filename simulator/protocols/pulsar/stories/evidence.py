"""Sentences for the rows that a verdict is based on, by role and type of row.

Rules: roles are those of `docs/counting.md`, and those that gathering adds: `hole` (the older message that
blocked the mark-delete), `held` (why it did), `asked` (when the named snapshot was requested), `covers` (the
target's position in it), `second_copy` (`stored` of a message sent a second time). A role without a sentence
is already shown by the message's own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.protocols.pulsar.stories.steps import Case

Row = Mapping[str, Any]
Words = Callable[["Case", Row], str]

_LEFT = {
    "cache-rule": "the snapshot cache is full",
    "unloaded": "the topic was unloaded",
    "cursor-reset": "the cursor was reset",
    "switched-off": "replication was switched off",
    "passed": "a newer one was used",
}
_REFUSED = {
    "pending": "another snapshot is pending",
    "no-new-data": "no new messages",
    "replicator-disconnected": "a replicator is not connected",
}
_DELETED = {"cursor.moved": "back", "cursor.recovered": "back after a crash"}


def _at(row: Row, ledger: str = "ledger", entry: str = "entry") -> str:
    return f"{row[ledger]}:{row[entry]}"


def _to(row: Row) -> str:
    return _at(row, "to_ledger", "to_entry")


def _whole(case: Case, row: Row) -> str:
    return f"{row['cluster']} completes snapshot {case.snapshot(row)}: a position for each region."


def _requested(case: Case, row: Row) -> str:
    return f"{row['cluster']} requests snapshot {case.snapshot(row)}: every region is asked for its position."


def _refused(case: Case, row: Row) -> str:
    return f"{row['cluster']} skips the snapshot: {_REFUSED[row['reason']]}."


def _covers(case: Case, row: Row) -> str:
    return (
        f"Snapshot {case.snapshot(row)} of {row['cluster']}: what is acknowledged there covers "
        f"{row['peer']} up to {_to(row)}."
    )


def _used(case: Case, row: Row) -> str:
    return (
        f"{row['cluster']} uses snapshot {case.snapshot(row)} and sends an update; it is the newest that "
        f"{case.target} can have received."
    )


def _moved_back(case: Case, row: Row) -> str:
    if row["type"] == "subscription.deleted":
        return f"{case.subscription} is deleted in {row['cluster']}."
    return (
        f"The cursor of {case.subscription} in {row['cluster']} moves {_DELETED[row['type']]}, to "
        f"{_at(row) if row['type'] == 'cursor.recovered' else _to(row)}."
    )


def _passed(case: Case, row: Row) -> str:
    return f"The cursor of {case.subscription} in {row['cluster']} moves past it."


def _applied(case: Case, row: Row) -> str:
    return f"{row['cluster']} applies an update from {row['peer']}: mark-delete {_to(row)}, past the message."


def _mark_delete(case: Case, row: Row) -> str:
    where = _at(row) if row["type"] in ("subscription.created", "cursor.recovered") else _to(row)
    return f"In {row['cluster']} everything is acknowledged up to {where}, and no further."


def _travel(words: str) -> Words:
    return lambda case, row: words.format(cluster=row["cluster"], peer=row.get("peer", ""))


def _flag(case: Case, row: Row) -> str:
    return (
        f"{case.subscription} {'is created' if row['type'] == 'subscription.created' else 'is switched'} in "
        f"{row['cluster']} without replicated progress."
    )


EVIDENCE_BEATS: dict[tuple[str, str], Words] = {
    ("earlier_copy", "message.stored"): lambda case, row: (
        f"{row['cluster']} stores a first copy at {_at(row)}."
    ),
    ("second_copy", "message.stored"): lambda case, row: (
        f"{row['cluster']} stores a second copy at {_at(row)}."
    ),
    ("created", "subscription.created"): lambda case, row: (
        f"{row['cluster']} creates {case.subscription} at {_at(row)}."
    ),
    ("flag", "subscription.created"): _flag,
    ("flag", "subscription.replication-switched"): _flag,
    ("flag", "subscription.deleted"): lambda case, row: (
        f"{case.subscription} is deleted in {row['cluster']}."
    ),
    ("setting", "setting.changed"): lambda case, row: (
        f"Replicated subscriptions are switched off in {row['cluster']}."
    ),
    ("setting", "run.started"): lambda case, row: "Replicated subscriptions are switched off from the start.",
    ("covered", "cursor.moved"): _passed,
    ("covered", "update.applied"): _applied,
    ("covered", "subscription.created"): lambda case, row: (
        f"{case.subscription} is created in {row['cluster']} after it."
    ),
    ("covered", "cursor.recovered"): _passed,
    ("covered", "message.registered"): lambda case, row: (
        f"The broker in {row['cluster']} registers the acknowledgement."
    ),
    ("went_back", "cursor.moved"): _moved_back,
    ("went_back", "cursor.recovered"): _moved_back,
    ("went_back", "subscription.deleted"): _moved_back,
    ("hole", "message.stored"): lambda case, row: (
        f"An older message, {row['producer']}/{row['sequence_id']}, is before it in {row['cluster']}, at "
        f"{_at(row)}."
    ),
    ("held", "message.held"): lambda case, row: (
        f"{row['client']} holds {row['producer']}/{row['sequence_id']} without acknowledging it."
    ),
    ("held", "message.delivered"): lambda case, row: (
        f"{row['client']} has {row['producer']}/{row['sequence_id']} and does not acknowledge it."
    ),
    **{
        ("mark_delete", event): _mark_delete
        for event in ("cursor.moved", "cursor.recovered", "subscription.created", "update.applied")
    },
    ("update", "update.written"): lambda case, row: (
        f"{row['cluster']} publishes an update of {case.subscription}."
    ),
    ("position", "update.position"): lambda case, row: (
        f"The update to {row['peer']}: everything up to {_to(row)} is acknowledged, this message included."
    ),
    ("whereabouts", "marker.sent"): _travel("The replicator sends the update from {cluster} to {peer}."),
    ("whereabouts", "marker.stored"): _travel("The update is stored in {cluster}, not read yet."),
    ("whereabouts", "marker.handled"): _travel("{cluster} reads the update."),
    ("whereabouts", "marker.lost"): _travel(
        "The connection breaks, and the update in flight to {peer} is lost."
    ),
    ("whereabouts", "marker.dropped"): _travel("The update in flight to {peer} is dropped."),
    ("whereabouts", "update.refused"): _travel("{cluster} ignores the update."),
    ("whereabouts", "update.applied"): _applied,
    ("request", "acknowledgements.sent"): _travel(
        "{cluster} syncs its acknowledgements to {peer}, this message included."
    ),
    ("newest_request", "acknowledgements.sent"): _travel(
        "{cluster} syncs its acknowledgements to {peer}; this message is not acknowledged yet."
    ),
    ("whereabouts", "acknowledgements.lost"): _travel(
        "The connection breaks, and the sync request in flight to {peer} is lost."
    ),
    ("whereabouts", "acknowledgements.applied"): _travel("{cluster} applies the sync request of {peer}."),
    ("asked", "snapshot.requested"): _requested,
    ("covers", "snapshot.position"): _covers,
    ("snapshot", "snapshot.completed"): _whole,
    ("evicted", "snapshot.evicted"): lambda case, row: (
        f"{row['cluster']} evicts snapshot {case.snapshot(row)}: {_LEFT[row['reason']]}."
    ),
    ("cache", "snapshot.evicted"): lambda case, row: (
        f"{row['cluster']} loses snapshot {case.snapshot(row)}: {_LEFT[row['reason']]}."
    ),
    ("cache", "snapshot.cached"): lambda case, row: f"{row['cluster']} caches snapshot {case.snapshot(row)}.",
    ("attempt", "snapshot.requested"): _requested,
    ("attempt", "snapshot.refused"): _refused,
    ("newest_snapshot", "snapshot.completed"): _whole,
    ("newest_snapshot", "snapshot.used"): _used,
    ("returned", "message.stored"): lambda case, row: (
        f"It arrives later: {row['cluster']} stores it at {_at(row)}."
    ),
    ("lost", "subscription.created"): lambda case, row: (
        f"{case.subscription} is created in {row['cluster']} at {_at(row)}."
    ),
    ("lost", "cursor.moved"): _passed,
    ("lost", "update.applied"): _applied,
    ("lost", "cursor.recovered"): _passed,
    ("lost", "ledger.trimmed"): lambda case, row: f"{row['cluster']} deletes ledger {row['ledger']}.",
    ("lost", "message.dropped"): lambda case, row: (
        f"{row['client']} drops it at {_at(row)}: its last cumulative acknowledgement, in {row['peer']}, is "
        f"{_to(row)}."
    ),
    ("lost", "message.removed"): lambda case, row: f"{row['cluster']} deletes it.",
    ("lost", "cluster.lost"): lambda case, row: f"{row['cluster']} is lost permanently.",
    ("lost", "replicator.removed"): lambda case, row: f"{row['cluster']} stops replicating to {row['peer']}.",
    ("lost", "replicator.created"): lambda case, row: (
        f"{row['cluster']} starts replicating to {row['peer']}, after {_at(row)}."
    ),
    ("lost", "message.not-replicated"): lambda case, row: (
        f"{row['cluster']} does not replicate it to {row['peer']} ({row['reason'].replace('-', ' ')})."
    ),
    ("lost", "message.deduplicated"): lambda case, row: (
        f"{row['cluster']} drops it by message deduplication."
    ),
}
