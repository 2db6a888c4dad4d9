"""Tests of two runs beside each other: branches and changes of a lab, their documents, figures and differences."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from simulator import World, load_scenario, load_scenario_text
from tests.visualizer.pages import FAIL_OVER, SCENARIO, Page
from visualizer.labs.background import COMPARED
from visualizer.labs.definitions import new_lab
from visualizer.labs.hub import current_hub

pytestmark = pytest.mark.django_db(transaction=True)
NOTHING = {"first": None, "events": [], "more": False, "entries": {"left": {}, "right": {}}}


async def branched() -> str:
    """A lab whose second branch has a failover at 3 s; the first has run to 6 s."""
    made = await sync_to_async(new_lab)({"yaml": SCENARIO})
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(6_000_000)
    await page.seek(3_000_000)
    assert (await page.command(**FAIL_OVER))["ok"]
    await page.seek(5_000_000)
    await page.close()
    return made.lab.pk


async def beside(lab_id: str, left: str, right: str) -> tuple[int, dict[str, Any]]:
    """The final answer about two runs."""
    while True:
        answer = await AsyncClient().get(f"/labs/{lab_id}/beside.json", {"left": left, "right": right})
        body = json.loads(answer.content)
        if body.get("state") != "running":
            return answer.status_code, body
        assert [kind for kind, *_ in current_hub().background._studies].count(COMPARED) == 1
        await asyncio.sleep(0.02)


async def test_two_branches_are_run_to_the_same_instant_and_compared(hub):
    lab_id = await branched()
    status, answer = await beside(lab_id, "branch-0", "branch-1")
    assert (status, answer["state"], answer["until_us"]) == (200, "done", 8_000_000)
    assert [answer[side]["name"] for side in ("left", "right")] == ["first branch", "branch 1"]
    first = answer["differences"]["first"]
    assert first["at_us"] == 3_000_000 and first["right"]["type"] == "command.applied"
    assert [len(cases) for cases in answer["cases"]] == [0, 1]
    document = answer["right"]["run"]
    world = World.replay(load_scenario_text(SCENARIO), document["seed"], document["commands"], 8_000_000)
    assert answer["rows"][1] == len(world.trace)
    made = await AsyncClient().post("/run/", json.dumps(document), content_type="application/json")
    assert made.status_code == 201


async def test_a_run_with_one_change_is_beside_the_run_as_it_was(hub):
    lab_id = await branched()
    variants = json.loads((await AsyncClient().get(f"/labs/{lab_id}/what-if.json")).content)
    assert variants["of"] > 1
    _, refused = await beside(lab_id, "branch-1", "variant-nothing")
    key = next(
        name for name in refused["hint"].split() if name.startswith("variant-") and "as-it" not in name
    )
    status, answer = await beside(lab_id, "branch-1", key.strip(",."))
    assert status == 200 and answer["right"]["run"]["yaml"] != answer["left"]["run"]["yaml"]
    assert answer["differences"]["first"] is not None


async def test_the_same_run_twice_does_not_differ(hub):
    lab_id = await branched()
    _, answer = await beside(lab_id, "branch-1", "branch-1")
    assert answer["differences"] == NOTHING


@pytest.mark.parametrize("name", ["", "branch-7", "variant-", "x" * 300])
async def test_a_run_that_a_lab_does_not_have_is_refused_with_those_that_it_has(hub, name):
    lab_id = await branched()
    status, answer = await beside(lab_id, "branch-0", name)
    assert (status, answer["code"]) == (404, "not-found")
    assert "branch-0, branch-1, variant-as-it-was" in answer["hint"]


def test_the_page_of_an_unknown_lab_is_404():
    assert Client().get("/labs/nosuchlab/beside/").status_code == 404


def test_a_page_without_controls_may_be_shown_in_any_frame():
    lab = new_lab({"yaml": SCENARIO}).lab
    own, embedded = (Client().get(f"/labs/{lab.pk}/{query}") for query in ("", "?embed=1"))
    assert "frame-ancestors 'self'" in own["Content-Security-Policy"]
    assert "frame-ancestors *" in embedded["Content-Security-Policy"]
    assert b'class="lab embedded"' in embedded.content and b"embedded" not in own.content


async def two_set_ups(left: object, right: object) -> tuple[int, dict[str, Any]]:
    """The final answer about two set-ups."""
    while True:
        body = json.dumps({"left": left, "right": right})
        found = await AsyncClient().post("/my-set-up/beside.json", body, content_type="application/json")
        answer = json.loads(found.content)
        if answer.get("state") != "running":
            return found.status_code, answer
        await asyncio.sleep(0.02)


MOVED = SCENARIO + (
    "commands:\n  - {at: 3s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned}\n"
)
FASTER = MOVED.replace("seed: 5", "seed: 6").replace("until: 8s", "until: 9s") + (
    "settings: {replicatedSubscriptionsSnapshotFrequencyMillis: 500}\n"
)


async def test_two_set_ups_run_to_the_later_end_with_the_seed_of_the_left_one(hub):
    status, answer = await two_set_ups(MOVED, FASTER)
    assert (status, answer["until_us"]) == (200, 9_000_000)
    title = "Two towns and one subscription"
    assert [answer[side]["name"] for side in ("left", "right")] == [f"{title} (left)", f"{title} (right)"]
    assert [answer[side]["run"]["seed"] for side in ("left", "right")] == [5, 5]
    for at, text in enumerate((MOVED, FASTER)):
        world = World.from_scenario(load_scenario_text(text), seed=5)
        world.run(9_000_000)
        assert answer["rows"][at] == len(world.trace)
        assert answer["cases"][at][0]["duplicates"] == world.failovers()[0]["duplicates"]
    assert answer["differences"]["first"]["at_us"] == 500_000, (
        "the first snapshot that only the right one takes"
    )
    made = await AsyncClient().post(
        "/run/", json.dumps(answer["right"]["run"]), content_type="application/json"
    )
    assert made.status_code == 201


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (None, "right is not a text"),
        (SCENARIO.replace("until: 8s", "until: never"), "The right set-up has 1 problem: line 8: "),
        ("x" * 393_217, "The text has 393,217 characters"),
        ("emqx", "of different protocols"),
    ],
)
async def test_a_set_up_that_cannot_be_compared_is_refused(hub, right, words):
    if right == "emqx":
        right = load_scenario("groups-node-crash").canonical_text
    status, answer = await two_set_ups(SCENARIO, right)
    assert status == 400 and words in answer["error"]


def test_the_page_of_two_set_ups_needs_no_lab():
    page = Client().get("/my-set-up/beside/")
    assert page.status_code == 200 and b'data-set-ups="/my-set-up/beside.json"' in page.content


@pytest.mark.parametrize(
    ("query", "classes"),
    [
        ("?embed=1&controls=1&panel=time", b'class="lab embedded with-controls with-panel"'),
        ("?embed=1&controls=0&panel=", b'class="lab embedded"'),
        ("?controls=1&panel=time", b'class="lab"'),
    ],
)
def test_the_parameters_of_a_frame_choose_its_parts(query, classes):
    lab = new_lab({"yaml": SCENARIO}).lab
    assert classes in Client().get(f"/labs/{lab.pk}/{query}").content
