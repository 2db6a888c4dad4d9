"""Series of the failovers that a report describes in full: deliveries, positions, risk and lag.

This module chooses the spans and bins that Spark counts, and makes the curves.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import SparkSession

from spark_reports.local import from_rows
from spark_reports.protocols.pulsar import curves
from spark_reports.protocols.pulsar.counting import Counting
from spark_reports.protocols.pulsar.scans import coverage, logs
from spark_reports.protocols.pulsar.schemas import ZOOMS
from spark_reports.protocols.pulsar.transforms import series
from spark_reports.schemas import BINS

BEFORE_US, AFTER_US = 4_000_000, 3_000_000
"""Time shown before the source failed, and after the backlog of the failover was acked."""
LONGEST_US = 60_000_000


def add_series(
    spark: SparkSession,
    counting: Counting,
    runs: list[dict[str, Any]],
    found: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    """Add `series` to each failover of `found` (run, failover)."""
    if not found:
        return
    zooms = {(run["run"], failover["failover_seq"]): _zoom(run, failover) for run, failover in found}
    numbers = sorted({run["run"] for run, _ in found})
    scans = counting.scans.of(numbers)
    deliveries = _deliveries(spark, counting, found, zooms)
    widths = {run["run"]: curves.bin_width_us(run["until_us"]) for run in runs}
    clock = from_rows(spark, [(number, widths[number]) for number in numbers], BINS)
    log_rows, mark_rows = defaultdict(list), defaultdict(list)
    for row in scans.rows(logs.BINS, bins_us=widths):
        log_rows[row.run].append(row)
    for row in series.mark_bins(counting.marks, clock).collect():
        mark_rows[row.run].append(row)
    covered = defaultdict(list)
    targets = _targets(found, mark_rows, widths)
    for row in scans.rows(coverage.SCAN, targets=targets):
        covered[(row.run, row.failover_seq)].append(row)
    for run, failover in found:
        key, width = (run["run"], failover["failover_seq"]), widths[run["run"]]
        topics = _topics(mark_rows[run["run"]], failover["subscription"])
        mine = deliveries[key]
        failover["series"] = {
            "zoom": zooms[key],
            "deliveries": mine,
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


def _deliveries(
    spark: SparkSession,
    counting: Counting,
    found: list[tuple[dict[str, Any], dict[str, Any]]],
    zooms: dict[tuple[int, int], dict[str, int]],
) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """The deliveries of each failover in its zoom, by cluster, kind and bin."""
    spans = [
        (run["run"], failover["failover_seq"], failover["subscription"], *zooms[key].values())
        for run, failover in found
        for key in [(run["run"], failover["failover_seq"])]
    ]
    shown: dict[tuple[int, int], list[dict[str, Any]]] = {key: [] for key in zooms}
    rows = counting.deliveries(sorted({run["run"] for run, _ in found}))
    for row in series.delivery_bins(rows, from_rows(spark, spans, ZOOMS)).collect():
        shown[row.run, row.failover_seq].append(
            {name: row[name] for name in ("cluster", "bin", "kind", "deliveries")}
        )
    for mine in shown.values():
        mine.sort(key=lambda one: (one["cluster"], one["kind"], one["bin"]))
    return shown


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


def _topics(mark_rows: list[Any], subscription: str) -> set[str]:
    return {row.topic for row in mark_rows if row.subscription == subscription}


def _targets(found: list, mark_rows: dict[int, list[Any]], widths: dict[int, int]) -> list[coverage.Target]:
    """The topics of each failover, with the steps of the target's mark-delete."""
    return [
        coverage.Target(
            run["run"],
            failover["failover_seq"],
            topic,
            failover["subscription"],
            failover["to"],
            widths[run["run"]],
            tuple(
                coverage.Step(*step)
                for step in curves.covering_steps(
                    mark_rows[run["run"]], failover["to"], topic, failover["subscription"], series.SAMPLES
                )
            ),
        )
        for run, failover in found
        for topic in sorted(_topics(mark_rows[run["run"]], failover["subscription"]))
    ]


def _remaining(failover: dict[str, Any], mine: list[Any], zoom: dict[str, int]) -> list[list]:
    """The number of duplicates still to be delivered, from the move on."""
    by_bin: dict[int, int] = defaultdict(int)
    for row in mine:
        if row["kind"] == "duplicate" and row["cluster"] == failover["to"]:
            by_bin[row["bin"]] += row["deliveries"]
    left, line = failover["duplicates"], [[failover["at_us"] / curves.SECOND_US, failover["duplicates"]]]
    for number in range(series.SAMPLES):
        at_us = zoom["from_us"] + (number + 1) * zoom["bin_us"]
        left -= by_bin[number]
        if at_us > failover["at_us"]:
            line.append([at_us / curves.SECOND_US, left])
    return line
