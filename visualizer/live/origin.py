"""Checks which origins may open a socket or post: pages of this site.

Host and port are compared, the scheme is left to the proxy. Rules: a socket needs an Origin, which must name
the host and port that the request was sent to, or be one of TRUSTED_ORIGINS. The host must be one of
ALLOWED_HOSTS. A POST without an Origin comes from a script, not from a page of another site, and carries no
cookie that the site uses, so it is accepted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

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


def may_post(request: HttpRequest) -> bool:
    """Whether a POST comes from a page of this site or from no page at all."""
    origin = request.headers.get("Origin")
    return origin is None or is_own_origin(origin, request.get_host())


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
