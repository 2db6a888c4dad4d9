"""A cancel and a time limit end a task for certain, also when Spark's work cannot be interrupted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from labsite import attempts, spark_worker
from labsite.attempts import ENDED_BY_FORCE, carried_out
from visualizer.labs.definitions import new_lab
from visualizer.tasks.models import Audit, Experiment, Report

PATIENCE_S = 120


def report() -> Any:
    inputs = {"title": "r", "scenario_text": "", "seed": 1, "until_us": 1, "queued_at": timezone.now()}
    return Report.objects.create(lab=new_lab({"scenario": "region-down"}).lab, **inputs)


def audit() -> Any:
    return Audit.objects.create(title="a", token_hash="", format="auto", queued_at=timezone.now())


def experiment() -> Any:
    inputs = {"text": "", "core_s": 8.0, "runs": 10, "queued_at": timezone.now()}
    return Experiment.objects.create(title="e", token_hash="", **inputs)


KINDS = {
    "report": (report, spark_worker.ReportAttempt),
    "audit": (audit, spark_worker.AuditAttempt),
    "experiment": (experiment, spark_worker.SparkExperimentAttempt),
}


@pytest.fixture(params=KINDS)
def row(request: Any, settings: Any, tmp_path: Path, monkeypatch: Any, transactional_db: None) -> Any:
    """The row of a running task; the worker's end is an event, `ended`, instead of the process's end."""
    settings.DATA_DIR = tmp_path
    make, row_of = KINDS[request.param]
    task = make()
    found: Any = row_of(type(task).take(task.pk, 1))
    ended = threading.Event()
    monkeypatch.setattr(attempts, "end_worker", ended.set)
    monkeypatch.setattr(attempts, "ENDS_WITHIN_S", 0.5)
    found.worker_ended = ended
    return found


def stored(row: Any) -> Any:
    return type(row.task).objects.get(pk=row.task.pk)


def test_a_cancelled_task_that_goes_on_ends_with_its_worker(row: Any) -> None:
    def stuck() -> dict[str, Any]:
        type(row.task).objects.filter(pk=row.task.pk).update(cancel_wanted=True)
        assert row.worker_ended.wait(PATIENCE_S)
        assert stored(row).state == "cancelled" and stored(row).finished_at is not None
        return {"state": "done"}  # never reached in a worker

    carried_out(row, stuck)
    assert stored(row).state == "cancelled", "an ended attempt writes no more"


def test_a_task_that_ends_in_time_leaves_its_worker(row: Any) -> None:
    def obedient() -> dict[str, Any]:
        type(row.task).objects.filter(pk=row.task.pk).update(cancel_wanted=True)
        assert row._cancel.wait(PATIENCE_S)
        return {"state": "cancelled"}

    assert carried_out(row, obedient) == "cancelled"
    assert stored(row).error == "" and not row.worker_ended.is_set()


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_task_that_exceeds_its_time_limit_is_stopped_and_says_so(row: Any, goes_on: bool) -> None:
    row.limit_s = 0.1

    def long() -> dict[str, Any]:
        assert (row.worker_ended if goes_on else row._cancel).wait(PATIENCE_S)
        return {"state": "cancelled"}

    carried_out(row, long)
    assert stored(row).state == "failed" and "took longer than" in stored(row).error
    assert row.worker_ended.is_set() == goes_on


STUCK = """
import threading, time
import django
django.setup()
from pyspark import SparkContext
from spark_reports.session import QUICK, open_session
from labsite.attempts import end_worker

spark = open_session("local[1]", settings=QUICK)
print(SparkContext._gateway.proc.pid, flush=True)
words = spark.createDataFrame([("a" * 90,)], ["word"])
query = threading.Thread(target=words.filter(words.word.rlike(r"((?:a+)+)\\1q")).collect, daemon=True)
query.start()
tracker = spark.sparkContext.statusTracker()
while not any(tracker.getStageInfo(one).numActiveTasks for one in tracker.getActiveStageIds()):
    time.sleep(0.05)
spark.sparkContext.cancelAllJobs()
end_worker()
"""


def test_a_worker_ends_with_a_spark_that_cannot_be_interrupted() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STUCK],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "labsite.settings"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == ENDED_BY_FORCE, ended.stderr[-2_000:]
    java = Path(f"/proc/{int(ended.stdout.split()[0])}/stat")
    assert not java.exists() or java.read_text().rpartition(")")[2].split()[0] == "Z", "Java goes on"
