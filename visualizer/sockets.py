"""What every socket of the site does alike: send what waits for its page, and close when that is over or broken.

Rules: a handler returns at once, since a consumer handles one message at a time, its own disconnect included; the task that
sends is supervised: when it breaks the socket is closed. No channel layer of its own: processes speak through
`visualizer.exchange`, so with Redis away a page is still heard.
"""

from __future__ import annotations

import asyncio
import logging

from channels.generic.websocket import AsyncWebsocketConsumer

from visualizer.viewers import Viewer

logger = logging.getLogger(__name__)

CLOSED_NORMALLY, CLOSED_BY_ERROR = 1000, 1011


class PageConsumer(AsyncWebsocketConsumer):
    """A socket whose `viewer` holds what waits to be sent."""

    channel_layer_alias = "none"  # channels makes a consumer without one

    async def open_for(self, viewer: Viewer) -> None:
        """Accept the socket and send from now on."""
        self.viewer = viewer
        await self.accept()
        self._sending = asyncio.ensure_future(self._send_what_waits())
        self._sending.add_done_callback(self._sending_ended)

    def stop_sending(self) -> None:
        """The page has gone."""
        self._sending.cancel()

    async def _send_what_waits(self) -> None:
        while (text := await self.viewer.next_text()) is not None:
            await self.send(text_data=text)
        await self.close(CLOSED_NORMALLY)

    def _sending_ended(self, task: asyncio.Future[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            logger.error("Sending to a page failed", exc_info=task.exception())
            asyncio.ensure_future(self.close(CLOSED_BY_ERROR))
