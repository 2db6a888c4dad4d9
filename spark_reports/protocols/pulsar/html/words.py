"""The words of a report about Pulsar: causes, definitions, and each event as a clause.

Rules: plain sentences; the definitions are those by which Spark counts (`transforms/`).
"""

from __future__ import annotations

from typing import Any

from spark_reports.html.clauses import clause

CAUSES: dict[str, tuple[str, str]] = {
    # cause: heading, what it means
    "resent_copy": (
        "Stored twice at {to}",
        "A producer or replicator resent the message, and the cursor at {to} had already passed the first copy.",
    ),
    "subscription_missing": (
        "The subscription did not exist at {to}",
        (
            "No update had created it at {to} when the consumers moved, so they began at their own initial "
            "position."
        ),
    ),
    "not_replicated": (
        "The subscription was not replicated from {x}",
        (
            "replicateSubscriptionState was not set, the feature was off, or the topic had fewer than two "
            "clusters at {x}."
        ),
    ),
    "cursor_went_back": (
        "The cursor at {to} went back",
        (
            "{to} had already passed these messages and fell back: a reset, or a crash that forgot recent "
            "acknowledgements."
        ),
    ),
    "ack_not_registered": (
        "The ack had not reached the broker",
        "The application had acknowledged, but the acks did not reach {x}'s broker in time.",
    ),
    "not_in_target_yet": (
        "Not in {to} at the failover",
        "They were replicated to {to} only after the consumers had moved, so no snapshot could cover them.",
    ),
    "sync_in_flight": (
        "The ack-state sync was in flight",
        ("{x} had sent a request with their acks; {to} had not applied it when it delivered them."),
    ),
    "after_last_sync": (
        "Acked after the last ack-state sync",
        "{x}'s broker recorded their acks after it had sent its last sync request to {to}.",
    ),
    "ack_hole": (
        "Behind an unacked message",
        (
            "Only the mark-delete position is replicated. At {x} it stood below these, at a message that was "
            "not acked."
        ),
    ),
    "update_in_flight": (
        "The update was in flight",
        "{x} had written an update that covers them; {to} had not applied it when it delivered them.",
    ),
    "snapshot_evicted": (
        "The snapshot was evicted",
        "A snapshot covered them, but the snapshot cache had dropped it before it was used.",
    ),
    "snapshot_unused": (
        "The snapshot was not used",
        ("A snapshot covered them, but it was lost at an unload, not read yet, or no later ack used it."),
    ),
    "snapshot_incomplete": (
        "The snapshot did not complete in time",
        "A snapshot was requested early enough to cover them, but took longer than its nominal time.",
    ),
    "after_newest_snapshot": (
        "Acked after the newest snapshot",
        "They were acked after the newest snapshot that could cover them; a shorter snapshot interval leaves fewer.",
    ),
}

LOSSES: dict[str, str] = {
    "subscription_began_after": "the subscription at {to} was created at a later position",
    "cursor_moved_past": "the cursor at {to} was moved past them",
    "never_replicated": "never replicated to {to}",
    "removed": "{to} had deleted them",
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
        "Duplicate",
        (
            "Delivered at the target, between this failover and the next, after the application had acked it "
            "in any cluster. Each message is counted once, at its first delivery there."
        ),
    ),
    (
        "Redelivered",
        ("Delivered before in any cluster, and not acked before this delivery. Not counted as a duplicate."),
    ),
    ("Extra deliveries", "Later deliveries of the same message before the next failover."),
    (
        "Not replicated",
        (
            "Acknowledged to its producer and in the source's log, but not in the target's when the consumers "
            "moved: unread, or already processed."
        ),
    ),
    (
        "Lost",
        (
            "Acknowledged to its producer, never acked by a consumer, not expired or skipped, and the target "
            "can no longer deliver it at the next failover or the end of the run."
        ),
    ),
    (
        "Delivery gap",
        "From the crash of the source, or the move if that came first, to the first delivery at the target.",
    ),
    (
        "Backlog of the failover acked",
        (
            "The first instant at which the target's cursor covered every message that the target's log held "
            "at the failover: acknowledged there, skipped or expired."
        ),
    ),
    ("Reordered", "Delivered after a newer message of the same producer and key."),
    (
        "Dedup window",
        (
            "How many of the most recently acked message ids, or how much time, an idempotent consumer must "
            "remember to drop every duplicate."
        ),
    ),
)

_EVENTS: dict[str, str] = {
    "message.published": "published at {cluster}",
    "message.resent": "resent by its producer at {cluster}",
    "message.stored": "stored in {cluster} at {ledger}:{entry}",
    "message.deduplicated": "dropped by deduplication at {cluster}",
    "message.receipted": "acknowledged to its producer by {cluster}",
    "message.replicated": "sent by the replicator {cluster} → {peer}",
    "message.not-replicated": "skipped by the replicator {cluster} → {peer}",
    "message.delivered": "delivered at {cluster} to {client}",
    "message.acknowledged": "acknowledged by {client} at {cluster}",
    "message.negatively-acknowledged": "negatively acked by {client} at {cluster}",
    "message.held": "left unacked by {client} at {cluster}",
    "message.registered": "ack recorded by the broker at {cluster}",
    "message.expired": "expired at {cluster}",
    "message.skipped": "skipped at {cluster}",
    "message.removed": "deleted in {cluster} with its ledger",
    "message.lost": "its ledger is deleted before {subscription} at {cluster} acked it",
    "shadow.added": "the shadow {topic} receives the position {ledger}:{entry}",
    "shadow.add-queued": "the shadow {topic} queues the position {ledger}:{entry}: its ledger is not in the metadata yet",
    "shadow.confirmed": "the last confirmed entry of {topic} goes from {ledger}:{entry} to {to_ledger}:{to_entry}",
    "cluster.crashed": "{cluster} fails",
    "cluster.lost": "{cluster} is lost for good",
    "cluster.restarted": "{cluster} restarts",
    "failover.started": "{subscription} moves from {cluster} to {peer}",
    "cursor.moved": "mark-delete of {subscription} at {cluster} goes from {ledger}:{entry} to {to_ledger}:{to_entry}",
    "cursor.recovered": "{subscription} at {cluster} reopens at {ledger}:{entry}",
    "subscription.created": "{subscription} is created at {cluster}, at {ledger}:{entry}",
    "snapshot.requested": "snapshot S{snapshot} requested by {cluster}",
    "snapshot.refused": "{cluster} skips a snapshot: {reason}",
    "snapshot.completed": "snapshot S{snapshot} complete at {cluster}, up to {ledger}:{entry}",
    "snapshot.evicted": "snapshot S{snapshot} leaves the cache of {subscription} at {cluster}: {reason}",
    "update.position": "{cluster} publishes an update for {peer}: mark-delete {to_ledger}:{to_entry}",
    "acknowledgements.sent": (
        "{cluster} sends the ack state of {subscription} to {peer}: mark-delete {ledger}:{entry}, {count} "
        "individually deleted"
    ),
    "acknowledgements.applied": "{cluster} applies {peer}'s ack state of {subscription}",
    "acknowledgements.lost": "the ack state of {subscription} sent by {cluster} to {peer} is lost",
    "message.filtered": "filtered at {cluster}: already acked in {peer}",
    "command.refused": "{reason} is refused: {detail}",
    "namespace.created": "namespace {detail} is created in {cluster}",
    "policy.changed": "{reason} changes in {cluster}, {detail}",
    "topic.created": "{topic} is created in {cluster} with {count} partitions ({reason})",
    "topic.creation-refused": "{cluster} does not create {topic}: {detail}",
    "topic.partitions-changed": "{topic} has {count} partitions in {cluster} ({reason})",
    "topic.deleted": "{topic} is deleted in {cluster} ({reason})",
    "schema.registered": "{topic} in {cluster} gets schema version {count}, {detail}, from a {reason}",
    "schema.refused": "{topic} in {cluster} refuses a schema, {detail}",
    "schema.deleted": "the {count} schemas of {topic} in {cluster} are deleted",
    "update.applied": "{cluster} applies {peer}'s update: mark-delete {to_ledger}:{to_entry}",
}


def event_words(row: dict[str, Any]) -> str:
    """A trace row as a clause."""
    return clause(_EVENTS, row)
