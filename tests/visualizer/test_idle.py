"""A lab that nobody views or asks about is closed, and resumes where it was on the next request."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from simulator import World
from tests.visualizer.pages import PATIENCE_S, Page
from visualizer.labs import hub as hubs
from visualizer.labs import session as sessions
from visualizer.labs.hub import IDLE_TICKS, TICK_S


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds pass fifty times as fast, and a tenth as many count as idle."""
    monkeypatch.setattr(hubs, "TICK_S", TICK_S / 50)
    monkeypatch.setattr(hubs, "IDLE_TICKS", IDLE_TICKS // 10)


def test_a_lab_is_idle_after_a_minute():
    assert IDLE_TICKS * TICK_S == 60


async def _until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


async def test_an_unwatched_lab_is_closed_and_resumes_on_request(quick, hub, made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.frame()
    before = await page.seek(3_000_000)
    result = await page.command(do="link.cut", link="a -> b")
    assert result["ok"]
    room = hub.rooms[made.lab.pk]
    session = room.part.session
    await asyncio.sleep(4 * hubs.TICK_S * hubs.IDLE_TICKS)
    assert hub.rooms.get(made.lab.pk) is room, "somebody watches"
    await page.close()

    await _until(lambda: made.lab.pk not in hub.rooms)
    assert session.lab_id not in hub.pump._sessions, "its world is let go"
    again = Page(made.lab.pk, made.token)
    await again.open()
    frame = await again.frame(lambda frame: frame["snapshot"] and not frame["busy"])
    assert (frame["at_us"], frame["playing"]) == (before["at_us"], False)
    assert frame["view"]["links"]["a -> b"]["state"] == "cut"
    assert hub.rooms[made.lab.pk] is not room
    await again.close()


async def test_a_page_waiting_for_its_first_frame_gets_the_progress_of_the_rebuild(
    quick, hub, made, monkeypatch
):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.frame()
    await page.seek(6_000_000)
    await page.close()
    await _until(lambda: made.lab.pk not in hub.rooms)
    monkeypatch.setattr(sessions, "BUSY_AFTER_S", 0.0)
    again = Page(made.lab.pk, made.token)
    await again.open()
    told = await again.until("busy")
    assert told["doing"] == "rebuild" and 0 <= told["at_us"] <= told["to_us"] == 6_000_000
    assert not again.frames, "before the first picture"
    await again.frame(lambda frame: frame["at_us"] == 6_000_000 and not frame["busy"])
    await again.close()


async def test_a_question_keeps_a_lab_open_and_reopens_a_closed_one(quick, hub, made):
    for _ in range(3 * hubs.IDLE_TICKS):
        assert '"seed"' in await hub.ask(made.lab.pk, "summary")
        await asyncio.sleep(hubs.TICK_S)
        assert made.lab.pk in hub.rooms
    await _until(lambda: made.lab.pk not in hub.rooms)
    assert '"seed"' in await hub.ask(made.lab.pk, "summary")


async def test_a_long_question_keeps_its_lab_open_until_it_is_answered(quick, hub, made, monkeypatch):
    go_on, summary = threading.Event(), World.summary
    monkeypatch.setattr(World, "summary", lambda world: go_on.wait(PATIENCE_S) and summary(world))
    asked = asyncio.ensure_future(hub.ask(made.lab.pk, "summary"))
    await _until(lambda: made.lab.pk in hub.rooms)
    await asyncio.sleep(4 * hubs.TICK_S * hubs.IDLE_TICKS)
    assert made.lab.pk in hub.rooms
    go_on.set()
    assert '"seed"' in await asked


async def test_a_playing_lab_without_viewers_is_closed_where_it_is(quick, hub, made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.send({"type": "play", "speed": 1})
    await page.frame(lambda frame: frame["at_us"] > 300_000)
    await page.close()
    await _until(lambda: made.lab.pk not in hub.rooms)
    again = Page(made.lab.pk)
    await again.open()
    frame = await again.frame(lambda frame: not frame["busy"])
    assert frame["at_us"] > 300_000 and not frame["playing"]
    await again.close()
