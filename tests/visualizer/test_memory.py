"""The memory that the labs of a process may use.

A lab closed for lack of memory resumes unchanged, and what does not fit is refused with a reason.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from simulator import World, load_scenario_text
from simulator.branch import BRANCHES_MAX
from simulator.trace.trace import BLOCK_ROWS
from tests.visualizer.pages import PATIENCE_S, SCENARIO, Page
from tests.visualizer.site import Site
from visualizer.labs.memory import Memory
from visualizer.live.wire import Refused

END_US = 8_000_000


async def a_lab(hub: Any, at_us: int) -> tuple[Any, Page]:
    """A new lab at an instant, and its page."""
    from asgiref.sync import sync_to_async

    from visualizer.labs.definitions import new_lab

    made = await sync_to_async(new_lab)({"yaml": SCENARIO})
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.frame()
    await page.seek(at_us)
    return made, page


def bytes_of(hub: Any, lab_id: str) -> int:
    return hub.rooms[lab_id].part.session.world.memory_bytes


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub checks memory when the test triggers it."""

    async def not_now(_memory: Memory) -> None: ...

    monkeypatch.setattr(Memory, "look_each_second", not_now)


async def test_the_least_recently_used_unwatched_lab_is_closed_and_resumes_unchanged(still, hub):
    first, first_page = await a_lab(hub, 6_000_000)
    second, second_page = await a_lab(hub, 5_000_000)
    digest = hub.rooms[first.lab.pk].part.session.world.digest()
    await first_page.close()
    await until(lambda: not hub.rooms[first.lab.pk].viewers)
    hub.memory.limit_bytes = bytes_of(hub, second.lab.pk) * 3 // 2
    await hub.memory.look()
    assert set(hub.rooms) == {second.lab.pk} and hub.memory.full is None
    hub.memory.limit_bytes = 2**30
    again = Page(first.lab.pk, first.token)
    await again.open()
    frame = await again.frame(lambda frame: frame["snapshot"] and not frame["busy"])
    assert (frame["at_us"], frame["playing"]) == (6_000_000, False)
    assert hub.rooms[first.lab.pk].part.session.world.digest() == digest
    await again.close()
    await second_page.close()


async def test_a_watched_lab_at_rest_is_closed_next_and_its_page_is_notified(still, hub):
    made, page = await a_lab(hub, 6_000_000)
    hub.memory.limit_bytes = bytes_of(hub, made.lab.pk) - 1
    await hub.memory.look()
    assert hub.rooms == {}
    assert "needed the memory" in (await page.until("bye"))["reason"]
    hub.memory.limit_bytes = 2**20 // 2  # nothing fits
    await hub.memory.look()


async def test_when_no_lab_can_be_closed_labs_stop_and_new_ones_are_refused(still, hub):
    made, page = await a_lab(hub, 1_000_000)
    await page.send({"type": "play", "speed": 0.25})
    await page.frame(lambda frame: frame["playing"])
    session = hub.rooms[made.lab.pk].part.session
    hub.memory.limit_bytes = 2**20 // 2
    await hub.memory.look()
    assert made.lab.pk in hub.rooms and "so none runs on" in session.out_of_memory
    await page.frame(lambda frame: not frame["playing"])
    with pytest.raises(Refused) as refused:
        await hub.memory.make_room()
    assert refused.value.code == "memory" and "LAB_MEMORY_MB" in refused.value.hint
    hub.memory.limit_bytes = 2**30
    await hub.memory.look()
    assert session.out_of_memory is None and session.at_limit is None
    await page.close()


def test_branches_are_limited_and_a_refused_one_changes_nothing():
    world = World.from_scenario(load_scenario_text(SCENARIO))
    for number in range(1, BRANCHES_MAX):
        world.run(world.now_us + 20_000)
        world.seek(at_us=world.now_us - 10_000)
        assert world.apply({"do": "link.cut" if number % 2 else "link.heal", "link": "a -> b"}).ok
    assert len(world.branches) == BRANCHES_MAX
    world.run(world.now_us + 20_000)
    world.seek(at_us=world.now_us - 10_000)
    before = (world.branches, world.command_log, world.digest())
    result = world.apply({"do": "producer.pause", "producer": "web"})
    assert result.code == "too-many" and str(BRANCHES_MAX) in result.error and "copy the lab" in result.hint
    assert (world.branches, world.command_log, world.digest()) == before


def test_memory_shared_by_branches_is_counted_once():
    world = World.from_scenario(
        load_scenario_text(SCENARIO.replace("every: 20ms, count: 300", "every: 500us, count: 12000"))
    )
    world.run(END_US)
    assert len(world.trace) > BLOCK_ROWS
    alone = world.memory_bytes
    world.seek(at_us=END_US - 10)
    assert world.apply({"do": "link.cut", "link": "a -> b"}).ok
    assert alone < world.memory_bytes < 2 * alone


def test_a_small_limit_in_the_environment_closes_labs(tmp_path, monkeypatch):
    """Through the site itself: more labs than fit are opened one after the other, and the first resumes
    where it was.
    """
    monkeypatch.setenv("LAB_MEMORY_MB", "4")
    site = Site(tmp_path).wait()
    try:
        labs = []
        for _ in range(5):
            labs.append(site.open_lab(yaml=SCENARIO))
            page = site.page(labs[-1])
            page.frame()
            page.send({"type": "seek", "at_us": 6_000_000})
            page.frame(lambda frame: frame["at_us"] == 6_000_000 and not frame["busy"])
            page.close()
        again = site.page(labs[0])
        frame = again.frame(lambda frame: frame["snapshot"] and not frame["busy"])
        assert (frame["at_us"], frame["playing"]) == (6_000_000, False)
        again.close()
        assert "is closed: the labs use more than 4 MB" in (tmp_path / f"site-{site.port}.log").read_text()
    finally:
        site.stop()
