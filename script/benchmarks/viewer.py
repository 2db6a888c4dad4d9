"""A viewer of a lab for the benchmarks: a websocket client that reads frame heads and answers `seen`.

Only the few fields at the head of a frame are read, from one buffer that is filled in place, so that hundreds
of viewers in one process cost less than the server.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

_HEAD = re.compile(
    rb'\{"type":"frame","epoch":(\d+),"number":(\d+),"snapshot":\w+,"at_us":(\d+),[^{}]*?"busy":(null|\{)'
)
_LAGGED = re.compile(rb'\{"type":"lagged"')
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
"""Kinds of websocket frames (RFC 6455). The server closes a socket that sends no pongs."""

SLOW_BYTES_PER_S = 20_000
"""Reading rate of the slow viewer, far below the rate of sending."""

SLOW_PAUSE_S = 0.05
BUFFER_BYTES = 256 * 1024


@dataclass(slots=True)
class Seen:
    epoch: int
    number: int
    at_us: int
    received_s: float
    busy: bool


class Viewer(asyncio.BufferedProtocol):
    """One viewer: `frames` are in order of arrival, `lagged` counts the `lagged` messages of the server."""

    def __init__(self, port: int, lab: str, token: str = "", slow: bool = False, seen_every: int = 1) -> None:
        self.port, self.lab, self.token, self.slow, self.seen_every = port, lab, token, slow, seen_every
        self.frames: list[Seen] = []
        self.lagged = 0
        self.bytes_read = 0
        self._buffer = bytearray(BUFFER_BYTES)
        self._filled = 0
        self._unseen = 0
        self._error: BaseException | None = None
        self._closing = False

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._open = loop.create_future()
        self._transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", self.port)
        key = base64.b64encode(os.urandom(16)).decode()
        self._transport.write(
            f"GET /ws/labs/{self.lab}/ HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: "
            f"http://127.0.0.1:{self.port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        await self._open
        self.send({"type": "hello", "token": self.token} if self.token else {"type": "hello"})

    def check(self) -> None:
        """Raise the error that ended the reading, if any."""
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        self.check()
        self._closing = True
        self._transport.close()

    def send(self, message: dict[str, object]) -> None:
        self._write(TEXT, json.dumps(message).encode())

    def missed(self) -> int:
        """The number of frames missing within one epoch, by their numbers."""
        pairs = zip(self.frames, self.frames[1:])
        return sum(later.number - former.number - 1 for former, later in pairs if later.epoch == former.epoch)

    def _write(self, kind: int, payload: bytes) -> None:
        head = (
            bytes([0x80 | kind, 0x80 | len(payload)])
            if len(payload) < 126
            else bytes([0x80 | kind, 0x80 | 126]) + len(payload).to_bytes(2, "big")
        )
        self._transport.write(head + bytes(4) + payload)  # a mask of zeros does not change the payload

    # --- called by the event loop

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._filled == len(self._buffer):
            self._buffer += bytes(len(self._buffer))
        end = (
            self._filled + int(SLOW_BYTES_PER_S * SLOW_PAUSE_S)
            if self.slow and self._open.done()
            else len(self._buffer)
        )
        return memoryview(self._buffer)[self._filled : end]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        self.bytes_read += nbytes
        if not self._open.done():
            self._handshake()
            return
        if self.slow:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(SLOW_PAUSE_S, self._transport.resume_reading)
        read = 0
        for first, start, end in self._messages():
            self._take(first & 0x0F, start, end)
            read = end
        self._drop(read)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._closing:
            self._fail(error or RuntimeError("the server closed the lab's socket"))

    def _handshake(self) -> None:
        end = self._buffer.find(b"\r\n\r\n", 0, self._filled)
        if end < 0:
            return
        line = bytes(self._buffer[: self._buffer.find(b"\r\n")])
        self._drop(end + 4)
        if b" 101 " in line:
            self._open.set_result(None)
        else:
            self._fail(RuntimeError(f"the lab's socket refused: {line.decode(errors='replace')}"))

    def _drop(self, read: int) -> None:
        """Remove the first `read` bytes; the rest, part of a message, moves to the front."""
        if read:
            left = self._filled - read
            self._buffer[:left] = self._buffer[read : self._filled]
            self._filled = left

    def _messages(self) -> Iterator[tuple[int, int, int]]:
        """The first byte, start and end of the payload of each complete message in the buffer."""
        place = 0
        while self._filled - place >= 2:
            first, length, start = self._buffer[place], self._buffer[place + 1], place + 2
            if length > 125:
                start += 2 if length == 126 else 8
                length = int.from_bytes(self._buffer[place + 2 : start], "big")
            if start + length > self._filled:
                return
            place = start + length
            yield first, start, place

    def _take(self, kind: int, start: int, end: int) -> None:
        if kind == TEXT:
            found = _HEAD.match(self._buffer, start, end)
            if found is None:
                self.lagged += _LAGGED.match(self._buffer, start, end) is not None
                return
            epoch, number, at_us, busy = found.groups()
            self.frames.append(
                Seen(int(epoch), int(number), int(at_us), time.perf_counter(), busy != b"null")
            )
            self._unseen += 1
            if self._unseen >= self.seen_every:
                self._unseen = 0
                self._write(TEXT, b'{"type":"seen","epoch":%s,"number":%s}' % (epoch, number))
        elif kind == PING:
            self._write(PONG, bytes(self._buffer[start:end]))
        elif kind == CLOSE:
            self._fail(
                RuntimeError(
                    f"the lab's socket was closed: "
                    f"{bytes(self._buffer[start + 2 : end]).decode(errors='replace')}"
                )
            )

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        if not self._open.done():
            self._open.set_exception(error)
