"""What a lab's jobs are made of: generators that yield between slices, and the requests that wait in a queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from visualizer.wire import Refused


@dataclass(frozen=True, slots=True)
class Wait:
    """What a job yields to wait for something outside the engine; its result is sent back in."""

    until: Awaitable[Any]


Work = Generator[Wait | None, Any, Any]
"""A job's body; it returns its result, or raises `Refused`."""


@dataclass(slots=True)
class Job:
    work: Work
    done: Callable[[Any], None]
    refused: Callable[[Refused], None]
    doing: str = ""  # "rebuild", "seek", "step" are shown on the page
    to_us: int | None = None
    replaceable: bool = False  # a newer one of the kind right behind it makes it pointless
