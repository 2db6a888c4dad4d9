"""The Spark session of a report: opened on the requested master, after a check for Java.

Rules: no session at import. An existing session is used as it is (a warm worker, spark-submit). One opened
here is small, quiet and in UTC. `SPARK_REMOTE` selects Spark Connect, `SPARK_MASTER` or --master a classic
master.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from simulator import RuleError, loaded_rules
from spark_reports.java_names import remember_names

JAVA_AT_LEAST = 17
JAVA_ADVICE = (
    f"Reports are made by Spark, which needs Java {JAVA_AT_LEAST} or newer. On Debian or Ubuntu: "
    f"apt-get install openjdk-17-jre-headless. "
    "Elsewhere install a Java 17 runtime and set JAVA_HOME to it, then try again. Everything but "
    "reports works without Java."
)
PARTITIONS_LEAST = 2
"""Fewest partitions, for two cores. Every further one of a small trace is a task of about 10 ms."""
ROWS_OF_A_TASK = 1_000_000
"""Rows of the trace that one task reads, and about as many in one shuffled partition.

The sorts and hash tables of such a partition fit a heap of 1 GB. A trace has 4 bytes per row, so with Spark's
own limit, 128 MB per task, a task would have thirty times as many rows.
"""
SHUFFLED = "spark.sql.shuffle.partitions"
CLUSTER_ROWS_OF_A_TASK, CLUSTER_PARTITIONS_MOST = 100_000, 200
"""Rows of a task and most partitions on a cluster that has no setting of its own.

A large trace gets as many partitions as Spark's default, a short one fewer (measured on a standalone master,
a run of a few thousand rows: 29 s of processor time instead of 94).
"""

QUICK = {
    # without a size, this compiler's code has 48 MiB, which the third report of a session fills
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
    ),
    # each call of a column function would look up its caller and send it to Java
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""Settings for runs of up to `QUICK_ROWS_MOST` rows.

Most of a short report's processor time is the JVM optimising code that runs once (measured on a small trace:
19 s instead of 47 s for the first count, 13 s instead of 26 s for the second; on 3.5 million rows, from the
first step to the causes of duplicates: 32 s instead of 55 s).
"""
QUICK_ROWS_MOST = 5_000_000
"""Most rows of a run in the lab, and so of most reports."""
LARGE = {
    # the default collector works beside the tasks, which need all cores, and slows each write down
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""Settings for longer runs, whose code runs long enough to be optimised."""


def settings_for(rows: int) -> dict[str, str]:
    """The settings of a session for a report on so many rows."""
    return QUICK if rows <= QUICK_ROWS_MOST else LARGE


class JavaMissing(RuntimeError):
    """No Java that Spark can run on. The message names what to install."""


class MasterUnreachable(RuntimeError):
    """Nothing accepts connections at the address of the master. The message names the address."""


ADDRESS = re.compile(r"^(?:spark|sc)://([^/;]+)")
CONNECT_PORT = 15002
"""The port of a Spark Connect server whose address names none."""
CONNECT_LIMIT_S = 10.0


def check_master(url: str) -> None:
    """Raise MasterUnreachable unless one of the master's addresses accepts connections.

    Spark itself tries for a minute and ends with a trace of Java. Other kinds of masters are not checked.
    """
    found = ADDRESS.match(url)
    reasons = []
    for address in found[1].split(",") if found else ():
        host, _, port = address.rpartition(":") if re.search(r":\d+$", address) else (address, "", "")
        try:
            socket.create_connection((host.strip("[]"), int(port or CONNECT_PORT)), CONNECT_LIMIT_S).close()
            return
        except (OSError, OverflowError) as error:
            reasons.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    if reasons:
        raise MasterUnreachable(
            f"The Spark master {url} cannot be reached ({'; '.join(reasons)}). Check that it runs and that "
            f"this machine may connect to it, or leave --master out to use this machine."
        )


def find_java() -> str | None:
    """The java command that Spark would start, or None."""
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        return str(candidate) if candidate.exists() else None
    return shutil.which("java")


def check_java() -> None:
    """Raise JavaMissing, with a message for the page, unless a recent Java is installed."""
    java = find_java()
    if java is None:
        raise JavaMissing(f"No Java was found. {JAVA_ADVICE}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    version = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if version is None:
        raise JavaMissing(f"{java} does not print its version. {JAVA_ADVICE}")
    if int(version[1]) < JAVA_AT_LEAST:
        raise JavaMissing(f"{java} is Java {version[1]}. {JAVA_ADVICE}")


def refuse_rules_elsewhere(master: str | None) -> None:
    """Raise RuleError for a rule's file with a master that is not this machine, whose tasks lack the file."""
    found = loaded_rules()
    elsewhere = "SPARK_ENV_LOADED" in os.environ if master is None else not master.startswith("local")
    if found is not None and elsewhere:
        what = f"runs on this machine only, not on {master or 'the cluster of spark-submit'}"
        raise RuleError(found.path, None, what, "leave --master out, or give local[*]")


def open_session(
    master: str | None = None, name: str = "Failover Lab reports", settings: dict[str, str] | None = None
) -> Any:
    """The active Spark session, or a new one on `master`.

    The default of `master` is SPARK_REMOTE, SPARK_MASTER, the submitted one, local[*].
    """
    remote = os.environ.get("SPARK_REMOTE") if master is None else None
    refuse_rules_elsewhere(remote or master or os.environ.get("SPARK_MASTER"))
    if not remote:
        check_java()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name).config("spark.sql.session.timeZone", "UTC")
    if remote:
        check_master(remote)
        return builder.remote(remote).getOrCreate()
    # Under spark-submit the launcher has chosen the master already and sets it in the environment.
    chosen = (
        master or os.environ.get("SPARK_MASTER") or (None if "SPARK_ENV_LOADED" in os.environ else "local[*]")
    )
    if chosen:
        check_master(chosen)
        builder = builder.master(chosen)
    if chosen and chosen.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the first python3 of PATH
        builder = (
            builder.config(SHUFFLED, str(PARTITIONS_LEAST))
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
        )
    builder = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
    )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    remember_names(spark)
    return spark


def cut_for(spark: Any, rows: int) -> None:
    """Set the number of tasks for so many rows of traces, so that a task's memory stays bounded."""
    tasks = max(PARTITIONS_LEAST, -(-rows // ROWS_OF_A_TASK))
    spark.conf.set("spark.sql.files.minPartitionNum", str(tasks))
    context = getattr(spark, "_sc", None)  # absent on Connect
    if str(spark.conf.get("spark.master", "")).startswith("local"):
        spark.conf.set(SHUFFLED, str(tasks))
    elif context is not None and not context.getConf().contains(SHUFFLED):
        spark.conf.set(
            SHUFFLED,
            str(min(CLUSTER_PARTITIONS_MOST, max(PARTITIONS_LEAST, -(-rows // CLUSTER_ROWS_OF_A_TASK)))),
        )
