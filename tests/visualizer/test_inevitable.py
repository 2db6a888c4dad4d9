"""When did it become inevitable, over HTTP: progress, cancelling, limits, and re-runs as labs."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import AsyncClient

from simulator import World, inevitable, load_scenario, load_scenario_text
from simulator.inevitable import Asked, Reruns, carried_out, curve
from tests.visualizer.pages import FAIL_OVER, SCENARIO, Page
from visualizer.comparisons.inevitable import begun, key_of
from visualizer.labs import clients
from visualizer.labs.background import INEVITABLE, Study
from visualizer.labs.definitions import new_lab
from visualizer.labs.hub import current_hub
from visualizer.labs.pump import Pump
from visualizer.live.wire import Refused

pytestmark = pytest.mark.django_db(transaction=True)

SMALL = {"instants": 3, "reruns": 5, "periods": 1}


async def failed_over(then_us: int = 4_000_000) -> str:
    """A lab with a failover given by hand at 3 s."""
    made = await sync_to_async(new_lab)({"yaml": SCENARIO})
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(3_000_000)
    assert (await page.command(**FAIL_OVER))["ok"]
    await page.seek(then_us)
    await page.close()
    return made.lab.pk


async def asked(lab_id: str, **query: Any) -> tuple[int, dict[str, Any]]:
    answer = await AsyncClient().get(f"/labs/{lab_id}/inevitable.json", query)
    return answer.status_code, json.loads(answer.content)


async def answered(lab_id: str, **query: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The final answer, and every answer on the way."""
    answers = []
    while not answers or answers[-1]["state"] == "running":
        status, body = await asked(lab_id, **query)
        assert status == 200, body
        answers.append(body)
        await asyncio.sleep(0)
    return answers[-1], answers


def the_run(lab_id: str, commands: list[dict[str, Any]]) -> Asked:
    scenario = load_scenario_text(SCENARIO)
    return Asked(scenario, scenario.seed, commands, scenario.until_us, **SMALL)


async def log_of(lab_id: str) -> list[dict[str, Any]]:
    return json.loads(await current_hub().ask(lab_id, "inputs"))["commands"]


async def test_results_arrive_one_by_one_and_are_those_of_the_engine(hub):
    lab_id = await failed_over()
    answer, on_the_way = await answered(lab_id, **SMALL)
    question = the_run(lab_id, await log_of(lab_id))
    expected = carried_out(Reruns(question))
    keys = [point.pop("key") for point in answer["points"]]
    assert answer["points"] == curve(expected.points, answer["more_than"])
    assert keys[0].startswith(f"rerun-0-{expected.points[0].at_us}-") and len(set(keys)) == 3
    assert answer["actual"] == {"duplicates": expected.actual.duplicates, "lost": expected.actual.lost}
    assert (answer["done"], answer["of"], answer["state"]) == (15, 15, "done")
    assert [failure["at_us"] for failure in answer["failures"]] == [3_000_000]
    assert any(0 < one["done"] < 15 and one["points"] for one in on_the_way)
    assert on_the_way[0]["decided"] is None and answer["decided"]["more"]["at_us"] <= 3_000_000


async def test_another_number_of_duplicates_needs_no_further_run(hub):
    lab_id = await failed_over()
    first, _ = await answered(lab_id, **SMALL)
    _, other = await asked(lab_id, **SMALL, more_than=inevitable.MORE_THAN_MAX)
    assert other["state"] == "done" and [point["more"]["hits"] for point in other["points"]] == [0, 0, 0]
    assert [one["duplicates"] for one in other["points"]] == [one["duplicates"] for one in first["points"]]
    assert len(hub.background._studies) == 1


async def test_a_page_notices_that_the_run_has_changed(hub):
    lab_id = await failed_over()
    answer, _ = await answered(lab_id, **SMALL)
    assert (await asked(lab_id, **SMALL, id=answer["id"], until_us=4_000_000))[0] == 200
    status, body = await asked(lab_id, **{**SMALL, "reruns": 6}, id=answer["id"])
    assert (status, body["code"]) == (409, "other-branch")
    status, body = await asked(lab_id, **SMALL, branch=7)
    assert (status, body["hint"]) == (404, "Branches: 0.")


async def test_a_group_whose_leader_crashes_is_run_again(hub):
    made = await sync_to_async(new_lab)({"scenario": "groups-leader-crash-early"})
    answer, _ = await answered(made.lab.pk, **SMALL)
    assert answer["failures"][0]["label"] == "leader.crash" and len(answer["points"]) == 3


async def test_a_run_without_a_failover_says_so(hub):
    made = await sync_to_async(new_lab)({"yaml": SCENARIO})
    answer, _ = await answered(made.lab.pk, **SMALL)
    assert (answer["state"], answer["points"]) == ("refused", [])
    assert (
        answer["words"].startswith("This run has no failover and no fault") and "Fail over" in answer["hint"]
    )


async def test_cancelling_keeps_nothing_running_and_asking_again_starts_anew(hub):
    lab_id = await failed_over()
    many = {"instants": 20, "reruns": 100}  # too many to be done before they are cancelled
    while not (await asked(lab_id, **many))[1]["points"]:
        await asyncio.sleep(0)
    address = f"/labs/{lab_id}/inevitable/cancel/?" + "&".join(f"{k}={v}" for k, v in many.items())
    cancelled = await AsyncClient().post(address)
    assert json.loads(cancelled.content) == {"cancelled": True}
    assert hub.background.worlds() == []
    assert json.loads((await AsyncClient().post(address)).content) == {"cancelled": False}
    _, again = await asked(lab_id, **many)
    assert (again["state"], again["done"]) == ("running", 0)
    foreign = await AsyncClient().post(address, headers={"origin": "https://elsewhere.example"})
    assert foreign.status_code == 403


def test_a_study_that_nobody_asks_for_ends_by_itself():
    scenario = load_scenario("strategies-backlog")  # more than the four slices that run here
    reruns, unasked_s = Reruns(Asked(scenario, 1, [], scenario.until_us)), INEVITABLE.unasked_s
    pump = Pump(lambda *_: None)
    study = Study(INEVITABLE, "one", "", pump, reruns.work, reruns)
    pump.add(study)
    assert study.turn(100.0)
    study.resumed(World(scenario, 1, begun=False, figures_only=True))  # which a thread makes
    assert study.turn(100.0 + unasked_s)
    study.requested = True
    assert study.turn(100.1 + unasked_s) and study.turn(100.0 + 2 * unasked_s)
    assert not study.turn(100.2 + 2 * unasked_s)
    assert study.state == "cancelled" and pump._sessions == {} and study.due_s(0) is None


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ({"instants": 21}, "from 0 to 20"),
        ({"instants": 1}, "from 2 to 20"),
        ({"reruns": 101}, "from 0 to 100"),
        ({"reruns": 4}, "from 5 to 100"),
        ({"periods": 21}, "from 0 to 20"),
        ({"periods": 0}, "from 1 to 20"),
        ({"spread": 91}, "from 0 to 90"),
        ({"arrivals": "never"}, "as-declared or poisson"),
        ({"more_than": 1_000_001}, "from 0 to 1000000"),
        ({"failure": 2**53 + 1}, "from 0 to"),
    ],
)
async def test_an_argument_out_of_bounds_is_refused(hub, query, right):
    made = await sync_to_async(new_lab)({"yaml": SCENARIO})
    status, body = await asked(made.lab.pk, **query)
    assert (status, body["code"]) == (400, "bad-argument") and right in body["hint"]


async def test_the_worst_rerun_opens_as_a_lab_and_beside_the_run_as_it_was(hub):
    lab_id = await failed_over()
    answer, _ = await answered(lab_id, **SMALL)
    point = max(answer["points"], key=lambda one: one["worst"]["duplicates"])
    key = point["key"]
    assert key == f"rerun-0-{point['at_us']}-{point['worst']['number']}-200000-poisson"
    opened = await AsyncClient().post(f"/labs/{lab_id}/variants/", {"key": key, "at_us": 3_000_000})
    assert opened.status_code == 302
    made = opened["Location"].split("/")[2]
    page = Page(made)
    await page.open()
    await page.close()
    log = await log_of(made)
    assert sorted(entry["do"] for entry in log) == ["draws.reseed", "subscription.fail-over"]
    scenario = load_scenario_text(SCENARIO)
    world = World.replay(scenario, scenario.seed, log, scenario.until_us)
    assert sum(one["duplicates"] for one in world.failovers()) == point["worst"]["duplicates"]
    beside: dict[str, Any] = {"state": "running"}
    while beside["state"] == "running":
        found = await AsyncClient().get(f"/labs/{lab_id}/beside.json", {"left": "branch-0", "right": key})
        beside = json.loads(found.content)
        await asyncio.sleep(0)
    assert beside["differences"]["first"]["at_us"] == point["at_us"]
    assert beside["cases"][1][0]["duplicates"] == point["worst"]["duplicates"]


@pytest.mark.parametrize(
    "key", ["rerun-", "rerun-7-1-0-0-poisson", "rerun-0-1-0-900001-poisson", "rerun-0-1-0-0-never"]
)
async def test_a_rerun_that_the_lab_does_not_have_is_refused(hub, key):
    lab_id = await failed_over()
    refused = await AsyncClient().post(f"/labs/{lab_id}/variants/", {"key": key, "at_us": 0})
    assert (refused.status_code, json.loads(refused.content)["code"]) == (404, "not-found")


async def test_studies_at_once_are_limited_for_an_address_and_for_the_process(hub):
    scenario = load_scenario_text(SCENARIO)

    def begin(name: str, seed: int) -> None:
        clients.client.set(name)
        begun(Asked(scenario, seed, [], scenario.until_us))

    begin("192.0.2.1", 1)
    begin("192.0.2.1", 1)  # the same question again
    with pytest.raises(Refused, match="1 sets of re-runs for your address"):
        begin("192.0.2.1", 2)
    for number in range(2, INEVITABLE.running + 1):
        begin(f"192.0.2.{number}", number)
    with pytest.raises(Refused, match=f"{INEVITABLE.running} runs are run again"):
        begin("192.0.2.99", 99)
    clients.client.set("192.0.2.99")
    with pytest.raises(Refused, match="Another visitor began"):
        hub.background.cancel(INEVITABLE, key_of(Asked(scenario, 1, [], scenario.until_us)))


def test_the_page_has_the_limits_of_the_engine():
    source = (Path(settings.BASE_DIR) / "static/js/pages/inevitable_panel.js").read_text()
    inputs = re.findall(r"(\w+): \{ words: .*?, first: (\d+), least: (\d+), most: (\d+) \}", source)
    expected = {
        name: tuple(getattr(inevitable, name.upper() + end) for end in ("", "_MIN", "_MAX"))
        for name in ("reruns", "instants", "periods")
    }
    expected["spread"] = (
        inevitable.SPREAD_MILLIONTHS // 10_000,
        0,
        inevitable.SPREAD_MAX_MILLIONTHS // 10_000,
    )
    assert {name: tuple(map(int, numbers)) for name, *numbers in inputs} == expected
    assert f"MORE_THAN_MAX = {inevitable.MORE_THAN_MAX:_};" in source
