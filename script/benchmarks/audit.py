"""An audit of generated logs in Parquet, and the same count in DuckDB's group-by.

The logs are copies of one simulated failover, whose truth is known; the audit's figures must equal it. Both
engines have two cores. Peak memory is Java's (a heap of 6 GB) and Python's together, without the Python
workers, in a process of its own. A Spark session is opened before the clock starts. `AUDIT_ROWS` sets the
number of rows, a tenth of which is measured too.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from script.benchmarks.measure import REPEATS, Figure, in_own_process, median, peak_memory_bytes, seconds_of
from script.benchmarks.spark import java_peak_bytes

ROWS = int(os.environ.get("AUDIT_ROWS", "100000000"))
FULL_ROWS = 100_000_000
"""The number of rows that the targets are for."""
SECONDS_MOST, MEMORY_MIB_MOST, TIMES_MOST = 360, 16 * 1024, 12
CORES, HEAP = 2, "6g"

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
    from spark_reports.audit.job import Audit
    from spark_reports.session import open_session

    spark = open_session(f"local[{CORES}]", settings={"spark.driver.memory": HEAP})
    spark.range(1000).selectExpr("sum(id)").collect()
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as out:
        audit = Audit(spark, [logs], Path(out) / "audit")
        seconds = seconds_of(audit.make)
    groups = audit.report["groups"]
    figures = {
        name: sum(one[name] for one in groups) for name in ("messages", "in_several_clusters", "deliveries")
    }
    return {"seconds": seconds, **figures, "peak_bytes": peak_memory_bytes() + java_peak_bytes()}


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
