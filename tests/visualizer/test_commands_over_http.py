"""Commands to a running lab over HTTP: checked, stored and refused as those of its page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import AsyncClient

from tests.visualizer.pages import Page
from visualizer.api import views
from visualizer.labs.hub import current_hub
from visualizer.models import LabCommand

CRASH = {"do": "cluster.crash", "cluster": "a"}


async def post(made: Any, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = await AsyncClient().post(
        f"/labs/{made.lab.pk}/{path}/", json.dumps(body), content_type="application/json"
    )
    return answer.status_code, json.loads(answer.content)


async def summary(made: Any) -> dict[str, Any]:
    answer = await AsyncClient().get(f"/labs/{made.lab.pk}/summary.json")
    return json.loads(answer.content)


async def test_a_command_takes_effect_and_every_page_shows_it(made):
    watcher = Page(made.lab.pk)
    await watcher.open()
    at = {"token": made.token, "at_us": 2_000_000}
    assert await post(made, "seek", **at) == (200, {"at_us": 2_000_000, "branch": 0})
    assert (await summary(made))["simulated_us"] == 2_000_000
    answer = await post(made, "commands", token=made.token, command=CRASH)
    assert answer == (200, {"at_us": 2_000_000, "branch": 0})
    frame = await watcher.frame(lambda frame: frame["view"]["clusters"]["a"]["state"] == "down")
    assert frame["at_us"] == 2_000_000
    row = await LabCommand.objects.aget(lab=made.lab)
    assert (row.at_us, row.command) == (2_000_000, CRASH)
    await watcher.close()


async def test_a_command_at_another_instant_seeks_there_and_begins_a_branch_in_the_past(made):
    await post(made, "seek", token=made.token, at_us=4_000_000)
    answer = await post(made, "commands", token=made.token, command=CRASH, at_us=1_500_000)
    assert answer == (200, {"at_us": 1_500_000, "branch": 1})
    restart = {"do": "cluster.restart", "cluster": "a"}
    answer = await post(made, "commands", token=made.token, command=restart, at_us=3_000_000, apart=True)
    assert answer == (200, {"at_us": 3_000_000, "branch": 2})
    assert [entry["command"] for entry in (await summary(made))["commands"]] == [
        "cluster.crash",
        "cluster.restart",
    ]


async def test_figures_are_those_of_the_running_instant(made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.send({"type": "play", "speed": 1})
    first = await page.frame(lambda frame: frame["at_us"] > 100_000)
    seen = (await summary(made))["simulated_us"]
    assert seen >= first["at_us"]
    status, answer = await post(made, "commands", token=made.token, command=CRASH)
    assert status == 200 and answer["at_us"] >= seen
    await page.close()


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("commands", {"token": "wrong", "command": CRASH}, "not-owner"),
        ("commands", {"command": CRASH}, "not-owner"),
        ("seek", {"token": None, "at_us": 1}, "not-owner"),
        ("commands", {}, "bad-message"),
        ("commands", {"command": "cluster.crash"}, "bad-message"),
        ("commands", {"command": CRASH, "more": 1}, "bad-message"),
        ("commands", {"command": CRASH, "at_us": -1}, "bad-message"),
        ("commands", {"command": CRASH, "at_us": 1 << 51}, "too-far"),
        ("seek", {"at_us": 1 << 51}, "too-far"),
        ("seek", {}, "bad-message"),
        ("seek", {"at_us": 1, "seq": 1}, "bad-message"),
    ],
)
async def test_a_wrong_request_is_refused_and_nothing_is_stored(made, path, body, code):
    token = {} if code == "not-owner" else {"token": made.token}
    status, answer = await post(made, path, **token, **body)
    assert (status, answer["code"]) == (403 if code == "not-owner" else 400, code) and answer["hint"]
    assert not await LabCommand.objects.filter(lab=made.lab).aexists()


async def test_a_command_is_refused_in_the_words_of_the_page(made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    for command in ({"do": "no such command"}, {"do": "cluster.crash", "cluster": "z"}, {"do": "link.heal"}):
        shown = await page.command(**command)
        status, answer = await post(made, "commands", token=made.token, command=command)
        assert status == 400
        assert answer == {name: shown[name] for name in ("code", "error", "hint")}
    await page.close()


async def test_a_lab_that_does_not_answer_is_said_to(made, monkeypatch):
    room = await current_hub().room(made.lab.pk)
    monkeypatch.setattr(room.part, "handle", lambda message, reply: None)
    monkeypatch.setattr(views, "ANSWER_S", 0.01)
    status, answer = await post(made, "seek", token=made.token, at_us=5)
    assert (status, answer["code"]) == (503, "no-answer") and "0.01 s" in answer["error"]
