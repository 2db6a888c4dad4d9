"""Sentences for the rows that a judgement rests on, by role and type of row.

Rules: roles are those of `docs/counting.md`, and those that gathering adds: `hole` (the older message that
held the line), `held` (why it did), `asked` (when the named snapshot was asked for), `covers` (the target's
position in it), `second_copy` (`stored` of a message sent twice). A role without words here is told by the
message's own rows already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.protocols.pulsar.stories.steps import Case

Row = Mapping[str, Any]
Words = Callable[["Case", Row], str]

_LEFT = {
    "cache-rule": "its cache of snapshots is full",
    "unloaded": "the topic left its broker",
    "cursor-reset": "the position was reset",
    "switched-off": "replication was switched off",
    "passed": "a newer one was used",
}
_REFUSED = {
    "pending": "another snapshot is still waiting for answers",
    "no-new-data": "nothing new was published",
    "replicator-disconnected": "a region cannot be reached",
}
_DELETED = {"cursor.moved": "back", "cursor.recovered": "back after a crash"}


def _at(row: Row, ledger: str = "ledger", entry: str = "entry") -> str:
    return f"{row[ledger]}:{row[entry]}"


def _to(row: Row) -> str:
    return _at(row, "to_ledger", "to_entry")


def _whole(case: Case, row: Row) -> str:
    return (
        f"{row['cluster']} finishes snapshot S{row['snapshot']}: it ties positions in all regions together."
    )


def _asked(case: Case, row: Row) -> str:
    return f"{row['cluster']} asks every region for its position: snapshot S{row['snapshot']}."


def _refused(case: Case, row: Row) -> str:
    return f"{row['cluster']} asks for no snapshot now: {_REFUSED[row['reason']]}."


def _covers(case: Case, row: Row) -> str:
    return (
        f"Snapshot S{row['snapshot']} says: what is done in {row['cluster']} is done in {row['peer']} up "
        f"to {_to(row)}."
    )


def _used(case: Case, row: Row) -> str:
    return (
        f"{row['cluster']} uses snapshot S{row['snapshot']} and sends an update; it is the newest that "
        f"{case.target} can have heard of."
    )


def _went_back(case: Case, row: Row) -> str:
    if row["type"] == "subscription.deleted":
        return f"{case.subscription} is deleted in {row['cluster']}."
    return (
        f"The position of {case.subscription} in {row['cluster']} goes {_DELETED[row['type']]}, to "
        f"{_at(row) if row['type'] == 'cursor.recovered' else _to(row)}."
    )


def _passed(case: Case, row: Row) -> str:
    return f"The position of {case.subscription} in {row['cluster']} moves past it."


def _applied(case: Case, row: Row) -> str:
    return f"{row['cluster']} applies an update from {row['peer']} and passes it, up to {_to(row)}."


def _stands(case: Case, row: Row) -> str:
    where = _at(row) if row["type"] in ("subscription.created", "cursor.recovered") else _to(row)
    return f"In {row['cluster']} everything is acknowledged up to {where}, and no further."


def _travel(words: str) -> Words:
    return lambda case, row: words.format(cluster=row["cluster"], peer=row.get("peer", ""))


def _flag(case: Case, row: Row) -> str:
    return (
        f"{case.subscription} {'is opened' if row['type'] == 'subscription.created' else 'is switched'} in "
        f"{row['cluster']} without telling other regions."
    )


EVIDENCE_BEATS: dict[tuple[str, str], Words] = {
    ("earlier_copy", "message.stored"): lambda case, row: (
        f"{row['cluster']} stores a first copy at {_at(row)}."
    ),
    ("second_copy", "message.stored"): lambda case, row: (
        f"{row['cluster']} stores a second copy at {_at(row)}."
    ),
    ("created", "subscription.created"): lambda case, row: (
        f"{row['cluster']} opens {case.subscription} for the first time, at {_at(row)}."
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
        f"{case.subscription} begins in {row['cluster']} behind it."
    ),
    ("covered", "cursor.recovered"): _passed,
    ("covered", "message.registered"): lambda case, row: (
        f"The broker in {row['cluster']} takes note of the acknowledgement."
    ),
    ("went_back", "cursor.moved"): _went_back,
    ("went_back", "cursor.recovered"): _went_back,
    ("went_back", "subscription.deleted"): _went_back,
    ("hole", "message.stored"): lambda case, row: (
        f"An older message, {row['producer']}/{row['sequence_id']}, lies before it in {row['cluster']}, at "
        f"{_at(row)}."
    ),
    ("held", "message.held"): lambda case, row: (
        f"{row['client']} keeps {row['producer']}/{row['sequence_id']} without acknowledging it."
    ),
    ("held", "message.delivered"): lambda case, row: (
        f"{row['client']} has {row['producer']}/{row['sequence_id']} and does not acknowledge it."
    ),
    **{
        ("mark_delete", event): _stands
        for event in ("cursor.moved", "cursor.recovered", "subscription.created", "update.applied")
    },
    ("update", "update.written"): lambda case, row: (
        f"{row['cluster']} writes an update: {case.subscription} has come further."
    ),
    ("position", "update.position"): lambda case, row: (
        f"The update tells {row['peer']}: everything up to {_to(row)} is done, this message included."
    ),
    ("whereabouts", "marker.sent"): _travel("The update leaves {cluster} for {peer}."),
    ("whereabouts", "marker.stored"): _travel("The update arrives in {cluster} and waits to be read."),
    ("whereabouts", "marker.handled"): _travel("{cluster} reads the update."),
    ("whereabouts", "marker.lost"): _travel(
        "The connection breaks, and the update is lost on its way to {peer}."
    ),
    ("whereabouts", "marker.dropped"): _travel("The update is taken off the wire to {peer}."),
    ("whereabouts", "update.refused"): _travel("{cluster} refuses the update."),
    ("whereabouts", "update.applied"): _applied,
    ("request", "acknowledgements.sent"): _travel(
        "{cluster} tells {peer} everything that is acknowledged, this message included."
    ),
    ("newest_request", "acknowledgements.sent"): _travel(
        "{cluster} tells {peer} what is acknowledged; this message is not, yet."
    ),
    ("whereabouts", "acknowledgements.lost"): _travel(
        "The connection breaks, and the request is lost on its way to {peer}."
    ),
    ("whereabouts", "acknowledgements.applied"): _travel("{cluster} has the request of {peer}."),
    ("asked", "snapshot.requested"): _asked,
    ("covers", "snapshot.position"): _covers,
    ("snapshot", "snapshot.completed"): _whole,
    ("evicted", "snapshot.evicted"): lambda case, row: (
        f"{row['cluster']} throws snapshot S{row['snapshot']} away: {_LEFT[row['reason']]}."
    ),
    ("cache", "snapshot.evicted"): lambda case, row: (
        f"{row['cluster']} forgets snapshot S{row['snapshot']}: {_LEFT[row['reason']]}."
    ),
    ("cache", "snapshot.cached"): lambda case, row: (
        f"{row['cluster']} keeps snapshot S{row['snapshot']} for later."
    ),
    ("attempt", "snapshot.requested"): _asked,
    ("attempt", "snapshot.refused"): _refused,
    ("newest_snapshot", "snapshot.completed"): _whole,
    ("newest_snapshot", "snapshot.used"): _used,
    ("returned", "message.stored"): lambda case, row: (
        f"It comes after all: {row['cluster']} stores it at {_at(row)}."
    ),
    ("lost", "subscription.created"): lambda case, row: (
        f"{case.subscription} is opened in {row['cluster']} at {_at(row)}."
    ),
    ("lost", "cursor.moved"): _passed,
    ("lost", "update.applied"): _applied,
    ("lost", "cursor.recovered"): _passed,
    ("lost", "ledger.trimmed"): lambda case, row: f"{row['cluster']} deletes ledger {row['ledger']}.",
    ("lost", "message.removed"): lambda case, row: f"{row['cluster']} deletes it.",
    ("lost", "cluster.lost"): lambda case, row: f"{row['cluster']} is lost for good.",
    ("lost", "replicator.removed"): lambda case, row: f"{row['cluster']} stops copying to {row['peer']}.",
    ("lost", "replicator.created"): lambda case, row: (
        f"{row['cluster']} begins to copy to {row['peer']}, after {_at(row)}."
    ),
    ("lost", "message.not-replicated"): lambda case, row: (
        f"{row['cluster']} does not copy it to {row['peer']}."
    ),
    ("lost", "message.deduplicated"): lambda case, row: f"{row['cluster']} takes it for a repeat.",
}
