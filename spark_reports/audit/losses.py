"""Published messages that a subscription never received, and what that proves.

Rules: a message that was published before the first or after the last message that the subscription received
may have been delivered outside the log, so it is not counted as lost. Of the others a loss is claimed only
where the log is declared complete, is not sampled, and nothing in it contradicts that.
"""

from __future__ import annotations

from typing import Any

OF_SUBSCRIPTION = ("subscription", "topic")


def message_columns(by_position: bool) -> list[str]:
    """The columns by which a publish and a delivery are the same message.

    A producer that assigns an id often does not know the partition.
    """
    return ["topic", "partition", "scope", "key"] if by_position else ["topic", "key"]


def judged(found: dict[str, Any], complete: bool, sampled: bool, unreadable: int) -> dict[str, Any]:
    """The figures with `lost`, or None and why it is unknown."""
    reasons = []
    if sampled:
        reasons.append("the log is sampled")
    elif not complete:
        reasons.append("the log is not declared complete (`complete: true` in the mapping)")
    if unreadable:
        reasons.append(f"{unreadable:,} unreadable rows may be deliveries")
    if found["acked_only"]:
        reasons.append(f"{found['acked_only']:,} messages were acknowledged without a delivery in the log")
    return {**found, "lost": None if reasons else found["between"], "unknown_because": reasons}
