"""A sweep on a standalone cluster: the package reaches the executors, and one of them is lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from simulator.experiments import read_experiment
from tests.spark_reports.cluster import environment, executors_of, standalone_cluster
from tests.spark_reports.sweeps import SMALL, recounted

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


def test_a_sweep_on_two_executors_loses_one_and_no_run(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(SMALL.replace("seeds: [3, 8]", "seeds: 20"))
    with standalone_cluster(tmp_path, 2) as (master, workers):
        command = [
            *(sys.executable, "-m", "spark_reports", "sweep", str(file)),
            *("--out", str(tmp_path / "out"), "--master", master),
        ]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            lines: list[str] = []
            while not re.match(r"[1-9]\d* of 120 runs finished", lines[-1] if lines else ""):
                lines.append(process.stderr.readline())
                assert lines[-1], "".join(lines)[-3000:]
            executors = [pid for worker in workers for pid in executors_of(worker)]
            assert len(executors) == 2, (executors, "".join(lines))
            os.kill(executors[0], signal.SIGKILL)
            printed, more = process.communicate(timeout=400)
        finally:
            process.kill()
    assert process.returncode == 0 and "Lost executor" in more, more[-3000:]
    assert "120 of 120 runs finished, 0 failed" in printed and "120 of 120" not in "".join(lines)
    rows = pq.read_table(tmp_path / "out" / "runs.parquet").to_pylist()
    assert [row["run"] for row in rows] == list(range(120))
    for row in rows[::29]:
        ours = recounted(read_experiment(file), row)
        assert {name: row[name] for name in ours} == ours
