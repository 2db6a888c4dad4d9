"""Limits the bodies of requests before Django reads them.

Rules: Django writes a body to a temporary file, however long it is, before it checks its size. Here a body is
counted as it arrives, by its declared length and by its bytes (a chunked one declares no length), and held in
memory up to the limit. An upload is counted in the same way, but passed on as it arrives. A longer body is
answered with 413.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from visualizer.audits.limits import MIB, UPLOAD_MIB_MOST

LARGEST_BODY_BYTES = 1_048_576
"""Most bytes of one request's body.

It is four times the longest scenario, or ten times a thousand labs with their tokens.
"""

UPLOAD_PATH, LARGEST_UPLOAD_BYTES = "/audits/", (UPLOAD_MIB_MOST + 1) * MIB
"""Where files are uploaded, and the most bytes of such a body: the files, and the form around them."""

LONGEST_LENGTH_DIGITS = 18
"""Most digits of a Content-Length that are read as a number."""

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class BoundedBodies:
    """ASGI application that passes an HTTP request on with its whole body, or refuses it."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        most_bytes = LARGEST_UPLOAD_BYTES if _is_upload(scope) else LARGEST_BODY_BYTES
        if _declared_bytes(scope) > most_bytes:
            await _refuse(send, most_bytes)
            return
        if most_bytes == LARGEST_UPLOAD_BYTES:
            await self._passed_on(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > LARGEST_BODY_BYTES:
                await _refuse(send, LARGEST_BODY_BYTES)
                return
            more = message.get("more_body", False)
        await self.application(scope, _replayed(bytes(body), receive), send)

    async def _passed_on(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Pass an upload on as it arrives; one that is too long ends for the application as if cut off."""
        size_bytes, too_long = 0, False

        async def counted() -> Message:
            nonlocal size_bytes, too_long
            message = await receive()
            size_bytes += len(message.get("body", b""))
            if size_bytes > LARGEST_UPLOAD_BYTES:
                too_long = True
                return {"type": "http.disconnect"}
            return message

        await self.application(scope, counted, send)
        if too_long:
            await _refuse(send, LARGEST_UPLOAD_BYTES)


def _is_upload(scope: dict[str, Any]) -> bool:
    """Whether the request is a form with files at the address of uploads."""
    if scope["method"] != "POST" or scope["path"] != UPLOAD_PATH:
        return False
    return any(
        name.lower() == b"content-type" and value.startswith(b"multipart/form-data")
        for name, value in scope["headers"]
    )


def _declared_bytes(scope: dict[str, Any]) -> int:
    """The body's length in its header; 0 without a readable one, since the bytes are counted anyway."""
    for name, value in scope["headers"]:
        if name.lower() == b"content-length":
            digits = value.strip()
            if digits.isdigit():
                return int(digits) if len(digits) <= LONGEST_LENGTH_DIGITS else LARGEST_UPLOAD_BYTES + 1
    return 0


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receive function that returns the body as one message, then further messages of the client.

    That is its disconnect.
    """
    refused = False

    async def again() -> Message:
        nonlocal refused
        if refused:
            return await receive()
        refused = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(send: Send, most_bytes: int) -> None:
    """Answer 413 with the reason.

    The rest of the body is not read, so the connection cannot be used again.
    """
    answer = {
        "code": "too-large",
        "error": f"The request's body is larger than {most_bytes:,} bytes.",
        "hint": "Send less. Nothing was done.",
    }
    text = json.dumps(answer).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": text})
