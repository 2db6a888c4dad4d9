"""Questions of a page after a failover.

Its messages by cause, a story, what would have helped; the same as the engine and the report have.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from simulator import World, load_scenario, load_scenario_text
from simulator.protocols.emqx.stories import shared_groups, shared_page, shared_story
from simulator.protocols.pulsar.stories.steps import groups, page, story_of
from spark_reports import what_if
from tests.visualizer.pages import PATIENCE_S, SCENARIO, Page
from visualizer.models import Lab

SPLIT = """commands:
  - {at: 4500ms, do: cluster.crash, cluster: a}
  - {at: 4500ms, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: crash}
"""
FAILING = SCENARIO + SPLIT
END_US = 8_000_000


@pytest.fixture
async def lab(hub: Any):
    from visualizer.labs.definitions import new_lab

    return await sync_to_async(new_lab)({"yaml": FAILING})


@pytest.fixture
async def page_of_lab(lab):
    opened = Page(lab.lab.pk, lab.token)
    await opened.open()
    await opened.seek(END_US)
    yield opened
    await opened.close()


@pytest.fixture
def ask(lab):
    async def ask(path: str) -> tuple[int, Any]:
        answer = await AsyncClient().get(f"/labs/{lab.lab.pk}/{path}")
        return answer.status_code, json.loads(answer.content)

    return ask


@pytest.fixture(scope="module")
def world() -> World:
    world = World.from_scenario(load_scenario_text(FAILING))
    world.run()
    return world


async def test_the_failover_is_returned_with_its_groups_and_its_forecast(page_of_lab, ask, world):
    _, body = await ask("why-duplicates.json")
    real = world.counted().failovers[0]
    told = body["failovers"][0]
    assert told["duplicates"] == real.duplicates > 0 and told["groups"] == groups(real)
    assert told["forecast"]["duplicates"] == world.summary()["failovers"][0]["forecast"]["duplicates"]
    assert sum(group["count"] for group in told["groups"] if group["kind"] == "duplicates") == real.duplicates


async def test_the_lists_stay_while_a_story_is_stepped_through(page_of_lab, ask):
    after = (await ask("why-duplicates.json"))[1]
    await page_of_lab.seek(1_000_000)
    assert (await ask("why-duplicates.json"))[1] == after


async def test_bars_of_duplicates_are_the_same_however_far_the_run_was_when_the_page_asked(lab, ask):
    opened = Page(lab.lab.pk, lab.token)
    await opened.open()
    await opened.seek(5_500_000)
    early = [one["bursts"] for one in (await ask("why-duplicates.json"))[1]["failovers"]]
    await opened.seek(END_US)
    late = [one["bursts"] for one in (await ask("why-duplicates.json"))[1]["failovers"]]
    await opened.close()
    past = [[bar for bar in bars if bar["until_us"] <= 5_500_000] for bars in late]
    assert early == past and len(early[0]) > 1


async def test_messages_are_returned_in_pages(page_of_lab, ask, world):
    real = world.counted().failovers[0]
    cause = groups(real)[0]["cause"]
    status, body = await ask(f"failovers/0/duplicates.json?cause={cause}&first=2&limit=3")
    assert status == 200 and body == json.loads(json.dumps(page(real, "duplicates", cause, 2, 3)))


async def test_a_story_by_place_and_by_name_is_the_engines(page_of_lab, ask, world):
    real = world.counted().failovers[0]
    case, steps = story_of(world.trace, real, "duplicates", 1)
    _, by_place = await ask("failovers/0/duplicates/story.json?place=1")
    _, by_name = await ask(
        f"failovers/0/duplicates/story.json?producer={case.producer}&number={case.sequence_id}"
    )
    assert by_place == by_name
    assert by_place["steps"] == [asdict(step) for step in steps] and by_place["place"] == 1


async def finished(ask) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            _, body = await ask("what-if.json")
            if body["state"] != "running":
                return body
            await asyncio.sleep(0.05)


async def test_what_would_have_helped_equals_the_report(page_of_lab, ask, world):
    body = await finished(ask)
    meta = {
        "rows": len(world.trace),
        "scenario": world.scenario.canonical_text,
        "seed": world.seed,
        "commands": [],
        "until_us": END_US,
        "trace_sha256": world.digest(),
        "engine_version": "",
    }
    reported, as_it_was = what_if.compare(meta, lambda: None)
    assert (
        body["state"] == "done"
        and body["done"]
        and all(body[name] == reported[name] for name in ("variants", "columns", "order"))
    )
    assert (
        body["variants"][0]["cases"][0]["figures"]["duplicates"]
        == as_it_was[0]["duplicates"]
        == world.counted().failovers[0].duplicates
    )


async def test_the_lab_continues_playing_while_the_variants_run(page_of_lab, ask):
    await page_of_lab.seek(0)
    await ask("what-if.json")
    await page_of_lab.send({"type": "play", "speed": 4})
    frame = await page_of_lab.frame(lambda frame: frame["at_us"] > 1_000_000)
    assert frame["playing"]
    assert (await finished(ask))["state"] == "done"


async def test_an_internal_error_in_a_variant_is_reported_and_the_lab_continues(
    page_of_lab, ask, monkeypatch
):
    monkeypatch.setattr("simulator.runs.Runs._go", lambda self, world, until_us: 1 // 0)
    body = await finished(ask)
    assert body["state"] == "failed" and "ZeroDivisionError" in body["words"]
    assert (await page_of_lab.seek(2_000_000))["at_us"] == 2_000_000


async def test_variants_of_a_long_run_are_refused_with_a_reason(page_of_lab, ask, monkeypatch):
    monkeypatch.setattr("visualizer.questions.stories.ROWS_MOST", 10)
    body = await finished(ask)
    assert body["state"] == "failed" and "are not run again" in body["words"]


async def test_a_variant_opens_as_a_users_own_lab_at_the_failover(page_of_lab, ask, lab, world):
    variant = next(one for one in (await finished(ask))["variants"] if one["key"] == "period-halved")
    answer = await AsyncClient(headers={"host": "testserver"}).post(
        f"/labs/{lab.lab.pk}/variants/", {"key": "period-halved", "at_us": str(4_500_000)}
    )
    assert answer.status_code == 302 and "#token=" in answer.headers["Location"]
    other = await Lab.objects.aget(pk=answer.headers["Location"].split("/")[2])
    assert other.position_us == 4_500_000 and other.title.endswith(variant["name"])
    opened = Page(other.pk, answer.headers["Location"].split("token=")[1])
    await opened.open()
    await opened.seek(END_US)
    inputs = json.loads((await AsyncClient().get(f"/labs/{other.pk}/inputs.json")).content)
    assert inputs["digest"] == variant["digest"]
    await opened.close()


async def test_a_variant_keeps_live_commands(hub, made):
    opened = Page(made.lab.pk, made.token)
    await opened.open()
    await opened.seek(3_000_000)
    await opened.command(do="cluster.crash", cluster="a")
    await opened.command(
        **{"do": "subscription.fail-over", "subscription": "billing", "from": "a", "to": "b", "mode": "crash"}
    )
    await opened.seek(END_US)
    answer = await AsyncClient().post(
        f"/labs/{made.lab.pk}/variants/", {"key": "as-it-was", "at_us": "3000000"}
    )
    other = answer.headers["Location"].split("/")[2]
    copy = Page(other, answer.headers["Location"].split("token=")[1])
    await copy.open()
    await copy.seek(END_US)
    digests = [
        json.loads((await AsyncClient().get(f"/labs/{key}/inputs.json")).content)["digest"]
        for key in (made.lab.pk, other)
    ]
    assert digests[0] == digests[1]
    await opened.close()
    await copy.close()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("failovers/7/duplicates.json", 404, "not-found"),
        ("failovers/0/spilt.json", 400, "bad-argument"),
        ("failovers/0/duplicates/story.json", 400, "bad-argument"),
        ("failovers/0/duplicates/story.json?place=1&producer=web&number=1", 400, "bad-argument"),
        ("failovers/0/duplicates/story.json?place=99999", 404, "not-found"),
        ("failovers/0/duplicates/story.json?producer=nobody&number=1", 404, "not-found"),
        ("failovers/0/duplicates.json?limit=100000", 400, "bad-argument"),
    ],
)
async def test_an_unknown_story_or_list_is_refused_with_a_reason(page_of_lab, ask, path, status, code):
    answered, body = await ask(path)
    assert (answered, body["code"]) == (status, code) and body["error"] and body["hint"]


async def test_an_unknown_variant_is_refused(page_of_lab, lab):
    answer = await AsyncClient().post(f"/labs/{lab.lab.pk}/variants/", {"key": "magic", "at_us": "0"})
    assert answer.status_code == 404 and "period-halved" in json.loads(answer.content)["hint"]
    assert (
        await AsyncClient().post(f"/labs/{lab.lab.pk}/variants/", {"key": "as-it-was", "at_us": "soon"})
    ).status_code == 400
    assert (await AsyncClient().get(f"/labs/{lab.lab.pk}/variants/")).status_code == 405


async def test_the_forecast_is_returned_with_its_curve_lag_and_rules(page_of_lab, ask, world):
    await page_of_lab.seek(4_000_000)
    status, body = await ask("forecast/billing/orders.json")
    here = World.from_scenario(world.scenario)
    here.run(4_000_000)
    told, lag_us = here.forecast("billing")["b"], here.sync_lag("billing")["b"]
    assert status == 200 and body["now"]["b"] == {
        **{name: told[name] for name in ("duplicates", "stranded", "lost")},
        "lag_us": lag_us,
    }
    assert body["rules"] == here.snapshot_rules("orders")
    at_us, columns = body["curve"]["at_us"], body["curve"]["peers"]["b"]
    assert (
        at_us == sorted(set(at_us))
        and len(at_us) >= 20
        and all(len(column) == len(at_us) for column in columns.values())
    )
    place = len(at_us) // 2
    here.seek(at_us=at_us[place])
    assert (
        columns["duplicates"][place] == here.forecast("billing")["b"]["duplicates"]
        and columns["lag_us"][place] == here.sync_lag("billing")["b"]
    )
    _, later = await ask(f"forecast/billing/orders.json?after_us={at_us[place]}")
    assert later["curve"]["at_us"] == at_us[place + 1 :]


async def test_a_forecast_of_an_unknown_subscription_is_refused_with_a_reason(page_of_lab, ask):
    for path in ("forecast/nobody/orders.json", "forecast/billing/nothing.json"):
        status, body = await ask(path)
        assert status == 404 and body["hint"]


async def test_a_shared_group_has_lists_and_stories_like_a_failover(hub):
    from visualizer.labs.definitions import new_lab

    made = await sync_to_async(new_lab)({"yaml": load_scenario("groups-killed-in-a-chunk").canonical_text})
    opened = Page(made.lab.pk, made.token)
    await opened.open()
    await opened.seek(20_000_000)
    world = World.from_scenario(load_scenario("groups-killed-in-a-chunk"))
    world.run(20_000_000)
    counted = world.counted_whole().groups["meters"]

    async def get(path: str) -> tuple[int, Any]:
        answer = await AsyncClient().get(f"/labs/{made.lab.pk}/{path}")
        return answer.status_code, json.loads(answer.content)

    _, why = await get("why-duplicates.json")
    assert why["failovers"] == [] and why["shared"] == [
        {
            "number": 0,
            "group": "meters",
            "at_us": 0,
            "duplicates": counted.duplicates,
            "redeliveries": counted.redeliveries,
            "lost": 0,
            "groups": shared_groups(counted),
            "bursts": [{"from_us": 5_000_000, "until_us": 5_000_000, "cause": "chunk_repeated", "count": 5}],
        }
    ]
    assert (await get("failovers/0/duplicates.json?cause=chunk_repeated&limit=2"))[1] == shared_page(
        counted, "chunk_repeated", 0, 2
    )
    steps = [asdict(step) for step in shared_story(world.trace, "meters", counted.duplicates_list[1])]
    _, by_place = await get("failovers/0/duplicates/story.json?place=1")
    assert (
        by_place["steps"] == steps
        and by_place["cause"] == "chunk_repeated"
        and by_place["of"] == counted.duplicates
    )
    one = counted.duplicates_list[1]
    assert (await get(f"failovers/0/duplicates/story.json?producer={one.producer}&number={one.sequence_id}"))[
        1
    ]["steps"] == steps
    assert [
        (await get(path))[0]
        for path in (
            "failovers/1/duplicates.json",
            "failovers/0/lost.json",
            "failovers/0/duplicates/story.json?place=99999",
        )
    ] == [404, 400, 404]
    await opened.close()
