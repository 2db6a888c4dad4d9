"""Pairs that differ because a snapshot was later in one run than in the other.

A failover between the two instants at which the same snapshot was applied costs one of the runs all messages
of a snapshot period, although both behave alike. The causes of duplicates say where the snapshot was at the
failover of the run with more duplicates.
"""

from __future__ import annotations

from collections.abc import Mapping

SIDES = ("real", "simulated")

WHERE = {
    "update_in_flight": "its update was in flight at the failover",
    "snapshot_incomplete": "it was not complete at the failover",
    "snapshot_unused": "no ack had used it by the failover",
}
"""By cause of duplicates, where the newest snapshot was."""


def later_run(real: Mapping[str, int], simulated: Mapping[str, int]) -> tuple[str, str] | None:
    """The run in which a snapshot was later, and the cause that says where it was.

    The arguments are duplicates by cause. None where that does not account for at least half of a difference
    of two or more.
    """
    difference = sum(real.values()) - sum(simulated.values())
    if abs(difference) < 2:
        return None
    later, earlier = (real, simulated) if difference > 0 else (simulated, real)
    more = {name: later.get(name, 0) - earlier.get(name, 0) for name in WHERE}
    cause = max(more, key=lambda name: more[name])
    accounted = sum(count for count in more.values() if count > 0)
    return None if 2 * accounted < abs(difference) else (SIDES[difference < 0], cause)


def explanation(real: Mapping[str, int], simulated: Mapping[str, int]) -> str:
    """The reason for the difference of a pair as a sentence; empty where it is another one."""
    found = later_run(real, simulated)
    if found is None:
        return ""
    side, cause = found
    other = SIDES[side == SIDES[0]]
    return f"A snapshot was later in the {side} run: {WHERE[cause]}. In the {other} run it had been applied."
