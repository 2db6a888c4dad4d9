"""Texts of scenarios are read one at a time, off the event loop.

The report on a text with many errors is short.
"""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from typing import Any

import pytest
from django.test import AsyncClient

from tests.visualizer.pages import SCENARIO
from visualizer.labs import definitions
from visualizer.labs.clients import client
from visualizer.live.wire import Refused
from visualizer.pages import scenario_reading
from visualizer.pages.scenario_reading import WAITING_TEXTS, WAITING_TEXTS_PER_ADDRESS, read_in_turn

ANSWER_BYTES = 150_000
"""A hundred problems that list every known key."""

WRONG = "format: 1\n" + "".join(f"k{number}: 1\n" for number in range(9_000))

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def threads(monkeypatch):
    """Names of the threads in which texts are read."""
    names = []
    plain = definitions.load_scenario_text

    def reading(*given, **how):
        names.append(threading.current_thread().name)
        return plain(*given, **how)

    monkeypatch.setattr(definitions, "load_scenario_text", reading)
    definitions.read_scenario.cache_clear()
    return names


@pytest.mark.parametrize(
    "body",
    [{"yaml": SCENARIO}, {"yaml": WRONG}, {"yaml": SCENARIO, "set": [["until", "9s"]]}],
    ids=["good", "wrong", "changed"],
)
async def test_a_visitors_text_is_read_in_the_dedicated_thread(threads, body):
    await AsyncClient().post("/labs/", json.dumps(body), content_type="application/json")
    assert [name.rsplit("_", 1)[0] for name in threads] == ["scenario-reading"]


@pytest.mark.parametrize("path", ["/my-set-up/", "/my-set-up/scenario.json", "/my-set-up/check/"])
async def test_a_set_up_is_read_in_the_dedicated_thread(threads, path):
    client = AsyncClient()
    answer = await (
        client.post(path, json.dumps({"yaml": SCENARIO}), content_type="application/json")
        if path.endswith("check/")
        else client.get(path)
    )
    assert answer.status_code == 200
    assert [name.rsplit("_", 1)[0] for name in threads] == ["scenario-reading"]


@pytest.mark.parametrize("path", ["/labs/", "/my-set-up/check/", "/editor/check/"])
async def test_the_answer_about_nine_thousand_problems_is_short(path):
    answer = await AsyncClient().post(path, json.dumps({"yaml": WRONG}), content_type="application/json")
    problems = answer.json()["problems"]
    assert (
        len(problems) == 101
        and problems[-1]["message"].startswith("and 8,90")
        and problems[-1]["line"] is None
    )
    assert len(answer.content) < ANSWER_BYTES


@pytest.fixture
def held_reader():
    """The reader is busy with a text until the event is set."""
    go_on, begun = threading.Event(), threading.Event()

    def holding() -> bool:
        begun.set()
        return go_on.wait(60)

    held = scenario_reading._submitted(holding)
    assert begun.wait(60)
    yield go_on
    go_on.set()
    assert held.result(60)


@pytest.mark.parametrize(("address", "most"), [("", WAITING_TEXTS), ("192.0.2.1", WAITING_TEXTS_PER_ADDRESS)])
def test_when_too_many_texts_wait_a_further_one_is_refused(held_reader, address, most):
    token = client.set(address)
    try:
        waiting = [scenario_reading._submitted(len, "text") for _ in range(most)]
        with pytest.raises(Refused, match="wait to be read already") as refused:
            read_in_turn(len, "text")
    finally:
        client.reset(token)
    assert refused.value.code == "busy"
    held_reader.set()
    assert [one.result(60) for one in waiting] == [4] * most and read_in_turn(len, "text") == 4


def test_addresses_take_turns(held_reader):
    """A visitor with one text waits for one text of each other address, not for all of them."""
    order: list[str] = []
    waiting = []
    for address in ["192.0.2.1"] * 8 + ["192.0.2.2"] * 2 + ["192.0.2.3"]:
        token = client.set(address)
        waiting.append(scenario_reading._submitted(order.append, address))
        client.reset(token)
    held_reader.set()
    for one in waiting:
        one.result(60)
    assert [address[-1] for address in order] == list("12312") + ["1"] * 6


def test_texts_are_read_before_runs_begin_and_between_their_parts(held_reader):
    order: list[str] = []

    def run() -> None:
        order.append("run begins")
        within.append(scenario_reading._submitted(order.append, "text within"))
        for _ in range(2):
            scenario_reading.let_text_go_first()
        order.append("run ends")

    within: list[Any] = []
    running = scenario_reading._submitted(run, queue=scenario_reading._runs)
    waiting = [scenario_reading._submitted(order.append, f"text {number}") for number in range(2)]
    held_reader.set()
    for one in (running, *waiting, *within):
        one.result(60)
    assert order == ["text 0", "text 1", "run begins", "text within", "run ends"]
    assert read_in_turn(len, "text") == 4


async def test_a_text_whose_turn_does_not_come_is_refused_and_not_read(held_reader, monkeypatch):
    monkeypatch.setattr(scenario_reading, "WAIT_S", 0.05)
    read: list[int] = []
    with pytest.raises(Refused, match="waited"):
        await scenario_reading.read_soon(read.append, 1)
    with pytest.raises(Refused, match="waited"):
        await asyncio.to_thread(read_in_turn, read.append, 2)
    held_reader.set()
    monkeypatch.undo()
    assert await scenario_reading.read_soon(len, "text") == 4 and read == []


@pytest.mark.parametrize("path", ["/labs/", "/my-set-up/check/", "/editor/check/"])
async def test_the_answer_to_a_refused_text_says_when_to_try_again(path, monkeypatch):
    monkeypatch.setattr(scenario_reading, "WAITING_TEXTS", 0)
    definitions.read_scenario.cache_clear()
    answer = await AsyncClient().post(path, json.dumps({"yaml": WRONG}), content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert int(answer.headers["Retry-After"]) > 0


def test_garbage_collection_is_off_while_a_text_is_read_and_on_after_an_error():
    seen: list[bool] = []

    def read(wrong: bool) -> None:
        seen.append(gc.isenabled())
        if wrong:
            raise ValueError("no scenario")

    read_in_turn(read, False)
    with pytest.raises(ValueError, match="no scenario"):
        read_in_turn(read, True)
    assert seen == [False, False] and gc.isenabled()
