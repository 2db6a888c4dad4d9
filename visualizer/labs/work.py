"""Jobs of a lab: generators that yield between slices, and the requests that run them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async

from visualizer.live.wire import Refused


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
