"""The work of labs in slices: how much fits one turn, and who waits for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async

from visualizer.live.wire import Refused

# --- jobs of a lab: generators that yield between slices, and the requests that run them


@dataclass(frozen=True, slots=True)
class Wait:
    """Yielded by a job to wait for something outside the engine. Its result is sent back in.

    Nothing begins before the pump calls `begin`, so that a job that is closed first leaves nothing behind.
    """

    begin: Callable[[], Awaitable[Any]]


_called = sync_to_async(lambda function: function(), thread_sensitive=False)


def in_thread(function: Callable[[], Any]) -> Wait:
    """Run a long function in a thread, so that only this lab waits for it.

    The function must only read, since it cannot be cut into slices. Its error is raised in the job that
    waits.
    """
    return Wait(lambda: _called(function))


Work = Generator[Wait | None, Any, Any]
"""A job's generator. It returns the job's result, or raises Refused."""


@dataclass(slots=True)
class Job:
    work: Work
    done: Callable[[Any], None]
    refused: Callable[[Refused], None]
    doing: str = ""  # "rebuild", "seek", "step", "count" are shown on the page
    to_us: int | None = None
    replaceable: bool = False  # a newer replaceable job right behind it supersedes it
    broken: Callable[[Exception], None] | None = None
    """Set for a job that only reads: an internal error in it is reported here, and the lab goes on.

    An internal error in any other job stops the lab.
    """


SLICE_S = 0.005
"""Longest engine work in one turn: the delay of another lab's frame by each lab.

A slice may end within an instant.
"""

AIM_S = 0.8 * SLICE_S
"""Duration that the number of events per slice aims at, so that a slow slice still fits."""

MOST_EVENTS, FIRST_EVENTS = 50_000, 200


class SliceSize:
    """The number of events that the next slice may take.

    Rules: the duration of each slice adjusts the size of the next. Seconds are passed in as numbers, since
    only the pump reads a clock. How a run is cut into slices never changes what it writes.
    """

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
