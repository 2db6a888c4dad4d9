"""The two commands on a standalone master and worker, started from the pip package for this test and ended by id."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from script.support.package import make_package
from tests.spark_reports.conftest import run_scenario, write_run

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
BIN = Path(pyspark.__file__).parent / "bin"
START_LIMIT_S = 60


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ, "SPARK_HOME": str(BIN.parent), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_DIRS": str(folder / "local"),
    }  # fmt: skip


def started(command: list[str], folder: Path, log: Path, sign: str) -> tuple[subprocess.Popen[bytes], re.Match[str]]:
    """A daemon that has said `sign` in its log."""
    with log.open("wb") as output:
        process = subprocess.Popen([str(BIN / "spark-class"), *command], stdout=output, stderr=subprocess.STDOUT, env=environment(folder))
    end = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end and process.poll() is None:
        said = re.search(sign, log.read_text(errors="replace"))
        if said:
            return process, said
        time.sleep(0.2)
    process.kill()
    pytest.fail(f"{command[0]} did not start:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a standalone master with one worker of one core."""
    one, said = started(
        ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"], tmp_path, tmp_path / "master.log", r"Starting Spark master at (\S+)"
    )
    try:
        other, _ = started(
            ["org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", "--host", "127.0.0.1", "--webui-port", "0", said[1]],
            tmp_path, tmp_path / "worker.log", r"Successfully registered with master",
        )  # fmt: skip
        try:
            yield said[1]
        finally:
            end(other)
    finally:
        end(one)


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def test_both_commands_give_the_same_report(master: str, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    write_run(run_scenario("region-down"), traces / "one.parquet")
    package = make_package(tmp_path / "failover_lab.zip")
    arguments = ["failover", "--trace", str(traces), "--quiet", "--out"]
    module = [sys.executable, "-m", "spark_reports", *arguments, str(tmp_path / "by-module"), "--master", master]
    submit = [str(BIN / "spark-submit"), "--master", master, "--py-files", str(package), str(ROOT / "spark_reports" / "submit.py"), *arguments, str(tmp_path / "by-submit")]
    # Outside the checkout, spark-submit finds the packages in the archive alone.
    for command, folder in ((module, ROOT), (submit, tmp_path)):
        said = subprocess.run(command, cwd=folder, env=environment(tmp_path), capture_output=True, text=True, timeout=900, check=False)
        assert said.returncode == 0, said.stderr[-3000:]
        assert "twice" in said.stdout
    one, other = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("by-module", "by-submit"))
    assert one["made_by"]["master"] == other["made_by"]["master"] == master
    assert one["runs"] == other["runs"]
    assert one["runs"][0]["failovers"][0]["duplicates"] > 0


def test_bad_input_is_said_in_words_with_code_2(tmp_path: Path) -> None:
    (tmp_path / "no.parquet").write_bytes(b"no")
    command = [sys.executable, "-m", "spark_reports", "failover", "--trace", str(tmp_path), "--out", str(tmp_path / "out"), "--master", "local[1]", "--quiet"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert said.returncode == 2 and "not a Parquet file" in said.stderr and "Traceback" not in said.stderr
    write_run(run_scenario("two-regions"), tmp_path / "no.parquet")
    without_java = {**os.environ, "JAVA_HOME": str(tmp_path)}
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False, env=without_java)
    assert said.returncode == 2 and "openjdk-17-jre-headless" in said.stderr
