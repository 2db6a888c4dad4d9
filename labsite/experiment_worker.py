"""Runs one experiment in the worker.

Rules: finished runs are files of the sweep, and another attempt makes only the missing ones. After `TURN_S`
an experiment gives way, between two rounds, to other tasks that wait. An error is written to the row as a
message, and logged with its traceback. Only the worker imports this module.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django import db

from labsite.task_row import TaskRow, carried_out, failed, forget_broken_session, when_the_database_is_there
from simulator import ScenarioError
from spark_reports.experiments.job import Sweep, SweepFailed
from spark_reports.experiments.listener import NullListener, Standing
from spark_reports.experiments.report.page import write_report
from spark_reports.experiments.so_far import results_so_far
from spark_reports.experiments.store import StoreError
from spark_reports.progress import Cancelled
from spark_reports.session import QUICK, JavaMissing, MasterUnreachable, open_session
from visualizer.tasks.experiments import experiment_of
from visualizer.tasks.models import Experiment, others_wait

log = logging.getLogger("labsite.experiments")

TURN_S = 20.0
"""Seconds after which an experiment gives way if another task waits: a report takes about as long."""

MESSAGE_MOST = 300
"""Most characters of a message, as in the database."""

KEPT = "Finished runs are kept. Try again: only the missing runs are made."


class Row(TaskRow[Experiment], NullListener):
    """The experiment's row as a listener of the sweep."""

    limit_s = 7_200.0

    def __init__(self, task: Experiment) -> None:
        super().__init__(task)
        self.sweep: Sweep | None = None
        self.giving_way = threading.Event()
        self._turn_began_s: float | None = None  # when Spark was ready for the first round

    def stands(self, standing: Standing) -> None:
        """Record how many runs are finished, the time left, and the figures so far."""
        left_s = None if standing.complete else standing.left_s
        self.collect(runs_finished=standing.finished, runs_failed=standing.failed, left_s=left_s)
        if standing.complete:
            self.notice("writing the report")
        if self.sweep is not None and standing.finished:
            self.collect(results=results_so_far(self.sweep.experiment, self.sweep.store.table().to_pylist()))
        if self._turn_began_s is None:
            self._turn_began_s = time.monotonic()
        elif not standing.complete and self._turn_is_over() and self._others_wait():
            self.giving_way.set()

    def left(self, left_s: float) -> None:
        """Record the time left, as corrected by the round that runs."""
        self.collect(left_s=left_s)

    def _turn_is_over(self) -> bool:
        return self._turn_began_s is not None and time.monotonic() - self._turn_began_s > TURN_S

    def _others_wait(self) -> bool:
        try:
            return others_wait(self.task)
        except db.Error:
            return False  # the database is away, and the runs continue

    def notice(self, text: str) -> None:
        """Record what a reader should know."""
        self.collect(message=text[:MESSAGE_MOST])

    def cancel_wanted(self) -> bool:
        """Whether the experiment was cancelled or gives way, or the worker is stopping."""
        return super().cancel_wanted() or self.giving_way.is_set()


def run(experiment_id: str, attempt: int) -> str:
    """Run this attempt of the experiment and return its state. An error is recorded in the row."""
    taken = when_the_database_is_there(
        lambda: Experiment.take(experiment_id, attempt, message="starting Spark")
    )
    if taken is None:
        return "given up"
    row = Row(taken)
    return carried_out(row, lambda: {"left_s": None, **_ended(row)})


def _ended(row: Row) -> dict[str, Any]:
    """Run the experiment and return how it ended, as columns of the row."""
    try:
        _work(row)
        return {"state": Experiment.State.DONE, "message": ""}
    except Cancelled:
        if row.stopping.is_set():
            return failed("The worker was stopped while it ran this experiment.", KEPT)
        if row.giving_way.is_set() and not row.cancelled():
            return {"state": Experiment.State.QUEUED, "finished_at": None, "message": ""}
        return {"state": Experiment.State.CANCELLED}
    except (JavaMissing, MasterUnreachable) as error:
        log.error("Experiment %s cannot be run: %s", row.task.pk, error)
        return failed("Experiments need Spark, which cannot be started.", str(error))
    except ScenarioError as error:
        log.exception("Experiment %s cannot be read", row.task.pk)
        return failed(f"The experiment cannot be read: {error}", "Run its YAML as a new experiment.")
    except StoreError:
        log.exception("Experiment %s: its files cannot be used", row.task.pk)
        return failed(
            "The runs could not be stored: there is no room, or they were made by another version.",
            "Run its YAML as a new experiment when the site's operator has looked at the worker's log.",
        )
    except SweepFailed:
        log.exception("Spark failed in experiment %s", row.task.pk)
        forget_broken_session()
        return failed(
            "Spark failed while it ran this experiment.", f"{KEPT} The worker's log has the reason."
        )
    except Exception as error:
        # Spark and its JVM may raise any exception here: the row must not stay "running".
        log.exception("Experiment %s failed", row.task.pk)
        forget_broken_session()
        return failed(
            f"The experiment could not be finished: internal error ({type(error).__name__}).",
            f"{KEPT} The worker's log has the details.",
        )


def _work(row: Row) -> None:
    """Make the missing runs, then the report."""
    experiment = experiment_of(row.task.text)
    if row.cancel_wanted():
        raise Cancelled
    spark = open_session(settings=QUICK)
    row.notice("running the first runs")
    sweep = row.sweep = Sweep(spark, experiment, row.task.folder, row, core_s=row.task.core_s)
    sweep.run()
    row.stands(sweep.store.kept().standing())
    write_report(experiment, sweep.store.table(), row.task.folder, site_url=_site_url(row.task))


def _site_url(row: Experiment) -> str | None:
    """The experiment's address on the site; it is absolute, since the report is also opened from a disk."""
    return f"{row.site}{row.url}".rstrip("/") if row.site else None
