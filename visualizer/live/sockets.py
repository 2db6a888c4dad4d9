"""The base of the site's sockets: sends queued messages, and closes when done or after an error.

Rules: a handler returns at once, since a consumer handles one message at a time, its own disconnect included.
An error in a handler or in sending is logged and closes the socket. There is no channel layer here: processes
communicate through `visualizer.labs.exchange`, so messages of pages are handled while Redis is unreachable.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from visualizer.live.deliveries import Delivery
from visualizer.live.viewers import CLOSED_SILENT, Viewer

logger = logging.getLogger(__name__)

CLOSED_BY_ERROR = 4500
"""Close code after an internal error.

Websocket libraries refuse to send most codes below 3000. 4000 to 4999 are an application's own (RFC 6455,
7.4.2).
"""


FIRST_MESSAGE_S = 15.0
"""How long a socket may stay open before its first message."""


class PageConsumer(AsyncWebsocketConsumer):
    """A socket whose `viewer` holds the texts to send."""

    channel_layer_alias = "none"  # channels creates a consumer without a layer

    async def open_for(self, viewer: Viewer) -> None:
        """Accept the socket and send from now on."""
        self.viewer = viewer
        await self.accept()
        self._delivery = Delivery(viewer, self.base_send, self._all_sent, self._broken)
        words = f"No message arrived within {FIRST_MESSAGE_S:.0f} s after the socket was opened."
        self._silence = asyncio.get_running_loop().call_later(
            FIRST_MESSAGE_S, viewer.close, words, CLOSED_SILENT
        )

    def first_message_received(self) -> None:
        """Keep the socket open, since the page has sent its first message."""
        self._silence.cancel()

    def stop_sending(self) -> None:
        """Stop sending, since the page has disconnected."""
        self._silence.cancel()
        self._delivery.stop()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle a socket event; messages of a page skip the check for stale database connections.

        That check takes a turn of a thread, and no handler reads the database.
        """
        if message["type"] != "websocket.receive":
            await super().dispatch(message)
            return
        try:
            await self.websocket_receive(message)
        except StopConsumer:
            raise
        except Exception as error:
            self._broken(error)

    def _all_sent(self) -> None:
        asyncio.ensure_future(self._close(self.viewer.close_code))

    def _broken(self, error: BaseException) -> None:
        logger.error("Internal error in a page's socket", exc_info=error)
        self.stop_sending()
        asyncio.ensure_future(self._close(CLOSED_BY_ERROR))

    async def _close(self, code: int) -> None:
        try:
            await self.close(code)
        except Exception:  # the page has disconnected: servers differ in what they raise then
            logger.debug("A socket was gone before it could be closed", exc_info=True)
