"""The two commands on a standalone master and worker, and a run replayed in its executor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from script.support.package import make_package
from simulator import World
from tests.spark_reports.cluster import BIN, environment, standalone_master
from tests.spark_reports.conftest import run_scenario, write_run

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone_master(tmp_path_factory.mktemp("cluster")) as address:
        yield address


def test_both_commands_give_the_same_report(master: str, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    write_run(run_scenario("region-down"), traces / "one.parquet")
    package = make_package(tmp_path / "failover_lab.zip")
    arguments = ["failover", "--trace", str(traces), "--quiet", "--out"]
    module = [
        sys.executable,
        "-m",
        "spark_reports",
        *arguments,
        str(tmp_path / "by-module"),
        "--master",
        master,
    ]
    submit = [
        str(BIN / "spark-submit"),
        "--master",
        master,
        "--py-files",
        str(package),
        str(ROOT / "spark_reports" / "submit.py"),
        *arguments,
        str(tmp_path / "by-submit"),
    ]
    # Outside the checkout, spark-submit finds the packages in the archive alone.
    for command, folder in ((module, ROOT), (submit, tmp_path)):
        said = subprocess.run(
            command,
            cwd=folder,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert said.returncode == 0, said.stderr[-3000:]
        assert "7 duplicates" in said.stdout
    one, other = (
        json.loads((tmp_path / name / "report.json").read_text()) for name in ("by-module", "by-submit")
    )
    assert one["made_by"]["master"] == other["made_by"]["master"] == master
    assert one["runs"] == other["runs"]
    assert one["runs"][0]["failovers"][0]["duplicates"] > 0


def test_bad_input_is_refused_with_a_reason_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "no.parquet").write_bytes(b"no")
    command = [
        sys.executable,
        "-m",
        "spark_reports",
        "failover",
        "--trace",
        str(tmp_path),
        "--out",
        str(tmp_path / "out"),
        "--master",
        "local[1]",
        "--quiet",
    ]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert said.returncode == 2 and "not a Parquet file" in said.stderr and "Traceback" not in said.stderr
    said = subprocess.run(
        [*command, "--out", str(tmp_path / "no.parquet")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert (
        said.returncode == 2 and "is a file; name a folder" in said.stderr and "Traceback" not in said.stderr
    )
    write_run(run_scenario("two-regions"), tmp_path / "no.parquet")
    whole = (tmp_path / "no.parquet").read_bytes()
    # its footer, at the end, stays
    (tmp_path / "no.parquet").write_bytes(whole[:4000] + bytes(5000) + whole[9000:])
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert (
        said.returncode == 2
        and "no.parquet: its rows cannot be read" in said.stderr
        and "Traceback" not in said.stderr
    )
    (tmp_path / "no.parquet").write_bytes(whole)
    without_java = {**os.environ, "JAVA_HOME": str(tmp_path)}
    said = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False, env=without_java
    )
    assert said.returncode == 2 and "openjdk-17-jre-headless" in said.stderr


REPLAY = """
import json, os, sys
from pyspark.sql import SparkSession

def replayed(run):
    from simulator import World
    world = World.open(run[0], seed=run[1])
    world.run()
    return (*run, world.digest(), sys.modules["simulator"].__file__, os.getpid())

spark = SparkSession.builder.master(sys.argv[1]).config("spark.log.level", "ERROR").getOrCreate()
spark.sparkContext.addPyFile(sys.argv[2])
told = spark.sparkContext.parallelize(json.loads(sys.argv[3]), 2).map(replayed).collect()
print(json.dumps({"driver": os.getpid(), "told": told}))
spark.stop()
"""
"""A driver of its own: the executors get the engine in the archive, and nothing of it is loaded in the
driver.
"""


def test_a_run_replayed_in_an_executor_has_the_same_digest(master: str, tmp_path: Path) -> None:
    runs = [("region-down", 1), ("fail-over-and-back", 7), ("unsafe-partial-snapshot", 3)]
    package = make_package(tmp_path / "failover_lab.zip")
    command = [sys.executable, "-c", REPLAY, master, str(package), json.dumps(runs)]
    said = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert said.returncode == 0, said.stderr[-3000:]
    answer = json.loads(said.stdout.splitlines()[-1])
    assert all(
        pid != answer["driver"] and "failover_lab.zip" in module for *_, module, pid in answer["told"]
    ), "it ran in an executor, from the archive"
    assert {(name, seed): digest for name, seed, digest, *_ in answer["told"]} == {
        (name, seed): digest_here(name, seed) for name, seed in runs
    }


def digest_here(name: str, seed: int) -> str:
    world = World.open(name, seed=seed)
    world.run()
    return world.digest()
