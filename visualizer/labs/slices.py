"""How much work fits one turn: a slice of at most 5 ms, measured in queue events of the engine.

Rules: the duration of each slice adjusts the size of the next. Seconds are passed in as numbers, since only
the pump reads a clock. How a run is cut into slices never changes what it writes.
"""

from __future__ import annotations

SLICE_S = 0.005
"""Longest engine work in one turn: the delay of another lab's frame by each lab.

A slice may end within an instant.
"""

AIM_S = 0.8 * SLICE_S
"""Duration that the number of events per slice aims at, so that a slow slice still fits."""

MOST_EVENTS, FIRST_EVENTS = 50_000, 200


class SliceSize:
    """The number of events that the next slice may take."""

    def __init__(self) -> None:
        self._events = FIRST_EVENTS
        self._taken = False

    def take(self) -> int:
        """The size of the slice that runs now. Its duration adjusts the next size."""
        self._taken = True
        return self._events

    def took(self, seconds: float) -> None:
        """Adjust the size to the duration of the turn, if the turn ran the engine."""
        if self._taken:
            self._taken = False
            factor = min(2.0, max(0.25, AIM_S / max(seconds, 1e-6)))
            self._events = int(min(MOST_EVENTS, max(1, self._events * factor)))
