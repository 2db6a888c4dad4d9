"""The progress of tasks: something that a page shows changes every second, and estimates correct themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from labsite import attempts, engine_worker, spark_worker
from labsite.attempts import Attempt, ExperimentAttempt
from spark_reports.experiments import job
from spark_reports.experiments.estimate import left_s
from spark_reports.experiments.job import Sweep, _Round
from spark_reports.experiments.listener import Standing
from spark_reports.progress import Watch
from tests.spark_reports.sweeps import Recorded, small
from visualizer.labs.definitions import new_lab
from visualizer.tasks.models import Audit, Experiment, Report
from visualizer.tasks.requests import status_of

SILENT_MOST_S = 5.0
"""The longest time in which a page may show the same."""

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that the test moves, in place of Django's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.s = 0.0
        monkeypatch.setattr(timezone, "now", lambda: START + timedelta(seconds=self.s))
        monkeypatch.setattr(attempts, "close_old_connections", lambda: None)


def report() -> Report:
    lab = new_lab({"scenario": "region-down"}).lab
    return Report.objects.create(lab=lab, title="r", scenario_text="", seed=1, until_us=1, queued_at=START)


def audit() -> Audit:
    return Audit.objects.create(title="a", token_hash="", format="auto", queued_at=START)


def experiment() -> Experiment:
    inputs = {"text": "", "core_s": 8.0, "runs": 10, "queued_at": START}
    return Experiment.objects.create(title="e", token_hash="", **inputs)


def steps(row: Any) -> list[tuple[float, Callable[[], None]]]:
    """A report's or audit's messages by second: starting Spark takes long, and so does a step of one task."""
    return [
        (20, lambda: row.say("starting Spark")),
        (60, lambda: row.step(1, 3, "read")),
        (61, lambda: row.tasks(0, 2)),
        (62, lambda: row.tasks(1, 2)),
        (90, lambda: row.step(2, 3, "count")),
        (180, lambda: row.step(3, 3, "writing the page and the downloads")),
    ]


def rounds(row: Any) -> list[tuple[float, Callable[[], None]]]:
    """An experiment's messages: a busy machine makes each round longer than estimated."""
    return [
        (20, lambda: row.notice("running the first runs")),
        (40, lambda: row.stands(Standing(0, 10, 0, 5.0))),
        (70, lambda: row.stands(Standing(10, 10, 0))),
        (71, lambda: row.notice("writing the report")),
    ]


TASKS = {
    "report": (report, spark_worker.ReportAttempt, steps),
    "audit": (audit, spark_worker.AuditAttempt, steps),
    "experiment": (experiment, spark_worker.SparkExperimentAttempt, rounds),
}


def shown(kind: str, task: Any, clock: Clock, row: Attempt[Any] | None, s: float) -> tuple[str, ...]:
    """What the page shows at this second; the worker's row is written as its thread does."""
    clock.s = s
    if row is not None:
        row._try_to_write()
    found = status_of(type(task), task.pk)
    return found["words"], found["lasting"], found["note"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", TASKS)
def test_what_a_page_shows_never_stays_the_same_for_five_seconds(kind, settings, tmp_path, monkeypatch):
    settings.DATA_DIR, clock = tmp_path, Clock(monkeypatch)
    make, row_of, messages_of = TASKS[kind]
    task, row = make(), None
    messages: list[tuple[float, Callable[[], None]]] = []
    longest, since, before = 0.0, 0.0, None
    for half in range(600):
        s = half / 2
        clock.s = s
        if s == 10:
            row = row_of(type(task).take(task.pk, 1))
            messages = messages_of(row)
        while messages and messages[0][0] <= s:
            messages.pop(0)[1]()
        now = shown(kind, task, clock, row, s)
        if now != before:
            before, since = now, s
        longest = max(longest, s - since)
    assert not messages and longest < SILENT_MOST_S, f"silent for {longest} s"


@pytest.mark.django_db
def test_the_time_that_is_shown_is_that_of_the_present_work_and_ends_with_its_worker(
    settings, tmp_path, monkeypatch
):
    settings.DATA_DIR, clock = tmp_path, Clock(monkeypatch)
    task = report()
    assert shown("report", task, clock, None, 7.5)[1] == "7 s so far", "in the queue"
    row = spark_worker.ReportAttempt(Report.take(task.pk, 1))
    row.say("starting Spark")
    assert shown("report", task, clock, row, 7.9)[:2] == ("Starting Spark.", "")
    row.say("starting Spark")
    assert shown("report", task, clock, row, 75.0)[:2] == ("Starting Spark.", "1 min 7 s so far"), "since 7.5"
    row.step(1, 2, "count")
    assert shown("report", task, clock, row, 75.5)[1] == ""
    row.tasks(1, 4)
    words = "Step 1 of 2: count. 1 of 4 Spark tasks are done."
    assert shown("report", task, clock, row, 80.0)[:2] == (words, "5 s so far")
    assert shown("report", task, clock, None, 94.0)[1] == "5 s so far", "its worker wrote last at 80 s"
    row.task.record_progress({"state": "done"})
    assert shown("report", task, clock, None, 99.0)[1] == ""


@pytest.mark.django_db
def test_an_experiment_says_that_its_report_is_written(settings, tmp_path, monkeypatch):
    settings.DATA_DIR, _ = tmp_path, Clock(monkeypatch)
    task = experiment()
    row = spark_worker.SparkExperimentAttempt(Experiment.take(task.pk, 1))
    row.notice("running the first runs")
    row.stands(Standing(10, 10, 0, 0.0))
    row._try_to_write()
    assert status_of(Experiment, task.pk)["words"] == "10 of 10 runs finished; writing the report."


def test_an_estimate_counts_as_one_measurement_and_yields_to_a_busy_machine():
    assert left_s(2.0, 0.0, 0, 10, 2) == 20.0
    assert left_s(2.0, 3.0, 0, 10, 2) == 17.0, "the first two should take 4 s"
    assert left_s(2.0, 8.0, 1, 10, 2) == pytest.approx(42.0), "(2 + 8) / 2 each"
    waiting = [left_s(2.0, spent_s, 0, 10, 2) for spent_s in (4.0, 10.0, 20.0)]
    assert waiting == [16.0, 40.0, 80.0], "two that are not done after 10 s take 5 s each at least"
    assert left_s(2.0, 100.0, 10, 10, 2) == 0.0
    for factor in (0.8, 1.0, 1.25, 4.0):  # the real time of a work, in estimates
        lefts = [left_s(1.0, factor * made, made, 40, 2) for made in range(0, 41, 2)]
        real = [factor * (40 - made) for made in range(0, 41, 2)]
        late = [abs(found - wanted) / wanted for found, wanted in zip(lefts[5:-2], real[5:-2], strict=True)]
        assert max(late) < 0.3, f"{factor}: {late}"


def test_a_round_corrects_the_time_left_while_it_runs(tmp_path, monkeypatch):
    """A round of 60 s says nothing itself: its tasks are what shows that the machine is busy."""
    listener = Recorded()
    listener.lefts = []
    listener.left = listener.lefts.append
    sweep = Sweep(None, small(), tmp_path / "out", listener, core_s=8.0)
    now = [100.0]
    monkeypatch.setattr(job.time, "monotonic", lambda: now[0])
    sweep.tasks(0, 8)
    assert listener.lefts == [], "no round runs"
    sweep._round = _Round(100.0, 2, 20.0, 40.0, True)
    for now[0], done in ((100.0, 0), (110.0, 4), (130.0, 4), (140.0, 4)):
        sweep.tasks(done, 8)
    assert listener.lefts[:2] == pytest.approx([60.0, 50.0], rel=0.05), "as estimated"
    assert listener.lefts[3] > listener.lefts[2] > 70.0, "four tasks took as long as twelve should"
    sweep._round = _Round(100.0, 2, 1.0, 40.0, False)
    now[0] = 104.0
    sweep.tasks(0, 8)
    assert listener.lefts[-1] == pytest.approx(52.0), "a slow first round says nothing about later ones"


def test_a_watched_sweep_passes_the_tasks_of_its_stage_on(tmp_path):
    listener = Recorded()
    seen: list[tuple[int, int]] = []
    listener.tasks = lambda done, of: seen.append((done, of))
    sweep = Sweep(None, small(), tmp_path / "out", listener)
    watch = Watch(None, sweep, "group")
    info = type("Info", (), {"numCompletedTasks": 3, "numTasks": 7})
    tracker = type("T", (), {"getActiveStageIds": lambda self: [1], "getStageInfo": lambda self, one: info})
    watch._report_tasks(tracker())
    assert seen == [(3, 7)] and not sweep.cancel_wanted()


@pytest.mark.django_db
def test_the_runs_of_the_engine_say_which_they_are(settings, tmp_path, monkeypatch):
    settings.DATA_DIR = Path(tmp_path)
    task = experiment()
    Experiment.objects.filter(pk=task.pk).update(text="format: 1\nname: n\nscenario: region-down\nseeds: 2\n")
    row: Attempt[Any] = ExperimentAttempt(Experiment.take(task.pk, 1))
    runs = engine_worker.ExperimentRuns(row)
    said: list[str] = []
    row.collect = lambda **columns: said.extend(columns[name] for name in columns if name == "message")
    runs._show()
    runs.rows = {
        number: {"run": number, "point": 0, "status": "finished"} for number in range(runs.experiment.runs)
    }
    monkeypatch.setattr(engine_worker, "results_so_far", lambda *_: {})
    runs._show()
    assert said == ["running", ""]


@pytest.mark.django_db(transaction=True)
def test_a_first_result_is_written_at_once(settings, tmp_path, monkeypatch):
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(attempts, "WRITE_EVERY_S", 3600.0)
    written = threading.Event()
    row: Attempt[Any] = ExperimentAttempt(Experiment.take(experiment().pk, 1))
    monkeypatch.setattr(row, "_try_to_write", written.set)
    with row:
        row.write_soon()
        assert written.wait(60), "an hour is the time between two writes"
