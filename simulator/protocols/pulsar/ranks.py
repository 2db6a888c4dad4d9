"""Ranks: the order of events that are due at one instant.

They are ordered by kind, then by ordinals from the scenario's sorted names.
"""

from __future__ import annotations

CONSUMER, PRODUCER, REPLICATOR, TOPIC, CONTROLLER, FAILOVER, BROKER, ADMIN, SHADOW, MIGRATION = range(1, 11)
"""Consumers first: one that subscribes at the instant of a first publish receives the message."""
FAN_OUT = 255
"""Last at its instant: the dispatches to audiences change nothing for other components."""


def rank(kind: int, major: int, minor: int = 0) -> int:
    """The rank of a component of `kind` (above) with ordinals `major` and `minor`.

    Each ordinal is from 0 and below 65,536.
    """
    assert 0 <= major < 1 << 16 and 0 <= minor < 1 << 16, f"ordinals {major} and {minor} do not fit a rank"
    return (kind << 32) | (major << 16) | minor
