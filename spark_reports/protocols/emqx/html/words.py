"""The words of a report about durable shared subscriptions: definitions, and each event as a clause."""

from __future__ import annotations

from typing import Any

from spark_reports.html.clauses import clause

DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "Message",
        (
            "One publish of an MQTT client, stored in one stream: a topic's share of one shard and "
            "generation of the durable storage."
        ),
    ),
    (
        "Twice (duplicate)",
        (
            "A delivery of a message that some session of the group had acknowledged before. Every delivery "
            "after a message's first is judged; the headline counts messages."
        ),
    ),
    (
        "Redelivered",
        "A further delivery of a message that nobody had acknowledged yet. Never added to the duplicates.",
    ),
    (
        "Lost",
        (
            "Of quality of service 1 or 2, passed by the group's position, and never delivered or "
            "acknowledged. Those of quality 0 are counted apart."
        ),
    ),
    (
        "Reader",
        (
            "A session that has been granted a stream, until it is taken back or its borrower is gone, "
            "whether anything is there to read or not."
        ),
    ),
    (
        "Hand-over",
        "From the end of one session's reading to the beginning of another's; nought when they overlap.",
    ),
    ("Without a reader", "A stream that a leader has found and nobody reads, added up over streams."),
    ("Out of order", "Delivered after a newer message of the same MQTT client and topic."),
)

_EVENTS: dict[str, str] = {
    "message.published": "published",
    "message.stored": "stored in {topic} at offset {entry}",
    "message.delivered": "delivered to {client}",
    "message.acknowledged": "acknowledged by {client}",
    "assignment.changed": "leader {ledger} offers the stream to {client}, from offset {entry} on",
    "borrower.changed": "{client}'s borrower is {reason}: {detail}",
    "borrower.dropped": "the leader knows {client} no more: {reason}",
    "leader.elected": "leader {count} takes over",
    "leader.ended": "leader {count} is no more: {reason}",
    "session.connected": "{client} connects ({reason})",
    "session.disconnected": "{client} is disconnected ({reason})",
    "group.destroyed": "the group is destroyed",
}


def event_words(row: dict[str, Any]) -> str:
    """A trace row as a clause."""
    return clause(_EVENTS, row)
