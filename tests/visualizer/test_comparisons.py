"""Comparisons on the site: the page, the runs beside the labs, the columns, and refusals."""

from __future__ import annotations

import asyncio
import json
import re
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from simulator import World, load_scenario, load_scenario_text, recordings, scenario_names
from simulator.comparison import STRATEGY_NAMES
from simulator.headless import compare
from tests.visualizer.pages import PATIENCE_S, Page
from visualizer.labs.background import COMPARED
from visualizer.labs.definitions import new_lab
from visualizer.labs.hub import current_hub

PERIOD = "strategies-between-snapshots"


async def columns(address: str, of: int = 3) -> dict[str, Any]:
    """Requests them as the page does, until the runs are done."""
    client = AsyncClient()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await client.get(address)
            told = answer.json()
            assert answer.status_code == 200, told
            if told["state"] != "running":
                return told
            assert "columns" not in told and told["of"] == of
            await asyncio.sleep(0.02)


@pytest.mark.django_db
def test_the_page_describes_the_comparison_without_its_outcome() -> None:
    answer = Client().get(f"/compare/{PERIOD}/")
    text = answer.content.decode()
    assert answer.status_code == 200
    assert (
        "Local subscription" in text and "Snapshots (PIP-33)" in text and "Acknowledgement-state sync" in text
    )
    assert (
        f'data-address="/compare/{PERIOD}/columns.json?seed=1"' in text
        and f"simulate {PERIOD} --compare" in text
    )
    shown = re.sub(r'<script id="glossary-terms".*?</script>', "", text, flags=re.DOTALL)
    assert "glossary-terms" not in shown and "duplicates" not in shown
    assert f'href="/compare/{PERIOD}/"' in Client().get("/").content.decode()
    assert Client().get("/compare/etc/").status_code == 404
    assert Client().get(f"/compare/{PERIOD}/?seed=x").status_code == 400
    assert Client().get("/labs/none/compare/").status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_the_columns_have_the_figures_of_the_command_line(hub: Any) -> None:
    out = StringIO()
    compare(PERIOD, out, StringIO(), as_json=True, seed=7)
    wanted = json.loads(out.getvalue())["comparison"]
    told = await columns(f"/compare/{PERIOD}/columns.json?seed=7")
    assert [column["strategy"] for column in told["columns"]] == list(STRATEGY_NAMES)
    for column, entry in zip(told["columns"], wanted, strict=True):
        assert {name: column[name] for name in entry} == entry
        assert len(column["followed"][0]["messages"]["producer"]) == 60 and column["text"].startswith(
            "format: 1"
        )


@pytest.mark.django_db(transaction=True)
async def test_a_repeated_request_shows_the_same_runs(hub: Any) -> None:
    first = await columns(f"/compare/{PERIOD}/columns.json")
    assert (await AsyncClient().get(f"/compare/{PERIOD}/columns.json")).json() == first, "at once"


@pytest.mark.django_db(transaction=True)
async def test_a_lab_is_compared_with_its_own_commands(hub: Any) -> None:
    made = await sync_to_async(new_lab)({"scenario": PERIOD})
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.command(do="link.slow", link="blue -> green", latency="900ms")
    await page.close()
    plain = await columns(f"/compare/{PERIOD}/columns.json")
    told = await columns(f"/labs/{made.lab.pk}/compare/columns.json")
    assert (
        told["columns"][0]["followed"][0]["messages"]["at_target_us"]
        != plain["columns"][0]["followed"][0]["messages"]["at_target_us"]
    ), "the slow link is part of it"
    assert told["columns"][0]["text"] is None, "commands by hand are not in the scenario's text"


@pytest.fixture
def recorded() -> recordings.RecordedFile:
    """A built-in recording with a failover."""
    [found] = [
        one
        for one in recordings.listed()
        if isinstance(one, recordings.RecordedFile) and one.path.name.startswith("broker-crash-10-pulsar")
    ]
    return found


@pytest.mark.django_db
def test_the_page_of_a_recording_describes_both_columns(recorded: recordings.RecordedFile) -> None:
    address = f"/recordings/{recorded.digest}/compare/"
    text = Client().get(address).content.decode()
    assert "The same run, on real brokers and simulated" in text
    assert f"{recorded.system}, recorded {recorded.date}" in text
    assert f'data-address="{address}columns.json"' in text
    assert "acknowledgement-state sync" not in text.lower().split('id="glossary-terms"')[0]
    assert f'href="{address}"' in Client().get("/").content.decode(), "linked from its card"
    refused = Client().get(f"/recordings/{'ab' * 32}/compare/")
    assert refused.status_code == 404 and "has no recording" in refused.content.decode()


@pytest.mark.django_db(transaction=True)
async def test_the_columns_of_a_recording_are_the_real_run_and_its_twin(
    hub: Any, recorded: recordings.RecordedFile
) -> None:
    told = await columns(f"/recordings/{recorded.digest}/compare/columns.json", 2)
    real, simulated = told["columns"]
    assert [column["title"] for column in (real, simulated)] == ["Real brokers", "Simulated"]
    assert real["trace_sha256"] == recorded.digest
    twin = World.from_scenario(recordings.simulated_twin(recorded))
    twin.run()
    assert simulated["trace_sha256"] == twin.digest() != recorded.digest
    assert real["violations"] == simulated["violations"] == []
    moves = [(one["from"], one["to"], one["at_us"]) for one in real["followed"]]
    assert moves == [(one["from"], one["to"], one["at_us"]) for one in simulated["followed"]]
    for column, kept in ((real, [recorded.digest]), (simulated, [])):
        made = await sync_to_async(new_lab)({"yaml": column["text"]})
        assert [load_scenario_text(made.lab.scenario_text).recording] == (kept or [""])


@pytest.mark.django_db(transaction=True)
async def test_a_scenario_without_subscriptions_is_refused_with_a_reason(hub: Any) -> None:
    name = next(name for name in scenario_names() if not load_scenario(name).subscriptions)
    answer = await AsyncClient().get(f"/compare/{name}/columns.json")
    assert (
        answer.status_code == 400
        and "there is none whose acknowledgements could be replicated" in answer.json()["error"]
    )


@pytest.mark.django_db(transaction=True)
async def test_too_many_comparisons_at_once_are_refused_with_a_reason(
    hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(COMPARED, "running", 0)
    answer = await AsyncClient().get(f"/compare/{PERIOD}/columns.json")
    assert answer.status_code == 503 and answer.json()["code"] == "too-many"


@pytest.mark.django_db(transaction=True)
async def test_only_the_newest_comparisons_are_kept(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(COMPARED, "kept", 1)
    await columns(f"/compare/{PERIOD}/columns.json?seed=1")
    await columns(f"/compare/{PERIOD}/columns.json?seed=2")
    assert len(current_hub().background._studies) == 1


@pytest.mark.django_db(transaction=True)
async def test_an_internal_error_in_a_run_is_reported(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulator.runs.Runs._go", lambda self, world, until_us: 1 // 0)
    told = await columns(f"/compare/{PERIOD}/columns.json?seed=3")
    assert told["state"] == "failed" and "ZeroDivisionError" in told["words"]
