"""Texts of a report about Pulsar: causes, definitions, and each event as a clause.

Rules: plain sentences. The definitions are those of docs/counting.md.
"""

from __future__ import annotations

from typing import Any

from simulator import cause_texts
from spark_reports.html.sections import clause, from_glossary

CAUSES = cause_texts("pulsar")
"""Heading and meaning of each cause of a duplicate or loss, with {x}, {to} and {subscription}."""

DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "Message",
        (
            "One publish: producer name and sequence id, the same through retries, resends and in every "
            "cluster. Markers are not messages."
        ),
    ),
    *from_glossary("Duplicate", "Window", "Redelivered"),
    ("Extra deliveries", "Later deliveries of the same message before the next failover."),
    *from_glossary("Not replicated"),
    (
        "Lost",
        (
            "Acknowledged to its producer, not acked by a consumer, not expired or skipped, and the target "
            "can no longer deliver it at the next failover or the end of the run."
        ),
    ),
    *from_glossary("Delivery gap", "Backlog of the failover acked at", "Reordered", "Ids to remember"),
)


def cause_heading(name: str, failover: dict[str, Any], x: str | None = None) -> str:
    """The heading of a cause with the names of a failover; `x` is the cluster that the cause is about."""
    return _named(CAUSES[name][0], failover, x)


def cause_meaning(name: str, failover: dict[str, Any], x: str | None = None) -> str:
    """The meaning of a cause, with the names of a failover."""
    return _named(CAUSES[name][1], failover, x)


def cause_in_sentence(name: str, failover: dict[str, Any]) -> str:
    """The heading of a cause within a sentence. Its names keep their capitals."""
    heading = CAUSES[name][0]
    return _named(heading[0].lower() + heading[1:], failover, None)


def _named(text: str, failover: dict[str, Any], x: str | None) -> str:
    names = {"to": failover["to"], "x": x or failover["from"], "subscription": failover["subscription"]}
    return text.format(**names)


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
    "message.evicted": "evicted by the backlog quota at {cluster}",
    "message.dropped": "dropped by {client} at {cluster}: not above its last cumulative ack, in {peer}",
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
    "snapshot.requested": "snapshot requested by {cluster}",
    "snapshot.refused": "{cluster} skips a snapshot: {reason}",
    "snapshot.completed": "snapshot complete at {cluster}, up to {ledger}:{entry}",
    "snapshot.evicted": "a snapshot leaves the cache of {subscription} at {cluster}: {reason}",
    "snapshot.cached": "a snapshot enters the cache of {subscription} at {cluster}",
    "snapshot.used": "{subscription} at {cluster} uses a snapshot for an update",
    "subscription.deleted": "{subscription} is deleted at {cluster}",
    "topic.unloaded": "{topic} is unloaded at {cluster}",
    "update.position": "{cluster} publishes an update for {peer}: mark-delete {to_ledger}:{to_entry}",
    "acknowledgements.sent": (
        "{cluster} sends the ack state of {subscription} to {peer}: mark-delete {ledger}:{entry}, {count} "
        "individually deleted"
    ),
    "acknowledgements.applied": "{cluster} applies {peer}'s ack state of {subscription}",
    "acknowledgements.lost": "the ack state of {subscription} sent by {cluster} to {peer} is lost",
    "message.listed": "individually deleted at {cluster}: listed in {peer}'s update",
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
