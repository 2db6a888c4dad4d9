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
from contextlib import contextmanager
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
    one, said = started(
        ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"],
        folder,
        folder / "master.log",
        r"Starting Spark master at (\S+)",
    )
    try:
        other, _ = started(
            [
                "org.apache.spark.deploy.worker.Worker",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
                said[1],
            ],
            folder,
            folder / "worker.log",
            r"Successfully registered with master",
        )
        try:
            yield said[1]
        finally:
            end(other)
    finally:
        end(one)


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
