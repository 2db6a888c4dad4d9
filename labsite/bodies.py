"""Limits request bodies before Django reads them: their length, their time, and what is in transfer.

Rules: Django writes a body to a temporary file, however long it is, before it checks its size. Here a body is
counted as it arrives, by its declared length and by its bytes (a chunked one declares no length), and held in
memory up to the limit. An upload is counted in the same way, but passed on as it arrives. A longer body is
answered with 413, one that arrives too slowly with 408, and one for which no space is left with 503.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from visualizer.labs.clients import AUDITS_PER_CLIENT, client
from visualizer.tasks.uploads import MIB, UPLOAD_MIB_MOST

LARGEST_BODY_BYTES = 1_048_576
"""Most bytes of one request's body.

It is four times the longest scenario, or ten times a thousand labs with their tokens.
"""

UPLOAD_PATH, LARGEST_UPLOAD_BYTES = "/audits/", (UPLOAD_MIB_MOST + 1) * MIB
"""Where files are uploaded, and the most bytes of such a body: the files, and the form around them."""

PAUSE_S, LEAST_BYTES_PER_S = 20.0, 16_384
"""The longest pause between two parts of a body, and the least bytes per second of it after that time."""

RETRY_AFTER_S = 20
"""When a client may try again that was answered 503."""

LONGEST_LENGTH_DIGITS = 18
"""Most digits of a Content-Length that are read as a number."""

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class InProgress:
    """The bytes of bodies in progress, by address: declared ones from the start, others as they arrive."""

    def __init__(self, largest_bytes: int, per_address: int, in_all: int) -> None:
        self.largest_bytes = largest_bytes
        self.per_address_bytes, self.in_all_bytes = per_address * largest_bytes, in_all * largest_bytes
        self.taken: Counter[str] = Counter()

    def take(self, address: str, size_bytes: int) -> bool:
        """Count bytes of an address. Returns whether there is space for them."""
        if self.taken.total() + size_bytes > self.in_all_bytes:
            return False
        if address and self.taken[address] + size_bytes > self.per_address_bytes:
            return False
        self.taken[address] += size_bytes
        return True

    def give_back(self, address: str, size_bytes: int) -> None:
        self.taken[address] -= size_bytes
        if not self.taken[address]:
            del self.taken[address]


BODIES = InProgress(LARGEST_BODY_BYTES, per_address=32, in_all=128)
"""Bodies in memory."""

UPLOADS = InProgress(LARGEST_UPLOAD_BYTES, per_address=AUDITS_PER_CLIENT, in_all=4 * AUDITS_PER_CLIENT)
"""Uploads, in Django's temporary files until the audit has them."""


class _BodyRefused(Exception):
    """The status and words of the answer to a body that is not read on."""

    def __init__(self, status: int, code: str, error: str, hint: str) -> None:
        super().__init__(error)
        self.status, self.answer = status, {"code": code, "error": error, "hint": hint}


class _Body:
    """One request's body while it arrives."""

    def __init__(self, space: InProgress, receive: Receive, declared_bytes: int) -> None:
        self._space, self._receive, self._address = space, receive, client.get()
        self._begin_s = time.monotonic()
        self._arrived_bytes = self._taken_bytes = 0
        self.complete = False
        self._count(declared_bytes)

    def _count(self, size_bytes: int) -> None:
        """Take space for that many bytes in all."""
        if size_bytes > self._space.largest_bytes:
            raise _BodyRefused(
                413,
                "too-large",
                f"The request's body is larger than {self._space.largest_bytes:,} bytes.",
                "Send less. Nothing was done.",
            )
        more_bytes = size_bytes - self._taken_bytes
        if more_bytes > 0:
            if not self._space.take(self._address, more_bytes):
                raise _BodyRefused(
                    503,
                    "too-many",
                    "Too many bodies of requests are in transfer, from your address or in all.",
                    f"Send it again in {RETRY_AFTER_S} s. Nothing was done.",
                )
            self._taken_bytes = size_bytes

    async def next(self) -> Message:
        """The next part, or the client's disconnect. Raises _BodyRefused."""
        if self.complete:
            return await self._receive()
        late = _BodyRefused(
            408,
            "too-slow",
            f"The request's body paused for {PAUSE_S:.0f} s, or came with less than "
            f"{LEAST_BYTES_PER_S:,} bytes per second.",
            "Send it again over a faster connection. Nothing was done.",
        )
        try:
            async with asyncio.timeout(PAUSE_S):
                message = await self._receive()
        except TimeoutError:
            raise late from None
        self._arrived_bytes += len(message.get("body", b""))
        self._count(self._arrived_bytes)
        self.complete = not message.get("more_body", False)
        slow_s = time.monotonic() - self._begin_s - PAUSE_S
        if not self.complete and slow_s * LEAST_BYTES_PER_S > self._arrived_bytes:
            raise late
        return message

    def end(self) -> None:
        self._space.give_back(self._address, self._taken_bytes)


class BoundedBodies:
    """ASGI application that passes an HTTP request on with its whole body, or refuses it."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        space = UPLOADS if _is_upload(scope) else BODIES
        body = None
        try:
            body = _Body(space, receive, _declared_bytes(scope))
            if space is UPLOADS:
                await self._passed_on(scope, body, send)
            else:
                await self._whole(scope, body, receive, send)
        except _BodyRefused as refused:
            await _refuse(send, refused)
        finally:
            if body is not None:
                body.end()

    async def _whole(self, scope: dict[str, Any], body: _Body, receive: Receive, send: Send) -> None:
        whole = bytearray()
        while not body.complete:
            message = await body.next()
            if message["type"] == "http.disconnect":
                return
            whole += message.get("body", b"")
        await self.application(scope, _replayed(bytes(whole), receive), send)

    async def _passed_on(self, scope: dict[str, Any], body: _Body, send: Send) -> None:
        """Pass an upload on as it arrives; one that is refused ends for the application as if cut off."""
        refused: list[_BodyRefused] = []

        async def counted() -> Message:
            try:
                return await body.next()
            except _BodyRefused as error:
                refused.append(error)
                return {"type": "http.disconnect"}

        await self.application(scope, counted, send)
        if refused:
            raise refused[0]


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


async def _refuse(send: Send, refused: _BodyRefused) -> None:
    """Answer with the reason.

    The rest of the body is not read, so the connection cannot be used again.
    """
    text = json.dumps(refused.answer).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if refused.status == 503:
        headers.append((b"retry-after", str(RETRY_AFTER_S).encode()))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
