"""Limits the bodies of requests before Django reads them.

Rules: Django writes a body to a temporary file, however long it is, before it checks its size. Here a body is
counted as it arrives, by its declared length and by its bytes (a chunked one declares no length), and held in
memory up to the limit. A longer one is answered with 413.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

LARGEST_BODY_BYTES = 1_048_576
"""Most bytes of one request's body.

It is four times the longest scenario, or ten times a thousand labs with their tokens.
"""

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
        if _declared_bytes(scope) > LARGEST_BODY_BYTES:
            await _refuse(send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > LARGEST_BODY_BYTES:
                await _refuse(send)
                return
            more = message.get("more_body", False)
        await self.application(scope, _replayed(bytes(body), receive), send)


def _declared_bytes(scope: dict[str, Any]) -> int:
    """The body's length in its header; 0 without a readable one, since the bytes are counted anyway."""
    for name, value in scope["headers"]:
        if name.lower() == b"content-length":
            digits = value.strip()
            if digits.isdigit():
                return int(digits) if len(digits) <= LONGEST_LENGTH_DIGITS else LARGEST_BODY_BYTES + 1
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


async def _refuse(send: Send) -> None:
    """Answer 413 with the reason.

    The rest of the body is not read, so the connection cannot be used again.
    """
    answer = {
        "code": "too-large",
        "error": f"The request's body is larger than {LARGEST_BODY_BYTES:,} bytes.",
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
