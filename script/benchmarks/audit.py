"""An audit of generated logs in Parquet, and the same count in DuckDB's group-by.

The logs are copies of one simulated failover, whose truth is known; the audit's figures must equal it. Both
engines have two cores. Peak memory is Java's (a heap of 6 GB) and Python's together, with the Python workers,
in a process of its own. A Spark session is opened before the clock starts. `AUDIT_ROWS` sets the
number of rows, a tenth of which is measured too. `AUDIT_DATA` is a folder that keeps the logs for the next
time, one folder for each number of rows.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from script.benchmarks.measure import REPEATS, Figure, in_own_process, median, peak_memory_bytes, seconds_of
from script.benchmarks.spark import java_peak_bytes, peaks_of_children

ROWS = int(os.environ.get("AUDIT_ROWS", "100000000"))
DATA = Path(os.environ["AUDIT_DATA"]) if "AUDIT_DATA" in os.environ else None
FULL_ROWS = 100_000_000
"""The number of rows that the targets are for."""
SECONDS_MOST, MEMORY_MIB_MOST, TIMES_MOST = 360, 16 * 1024, 12
CORES, HEAP = 2, "6g"
LOOK_EVERY_S = 0.5
COMPARED = ("messages", "in_several_clusters", "deliveries")
"""Sums over all groups that both engines must count as the truth says, in the order of the query."""

QUERY = """
SELECT count(*) AS messages, sum(CAST(clusters > 1 AS INT)) AS in_several_clusters, sum(deliveries) AS deliveries FROM (
  SELECT subscription, topic, partition, message_id, count(*) AS deliveries, count(DISTINCT cluster) AS clusters
  FROM logs WHERE kind = 'deliver' GROUP BY subscription, topic, partition, message_id)
"""


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as folder:
        logs = {rows: _logs(Path(folder), rows) for rows in (ROWS, ROWS // 10)}
        rounds = {rows: [_round(own) for _ in range(REPEATS)] for rows, own in logs.items()}
    seconds = {rows: median([pair[0]["seconds"] for pair in own]) for rows, own in rounds.items()}
    full = ROWS == FULL_ROWS
    for rows, own in rounds.items():
        limited = full and rows == ROWS
        yield Figure(
            "audit",
            f"audit of {rows:,} rows of Parquet",
            seconds[rows],
            "s",
            "DuckDB's group-by",
            median([pair[1]["seconds"] for pair in own]),
            f"at most {SECONDS_MOST} s" if limited else "",
            seconds[rows] <= SECONDS_MOST if limited else None,
        )
        peak = median([pair[0]["peak_bytes"] for pair in own]) / 2**20
        yield Figure(
            "audit",
            f"peak memory of the audit of {rows:,} rows",
            peak,
            "MiB",
            "DuckDB's group-by",
            median([pair[1]["peak_bytes"] for pair in own]) / 2**20,
            f"at most {MEMORY_MIB_MOST:,} MiB" if limited else "",
            peak <= MEMORY_MIB_MOST if limited else None,
        )
    ratio = seconds[ROWS] / seconds[ROWS // 10]
    yield Figure(
        "audit",
        f"{ROWS:,} rows take as long as so many audits of a tenth",
        ratio,
        "",
        target=f"at most {TIMES_MOST}" if full else "",
        met=ratio <= TIMES_MOST if full else None,
    )


def _logs(folder: Path, rows: int) -> Path:
    """The folder of logs with their truth: those of `AUDIT_DATA`, or new ones."""
    from spark_reports.audit.generate.command import TRUTH, generate

    made = DATA / str(rows) if DATA else folder / str(rows)
    if not (made / TRUTH).exists():  # it is there only when the logs are complete
        generate(rows, made)
    return made


def _round(made: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """One audit and one group-by, whose figures must be the truth."""
    from spark_reports.audit.generate.command import LOGS, TRUTH

    truth = json.loads((made / TRUTH).read_text())["groups"]
    expected = {name: sum(one[name] for one in truth) for name in COMPARED}
    found = [in_own_process(__name__, engine, str(made / LOGS)) for engine in ("audit", "duckdb")]
    for engine, run in zip(("audit", "duckdb"), found, strict=True):
        if (figures := {name: run[name] for name in COMPARED}) != expected:
            raise RuntimeError(f"the {engine} of {made} counts {figures}; the truth is {expected}")
    return found[0], found[1]


def _audit(logs: str) -> dict[str, Any]:
    from spark_reports.audit.command import quick
    from spark_reports.audit.job import Audit
    from spark_reports.session import QUICK, open_session

    settings = {"spark.driver.memory": HEAP, **(QUICK if quick([logs]) else {})}
    spark = open_session(f"local[{CORES}]", settings=settings)
    spark.range(1000).selectExpr("sum(id)").collect()
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as out, _WorkersMemory() as workers:
        audit = Audit(spark, [logs], Path(out) / "audit")
        seconds = seconds_of(audit.make)
    groups = audit.report["groups"]
    figures = {name: sum(one[name] for one in groups) for name in COMPARED}
    return {
        "seconds": seconds,
        **figures,
        "peak_bytes": peak_memory_bytes() + java_peak_bytes() + workers.peak_bytes,
    }


class _WorkersMemory:
    """The most memory that Spark's Python workers hold together; one that is idle for a minute ends."""

    peak_bytes = 0

    def __enter__(self) -> Self:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self.peak_bytes = max(self.peak_bytes, sum(peaks_of_children("python")))


def _duckdb(logs: str) -> dict[str, Any]:
    import duckdb

    connection = duckdb.connect(config={"threads": CORES})
    connection.sql(f"CREATE VIEW logs AS SELECT * FROM read_parquet('{logs}/*.parquet')")
    answer: list[Any] = []
    seconds = seconds_of(lambda: answer.extend(connection.sql(QUERY).fetchall()))
    return {
        "seconds": seconds,
        **dict(zip(COMPARED, map(int, answer[0]), strict=True)),
        "peak_bytes": peak_memory_bytes(),
    }


if __name__ == "__main__":
    print(json.dumps({"audit": _audit, "duckdb": _duckdb}[sys.argv[1]](sys.argv[2])))
