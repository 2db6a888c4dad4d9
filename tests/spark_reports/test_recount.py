"""The recount of an answer of My set-up by Spark: equal to the answer, or an internal error that is stated."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from labsite import engine_worker, spark_worker
from simulator import load_scenario
from simulator.checks.check import Violation
from visualizer.tasks.models import Experiment, Report

pytestmark = pytest.mark.django_db(transaction=True)

SET_UP = {"rate": "40/s", "at": "3s", "after": "500ms", "end": "2s", "slow_share": "5%", "slow_for": "300ms"}


@pytest.fixture
def answer(settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, request: Any) -> Experiment:
    """An answer of three runs, computed by the engine; of the regions, or of the set-up that a test gives."""
    settings.DATA_DIR, settings.ENGINE_PROCESSES = tmp_path, 1
    monkeypatch.setattr("visualizer.setups.question.RUNS", 3)
    engine_worker.pool.cache_clear()
    asked = post("/my-set-up/answer/", query=urlencode(getattr(request, "param", SET_UP))).json()
    assert refusal(asked["id"]) == "not-done"
    assert engine_worker.EngineAttempt.run(asked["id"], 1) == "done"
    engine_worker.pool().stop()
    engine_worker.pool.cache_clear()
    return Experiment.objects.get(pk=asked["id"])


GROUP = {
    "system": "emqx",
    "nodes": "2",
    "clients": "2",
    "streams": "4",
    "rate": "20/s",
    "fault": "leader-crash",
}


def post(path: str, **body: Any) -> Any:
    return Client().post(path, json.dumps(body), content_type="application/json")


def refusal(experiment_id: str) -> str:
    return post(f"/experiments/{experiment_id}/recount/").json()["code"]


@pytest.mark.parametrize("answer", [SET_UP, GROUP], ids=["regions", "group"], indirect=True)
def test_spark_counts_the_same_numbers_in_every_run(spark: Any, answer: Experiment, monkeypatch: Any) -> None:
    monkeypatch.setattr(spark_worker, "open_session", lambda **_: spark)
    steps = []
    step = spark_worker.ReportAttempt.step
    monkeypatch.setattr(
        spark_worker.ReportAttempt, "step", lambda row, *one: steps.append(one) or step(row, *one)
    )
    asked = post(f"/experiments/{answer.pk}/recount/").json()
    assert (asked["state"], asked["url"]) == ("queued", f"/reports/{asked['id']}/")
    again = post(f"/experiments/{answer.pk}/recount/").json()
    assert again["id"] == asked["id"] and Report.objects.count() == 1, "one for each answer"
    assert spark_worker.ReportAttempt.run(asked["id"], 1) == "done", Report.objects.get().error

    rows = [row for row in answer.results["rows"] if row["point"] == 0]
    found = post(f"/experiments/{answer.pk}/recount/").json()
    assert found["state"] == "done" and [one["seed"] for one in found["figures"]] == [1, 2, 3]
    assert sum(row["duplicates"] for row in rows) > 0 and any(len(row["by_cause"]) > 1 for row in rows)
    for row, counted in zip(rows, found["figures"], strict=True):
        for measure in answer.results["measures"]:
            assert counted[measure["name"]] == row[measure["name"]], measure["name"]
        assert counted["by_cause"] == {cause: count for cause, count in row["by_cause"].items() if count}
    assert [(one["held"], one["violated"], one["first"]) for one in found["checks"]] == [(3, 0, "")] * len(
        found["checks"]
    )
    claims = " ".join(one["claim"] for one in found["checks"])
    of_group = "At one leader a stream has at most" in claims
    assert of_group or "Mark-delete moves back only by a reset" in claims, "a check of rows"
    assert of_group or "The causes of a failover's duplicates" in claims, "a check of figures"
    page = Client().get(found["url"]).content.decode()
    assert "download/csv/" in page and "download/trace/" not in page
    names = [name for _, _, name in steps]
    assert names[0].startswith("reading the traces") and [number for number, _, _ in steps] == [
        *range(1, len(steps) + 1)
    ]
    assert {count for _, count, _ in steps} == {len(steps)}, "every step that is counted is done"
    assert not [name for name in names if "one change" in name or "strategy" in name], "nothing to do here"
    assert "all runs, counted by Spark" in page and f"/experiments/{answer.pk}/" in page
    document = Client().get(f"{found['url']}document/")
    assert document.status_code == 200
    assert not list((Report.objects.get().folder / "traces").iterdir()), "the traces are not kept"
    assert Client().get(f"{found['url']}replay/").status_code == 404, "it is no run of a lab"
    assert post(f"{found['url']}cancel/", token="x").status_code == 403

    # the answer shows one duplicate more than there was
    kept = Report.objects.get()
    kept.reruns[1]["duplicates"] += 1
    kept.reruns[2]["by_cause"] = {"ack_hole": 10_000}
    Report.objects.update(reruns=kept.reruns, state="queued", attempt=2)
    assert spark_worker.ReportAttempt.run(kept.pk, 2) == "failed"
    kept.refresh_from_db()
    wrong = rows[1]["duplicates"]
    assert f"seed 2: duplicates {wrong + 1}, by Spark {wrong}; seed 3: by_cause" in kept.error
    assert kept.error.startswith("Internal error: Spark counted other numbers") and "Do not use" in kept.hint
    newer = post(f"/experiments/{answer.pk}/recount/").json()
    assert newer["id"] != kept.pk and newer["state"] == "queued", "it may be asked for again"


def test_a_recount_is_for_an_answer_of_this_version_with_a_bounded_number_of_rows(
    answer: Experiment, monkeypatch: Any
) -> None:
    assert post("/experiments/nosuch/recount/").status_code == 404
    rows = sum(row["rows"] for row in answer.results["rows"] if row["point"] == 0)
    monkeypatch.setattr("visualizer.tasks.requests.RECOUNT_ROWS_MOST", rows - 1)
    assert refusal(answer.pk) == "too-large" and not Report.objects.exists()
    Experiment.objects.update(engine_version="0")
    assert refusal(answer.pk) == "other-version"
    Experiment.objects.update(set_up=False)
    assert refusal(answer.pk) == "not-done"


def test_every_figure_is_compared() -> None:
    given = [{"seed": 1, "duplicates": 3, "lost": 0, "drained_us": None, "by_cause": {"ack_hole": 3, "x": 0}}]
    same = [{"seed": 1, "duplicates": 3, "lost": 0, "drained_us": None, "by_cause": {"ack_hole": 3}}]
    assert spark_worker.differences(given, same) == []
    for name, value in (("duplicates", 2), ("lost", 1), ("drained_us", 0), ("by_cause", {})):
        [line] = spark_worker.differences(given, [{**same[0], name: value}])
        assert line.startswith(f"seed 1: {name} ")


def test_a_violated_check_is_named_with_its_runs() -> None:
    """The claims of two runs, one with two violations of a claim: the first is shown."""
    scenario = load_scenario("two-regions")
    found = [Violation("b", 7, 2_000_000, "the second"), Violation("b", 3, 1_000_000, "the first")]
    checked = [
        spark_worker.Checked(1, scenario, ("a", "b"), []),
        spark_worker.Checked(2, scenario, ("a", "b"), sorted(found, key=lambda one: one.seq)),
    ]
    assert spark_worker.table_of_checks(checked) == [
        {"claim": "a", "held": 2, "violated": 0, "first": ""},
        {"claim": "b", "held": 1, "violated": 1, "first": "seed 2, 1.000000 s: the first"},
    ]
