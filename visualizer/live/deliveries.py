"""Sends queued texts to pages: all pages of one frame in a few turns of the event loop.

Rules: a send that the server accepts at once ends within its first step, so no task is created for it. A send
that has to wait, because the socket's buffer is full, goes on in a task of its own, and only this page waits.
The texts of a page keep their order.
"""

from __future__ import annotations

import asyncio
import functools
import types
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from visualizer.live.viewers import Viewer

PAGES_PER_TURN = 25
"""Pages served in one turn of the event loop.

A turn takes about a millisecond. After it the engine and other sockets have theirs.
"""

Send = Callable[[dict[str, Any]], Coroutine[Any, Any, None]]

_queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, deque[Delivery]] = weakref.WeakKeyDictionary()


class Delivery:
    """Sends a viewer's texts to its socket with `send`, the server's ASGI callable.

    `ended()` is called when the last text of a closing viewer is sent, `broken(error)` when sending raised.
    """

    def __init__(
        self, viewer: Viewer, send: Send, ended: Callable[[], None], broken: Callable[[BaseException], None]
    ) -> None:
        self._viewer, self._send, self._ended, self._broken = viewer, send, ended, broken
        self._queued = False
        self._waiting: asyncio.Task[None] | None = None
        self._stopped = False
        viewer.on_text = self._queue
        self._queue()

    def stop(self) -> None:
        """Send nothing more."""
        self._stopped = True
        self._viewer.on_text = None
        if self._waiting is not None:
            self._waiting.cancel()

    def _queue(self) -> None:
        """Schedule the queued texts for one of the next turns."""
        if self._queued or self._waiting is not None or self._stopped:
            return
        self._queued = True
        loop = asyncio.get_running_loop()
        queue = _queues.setdefault(loop, deque())
        queue.append(self)
        if len(queue) == 1:
            loop.call_soon(_turn, loop, queue)

    def flush(self) -> None:
        """Send all queued texts, as long as the server accepts them at once."""
        self._queued = False
        try:
            while not self._stopped and (text := self._viewer.take_text()) is not None:
                left = _begun(self._send({"type": "websocket.send", "text": text}))
                if left is not None:
                    self._waiting = asyncio.ensure_future(left)
                    self._waiting.add_done_callback(self._go_on)
                    return
        except Exception as error:
            self._failed(error)
            return
        if not self._stopped and self._viewer.closing:
            self.stop()
            self._ended()

    def _go_on(self, task: asyncio.Task[None]) -> None:
        self._waiting = None
        if task.cancelled() or self._stopped:
            return
        error = task.exception()
        if error is not None:
            self._failed(error)
        else:
            self.flush()

    def _failed(self, error: BaseException) -> None:
        self.stop()
        if not isinstance(error, OSError):  # the page has disconnected, which is reported separately
            self._broken(error)


def _turn(loop: asyncio.AbstractEventLoop, queue: deque[Delivery]) -> None:
    for _ in range(min(PAGES_PER_TURN, len(queue))):
        queue[0].flush()
        queue.popleft()
    if queue:
        loop.call_soon(_turn, loop, queue)


def _begun(work: Coroutine[Any, Any, None]) -> Coroutine[Any, Any, None] | None:
    """Run the first step of `work` at once.

    Returns what is left of it, or None when it has ended.
    """
    try:
        waits_for = work.send(None)
    except StopIteration:
        return None
    return _rest(work, waits_for)


async def _rest(work: Coroutine[Any, Any, None], waits_for: Any) -> None:
    await _steps(work, waits_for)


@types.coroutine
def _steps(work: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    """Continue a coroutine after its first step, from the future that it waits for."""
    while True:
        try:
            yield waits_for
        except BaseException as error:  # a cancellation, too, belongs to the coroutine
            step = functools.partial(work.throw, error)
        else:
            step = functools.partial(work.send, None)
        try:
            waits_for = step()
        except StopIteration:
            return
