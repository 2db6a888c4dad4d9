"""The words of stories: the name of each kind and cause, and the reason of each case.

Rules: one sentence each, present facts in plain words, no term that the page does not show. `{x}` is the
region where the message was last acknowledged, `{to}` the one that delivered it, `{subscription}` the
subscription. A test requires words for every cause and every "why" of counting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.protocols.pulsar.stories.steps import Case


KINDS: dict[str, tuple[str, str]] = {
    # kind: heading, meaning
    "duplicates": (
        "Duplicates",
        "{to} delivered them although the application had already acknowledged them.",
    ),
    "redeliveries": (
        "Redelivered, not acknowledged before",
        ("They had been delivered before and not acknowledged, so {to} is right to deliver them again."),
    ),
    "stranded": (
        "Not replicated from {from}",
        "They were acknowledged to the producer, but not stored in {to} at the failover.",
    ),
    "lost": (
        "Lost",
        (
            "They were acknowledged to the producer, no consumer acknowledged them, and {to} "
            "cannot deliver them any more."
        ),
    ),
}

CAUSES: dict[str, tuple[str, str]] = {
    # cause of a duplicate: heading, meaning
    "resent_copy": (
        "Stored twice",
        (
            "A connection broke before the producer received the acknowledgement, so it sent "
            "the message again; the first copy was acknowledged in {to}, the second "
            "delivered."
        ),
    ),
    "subscription_missing": (
        "{subscription} missing in {to}",
        "No update of {subscription} had ever reached {to}, so its initial position counted.",
    ),
    "not_replicated": (
        "Progress not replicated",
        "{x} is not configured to replicate the progress of {subscription} to {to}.",
    ),
    "cursor_went_back": (
        "Cursor moved back in {to}",
        "The cursor in {to} had covered these messages and moved back before them.",
    ),
    "ack_not_registered": (
        "Acknowledgement not registered",
        "The application had acknowledged them, but the broker in {x} did not register it in time.",
    ),
    "not_in_target_yet": (
        "Not stored in {to} in time",
        "They reached {to} after the failover, so no earlier update could cover them.",
    ),
    "sync_in_flight": (
        "Ack sync in flight",
        "{x} had synced these acknowledgements; {to} had not applied them when it delivered the messages.",
    ),
    "after_last_sync": (
        "Acked after the last sync",
        "They were acknowledged after the last sync from {x} to {to}.",
    ),
    "ack_hole": (
        "Behind an unacked message",
        (
            "Only the mark-delete position is replicated. An older message was not "
            "acknowledged, so it stayed before these."
        ),
    ),
    "update_in_flight": (
        "Update in flight",
        "{x} had sent the update that covers them; {to} had not applied it when it delivered them.",
    ),
    "snapshot_evicted": (
        "Snapshot evicted",
        "A snapshot that covers them had completed, and the full cache in {x} had evicted it.",
    ),
    "snapshot_unused": (
        "Snapshot not used",
        "A snapshot that covers them had completed, and {x} did not send its update.",
    ),
    "snapshot_incomplete": (
        "Snapshot not completed",
        "A snapshot was due that would have covered them, and it did not complete.",
    ),
    "after_newest_snapshot": (
        "Acked after the newest snapshot",
        "They were acknowledged after the newest snapshot. This is the cost of the snapshot period.",
    ),
}

LOSSES: dict[str, tuple[str, str]] = {
    # cause of a loss: heading, meaning
    "subscription_began_after": (
        "{subscription} created after them",
        "{subscription} was created in {to} at a position after these messages.",
    ),
    "cursor_moved_past": (
        "Cursor passed them undelivered",
        "The cursor of {subscription} in {to} was moved past them.",
    ),
    "never_replicated": (
        "Never replicated to {to}",
        "They were not replicated to {to}, and will not be any more.",
    ),
    "removed": ("Deleted in {to}", "{to} had deleted them before they were delivered."),
    "dropped_by_client": (
        "Dropped by the client",
        (
            "{to} sent them, and the client dropped them: their positions are not above its last cumulative "
            "acknowledgement, which it gave in another region."
        ),
    ),
    "evicted_by_quota": (
        "Evicted by the backlog quota",
        (
            "A backlog quota moved a cursor past them: that of {subscription}, or the replication cursor to "
            "{to}."
        ),
    ),
}

WHY: dict[tuple[str, str], str] = {
    # (cause, why): the sentence at the instant that made the result unavoidable
    (
        "resent_copy",
        "stored-twice",
    ): "{to} identifies an entry by its position only, so the second copy counted as a new message.",
    (
        "subscription_missing",
        "no-update-had-arrived",
    ): "No update of {subscription} had reached {to} yet, so the subscription did not exist there.",
    (
        "not_replicated",
        "not-flagged",
    ): "{subscription} is not a replicated subscription in {x}: no other region receives its progress.",
    (
        "not_replicated",
        "feature-off",
    ): "Replicated subscriptions are switched off, so no other region receives progress.",
    (
        "not_replicated",
        "one-cluster",
    ): "{x} replicates to no other region any more, so no update could leave it.",
    (
        "cursor_went_back",
        "reset",
    ): "An administrator reset the cursor of {subscription} in {to} to an earlier position.",
    ("cursor_went_back", "recovered-older"): (
        "{to} restarted with an older persisted cursor: the newest acknowledgements had not been persisted."
    ),
    ("cursor_went_back", "deleted"): "{subscription} was deleted in {to}, and its cursor with it.",
    (
        "cursor_went_back",
        "already-dispatched",
    ): "The message was already in another consumer's receiver queue when the acknowledgement reached {to}.",
    ("ack_not_registered", "not-sent-or-on-the-wire"): (
        "The acknowledgement was still at the consumer or in flight to the broker, and was lost."
    ),
    (
        "ack_not_registered",
        "acknowledged-after-the-end",
    ): "It was acknowledged when {x} could no longer send updates.",
    (
        "not_in_target_yet",
        "appended-after-the-failover",
    ): "At the failover the message was not stored in {to} yet, so no earlier update could cover it.",
    ("sync_in_flight", "on-the-wire"): "The sync request with this acknowledgement was still in flight.",
    (
        "sync_in_flight",
        "lost-on-the-wire",
    ): "The sync request with this acknowledgement was lost when the connection broke.",
    (
        "sync_in_flight",
        "already-dispatched",
    ): "When {to} applied the sync, the message was already in the consumer's receiver queue.",
    (
        "after_last_sync",
        "newest-sent",
    ): "{x} had sent its last sync request before its broker registered this acknowledgement.",
    ("after_last_sync", "forgotten"): (
        "{x}'s broker had registered this acknowledgement and lost it, in a crash or by a "
        "cursor reset, before its next sync request."
    ),
    ("after_last_sync", "none-sent"): "{x} had not synced anything to {to} yet.",
    ("ack_hole", "behind-a-hole"): (
        "Only the mark-delete position is replicated to {to}; an older unacknowledged message"
        " kept it before this one."
    ),
    ("ack_hole", "forgotten-at-recovery"): (
        "{x} had crashed and restarted without this acknowledgement, so its mark-delete "
        "position was before the message again."
    ),
    ("update_in_flight", "never-left"): "The update that covers it never left {x}.",
    ("update_in_flight", "on-the-wire"): "The update that covers it was still in flight.",
    ("update_in_flight", "lost-on-the-wire"): "The update that covers it was lost when the connection broke.",
    ("update_in_flight", "dropped"): "The update that covers it was dropped by a command.",
    (
        "update_in_flight",
        "backlog",
    ): "The update that covers it was stored in {to}, behind other entries, and not applied yet.",
    ("update_in_flight", "refused"): "{to} received the update that covers it, and ignored it.",
    (
        "update_in_flight",
        "already-dispatched",
    ): "When {to} applied the update, the message was already in the consumer's receiver queue.",
    (
        "snapshot_evicted",
        "cache-rule",
    ): "The snapshot cache in {x} was full and had evicted the one that covers it.",
    ("snapshot_unused", "lost-at-unload"): (
        "The snapshot was lost in {x}: the cache is in memory and is lost when the topic is "
        "unloaded or the broker stops."
    ),
    (
        "snapshot_unused",
        "lost-at-reset",
    ): "The snapshot was lost in {x}: resetting the cursor clears the snapshot cache.",
    (
        "snapshot_unused",
        "lost-at-switching-off",
    ): "The snapshot was lost in {x}: switching replication off clears the snapshot cache.",
    ("snapshot_unused", "not-yet-read"): (
        "{x} had not cached its own snapshot yet: its marker stood behind messages that were not read."
    ),
    ("snapshot_unused", "no-ack-after"): (
        "{x} looks for a usable snapshot when an acknowledgement moves the mark-delete, and "
        "none did after this snapshot was cached."
    ),
    (
        "snapshot_incomplete",
        "one-way",
    ): "No snapshot can ever complete: {to} does not replicate back, so its response cannot arrive.",
    (
        "snapshot_incomplete",
        "cluster-down",
    ): "A region was down, and a snapshot needs the response of every region.",
    (
        "snapshot_incomplete",
        "link",
    ): "A link was cut, slow or broken, and a snapshot needs the response of every region.",
    ("snapshot_incomplete", "timeout"): "The snapshot timed out before all responses arrived.",
    (
        "snapshot_incomplete",
        "backlog",
    ): "The snapshot's markers queued behind other entries and did not arrive in time.",
    (
        "after_newest_snapshot",
        "newest-used",
    ): "The newest applied snapshot covers progress up to an earlier position than this message.",
    (
        "after_newest_snapshot",
        "none-used",
    ): "Snapshots had completed, but no usable one in {x} covers it.",
    (
        "after_newest_snapshot",
        "no-snapshot",
    ): "No snapshot had completed yet, so {to} had received no progress at all.",
    (
        "subscription_began_after",
        "cursor-opened-later",
    ): "{subscription} was created in {to} after this message, so it is never delivered there.",
    (
        "cursor_moved_past",
        "mark-delete-passed-it",
    ): "The cursor of {subscription} in {to} moved past it although no consumer had acknowledged it.",
    ("cursor_moved_past", "not-in-source"): (
        "The region that wrote this update did not hold the message then, but an update "
        "carries a position in {to}, and everything up to it counts as acknowledged."
    ),
    ("removed", "ledger-deleted"): "{to} deleted the part of the log that held it.",
    ("dropped_by_client", "ack-of-another-cluster"): (
        "The client compares only ledger and entry with its last cumulative acknowledgement, given in "
        "another region, and dropped this message of {to} as acknowledged."
    ),
    ("evicted_by_quota", "subscription-evicted"): (
        "The backlog quota was exceeded, and the broker moved the cursor of {subscription}, the slowest one, "
        "past it."
    ),
    ("evicted_by_quota", "replication-evicted"): (
        "The backlog quota was exceeded, and the broker moved the replication cursor to {to}, the slowest "
        "one, past it: it is never sent."
    ),
    ("removed", "cluster-lost"): "{to} was lost permanently, and its copy with it.",
    ("never_replicated", "cluster-lost"): "The region that should have sent it was lost permanently.",
    ("never_replicated", "not-replicated-there"): "The region that holds it does not replicate to {to}.",
    ("never_replicated", "replication-removed"): "Replication to {to} was switched off before it was sent.",
    ("never_replicated", "replication-began-after"): "Replication to {to} started after it.",
    (
        "never_replicated",
        "passed-over",
    ): (
        "The replicator skipped it: it is not meant for {to}, it had expired, or an operator moved the "
        "replication cursor past it."
    ),
    ("never_replicated", "deduplicated"): "Message deduplication in {to} dropped it.",
    ("never_replicated", "removed-at-origin"): "It was deleted in its source region before it was sent.",
}


def cause_definitions() -> tuple[tuple[str, str], ...]:
    """Causes of duplicates, then of losses, without the names of a run, for the glossary."""
    names = {"x": "the source", "to": "the target", "subscription": "the subscription"}
    texts = (*CAUSES.values(), *LOSSES.values())
    return tuple(
        (_capital(heading.format(**names)), _capital(says.format(**names))) for heading, says in texts
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


# --- sentences for the rows that a verdict is based on, by role and type of row
#
# Rules: roles are those of `docs/counting.md`, and those that gathering adds: `hole` (the older message
# that blocked the mark-delete), `held` (why it did), `asked` (when the named snapshot was requested),
# `covers` (the target's position in it), `second_copy` (`stored` of a message sent a second time). A role
# without a sentence is already shown by the message's own rows.


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
