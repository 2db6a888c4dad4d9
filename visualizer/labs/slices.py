"""How much work fits one turn: a slice of at most 5 ms, measured in queue events of the engine, learnt
from slice to slice.

Rules: seconds come in as numbers, the pump is the only one that reads a clock; how a run is cut never changes
what it writes.
"""

from __future__ import annotations

SLICE_S = 0.005
"""Engine work in one turn: what a neighbour's frame waits for at most, per lab.

A slice may end within an instant.
"""

AIM_S = 0.8 * SLICE_S
"""What the number of events per slice aims at, so that a slow one still fits."""

MOST_EVENTS, FIRST_EVENTS = 50_000, 200


class SliceSize:
    """The number of events that the next slice may take."""

    def __init__(self) -> None:
        self._events = FIRST_EVENTS
        self._taken = False

    def take(self) -> int:
        """For the slice that runs now: its duration will teach."""
        self._taken = True
        return self._events

    def took(self, seconds: float) -> None:
        """What the turn took; one that ran no engine teaches nothing."""
        if self._taken:
            self._taken = False
            factor = min(2.0, max(0.25, AIM_S / max(seconds, 1e-6)))
            self._events = int(min(MOST_EVENTS, max(1, self._events * factor)))
