"""A task whose work is a generator, which the pump drives beside the labs.

Rules: the work yields after each slice, and to wait for something outside. An error of what it waits for is
raised where it waits. Subclasses have `turn` and `failed`, and close the work when the task ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from visualizer.labs.slices import SliceSize
from visualizer.labs.work import Work


class SlicedTask:
    """What the pump needs of such a task (`visualizer.labs.pump.Turns`), except `turn`."""

    def __init__(self, name: str) -> None:
        self.lab_id = name  # the name under which the pump keeps it
        self.listener = self  # called on an internal error
        self.blocked_on: Callable[[], Awaitable[Any]] | None = None
        self.size = SliceSize()
        self._work: Work | None = None
        self._answer: Any = None
        self._error: Exception | None = None

    @property
    def ready(self) -> bool:
        """Whether there is a slice to run now."""
        return self._work is not None and self.blocked_on is None

    def begin(self, work: Work) -> None:
        """Make this the task's work."""
        self._work = work

    def step(self) -> None:
        """Run one slice. Raises StopIteration at the work's end, and what the work raises."""
        assert self._work is not None, "the task has ended"
        answer, self._answer = self._answer, None
        error, self._error = self._error, None
        waiting = self._work.send(answer) if error is None else self._work.throw(error)
        self.blocked_on = None if waiting is None else waiting.begin

    def close(self) -> bool:
        """End the work; whether it had not ended before."""
        work, self._work = self._work, None
        if work is not None:
            work.close()
        return work is not None

    def due_s(self, now_s: float) -> float | None:
        """When the next slice is due: now, or None."""
        return now_s if self.ready else None

    def took(self, seconds: float) -> None:
        """Adjust the size of the next slice to the duration of this one."""
        self.size.took(seconds)

    def resumed(self, answer: Any) -> None:
        """Continue with the result of what the work waits for."""
        self.blocked_on, self._answer = None, answer

    def interrupted(self, error: Exception) -> None:
        """Continue with the error of what the work waits for."""
        self.blocked_on, self._error = None, error
