"""Links between clusters: proxies that keep order, hold bytes while a link is cut, and deliver what was sent."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from script.real_brokers.install import take_ports
from script.real_brokers.proxy import Direction, Link, Proxies, _sampler, answer
from simulator.kernel.distributions import Span

PATIENCE_S = 30


def link(latency_us: int, bandwidth: int | None = None) -> Link:
    span = Span(value_us=latency_us)
    return Link(("west", "east"), span, _sampler(("west", "east"), span), bandwidth)


def test_a_chunk_is_due_one_latency_after_it_was_read():
    assert link(40_000).due_s(10.0, 5_000) == pytest.approx(10.04)


def test_bandwidth_delays_a_chunk_behind_the_bytes_before_it():
    slow = link(40_000, bandwidth=1_000)
    assert slow.due_s(10.0, 500) == pytest.approx(10.54)
    assert slow.due_s(10.0, 500) == pytest.approx(11.04)
    assert slow.due_s(20.0, 500) == pytest.approx(20.54)


def test_a_latency_that_varies_is_drawn_from_its_distribution():
    pair = ("west", "east")
    span = Span("uniform", low_us=10_000, high_us=20_000)
    varying = Link(pair, span, _sampler(pair, span))
    drawn = [varying.due_s(0.0, 1) for _ in range(200)]
    assert min(drawn) >= 0.01 and max(drawn) <= 0.02 and len(set(drawn)) > 100
    varying.change_latency(Span(value_us=5_000))
    assert varying.due_s(1.0, 1) == pytest.approx(1.005)


class Far:
    """A server behind a proxy: what it received, and its open connections."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.changed = asyncio.Event()
        self.writers: list[asyncio.StreamWriter] = []
        self.ended = False

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        while chunk := await reader.read(1000):
            self.received += chunk
            self.changed.set()
        self.ended = True
        self.changed.set()

    async def until(self, reached) -> None:
        while not reached():
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), PATIENCE_S)


@pytest.fixture
async def linked():
    """A proxy from west to east with 1 ms each way, and the server behind it."""
    proxies, far = Proxies(), Far()
    port, target_port = take_ports(2)
    server = await asyncio.start_server(far.accept, "127.0.0.1", target_port)
    for source, target in (("west", "east"), ("east", "west")):
        proxies.link(source, target, {"value_us": 1_000})
    await proxies.listen("west", "east", port, target_port)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    yield proxies, far, reader, writer
    writer.close()
    server.close()


async def test_bytes_pass_both_ways_in_order(linked):
    _proxies, far, reader, writer = linked
    sent = bytes(range(256)) * 2_000
    writer.write(sent)
    await far.until(lambda: len(far.received) == len(sent))
    assert bytes(far.received) == sent
    far.writers[0].write(b"response")
    assert await asyncio.wait_for(reader.readexactly(8), PATIENCE_S) == b"response"


async def test_a_partitioned_link_holds_its_bytes_until_it_is_healed_and_the_other_direction_works(linked):
    proxies, far, reader, writer = linked
    writer.write(b"before ")
    await far.until(lambda: far.received == b"before ")
    proxies.partition("west", "east")
    writer.write(b"held")
    far.writers[0].write(b"back")
    assert await asyncio.wait_for(reader.readexactly(4), PATIENCE_S) == b"back"
    assert far.received == b"before "
    proxies.heal("west", "east")
    await far.until(lambda: far.received == b"before held")


async def test_a_cut_breaks_the_connections_that_the_first_cluster_opened_and_refuses_new_ones(linked):
    proxies, far, reader, writer = linked
    writer.write(b"before ")
    await far.until(lambda: far.received == b"before ")
    port = writer.get_extra_info("peername")[1]
    proxies.cut("west", "east")
    assert await _ends(reader)
    await far.until(lambda: far.ended)
    refused, refused_writer = await asyncio.open_connection("127.0.0.1", port)
    assert await _ends(refused)
    refused_writer.close()
    proxies.heal("west", "east")
    _reader, healed = await asyncio.open_connection("127.0.0.1", port)
    healed.write(b"after")
    await far.until(lambda: far.received.endswith(b"after"))
    healed.close()


async def test_a_cut_in_one_direction_leaves_the_other_clusters_connections(linked):
    proxies, far, reader, writer = linked
    proxies.cut("east", "west")
    writer.write(b"there")
    await far.until(lambda: far.received == b"there")
    far.writers[0].write(b"back")
    assert await asyncio.wait_for(reader.readexactly(4), PATIENCE_S) == b"back"


async def _ends(reader):
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    except ConnectionResetError:
        return True


async def test_what_a_sender_wrote_before_it_ended_is_delivered_before_the_end(linked):
    proxies, far, _reader, writer = linked
    proxies.partition("west", "east")
    writer.write(b"last words")
    await writer.drain()
    writer.close()
    assert not far.ended
    proxies.heal("west", "east")
    await far.until(lambda: far.ended)
    assert far.received == b"last words"


async def test_a_connection_to_a_cluster_that_is_down_ends_at_once():
    proxies = Proxies()
    port, nobody = take_ports(2)
    for source, target in (("west", "east"), ("east", "west")):
        proxies.link(source, target, {"value_us": 0})
    await proxies.listen("west", "east", port, nobody)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    writer.close()


async def test_slow_and_heal_change_the_latency_of_one_direction():
    proxies = Proxies()
    for source, target in (("west", "east"), ("east", "west")):
        request = {"id": 1, "do": "link", "source": source, "target": target, "latency": {"value_us": 7}}
        assert json.loads(await answer(proxies, json.dumps(request))) == {"id": 1, "ok": True}
    proxies.slow("west", "east", 900)
    there, back = proxies.links["west", "east"], proxies.links["east", "west"]
    assert (there.latency.constant, back.latency.constant) == (900, 7)
    proxies.heal("west", "east")
    assert there.latency.constant == 7


@pytest.mark.parametrize(
    "request_", [{"do": "explode"}, {"do": "cut", "source": "west", "target": "mars"}, {"do": "cut"}]
)
async def test_a_wrong_request_is_answered_with_its_error(request_):
    response = json.loads(await answer(Proxies(), json.dumps({"id": 3, **request_})))
    assert response["id"] == 3 and response["ok"] is False and response["error"]


class Acknowledging:
    """The socket that a direction reads: the options that were set on it."""

    def __init__(self) -> None:
        self.options: list[tuple[int, int, int]] = []

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)


async def test_what_arrives_is_acknowledged_at_once(linked):
    """A delayed acknowledgement would hold back what Nagle's algorithm collects behind it."""
    proxies, far, _reader, writer = linked
    read, source = asyncio.StreamReader(), Acknowledging()
    direction = Direction(proxies.links["west", "east"], read, writer, source)
    running = asyncio.ensure_future(direction.run())
    for number, chunk in enumerate((b"one ", b"two ", b"three"), start=1):
        read.feed_data(chunk)
        await far.until(lambda end=chunk: far.received.endswith(end))
        quick = (socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        assert source.options == [quick] * number
    read.feed_eof()
    await asyncio.wait_for(running, PATIENCE_S)
