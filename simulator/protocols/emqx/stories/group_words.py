"""Texts about duplicates of a shared group: a heading and sentence per cause, a sentence per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]

GROUP_CAUSES: dict[str, tuple[str, str]] = {
    "progress_unreported": (
        "Acknowledged, not reported to a leader",
        "A session had acknowledged the chunk, and no leader had its progress at the reassignment.",
    ),
    "progress_unpersisted": (
        "Reported to a leader, not yet committed",
        (
            "Another leader had received its progress and not committed it to the store; the "
            "leader of this delivery started from the store."
        ),
    ),
    "owner_declared_dead": (
        "Two readers at once",
        (
            "The leader had granted the stream to another session while the previous one "
            "still read and acknowledged."
        ),
    ),
    "progress_rewound": (
        "Position moved back",
        "Their progress had been received, and an older position was applied afterwards.",
    ),
    "chunk_repeated": (
        "Whole chunk redelivered",
        (
            "Not all of their chunk was acknowledged. Progress is reported by chunk, so its "
            "acknowledged messages are delivered again too."
        ),
    ),
    "leader_outdated": (
        "Assigned by an outdated leader",
        (
            "Another leader had received and committed their progress. The leader that "
            "granted the stream had read the store before, and started at an older position."
        ),
    ),
}
"""A heading and a sentence for each cause, in the order of decision."""

LOST = {
    "loss": "lost on the link",
    "link-cut": "the link is cut",
    "node-down": "the node is down",
    "no-such-process": "its receiver has ended",
    "own-node": "sent to the borrower's own node instead of its leader's",
    "command": "lost by a command",
}
"""Why a protocol message was not received, by the detail of its row."""

GROUP_EVENTS: dict[str, Callable[[Row], str]] = {
    "message.published": lambda row: (
        f"{row['producer']} publishes {row['producer']}/{row['sequence_id']} to {row['topic']}."
    ),
    "message.stored": lambda row: (
        f"Storage appends it to the stream {row['topic']}, at offset {row['entry']}."
    ),
    "message.delivered": lambda row: f"It is delivered to {row['client']}.",
    "message.acknowledged": lambda row: f"{row['client']} acknowledges it.",
    "assignment.changed": lambda row: f"The leader grants {row['topic']} to {row['client']}, {_from(row)}.",
    "lease.changed": lambda row: f"{row['client']} reads {row['topic']} {_from(row)}.",
    "session.disconnected": lambda row: f"{row['client']}'s session ends ({row['reason']}).",
    "session.connected": lambda row: f"{row['client']} connects ({row['reason']}).",
    "borrower.dropped": lambda row: f"The leader drops {row['client']} ({row['reason']}).",
    "borrower.changed": lambda row: f"{row['client']}'s borrower ended: {row['detail']}.",
    "leader.ended": lambda row: f"Leader {row['count']} ended ({row['reason']}).",
    "leader.elected": lambda row: f"Leader {row['count']} is elected.",
    "protocol.lost": lambda row: f"The progress of {row['client']} reaches no leader: {LOST[row['detail']]}.",
    "link.cut": lambda row: f"The link from {row['cluster']} to {row['peer']} is cut.",
    "link.healed": lambda row: f"The link from {row['cluster']} to {row['peer']} is healed.",
    "node.crashed": lambda row: f"{row['cluster']} crashes, with all its processes.",
    "node.stopped": lambda row: f"{row['cluster']} is stopped; its leaders commit, its connections close.",
    "store.unreachable": lambda row: f"{row['cluster']} cannot reach the leaders' store.",
    "leader.blocked": lambda row: f"Leader {row['count']} is blocked, waiting for the store.",
    "store.failed": lambda row: "The leaders' store is unavailable for a while.",
    "group.destroyed": lambda row: (
        f"{row['subscription']} is destroyed, with its progress; readers are not notified."
    ),
    "group.declared": lambda row: f"{row['subscription']} is declared.",
}
"""The sentence of a row, by its type."""


def _from(row: Row) -> str:
    return f"from offset {row['entry']} on" if "entry" in row else "at its end"
