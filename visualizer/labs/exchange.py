"""Messages between server processes that show the same labs, through the channel layer.

Rules: one message per frame is sent to the lab's group. Requests and answers are sent to the channel of one
process. A message that does not match the receiver's part is outdated, because the lease has moved, and is
dropped. Every message is a dict with `type`, `lab` and `from` (the sender's channel):

    lab.frame     at [epoch, number, is snapshot], text,          runner -> group
                  snapshot (text, when requested)
    lab.notice    message, failure                                runner -> group
    lab.gone      (deleted)                                       any -> group
    lab.watch     viewers, followers (those without the token),   relay -> runner
                  presenter (its page is here),
                  snapshot (a viewer here needs one)
    lab.ask       number, message (checked, from an owner)        -> lab.reply    number, message
    lab.question  number, what, arguments                         -> lab.answer   number, text, refused
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from visualizer.labs.relaying import Relay
from visualizer.labs.rooms import Reply, Room
from visualizer.labs.running import Runner
from visualizer.live.frames import Frame
from visualizer.live.wire import Refused

if TYPE_CHECKING:
    from visualizer.labs.hub import Hub

logger = logging.getLogger(__name__)

RETRY_S = 1.0
"""Pause before sending again after Redis could not be reached."""

OUTBOX = 2_000
"""Messages queued for Redis.

More are dropped, and relays that miss a frame request a snapshot.
"""


class Exchange:
    """This process's connection to the channel layer; `channel` is its address."""

    def __init__(self, hub: Hub, layer: Any, channel: str) -> None:
        self.hub, self.channel = hub, channel
        self.away = False  # Redis does not answer (`visualizer.labs.placement` finds out)
        self._layer = layer
        self._outbox: asyncio.Queue[tuple[bool, str, dict[str, Any]]] = asyncio.Queue(OUTBOX)

    @classmethod
    async def opened(cls, hub: Hub) -> Exchange:
        layer = get_channel_layer()
        return cls(hub, layer, await layer.new_channel("lab-process."))

    async def join(self, lab_id: str) -> None:
        await self._layer.group_add(_group(lab_id), self.channel)

    async def leave(self, lab_id: str) -> None:
        await self._layer.group_discard(_group(lab_id), self.channel)

    # --- out, in order

    def post(self, channel: str, lab_id: str, message: dict[str, Any]) -> None:
        """Queue a message to one process."""
        self._put(False, channel, lab_id, message)

    def send_frame(self, lab_id: str, frame: Frame, snapshot: Frame | None) -> None:
        """Queue one message with the frame to every process that shows the lab."""
        other = snapshot.text if snapshot is not None and snapshot is not frame else None
        self._put(
            True,
            _group(lab_id),
            lab_id,
            {
                "type": "lab.frame",
                "at": [frame.epoch, frame.number, frame.snapshot],
                "text": frame.text,
                "snapshot": other,
            },
        )

    def send_notice(self, lab_id: str, message: dict[str, Any], failure: bool = False) -> None:
        self._put(
            True, _group(lab_id), lab_id, {"type": "lab.notice", "message": message, "failure": failure}
        )

    def send_gone(self, lab_id: str) -> None:
        """Notify every process that shows the lab that its rows are deleted."""
        self._put(True, _group(lab_id), lab_id, {"type": "lab.gone"})

    def _put(self, to_group: bool, name: str, lab_id: str, message: dict[str, Any]) -> None:
        try:
            self._outbox.put_nowait((to_group, name, {**message, "lab": lab_id, "from": self.channel}))
        except asyncio.QueueFull:
            logger.warning("Redis is too slow: a message to other server processes was dropped")

    async def send(self) -> None:
        """Send queued messages until the process ends. The hub supervises this task."""
        while True:
            to_group, name, message = await self._outbox.get()
            try:
                await (self._layer.group_send if to_group else self._layer.send)(name, message)
            except (OSError, RedisError) as error:
                lost = 1 + self._outbox.qsize()
                # waiting frames would be outdated: relays detect the gap and start from a snapshot
                while not self._outbox.empty():
                    self._outbox.get_nowait()
                logger.warning("%d messages to other server processes were lost: %s", lost, error)
                await asyncio.sleep(RETRY_S)

    # --- in

    async def receive(self) -> None:
        """Receive messages until the process ends. The hub supervises this task."""
        while True:
            message = await self._layer.receive(self.channel)
            room = self.hub.rooms.get(message["lab"])
            if room is not None and message["from"] != self.channel:
                self._take_or_log(room, message)

    def _take_or_log(self, room: Room, message: dict[str, Any]) -> None:
        """Handle a message and log an internal error in it, so that later messages are received."""
        try:
            self._take(room, message)
        except Exception:
            logger.exception(
                "Internal error while handling %s of lab %s from another server process",
                message["type"],
                room.lab.pk,
            )

    def _take(self, room: Room, message: dict[str, Any]) -> None:
        part = room.part
        if message["type"] == "lab.gone":
            self.hub.soon(self.hub.gone(room), "closing a deleted lab")
        elif isinstance(part, Runner):
            self._take_as_runner(part, message)
        elif isinstance(part, Relay) and message["from"] == part.runner:
            _take_as_relay(room, part, message)

    def _take_as_runner(self, runner: Runner, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "lab.watch":
            counts = (message["viewers"], message["followers"], message["presenter"])
            runner.watch(message["from"], counts, message["snapshot"])
        elif kind == "lab.ask":
            reply = self._reply_to(message)
            try:
                runner.handle(message["message"], reply)
            except Refused as refused:
                reply(refused.answer())
        elif kind == "lab.question":
            self.hub.soon(self._answer(runner, message), "answering another process")

    def _reply_to(self, message: dict[str, Any]) -> Reply:
        def reply(answer: dict[str, Any]) -> None:
            self.post(
                message["from"],
                message["lab"],
                {"type": "lab.reply", "number": message["number"], "message": answer},
            )

        return reply

    async def _answer(self, runner: Runner, message: dict[str, Any]) -> None:
        text, refused = None, None
        try:
            text = await runner.ask(message["what"], message["arguments"])
        except Refused as why:
            refused = [why.code, why.error, why.hint]
        self.post(
            message["from"],
            message["lab"],
            {"type": "lab.answer", "number": message["number"], "text": text, "refused": refused},
        )


def _take_as_relay(room: Room, relay: Relay, message: dict[str, Any]) -> None:
    kind = message["type"]
    if kind == "lab.frame":
        relay.take(*_frames_of(message))
    elif kind == "lab.notice":
        _take_notice(room, message["message"], message["failure"])
    elif kind == "lab.reply":
        relay.replied(message["number"], message["message"])
    elif kind == "lab.answer":
        relay.answered(message["number"], message["text"], message["refused"])


def _take_notice(room: Room, notice: dict[str, Any], failure: bool) -> None:
    """Show a notice of the process that runs the lab.

    A lasting state is kept for pages that connect later. A single notice is only forwarded.
    """
    if failure:
        room.fail(notice)
    elif notice["type"] == "notice":
        room.tell(notice["code"], notice["words"], notice.get("replay"))
    elif notice["type"] == "presentation":
        room.show_presentation(notice)
    else:
        room.send_to_all(notice)


def _group(lab_id: str) -> str:
    return f"lab.{lab_id}"


def _frames_of(message: dict[str, Any]) -> tuple[Frame, Frame | None]:
    epoch, number, is_snapshot = message["at"]
    frame = Frame(epoch, number, is_snapshot, message["text"])
    if message["snapshot"] is not None:
        return frame, Frame(epoch, number, True, message["snapshot"])
    return frame, frame if is_snapshot else None
