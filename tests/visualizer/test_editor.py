"""The scenario editor's requests: its page, texts to start from, the schema, and the check of a text."""

from __future__ import annotations

import asyncio
import json
import threading
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from simulator import World, load_scenario_text, scenario_names
from simulator.scenarios.editing import (
    builtin_text,
    example_families,
    minimal_example,
    scenario_schema,
    text_with_commands,
)
from tests.visualizer.asgi_client import request
from tests.visualizer.pages import SCENARIO
from visualizer.editor import views
from visualizer.editor.starts import start_of, starts
from visualizer.editor.views import CHARACTERS_PER_CHECK, Allowance
from visualizer.labs import clients
from visualizer.labs.definitions import YAML_LIMIT, new_lab
from visualizer.live.wire import Refused
from visualizer.models import Lab
from visualizer.pages.pictures import OUTCOME

pytestmark = pytest.mark.django_db(transaction=True)

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Nine times nine times nine … values, if its aliases were unfolded."""

DEEP = "a: " + "[" * 5_000


async def checked(text: Any, **headers: str) -> Any:
    body = json.dumps({"yaml": text}).encode()
    return await request("POST", "/editor/check/", chunks=[body], content_type="application/json", **headers)


async def test_a_valid_text_is_described():
    answer = await checked(SCENARIO)
    assert answer.status == 200 and answer.json() == {
        "problems": [],
        "count": 0,
        "scenario": {
            "name": "two-towns",
            "title": "Two towns and one subscription",
            "family": "replicated-subscriptions",
            "seed": 5,
            "until_us": 8_000_000,
            "commands": 0,
        },
    }


async def test_every_problem_has_the_words_and_the_place_of_the_command_line(tmp_path, capsys):
    wrong = SCENARIO.replace("until: 8s", "until: 8").replace("cluster: a", "cluster: c") + "wrong: {}\n"
    answer = (await checked(wrong)).json()
    file = tmp_path / "mine.yaml"
    file.write_text(wrong)
    with pytest.raises(SystemExit):
        call_command("simulate", str(file), stderr=StringIO())
    printed = capsys.readouterr().err
    assert answer["count"] == len(answer["problems"]) == 4 and answer["scenario"] is None
    for one in answer["problems"]:
        words = f"{file}:{one['line']}:{one['column']}: {one['path']}: {one['message']}; {one['hint']}"
        assert words in printed, printed


@pytest.mark.parametrize(
    ("text", "says"),
    [(BOMB, "unfold into too much"), (DEEP, "nested too deeply"), ("a: {", "not YAML"), ("", "is empty")],
    ids=["bomb", "deep", "cut off", "empty"],
)
async def test_a_hostile_text_is_refused_by_the_loaders_bounds(text, says):
    (problem,) = (await checked(text)).json()["problems"]
    assert says in problem["message"]


async def test_texts_beyond_the_limit_and_from_other_sites_are_refused():
    answer = await checked(SCENARIO + "#" * YAML_LIMIT)
    assert answer.status == 400 and "At most 393,216 are taken." in answer.json()["hint"]
    assert (await checked("#" * (YAML_LIMIT - 1))).status == 200
    assert (await checked(7)).status == 400
    assert (await checked(SCENARIO, origin="http://elsewhere.example")).status == 403


def test_the_allowance_of_an_address_refills_and_larger_texts_take_more():
    now_s = [0.0]
    allowance = Allowance(most=60, clock_s=lambda: now_s[0], kept=2)
    token = clients.client.set("192.0.2.1")
    try:
        for _ in range(60):
            allowance.take(100)
        with pytest.raises(Refused, match="60 checks of scenarios"):
            allowance.take(100)
        now_s[0] = 2.0
        allowance.take(CHARACTERS_PER_CHECK)  # two of the two that came back
        with pytest.raises(Refused):
            allowance.take(0)
        clients.client.set("192.0.2.2")
        allowance.take(0)  # another address has its own
        clients.client.set("192.0.2.3")
        allowance.take(0)
        assert len(allowance) == 2, "the address that asked longest ago was forgotten"
        clients.client.set("")
        for _ in range(100):
            allowance.take(0)  # no address, no quota
    finally:
        clients.client.reset(token)


async def test_a_check_beyond_the_allowance_is_refused(monkeypatch):
    def refuse(self: Allowance, characters: int) -> None:
        raise Refused("too-many", f"no more after {characters}", "wait")

    monkeypatch.setattr(Allowance, "take", refuse)
    answer = await checked(SCENARIO)
    assert answer.status == 503 and answer.json()["error"] == f"no more after {len(SCENARIO)}"
    assert views.ALLOWANCE is not None


async def outcome_of(text: Any, **headers: str) -> Any:
    body = json.dumps({"yaml": text}).encode()
    return await request(
        "POST", "/editor/outcome/", chunks=[body], content_type="application/json", **headers
    )


async def test_the_outcome_of_a_text_is_that_of_its_run():
    text = builtin_text("region-down")
    answer = await outcome_of(text)
    world = World.open("region-down")
    world.run()
    (failover,) = world.failovers()
    assert answer.json()["failovers"] == [{name: failover[name] for name in OUTCOME}]
    assert [lane["cluster"] for lane in answer.json()["picture"]["lanes"]] == [
        "us-west",
        "us-east",
        "eu-central",
    ]
    assert (await outcome_of(SCENARIO)).json()["failovers"] == []
    wrong = await outcome_of(SCENARIO + "wrong: {}\n")
    assert wrong.status == 400 and wrong.json()["problems"][0]["path"] == "wrong"
    assert (await outcome_of(text, origin="http://elsewhere.example")).status == 403


async def test_a_check_is_answered_while_the_run_of_another_visitor_goes_on(monkeypatch):
    begun, answered = threading.Event(), threading.Event()

    def first(plain=views.let_text_go_first):
        begun.set()
        for _ in range(6_000):  # the run's first part: a minute without the check
            plain()
            if answered.wait(0.01):
                return
        raise AssertionError("the check was not read")

    monkeypatch.setattr(views, "let_text_go_first", first)
    run = asyncio.create_task(outcome_of(builtin_text("region-down")))
    await asyncio.to_thread(begun.wait, 60)
    assert (await checked(SCENARIO)).json()["count"] == 0 and not run.done()
    answered.set()
    assert (await run).json()["failovers"]


async def test_an_outcome_is_bounded_in_rows_time_and_number(monkeypatch):
    text = builtin_text("region-down")
    monkeypatch.setattr(views, "ROWS", 1_000)
    assert (await outcome_of(text)).json() == {"unavailable": "The run has more than 1,000 events."}
    monkeypatch.setattr(views, "ROWS", 60_000)
    monkeypatch.setattr(views, "RUN_S", 0.0)
    assert (await outcome_of(text)).json() == {"unavailable": "The run takes more than 0 s."}
    monkeypatch.setattr(views, "OUTCOME_ALLOWANCE", Allowance(0, what="outcomes"))
    refused = await outcome_of(text)
    assert refused.status == 503 and "0 outcomes of scenarios" in refused.json()["error"]


def test_every_start_is_valid_and_listed_once():
    listed = [one["start"] for group in starts() for one in group["starts"]]
    assert len(listed) == len(set(listed)) == len(scenario_names()) + len(example_families())
    assert start_of("scenario/two-regions").text == builtin_text("two-regions")
    for name in ("scenario/no-such", "minimal/no-such", "lab/nosuchlab", "two-regions", "", "file/etc"):
        with pytest.raises(Refused, match="There is no text"):
            start_of(name)


@pytest.mark.parametrize("family", example_families())
def test_a_minimal_example_shows_its_family_in_few_lines_and_runs(family):
    text = minimal_example(family)
    scenario = load_scenario_text(text)
    assert scenario.family == family and text.count("\n") <= 25
    world = World.from_scenario(scenario)
    world.run(until_us=scenario.until_us)
    assert not world.violations and all(result["ok"] for result in world.command_results)


def test_a_lab_becomes_a_text_with_the_commands_given_by_hand():
    made = new_lab({"scenario": "region-down"})
    assert start_of(f"lab/{made.lab.pk}").text == builtin_text("region-down")
    world = World.open("region-down")
    world.run(until_us=2_000_000)
    world.apply({"do": "link.slow", "link": "us-west -> us-east", "latency": "300ms"})
    Lab.objects.filter(pk=made.lab.pk).update(command_log=[dict(entry) for entry in world.command_log])
    text = start_of(f"lab/{made.lab.pk}").text
    assert text == text_with_commands(world.scenario, world.command_log)
    planned = load_scenario_text(text).commands
    assert [(one.at_us, one.do) for one in planned] == [
        (2_000_000, "link.slow"),
        *((one.at_us, one.do) for one in world.scenario.commands),
    ]
    other = new_lab({"scenario": "region-down", "seed": 9})
    assert "seed: 9\n" in start_of(f"lab/{other.lab.pk}").text


def test_the_page_has_the_text_and_works_as_a_plain_form():
    client = Client()
    page = client.get("/editor/?start=scenario/two-regions").content.decode()
    assert '<textarea name="yaml"' in page and "name: two-regions" in page
    assert 'value="scenario/two-regions" selected' in page and 'action="/labs/"' in page
    assert "name: my-failover" in client.get("/editor/").content.decode()
    missing = client.get("/editor/?start=lab/nosuchlab")
    assert missing.status_code == 404 and "Give scenario/NAME" in missing.content.decode()
    assert client.get("/editor/start.json?start=minimal/topic-creation").json()["text"] == minimal_example(
        "topic-creation"
    )
    assert client.get("/editor/start.json?start=x").status_code == 404


def test_the_schema_is_sent_once():
    client = Client()
    first = client.get("/editor/schema.json", headers={"accept-encoding": "gzip"})
    assert first.headers["Content-Encoding"] == "gzip" and len(first.content) < 40_000
    plain = client.get("/editor/schema.json")
    assert plain.json() == json.loads(json.dumps(scenario_schema()))
    again = client.get("/editor/schema.json", headers={"if-none-match": first.headers["ETag"]})
    assert again.status_code == 304
