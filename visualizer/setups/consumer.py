"""The socket of one question: a scenario's text comes in, the answer goes out run by run; closing it takes the question back.

Rules: the same as a lab's socket: handlers return at once, sending is supervised, nothing slow here.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable

from channels.generic.websocket import AsyncWebsocketConsumer

from visualizer.consumers import NO_LAYER
from visualizer.definitions import YAML_LIMIT
from visualizer.hub import current_hub
from visualizer.viewers import Viewer
from visualizer.wire import Refused

logger = logging.getLogger(__name__)

CLOSED_NORMALLY, CLOSED_BY_ERROR = 1000, 1011


class AnswerConsumer(AsyncWebsocketConsumer):
    """`/ws/answers/`: one message in, {"type": "ask", "yaml": text}; then asked, run (twenty times), done."""

    channel_layer_alias = NO_LAYER

    async def connect(self) -> None:
        self.page = Viewer(0)
        self.cancel: Callable[[], None] | None = None
        await self.accept()
        self.sending = asyncio.ensure_future(self._send_what_waits())
        self.sending.add_done_callback(self._sending_ended)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            text = _text_asked_about(text_data)
            if self.cancel is not None:
                raise Refused("asked-already", "This socket has its question.", "Open another one.")
            hub = current_hub()
            await hub.start()
            self.cancel = hub.studies.ask(text, self.page.say)
        except Refused as refused:
            self.page.say(refused.answer())

    async def _send_what_waits(self) -> None:
        while (text := await self.page.next_text()) is not None:
            await self.send(text_data=text)
        await self.close(CLOSED_NORMALLY)

    def _sending_ended(self, task: asyncio.Future[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            logger.error("Sending an answer failed", exc_info=task.exception())
            asyncio.ensure_future(self.close(CLOSED_BY_ERROR))

    async def disconnect(self, code: int) -> None:
        if self.cancel is not None:
            self.cancel()
        self.sending.cancel()


def _text_asked_about(message: str | None) -> str:
    """The text in a message. Raises Refused."""
    example = 'Send {"type": "ask", "yaml": "format: 1…"}.'
    if message is None or len(message) > 2 * YAML_LIMIT:
        raise Refused("too-long", "The message is binary or too long.", f"The text may have {YAML_LIMIT:,} characters.")
    try:
        asked = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise Refused("bad-json", f"The message is not JSON: {error}.", example) from error
    text = asked.get("yaml") if isinstance(asked, dict) and asked.get("type") == "ask" else None
    if not isinstance(text, str) or len(text) > YAML_LIMIT:
        raise Refused("bad-message", "The message asks nothing that can be answered.", example)
    return text
