"""Writes the results of an audit: page, JSON, CSV, Parquet, and the rows that could not be read.

Rules: everything is written into a folder beside the result's and moved at the end, `audit.json` last. A
result without it is not complete.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.audit.mapping import OTHER_LINE
from spark_reports.csv_file import write_csv

PAGE, DATA, TABLE, MESSAGES, UNREADABLE = (
    "audit.html",
    "audit.json",
    "audit.csv",
    "repeated.parquet",
    "unreadable.jsonl",
)
SCENARIO = "scenario.yaml"
RESULTS = (PAGE, TABLE, MESSAGES, UNREADABLE, SCENARIO, DATA)
"""In the order in which they are moved."""
UNREADABLE_MOST = 100_000
"""The most unreadable rows in the side file; all are counted."""
TEXT_CHARACTERS_MOST = 10_000
"""The most characters of an unreadable row in the side file."""
FILE_MESSAGES = 5_000_000
"""Rows of one Parquet file."""

COLUMNS = (
    "subscription",
    "topic",
    "partition",
    "deliveries",
    "messages",
    "repeated_messages",
    "in_several_clusters",
    "in_one_cluster",
    "cluster_unknown",
    "extra_deliveries",
    "duplicates",
    "extra_after_ack",
    "deliveries_most",
    "repeated_rows",
    "first_us",
    "last_us",
    "p50",
    "p99",
    "gap_most",
)
"""Columns of audit.csv: one line per subscription, topic and partition."""


@contextmanager
def written_aside(out: Path) -> Iterator[Path]:
    """A folder for the results, whose files replace those in `out` at the end.

    After an error `out` is as before.
    """
    aside = out.with_name(f".{out.name}.partial-{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        out.mkdir(parents=True, exist_ok=True)
        for name in reversed(RESULTS):
            _remove(out / name)
        for name in RESULTS:
            if (aside / name).exists():
                os.replace(aside / name, out / name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(folder: Path, report: dict[str, Any]) -> None:
    """Write audit.json."""
    text = json.dumps(report, indent=1, allow_nan=False, ensure_ascii=False)
    (folder / DATA).write_text(f"{text}\n", encoding="utf-8")


def write_table(folder: Path, groups: list[dict[str, Any]]) -> None:
    """Write audit.csv."""
    rows = [{name: "" if one[name] is None else one[name] for name in COLUMNS} for one in groups]
    write_csv(folder / TABLE, COLUMNS, rows)


def write_messages(folder: Path, messages: DataFrame, count: int) -> None:
    """Write repeated.parquet, one row for each message delivered more than once."""
    kept = messages.filter(F.col("deliveries") > 1)
    kept.coalesce(max(1, -(-count // FILE_MESSAGES))).write.mode("overwrite").parquet(
        (folder / MESSAGES).absolute().as_uri()
    )


def write_unreadable(folder: Path, rows: DataFrame) -> list[dict[str, Any]]:
    """Write unreadable.jsonl and return its first rows."""
    chosen = (
        rows.filter(F.col("problem").isNotNull() & (F.col("problem") != OTHER_LINE))
        .select("file", "problem", F.substring("text", 1, TEXT_CHARACTERS_MOST).alias("text"))
        .limit(UNREADABLE_MOST)
    )
    first: list[dict[str, Any]] = []
    with (folder / UNREADABLE).open("w", encoding="utf-8") as file:
        for row in chosen.toLocalIterator():
            one = row.asDict()
            file.write(f"{json.dumps(one, ensure_ascii=False)}\n")
            if len(first) < 10:
                first.append(one)
    return first
