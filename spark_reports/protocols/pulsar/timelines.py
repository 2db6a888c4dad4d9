"""Series of the failovers that a report describes in full: deliveries, positions, risk and lag.

This module chooses the spans and bins that Spark counts, and makes the curves.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from spark_reports.local import from_rows
from spark_reports.protocols.pulsar import curves
from spark_reports.protocols.pulsar.counting import Counting
from spark_reports.protocols.pulsar.schemas import STEPS, TARGETS
from spark_reports.protocols.pulsar.transforms import series

BEFORE_US, AFTER_US = 4_000_000, 3_000_000
"""Time shown before the source failed, and after the backlog of the failover was acked."""
LONGEST_US = 60_000_000


def add_series(
    spark: SparkSession,
    counting: Counting,
    rows: DataFrame,
    runs: list[dict[str, Any]],
    found: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    """Add `series` to each failover of `found` (run, failover). `rows` are those of the runs in `found`."""
    if not found:
        return
    zooms = {(run["run"], failover["failover_seq"]): _zoom(run, failover) for run, failover in found}
    deliveries = series.delivery_bins(counting.judged, _zoom_frame(spark, found, zooms)).collect()
    numbers = sorted({run["run"] for run, _ in found})
    widths = {run["run"]: curves.bin_width_us(run["until_us"]) for run in runs}
    clock = spark.createDataFrame(
        pa.table(
            {
                "run": pa.array(numbers, pa.int64()),
                "bin_us": pa.array([widths[number] for number in numbers], pa.int64()),
            }
        )
    )
    log_rows, mark_rows = defaultdict(list), defaultdict(list)
    for row in series.log_bins(rows, clock).collect():
        log_rows[row.run].append(row)
    for row in series.mark_bins(counting.marks, clock).collect():
        mark_rows[row.run].append(row)
    covered = defaultdict(list)
    targets, steps = _targets(found, mark_rows, widths), _steps(found, mark_rows)
    for row in series.coverage(
        rows, from_rows(spark, targets, TARGETS), from_rows(spark, steps, STEPS)
    ).collect():
        covered[(row.run, row.failover_seq)].append(row)
    for run, failover in found:
        key, width = (run["run"], failover["failover_seq"]), widths[run["run"]]
        topics = _topics(mark_rows[run["run"]], failover["subscription"])
        mine = [row for row in deliveries if (row.run, row.failover_seq) == key]
        failover["series"] = {
            "zoom": zooms[key],
            "deliveries": [
                {name: row[name] for name in ("cluster", "bin", "kind", "deliveries")}
                for row in sorted(mine, key=lambda row: (row.cluster, row.kind, row.bin))
            ],
            "remaining": _remaining(failover, mine, zooms[key]),
            "positions": curves.positions(
                log_rows[run["run"]],
                mark_rows[run["run"]],
                width,
                series.SAMPLES,
                topics,
                failover["subscription"],
            ),
            **curves.risk_and_lag(covered[key], width, series.SAMPLES),
        }


def _zoom(run: dict[str, Any], failover: dict[str, Any]) -> dict[str, int]:
    begin = max(0, min(failover["at_us"], failover["source_ended_us"]) - BEFORE_US)
    settled = max(
        at_us
        for at_us in (
            failover["drained_us"],
            failover["caught_up_us"],
            failover["first_delivery_us"],
            failover["at_us"],
        )
        if at_us is not None
    )
    end = min(run["until_us"], settled + AFTER_US, begin + LONGEST_US)
    width = curves.bin_width_us(max(1, end - begin))
    return {"from_us": begin, "to_us": begin + width * series.SAMPLES, "bin_us": width}


def _zoom_frame(spark: SparkSession, found: list, zooms: dict[tuple[int, int], dict[str, int]]) -> Any:
    rows = [
        (
            run["run"],
            failover["failover_seq"],
            failover["subscription"],
            *zooms[(run["run"], failover["failover_seq"])].values(),
        )
        for run, failover in found
    ]
    columns = list(zip(*rows, strict=True))
    names = ("run", "of_failover", "subscription", "from_us", "to_us", "bin_us")
    return spark.createDataFrame(
        pa.table(
            {
                name: pa.array(column, pa.string() if name == "subscription" else pa.int64())
                for name, column in zip(names, columns, strict=True)
            }
        )
    )


def _topics(mark_rows: list[Any], subscription: str) -> set[str]:
    return {row.topic for row in mark_rows if row.subscription == subscription}


def _targets(found: list, mark_rows: dict[int, list[Any]], widths: dict[int, int]) -> list[tuple]:
    """Rows of schemas.TARGETS."""
    return [
        (
            run["run"],
            failover["failover_seq"],
            topic,
            failover["subscription"],
            failover["to"],
            widths[run["run"]],
        )
        for run, failover in found
        for topic in sorted(_topics(mark_rows[run["run"]], failover["subscription"]))
    ]


def _steps(figures: list, mark_rows: dict[int, list[Any]]) -> list[tuple]:
    """Rows of schemas.STEPS."""
    found = []
    for run, failover in figures:
        for topic in sorted(_topics(mark_rows[run["run"]], failover["subscription"])):
            steps = curves.covering_steps(
                mark_rows[run["run"]], failover["to"], topic, failover["subscription"], series.SAMPLES
            )
            found += [(run["run"], failover["failover_seq"], topic, *step) for step in steps]
    return found


def _remaining(failover: dict[str, Any], mine: list[Any], zoom: dict[str, int]) -> list[list]:
    """The number of duplicates still to be delivered, from the move on."""
    by_bin: dict[int, int] = defaultdict(int)
    for row in mine:
        if row.kind == "duplicate" and row.cluster == failover["to"]:
            by_bin[row.bin] += row.deliveries
    left, line = failover["duplicates"], [[failover["at_us"] / curves.SECOND_US, failover["duplicates"]]]
    for number in range(series.SAMPLES):
        at_us = zoom["from_us"] + (number + 1) * zoom["bin_us"]
        left -= by_bin[number]
        if at_us > failover["at_us"]:
            line.append([at_us / curves.SECOND_US, left])
    return line
