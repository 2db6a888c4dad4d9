"""Limits per client address, and room for others beside it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from tests.visualizer.pages import HOST, ORIGIN, PATIENCE_S, SCENARIO, Page, Socket
from visualizer.labs import clients
from visualizer.labs.background import CHANGED, COMPARED, Study
from visualizer.labs.clients import client_of
from visualizer.labs.definitions import new_lab
from visualizer.labs.hub import ROOMS
from visualizer.live import viewers
from visualizer.live.wire import Refused


def scope(peer: str | None, forwarded: str = "") -> dict[str, Any]:
    return {
        "client": (peer, 1) if peer else None,
        "headers": [(b"x-forwarded-for", forwarded.encode())] if forwarded else [],
    }


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "counted"),
    [
        ([], "203.0.113.9", "198.51.100.7", "203.0.113.9"),
        (["127.0.0.1/32"], "203.0.113.9", "198.51.100.7", "203.0.113.9"),
        (["127.0.0.1/32"], "127.0.0.1", "198.51.100.7", "198.51.100.7"),
        (["127.0.0.1/32"], "127.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"),
        (["127.0.0.1/32", "10.0.0.0/8"], "127.0.0.1", "1.1.1.1, 198.51.100.7, 10.2.3.4", "198.51.100.7"),
        (["127.0.0.1/32"], "127.0.0.1", "", "127.0.0.1"),
        (["127.0.0.1/32"], "127.0.0.1", "nonsense", ""),
        ([], "2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
        ([], "::ffff:203.0.113.9", "", "203.0.113.9"),
        ([], None, "198.51.100.7", ""),
    ],
)
def test_the_client_address_of_a_request(settings, trusted, peer, forwarded, counted):
    settings.TRUSTED_PROXIES = trusted
    assert client_of(scope(peer, forwarded)) == counted


async def open_as(hub: Any, name: str, lab_id: str) -> str:
    """Open a lab for this address; returns the reason when it is refused."""
    clients.client.set(name)
    try:
        await hub.room(lab_id)
        return ""
    except Refused as refused:
        return refused.error


@pytest.fixture
async def many(hub):
    """Creates labs of the small scenario."""

    async def make(count: int) -> list[str]:
        return [(await sync_to_async(new_lab)({"yaml": SCENARIO})).lab.pk for _ in range(count)]

    return make


async def test_of_300_labs_opened_at_once_only_as_many_open_as_there_are_places(hub, many, monkeypatch):
    monkeypatch.setattr(
        "visualizer.labs.saving.PATIENCE_S", PATIENCE_S
    )  # 300 writes in a row on a busy machine
    monkeypatch.setattr("visualizer.labs.placement.Runner", lambda hub, room, stored: Still())
    answers = await asyncio.gather(
        *(
            asyncio.create_task(open_as(hub, f"10.0.0.{number % 30}", lab))
            for number, lab in enumerate(await many(300))
        )
    )
    assert len(hub.rooms) == answers.count("") == ROOMS
    assert {answer for answer in answers if answer} == {f"This server process shows {ROOMS} labs already."}


class Still:
    """A part that runs nothing."""

    session = None

    def close(self) -> None:
        """Nothing to close."""

    async def tick(self) -> None:
        """Nothing to do."""


async def test_one_client_cannot_take_every_place(hub, many, monkeypatch):
    monkeypatch.setattr(clients, "OPEN_LABS_PER_CLIENT", 2)
    first, second, third = await many(3)
    assert await open_as(hub, "10.0.0.1", first) == await open_as(hub, "10.0.0.1", second) == ""
    assert "from your address" in await open_as(hub, "10.0.0.1", third)
    assert await open_as(hub, "10.0.0.1", first) == "", "one that is open already"
    assert await open_as(hub, "10.0.0.2", third) == ""


async def test_in_a_full_process_the_client_with_most_labs_gives_one_up_for_a_client_with_few(
    hub, many, monkeypatch
):
    monkeypatch.setattr("visualizer.labs.hub.ROOMS", 4)
    monkeypatch.setattr("visualizer.labs.hub.FAIR_LABS", 2)
    *greedy, other, mine, more = await many(6)
    page = Page(greedy[0])
    page.socket.scope["client"] = ("10.0.0.1", 1)
    await page.open()
    for lab_id in greedy[1:]:
        assert await open_as(hub, "10.0.0.1", lab_id) == ""
    assert await open_as(hub, "10.0.0.2", other) == ""
    assert "shows 4 labs already" in await open_as(hub, "10.0.0.1", more), "not for whoever has as many"
    assert await open_as(hub, "10.0.0.3", mine) == ""
    assert set(hub.rooms) == {greedy[0], greedy[2], other, mine}, (
        "the watched one stays, and there are no more than four"
    )
    assert "shows 4 labs already" in await open_as(hub, "10.0.0.4", more), "nobody has more than a fair share"
    await page.close()


@pytest.mark.parametrize(
    ("addresses", "beside", "elsewhere"),
    [
        (
            ["2001:db8:0:100::1", "2001:db8:0:101::1", "2001:db8:0:102::1"],
            "2001:db8:0:1ff::1",
            "2001:db8:1::1",
        ),
        (
            ["2001:db8:0:100::1", "2001:db8:0:200::1", "2001:db8:0:300::1"],
            "2001:db8:0:400::1",
            "2001:db8:1::1",
        ),
        (["198.51.100.1", "198.51.100.2", "198.51.100.3"], "198.51.100.9", "203.0.113.1"),
    ],
    ids=["one /56", "one /48", "one /24"],
)
async def test_the_many_addresses_of_one_network_cannot_shut_others_out(
    hub, many, monkeypatch, addresses, beside, elsewhere
):
    monkeypatch.setattr("visualizer.labs.hub.ROOMS", 3)
    monkeypatch.setattr("visualizer.labs.hub.FAIR_LABS", 2)
    *greedy, more, mine = await many(5)
    counted = {
        address: clients.client_of({"client": (address, 1)}) for address in (*addresses, beside, elsewhere)
    }
    assert len(set(counted.values())) == 5
    for address, lab_id in zip(addresses, greedy, strict=True):
        assert await open_as(hub, counted[address], lab_id) == ""
    assert "shows 3 labs already" in await open_as(hub, counted[beside], more), "not for the same network"
    assert await open_as(hub, counted[elsewhere], mine) == ""
    assert len(hub.rooms) == 3 and mine in hub.rooms


async def test_what_if_runs_are_limited_for_each_client_and_for_the_process(hub, many, monkeypatch):
    monkeypatch.setattr(CHANGED, "running", clients.RERUNS_PER_CLIENT + 1)
    monkeypatch.setattr(Study, "turn", lambda *_: False)  # none of them ends
    *first, other, more = await many(clients.RERUNS_PER_CLIENT + 3)

    async def ask(name: str, lab_id: str) -> str:
        clients.client.set(name)
        try:
            await hub.ask(lab_id, "what-if")
        except Refused as refused:
            assert refused.code == "too-many"
            return refused.error
        return ""

    for lab_id in first[:-1]:
        assert await ask("10.0.0.1", lab_id) == ""
    assert "2 labs with" in await ask("10.0.0.1", first[-1])
    assert await ask("10.0.0.1", first[0]) == "", "one that is under way already"
    assert await ask("10.0.0.2", other) == ""
    assert "3 labs of this server process" in await ask("10.0.0.3", more)
    hub.background.close(other)
    assert await ask("10.0.0.3", more) == "", "as soon as one is over"


async def test_without_memory_no_what_if_run_starts(made, hub, monkeypatch):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.frame()
    monkeypatch.setattr(hub.memory, "limit_bytes", 1)
    with pytest.raises(Refused) as refused:
        await hub.ask(made.lab.pk, "what-if")
    assert refused.value.code == "memory"
    monkeypatch.undo()
    assert json.loads(await hub.ask(made.lab.pk, "what-if"))["state"] == "running"
    await page.close()


async def test_a_page_that_answers_no_frame_is_closed_with_a_code_and_a_reason(made, hub, monkeypatch):
    monkeypatch.setattr(viewers, "SEEN_WITHIN_S", 2)
    monkeypatch.setattr("visualizer.labs.hub.TICK_S", 0.05)
    silent, asleep, page = Page(made.lab.pk), Page(made.lab.pk), Page(made.lab.pk, made.token)
    silent.answers_seen = asleep.answers_seen = False
    for each in (page, silent, asleep):
        await each.open()
        frame = await each.frame()
    await asleep.send({"type": "seen", "epoch": frame["epoch"], "number": frame["number"]})
    assert "has not answered" in (await silent.until("bye"))["reason"]
    closed = await silent.socket.receive_output()
    assert (closed["type"], closed["code"]) == ("websocket.close", 4408)
    await silent.close()
    ticks = hub.ticks
    while hub.ticks < ticks + 5:
        await asyncio.sleep(0.01)
    assert len(hub.rooms[made.lab.pk].viewers) == 2, "whoever answered stays, however long nothing happens"
    await page.close()
    await asleep.close()


async def test_a_socket_that_sends_nothing_is_closed(made, monkeypatch):
    monkeypatch.setattr("visualizer.live.sockets.FIRST_MESSAGE_S", 0.2)
    from labsite.asgi import application

    for path in (f"/ws/labs/{made.lab.pk}/",):
        socket = Socket(application, path, headers=[(b"host", HOST.encode()), ORIGIN])
        await socket.connect()
        assert "No message arrived" in await socket.receive_from()
        closed = await socket.receive_output()
        assert (closed["type"], closed["code"]) == ("websocket.close", 4408)
    page = Page(made.lab.pk, made.token)
    await page.open()
    await asyncio.sleep(0)
    monkeypatch.undo()
    assert (await page.command(do="link.cut", link="a -> b"))["ok"]
    await page.close()


async def test_sockets_of_one_client_are_bounded(made, monkeypatch):
    monkeypatch.setattr(clients, "SOCKETS_PER_CLIENT", 2)
    pages, again = [Page(made.lab.pk) for _ in range(3)], Page(made.lab.pk)
    for page in (*pages, again):
        page.socket.scope["client"] = ("203.0.113.9", 1)
    for page in pages[:2]:
        await page.open()
    connected, _ = await pages[2].socket.connect()
    assert not connected
    await pages[0].close()
    await again.open()
    for page in (pages[1], again):
        await page.close()
    assert not clients.sockets


async def test_comparisons_of_one_client_are_bounded(hub):
    from simulator import load_scenario
    from visualizer.comparisons.compared import Comparison

    def compare(name: str, seed: int) -> None:
        clients.client.set(name)
        scenario = load_scenario("region-down", seed=seed)
        source = Comparison(scenario.title, scenario, seed, [], scenario.until_us)
        hub.background.of(COMPARED, source.key, source.work)

    for seed in range(clients.COMPARISONS_PER_CLIENT):
        compare("10.0.0.1", seed)
    with pytest.raises(Refused, match="2 comparisons for your address"):
        compare("10.0.0.1", 9)
    compare("10.0.0.1", 0)
    compare("10.0.0.2", 9)
