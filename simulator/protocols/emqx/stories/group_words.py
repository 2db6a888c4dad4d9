"""The words for messages of a shared group that came twice: causes as headings with a sentence, and what a
row says as a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]

GROUP_CAUSES: dict[str, tuple[str, str]] = {
    "progress_unreported": (
        "Done, and no leader had heard of it",
        "A session had finished the chunk, and no leader had taken word of it when the stream was given on.",
    ),
    "progress_unpersisted": (
        "Reported to a leader, not yet committed",
        (
            "Another leader had its progress and had not committed it to the store; the leader of this "
            "delivery began at what the store held."
        ),
    ),
    "owner_declared_dead": (
        "Two read at once",
        (
            "The leader had given the stream to another session, while the one before still read and "
            "acknowledged."
        ),
    ),
    "progress_rewound": (
        "The position went back",
        "It was known that they were done, and an older position was taken afterwards.",
    ),
    "chunk_repeated": (
        "A chunk repeats whole",
        (
            "Not all of their chunk was acknowledged. Progress moves by chunk, so those that were "
            "acknowledged come again with the others."
        ),
    ),
    "leader_outdated": (
        "Given out by an outdated leader",
        (
            "Another leader had its progress and had committed it. The leader that gave out the stream read "
            "the store before that, and began at an older position."
        ),
    ),
}
"""By cause, in the order of decision: a heading, and what it says."""

GROUP_EVENTS: dict[str, Callable[[Row], str]] = {
    "message.published": lambda row: (
        f"{row['producer']} publishes {row['producer']}/{row['sequence_id']} to {row['topic']}."
    ),
    "message.stored": lambda row: f"Storage keeps it in the stream {row['topic']}, at offset {row['entry']}.",
    "message.delivered": lambda row: f"{row['client']} gets it.",
    "message.acknowledged": lambda row: f"{row['client']} acknowledges it: the work is done.",
    "assignment.changed": lambda row: (
        f"The leader gives {row['topic']} to {row['client']}, to read {_from(row)}."
    ),
    "lease.changed": lambda row: f"{row['client']} reads {row['topic']} {_from(row)}.",
    "session.disconnected": lambda row: f"{row['client']}'s session ends ({row['reason']}).",
    "session.connected": lambda row: f"{row['client']} connects ({row['reason']}).",
    "borrower.dropped": lambda row: f"The leader knows {row['client']} no more ({row['reason']}).",
    "borrower.changed": lambda row: f"{row['client']}'s borrower is gone: {row['detail']}.",
    "leader.ended": lambda row: f"Leader {row['count']} is no more ({row['reason']}).",
    "leader.elected": lambda row: f"Leader {row['count']} leads from now on.",
    "protocol.lost": lambda row: f"What {row['client']} tells of it reaches no leader ({row['detail']}).",
    "link.cut": lambda row: f"Nothing passes from {row['cluster']} to {row['peer']} any more.",
    "link.healed": lambda row: f"The link from {row['cluster']} to {row['peer']} works again.",
    "node.crashed": lambda row: f"{row['cluster']} dies, with every process of it.",
    "node.stopped": lambda row: f"{row['cluster']} is stopped; its leaders commit, its connections close.",
    "store.unreachable": lambda row: f"{row['cluster']} cannot reach the leaders' store.",
    "leader.blocked": lambda row: f"Leader {row['count']} waits for the store, and handles nothing.",
    "store.failed": lambda row: "The leaders' store answers nobody for a while.",
    "group.destroyed": lambda row: (
        f"{row['subscription']} is destroyed, with its progress; nobody who reads is told."
    ),
    "group.declared": lambda row: f"{row['subscription']} is declared.",
}
"""What a row says, by its type."""


def _from(row: Row) -> str:
    return f"from offset {row['entry']} on" if "entry" in row else "at its end"
