"""A database of an earlier version, with three applications for the worker's tasks, goes on with one.

The tables are those that the former migrations made; on SQLite and PostgreSQL they differ in their types only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.visualizer.faults import PostgresServer

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300

TASK = """id varchar(12) NOT NULL PRIMARY KEY, created_at TIME NOT NULL, title varchar(200) NOT NULL,
    state varchar(10) NOT NULL, attempt integer NOT NULL, queued_at TIME NOT NULL, finished_at TIME NULL,
    cancel_wanted BOOL NOT NULL, error text NOT NULL, hint text NOT NULL"""
STEPS = """step_number integer NOT NULL, step_count integer NOT NULL, step_name varchar(100) NOT NULL,
    tasks_done integer NOT NULL, tasks_count integer NOT NULL"""
RUN = "scenario_text text NOT NULL, seed bigint NOT NULL, commands JSON NOT NULL, until_us bigint NOT NULL"
OWNED = """client varchar(16) NOT NULL, worker_seen_at TIME NULL, doing_since TIME NULL,
    token_hash varchar(64) NOT NULL, site varchar(300) NOT NULL"""

FIRST = f"""
CREATE TABLE reports_report ({TASK}, {STEPS}, {RUN}, figures JSON NOT NULL, heard_at TIME NULL,
    lab_id varchar(12) NOT NULL REFERENCES visualizer_lab (id) DEFERRABLE INITIALLY DEFERRED)
"""
"""The first version with reports, which had nothing else."""

LAST = f"""
CREATE TABLE audits_audit ({TASK}, {OWNED}, {STEPS}, format varchar(20) NOT NULL, files JSON NOT NULL,
    mapping text NOT NULL, figures JSON NOT NULL);
CREATE INDEX audits_audit_client_b3f0f30d ON audits_audit (client);
CREATE TABLE experiments_experiment ({TASK}, {OWNED}, text text NOT NULL, core_s REAL NOT NULL,
    runs integer NOT NULL, runs_finished integer NOT NULL, runs_failed integer NOT NULL, left_s REAL NULL,
    message varchar(300) NOT NULL, results JSON NOT NULL, engine BOOL NOT NULL,
    engine_version varchar(40) NOT NULL, set_up BOOL NOT NULL);
CREATE INDEX experiments_experiment_client_31e7022a ON experiments_experiment (client);
CREATE TABLE reports_report ({TASK}, {STEPS}, {RUN}, client varchar(16) NOT NULL, worker_seen_at TIME NULL,
    doing_since TIME NULL, site varchar(300) NOT NULL, figures JSON NOT NULL, checks JSON NOT NULL,
    simulator_figures JSON NOT NULL, reruns JSON NOT NULL,
    lab_id varchar(12) NULL REFERENCES visualizer_lab (id) DEFERRABLE INITIALLY DEFERRED,
    experiment_id varchar(12) NULL REFERENCES experiments_experiment (id) DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX reports_report_lab_id_d1ba17dd ON reports_report (lab_id)
"""
"""The last version with three applications."""

PROGRAM = """
import json, sys
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

call_command("migrate", "visualizer", verbosity=0)
call_command("migrate", "django_tasks_database", verbosity=0)

from visualizer.labs.definitions import new_lab
lab = new_lab({"scenario": "region-down"}).lab
now = timezone.now()

def insert(table, **columns):
    columns = {"title": "t", "created_at": now, "queued_at": now, "attempt": 2, "cancel_wanted": False, "error": "", "hint": "", **columns}
    with connection.cursor() as cursor:
        names, marks = ", ".join(columns), ", ".join(["%s"] * len(columns))
        cursor.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(columns.values()))

def sql(text):
    with connection.cursor() as cursor:
        for one in filter(str.strip, text.split(";")):
            cursor.execute(one)

def queued(path, *args):
    DBTaskResult.objects.create(task_path=path, args_kwargs={"args": list(args), "kwargs": {}}, backend_name="default",
        queue_name="engine" if "small" in path else "default", run_after=now, exception_class_path="", traceback="")

STEPS = {"step_number": 3, "step_count": 9, "step_name": "count", "tasks_done": 1, "tasks_count": 4}
RUN = {"scenario_text": lab.scenario_text, "seed": 7, "commands": json.dumps([{"at_us": 5}]), "until_us": 9}
"""

OF_FIRST = """
sql(sys.argv[1])
sql("INSERT INTO django_migrations (app, name, applied) VALUES ('reports', '0001_initial', CURRENT_TIMESTAMP)")
insert("reports_report", id="r1", state="done", lab_id=lab.pk, heard_at=now, figures="[1]", **STEPS, **RUN)
call_command("migrate", verbosity=0)
from visualizer.tasks.models import Report
[row] = Report.objects.all()
assert (row.pk, row.lab_id, row.worker_seen_at, row.figures, row.commands) == ("r1", lab.pk, now, [1], [{"at_us": 5}])
assert (row.client, row.site, row.reruns, row.checks, row.experiment_id, row.doing_since) == ("", "", [], [], None, None)
print("ok")
"""

OF_LAST = """
sql(sys.argv[1])
for app in ("reports", "experiments", "audits"):
    sql(f"INSERT INTO django_migrations (app, name, applied) VALUES ('{app}', '0001_initial', CURRENT_TIMESTAMP)")
OWNED = {"client": "c", "worker_seen_at": now, "doing_since": now, "token_hash": "h", "site": "https://lab.example.org"}
EXPERIMENT = {"text": "scenario: region-down", "core_s": 1.5, "runs": 4, "runs_finished": 1, "runs_failed": 0, "message": "", "results": json.dumps({"runs": 1}), "engine_version": "1", **OWNED}
insert("experiments_experiment", id="answer", state="done", engine=True, set_up=True, **EXPERIMENT)
insert("experiments_experiment", id="small", state="queued", engine=True, set_up=False, **EXPERIMENT)
insert("experiments_experiment", id="large", state="queued", engine=False, set_up=False, **EXPERIMENT)
insert("audits_audit", id="a1", state="queued", format="auto", files=json.dumps([{"name": "x"}]), mapping="m", figures="{}", **OWNED, **STEPS)
REPORT = {"client": "c", "site": "s", "figures": "[]", "checks": "[]", "simulator_figures": "[]", "reruns": json.dumps([{"key": 1}]), **STEPS, **RUN}
insert("reports_report", id="r1", state="queued", lab_id=lab.pk, **REPORT)
insert("reports_report", id="r2", state="done", experiment_id="answer", **REPORT)
queued("labsite.tasks.make_failover_report", "r1", 2)
queued("labsite.tasks.make_audit", "a1", 2)
queued("labsite.experiment_task.run_experiment", "large", 2)
queued("labsite.experiment_task.run_small_experiment", "small", 2)
call_command("migrate", verbosity=0)

from labsite import tasks
from visualizer.tasks.models import Audit, Experiment, KINDS, Report
answer, report, audit = Experiment.objects.get(pk="answer"), Report.objects.get(pk="r1"), Audit.objects.get(pk="a1")
assert Experiment.objects.count() == 3 and answer.results == {"runs": 1} and answer.set_up and answer.core_s == 1.5
assert [one.pk for one in answer.recounts.all()] == ["r2"] and report.lab == lab and report.reruns == [{"key": 1}]
assert (audit.worker_seen_at, audit.doing_since, audit.created_at, audit.files) == (now, now, now, [{"name": "x"}])
assert (audit.token_hash, audit.step_number, audit.attempt, audit.mapping) == ("h", 3, 2, "m")
ready = {tuple(one.args_kwargs["args"]): one for one in DBTaskResult.objects.ready()}
assert {one.task.module_path for one in ready.values()} == {"labsite.tasks.make_next"}
made = {args: KINDS[args[0]].next_in_turn(args[1]) for args in ready}
assert made == {("reports", "default"): ("r1", 2), ("audits", "default"): ("a1", 2), ("experiments", "default"): ("large", 2), ("experiments", "engine"): ("small", 2)}, made
assert {args: one.queue_name for args, one in ready.items()} == {args: args[1] for args in ready}
with connection.cursor() as cursor:
    assert not {"reports_report", "audits_audit", "experiments_experiment"} & set(connection.introspection.table_names(cursor))
    cursor.execute("SELECT count(*) FROM django_migrations WHERE app IN ('reports', 'experiments', 'audits')")
    assert cursor.fetchone() == (0,)
lab.delete()
assert [one.pk for one in Report.objects.all()] == ["r2"], "a report is deleted with its lab"
call_command("migrate", check_unapplied=True, verbosity=0)
print("ok")
"""


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "SQLite":
        yield f"sqlite:///{tmp_path / 'lab.sqlite3'}"
        return
    server = PostgresServer()
    try:
        yield server.url
    finally:
        server.remove()


@pytest.mark.parametrize(("tables", "program"), [(FIRST, OF_FIRST), (LAST, OF_LAST)], ids=["first", "last"])
def test_rows_and_waiting_tasks_of_an_earlier_version_are_kept(
    address: str, tmp_path: Path, tables: str, program: str
) -> None:
    types = ("datetime", "bool", "text", "real")
    if address.startswith("postgres"):
        types = ("timestamp with time zone", "boolean", "jsonb", "double precision")
    for name, type in zip(("TIME", "BOOL", "JSON", "REAL"), types, strict=True):
        tables = tables.replace(f" {name} ", f" {type} ")
    environ = {"FAILOVER_LAB_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "labsite.settings"}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM + program, tables],
        cwd=ROOT,
        env={**os.environ, **environ, "DATABASE_URL": address, "REDIS_URL": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0 and ended.stdout == "ok\n", ended.stderr[-3_000:]
