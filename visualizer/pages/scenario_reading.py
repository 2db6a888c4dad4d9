"""Reads scenario texts one at a time in a thread of its own, never on the event loop.

Rules: every text of a visitor is read here. Reading takes up to two seconds of CPU for the largest text, and
several at once would each take a share of the interpreter from the labs. So the others wait, and when too
many wait one is refused. While a text is read the event loop waits for the interpreter about 6 ms at a time,
and 60 ms at most (measured with the largest texts).
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from visualizer.live.wire import Refused

WAITING_TEXTS = 30
"""Most texts that wait to be read, the current one included: a minute at worst."""

_reader = ThreadPoolExecutor(1, "scenario-reading")
_waiting = threading.BoundedSemaphore(WAITING_TEXTS)


def problem_of(problem: Any) -> dict[str, Any]:
    """A problem of a text for the page: its place, what is wrong and what would be right."""
    return {
        "line": problem.line,
        "column": problem.column,
        "path": problem.path,
        "message": problem.what,
        "hint": problem.right,
    }


def read_in_turn(read: Callable[..., Any], *given: Any, **how: Any) -> Any:
    """The result or error of `read`, called in a thread. Raises Refused when too many texts wait."""
    return _submitted(read, *given, **how).result()


async def read_soon(read: Callable[..., Any], *given: Any, **how: Any) -> Any:
    """`read_in_turn` from the event loop."""
    return await asyncio.wrap_future(_submitted(read, *given, **how))


def _submitted(read: Callable[..., Any], *given: Any, **how: Any) -> Future[Any]:
    if not _waiting.acquire(blocking=False):
        raise Refused(
            "too-many", f"{WAITING_TEXTS} scenarios wait to be read already.", "Try again in a minute."
        )
    future = _reader.submit(_without_collections, read, *given, **how)
    future.add_done_callback(lambda _: _waiting.release())
    return future


def _without_collections(read: Callable[..., Any], *given: Any, **how: Any) -> Any:
    """Call `read` with the garbage collector disabled.

    A full collection over the largest text's nodes would block the interpreter for 100 ms.
    """
    gc.disable()
    try:
        return read(*given, **how)
    finally:
        gc.enable()
