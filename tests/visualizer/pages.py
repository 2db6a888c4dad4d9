"""A small scenario, and a page that implements the socket's protocol of `docs/http-api.md`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from channels.testing import WebsocketCommunicator

from labsite.asgi import application
from tests.visualizer.reading import FrameReader
from visualizer.labs.hub import current_hub

SCENARIO = """\
format: 1
name: two-towns
title: Two towns and one subscription
family: replicated-subscriptions
about: A small run for tests.
watch: The pin in b jumps once a second.
seed: 5
until: 8s
clusters:
  a: {}
  b: {}
links:
  default: {latency: 20ms}
topics:
  orders: {clusters: [a, b]}
producers:
  web: {topic: orders, cluster: a, start: 50ms, every: 20ms, count: 300, size: 1KB, keys: 4}
subscriptions:
  billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
consumers:
  billing-1: {subscription: billing, cluster: a, processing: 1ms}
"""

FAIL_OVER = {
    "do": "subscription.fail-over",
    "subscription": "billing",
    "from": "a",
    "to": "b",
    "mode": "planned",
}

HOST = "testserver"
ORIGIN = (b"origin", b"http://testserver")
PATIENCE_S = 120
"""For an answer that arrives immediately on an idle machine: after this time something is broken, and not
just slow.
"""


class Socket(WebsocketCommunicator):
    """Like Channels' own class, which waits for one second only."""

    async def connect(self, timeout: float = PATIENCE_S) -> tuple[bool, Any]:
        return await super().connect(timeout)

    async def receive_from(self, timeout: float = PATIENCE_S) -> Any:
        return await super().receive_from(timeout)

    async def disconnect(self, code: int = 1000, timeout: float = PATIENCE_S) -> None:
        await super().disconnect(code, timeout)


class Page:
    """A page on a lab's socket: sends hello, answers with `seen`, keeps what it receives
    (`tests.visualizer.reading`).
    """

    def __init__(
        self, lab_id: str, token: str | None = None, origin: tuple[bytes, bytes] | None = ORIGIN
    ) -> None:
        headers = [(b"host", HOST.encode())] + ([origin] if origin else [])
        self.socket = Socket(application, f"/ws/labs/{lab_id}/", headers=headers)
        self.token = token
        self.answers_seen = True
        self.frames: list[dict[str, Any]] = []
        self.reader = FrameReader()

    async def open(self, epoch: int | None = None, number: int | None = None) -> dict[str, Any]:
        """Connect and send hello; returns welcome."""
        connected, _ = await self.socket.connect()
        assert connected
        hello = {"type": "hello", "token": self.token, "epoch": epoch, "number": number}
        await self.send({name: value for name, value in hello.items() if value is not None})
        return await self.until("welcome")

    async def send(self, message: dict[str, Any]) -> None:
        await self.socket.send_to(text_data=json.dumps(message))

    async def receive(self) -> dict[str, Any]:
        message = json.loads(await self.socket.receive_from())
        if message["type"] == "frame":
            message = self.reader.read(message)
            self.frames.append(message)
            if self.answers_seen:
                await self.send({"type": "seen", "epoch": message["epoch"], "number": message["number"]})
        return message

    async def until(self, kind: str, test: Any = lambda message: True, messages: int = 400) -> dict[str, Any]:
        """The next message of a type that passes the test."""
        for _ in range(messages):
            message = await self.receive()
            if message["type"] == kind and test(message):
                return message
        raise AssertionError(f"no such {kind} among {messages} messages")

    async def frame(self, test: Any = lambda frame: True) -> dict[str, Any]:
        return await self.until("frame", test)

    async def command(self, **command: Any) -> dict[str, Any]:
        await self.send({"type": "command", "id": "c", "command": command})
        return await self.until("result")

    async def seek(self, at_us: int) -> dict[str, Any]:
        """Seek and wait for the snapshot frame there."""
        await self.send({"type": "seek", "at_us": at_us})
        return await self.frame(lambda frame: frame["snapshot"] and frame["at_us"] == at_us)

    async def close(self) -> None:
        await self.socket.disconnect()


async def saved(lab_id: str) -> None:
    """Returns when everything that this process has queued for the lab is in the database: outcomes,
    positions and failures are written after an answer.
    """
    while current_hub().saver.pending(lab_id):
        await asyncio.sleep(0.02)
