"""`python manage.py db_worker`: django-tasks-db's report worker, which here survives database outages.

Rules: an error that means that the database cannot be reached is logged, and the worker waits. All others end
the worker, as in the library. This command is found before the library's because `labsite` precedes it in
INSTALLED_APPS.
"""

from __future__ import annotations

import logging
import time

from django import db
from django_tasks_db.management.commands import db_worker

from visualizer.labs.trouble import is_trouble

log = logging.getLogger("labsite.reports")

DATABASE_PAUSE_S = 2.0
"""Before the worker looks again whether the database is back."""


class PatientWorker(db_worker.Worker):
    """Looks for tasks until it is asked to stop, also while the database is away."""

    def run(self) -> None:
        """Returns as the library's does: when asked to stop, or when its tasks are done."""
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


setattr(db_worker, "Worker", PatientWorker)  # noqa: B010 the library's command makes its worker by this name


class Command(db_worker.Command):
    """The library's command with a worker that waits for the database."""
