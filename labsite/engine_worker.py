"""Runs one small experiment, such as an answer of My set-up, on the worker's own cores without Spark.

Rules: each finished run is appended to `rows.jsonl` in the task's folder and shown at once, and another
attempt makes only the missing ones. The time left follows from the runs so far, so that it corrects itself
on a busy machine. After `TURN_S` no further run begins while another visitor waits. Only the worker imports
this module.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django import db
from django.conf import settings
from django.urls import reverse

from labsite.engine_pool import EngineDied, EnginePool
from labsite.spark_failures import NO_ROOM, failed
from labsite.task_row import TaskRow, carried_out, when_the_database_is_there
from simulator import ENGINE_VERSION, ScenarioError
from simulator.experiments import FAILED, Batch, Experiment, batches
from spark_reports.experiments.so_far import results_so_far
from visualizer.experiments.models import Experiment as ExperimentRow
from visualizer.experiments.reading import experiment_of
from visualizer.tasks.models import TaskState

log = logging.getLogger("labsite.experiments")

TURN_S = 20.0
"""Seconds after which an experiment begins no further run while another visitor's waits."""

SHOWN_EVERY_S = 0.2
"""Least time between two computations of the results so far; the row is written four times a second."""

KEPT = "Finished runs are kept. Try again: only the missing runs are made."

ROWS = "rows.jsonl"


@cache
def pool() -> EnginePool:
    """The worker's processes, started with the first experiment and kept for the next ones."""
    return EnginePool(settings.ENGINE_PROCESSES)


def run(experiment_id: str, attempt: int) -> str:
    """Run this attempt of the experiment and return its state. An error is recorded in the row."""
    taken = when_the_database_is_there(
        lambda: ExperimentRow.take(experiment_id, attempt, message="starting", engine_version=ENGINE_VERSION)
    )
    if taken is None:
        return "given up"
    row: TaskRow[ExperimentRow] = TaskRow(taken)
    return carried_out(row, lambda: {"left_s": None, **_ended(row)})


def _ended(row: TaskRow[ExperimentRow]) -> dict[str, Any]:
    """Run the experiment and return how it ended, as columns of the row."""
    try:
        runs = Runs(row)
        runs.make()
        if runs.missing:
            if row.stopping.is_set():
                return failed("The worker was stopped while it ran this experiment.", KEPT)
            if runs.giving_way.is_set() and not row.cancelled():
                return {"state": TaskState.QUEUED, "finished_at": None, "message": ""}
            return {"state": TaskState.CANCELLED}
        return {"state": TaskState.DONE, "message": _report(runs)}
    except ScenarioError as error:
        return failed(f"The experiment cannot be read: {error}", "Run its YAML as a new experiment.")
    except EngineDied as error:
        log.exception("Experiment %s", row.task.pk)
        return failed(f"The runs stopped: {error}.", f"{KEPT} The machine may be short of memory.")
    except OSError as error:
        log.exception("Experiment %s: its files cannot be written", row.task.pk)
        reason = "there is no room on the disk" if error.errno in NO_ROOM else "the folder cannot be written"
        return failed(f"The runs could not be stored: {reason}.", "Tell the site's operator.")
    except Exception as error:
        log.exception("Experiment %s failed", row.task.pk)
        words = f"The experiment could not be finished: internal error ({type(error).__name__})."
        return failed(words, f"{KEPT} The worker's log has the details.")


class Runs:
    """The runs of one experiment: those that are finished, and those that are made now."""

    def __init__(self, row: TaskRow[ExperimentRow]) -> None:
        self.row = row
        self.experiment = experiment_of(row.task.text)
        self.giving_way = threading.Event()
        self.path = Path(row.task.folder) / ROWS
        self.rows = _kept(self.path)
        self._began_s = time.monotonic()
        self._finished_before = len(self.rows)
        self._shown_s = 0.0

    @property
    def missing(self) -> int:
        """How many runs are not finished."""
        return self.experiment.runs - len(self.rows)

    def make(self) -> None:
        """Make the missing runs."""
        self._show()
        wanted = self._batches()
        if not wanted:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as kept:
            text = self.row.task.text
            for row in pool().rows(text, wanted, self._may_begin, self._look):
                kept.write(json.dumps(row) + "\n")
                kept.flush()
                self.rows[row["run"]] = row
        self._show()

    def _batches(self) -> list[Batch]:
        """The batches with missing runs, a run each where cores would be idle otherwise.

        Seed by seed, so that early results cover the grid; an answer is finished before what is beside it.
        """
        found = list(batches(self.experiment))
        if not self.row.task.set_up:
            rank = {seed: place for place, seed in enumerate(self.experiment.seeds)}
            found.sort(key=lambda batch: rank[batch.seed])
        parts = max(1, -(-2 * pool().processes // len(found)))
        cut = [part for batch in found for part in batch.parts(parts)]
        return [one for one in cut if any(one.first_run + phase not in self.rows for phase in one.phases)]

    def _may_begin(self) -> bool:
        if time.monotonic() - self._began_s > TURN_S and not self.giving_way.is_set() and self._others_wait():
            self.giving_way.set()
        return not self.giving_way.is_set()

    def _others_wait(self) -> bool:
        try:
            waiting = ExperimentRow.objects.filter(state=TaskState.QUEUED, engine=True)
            return waiting.exclude(client=self.row.task.client).exists()
        except db.Error:
            return False  # the database is away, and the runs continue

    def _look(self) -> bool:
        """Show the progress, and say whether to stop at once."""
        if time.monotonic() - self._shown_s > SHOWN_EVERY_S:
            self._show()
        return self.row.cancel_wanted()

    def _show(self) -> None:
        rows = list(self.rows.values())
        self._shown_s = time.monotonic()
        self.row.collect(
            runs_finished=len(rows),
            runs_failed=sum(row["status"] == FAILED for row in rows),
            left_s=self.left_s(),
            message="running" if self.missing else "",
        )
        if rows:
            self.row.collect(results=results_so_far(self.experiment, rows))

    def left_s(self) -> float:
        """Seconds until every run is finished.

        Before the first runs it is the estimate. Each finished run counts as one measurement, and the
        estimate as one.
        """
        spent_s, made = time.monotonic() - self._began_s, len(self.rows) - self._finished_before
        processes = min(pool().processes, max(1, self.experiment.runs - self._finished_before))
        estimated_s = self.row.task.core_s / self.experiment.runs / processes
        each_s = (estimated_s + spent_s) / (1 + made) if made else estimated_s
        whole_s = each_s * (self.experiment.runs - self._finished_before)
        return max(whole_s - spent_s, min(self.missing, 1) * each_s)


def _kept(path: Path) -> dict[int, dict[str, Any]]:
    """The finished runs of an earlier attempt. A line that was cut off is left out."""
    found: dict[int, dict[str, Any]] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return found
    complete = text[: text.rfind("\n") + 1]
    if complete != text:
        path.write_text(complete, encoding="utf-8")
    for line in complete.splitlines():
        row = json.loads(line)
        found[row["run"]] = row
    return found


def _report(runs: Runs) -> str:
    """Write the experiment's report and table; a note if what they need is not installed."""
    row = runs.row
    if row.task.set_up:
        return ""
    if importlib.util.find_spec("pyarrow") is None:
        return "The report needs the packages of Spark, which are not installed yet."
    row.collect(message="writing the report")
    _write_report(runs.experiment, list(runs.rows.values()), row.task)
    return ""


def _write_report(experiment: Experiment, rows: Sequence[dict[str, Any]], task: ExperimentRow) -> None:
    import pyarrow as pa

    from spark_reports.experiments.job import store_of
    from spark_reports.experiments.report.write import write_report

    store = store_of(experiment, task.folder)
    with store.opened():
        if not store.kept().standing().complete:
            store.add(pa.Table.from_pylist(list(rows), store.columns))
        store.finish()
    path = reverse("experiments:experiment", args=[task.pk])
    site_url = f"{task.site}{path}".rstrip("/") if task.site else None
    write_report(experiment, store.table(), task.folder, site_url=site_url)
