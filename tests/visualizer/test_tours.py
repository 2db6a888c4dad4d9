"""The tour of a lab: its answer, its run beside the lab, and playing up to an instant."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from simulator import World, load_scenario
from simulator.tours import resolve
from tests.visualizer.pages import PATIENCE_S, Page

NAME = "periodic-snapshots"


async def lab_of(**fields: Any) -> Any:
    from visualizer.labs.definitions import new_lab

    return await sync_to_async(new_lab)(fields)


@pytest.fixture
async def lab(hub: Any) -> Any:
    return await lab_of(scenario=NAME)


@pytest.fixture
async def page(lab: Any) -> Any:
    opened = Page(lab.lab.pk, lab.token)
    opened.welcome = await opened.open()
    yield opened
    await opened.close()


async def ask(lab: Any) -> tuple[int, Any]:
    answer = await AsyncClient().get(f"/labs/{lab.lab.pk}/tour.json")
    return answer.status_code, json.loads(answer.content)


async def finished(lab: Any) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            _, body = await ask(lab)
            if body["state"] != "running":
                return body
            await asyncio.sleep(0.05)


def resolved(seed: int) -> list[dict[str, Any]]:
    scenario = load_scenario(NAME, seed=seed)
    world = World.from_scenario(scenario)
    world.run()
    assert scenario.tour is not None
    return json.loads(json.dumps([asdict(step) for step in resolve(world, scenario.tour)]))


async def test_the_answer_has_the_steps_of_the_whole_run_wherever_the_lab_is(lab, page):
    assert page.welcome["tour"] == {"title": "Your first failover", "minutes": 5, "steps": 10}
    body = await finished(lab)
    assert body["state"] == "done" and body["words"] == "" and body["branch"] == 0
    assert body["steps"] == resolved(seed=1) and len(body["steps"]) == 10
    assert (await page.seek(1_000_000))["at_us"] == 1_000_000, "the lab itself was not run"


async def test_its_run_is_made_once(lab, page, hub, monkeypatch):
    before = await finished(lab)
    monkeypatch.setattr("visualizer.questions.queries.tour_run", None)
    await page.seek(2_000_000)
    assert await finished(lab) == before


async def test_after_a_command_by_hand_the_tour_still_describes_the_run_without_it(lab, page):
    await page.seek(3_000_000)
    await page.seek(2_000_000)
    assert (await page.command(do="consumer.stop", consumer="billing-1"))["ok"]
    body = await finished(lab)
    assert body["branch"] == 0 and body["steps"] == resolved(seed=1)


async def test_when_the_only_branch_has_a_command_no_branch_is_the_tours(lab, page):
    await page.seek(2_000_000)
    assert (await page.command(do="consumer.stop", consumer="billing-1"))["ok"]
    assert (await finished(lab))["branch"] is None


async def test_a_scenario_without_a_tour_says_so(hub):
    changed = await lab_of(scenario=NAME, set=[["until", "7s"]])
    status, body = await ask(changed)
    assert status == 404 and body["error"] == "This scenario has no tour." and body["hint"]


async def test_a_tour_that_does_not_fit_its_run_fails_with_the_step(hub):
    text = load_scenario(NAME).canonical_text.replace("type: failover.started", "type: ledger.closed")
    body = await finished(await lab_of(yaml=text))
    assert body["state"] == "failed" and body["steps"] == []
    assert body["words"].startswith("Step 8 of the tour, “The failover”")


async def test_a_lab_plays_up_to_an_instant_and_pauses_there(page):
    await page.send({"type": "play", "speed": 100.0, "until_us": 1_234_567})
    frame = await page.frame(lambda frame: not frame["playing"] and frame["at_us"] > 0)
    assert frame["at_us"] == 1_234_567
    await page.send({"type": "play", "speed": 1000.0})
    assert (await page.frame(lambda frame: not frame["playing"]))["at_us"] == 8_000_000


async def test_a_lab_that_is_beyond_that_instant_does_not_move(page):
    await page.seek(2_000_000)
    await page.send({"type": "play", "speed": 1.0, "until_us": 1_000_000})
    frame = await page.frame(lambda frame: not frame["playing"])
    assert frame["at_us"] == 2_000_000
