"""An experiment from the page to its end, with the real worker code on Spark; cancelled, and continued."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.test import Client
from django_tasks_db.models import DBTaskResult

from labsite import attempts, spark_worker
from simulator.experiments import batches, read_experiment_text, run_batch
from spark_reports.session import JavaMissing
from visualizer.tasks.models import Experiment

TEXT = """\
title: Two periods
scenario: region-down
grid: {settings.replicatedSubscriptionsSnapshotFrequencyMillis: [500, 1000]}
phases: 3
seeds: 2
wanted: {measure: duplicates, at_most: 9}
"""


@pytest.fixture(autouse=True)
def _data(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path
    settings.ALLOWED_HOSTS = ["testserver"]


@pytest.fixture
def one(transactional_db: Any) -> dict[str, str]:
    """An experiment that is too large for the engine's processes."""
    found = post("/experiments/", yaml=TEXT).json()
    Experiment.objects.update(engine=False)
    return found


def post(path: str, **body: Any) -> Any:
    return Client().post(path, json.dumps(body), content_type="application/json")


def expected() -> list[dict[str, Any]]:
    experiment = read_experiment_text(TEXT)
    return [row for batch in batches(experiment) for row in run_batch(experiment, batch)]


class CancelledAfterTheFirstRound(spark_worker.SparkExperimentAttempt):
    """Cancels on the page as soon as the first runs are finished."""

    def stands(self, standing: Any) -> None:
        super().stands(standing)
        if standing.finished:
            Experiment.objects.filter(pk=self.task.pk).update(cancel_wanted=True)
            self._try_to_write()


def test_an_experiment_is_cancelled_continued_and_finished(spark: Any, one: dict[str, str]) -> None:
    assert CancelledAfterTheFirstRound.run(*Experiment.next_in_turn()) == "cancelled"
    found = Client().get(f"{one['url']}status.json").json()
    assert found["state"] == "cancelled" and 0 < found["finished"] < 12
    assert found["results"]["runs"] == found["finished"] and not found["files"]
    before = sorted((Experiment.objects.get(pk=one["id"]).folder / "runs").iterdir())

    assert post(f"{one['url']}again/", token=one["token"]).json()["state"] == "queued"
    assert spark_worker.SparkExperimentAttempt.run(*Experiment.next_in_turn()) == "done"
    found = Client().get(f"{one['url']}status.json").json()
    assert (found["words"], found["left_s"], found["finished"]) == ("Finished: 12 runs.", None, 12)
    row = Experiment.objects.get(pk=one["id"])
    assert before == sorted((row.folder / "runs").iterdir())[: len(before)], (
        "finished runs were not made again"
    )
    rows = expected()
    table = pq.read_table(row.folder / "runs.parquet").to_pylist()
    assert [each["duplicates"] for each in table] == [each["duplicates"] for each in rows]
    assert_results(found["results"], rows)
    report = b"".join(Client().get(f"{one['url']}document/").streaming_content).decode()
    assert f"http://testserver/experiments/{one['id']}/runs/" in report
    data = b"".join(Client().get(f"{one['url']}download/json/").streaming_content)
    assert json.loads(data)
    assert spark_worker.SparkExperimentAttempt.run(one["id"], 1) == "given up"


def test_an_experiment_gives_way_to_another_visitor_and_loses_nothing(
    spark: Any, one: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_worker, "TURN_S", 0.0)
    other = post("/experiments/", yaml=TEXT).json()
    Experiment.objects.filter(pk=other["id"]).update(client="other", engine=False)
    assert spark_worker.SparkExperimentAttempt.run(one["id"], 1) == "queued"
    found = Client().get(f"{one['url']}status.json").json()
    assert found["words"].startswith(f"Queued, {found['finished']} of 12 runs finished.")
    assert 0 < found["finished"] < 12 and DBTaskResult.objects.count() == 3
    assert Experiment.next_in_turn() == (other["id"], 1)
    Experiment.objects.filter(pk=other["id"]).delete()
    assert spark_worker.SparkExperimentAttempt.run(*Experiment.next_in_turn()) == "done"
    assert Experiment.objects.get(pk=one["id"]).runs_finished == 12


def assert_results(results: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """The results of the page, recounted from the rows."""
    assert (results["measure"], results["at_most"], results["runs"]) == ("duplicates", 9, 12)
    for point in results["points"]:
        of_point = [row for row in rows if row["point"] == point["number"]]
        values = sorted(row["duplicates"] for row in of_point)
        figures = point["figures"]["duplicates"]
        assert (figures["median"], figures["p95"], figures["largest"]) == (values[2], values[5], values[-1])
        assert [value for value, count in point["dots"] for _ in range(count)] == values
        assert point["within"] == sum(value <= 9 for value in values)
        by_run = {row["run"]: row["duplicates"] for row in of_point}
        assert (by_run[point["median_run"]], by_run[point["worst_run"]]) == (values[2], values[-1])


def test_without_java_the_page_names_the_package_to_install(
    one: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java(**_: Any) -> None:
        raise JavaMissing("On Debian: apt-get install openjdk-17-jre-headless.")

    monkeypatch.setattr(spark_worker, "open_session", no_java)
    assert spark_worker.SparkExperimentAttempt.run(*Experiment.next_in_turn()) == "failed"
    found = Client().get(f"{one['url']}status.json").json()
    assert "openjdk-17-jre-headless" in found["hint"] and found["over"]


def test_a_failure_shows_no_path_of_the_server(one: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("/var/lib/somewhere is broken")

    monkeypatch.setattr(spark_worker, "open_session", broken)
    monkeypatch.setattr(attempts, "forget_broken_session", lambda: None)
    assert spark_worker.SparkExperimentAttempt.run(*Experiment.next_in_turn()) == "failed"
    found = Client().get(f"{one['url']}status.json").json()
    assert "internal error (RuntimeError)" in found["error"] and "/var/lib" not in json.dumps(found)
    assert "only the missing runs" in found["hint"]
