"""Runs one experiment in the worker and keeps its row up to date.

Rules: one thread writes the row four times a second, so that missing writes reveal a dead worker and a cancel
is noticed at any step. Finished runs are files of the sweep, and another attempt makes only the missing ones.
After `TURN_S` an experiment gives way, between two rounds, to reports and other visitors' experiments that
wait. An error is written to the row as a message, and logged with its traceback. Only the worker imports
this module.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django import db
from django.db import close_old_connections, connection
from django.urls import reverse
from django.utils import timezone

from labsite.report_worker import StopsWith, forget_broken_session, when_the_database_is_there
from simulator import ScenarioError
from spark_reports.experiments.failures import SweepFailed
from spark_reports.experiments.job import Sweep
from spark_reports.experiments.listener import NullListener, Standing
from spark_reports.experiments.report import write_report
from spark_reports.experiments.so_far import results_so_far
from spark_reports.experiments.store import StoreError
from spark_reports.progress import Cancelled
from spark_reports.session import QUICK, JavaMissing, MasterUnreachable, open_session
from visualizer.experiments.models import Experiment, others_wait, record_progress
from visualizer.experiments.reading import experiment_of
from visualizer.experiments.requests import queue

log = logging.getLogger("labsite.experiments")

WRITE_EVERY_S = 0.25
TURN_S = 20.0
"""Seconds after which an experiment gives way if somebody else waits: a report takes about as long."""

MESSAGE_MOST = 300
"""Most characters of a message, as in the database."""

KEPT = "Finished runs are kept. Try again: only the missing runs are made."


class Row(NullListener):
    """The experiment's row as a listener of the sweep: collects changes and writes them from one thread."""

    def __init__(self, row: Experiment) -> None:
        self.row = row
        self.sweep: Sweep | None = None
        self.stopping = threading.Event()
        self.giving_way = threading.Event()
        self._turn_began_s: float | None = None  # when Spark was ready for the first round
        self._unwritten: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._cancel = threading.Event()
        self._thread = threading.Thread(target=self._keep_writing, name="experiment-row", daemon=True)

    def __enter__(self) -> Row:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def stands(self, standing: Standing) -> None:
        """Record how many runs are finished, the time left, and the figures so far."""
        columns: dict[str, Any] = {
            "runs_finished": standing.finished,
            "runs_failed": standing.failed,
            "left_s": standing.left_s,
        }
        if self.sweep is not None and standing.finished:
            columns["results"] = results_so_far(self.sweep.experiment, self.sweep.store.table())
        self._collect(columns)
        if self._turn_began_s is None:
            self._turn_began_s = time.monotonic()
        elif not standing.complete and self._turn_is_over() and self._others_wait():
            self.giving_way.set()

    def _turn_is_over(self) -> bool:
        return self._turn_began_s is not None and time.monotonic() - self._turn_began_s > TURN_S

    def _others_wait(self) -> bool:
        try:
            return others_wait(self.row)
        except db.Error:
            return False  # the database is away, and the runs continue

    def notice(self, text: str) -> None:
        """Record what a reader should know."""
        self._collect({"message": text[:MESSAGE_MOST]})

    def cancel_wanted(self) -> bool:
        """Whether the experiment was cancelled or gives way, or the worker is stopping."""
        return self.cancelled() or self.stopping.is_set() or self.giving_way.is_set()

    def cancelled(self) -> bool:
        """Whether the experiment was cancelled, or its attempt was given up."""
        return self._cancel.is_set()

    def unwritten(self) -> dict[str, Any]:
        """What was collected and is not in the row yet; call it when the thread has ended."""
        return self._unwritten

    def _collect(self, columns: dict[str, Any]) -> None:
        with self._lock:
            self._unwritten.update(columns)

    def _keep_writing(self) -> None:
        try:
            while not self._over.wait(WRITE_EVERY_S):
                self._try_to_write()
        finally:
            connection.close()

    def _try_to_write(self) -> None:
        """Write what was collected. A failed write is retried a quarter of a second later."""
        with self._lock:
            changes, self._unwritten = self._unwritten, {}
        try:
            close_old_connections()
            wanted = self.row.current_attempt().values_list("cancel_wanted", flat=True)
            if not record_progress(self.row, changes) or wanted.first():
                self._cancel.set()
        except db.Error as error:
            log.warning(
                "The progress of experiment %s cannot be written: %s: %s",
                self.row.pk,
                type(error).__name__,
                error,
            )
            with self._lock:
                self._unwritten = {**changes, **self._unwritten}


def run(experiment_id: str, attempt: int) -> str:
    """Run this attempt of the experiment and return its state. An error is recorded in the row."""
    taken = when_the_database_is_there(lambda: _taken(experiment_id, attempt))
    if taken is None:
        return "given up"
    row = Row(taken)
    with row, StopsWith(row):
        ended = _ended(row)
    columns = {**row.unwritten(), "finished_at": timezone.now(), "left_s": None, **ended}
    recorded = when_the_database_is_there(lambda: record_progress(taken, columns))
    if recorded and ended["state"] == Experiment.State.QUEUED:
        queue(taken)
    return str(ended["state"])


def _taken(experiment_id: str, attempt: int) -> Experiment | None:
    """Mark the experiment as running and return it; None when this attempt is over."""
    queued = Experiment.objects.filter(pk=experiment_id, attempt=attempt, state=Experiment.State.QUEUED)
    now = timezone.now()
    if not queued.update(state=Experiment.State.RUNNING, worker_seen_at=now, message="starting Spark"):
        return None
    return Experiment.objects.get(pk=experiment_id, attempt=attempt)


def _ended(row: Row) -> dict[str, Any]:
    """Run the experiment and return how it ended, as columns of the row."""
    try:
        _work(row)
        return {"state": Experiment.State.DONE, "message": ""}
    except Cancelled:
        if row.stopping.is_set():
            return _failed("The worker was stopped while it ran this experiment.", KEPT)
        if row.giving_way.is_set() and not row.cancelled():
            return {"state": Experiment.State.QUEUED, "finished_at": None, "message": ""}
        return {"state": Experiment.State.CANCELLED}
    except (JavaMissing, MasterUnreachable) as error:
        log.error("Experiment %s cannot be run: %s", row.row.pk, error)
        return _failed("Experiments need Spark, which cannot be started.", str(error))
    except ScenarioError as error:
        log.exception("Experiment %s cannot be read", row.row.pk)
        return _failed(f"The experiment cannot be read: {error}", "Run its YAML as a new experiment.")
    except StoreError:
        log.exception("Experiment %s: its files cannot be used", row.row.pk)
        return _failed(
            "The runs could not be stored: there is no room, or they were made by another version.",
            "Run its YAML as a new experiment when the site's operator has looked at the worker's log.",
        )
    except SweepFailed:
        log.exception("Spark failed in experiment %s", row.row.pk)
        forget_broken_session()
        return _failed(
            "Spark failed while it ran this experiment.", f"{KEPT} The worker's log has the reason."
        )
    except Exception as error:
        # Spark and its JVM may raise any exception here: the row must not stay "running".
        log.exception("Experiment %s failed", row.row.pk)
        forget_broken_session()
        return _failed(
            f"The experiment could not be finished: internal error ({type(error).__name__}).",
            f"{KEPT} The worker's log has the details.",
        )


def _failed(error: str, hint: str) -> dict[str, Any]:
    return {"state": Experiment.State.FAILED, "error": error, "hint": hint}


def _work(row: Row) -> None:
    """Make the missing runs, then the report."""
    experiment = experiment_of(row.row.text)
    if row.cancel_wanted():
        raise Cancelled
    spark = open_session(settings=QUICK)
    row.notice("running the first runs")
    sweep = row.sweep = Sweep(spark, experiment, row.row.folder, row, core_s=row.row.core_s)
    sweep.run()
    row.stands(sweep.store.kept().standing())
    row.notice("writing the report")
    write_report(experiment, sweep.store.table(), row.row.folder, site_url=_site_url(row.row))


def _site_url(row: Experiment) -> str | None:
    """The experiment's address on the site; it is absolute, since the report is also opened from a disk."""
    path = reverse("experiments:experiment", args=[row.pk])
    return f"{row.site}{path}".rstrip("/") if row.site else None
