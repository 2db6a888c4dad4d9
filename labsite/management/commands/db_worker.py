"""`python manage.py db_worker`: django-tasks-db's report worker, which here survives database outages.

Rules: a worker that waits for tasks starts Spark before its first one. An error that means that the database
cannot be reached is logged, and the worker waits. All others end the worker, as in the library. This command
takes precedence over the library's because `labsite` precedes it in INSTALLED_APPS.
"""

from __future__ import annotations

import logging
import time
from argparse import ArgumentParser

from django import db
from django_tasks_db.management.commands import db_worker

from labsite.warm_up import warm_up
from visualizer.labs.saving import is_trouble
from visualizer.tasks.models import ENGINE_QUEUE

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
