"""What one client sends does not keep another waiting.

A flood is sent to a site in a process of its own while another visitor asks again and again. The longest wait
is measured in the processor time of the site's event loop between question and answer, beside the median
before the flood, so that a busy machine does not change the outcome.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labsite import bodies, turns
from script.support.serve import HEAD_BYTES, MESSAGE_BYTES
from simulator.scenarios.editing import builtin_text
from tests.visualizer.pages import SCENARIO
from tests.visualizer.site import Site
from visualizer.labs import clients

PATIENCE_S = 120
LONGEST_WAIT_MS = 150
"""Without turns it was 285 to 515 ms for these floods."""

LONG_RUN = "slow-consumer-spread"
LONGEST_CHECK_MS = 400
"""Waiting for one of these runs it was 820 ms, and 100 ms without one."""

MASKED = b"\x80\x01\x02\x03\x04"
"""Length 0 and the mask of an empty frame."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


def handshake(path: str, host: str) -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def frame(opcode: int, data: bytes = b"") -> bytes:
    """A whole frame of a client, its mask zero."""
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return bytes([0x80 | opcode]) + size + bytes(4) + data


def chunked(size: int, extension: bytes = b"") -> bytes:
    """A body in chunks of one byte."""
    return (b"1" + extension + b"\r\n[\r\n") * size + b"0\r\n\r\n"


POST = b"POST /labs/mine/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"

FLOODS = {
    "pongs": (True, (b"\x8a" + MASKED) * 100_000),
    "pings": (True, (b"\x89" + MASKED) * 100_000),
    "pings with data": (True, frame(9, b"x" * 100) * 20_000),
    "empty texts": (True, (b"\x81" + MASKED) * 100_000),
    "empty bytes": (True, (b"\x82" + MASKED) * 100_000),
    "continuations": (True, b"\x01" + MASKED + (b"\x00" + MASKED) * 100_000),
    "chunks of one byte": (False, POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(100_000)),
    "chunks with extensions": (
        False,
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(30_000, b";a=bcdefghijklm"),
    ),
    "pipelined requests": (False, b"GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 5_000),
    "many headers": (False, b"GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"a:b\r\n" * 12_000 + b"\r\n"),
}
"""Name: (whether it is sent over a lab's socket, the bytes). Each has at least 60 KB."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    site = Site(Path(tmp_path_factory.mktemp("attacked"))).wait()
    yield site
    site.stop()


def loop_ms(site: Site) -> float:
    """Processor time that the site's first thread, which runs its event loop, has had."""
    return int(Path(f"/proc/{site.process.pid}/schedstat").read_text().split()[0]) / 1e6


async def _asked(site: Site) -> float:
    """A question of another visitor: the time that the event loop worked until the answer was complete."""
    begin_ms = loop_ms(site)
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port, local_addr=("127.0.0.2", 0))
    writer.write(b"GET /editor/schema.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()
    return loop_ms(site) - begin_ms


async def _flooded(site: Site, path: str, over_socket: bool, flood: bytes) -> None:
    """Send the flood and wait until the site has closed the connection, or answered and been left."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    if over_socket:
        writer.write(handshake(path, f"127.0.0.1:{site.port}"))
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    writer.write(flood)
    try:
        while over_socket and await reader.read(65_536):
            pass
        await reader.read(65_536)
    except ConnectionError:
        pass
    writer.close()


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_keeps_no_other_visitor_waiting(site: Site, name: str) -> None:
    over_socket, flood = FLOODS[name]
    lab = await asyncio.to_thread(site.open_lab, scenario="two-regions")
    before = [await _asked(site) for _ in range(40)]
    waits = []
    async with asyncio.timeout(PATIENCE_S):
        attack = asyncio.create_task(_flooded(site, f"/ws/labs/{lab['id']}/", over_socket, flood))
        while not attack.done() or len(waits) < 20:
            waits.append(await _asked(site))
        await attack
    print(f"{name}: longest wait {max(waits):.1f} ms, median before {statistics.median(before):.1f} ms")
    assert max(waits) < LONGEST_WAIT_MS


def process_ms(site: Site) -> float:
    """Processor time that all threads of the site have had."""
    fields = Path(f"/proc/{site.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return 1_000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _posted(site: Site, path: str, text: str, address: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port, local_addr=(address, 0))
    body = json.dumps({"yaml": text}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nConnection: close\r\n\r\n".encode() + body)
    answer = await reader.read()
    writer.close()
    return answer


async def test_a_check_waits_for_no_run_of_another_visitor(site: Site) -> None:
    """Beside four runs at a time, in the processor time of the whole site until the check is answered."""
    run = builtin_text(LONG_RUN)

    async def asked() -> float:
        begin_ms = process_ms(site)
        assert b'"count": 0' in await _posted(site, "/editor/check/", SCENARIO, "127.0.0.2")
        return process_ms(site) - begin_ms

    async def ran() -> None:
        for _ in range(2):
            answer = await _posted(site, "/editor/outcome/", run, "127.0.0.3")
            assert b'"failovers"' in answer or b'"busy"' in answer, answer  # as on a busy machine

    async with asyncio.timeout(PATIENCE_S):
        alone = [await asked() for _ in range(10)]
        runs = asyncio.gather(*(ran() for _ in range(4)))
        waits = []
        while not runs.done():
            waits.append(await asked())
        await runs
    print(f"longest wait {max(waits):.0f} ms of {len(waits)}, longest before {max(alone):.0f} ms")
    assert max(waits) < LONGEST_CHECK_MS


@asynccontextmanager
async def _served(application: Application) -> AsyncIterator[int]:
    """The port of an application served with the site's protocols in this event loop."""
    config = uvicorn.Config(
        application,
        host="127.0.0.1",
        port=0,
        http="labsite.turns:Http",
        ws="labsite.turns:Sockets",
        ws_per_message_deflate=False,
        ws_max_size=MESSAGE_BYTES,
        h11_max_incomplete_event_size=HEAD_BYTES,
        lifespan="off",
        log_level="critical",
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        await server.shutdown()


async def _echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer a request with its body; keep what a socket sends, and send it back when asked to."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        got: list[str] = []
        while (message := await receive())["type"] == "websocket.receive":
            got.append(message.get("text") or "")
            if got[-1] == "end":
                await send({"type": "websocket.send", "text": ",".join(got)})
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


sizes = st.lists(st.integers(0, 40_000), min_size=1, max_size=5)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(lengths=sizes, in_chunks=st.booleans(), texts=sizes, at_once=st.booleans())
def test_everything_arrives_whole_and_in_order(
    lengths: list[int], in_chunks: bool, texts: list[int], at_once: bool
) -> None:
    """Requests one after the other on a connection, and messages of a socket, in one write or in several."""

    async def sent(writer: asyncio.StreamWriter, parts: list[bytes]) -> None:
        for part in [b"".join(parts)] if at_once else parts:
            writer.write(part)
            await writer.drain()

    async def exchange() -> None:
        async with asyncio.timeout(PATIENCE_S), _served(_echo) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = b"POST / HTTP/1.1\r\nHost: a\r\n"
            parts = []
            for size in lengths:
                length = f"Content-Length: {size}\r\n\r\n".encode()
                parts.append(
                    head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(size // 8)
                    if in_chunks
                    else head + length + b"x" * size
                )
            await sent(writer, parts)
            for size in lengths:
                answer = await reader.readuntil(b"\r\n\r\n")
                length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                assert length == (size // 8 if in_chunks else size)
                assert len(await reader.readexactly(length)) == length
            writer.close()

            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(handshake("/", "a"))
            await reader.readuntil(b"\r\n\r\n")
            said = [str(number) * (size // 8 + 1) for number, size in enumerate(texts)] + ["end"]
            await sent(writer, [frame(1, text.encode()) for text in said])
            head2 = await reader.readexactly(2)
            size = head2[1]
            if size >= 126:
                size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
            assert (await reader.readexactly(size)).decode().split(",") == said
            writer.close()

    asyncio.run(exchange())


async def test_sockets_that_one_address_opens_at_once_are_all_accepted() -> None:
    """As by a class behind one router; a head that is longer than a piece makes each wait for its turns."""

    async def opened(port: int) -> tuple[bytes, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        cookie = b"\r\nCookie: key=" + b"x" * 3_000 + b"\r\n\r\n"
        writer.write(handshake("/", "a").replace(b"\r\n\r\n", cookie))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(frame(1, b"end"))
        return await reader.readexactly(5), writer

    async with asyncio.timeout(PATIENCE_S), _served(_echo) as port:
        for data, writer in await asyncio.gather(*(opened(port) for _ in range(40))):
            assert data == b"\x81\x03end"
            writer.close()


async def test_an_answer_goes_before_the_rest_of_a_flood() -> None:
    """By events alone: the flood's request is not complete when another client has its answer."""
    complete: list[str] = []

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await _echo(scope, receive, send)
        complete.append(scope["path"])

    async with asyncio.timeout(PATIENCE_S), _served(application) as port:
        flood = b"POST /flood HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(200_000)
        _, attacker = await asyncio.open_connection("127.0.0.1", port)
        attacker.write(flood)
        while not turns.TURNS.busy:
            await asyncio.sleep(0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        assert complete == ["/small"]
        while "/flood" not in complete:
            await asyncio.sleep(0.01)
        attacker.close()
        writer.close()


@pytest.mark.parametrize(
    ("parts", "most"),
    [
        (b"\x8a" + MASKED, turns.CONTROL_FRAMES),
        (b"\x89" + MASKED, turns.CONTROL_FRAMES),
        (frame(1, b"a"), turns.MESSAGES),
        (frame(2, b"a"), turns.MESSAGES),
        (b"\x01" + MASKED + b"\x80" + MASKED, turns.MESSAGES // 2),
    ],
    ids=["pongs", "pings", "texts", "bytes", "parts"],
)
async def test_a_socket_is_closed_beyond_its_bound(
    parts: bytes, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "CONTROL_FRAMES_PER_S", 0)
    monkeypatch.setattr(turns, "MESSAGES_PER_S", 0)
    async with asyncio.timeout(PATIENCE_S), _served(_echo) as port:
        for number, closed in ((most - 1, False), (most + 1, True)):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(handshake("/", "a"))
            await reader.readuntil(b"\r\n\r\n")
            writer.write(parts * number + (b"" if closed else b"\x88" + MASKED))
            answer = b""
            try:
                while more := await reader.read(65_536):
                    answer += more
            except ConnectionError:
                pass
            assert ((1008).to_bytes(2, "big") in answer) == closed
            writer.close()


async def _closed(reader: asyncio.StreamReader) -> bool:
    """Wait until the server closes the connection without an answer."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


async def test_an_address_has_a_bound_of_connections(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(turns, "CONNECTIONS_PER_ADDRESS", 3)
    async with asyncio.timeout(PATIENCE_S), _served(_echo) as port:
        streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        over, over_writer = await asyncio.open_connection("127.0.0.1", port)
        assert await _closed(over)
        for _, writer in [*streams[:1], (over, over_writer)]:
            writer.close()
        other, other_writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
        other_writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert (await other.read()).startswith(b"HTTP/1.1 200"), "another address"
        settings.TRUSTED_PROXIES = ["127.0.0.1"]
        more = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for reader, writer in more:
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200"), "a trusted proxy"
        for _, writer in [*streams, *more]:
            writer.close()


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n"])
@pytest.mark.parametrize("after_an_answer", [False, True])
async def test_a_head_that_is_not_completed_ends_its_connection(
    begun: bytes, after_an_answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "HEAD_S", 0.1)
    async with asyncio.timeout(PATIENCE_S), _served(_echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        if after_an_answer:
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
        writer.write(begun)
        assert await _closed(reader)
        writer.close()


class _Sender:
    """A client whose body stops before its last byte, and goes on when told to."""

    def __init__(self, path: str, declared: int | None, parts: list[int], address: str) -> None:
        form = [(b"content-type", b"multipart/form-data; boundary=x")]
        length = [] if declared is None else [(b"content-length", str(declared).encode())]
        self.scope = {"type": "http", "method": "POST", "path": path, "headers": form + length}
        self.address, self.status = address, 0
        self.headers: dict[bytes, bytes] = {}
        self._parts = [{"type": "http.request", "body": b"x" * size, "more_body": True} for size in parts]
        self._go_on = asyncio.Event()
        self.waits = asyncio.Event()

    def finish(self) -> None:
        self._go_on.set()

    async def _receive(self) -> dict[str, Any]:
        if self._parts:
            return self._parts.pop(0)
        self.waits.set()
        await self._go_on.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])

    async def send(self) -> int:
        """Send the request and return the status of its answer; 0 without one, as after a disconnect."""
        clients.client.set(self.address)
        await bodies.BoundedBodies(_reading)(self.scope, self._receive, self._send)
        return self.status


async def _reading(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Like Django: reads the body, and answers unless the client has gone."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})


@pytest.mark.parametrize(("path", "space"), [("/audits/", "UPLOADS"), ("/labs/mine/", "BODIES")])
@pytest.mark.parametrize("declared", [90, None])
async def test_bodies_in_transfer_have_a_bound_per_address_and_in_all(
    path: str, space: str, declared: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, space, bodies.InProgress(100, per_address=2, in_all=4))
    waiting: list[tuple[_Sender, asyncio.Task[int]]] = []

    async def begun(address: str) -> int | None:
        """The status of a refusal, or None while the body is in transfer."""
        sender = _Sender(path, declared, [40, 49], address)
        task = asyncio.create_task(sender.send())
        held = asyncio.create_task(sender.waits.wait())
        await asyncio.wait([task, held], return_when=asyncio.FIRST_COMPLETED)
        held.cancel()
        if task.done():
            assert int(sender.headers[b"retry-after"]) > 0
            return task.result()
        waiting.append((sender, task))
        return None

    async with asyncio.timeout(PATIENCE_S):
        assert [await begun("192.0.2.1") for _ in range(3)] == [None, None, 503]
        assert [await begun("192.0.2.2") for _ in range(3)] == [None, None, 503]
        assert await begun("192.0.2.3") == 503, "no space in all"
        for sender, _ in waiting:
            sender.finish()
        assert [await task for _, task in waiting] == [200] * 4
        assert await begun("192.0.2.1") is None, "the space was given back"
        waiting[-1][0].finish()
        assert await waiting[-1][1] == 200 and not getattr(bodies, space).taken


@pytest.mark.parametrize("path", ["/audits/", "/labs/mine/"])
async def test_a_body_that_pauses_is_not_waited_for(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PAUSE_S", 0.05)
    async with asyncio.timeout(PATIENCE_S):
        assert await _Sender(path, 1_000, [10, 10], "192.0.2.1").send() == 408
    assert not bodies.UPLOADS.taken and not bodies.BODIES.taken


@pytest.mark.parametrize(("every_s", "status"), [(1.0, 200), (1.2, 408)])
async def test_a_body_that_comes_too_slowly_is_not_waited_for(
    every_s: float, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of the least speed's bytes for a second each, at that speed and below it."""
    now_s = iter(number * every_s for number in range(10_000))
    monkeypatch.setattr(bodies, "time", SimpleNamespace(monotonic=lambda: next(now_s)))
    sender = _Sender("/audits/", None, [bodies.LEAST_BYTES_PER_S] * 200, "192.0.2.1")
    sender.finish()
    async with asyncio.timeout(PATIENCE_S):
        assert await sender.send() == status
