"""The socket of one open page: checks messages, passes them to the lab's room, sends the queued ones.

Rules: a handler returns at once, since a consumer handles one message at a time, its own disconnect included.
The sending task is supervised. When it fails the page is notified and the socket closed. This module does no
slow work and reads no clock.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import TYPE_CHECKING, Any

from visualizer.labs.clients import client_key
from visualizer.labs.hub import current_hub
from visualizer.live.sockets import PageConsumer
from visualizer.live.viewers import Viewer
from visualizer.live.wire import Refused, decode

if TYPE_CHECKING:
    from visualizer.labs.rooms import Room

logger = logging.getLogger(__name__)

EARLY_MESSAGES = 20
"""Messages accepted while the lab is being opened. More are refused."""

_numbers = itertools.count(1)


class LabConsumer(PageConsumer):
    """`/ws/labs/<lab id>/`; the protocol is `docs/http-api.md`."""

    async def connect(self) -> None:
        self.room: Room | None = None
        self.hello_received = False
        self.early: list[dict[str, Any]] = []
        self.entering: asyncio.Task[None] | None = None
        await self.open_for(Viewer(next(_numbers), client_key()))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            message = decode(text_data)
            if message["type"] == "hello":
                self._hello(message)
            elif not self.hello_received:
                raise Refused(
                    "hello-first", "The first message is not hello.", 'Begin with {"type":"hello"}.'
                )
            elif self.room is None:
                self._keep_early(message)
            else:
                self.room.handle_message(self.viewer, message)
        except Refused as refused:
            self.viewer.say(refused.answer())

    def _hello(self, message: dict[str, Any]) -> None:
        if self.hello_received:
            raise Refused(
                "hello-again", "A hello message was already received.", "Send it once per connection."
            )
        self.hello_received = True
        self.first_message_received()
        self.entering = asyncio.ensure_future(self._enter(message))
        self.entering.add_done_callback(self._entering_ended)

    def _keep_early(self, message: dict[str, Any]) -> None:
        if len(self.early) >= EARLY_MESSAGES:
            raise Refused("too-many", "The lab is still being opened.", "Wait for welcome.")
        self.early.append(message)

    async def _enter(self, hello: dict[str, Any]) -> None:
        """Open the lab's room, which may take a moment, and handle the messages received meanwhile."""
        try:
            room = await current_hub().room(self.scope["url_route"]["kwargs"]["lab_id"])
        except Refused as refused:
            self.viewer.say(refused.answer())
            self.viewer.close(refused.error)
            return
        room.enter(self.viewer, hello)
        self.room = room
        for message in self.early:
            try:
                room.handle_message(self.viewer, message)
            except Refused as refused:
                self.viewer.say(refused.answer())

    def _entering_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            logger.error("A page could not enter its lab", exc_info=task.exception())
            self.viewer.close(
                "The lab could not be opened: internal error. The server's log has the details."
            )

    async def disconnect(self, code: int) -> None:
        if self.entering is not None:
            self.entering.cancel()
        if self.room is not None:
            self.room.leave(self.viewer)
        self.stop_sending()
