"""Runs one small experiment, such as an answer of My set-up, on the worker's own cores without Spark.

Rules: each finished run is appended to `rows.jsonl` in the task's folder and shown at once, and another
attempt makes only the missing ones. Under an answer of My set-up, What would have helped is computed in the
same way (`what-if.jsonl`), after its runs, for the one with the most duplicates. The time left
follows from the runs so far, so that it corrects itself on a busy machine. After `TURN_S` no further run
begins while another visitor waits. Only the worker imports this module.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from labsite.attempts import NO_ROOM, ExperimentAttempt, failed
from labsite.engine_pool import Changed, EngineDied, EnginePool
from simulator import ENGINE_VERSION
from simulator.experiments import FAILED, Batch, Experiment, batches, replayed
from simulator.what_if import ROWS_MOST, answer, variants
from spark_reports.experiments.estimate import left_s
from spark_reports.experiments.so_far import results_so_far
from spark_reports.progress import Cancelled
from visualizer.setups.question import CHANGED_COST, factor_of, may_differ
from visualizer.tasks.experiments import experiment_of
from visualizer.tasks.models import Experiment as ExperimentRow

TURN_S = 20.0
"""Seconds after which an experiment begins no further run while another visitor's waits."""

SHOWN_EVERY_S = 0.2
"""Least time between two computations of the results so far; the row is written four times a second."""

ROWS, OUTCOMES = "rows.jsonl", "what-if.jsonl"

CHOSEN = "worst_run"
"""The run of an answer that is run again with changes, by its name in the results so far."""

AFTER_MOVE_US = 5_000_000
"""Least simulated time of a changed run after its last command."""


@cache
def pool() -> EnginePool:
    """The worker's processes, started with the first experiment and kept for the next ones."""
    return EnginePool(settings.ENGINE_PROCESSES)


class EngineAttempt(ExperimentAttempt):
    """An attempt at a small experiment."""

    at_first = {"message": "starting", "engine_version": ENGINE_VERSION}

    def make(self) -> dict[str, Any]:
        """Make the missing runs, then the report."""
        runs = ExperimentRuns(self)
        runs.make()
        if runs.unfinished:
            raise Cancelled
        return {"message": _report(runs)}

    def refusal(self, error: Exception) -> dict[str, Any] | None:
        """How it ends when its processes die, or its files cannot be written."""
        if isinstance(error, EngineDied):
            hint = f"{self.retry} The machine may be short of memory."
            return failed(f"The runs stopped: {error}.", hint)
        if isinstance(error, OSError) and error.errno not in NO_ROOM:
            words = "The runs could not be stored: the folder cannot be written."
            return failed(words, "Tell the site's operator.")
        return super().refusal(error)


class ExperimentRuns:
    """The runs of one experiment: those that are finished, and those that are made now."""

    def __init__(self, attempt: ExperimentAttempt) -> None:
        self.attempt = attempt
        self.experiment = experiment_of(attempt.task.text)
        self.path = Path(attempt.task.folder) / ROWS
        self.rows = _kept(self.path, "run")
        outcomes = self.path.with_name(OUTCOMES)
        self.helped = WhatHelped(self.experiment, outcomes) if attempt.task.set_up else None
        self._choose()
        self._began_s = time.monotonic()
        self._finished_before = self._finished
        self._shown_s = 0.0

    @property
    def missing(self) -> int:
        """How many runs are not finished."""
        return self.experiment.runs - len(self.rows)

    @property
    def unfinished(self) -> bool:
        """Whether a run, or a changed run, is still to be made."""
        return bool(self.missing) or (self.helped is not None and not self.helped.done)

    def make(self) -> None:
        """Make the missing runs, then the missing changed runs."""
        self._show()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if wanted := self._batches():
            self._make(wanted, self.path, lambda row: self.rows.update({row["run"]: row}))
        self._choose()
        self._show()
        if self.helped is not None and (changed := self.helped.wanted()):
            self._make(changed, self.helped.path, self.helped.take)

    def _choose(self) -> None:
        if self.helped is not None and not self.missing:
            self.helped.choose(list(self.rows.values()))

    def _make(
        self, wanted: Sequence[Batch | Changed], path: Path, take: Callable[[dict[str, Any]], None]
    ) -> None:
        """Run what is wanted; each result is appended to the file, taken and shown."""
        with path.open("a", encoding="utf-8") as kept:
            for found in pool().rows(self.attempt.task.text, wanted, self._may_begin, self._look):
                kept.write(json.dumps(found) + "\n")
                kept.flush()
                take(found)
        self._show()

    def _batches(self) -> list[Batch]:
        """The batches with missing runs, a run each where cores would be idle otherwise.

        Seed by seed, so that early results cover the grid; an answer is finished before what is beside it.
        """
        found = list(batches(self.experiment))
        if not self.attempt.task.set_up:
            rank = {seed: place for place, seed in enumerate(self.experiment.seeds)}
            found.sort(key=lambda batch: rank[batch.seed])
        parts = max(1, -(-2 * pool().processes // len(found)))
        cut = [part for batch in found for part in batch.parts(parts)]
        return [one for one in cut if any(one.first_run + phase not in self.rows for phase in one.phases)]

    def _may_begin(self) -> bool:
        giving_way = self.attempt.giving_way
        turn_is_over = time.monotonic() - self._began_s > TURN_S
        if turn_is_over and not giving_way.is_set() and self.attempt.others_wait():
            giving_way.set()
        return not giving_way.is_set()

    def _look(self) -> bool:
        """Show the progress, and say whether to stop at once."""
        if time.monotonic() - self._shown_s > SHOWN_EVERY_S:
            self._show()
        return self.attempt.cancel_wanted()

    def _show(self) -> None:
        rows = list(self.rows.values())
        self._shown_s = time.monotonic()
        self.attempt.collect(
            runs_finished=len(rows),
            runs_failed=sum(row["status"] == FAILED for row in rows),
            left_s=self.left_s(),
            message="" if not self.unfinished else "running" if self.missing else "running the changed runs",
        )
        if rows:
            helped = {} if self.helped is None else {"what_if": self.helped.described()}
            found, factor = results_so_far(self.experiment, rows), factor_of(self.experiment)
            part = {"factor": factor, "may_differ": may_differ(self.experiment, rows)}
            self.attempt.collect(results={**found, **helped, **({"reduced": part} if factor > 1 else {})})
            self.attempt.write_soon()

    @property
    def _finished(self) -> int:
        """The finished work, in runs of the experiment."""
        return len(self.rows) + (0 if self.helped is None else CHANGED_COST * len(self.helped.found))

    def left_s(self) -> float:
        """Seconds until every run is finished; before the first ones it is the estimate."""
        spent_s, made = time.monotonic() - self._began_s, self._finished - self._finished_before
        whole = self.experiment.runs + (0 if self.helped is None else CHANGED_COST * self.helped.of)
        wanted, processes = whole - self._finished_before, pool().processes
        each_s = self.attempt.task.core_s / whole / min(processes, max(1, wanted))
        return left_s(each_s, spent_s, made, wanted, processes * (1 if self.missing else CHANGED_COST))


class WhatHelped:
    """What would have helped in one run of an answer: the run again, with one change at a time.

    The run is the one with the most duplicates, of equal ones the first. Every changed run ends
    at the same instant: twice the time that the backlog of the unchanged run needs after the last command.
    """

    def __init__(self, experiment: Experiment, path: Path) -> None:
        self.experiment, self.path = experiment, path
        self.found = _kept(path, "place")
        first = experiment.scenario_at(experiment.points[0], experiment.seeds[0])
        self.of = len(variants(first, []))
        self._row: dict[str, Any] | None = None
        self._refused: list[str] = []
        self._scenario, self._until_us = first, first.until_us

    def choose(self, rows: Sequence[dict[str, Any]]) -> None:
        """Choose the run, once all runs are finished."""
        chosen = results_so_far(self.experiment, rows)["points"][0][CHOSEN]
        self._row = next((row for row in rows if row["run"] == chosen), None)
        if self._row is None:  # every run failed
            self.of = 0
            return
        if self._row["rows"] > ROWS_MOST:
            words = f"the run has {self._row['rows']:,} rows, and at most {ROWS_MOST:,} are run again"
            self.of, self._refused = 0, [words]
            return
        self._scenario = replayed(self.experiment, self._row)
        last_us = max((spec.at_us for spec in self._scenario.commands), default=0)
        drained_us = None if self._row["delivering"] else self._row.get("drained_us")
        if drained_us is not None:
            after_us = max(AFTER_MOVE_US, 2 * drained_us)
            self._until_us = min(self._scenario.until_us, last_us + after_us)

    @property
    def done(self) -> bool:
        """Whether every change was run, or could not be."""
        return len(self.found) >= self.of

    def wanted(self) -> list[Changed]:
        """The changed runs that are missing, the unchanged run first."""
        if self._row is None:
            return []
        identity = {name: self._row[name] for name in ("run", "point", "seed", "phase_us")}
        missing = [place for place in range(self.of) if place not in self.found]
        return [Changed(identity, place, self._until_us, ROWS_MOST) for place in missing]

    def take(self, found: dict[str, Any]) -> None:
        """Keep the outcome of a changed run."""
        self.found[found["place"]] = found

    def described(self) -> dict[str, Any]:
        """{of, finished, seed, until_us, failed: the reasons}, and the answer of `simulator.what_if`."""
        found = [self.found[place] for place in sorted(self.found)]
        failed = self._refused + [one["failed"] for one in found if "failed" in one]
        outcomes = [one["outcome"] for one in found if "outcome" in one]
        if "outcome" not in self.found.get(0, {}):
            outcomes = []  # nothing to compare with yet
        late = [one for one in outcomes if not one["no_setting"] and _drained(outcomes[0]) > _drained(one)]
        failed += [f"with {one['name']} it was still delivering at the end" for one in late]
        outcomes = [one for one in outcomes if one not in late]
        row = self._row
        return {
            "of": self.of,
            "finished": len(found),
            "seed": None if row is None else row["seed"],
            "until_us": self._until_us,
            "failed": list(dict.fromkeys(failed)),
            **answer(self._scenario, outcomes, done=self.done and not failed),
        }


def _drained(outcome: dict[str, Any]) -> bool:
    """Whether the first failover of an outcome has drained, so that its figures are final."""
    return bool(outcome["cases"]) and outcome["cases"][0].get("drained_us") is not None


def _kept(path: Path, name: str) -> dict[int, dict[str, Any]]:
    """The finished runs of an earlier attempt, by this entry. A line that was cut off is left out."""
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
        found[row[name]] = row
    return found


def _report(runs: ExperimentRuns) -> str:
    """Write the experiment's report and table; a note if what they need is not installed."""
    attempt = runs.attempt
    if attempt.task.set_up:
        return ""
    if importlib.util.find_spec("pyarrow") is None:
        return "The report needs the packages of Spark, which are not installed yet."
    attempt.collect(message="writing the report")
    _write_report(runs.experiment, list(runs.rows.values()), attempt.task)
    return ""


def _write_report(experiment: Experiment, rows: Sequence[dict[str, Any]], task: ExperimentRow) -> None:
    import pyarrow as pa

    from spark_reports.experiments.job import store_of
    from spark_reports.experiments.report.page import write_report

    store = store_of(experiment, task.folder)
    with store.opened():
        if not store.kept().standing().complete:
            store.add(pa.Table.from_pylist(list(rows), store.columns))
        store.finish()
    write_report(experiment, store.table(), task.folder, site_url=task.url_on_site)
