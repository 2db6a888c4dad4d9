"""Reports on the site without Spark.

Who may request them, what the page shows, how a report ends when its worker does.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from labsite import spark_worker
from simulator import World
from spark_reports.session import JavaMissing
from visualizer.labs.definitions import new_lab, read_scenario
from visualizer.tasks.models import Report

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    settings.ALLOWED_HOSTS = ["testserver"]
    return tmp_path


@pytest.fixture
def made() -> Any:
    return new_lab({"scenario": "region-down"})


@pytest.fixture
def report(made: Any) -> Report:
    return Report.objects.create(
        lab=made.lab, title="Region down", scenario_text=made.lab.scenario_text, seed=1, until_us=9_000_000
    )


def post(path: str, token: str | None = None, body: dict | None = None, **headers: str) -> Any:
    return Client().post(
        path,
        json.dumps(body or {}),
        content_type="application/json",
        headers={**({"X-Lab-Token": token} if token else {}), **headers},
    )


def test_the_owner_requests_a_report_and_the_task_is_queued(made: Any) -> None:
    answer = post(f"/labs/{made.lab.pk}/reports/", made.token, {"until_us": 5_000_000})
    assert answer.status_code == 201
    report = Report.objects.get(pk=answer.json()["id"])
    assert (report.state, report.until_us, report.scenario_text) == (
        "queued",
        5_000_000,
        made.lab.scenario_text,
    )
    queued = DBTaskResult.objects.get()
    assert queued.task_path == "labsite.tasks.make_next"
    assert queued.args_kwargs["args"] == ["reports", "default"]
    page = Client().get(answer.json()["url"])
    assert page.status_code == 200 and b"Queued." in page.content


def test_a_report_ends_at_the_scenarios_end_unless_requested_otherwise(made: Any) -> None:
    scenario = read_scenario(made.lab.scenario_text, made.lab.seed)
    type(made.lab).objects.filter(pk=made.lab.pk).update(furthest_us=2 * scenario.until_us)
    answer = post(f"/labs/{made.lab.pk}/reports/", made.token)
    assert Report.objects.get(pk=answer.json()["id"]).until_us == scenario.until_us


def test_requests_without_the_owners_token_are_refused_with_a_reason(made: Any) -> None:
    path = f"/labs/{made.lab.pk}/reports/"
    assert post(path).json()["code"] == "not-owner"
    assert post(path, "wrong").status_code == 403
    assert post(path, made.token, Origin="https://elsewhere.example").json()["code"] == "foreign-origin"
    assert post("/labs/nothere/reports/", made.token).status_code == 404
    assert Client().get(path).status_code == 405
    assert post(path, made.token, {"until_us": -4}).json()["code"] == "bad-argument"
    assert Client().post(path, "[", content_type="application/json").json()["code"] == "bad-json"
    assert Report.objects.count() == 0


def test_the_number_of_reports_at_once_per_lab_is_limited(made: Any) -> None:
    path = f"/labs/{made.lab.pk}/reports/"
    codes = [post(path, made.token).status_code for _ in range(4)]
    assert codes == [201, 201, 201, 503]


def test_a_report_whose_worker_is_silent_is_shown_as_failed_and_can_be_retried(
    made: Any, report: Report
) -> None:
    Report.objects.filter(pk=report.pk).update(
        state="running",
        worker_seen_at=timezone.now() - timedelta(seconds=60),
        step_number=3,
        step_count=11,
        step_name="judging",
    )
    told = Client().get(f"/reports/{report.pk}/status.json").json()
    assert told["state"] == "failed" and "worker" in told["error"] and "Try again" in told["hint"]
    assert post(f"/reports/{report.pk}/again/").status_code == 403
    told = post(f"/reports/{report.pk}/again/", made.token).json()
    assert (told["state"], told["step_number"], told["error"]) == ("queued", 0, "")
    report.refresh_from_db()
    assert DBTaskResult.objects.count() == 1 and report.attempt == 2
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "given up", (
        "the attempt that was given up may not write"
    )


def test_a_living_worker_is_left_alone(report: Report) -> None:
    Report.objects.filter(pk=report.pk).update(
        state="running",
        worker_seen_at=timezone.now(),
        step_number=2,
        step_count=11,
        step_name="finding",
        tasks_done=1,
        tasks_count=4,
    )
    told = Client().get(f"/reports/{report.pk}/status.json").json()
    assert told["state"] == "running"
    assert told["words"] == "Step 2 of 11: finding. 1 of 4 Spark tasks are done."
    assert post(f"/reports/{report.pk}/again/", "x").status_code == 403


def test_a_queued_report_is_cancelled_at_once_and_a_running_one_is_asked_to_stop(
    made: Any, report: Report
) -> None:
    assert post(f"/reports/{report.pk}/cancel/", made.token).json()["state"] == "cancelled"
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "given up"
    Report.objects.filter(pk=report.pk).update(
        state="running", worker_seen_at=timezone.now(), cancel_wanted=False
    )
    told = post(f"/reports/{report.pk}/cancel/", made.token).json()
    assert told["state"] == "running" and told["cancel_wanted"]


def test_after_a_long_wait_the_note_names_the_worker(report: Report) -> None:
    Report.objects.filter(pk=report.pk).update(queued_at=timezone.now() - timedelta(minutes=1))
    assert "db_worker" in Client().get(f"/reports/{report.pk}/status.json").json()["note"]


@pytest.mark.django_db(transaction=True)
def test_while_spark_is_installed_a_waiting_report_shows_it(
    made: Any, report: Report, data_folder: Path
) -> None:
    def shown_progress(text: str) -> tuple[str, str]:
        (data_folder / "report-tools.json").write_text(text)
        status = Client().get(f"/reports/{report.pk}/status.json").json()
        return status["words"], status["note"]

    words, note = shown_progress('{"state": "installing", "words": "fetching pyspark"}')
    assert words == "Installing Spark: fetching pyspark." and "starts automatically" in note
    assert b"Installing Spark: fetching pyspark." in Client().get(f"/reports/{report.pk}/").content
    words, note = shown_progress('{"state": "failed", "words": "pip ended with an error"}')
    assert words == "Spark could not be installed, so this waits in the queue." and "script/server" in note
    for broken in ("", "[]", '{"state": 1}', "\x00"):
        assert shown_progress(broken) == ("Queued.", "")
    Report.objects.filter(pk=report.pk).update(
        state=Report.State.RUNNING, worker_seen_at=timezone.now(), step_name="starting Spark"
    )
    assert shown_progress('{"state": "installing", "words": "fetching pyspark"}')[0] == "Starting Spark.", (
        "only what waits is waiting for it"
    )


def test_both_sides_of_the_installation_use_the_same_file() -> None:
    from script.support.report_tools import STATUS_NAME
    from visualizer.tasks import requests

    assert requests.STATUS_NAME == STATUS_NAME


def test_without_java_page_and_log_name_the_package_to_install(
    report: Report, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_java(**_: Any) -> None:
        raise JavaMissing("No Java was found. On Debian: apt-get install openjdk-17-jre-headless.")

    monkeypatch.setattr(spark_worker, "open_session", no_java)
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "failed"
    page = Client().get(f"/reports/{report.pk}/").content.decode()
    assert "openjdk-17-jre-headless" in page and "Reports need Spark" in page
    assert "openjdk-17-jre-headless" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_while_spark_works_the_page_shows_the_simulators_own_figures(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, shown = threading.Event(), []
    record = Report.record_progress

    def recording(row: Report, columns: dict[str, Any]) -> bool:
        done = record(row, columns)
        if "simulator_figures" in columns:
            written.set()
        return done

    def spark(**_: Any) -> None:
        assert written.wait(20)
        shown.append(Client().get(f"/reports/{report.pk}/status.json").json()["simulator_figures"])
        shown.append(Client().get(f"/reports/{report.pk}/").content.decode())
        raise JavaMissing("No Java was found.")

    monkeypatch.setattr(Report, "record_progress", recording)
    monkeypatch.setattr(spark_worker, "open_session", spark)
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "failed"
    world = World.open("region-down")
    world.run(9_000_000)
    [failover] = world.summary()["failovers"]
    subject = f"{failover['subscription']}, {failover['from']} to {failover['to']}, 5.700 s"
    numbers = {name: failover[name] for name in ("duplicates", "redeliveries", "stranded", "lost")}
    assert shown[0] == [{"subject": subject, **numbers}] and numbers["duplicates"] > 0
    assert "The simulator’s own figures" in shown[1] and f"<td>{numbers['duplicates']}</td>" in shown[1]
    assert Client().get(f"/reports/{report.pk}/status.json").json()["simulator_figures"] == [], (
        "a report that is over shows its own figures or none"
    )


def test_figures_of_groups_are_shown_too_and_an_error_in_them_only_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World.open("groups-killed")
    world.run()
    [(name, group)] = world.summary()["groups"].items()
    counted = {figure: group[figure] for figure in ("duplicates", "redeliveries", "lost")}
    assert spark_worker.of_simulator(world) == [{"group": name, **counted}]
    monkeypatch.setattr(World, "summary", lambda _: 1 // 0)
    assert spark_worker.of_simulator(world) == [], "an internal error of the count does not end the report"


@pytest.mark.django_db(transaction=True)
def test_a_cancel_before_spark_starts_is_respected(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_worker.ReportAttempt, "cancel_wanted", lambda row: True)
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "cancelled"
    assert not report.folder.exists()


@pytest.mark.django_db(transaction=True)
def test_a_failure_is_recorded_on_the_row_without_internals(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/var/lib/somewhere")

    monkeypatch.setattr(spark_worker, "write_trace", broken)
    assert spark_worker.ReportAttempt.run(report.pk, 1) == "failed"
    report.refresh_from_db()
    assert "no room left" in report.error and report.finished_at is not None
    assert "/var/lib" not in report.error + report.hint, "a visitor sees no path of the server"


def test_only_files_of_the_downloads_table_are_served(report: Report) -> None:
    report.folder.mkdir(parents=True)
    (report.folder / "figures.csv").write_text("a\n1\n")
    path = f"/reports/{report.pk}/download/csv/"
    assert Client().get(path).status_code == 404, "not done yet"
    Report.objects.filter(pk=report.pk).update(state="done", figures=[])
    answer = Client().get(path)
    assert (
        b"".join(answer.streaming_content) == b"a\n1\n"
        and "attachment" in answer.headers["Content-Disposition"]
    )
    assert Client().get(f"/reports/{report.pk}/download/secret-key/").status_code == 404
    assert Client().get(f"/reports/{report.pk}/download/html/").status_code == 404


def test_an_unknown_report_is_404() -> None:
    assert Client().get("/reports/nothere/").status_code == 404
    assert Client().get("/reports/nothere/status.json").status_code == 404


def test_the_web_process_never_imports_spark() -> None:
    code = (
        "import labsite.asgi, labsite.tasks, visualizer.tasks.views, sys; from django.urls import "
        "reverse; reverse('tasks:report', args=['x']);"
        "print([name for name in sys.modules if name.split('.')[0] in ('pyspark', 'spark_reports', 'py4j')])"
    )
    shown_progress = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "labsite.settings"},
    )
    assert shown_progress.stdout.strip() == "[]"
