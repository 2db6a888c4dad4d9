"""Reads scenario texts one at a time in a thread of its own, never on the event loop.

Rules: every text of a visitor is read here. Reading takes up to two seconds of CPU for the largest text, and
several at once would each take a share of the interpreter from the labs. So the others wait, in turns among
client addresses, and one is refused when too many of its address or in all wait, or when its turn does not
come in time. Runs of texts wait in a queue of their own, as fairly: a text waits for no run, only for a part
of one. While a text is read the event loop waits for the interpreter about 6 ms at a time,
and 60 ms at most (measured with the largest texts).
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from visualizer.labs.clients import client
from visualizer.live.wire import Refused

WAITING_TEXTS, WAITING_TEXTS_PER_ADDRESS = 60, 20
"""Most texts that wait, in all and of one address, as a class of 20 sends theirs at once; and most runs."""

WAIT_S = 20.0
"""The longest time that a text waits for its turn."""

_reader = ThreadPoolExecutor(1, "scenario-reading")
_lock = threading.Lock()
Queue = dict[str, deque[tuple[Future[Any], Callable[[], Any]]]]

_texts: Queue = {}
"""The texts that wait, by address. The first address has the next turn."""

_runs: Queue = {}
"""The runs that wait; they begin while no text waits."""


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
    """The result or error of `read`, called in a thread. Raises Refused when its turn does not come."""
    future = _submitted(read, *given, **how)
    try:
        return future.result(WAIT_S)
    except TimeoutError:
        if future.cancel():
            raise _busy(f"A scenario waited {WAIT_S:.0f} s to be read.") from None
        return future.result()


async def read_soon(read: Callable[..., Any], *given: Any, **how: Any) -> Any:
    """`read_in_turn` from the event loop."""
    return await _soon(_submitted(read, *given, **how))


async def run_soon(run: Callable[..., Any], *given: Any) -> Any:
    """`read_soon` for the run of a text that was read; it calls `let_text_go_first` between its parts."""
    return await _soon(_submitted(run, *given, queue=_runs))


def let_text_go_first() -> None:
    """Read one of the texts that wait, if there are any, in the thread of the run that calls it."""
    _begin_next(_texts)


async def _soon(future: Future[Any]) -> Any:
    waiting = asyncio.wrap_future(future)
    done, _ = await asyncio.wait([waiting], timeout=WAIT_S)
    if not done and future.cancel():
        raise _busy(f"A scenario waited {WAIT_S:.0f} s to be read.")
    return await waiting


def _busy(what: str) -> Refused:
    return Refused("busy", what, "Try again in a minute.")


def _submitted(read: Callable[..., Any], *given: Any, queue: Queue = _texts, **how: Any) -> Future[Any]:
    future: Future[Any] = Future()
    address = client.get()
    with _lock:
        if address and len(queue.get(address, ())) >= WAITING_TEXTS_PER_ADDRESS:
            raise _busy(f"{WAITING_TEXTS_PER_ADDRESS} scenarios of your address wait to be read already.")
        if sum(map(len, queue.values())) >= WAITING_TEXTS:
            raise _busy(f"{WAITING_TEXTS} scenarios wait to be read already.")
        queue.setdefault(address, deque()).append((future, partial(read, *given, **how)))
    _reader.submit(_begin_next, _texts, _runs)
    return future


def _begin_next(*queues: Queue) -> None:
    """Read or run the oldest text of the address whose turn it is, in the first queue that is not empty.

    All are empty when a run has read the text already.
    """
    with _lock:
        queue = next(filter(None, queues), None)
        if queue is None:
            return
        address = next(iter(queue))
        texts = queue.pop(address)
        future, read = texts.popleft()
        if texts:
            queue[address] = texts  # behind the other addresses
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = _without_collections(read)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _without_collections(read: Callable[[], Any]) -> Any:
    """Call `read` with the garbage collector disabled.

    A full collection over the largest text's nodes would block the interpreter for 100 ms.
    """
    within_run = not gc.isenabled()
    gc.disable()
    try:
        return read()
    finally:
        if not within_run:
            gc.enable()
