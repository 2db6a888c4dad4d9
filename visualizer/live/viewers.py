"""One open page: its queued messages, the last frame it has seen, and the handling of a slow page.

Rules: a page answers frames with `seen`, at the latest every `SEEN_EVERY` frames. At most `FRAMES_AHEAD`
frames are sent and not yet answered. A page that falls behind gets no further frame until fewer than
`SEEN_EVERY` of those sent are unanswered. It then gets the number of frames it missed and starts from a
snapshot frame.
"""

from __future__ import annotations

import asyncio
import functools
import types
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any

from visualizer.live.wire import encode

if TYPE_CHECKING:
    from visualizer.live.frames import Frame


PAGES_PER_TURN = 25
"""Pages served in one turn of the event loop.

A turn takes about a millisecond. After it the engine and other sockets have theirs.
"""

Send = Callable[[dict[str, Any]], Coroutine[Any, Any, None]]

_queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, deque[Delivery]] = weakref.WeakKeyDictionary()


class Delivery:
    """Sends a viewer's texts to its socket with `send`, the server's ASGI callable.

    `ended()` is called when the last text of a closing viewer is sent, `broken(error)` when sending raised.

    Rules: a send that the server accepts at once ends within its first step, so no task is created for it. A
    send that has to wait, because the socket's buffer is full, goes on in a task of its own, and only this
    page waits. The texts of a page keep their order.
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


FRAMES_AHEAD = 40
"""Most frames sent and not yet seen: two seconds at 20 frames a second."""

SEEN_WITHIN_S = 120
"""How long frames that a page has to answer may stay unanswered.

Then its socket is closed. A page that was only suspended reconnects.
"""

SEEN_EVERY = 10
"""Frames after which a page sends `seen` at the latest.

Each `seen` costs the server as much as sending a frame.
"""

CLOSED_NORMALLY, CLOSED_SILENT = 1000, 4408
"""Close codes of a socket.

4000 to 4999 are an application's own (RFC 6455, 7.4.2). 4408, after HTTP's 408, is for a page that sends
nothing.
"""

TEXTS_WAITING = 400
"""Most answers and notices queued for the socket. A page that has more has stopped reading."""


class Viewer:
    """The sending side of one socket.

    The sender sets `on_text`, which is called when a text is queued, and takes texts with `take_text`.
    """

    def __init__(self, number: int, address: str = "") -> None:
        """`address` is a keyed hash of the page's address, "" where there is none."""
        self.number = number
        self.address = address
        self.is_owner = False
        self.presents_as: str | None = None  # the name under which this page has presented the lab
        self.predicts_as: str | None = None  # the name under which this page predicts in a presented tour
        self.needs_snapshot = True
        self.missed = 0
        self.missed_total = 0
        self.lagged_count = 0
        self.closing = False
        self.close_code = CLOSED_NORMALLY
        self._unseen_s = 0  # seconds since an answer is due
        self._snapshot: tuple[int, int] | None = None  # the newest one sent, answered at once
        self._lagging = False
        self._waiting: deque[str] = deque()
        self._ahead: deque[tuple[int, int]] = deque()
        self.on_text: Callable[[], None] | None = None

    # --- from the lab

    def say(self, message: dict[str, Any]) -> None:
        """Send an answer or a notice."""
        self.send_text(encode(message))

    def send_text(self, text: str) -> None:
        if self.closing:
            return
        if len(self._waiting) >= TEXTS_WAITING:
            self._waiting.clear()
            self.close("This page has stopped reading.")
            return
        self._waiting.append(text)
        if self.on_text is not None:
            self.on_text()

    def close(self, reason: str, code: int = CLOSED_NORMALLY) -> None:
        """Send `bye` after the queued texts, and close."""
        if self.closing:
            return
        self.close_code = code
        self._waiting.append(encode({"type": "bye", "reason": reason}))
        self.closing = True
        if self.on_text is not None:
            self.on_text()

    def offer(self, frame: Frame) -> None:
        """Send the lab's next frame, unless this page waits for a snapshot or is too far behind."""
        if self._lagging:
            self.missed += 1
            return
        if self.needs_snapshot and not frame.snapshot:
            return
        if len(self._ahead) >= FRAMES_AHEAD:
            self._lagging = True
            self.lagged_count += 1
            self.missed = 1
            return
        if frame.snapshot:
            self._send_missed()
            self.needs_snapshot = False
            self._snapshot = (frame.epoch, frame.number)
        self._ahead.append((frame.epoch, frame.number))
        self.send_text(frame.text)

    def resume(self, frames: list[Frame]) -> None:
        """Continue after the last frame that this page has seen in an earlier connection."""
        self.needs_snapshot = False
        for frame in frames:
            self.offer(frame)

    def _send_missed(self) -> None:
        if self.missed:
            self.say({"type": "lagged", "missed": self.missed})
            self.missed_total += self.missed
            self.missed = 0

    # --- from the page

    def saw(self, epoch: int, number: int) -> None:
        """Record that the page has seen this frame and all before it.

        A lagging page that has caught up needs a snapshot.
        """
        if (epoch, number) in self._ahead:
            self._unseen_s = 0
            while self._ahead.popleft() != (epoch, number):
                pass
        if self._lagging and len(self._ahead) < SEEN_EVERY:
            self._lagging = False
            self.needs_snapshot = True

    def second_passed(self) -> None:
        """Close the socket of a page that does not answer. Called once a second."""
        due = len(self._ahead) >= SEEN_EVERY or self._snapshot in self._ahead
        self._unseen_s = self._unseen_s + 1 if due else 0
        if self._unseen_s > SEEN_WITHIN_S:
            self.close(
                f"This page has not answered the frames that it was sent for {SEEN_WITHIN_S} s.",
                CLOSED_SILENT,
            )

    @property
    def wants_snapshot(self) -> bool:
        return self.needs_snapshot and not self._lagging and not self.closing

    # --- to the socket

    def take_text(self) -> str | None:
        """The next text to send; None when none is queued.

        A viewer that is `closing` gets no more after that.
        """
        return self._waiting.popleft() if self._waiting else None
