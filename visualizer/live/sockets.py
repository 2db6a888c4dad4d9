"""The base of the site's sockets: sends queued messages, and closes when done or after an error.

Rules: a handler returns at once, since a consumer handles one message at a time, its own disconnect included.
An error in a handler or in sending is logged and closes the socket. There is no channel layer here: processes
communicate through `visualizer.labs.exchange`, so messages of pages are handled while Redis is unreachable.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

from visualizer.live.viewers import CLOSED_SILENT, Delivery, Viewer
from visualizer.live.wire import Refused

# --- checks which origins may open a socket or post: pages of this site
#
# Host and port are compared, the scheme is left to the proxy. Rules: a socket needs an Origin, which must
# name the host and port that the request was sent to, or be one of TRUSTED_ORIGINS. The host must be one of
# ALLOWED_HOSTS. A POST without an Origin comes from a script, not from a page of another site, and carries
# no cookie that the site uses, so it is accepted.


_DEFAULT_PORT = {"http": "80", "https": "443"}

Application = Callable[..., Awaitable[Any]]


def is_own_origin(origin: str, host: str) -> bool:
    """Whether a page from `origin` belongs to the site that was reached as `host` (a Host header)."""
    if origin in settings.TRUSTED_ORIGINS:
        return True
    domain, _ = split_domain_port(host)
    if not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    try:
        parts = urlsplit(origin.lower())
    except ValueError:  # such as http://[
        return False
    if parts.scheme not in _DEFAULT_PORT:
        return False
    own = host.lower()
    return (
        parts.netloc == own
        or parts.netloc == f"{own}:{_DEFAULT_PORT[parts.scheme]}"
        or f"{parts.netloc}:{_DEFAULT_PORT[parts.scheme]}" == own
    )


def require_own_origin(request: HttpRequest) -> None:
    """Raise Refused unless a POST comes from a page of this site or from no page at all."""
    origin = request.headers.get("Origin")
    if origin is not None and not is_own_origin(origin, request.get_host()):
        raise Refused("foreign-origin", "This page belongs to another site.", "Use this site's own pages.")


class SameOriginSockets:
    """ASGI application that accepts a socket when its Origin is this site's, else answers 403."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Application, send: Application) -> Any:
        headers = dict(scope.get("headers", []))
        origin = headers.get(b"origin", b"").decode("latin1")
        host = headers.get(b"host", b"").decode("latin1")
        if origin and is_own_origin(origin, host):
            return await self.application(scope, receive, send)
        return await WebsocketDenier()(scope, receive, send)


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
