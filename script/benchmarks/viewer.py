"""A viewer of a lab as the benchmark needs it: a websocket client that reads heads of frames and answers `seen`.

Only the few fields at the head of a frame are read, so that fifty viewers in one process cost less than the server.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import time
from dataclasses import dataclass, field

_HEAD = re.compile(r'"type":"frame","epoch":(\d+),"number":(\d+)')
_INSTANT = re.compile(r'"at_us":(\d+)')
_BUSY = re.compile(r'"busy":(null|\{)')
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
"""Kinds of websocket frames (RFC 6455). Without its pong the server hangs up after 50 s."""

SLOW_BYTES_PER_S = 20_000
"""How fast the slow viewer reads: far below what is sent to it."""


@dataclass(slots=True)
class Seen:
    epoch: int
    number: int
    at_us: int
    received_s: float
    busy: bool


@dataclass
class Viewer:
    """`frames` are in order of arrival; `lagged` counts the server's words that this viewer fell behind."""

    port: int
    lab: str
    token: str = ""
    slow: bool = False
    frames: list[Seen] = field(default_factory=list)
    lagged: int = 0
    bytes_read: int = 0

    async def connect(self) -> None:
        # the slow one keeps a small buffer, so that its slowness reaches the server soon
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port, limit=4096 if self.slow else 2**20)
        key = base64.b64encode(os.urandom(16)).decode()
        self._writer.write(
            f"GET /ws/labs/{self.lab}/ HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: http://127.0.0.1:{self.port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(f"the lab's socket refused: {head.decode(errors='replace').splitlines()[0]}")
        self.send({"type": "hello", "token": self.token} if self.token else {"type": "hello"})
        self._task = asyncio.create_task(self._read())

    def check(self) -> None:
        """Raises what ended the reading, if anything did."""
        if self._task.done():
            self._task.result()

    async def close(self) -> None:
        self.check()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._writer.close()

    def send(self, message: dict[str, object]) -> None:
        self._write(TEXT, json.dumps(message).encode())

    def _write(self, kind: int, payload: bytes) -> None:
        mask = os.urandom(4)
        head = bytes([0x80 | kind, 0x80 | len(payload)]) if len(payload) < 126 else bytes([0x80 | kind, 0x80 | 126]) + len(payload).to_bytes(2, "big")
        self._writer.write(head + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload)))

    async def _read(self) -> None:
        while True:
            first, second = await self._reader.readexactly(2)
            length = second & 0x7F
            if length > 125:
                length = int.from_bytes(await self._reader.readexactly(2 if length == 126 else 8), "big")
            payload = await self._payload(length)
            self.bytes_read += length
            kind = first & 0x0F
            if kind == TEXT:
                self._take(payload.decode())
            elif kind == PING:
                self._write(PONG, payload)
            elif kind == CLOSE:
                raise RuntimeError(f"the lab's socket was closed: {payload[2:].decode(errors='replace')}")

    async def _payload(self, length: int) -> bytes:
        if not self.slow:
            return await self._reader.readexactly(length)
        parts = []
        while length:
            part = await self._reader.readexactly(min(length, SLOW_BYTES_PER_S // 20))
            parts.append(part)
            length -= len(part)
            await asyncio.sleep(0.05)
        return b"".join(parts)

    def _take(self, text: str) -> None:
        found = _HEAD.search(text, 0, 200)
        if found is None:
            self.lagged += '"type":"lagged"' in text[:100]
            return
        epoch, number = int(found.group(1)), int(found.group(2))
        busy = _BUSY.search(text)
        self.frames.append(Seen(epoch, number, int(_INSTANT.search(text).group(1)), time.perf_counter(), bool(busy) and busy.group(1) != "null"))
        self.send({"type": "seen", "epoch": epoch, "number": number})

    def missed(self) -> int:
        """Frames that numbers of one epoch say were made and did not come."""
        pairs = zip(self.frames, self.frames[1:])
        return sum(later.number - former.number - 1 for former, later in pairs if later.epoch == former.epoch)
