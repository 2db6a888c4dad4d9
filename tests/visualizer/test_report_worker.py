"""The report worker waits for an unavailable database, and ends on other errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django import db
from django.core.management import get_commands, load_command_class
from django_tasks_db.management.commands import db_worker
from django_tasks_db.models import DBTaskResult

from labsite.management.commands import db_worker as patient
from tests.visualizer.faults import KINDS, SECRET, injected_faults

pytestmark = pytest.mark.django_db(transaction=True)


def worker() -> Any:
    """As `manage.py db_worker --batch` creates it: it ends when no task is left."""
    load_command_class(get_commands()["db_worker"], "db_worker")
    how = {
        "interval": 0,
        "startup_delay": False,
        "max_tasks": None,
        "worker_id": "w",
        "excluded_queue_names": [],
    }
    return db_worker.Worker(queue_names=["*"], batch=True, backend_name="default", **how)


@pytest.mark.parametrize("kind", KINDS)
def test_the_worker_continues_when_the_database_is_back(kind, monkeypatch, caplog):
    with injected_faults() as faults:
        pauses: list[float] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                faults.end()

        monkeypatch.setattr(patient, "time", SimpleNamespace(sleep=pause))  # not for other threads
        faults.begin(kind)
        worker().run()
    assert pauses == [patient.DATABASE_PAUSE_S] * 2
    assert caplog.text.count("waits for the database") == 2 and SECRET in caplog.text, (
        "the log has the driver's words"
    )


def test_another_error_ends_the_worker(monkeypatch):
    def wrong(*_: Any) -> None:
        raise db.IntegrityError("two tasks with one key")

    monkeypatch.setattr(type(DBTaskResult.objects.all()), "get_locked", wrong)
    with pytest.raises(db.IntegrityError):
        worker().run()


def test_a_worker_that_waits_for_tasks_starts_spark_first_and_one_for_a_batch_does_not(monkeypatch):
    begun: list[str] = []
    monkeypatch.setattr(patient, "warm_up", lambda: begun.append("warm"))
    monkeypatch.setattr(patient.db_worker.Worker.__mro__[1], "run", lambda self: begun.append("tasks"))
    waiting = worker()
    waiting.run()
    assert begun == ["tasks"]
    waiting.batch = False
    waiting.run()
    assert begun == ["tasks", "warm", "tasks"]


def test_an_idle_worker_looks_for_tasks_four_times_a_second_unless_told_otherwise():
    parser = load_command_class(get_commands()["db_worker"], "db_worker").create_parser(
        "manage.py", "db_worker"
    )
    assert parser.parse_args([]).interval == patient.LOOK_EVERY_S == 0.25
    assert parser.parse_args(["--interval", "2"]).interval == 2
