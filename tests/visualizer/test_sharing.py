"""Tests of a run's document: it repeats the run byte for byte, and every wrong document is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from simulator import ENGINE_VERSION
from simulator.protocols.registry import VOCABULARY
from simulator.trace import files
from simulator.trace.files import read_trace
from tests.visualizer.pages import FAIL_OVER, SCENARIO, Page
from visualizer.labs.definitions import new_lab
from visualizer.models import Lab
from visualizer.sharing import views
from visualizer.sharing.run_document import COMMANDS_MAX

pytestmark = pytest.mark.django_db(transaction=True)

BUILT_IN = {"scenario": "two-regions", "seed": 7}
CUT = {"do": "link.cut", "link": "us-east -> us-west"}


async def played(given: dict, command: dict) -> tuple[Page, str]:
    """The page and id of a new lab at 3 s, with a command given at 1 s, on a second branch."""
    made = await sync_to_async(new_lab)(given)
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(2_500_000)
    await page.seek(1_000_000)
    assert (await page.command(**command))["ok"]
    await page.seek(3_000_000)
    return page, made.lab.pk


async def document(lab_id: str) -> dict:
    answer = await AsyncClient().get(f"/labs/{lab_id}/run.json")
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


@pytest.mark.parametrize(
    ("given", "command"), [({"yaml": SCENARIO}, FAIL_OVER), (BUILT_IN, CUT)], ids=["text", "built-in"]
)
async def test_a_run_is_repeated_byte_for_byte_from_its_document(hub, given, command):
    page, lab_id = await played(given, command)
    run = await document(lab_id)
    assert ("scenario" in run) is ("scenario" in given) and run["engine_version"] == ENGINE_VERSION
    assert (run["until_us"], run["branch"], len(run["commands"])) == (3_000_000, 1, 1)
    answer = await AsyncClient().post("/run/", json.dumps(run), content_type="application/json")
    assert answer.status_code == 201
    again = json.loads(answer.content)
    repeated = await document(again["id"])
    different = {name for name in run if run[name] != repeated[name]}
    assert different <= {"branch"}, different
    lab = await Lab.objects.aget(pk=again["id"])
    assert lab.title == run["title"] and lab.is_owner(again["token"])
    await page.close()


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"format": 2}, "other-format", "format 2"),
        ({"more": 1}, "bad-field", "'more'"),
        ({"scenario": None}, "bad-field", "exactly one"),
        ({"scenario": "no-such"}, "unknown-scenario", "no-such"),
        ({"seed": -1}, "bad-seed", "seed"),
        ({"title": 5}, "bad-field", "title"),
        ({"until_us": -1}, "bad-field", "until_us"),
        ({"until_us": 1 << 60}, "bad-field", "until_us"),
        ({"commands": {}}, "bad-field", "commands"),
        ({"commands": [{"at_us": 0, "do": "x"}] * (COMMANDS_MAX + 1)}, "bad-field", "2,000"),
        ({"commands": ["x"]}, "bad-field", "commands[0]"),
        ({"commands": [{"do": "link.cut"}]}, "bad-field", "commands[0].at_us"),
        ({"commands": [{"at_us": 0, "do": "link.cat"}]}, "bad-field", "link.cat"),
        ({"commands": [{"at_us": 0, "do": "link.cut", "link": "x -> y"}]}, "bad-field", "commands[0]"),
        (
            {
                "commands": [
                    {"at_us": 2, "do": "link.cut", "link": "us-east -> us-west"},
                    {"at_us": 1, "do": "link.cut", "link": "us-east -> us-west"},
                ]
            },
            "bad-field",
            "before the previous",
        ),
        (
            {"until_us": 1, "commands": [{"at_us": 2, "do": "link.cut", "link": "us-east -> us-west"}]},
            "bad-field",
            "after the run's end",
        ),
    ],
)
def test_a_wrong_document_is_refused_and_makes_no_lab(change, code, words):
    run = {"format": 1, "scenario": "two-regions", "commands": [], "until_us": 0, **change}
    answer = Client().post("/run/", json.dumps(run), content_type="application/json")
    body = answer.json()
    assert (answer.status_code, body["code"]) == (400, code)
    assert words in f"{body['error']} {body['hint']}"
    assert not Lab.objects.exists()


def test_a_text_with_problems_is_answered_with_every_problem():
    run = {"format": 1, "yaml": SCENARIO.replace("until: 8s", "until: 8x"), "commands": []}
    answer = Client().post("/run/", json.dumps(run), content_type="application/json")
    assert answer.status_code == 400 and answer.json()["problems"][0]["path"] == "until"


def test_a_page_of_another_site_makes_no_lab():
    answer = Client().post(
        "/run/", "{}", content_type="application/json", headers={"origin": "http://elsewhere.example"}
    )
    assert answer.status_code == 403 and answer.json()["code"] == "foreign-origin"


async def test_the_trace_of_a_lab_is_a_trace_file(hub, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(views, "ROWS_LIMIT", 100)
    page, lab_id = await played({"yaml": SCENARIO}, FAIL_OVER)
    run = await document(lab_id)
    answer = await AsyncClient().get(f"/labs/{lab_id}/trace.jsonl")
    assert answer["Content-Disposition"] == 'attachment; filename="two-towns.jsonl"'
    path = tmp_path / "two-towns.jsonl"
    path.write_bytes(b"".join([part async for part in answer.streaming_content]))
    read = read_trace(path, VOCABULARY)
    assert read.trace.digest() == run["digest"] and read.meta["commands"] == run["commands"]
    assert len(read.trace) > 300
    await page.close()


async def test_the_trace_as_parquet_has_each_row_of_the_json_lines(hub, tmp_path: Path, monkeypatch):
    """In blocks of several requests, and in the schema that reports read (`test_schemas.py`)."""
    monkeypatch.setattr(views, "ROWS_LIMIT", 100)
    monkeypatch.setattr(files, "BLOCK_ROWS", 250)
    page, lab_id = await played({"yaml": SCENARIO}, FAIL_OVER)
    made = {}
    for kind in ("jsonl", "parquet"):
        answer = await AsyncClient().get(f"/labs/{lab_id}/trace.{kind}")
        assert answer["Content-Disposition"] == f'attachment; filename="two-towns.{kind}"'
        made[kind] = [part async for part in answer.streaming_content]
    path = tmp_path / "two-towns.parquet"
    path.write_bytes(b"".join(made["parquet"]))
    lines = [json.loads(line) for line in b"".join(made["jsonl"]).splitlines()[1:]]
    table = parquet.read_table(path)
    assert table.schema.remove_metadata() == files.SCHEMA
    assert [without_nulls(row) for row in table.to_pylist()] == lines and len(lines) > 300
    whole, left = divmod(len(lines), 250)
    groups = parquet.read_metadata(path)
    assert [groups.row_group(at).num_rows for at in range(whole + 1)] == [250] * whole + [left]
    assert len(made["parquet"]) == whole + 2, "the first bytes, and one part for each row group"
    assert read_trace(path, VOCABULARY).trace.digest() == (await document(lab_id))["digest"]
    await page.close()


def without_nulls(row: dict) -> dict:
    return {name: value for name, value in row.items() if value is not None}


async def test_without_pyarrow_a_parquet_file_is_refused(hub, monkeypatch):
    def missing():
        raise ImportError("pyarrow")

    monkeypatch.setattr(views, "trace_files", missing)
    page, lab_id = await played({"yaml": SCENARIO}, FAIL_OVER)
    answer = await AsyncClient().get(f"/labs/{lab_id}/trace.parquet")
    assert answer.status_code == 503 and "JSON lines" in json.loads(answer.content)["hint"]
    await page.close()


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
async def test_a_trace_that_is_too_long_is_refused(hub, monkeypatch, kind):
    monkeypatch.setattr(views, "TRACE_ROWS_MAX", 10)
    page, lab_id = await played({"yaml": SCENARIO}, FAIL_OVER)
    answer = await AsyncClient().get(f"/labs/{lab_id}/trace.{kind}")
    assert answer.status_code == 413 and "at most 10" in json.loads(answer.content)["error"]
    await page.close()


def test_the_scenario_is_a_file():
    made = new_lab({"yaml": SCENARIO})
    answer = Client().get(f"/labs/{made.lab.pk}/scenario.yaml")
    assert answer["Content-Disposition"] == 'attachment; filename="two-towns.yaml"'
    assert answer.content.decode() == made.lab.scenario_text
    assert Client().get("/labs/nosuchlab/scenario.yaml").status_code == 404
