"""What a report leaves in its folder: report.html, report.json, figures.csv, and the judged deliveries as
Parquet.

Rules: the small files are written whole by the driver; `deliveries.parquet` is written by Spark as one row a
delivery, so it may be as large as the trace. On a cluster the folder must be one that the executors see.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.csv_file import write_csv
from spark_reports.html.page import page
from spark_reports.transforms.places import LEDGER_STEP

FILE_DELIVERIES = 5_000_000
"""Rows of one file: no lab has more deliveries, since it has no more rows, so a lab's download is one
file.
"""

HTML, JSON, CSV, PARQUET = "report.html", "report.json", "figures.csv", "deliveries.parquet"
_PLAIN = (
    "subscription",
    "from",
    "to",
    "mode",
    "at_us",
    "duplicates",
    "extra_deliveries",
    "redeliveries",
    "lost",
    "lost_recovered",
    "stranded",
    "stranded_unprocessed",
    "stranded_returned",
    "expired",
    "skipped",
    "reordered",
    "outage_us",
    "first_delivery_us",
    "caught_up_us",
    "drained_us",
)


def write_small(report: dict[str, Any], folder: Path) -> None:
    """The page, the figures, and everything the page was made from."""
    (folder / JSON).write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    rows = [_flat(run, failover) for run in report["runs"] for failover in run["failovers"]]
    rows += [_flat_group(run, group) for run in report["runs"] for group in run["groups"]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    write_csv(folder / CSV, names or ["run", "scenario", "seed", *_PLAIN], rows)
    (folder / HTML).write_text(page(report), encoding="utf-8")


def _flat(run: dict[str, Any], failover: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": run["run"],
        "scenario": run["scenario"],
        "seed": run["seed"],
        **{name: failover[name] for name in _PLAIN},
        **{f"by_cause.{name}": count for name, count in failover["by_cause"].items()},
        **{f"lost_by_cause.{name}": count for name, count in failover["lost_by_cause"].items()},
        "dedup_window.messages": failover["dedup_window"]["messages"],
        "dedup_window.us": failover["dedup_window"]["us"],
    }


def _flat_group(run: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    plain = {
        name: value
        for name, value in group.items()
        if isinstance(value, int | str) and name not in ("number", "name", "filter")
    }
    return {
        "run": run["run"],
        "scenario": run["scenario"],
        "seed": run["seed"],
        "group": group["name"],
        "filter": group["filter"],
        **plain,
        **{f"by_cause.{name}": count for name, count in group["by_cause"].items()},
        **{f"handover_us.{name}": us for name, us in group["handover_us"].items()},
    }


def delivery_table(judged: DataFrame, explained: DataFrame, reordered: DataFrame) -> DataFrame:
    """One row a delivery: what it was, and for a duplicate why."""
    causes = explained.select("run", "seq", "cause", "evidence_seq")
    disorder = reordered.select("run", "seq", F.lit(True).alias("reordered"))
    ledger = F.floor((F.col("place") + 1) / LEDGER_STEP)
    return (
        judged.join(causes, ["run", "seq"], "left")
        .join(disorder, ["run", "seq"], "left")
        .select(
            "run",
            "seq",
            "at_us",
            "subscription",
            "topic",
            "cluster",
            "client",
            "producer",
            "sequence_id",
            "key",
            ledger.alias("ledger"),
            (F.col("place") - ledger * LEDGER_STEP).alias("entry"),
            "failover_seq",
            "verdict",
            "cause",
            F.coalesce("reordered", F.lit(False)).alias("reordered"),
            "ack_seq",
            "ack_us",
            "ack_cluster",
            "evidence_seq",
        )
    )


def group_delivery_table(judged: DataFrame, explained: DataFrame, reordered: DataFrame) -> DataFrame:
    """The same columns for groups: the subscription is the group, the topic its stream, a position
    generation and offset; the evidence is the leader's decision.
    """
    causes = explained.select("run", "seq", "cause", F.col("decided_seq").alias("evidence_seq"))
    disorder = reordered.select("run", "seq", F.lit(True).alias("reordered"))
    missing = F.lit(None).cast("long")
    return (
        judged.join(causes, ["run", "seq"], "left")
        .join(disorder, ["run", "seq"], "left")
        .select(
            "run",
            "seq",
            "at_us",
            F.col("group").alias("subscription"),
            F.col("stream").alias("topic"),
            F.col("node").alias("cluster"),
            "client",
            "producer",
            "sequence_id",
            missing.alias("key"),
            F.col("generation").alias("ledger"),
            "entry",
            missing.alias("failover_seq"),
            "verdict",
            "cause",
            F.coalesce("reordered", F.lit(False)).alias("reordered"),
            "ack_seq",
            "ack_us",
            F.col("ack_node").alias("ack_cluster"),
            "evidence_seq",
        )
    )


def write_deliveries(table: DataFrame, folder: Path, deliveries: int) -> None:
    """Parquet files of up to `FILE_DELIVERIES` rows, in a folder as Spark writes it."""
    table.coalesce(max(1, -(-deliveries // FILE_DELIVERIES))).write.mode("overwrite").parquet(
        (folder / PARQUET).absolute().as_uri()
    )
