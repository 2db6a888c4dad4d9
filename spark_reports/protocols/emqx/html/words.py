"""Texts of a report about durable shared subscriptions: definitions, and each event as a clause."""

from __future__ import annotations

from typing import Any

from spark_reports.html.sections import clause, from_glossary

DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "Message",
        (
            "One publish of an MQTT client, stored in one stream: a topic's share of one shard and "
            "generation of the durable storage."
        ),
    ),
    (
        "Duplicate",
        (
            "A delivery of a message that a session of the group had acknowledged before. Every delivery after "
            "a message's first is judged; the headline counts messages, not deliveries."
        ),
    ),
    *from_glossary("Redelivered"),
    (
        "Lost",
        (
            "A QoS 1 or 2 message that the group's position passed, and that was never delivered or "
            "acknowledged. QoS 0 is counted separately."
        ),
    ),
    (
        "Reader",
        (
            "A session that holds the lease of a stream: from the grant until the stream is revoked or its "
            "borrower is gone, whether it has messages to read or not."
        ),
    ),
    *from_glossary("Handover", "Without a reader", "Two readers"),
    ("Reordered", "Delivered after a newer message of the same MQTT client and topic."),
)

_EVENTS: dict[str, str] = {
    "message.published": "published",
    "message.stored": "stored in {topic} at offset {entry}",
    "message.delivered": "delivered to {client}",
    "message.acknowledged": "acknowledged by {client}",
    "assignment.changed": "leader {ledger} assigns the stream to {client}, from offset {entry} on",
    "borrower.changed": "{client}'s borrower is {reason}: {detail}",
    "borrower.dropped": "the leader drops {client}: {reason}",
    "leader.elected": "leader {count} takes over",
    "leader.ended": "leader {count} ends: {reason}",
    "session.connected": "{client} connects ({reason})",
    "session.disconnected": "{client} is disconnected ({reason})",
    "group.destroyed": "the group is destroyed",
}


def event_words(row: dict[str, Any]) -> str:
    """A trace row as a clause."""
    return clause(_EVENTS, row)
