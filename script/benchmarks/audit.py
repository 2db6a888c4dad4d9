"""An audit of generated logs in Parquet, and the same count in DuckDB's group-by.

The logs are copies of one simulated failover, whose truth is known; the audit's figures must equal it. Both
engines have two cores. Peak memory is Java's (a heap of 6 GB) and Python's together, with the Python workers,
in a process of its own. A Spark session is opened before the clock starts. `AUDIT_ROWS` sets the
number of rows, a tenth of which is measured too.
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
FULL_ROWS = 100_000_000
"""The number of rows that the targets are for."""
SECONDS_MOST, MEMORY_MIB_MOST, TIMES_MOST = 360, 16 * 1024, 12
CORES, HEAP = 2, "6g"
LOOK_EVERY_S = 0.5

QUERY = """
SELECT count(*) AS messages, sum(CAST(clusters > 1 AS INT)) AS in_several_clusters, sum(deliveries) AS deliveries FROM (
  SELECT subscription, topic, partition, message_id, count(*) AS deliveries, count(DISTINCT cluster) AS clusters
  FROM logs WHERE kind = 'deliver' GROUP BY subscription, topic, partition, message_id)
"""


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as folder:
        sizes = {rows: _generated(Path(folder) / str(rows), rows) for rows in (ROWS, ROWS // 10)}
        rounds = {
            rows: [
                (in_own_process(__name__, "audit", str(logs)), in_own_process(__name__, "duckdb", str(logs)))
                for _ in range(REPEATS)
            ]
            for rows, logs in sizes.items()
        }
        for rows, logs in sizes.items():
            truth = json.loads((logs.parent / "truth.json").read_text())["groups"]
            expected = {
                name: sum(one[name] for one in truth)
                for name in ("messages", "in_several_clusters", "deliveries")
            }
            for run in (one for pair in rounds[rows] for one in pair):
                assert {name: run[name] for name in expected} == expected, (
                    f"{run} is not the truth {expected}"
                )
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


def _generated(folder: Path, rows: int) -> Path:
    from spark_reports.audit.generate.command import LOGS, generate

    generate(rows, folder)
    return folder / LOGS


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
    figures = {
        name: sum(one[name] for one in groups) for name in ("messages", "in_several_clusters", "deliveries")
    }
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
    names = ("messages", "in_several_clusters", "deliveries")
    return {"seconds": seconds, **dict(zip(names, map(int, answer[0]))), "peak_bytes": peak_memory_bytes()}


if __name__ == "__main__":
    print(json.dumps({"audit": _audit, "duckdb": _duckdb}[sys.argv[1]](sys.argv[2])))
