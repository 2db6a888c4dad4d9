"""Makes one report in the worker (replay, trace, Spark) and keeps its row up to date.

The row gets the simulator's own headline figures as soon as the run is replayed, so that the page shows
them while Spark counts.

Rules: one thread writes the row every second, so that missing writes reveal a dead worker and a cancel is
noticed at any step. An error is written to the row as a message, and logged with its traceback. While the
database is unreachable the work continues, and its result is written later. Only the worker imports this
module.
"""

from __future__ import annotations

import errno
import logging
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from django import db
from django.db import close_old_connections, connection
from django.urls import reverse
from django.utils import timezone

from labsite.headlines import of_report, of_simulator
from simulator import ENGINE_VERSION, ScenarioError, World, load_scenario_text
from simulator.recordings import RecordingError
from simulator.trace.files import TraceFileError, write_trace
from spark_reports.progress import Cancelled
from spark_reports.session import QUICK, JavaMissing, open_session
from visualizer.labs.trouble import is_trouble
from visualizer.reports.models import Report, record_progress, remove_files

log = logging.getLogger("labsite.reports")

WRITE_EVERY_S = 1.0
REPLAY_SLICE_EVENTS = 20_000

DATABASE_WAIT_S, DATABASE_PAUSE_S = 600.0, 2.0
"""How long the start or end of a report waits for the database, and the pause between retries.

The files are kept in any case.
"""


class Stopped(Exception):
    """The worker itself is stopped."""


class Row:
    """The report's row as a progress listener: collects the progress and writes it from one thread."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._unwritten: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._cancel = threading.Event()
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_writing, name="report-row", daemon=True)

    def __enter__(self) -> Row:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    # --- listener of progress.Watch

    def step(self, number: int, of: int, name: str) -> None:
        """Record that a step begins."""
        self._tell(step_number=number, step_count=of, step_name=name, tasks_done=0, tasks_count=0)

    def tasks(self, done: int, of: int) -> None:
        """Record the tasks of the running stage."""
        self._tell(tasks_done=done, tasks_count=of)

    def cancel_wanted(self) -> bool:
        """Whether the report was cancelled, or the worker is stopping."""
        return self._cancel.is_set() or self.stopping.is_set()

    def say(self, name: str) -> None:
        """Record the work done before the first step."""
        self._tell(step_name=name)

    def show_simulators(self, figures: list[dict[str, Any]]) -> None:
        """Record the simulator's own figures, which the page shows while Spark counts."""
        self._tell(simulator_figures=figures)

    def go_on(self) -> None:
        """Raise Cancelled when the report was cancelled or the worker is stopping."""
        if self.cancel_wanted():
            raise Cancelled

    @property
    def unwritten(self) -> dict[str, Any]:
        """The progress that is not in the row yet."""
        with self._lock:
            return dict(self._unwritten)

    def _tell(self, **columns: Any) -> None:
        with self._lock:
            self._unwritten.update(columns)

    def _keep_writing(self) -> None:
        try:
            while not self._over.wait(WRITE_EVERY_S / 2):
                self._try_to_write()
        finally:
            connection.close()

    def _try_to_write(self) -> None:
        """Write the collected progress. A failed write is retried half a second later."""
        with self._lock:
            changes, self._unwritten = self._unwritten, {}
        try:
            close_old_connections()
            if (
                not record_progress(self.report, changes)
                or self.report.mine().values_list("cancel_wanted", flat=True).first()
            ):
                self._cancel.set()
        except db.Error as error:
            log.warning(
                "The progress of report %s cannot be written: %s: %s",
                self.report.pk,
                type(error).__name__,
                error,
            )
            with self._lock:
                self._unwritten = {**changes, **self._unwritten}


def make_report(report_id: str, attempt: int) -> str:
    """Make the report of this attempt and return its state. An error is recorded in the row."""
    report = when_the_database_is_there(lambda: _taken(report_id, attempt))
    if report is None:
        return "given up"
    row = Row(report)
    with row, StopsWith(row):
        ended = _ended(report, row)
    # a quick last step may have begun after the last write of the progress
    last = {**row.unwritten, "finished_at": timezone.now(), **ended}
    when_the_database_is_there(lambda: record_progress(report, last))
    return str(ended["state"])


def _taken(report_id: str, attempt: int) -> Report | None:
    """Mark the report as running and return it; None when this attempt is over."""
    queued = Report.objects.filter(pk=report_id, attempt=attempt, state=Report.State.QUEUED)
    if not queued.update(state=Report.State.RUNNING, worker_seen_at=timezone.now(), step_name="starting"):
        return None
    return Report.objects.get(pk=report_id, attempt=attempt)


def when_the_database_is_there(write: Callable[[], Any]) -> Any:
    """Write now, or as soon as the database can be reached. Raises its error after `DATABASE_WAIT_S`."""
    end_s = time.monotonic() + DATABASE_WAIT_S
    while True:
        try:
            return write()
        except db.Error as error:
            if not is_trouble(error) or time.monotonic() > end_s:
                raise
            log.warning("A report's row cannot be written, trying again: %s: %s", type(error).__name__, error)
            time.sleep(DATABASE_PAUSE_S)
            close_old_connections()  # only after an error: in a transaction it would close a working one


def _ended(report: Report, row: Row) -> dict[str, Any]:
    """Make the report and return how it ended, as columns of the row."""
    failed = {"state": Report.State.FAILED}
    try:
        return {"state": Report.State.DONE, "figures": _work(report, row)}
    except Cancelled:
        remove_files(report)
        if row.stopping.is_set():
            return failed | {
                "error": "The worker was stopped while it made this report.",
                "hint": "Start it again, then try again.",
            }
        return {"state": Report.State.CANCELLED}
    except JavaMissing as error:
        log.error("Report %s cannot be made: %s", report.pk, error)
        return failed | {
            "error": "This report needs Java, and the worker has none that Spark can use.",
            "hint": str(error),
        }
    except RecordingError as error:
        return failed | {"error": str(error), "hint": error.hint}
    except (TraceFileError, ScenarioError) as error:
        log.exception("Report %s: its inputs cannot be used", report.pk)
        return failed | {
            "error": f"The run cannot be read: {error}",
            "hint": "It may have been made by another version. Ask for a new report in a new lab.",
        }
    except Exception as error:
        # Spark and its JVM may raise any exception here: the row must not stay "running".
        log.exception("Report %s failed", report.pk)
        forget_broken_session()
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            remove_files(report)
            return failed | {
                "error": "The report could not be made: there is no room left for its files.",
                "hint": (
                    "Try again when the site's operator has made room; `manage.py clean` removes old reports."
                ),
            }
        return failed | {
            "error": f"The report could not be made: internal error ({type(error).__name__}).",
            "hint": "Try again. The worker's log has the details.",
        }


def _work(report: Report, row: Row) -> list[dict[str, Any]]:
    """Replay, write the trace, report. Returns the headline of each failover and group."""
    row.say("running the scenario again")
    report.folder.mkdir(parents=True, exist_ok=True)
    trace = _replayed(report, row, report.folder / "trace.parquet")
    row.say("starting Spark")
    row.go_on()
    spark = open_session(settings=QUICK)
    from spark_reports.jobs.failover import FailoverReport

    made = FailoverReport(spark, [trace], report.folder, row, replay_url_of(report)).make()
    return of_report(made["runs"])


def replay_url_of(report: Report) -> str | None:
    """The address of the report's replay at its site; None when the site is not known.

    It is absolute, since the report's page is also opened from a disk.
    """
    return f"{report.site}{reverse('reports:replay', args=[report.pk])}" if report.site else None


def _replayed(report: Report, row: Row, path: Path) -> Path:
    """Write the trace of the report's run, as the lab had it, and return its path."""
    scenario = load_scenario_text(report.scenario_text, seed=report.seed)
    until_us = report.until_us or scenario.until_us
    world = World(scenario, report.seed)
    for entry in report.commands:
        world.schedule_logged(entry)
    while world.advance(until_us, REPLAY_SLICE_EVENTS):
        row.go_on()
    meta = {
        "engine_version": ENGINE_VERSION,
        "scenario": scenario.canonical_text,
        "seed": report.seed,
        "commands": report.commands,
        "until_us": world.now_us,
    }
    write_trace(path, world.trace, meta)
    row.show_simulators(of_simulator(world))
    return path


def forget_broken_session() -> None:
    """End the worker if the Spark session's JVM has died, since it cannot make another report.

    The worker's supervisor starts another one.
    """
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        return
    try:
        spark.range(1).collect()
    except Exception:
        log.exception("The Spark session is broken; this worker ends after this task")
        signal.raise_signal(signal.SIGTERM)


class Stoppable(Protocol):
    """What ends when the worker is stopped: a report, or an experiment."""

    stopping: threading.Event


class StopsWith:
    """Cancels a report or experiment when a signal stops the worker, which ends within seconds."""

    def __init__(self, row: Stoppable) -> None:
        self.row = row
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread can handle signals; a test may use another thread
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.getsignal(number)
            signal.signal(number, self._stop)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.row.stopping.set()
        handler = self._before[number]
        if callable(handler):
            handler(number, frame)
