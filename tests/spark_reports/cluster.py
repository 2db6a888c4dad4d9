"""Spark daemons of the tests.

A single daemon, and a standalone master with its worker; started from the pip package and ended by id.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

from spark_reports.session import QUICK

BIN = Path(pyspark.__file__).parent / "bin"
START_LIMIT_S = 240


def environment(folder: Path) -> dict[str, str]:
    """The environment of a daemon or a driver.

    It has Spark of the pip package, files in the folder, and every Java in it, executors too, as quick to start as a
    short report's driver.
    """
    return {
        **os.environ,
        "SPARK_HOME": str(BIN.parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "JAVA_TOOL_OPTIONS": QUICK["spark.driver.extraJavaOptions"],
    }


def started(
    command: list[str], folder: Path, log: Path, sign: str, memory: str = "256m"
) -> tuple[subprocess.Popen[bytes], re.Match[str]]:
    """A daemon whose log contains `sign`; `memory` is its heap."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(BIN / "spark-class"), *command],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**environment(folder), "SPARK_DAEMON_MEMORY": memory},
        )
    end = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end and process.poll() is None:
        said = re.search(sign, log.read_text(errors="replace"))
        if said:
            return process, said
        time.sleep(0.2)
    process.kill()
    pytest.fail(f"{command[0]} did not start:\n{log.read_text(errors='replace')[-2000:]}")


@contextmanager
def standalone_master(folder: Path) -> Iterator[str]:
    """The address of a standalone master with one worker of one core."""
    with standalone_cluster(folder, 1) as (address, _):
        yield address


@contextmanager
def standalone_cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[int]]]:
    """The address of a standalone master, and the process ids of its workers of one core each."""
    with ExitStack() as running:
        master, said = started(
            [
                "org.apache.spark.deploy.master.Master",
                *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
            ],
            folder,
            folder / "master.log",
            r"Starting Spark master at (\S+)",
        )
        running.callback(end, master)
        pids = []
        for number in range(workers):
            worker, _ = started(
                [
                    "org.apache.spark.deploy.worker.Worker",
                    *("--cores", "1", "--memory", "1g", "--host", "127.0.0.1", "--webui-port", "0"),
                    said[1],
                ],
                folder,
                folder / f"worker-{number}.log",
                r"Successfully registered with master",
            )
            running.callback(end, worker)
            pids.append(worker.pid)
        yield said[1], pids


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def executors_of(worker: int) -> list[int]:
    """The process ids of the executors that a worker has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if parent == str(worker) and b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found
