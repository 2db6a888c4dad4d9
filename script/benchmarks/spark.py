"""The Spark report on five million delivery rows, and one query of it in Spark and in DuckDB.

Spark has two local cores. The engine runs 250,000 messages whose region crashes half-way, once. The trace
file is linked as often as needed, as a sweep would leave the files, and each link is a run of its own in the
report. The report is also made of a tenth and a third of them, to see whether memory grows. Sessions are
opened before the clock starts. Peak memory is the sum of the peaks of Java (heap of 1 GB, Spark's default),
of the driver's Python and of the Python of the tasks. `python -m script.benchmarks.spark report|query|duckdb FOLDER` is one measurement
and prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from script.benchmarks import scenarios
from script.benchmarks.measure import REPEATS, Figure, in_own_process, median, peak_memory_bytes, seconds_of

MESSAGES, DELIVERIES = 250_000, 5_000_000
SHARES = {"a tenth of the input": 0.1, "a third of the input": 0.3}
"""Smaller inputs, to see whether memory grows with them."""

FLAT = 1.25
"""Peak memory counts as flat up to this ratio between the whole input and a tenth of it.

Java's use of memory varies.
"""

CORES = 2

QUERY = """
WITH moved AS (SELECT run, seq, subscription, peer FROM trace WHERE type = 'failover.started'),
acked AS (SELECT run, producer, sequence_id, min(seq) AS seq FROM trace WHERE type = 'message.acknowledged' GROUP BY run, producer, sequence_id),
seen AS (SELECT trace.run, producer, sequence_id, min(trace.seq) AS seq FROM trace JOIN moved
         ON trace.run = moved.run AND trace.subscription = moved.subscription AND trace.cluster = moved.peer AND trace.seq > moved.seq
         WHERE type = 'message.delivered' GROUP BY trace.run, producer, sequence_id)
SELECT count(*) AS deliveries, sum(CASE WHEN acked.seq < seen.seq THEN 1 ELSE 0 END) AS duplicates
FROM seen LEFT JOIN acked ON seen.run = acked.run AND seen.producer = acked.producer AND seen.sequence_id = acked.sequence_id
"""


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as folder:
        many = Path(folder) / "many"
        made = _make_traces(many)
        reports = [in_own_process(__name__, "report", str(many)) for _ in range(REPEATS)]
        smaller = {
            name: in_own_process(__name__, "report", str(_part_of(many, share, Path(folder) / f"{share}")))
            for name, share in SHARES.items()
        }
        rounds = [
            (in_own_process(__name__, "query", str(many)), in_own_process(__name__, "duckdb", str(many)))
            for _ in range(REPEATS)
        ]
    answers = {(run["deliveries"], run["duplicates"]) for pair in rounds for run in pair}
    assert len(answers) == 1, f"Spark and DuckDB disagree: {answers}"
    duplicates = reports[0]["duplicates"]
    assert duplicates == rounds[0][0]["duplicates"], (
        f"report and query disagree: {duplicates} and {rounds[0][0]['duplicates']}"
    )
    seconds = median([run["seconds"] for run in reports])
    peak = median([run["peak_bytes"] for run in reports]) / 2**20
    query, duckdb = ([run[engine]["seconds"] for run in rounds] for engine in (0, 1))
    query_peak, duckdb_peak = ([run[engine]["peak_bytes"] / 2**20 for run in rounds] for engine in (0, 1))
    for name, run in smaller.items():
        small = run["peak_bytes"] / 2**20
        yield Figure(
            "spark",
            f"whole report on {made['deliveries']:,} deliveries ({made['rows']:,} rows)",
            seconds,
            "s",
            name,
            run["seconds"],
        )
        yield Figure(
            "spark",
            "peak memory of the report",
            peak,
            "MiB",
            name,
            small,
            f"at most {FLAT} times",
            peak <= FLAT * small,
        )
    yield Figure(
        "spark",
        "one query: duplicates of every failover",
        median(query),
        "s",
        "the same in DuckDB",
        median(duckdb),
    )
    yield Figure(
        "spark",
        "peak memory of the query",
        median(query_peak),
        "MiB",
        "the same in DuckDB",
        median(duckdb_peak),
    )


def _make_traces(many: Path) -> dict[str, int]:
    """Fill the folder; returns how many deliveries and rows it holds."""
    from simulator import World
    from simulator.headless import trace_meta
    from simulator.trace.files import write_trace

    world = World.open(scenarios.fail_over(MESSAGES), rows_max=None)
    world.run()
    deliveries = len(world.trace.seqs(types=["message.delivered"]))
    files = -(-DELIVERIES // deliveries)
    many.mkdir(parents=True)
    write_trace(many / "run-000.parquet", world.trace, trace_meta(world))
    for number in range(1, files):
        (many / f"run-{number:03}.parquet").hardlink_to(many / "run-000.parquet")
    return {"deliveries": deliveries * files, "rows": len(world.trace) * files}


def _part_of(many: Path, share: float, folder: Path) -> Path:
    """A folder with the first files of `many`."""
    folder.mkdir()
    files = sorted(many.iterdir())
    for file in files[: max(1, round(share * len(files)))]:
        (folder / file.name).hardlink_to(file)
    return folder


def _report(folder: str) -> dict[str, Any]:
    from spark_reports.jobs.failover import FailoverReport

    spark = _session()
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as out:
        report = FailoverReport(spark, [folder], out)
        seconds = seconds_of(report.make)
    duplicates = sum(failover["duplicates"] for run in report.report["runs"] for failover in run["failovers"])
    return {
        "seconds": seconds,
        "duplicates": duplicates,
        "peak_bytes": peak_memory_bytes() + java_peak_bytes() + sum(peaks_of_children("python")),
    }


def _query(folder: str) -> dict[str, Any]:
    from spark_reports.read import find_traces
    from spark_reports.session import cut_for

    spark = _session()
    cut_for(spark, sum(entry.meta["rows"] for entry in find_traces([folder])))  # as a report does
    spark.sql(f"CREATE TEMPORARY VIEW trace AS SELECT *, _metadata.file_name AS run FROM parquet.`{folder}`")
    answer: list[Any] = []
    seconds = seconds_of(lambda: answer.extend(spark.sql(QUERY).collect()))
    return {"seconds": seconds, **answer[0].asDict(), "peak_bytes": peak_memory_bytes() + java_peak_bytes()}


def _duckdb(folder: str) -> dict[str, Any]:
    import duckdb

    connection = duckdb.connect(config={"threads": CORES})
    connection.sql(
        f"CREATE VIEW trace AS SELECT *, filename AS run FROM read_parquet('{folder}/*.parquet', filename = "
        "true)"
    )
    answer: list[Any] = []
    seconds = seconds_of(lambda: answer.extend(connection.sql(QUERY).fetchall()))
    return {
        "seconds": seconds,
        "deliveries": answer[0][0],
        "duplicates": int(answer[0][1]),
        "peak_bytes": peak_memory_bytes(),
    }


def _session() -> Any:
    """A warm Spark session: the first job of a Java process loads classes, which counts as session start."""
    from spark_reports.session import LARGE, open_session

    spark = open_session(f"local[{CORES}]", settings=LARGE)  # of a tenth, too: memory is compared
    spark.range(1000).selectExpr("sum(id)").collect()
    return spark


def java_peak_bytes() -> int:
    """The most memory that a Java child of this process has held, bytes."""
    return max(peaks_of_children("java"), default=0)


def peaks_of_children(name: str) -> list[int]:
    """The most memory that each running descendant of this name has held, bytes."""
    peaks = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            held = fields.get("VmHWM")  # a process that has ended has none until its parent has noticed
            if held and fields["Name"].strip().startswith(name) and _descends_from_us(status.parent):
                peaks.append(int(held.split()[0]) * 1024)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
    return peaks


def _descends_from_us(process: Path) -> bool:
    pid = int(process.name)
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = int((Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[1])
    return False


if __name__ == "__main__":
    print(json.dumps({"report": _report, "query": _query, "duckdb": _duckdb}[sys.argv[1]](sys.argv[2])))
