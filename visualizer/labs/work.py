"""What a lab's jobs are made of: generators that yield between slices, and the requests that wait in a
queue.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async

from visualizer.live.wire import Refused


@dataclass(frozen=True, slots=True)
class Wait:
    """What a job yields to wait for something outside the engine; its result is sent back in."""

    until: Awaitable[Any]


_called = sync_to_async(lambda function: function(), thread_sensitive=False)


def in_thread(function: Callable[[], Any]) -> Wait:
    """Something long that cannot be cut and only reads: the lab stands still meanwhile, the event loop and
    other labs do not.

    What it raises is raised in the job that waits for it."""
    return Wait(_called(function))


Work = Generator[Wait | None, Any, Any]
"""A job's body; it returns its result, or raises `Refused`."""


@dataclass(slots=True)
class Job:
    work: Work
    done: Callable[[Any], None]
    refused: Callable[[Refused], None]
    doing: str = ""  # "rebuild", "seek", "step", "count" are shown on the page
    to_us: int | None = None
    replaceable: bool = False  # a newer one of the kind right behind it makes it pointless
    broken: Callable[[Exception], None] | None = None
    """Set for a job that only reads: an internal error in it is reported here, and the lab goes on.

    Of any other job it stops the lab.
    """
