"""The words of a report about Pulsar: causes, definitions, and each event as a clause.

Rules: plain sentences; the definitions are those by which Spark counts (`transforms/`).
"""

from __future__ import annotations

from typing import Any

from spark_reports.html.clauses import clause

CAUSES: dict[str, tuple[str, str]] = {
    # cause: heading, what it means
    "resent_copy": (
        "Stored twice",
        "A producer or replicator sent the message again, and {to} had already moved past the first copy.",
    ),
    "subscription_missing": (
        "The subscription did not exist there",
        (
            "No update had created it at {to} when the consumers moved, so they began at their own initial "
            "position."
        ),
    ),
    "not_replicated": (
        "Not replicated from there",
        (
            "The subscription was not flagged, the feature was off, or the topic had fewer than two clusters "
            "at {x}."
        ),
    ),
    "cursor_went_back": (
        "The cursor went back",
        (
            "{to} had already passed these messages and fell back: a reset, or a crash that forgot recent "
            "acknowledgements."
        ),
    ),
    "ack_not_registered": (
        "The acknowledgement had not arrived",
        "The application had acknowledged, and {x}'s broker had not heard of it in time.",
    ),
    "not_in_target_yet": (
        "Not in {to} yet",
        "They reached {to} only after the consumers had moved; no snapshot could have covered them.",
    ),
    "sync_in_flight": (
        "The news was on its way",
        (
            "{x} had sent a request that says they are acknowledged; {to} had not taken it in when it sent "
            "them out."
        ),
    ),
    "after_last_sync": (
        "Newer than the last sync",
        "{x}'s broker took note of their acknowledgements after it had last told {to} what is acknowledged.",
    ),
    "ack_hole": (
        "Held back by an unacknowledged message",
        (
            "Only the mark-delete is replicated. At {x} it had stopped below these, at a message that was "
            "not acknowledged."
        ),
    ),
    "update_in_flight": (
        "The update was still on its way",
        "{x} had written an update that covers them; {to} had not applied it when they were delivered.",
    ),
    "snapshot_evicted": (
        "The snapshot had been thrown out",
        "A usable snapshot covered them, and the cache rule had removed it.",
    ),
    "snapshot_unused": (
        "The snapshot was not used",
        (
            "A usable snapshot covered them; it was lost at an unload, not read yet, or no acknowledgement "
            "followed it."
        ),
    ),
    "snapshot_incomplete": (
        "The snapshot was not complete in time",
        "A snapshot asked for in time would have covered them, had it taken its nominal time.",
    ),
    "after_newest_snapshot": (
        "Newer than the newest snapshot",
        "Acknowledged after the newest snapshot that could cover them: the price of the period.",
    ),
}

LOSSES: dict[str, str] = {
    "subscription_began_after": "the subscription began after them at {to}",
    "cursor_moved_past": "{to}'s cursor had been moved past them",
    "never_replicated": "they were never replicated to {to}",
    "removed": "{to} had removed them",
}

DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "Message",
        (
            "One publish: producer name and sequence id, the same through retries, resends and in every "
            "cluster. Markers are not messages."
        ),
    ),
    (
        "Twice (duplicate)",
        (
            "Delivered at the target inside the window after the application had acknowledged it, anywhere. "
            "Each message is judged once, at its first delivery there."
        ),
    ),
    (
        "Redelivered",
        (
            "Delivered before, anywhere, and not acknowledged before this delivery. Never added to the "
            "duplicates."
        ),
    ),
    ("Extra deliveries", "Later repeats of the same message inside the window."),
    (
        "Stranded",
        "Receipted to its producer, in the source's log, not in the target's when the consumers moved.",
    ),
    (
        "Lost",
        (
            "Receipted, owed, never acknowledged, not expired or skipped, and at the end of the window the "
            "target cannot deliver it any more."
        ),
    ),
    (
        "Outage",
        "From the crash of the source, or the move if that came first, to the first delivery at the target.",
    ),
    (
        "Backlog of the failover acked",
        (
            "The first instant at which the target's cursor covered every message that the target's log held "
            "at the failover: acknowledged there, skipped or expired."
        ),
    ),
    ("Reordered", "Delivered in the window after a newer message of the same producer and key."),
    (
        "Dedup window",
        (
            "The fewest most recent ids, and the span, that an idempotent consumer must remember from their "
            "acknowledgement so that no duplicate gets through."
        ),
    ),
)

_EVENTS: dict[str, str] = {
    "message.published": "published at {cluster}",
    "message.resent": "sent again by its producer at {cluster}",
    "message.stored": "stored in {cluster} at {ledger}:{entry}",
    "message.deduplicated": "taken for a repeat at {cluster} and not stored",
    "message.receipted": "its producer was told that {cluster} has it",
    "message.replicated": "left {cluster} for {peer}",
    "message.not-replicated": "passed over by the replicator {cluster} → {peer}",
    "message.delivered": "delivered at {cluster} to {client}",
    "message.acknowledged": "acknowledged by {client} at {cluster}",
    "message.negatively-acknowledged": "refused by {client} at {cluster}",
    "message.held": "kept unacknowledged by {client} at {cluster}",
    "message.registered": "acknowledgement registered at {cluster}",
    "message.expired": "expired at {cluster}",
    "message.skipped": "skipped at {cluster}",
    "message.removed": "removed from {cluster} with its ledger",
    "message.lost": "its ledger is deleted before {subscription} at {cluster} had it",
    "shadow.added": "the shadow {topic} is told of {ledger}:{entry}",
    "shadow.add-queued": "the shadow {topic} is told of {ledger}:{entry} and does not know that ledger yet",
    "shadow.confirmed": "the last confirmed entry of {topic} goes from {ledger}:{entry} to {to_ledger}:{to_entry}",
    "cluster.crashed": "{cluster} fails",
    "cluster.lost": "{cluster} is lost for good",
    "cluster.restarted": "{cluster} comes back",
    "failover.started": "{subscription} moves from {cluster} to {peer}",
    "cursor.moved": "mark-delete of {subscription} at {cluster} goes from {ledger}:{entry} to {to_ledger}:{to_entry}",
    "cursor.recovered": "{subscription} at {cluster} reopens at {ledger}:{entry}",
    "subscription.created": "{subscription} is created at {cluster}, at {ledger}:{entry}",
    "snapshot.requested": "snapshot S{snapshot} asked for at {cluster}",
    "snapshot.refused": "{cluster} takes no snapshot: {reason}",
    "snapshot.completed": "snapshot S{snapshot} complete at {cluster}, up to {ledger}:{entry}",
    "snapshot.evicted": "snapshot S{snapshot} leaves the cache of {subscription} at {cluster}: {reason}",
    "update.position": "{cluster} writes an update: {peer} may go to {to_ledger}:{to_entry}",
    "acknowledgements.sent": (
        "{cluster} tells {peer} what {subscription} has acknowledged: up to {ledger}:{entry}, and {count} "
        "more one by one"
    ),
    "acknowledgements.applied": "{cluster} knows what {subscription} has acknowledged in {peer}",
    "acknowledgements.lost": "what {cluster} told {peer} about {subscription} is lost",
    "message.filtered": "passed over at {cluster}: acknowledged in {peer}",
    "command.refused": "{reason} is refused: {detail}",
    "namespace.created": "namespace {detail} is created in {cluster}",
    "policy.changed": "{reason} changes in {cluster}, {detail}",
    "topic.created": "{topic} is created in {cluster} with {count} partitions ({reason})",
    "topic.creation-refused": "{cluster} does not create {topic}: {detail}",
    "topic.partitions-changed": "{topic} has {count} partitions in {cluster} ({reason})",
    "topic.deleted": "{topic} is deleted in {cluster} ({reason})",
    "schema.registered": "{topic} in {cluster} has schema version {count}, {detail}, brought by a {reason}",
    "schema.refused": "{topic} in {cluster} refuses a schema, {detail}",
    "schema.deleted": "the {count} schemas of {topic} in {cluster} are deleted",
    "update.applied": "{cluster} applies {peer}'s update, to {to_ledger}:{to_entry}",
}


def event_words(row: dict[str, Any]) -> str:
    """A trace row as a clause."""
    return clause(_EVENTS, row)
