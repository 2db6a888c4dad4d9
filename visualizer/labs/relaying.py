"""The part of a room whose lab runs in another process: relays its frames, forwards requests to it.

Rules: one message per frame between processes, through the channel layer. A gap in the numbers means that
Redis dropped one, and every viewer here starts from a snapshot. The process that runs the lab receives the
number of viewers here every second.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from visualizer.labs.rooms import Reply, Room
from visualizer.live.frames import Frame
from visualizer.live.wire import Refused

if TYPE_CHECKING:
    from visualizer.labs.exchange import Exchange

ANSWER_S = 15
"""How long another process may take to answer a question."""


class Relay:
    """Relays a lab from the process at the channel `runner`.

    `free_ticks` counts consecutive checks that found its lease free.
    """

    def __init__(self, exchange: Exchange, room: Room, runner: str) -> None:
        self.exchange, self.room, self.runner = exchange, room, runner
        self.free_ticks = 0
        self._last: tuple[int, int] | None = None
        # the message of each pending request, and its reply callback
        self._waiting: dict[int, tuple[dict[str, Any], Reply]] = {}
        self._questions: dict[int, asyncio.Future[str]] = {}
        self._number = 0

    def handle(self, message: dict[str, Any], reply: Reply) -> None:
        if self.exchange.away:
            raise Refused(
                "no-redis",
                (
                    "This was not done: the lab runs in another server process, which cannot be reached just "
                    "now."
                ),
                "Ask again as soon as the lab is shown again.",
            )
        self._number += 1
        self._waiting[self._number] = (message, reply)
        while len(self._waiting) > 1000:  # play, pause and speed are never answered: forget the oldest
            del self._waiting[next(iter(self._waiting))]
        self._send({"type": "lab.ask", "message": message, "number": self._number})

    def replied(self, number: int, message: dict[str, Any]) -> None:
        _asked, reply = self._waiting.get(number, (None, None))
        if message["type"] != "notice":  # a notice precedes the answer
            self._waiting.pop(number, None)
        if reply is not None:
            reply(message)

    def cut_off(self) -> None:
        """Reply to pending commands that their outcome is unknown, since Redis cannot be reached."""
        waiting, self._waiting = self._waiting, {}
        why = Refused(
            "no-answer",
            "The lab's server process cannot be reached, so there is no answer.",
            "Look at the lab's commands once it is shown again: this one may or may not be among them.",
        )
        for asked, reply in waiting.values():
            if asked["type"] == "command":
                reply(
                    {
                        "type": "result",
                        "id": asked.get("id"),
                        "ok": False,
                        "code": why.code,
                        "error": why.error,
                        "hint": why.hint,
                    }
                )
        for future in self._questions.values():
            if not future.done():
                future.set_exception(why)

    async def ask(self, what: str, arguments: dict[str, Any]) -> str:
        self._number += 1
        number = self._number
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._questions[number] = future
        self.room.idle_ticks = 0
        self._send({"type": "lab.question", "what": what, "arguments": arguments, "number": number})
        try:
            async with asyncio.timeout(ANSWER_S):
                return await future
        except TimeoutError:
            raise Refused(
                "no-answer",
                "The server process that runs this lab does not answer.",
                "Another takes it over within seconds; try again.",
            ) from None
        finally:
            del self._questions[number]

    def answered(self, number: int, text: str | None, refused: list[str] | None) -> None:
        future = self._questions.get(number)
        if future is None or future.done():
            return
        if refused is not None:
            future.set_exception(Refused(*refused))
        else:
            future.set_result(text or "")

    def want_snapshot(self) -> None:
        self._watch()

    def viewers_changed(self) -> None:
        self._watch()

    def _watch(self) -> None:
        self._send(
            {
                "type": "lab.watch",
                "viewers": len(self.room.viewers),
                "followers": self.room.followers,
                "presenter": self.room.presenter_here,
                "snapshot": self.room.anyone_wants_snapshot,
            }
        )

    def take(self, frame: Frame, snapshot: Frame | None) -> None:
        """Deliver a frame from the process that runs the lab."""
        follows = self._last is not None and (frame.epoch, frame.number) == (self._last[0], self._last[1] + 1)
        self._last = (frame.epoch, frame.number)
        if not follows and not frame.snapshot:
            self.room.start_over()
        self.room.deliver(frame, snapshot)
        if self.room.anyone_wants_snapshot:
            self._watch()

    async def keep_position(self) -> None:
        """Nothing to do: the process that runs the lab stores its position within a second."""

    async def tick(self) -> None:
        self.room.idle_ticks = 0 if self.room.viewers or self._questions else self.room.idle_ticks + 1
        self._watch()

    def close(self) -> None:
        for future in self._questions.values():
            if not future.done():
                future.set_exception(
                    Refused(
                        "moved", "The lab is moving to another server process.", "Try again in a few seconds."
                    )
                )

    def _send(self, message: dict[str, Any]) -> None:
        self.exchange.post(self.runner, self.room.lab.pk, message)
