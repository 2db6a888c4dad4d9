"""Reads trace files as one frame with an explicit schema, and finds the runs that made them.

Rules: a path is a file, or a directory whose trace files are all read. Parquet and JSON lines may be mixed.
`run` numbers the files from 0 in the order found. Nothing is inferred, and only rows of short traces
(`tuning`) reach the driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simulator import load_scenario
from simulator.trace.files import SUFFIXES, TraceFileError, read_meta
from spark_reports.local import from_rows, made_local
from spark_reports.schemas import FILES, TRACE
from spark_reports.tuning import one_task

UNREADABLE_MARK = "trace rows that cannot be read in "
"""Begins the text of a scan's error about a file, before the file's path."""

ROW_BYTES_MOST = 1 << 20
"""Bytes at the end of a .jsonl file that are searched for its last row.

A row has about 200 bytes, one of a command a few thousand.
"""


@dataclass(frozen=True, slots=True)
class TraceInput:
    """One trace file and the run that made it."""

    run: int
    path: Path
    meta: dict[str, Any]


def find_traces(paths: Iterable[str | Path]) -> list[TraceInput]:
    """The trace files under the paths.

    Raises TraceFileError when a file is no trace, or there is none at all.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            files += sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
        elif path.exists():
            files.append(path)
        else:
            raise TraceFileError(
                f"{path}: no such file or directory; --trace takes trace files or a directory of them"
            )
    unique = list(dict.fromkeys(file.resolve() for file in files))
    if not unique:
        raise TraceFileError(
            "no trace files there; a trace file ends in .parquet or .jsonl and is written by `simulate "
            "--trace`"
        )
    return [TraceInput(run, path, _whole(path, read_meta(path))) for run, path in enumerate(unique)]


def _whole(path: Path, meta: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a file, after a check that a .jsonl file ends with its run's last row.

    No other reader notices missing lines. Parquet fails without its footer.
    """
    if path.suffix == ".jsonl" and meta["rows"]:
        with path.open("rb") as lines:
            lines.seek(max(0, path.stat().st_size - ROW_BYTES_MOST))
            found = re.match(rb'\{"seq":(\d+),.*\}$', lines.read().splitlines()[-1])
        if found is None or int(found[1]) != meta["rows"] - 1:
            raise TraceFileError(
                f"{path.name} is cut off: it does not end with row {meta['rows'] - 1:,}, the last of its "
                f"run; write it again with `simulate --trace`"
            )
    return meta


def unreadable(error: Exception) -> str | None:
    """A message for an error in which Spark could not read a file; None for other errors."""
    words = str(error)
    found = re.search(
        r"\[FAILED_READ_FILE[^\]]*\] Encountered error while reading file (\S+)\.\s", words
    ) or re.search(rf"{UNREADABLE_MARK}(.+?): ", words)
    return found and (
        f"{found[1]}: its rows cannot be read, it was damaged after it was written; write it again with "
        f"`simulate --trace`"
    )


def trace_rows(spark: SparkSession, inputs: Sequence[TraceInput]) -> DataFrame:
    """All rows of all traces: `run` and the columns of schemas.TRACE. Rows of short traces are read once."""
    rows = _in_files(spark, inputs)
    return made_local(spark, rows) if one_task(spark) else rows


def _in_files(spark: SparkSession, inputs: Sequence[TraceInput]) -> DataFrame:
    parquet = [str(entry.path) for entry in inputs if entry.path.suffix == ".parquet"]
    lines = [str(entry.path) for entry in inputs if entry.path.suffix == ".jsonl"]
    frames = []
    if parquet:
        frames.append(
            spark.read.schema(TRACE).parquet(*parquet).withColumn("uri", F.col("_metadata.file_path"))
        )
    if lines:
        # The first line of a .jsonl trace is the run that made it, and has no type.
        found = (
            spark.read.schema(TRACE)
            .option("mode", "FAILFAST")
            .json(lines)
            .withColumn("uri", F.col("_metadata.file_path"))
        )
        frames.append(found.filter(F.col("type").isNotNull()))
    rows = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
    if len(inputs) == 1:
        return rows.select(F.lit(inputs[0].run).cast("long").alias("run"), *TRACE.fieldNames())
    numbers = from_rows(
        spark,
        [(address, entry.run) for entry in inputs for address in _addresses(entry.path.as_uri())],
        FILES,
    )
    return rows.join(F.broadcast(numbers), "uri", "inner").select("run", *TRACE.fieldNames())


def control_rows(rows: DataFrame) -> DataFrame:
    """The rows of all types but those of messages.

    They are the rows of the control plane, and of the data plane those of markers and cursors. The rows left
    out are one per message and step.
    """
    return rows.filter(~F.col("type").startswith("message."))


def _addresses(uri: str) -> tuple[str, str]:
    """A file's address escaped as Spark escapes it, in both forms that Spark may use.

    They are `file:///…` and `file:/…`.
    """
    path = re.sub("^file:/+", "/", quote(uri, safe=":/%~!$&'()*+,;=@"))
    return f"file://{path}", f"file:{path}"


def scenarios_of(inputs: Sequence[TraceInput]) -> list[Any]:
    """The scenario of each trace, from its file."""
    return [load_scenario(entry.meta["scenario"]) for entry in inputs]
