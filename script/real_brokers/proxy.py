"""The links between clusters: TCP proxies that hold bytes back, in a process of their own.

Each ordered pair of clusters has one proxy, through which the broker of the first connects to the broker of
the second. What the first sends travels on the link `first -> second`, the responses on `second -> first`.

Rules: bytes keep their order. A chunk is delivered one latency after it was read, later if the bandwidth
delays it. A partitioned link holds its bytes and delivers them after the heal, as TCP does. A cut breaks the
connections that the first cluster opened, with what they hold, and refuses new ones. Bytes that a killed
process had sent are still delivered, and then the end of the connection. A connection holds at most
`HELD_MAX_BYTES` each way, as with a full TCP window. The process speaks the protocol of `rig.py` and ends
when its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import selectors
import socket
import sys
import threading
from asyncio.trsock import TransportSocket
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from simulator.kernel.distributions import Sampler, Span
from simulator.kernel.random import stream_key

HOST = "127.0.0.1"
CHUNK_BYTES = 65_536
HELD_MAX_BYTES = 8 * 2**20
"""The most bytes that one direction of a connection holds: eight seconds at 1 MB/s."""

Pair = tuple[str, str]


@dataclass(slots=True)
class Link:
    """One directed link; `latency` is drawn for each chunk, so a constant one has no jitter."""

    pair: Pair
    declared: Span
    latency: Sampler
    bandwidth_bytes_per_s: int | None = None
    open: asyncio.Event = field(default_factory=asyncio.Event)
    is_cut: bool = False
    drawn: int = 0
    free_at_s: float = 0.0

    def due_s(self, now_s: float, size_bytes: int) -> float:
        """The instant at which a chunk that was read now has passed the link."""
        sent_s = now_s
        if self.bandwidth_bytes_per_s:
            sent_s = self.free_at_s = max(now_s, self.free_at_s) + size_bytes / self.bandwidth_bytes_per_s
        latency_us = self.latency.at(self.drawn)
        self.drawn += 1
        return sent_s + latency_us / 1e6

    def change_latency(self, span: Span) -> None:
        """Use another latency from now on."""
        self.latency = _sampler(self.pair, span)


def _sampler(pair: Pair, span: Span) -> Sampler:
    return Sampler(span, stream_key(0, f"proxy/{pair[0]}/{pair[1]}"))


class Direction:
    """One direction of one connection; `source` is the socket that `reader` reads."""

    def __init__(
        self,
        link: Link,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        source: TransportSocket,
    ) -> None:
        self._link, self._reader, self._writer, self._socket = link, reader, writer, source
        self._held: deque[tuple[float, bytes]] = deque()
        self._held_bytes = 0
        self._changed = asyncio.Event()
        self._ended = False

    async def run(self) -> None:
        """Carry bytes until the sender ends the connection and all its bytes are delivered."""
        reading = asyncio.ensure_future(self._read())
        try:
            await self._write()
        except OSError:
            return  # the receiver has ended: nobody reads what is held
        finally:
            reading.cancel()
            self._writer.close()

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        last_s = 0.0
        while True:
            try:
                chunk = await self._reader.read(CHUNK_BYTES)
                self._acknowledge()
            except OSError:
                chunk = b""  # a killed process resets its connections
            if not chunk:
                self._ended = True
                self._changed.set()
                return
            last_s = max(last_s, self._link.due_s(loop.time(), len(chunk)))
            self._held.append((last_s, chunk))
            self._held_bytes += len(chunk)
            self._changed.set()
            while self._held_bytes > HELD_MAX_BYTES:
                await asyncio.sleep(0.01)

    def _acknowledge(self) -> None:
        """Have the kernel acknowledge what was read; the option holds until its next delayed one."""
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._held:
                if self._ended:
                    return
                self._changed.clear()
                await self._changed.wait()
            due_s = self._held[0][0]
            if due_s > loop.time():
                await asyncio.sleep(due_s - loop.time())
            await self._link.open.wait()
            chunk = self._held.popleft()[1]
            self._held_bytes -= len(chunk)
            self._writer.write(chunk)
            await self._writer.drain()


class Proxies:
    """All links and proxies; its methods are the requests of the process."""

    def __init__(self) -> None:
        self.links: dict[Pair, Link] = {}
        self._servers: list[asyncio.Server] = []
        self._writers: dict[Pair, set[asyncio.StreamWriter]] = {}

    def link(
        self, source: str, target: str, latency: dict[str, Any], bandwidth_bytes_per_s: int | None = None
    ) -> dict[str, Any]:
        """Declare a link with its latency (the fields of a distribution)."""
        span, pair = Span(**latency), (source, target)
        link = Link(pair, span, _sampler(pair, span), bandwidth_bytes_per_s)
        link.open.set()
        self.links[pair] = link
        return {}

    async def listen(self, source: str, target: str, port: int, target_port: int) -> dict[str, Any]:
        """Accept connections of `source` to `target` on a port."""
        out, back = self.links[source, target], self.links[target, source]

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if out.is_cut:
                writer.transport.abort()
                return
            try:
                far_reader, far_writer = await asyncio.open_connection(HOST, target_port)
            except OSError:
                writer.close()
                return
            both = {writer, far_writer}
            near_socket, far_socket = (one.get_extra_info("socket") for one in (writer, far_writer))
            for one in (near_socket, far_socket):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            writers = self._writers.setdefault((source, target), set())
            writers |= both
            there = Direction(out, reader, far_writer, near_socket).run()
            await asyncio.gather(there, Direction(back, far_reader, writer, far_socket).run())
            writers -= both

        self._servers.append(await asyncio.start_server(accept, HOST, port))
        return {}

    def cut(self, source: str, target: str) -> dict[str, Any]:
        """Break the connections that `source` opened to `target`, and refuse new ones."""
        self.links[source, target].is_cut = True
        for writer in self._writers.pop((source, target), set()):
            writer.transport.abort()
        return {}

    def partition(self, source: str, target: str) -> dict[str, Any]:
        """Let nothing pass; connections hold what is sent."""
        self.links[source, target].open.clear()
        return {}

    def slow(self, source: str, target: str, latency_us: int) -> dict[str, Any]:
        """Change the latency of a link; bytes that it already holds keep theirs."""
        self.links[source, target].change_latency(Span(value_us=latency_us))
        return {}

    def heal(self, source: str, target: str) -> dict[str, Any]:
        """Let everything pass again, with the declared latency."""
        link = self.links[source, target]
        link.change_latency(link.declared)
        link.open.set()
        link.is_cut = False
        return {}


async def answer(proxies: Proxies, line: str) -> str:
    """The answer to one request, as a line."""
    request = json.loads(line)
    request_id, do = request.pop("id"), request.pop("do")
    try:
        if do not in ("link", "listen", "cut", "partition", "slow", "heal"):
            raise ValueError(f"unknown request {do}; use link, listen, cut, partition, slow or heal")
        made = getattr(proxies, do)(**request)
        fields = await made if asyncio.iscoroutine(made) else made
        return json.dumps({"id": request_id, "ok": True, **fields})
    except (OSError, ValueError, KeyError, TypeError) as error:
        text = f"{type(error).__name__}: {error}"
        return json.dumps({"id": request_id, "ok": False, "error": text})


async def serve() -> None:
    """Answer requests until standard input ends."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, "")

    threading.Thread(target=read, daemon=True).start()
    proxies = Proxies()
    while line := await lines.get():
        print(await answer(proxies, line), flush=True)


def main() -> None:
    # epoll rounds waits up to whole milliseconds, select does not
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    asyncio.set_event_loop(loop)
    loop.run_until_complete(serve())


if __name__ == "__main__":
    main()
