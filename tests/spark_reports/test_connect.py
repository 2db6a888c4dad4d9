"""Reports, sweeps and audits through Spark Connect.

A server started from the pip package, its client without any JVM, progress and cancelling.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from script.support.system import free_port
from spark_reports.audit.generate.logs import run_log
from spark_reports.audit.generate.writing import WRITERS, truth_of
from tests.spark_reports.cluster import end, started
from tests.spark_reports.conftest import run_scenario, write_run
from tests.spark_reports.sweeps import SMALL, bytes_without_spark, small

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a process whose sessions are a Connect server's; Java cannot be found in it."""
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    server, _ = started(
        [
            "org.apache.spark.deploy.SparkSubmit",
            "--master",
            "local[2]",
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            "--conf",
            f"spark.connect.grpc.binding.port={port}",
            "--conf",
            "spark.connect.grpc.binding.address=127.0.0.1",
            "--conf",
            "spark.ui.enabled=false",
        ],
        folder,
        folder / "server.log",
        "Spark Connect server started",
        memory="1g",
    )
    try:
        yield {**os.environ, "SPARK_REMOTE": f"sc://127.0.0.1:{port}", "JAVA_HOME": str(folder)}
    finally:
        end(server)


def test_a_report_through_connect_has_the_simulators_figures(client: dict[str, str], tmp_path: Path) -> None:
    world, shared = run_scenario("region-down"), run_scenario("groups-leader-crash-early")
    paths = [
        write_run(one, tmp_path / f"{name}.parquet") for name, one in (("run", world), ("shared", shared))
    ]
    command = [
        sys.executable,
        "-m",
        "spark_reports",
        "failover",
        "--trace",
        *map(str, paths),
        "--out",
        str(tmp_path / "out"),
    ]
    said = subprocess.run(
        command, cwd=ROOT, env=client, capture_output=True, text=True, timeout=400, check=False
    )
    assert said.returncode == 0, said.stderr[-3000:]
    told = json.loads((tmp_path / "out" / "report.json").read_text())
    ours, theirs = told["runs"][0]["failovers"][0], world.summary()["failovers"][0]
    assert {name: ours[name] for name in theirs} == theirs
    group, counted = told["runs"][1]["groups"][0], shared.summary()["groups"]["meters"]
    assert {name: group[name] for name in counted} == counted
    assert list((tmp_path / "out" / "deliveries.parquet").glob("part-*.parquet"))


def test_a_sweep_through_connect_has_the_bytes_of_one_without_spark(
    client: dict[str, str], tmp_path: Path
) -> None:
    file, out = tmp_path / "experiment.yaml", tmp_path / "out"
    file.write_text(SMALL)
    command = [sys.executable, "-m", "spark_reports", "sweep", str(file), "--out", str(out)]
    said = subprocess.run(
        command, cwd=ROOT, env=client, capture_output=True, text=True, timeout=400, check=False
    )
    assert said.returncode == 0, said.stderr[-3000:]
    assert "12 of 12 runs finished, 0 failed" in said.stdout
    assert (out / "runs.parquet").read_bytes() == bytes_without_spark(small(), tmp_path / "ours")


def test_an_audit_through_connect_finds_the_truth(client: dict[str, str], tmp_path: Path) -> None:
    """Parquet is read by the server's Python workers, JSON Lines by Spark."""
    log = run_log(1200, seed=3)
    for kind in ("parquet", "jsonl"):
        (tmp_path / kind).mkdir()
        WRITERS[kind](tmp_path / kind / f"log.{kind}", log, range(2))
        command = [sys.executable, "-m", "spark_reports", "audit", "--input", str(tmp_path / kind)]
        said = subprocess.run(
            [*command, "--out", str(tmp_path / f"{kind}-out")],
            cwd=ROOT,
            env=client,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert said.returncode == 0, said.stderr[-3000:]
        groups = json.loads((tmp_path / f"{kind}-out" / "audit.json").read_text())["groups"]
        truth = truth_of(log, 2, 2 * log.rows)["groups"]
        assert [{name: one[name] for name in truth[0]} for one in groups] == truth
        assert list((tmp_path / f"{kind}-out" / "repeated.parquet").glob("part-*.parquet"))


CANCELLED = """
import time
from spark_reports.progress import Cancelled, NullProgress, Watch
from spark_reports.session import open_session

class Wanting(NullProgress):
    since = None
    def tasks(self, done, of):
        if self.since is None and (done, of) == (0, 4):
            self.since = time.monotonic()
    def cancel_wanted(self):
        return self.since is not None

def cancelled_after_s():
    wanting = Wanting()
    endless = lambda: spark.range(0, 10**13, 1, 4).selectExpr("sum(id % 7)").collect()
    try:
        with Watch(spark, wanting, "a-report") as watch:
            watch.run([("for ever", endless)])
    except Cancelled:
        return time.monotonic() - wanting.since

spark = open_session()
print(any(cancelled_after_s() < 2 for _ in range(5)), spark.range(3).count())
spark.stop()
"""
"""Requests a cancel when four tasks are reported as running.

A busy machine may delay one cancel, not each of five.
"""


def test_progress_is_reported_and_a_cancel_ends_the_query_within_two_seconds(client: dict[str, str]) -> None:
    said = subprocess.run(
        [sys.executable, "-c", CANCELLED],
        cwd=ROOT,
        env=client,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert said.returncode == 0, said.stderr[-3000:]
    assert said.stdout.split() == ["True", "3"], said.stdout
