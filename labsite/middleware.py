"""Middleware of every answer: security headers, static files without a server, allowed hosts.

All work on the asynchronous path without a thread per request. WhiteNoise finds the static files.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from asgiref.sync import markcoroutinefunction
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import async_only_middleware
from whitenoise.middleware import WhiteNoiseMiddleware

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data: blob:",
        "style-src 'self' 'unsafe-inline'",  # Plotly writes a <style> element; styles cannot run code
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
"""The default policy: nothing is loaded from, or sent to, another address.

A view that needs another policy sets the header itself.
"""

EMBEDDABLE = CONTENT_SECURITY_POLICY.replace("frame-ancestors 'self'", "frame-ancestors *")
"""The policy of a page that any site may show in a frame; it takes precedence over X-Frame-Options."""

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",  # a lab's link grants viewing, so it is not sent to other sites
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

logger = logging.getLogger(__name__)

HOST_SHOWN = 100
"""Most characters of a refused host that the page and the log show."""

GetResponse = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@async_only_middleware
def security_headers(get_response: GetResponse) -> GetResponse:
    """Sets each security header that the view has not set."""

    async def answered(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        if getattr(response, "embeddable", False):
            response.headers["Content-Security-Policy"] = EMBEDDABLE
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        if settings.SECURE_HSTS_SECONDS:
            response.headers.setdefault(
                "Strict-Transport-Security", f"max-age={settings.SECURE_HSTS_SECONDS}"
            )
        return response

    return answered


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise on the asynchronous path. Files are read whole: the largest, Plotly, has 1.2 MB."""

    async_capable = True
    sync_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        found = self.find_file(path) if self.autorefresh else self.files.get(path)
        if found is None:
            return await self.get_response(request)
        answer = found.get_response(request.method, request.META)
        body = b""
        if answer.file is not None:
            with answer.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(answer.status))
        del response.headers["Content-Type"]
        for name, value in answer.headers:
            response.headers[name] = value
        return response


@async_only_middleware
def allowed_hosts(get_response: GetResponse) -> GetResponse:
    """Answers a request under a host that is not allowed with a page that names the setting.

    Django would log a traceback for each and answer "Bad Request (400)". Static files are served before, so
    that the page has its styles.
    """

    async def answered(request: HttpRequest) -> HttpResponseBase:
        try:
            request.get_host()
        except DisallowedHost:
            host = request.META.get("HTTP_HOST", "")[:HOST_SHOWN]
            logger.warning("Refused a request for the host %r, which ALLOWED_HOSTS does not name", host)
            name = host.rsplit(":", 1)[0] if host.rsplit(":", 1)[-1].isdigit() else host
            allowed = ",".join([*settings.ALLOWED_HOSTS, name])
            page = render(request, "bad_host.html", {"host": host, "allowed": allowed}, status=400)
            page._has_been_logged = True  # else Django logs a second line
            return page
        return await get_response(request)

    return answered
