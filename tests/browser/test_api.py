"""Tests of the API for scripts: its description agrees with the answers, client and notebook work against a site."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from django.urls import resolve

from script.support.temporary_site import Site
from visualizer.api.description import description

PYTHON = Path(__file__).resolve().parents[2] / "static" / "python"
CRASH = {"at_us": 2_000_000, "do": "cluster.crash", "cluster": "us-west"}


@pytest.fixture(scope="module")
def client() -> Iterator[ModuleType]:
    """The client, imported as a script does that has the file beside it."""
    spec = importlib.util.spec_from_file_location("failover_lab", PYTHON / "failover_lab.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["failover_lab"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["failover_lab"]


@pytest.fixture
def address(site: Site) -> str:
    return site.address


def operation(name: str) -> dict:
    document = description()
    return next(
        one for path in document["paths"].values() for one in path.values() if one["operationId"] == name
    )


def check(name: str, answer: object) -> None:
    """An answer has the schema that the description gives it."""
    responses = operation(name)["responses"]
    [schema] = [
        one["content"]["application/json"]["schema"] for key, one in responses.items() if key != "default"
    ]
    jsonschema.validate(answer, schema)


@pytest.mark.parametrize("described", sorted(description()["paths"]))
def test_each_described_address_exists(described):
    numbers = ("seq", "number", "failover", "branch", "level", "index")
    path = re.sub(
        r"\{(\w+)\}",
        lambda found: {"kind": "json"}.get(found[1], "7" if found[1] in numbers else "abc"),
        described,
    )
    assert resolve(path).func is not None


def test_a_question_describes_its_arguments_with_their_bounds():
    told = operation("readRows")
    assert told["summary"].startswith("Rows first <= seq < last")
    given = {one["name"]: one["schema"] for one in told["parameters"]}
    assert set(given) == {"lab", "first", "last", "control", "limit"}
    assert given["limit"] == {"type": "integer", "minimum": 1, "maximum": 2000, "default": 500}


def test_the_description_is_served(client, address):
    answer = client.FailoverLab(address).get("/api/openapi.json")
    assert answer == json.loads(json.dumps(description())) and answer["openapi"].startswith("3.1")


def test_a_run_is_made_read_and_repeated(client, address):
    lab = client.FailoverLab(address)
    check("listScenarios", lab.scenarios())
    run = lab.run("two-regions", seed=3, until_s=4, commands=[CRASH])
    document = run.document()
    check("readRun", document)
    jsonschema.validate(
        document, operation("openRun")["requestBody"]["content"]["application/json"]["schema"]
    )
    summary = run.summary()
    assert (
        summary["trace_sha256"] == document["digest"]
        and summary["commands"][-1]["command"] == "cluster.crash"
    )
    again = lab.open(document)
    assert again.id != run.id and again.document()["digest"] == document["digest"]
    rows = run.rows(control=False)
    assert [row["seq"] for row in rows] == list(range(len(rows))) and len(rows) > 100
    assert len(lab.download(f"/labs/{run.id}/trace.jsonl").splitlines()) == len(rows) + 1


def test_a_running_lab_is_controlled_step_by_step(client, address):
    lab = client.FailoverLab(address)
    made = lab.run("two-regions", seed=3, until_s=4)
    run = lab.lab(made.id, made.token)
    place = run.seek(5)
    check("seek", place)
    assert place == {"at_us": 5_000_000, "branch": 0} and run.summary()["simulated_us"] == 5_000_000
    place = run.command("cluster.crash", cluster="us-west")
    check("giveCommand", place)
    assert place == {"at_us": 5_000_000, "branch": 0}
    place = run.command("link.cut", at_s=3, link="us-east -> us-west")
    assert place == {"at_us": 3_000_000, "branch": 1}
    assert [one["command"] for one in run.summary()["commands"]][-1] == "link.cut"
    with pytest.raises(client.Refused) as caught:
        run.command("cluster.crash", cluster="nowhere")
    assert "us-west" in f"{caught.value} {caught.value.hint}"
    with pytest.raises(client.Refused) as caught:
        lab.lab(made.id, "wrong").seek(1)
    assert caught.value.code == "not-owner"


def test_a_refusal_is_raised_with_its_hint(client, address):
    lab = client.FailoverLab(address)
    with pytest.raises(client.Refused) as caught:
        lab.run("no-such-scenario")
    assert caught.value.code == "unknown-scenario" and "two-regions" in caught.value.hint
    with pytest.raises(client.Refused) as caught:
        lab.get("/labs/nosuchlab/summary.json")
    assert caught.value.code == "not-found"


def test_the_notebook_runs(client, address, monkeypatch, capsys):
    monkeypatch.setenv("FAILOVER_LAB", address)
    cells = json.loads((PYTHON / "failovers.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # noqa: S102 - the notebook of this repository
    duplicates = names["duplicates"]
    assert isinstance(duplicates, dict) and len(duplicates) == 10
    assert max(duplicates.values()) > min(duplicates.values()) >= 0
    assert capsys.readouterr().out.count(" s ") == 10
