"""Texts of scenarios are read one at a time, off the event loop.

The report on a text with many errors is short.
"""

from __future__ import annotations

import gc
import json
import threading

import pytest
from django.test import AsyncClient

from tests.visualizer.pages import SCENARIO
from visualizer.labs import definitions
from visualizer.live.wire import Refused
from visualizer.pages import scenario_reading
from visualizer.pages.scenario_reading import WAITING_TEXTS, read_in_turn

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


def test_when_too_many_texts_wait_a_further_one_is_refused():
    go_on = threading.Event()
    waiting = [scenario_reading._submitted(go_on.wait) for _ in range(WAITING_TEXTS)]
    try:
        with pytest.raises(Refused, match="wait to be read") as refused:
            read_in_turn(len, "text")
        assert refused.value.code == "too-many"
    finally:
        go_on.set()
    assert all(one.result() for one in waiting) and read_in_turn(len, "text") == 4


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
