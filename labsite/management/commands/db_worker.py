"""`python manage.py db_worker`: django-tasks-db's report worker, which here survives database outages.

Rules: a worker that waits for tasks starts Spark before its first one, and makes small reports with it: Java
loads and compiles what reports need while nobody waits, so the first report takes as long as later ones. The
runs are short and their files are deleted. A queued task of this worker ends the warm-up at the next step.
While an answer of My set-up or another small experiment is computed, whose visitor waits, the warm-up pauses.
An error of it is logged only: the report that meets it shows it. On a cluster nothing is made, since its
executors do not see this machine's files.

An error that means that the database
cannot be reached is logged, and the worker waits. All others end the worker, as in the library. This command
takes precedence over the library's because `labsite` precedes it in INSTALLED_APPS.
"""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from argparse import ArgumentParser
from pathlib import Path

from django import db
from django.conf import settings
from django_tasks_db.management.commands import db_worker

from simulator import World
from simulator.headless import trace_meta
from visualizer.labs.saving import is_trouble
from visualizer.tasks.models import ENGINE_QUEUE, Experiment, any_queued

log = logging.getLogger("labsite.reports")

DATABASE_PAUSE_S = 2.0
"""Pause before the worker checks again whether the database can be reached."""


LOOK_EVERY_S = 0.25
"""Pause before an idle worker looks for a task again (the library: 1 s). A short report takes seconds."""

ENGINE_LOOKS_EVERY_S = 0.1
"""The same of the worker of small experiments: somebody waits for the first dot of an answer."""


class PatientWorker(db_worker.Worker):
    """A worker that runs until it is stopped, also while the database is unreachable."""

    def run(self) -> None:
        """Run tasks until the worker is stopped or its tasks are done, as the library's method does."""
        if self.queue_names == [ENGINE_QUEUE]:
            self.interval = min(self.interval, ENGINE_LOOKS_EVERY_S)
        if not self.batch:
            self._warm_up()
        while True:
            try:
                super().run()
                return
            except db.Error as error:
                if not is_trouble(error) or not self.running:
                    raise
                log.warning("The report worker waits for the database: %s: %s", type(error).__name__, error)
                self.running_task = False  # else a signal would not end it at once
                db.connections.close_all()
                time.sleep(DATABASE_PAUSE_S)

    def _warm_up(self) -> None:
        """Start what the tasks of this worker's queues need."""
        if self.queue_names != [ENGINE_QUEUE]:
            warm_up()
            return
        from labsite.engine_worker import pool

        pool().start()


setattr(db_worker, "Worker", PatientWorker)  # noqa: B010 the library's command uses this name


class Command(db_worker.Command):
    """The library's command with a worker that waits for the database, and takes a new task sooner."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(interval=LOOK_EVERY_S, queue_name="*")


# --- the warm-up


SCENARIOS = ("region-down", "groups-killed")
"""One short run of each protocol, in one report."""

PAUSE_S = 0.25
"""How often a pausing warm-up looks whether the experiment is over."""

ROUNDS = 3
"""How often the report is made.

Java compiles more of its code with every report. Measured in processor time, on region-down: 14, 6.5, 5.8,
5.1, 5.0 s.
"""


def warm_up() -> bool:
    """Open the session and make the report; whether it was made."""
    if settings.COLD_WORKER or not _on_this_machine() or _task_waits():
        return False
    try:
        return _made()
    except Exception as error:
        # without Java too: script/server says so, and the report's page
        log.info("Spark was not started in advance: %s: %s", type(error).__name__, error)
        return False


def _made() -> bool:
    from spark_reports.jobs.failover import FailoverReport
    from spark_reports.progress import Cancelled, NullProgress
    from spark_reports.session import QUICK, open_session

    class UntilOneWaits(NullProgress):
        def cancel_wanted(self) -> bool:
            # the other thread that asks has no database connection of its own to close
            if threading.current_thread() is not threading.main_thread():
                return False
            _let_engine_work()
            return _task_waits()

    spark = open_session(settings=QUICK)
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as folder:
        traces = [_trace(name, Path(folder) / f"{name}.parquet") for name in SCENARIOS]
        try:
            for _ in range(ROUNDS):
                FailoverReport(spark, traces, Path(folder) / "report", UntilOneWaits()).make()
        except Cancelled:
            return False
    log.info("Spark is ready for reports")
    return True


def _trace(name: str, path: Path) -> Path:
    from simulator.trace.files import write_trace

    world = World.open(name)
    world.run()
    write_trace(path, world.trace, trace_meta(world))
    return path


def _on_this_machine() -> bool:
    return not os.environ.get("SPARK_REMOTE") and os.environ.get("SPARK_MASTER", "local").startswith("local")


def _let_engine_work() -> None:
    """Wait until no experiment is computed by the engine's processes, or a task waits for this worker."""
    try:
        while Experiment.engine_works() and not _task_waits():
            time.sleep(PAUSE_S)
    except db.Error:
        return  # as below


def _task_waits() -> bool:
    try:
        return any_queued()
    except db.Error:
        return False  # the worker's own loop handles an unreachable database
