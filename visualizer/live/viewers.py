"""One open page: its queued messages, the last frame it has seen, and the handling of a slow page.

Rules: a page answers frames with `seen`, at the latest every `SEEN_EVERY` frames. At most `FRAMES_AHEAD`
frames are sent and not yet answered. A page that falls behind gets no further frame until fewer than
`SEEN_EVERY` of those sent are unanswered. It then gets the number of frames it missed and starts from a
snapshot frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from visualizer.live.frames import Frame
from visualizer.live.wire import encode

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
