"""Reports while the database is away or the disk is full.

The work continues, its end is written, nothing internal is shown.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from labsite import attempts, spark_worker
from tests.visualizer.faults import SECRET, injected_faults
from visualizer.labs.definitions import new_lab
from visualizer.tasks.models import Report

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_S = 60
"""Then a wait fails: without a bound it would last until the whole run is stopped."""


KILLED = """
from labsite.attempts import forget_broken_session
from pyspark import SparkContext
from spark_reports.session import QUICK, open_session
spark = open_session("local[1]", settings=QUICK)
forget_broken_session()
print("a session that works is kept", flush=True)
java = SparkContext._gateway.proc
java.kill()
java.wait()
forget_broken_session()
print("the worker goes on", flush=True)
"""


def test_a_worker_whose_java_was_killed_ends_so_that_another_one_is_started(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "labsite.settings",
        "FAILOVER_LAB_DATA": str(tmp_path),
    }
    program = f"import django; django.setup()\n{KILLED}"
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stdout == "a session that works is kept\n", ended.stderr
    assert ended.returncode == -signal.SIGTERM


@pytest.fixture
def report(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    settings.DATA_DIR, settings.ALLOWED_HOSTS = tmp_path, ["testserver"]
    monkeypatch.setattr(attempts, "DATABASE_PAUSE_S", 0.05)
    monkeypatch.setattr(attempts, "WRITE_EVERY_S", 0.02)
    monkeypatch.setattr(attempts, "forget_broken_session", lambda: None)
    lab = new_lab({"scenario": "region-down"}).lab
    return Report.objects.create(
        lab=lab, title="Region down", scenario_text=lab.scenario_text, seed=1, until_us=9_000_000
    )


def wait_while(holds: Callable[[], bool], row: spark_worker.ReportAttempt) -> None:
    """Work until it no longer holds; a row whose thread has ended would keep it for ever."""
    end_s = time.monotonic() + PATIENCE_S
    while holds():
        assert time.monotonic() < end_s, f"threads: {[one.name for one in threading.enumerate()]}"
        row.go_on()


def test_a_report_finished_while_the_database_is_away_is_written_when_it_is_back(
    report: Report, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with injected_faults() as faults:

        def work(made: Report, row: spark_worker.ReportAttempt) -> dict[str, Any]:
            row.say("counting")
            faults.begin("shut down")
            # its row could not be written, and its thread lives
            wait_while(lambda: "progress" not in caplog.text, row)
            return {"figures": [{"duplicates": 7}]}

        def pause(_: float) -> None:
            faults.end()

        monkeypatch.setattr(spark_worker, "_work", work)
        # of this module only: a thread of another test that sleeps would end the fault too early
        monkeypatch.setattr(attempts, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pause))
        assert spark_worker.ReportAttempt.run(report.pk, 1) == "done"
    report.refresh_from_db()
    assert (report.state, report.figures) == ("done", [{"duplicates": 7}])


def test_a_report_given_up_while_the_database_was_away_continues_when_its_worker_reports_again(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, record_progress = threading.Event(), Report.record_progress
    away.set()

    def record_unless_away(made: Report, columns: dict[str, Any]) -> bool:
        if away.is_set():
            raise OperationalError("the worker cannot reach the database")
        return record_progress(made, columns)

    def work(made: Report, row: spark_worker.ReportAttempt) -> dict[str, Any]:
        Report.objects.filter(pk=report.pk).update(worker_seen_at=timezone.now() - timedelta(minutes=1))
        assert Client().get(f"/reports/{report.pk}/status.json").json()["state"] == "failed"
        row.say("counting")
        away.clear()
        wait_while(lambda: Report.objects.get(pk=report.pk).state == "failed", row)
        assert not row.cancel_wanted()
        return {}

    monkeypatch.setattr(spark_worker, "_work", work)
    monkeypatch.setattr(Report, "record_progress", record_unless_away)
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "done"
    report.refresh_from_db()
    assert (report.state, report.error) == ("done", "")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", SECRET), "no room left"),
        (RuntimeError(SECRET), "internal error (RuntimeError)"),
    ],
)
def test_messages_of_drivers_and_spark_stay_in_the_log(
    report: Report,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    words: str,
) -> None:
    def work(made: Report, row: spark_worker.ReportAttempt) -> None:
        raise error

    monkeypatch.setattr(spark_worker, "_work", work)
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "failed"
    told = Client().get(f"/reports/{report.pk}/status.json").json()
    assert words in told["error"] and SECRET not in str(told) and SECRET in caplog.text
