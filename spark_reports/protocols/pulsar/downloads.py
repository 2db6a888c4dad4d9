"""A failover's line in figures.csv, and the classified deliveries for deliveries.parquet."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulator.protocols.pulsar.verdicts.shares import COUNTS
from spark_reports.transforms import LEDGER_STEP

PLAIN = (
    "subscription",
    "from",
    "to",
    "mode",
    "at_us",
    *COUNTS,
    "outage_us",
    "first_delivery_us",
    "caught_up_us",
    "drained_us",
    "pending_repeats",
)

CSV_COLUMNS = ("run", "scenario", "seed", *PLAIN)
"""The columns of a file without any failover."""


def csv_lines(run: dict[str, Any]) -> list[dict[str, Any]]:
    """One line of figures.csv per failover."""
    return [_csv_line(run, failover) for failover in run["failovers"]]


def result_lines(run: dict[str, Any]) -> list[str]:
    """One line per failover for the terminal."""
    return [
        f"{run['scenario']}: {failover['subscription']} {failover['from']} -> {failover['to']}: "
        f"{failover['duplicates']} duplicates, "
        f"{failover['redeliveries']} redelivered, {failover['stranded']} not replicated, "
        f"{failover['lost']} lost"
        for failover in run["failovers"]
    ]


def _csv_line(run: dict[str, Any], failover: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": run["run"],
        "scenario": run["scenario"],
        "seed": run["seed"],
        **{name: failover[name] for name in PLAIN},
        **{f"by_cause.{name}": count for name, count in failover["by_cause"].items()},
        **{f"lost_by_cause.{name}": count for name, count in failover["lost_by_cause"].items()},
        "dedup_window.messages": failover["dedup_window"]["messages"],
        "dedup_window.us": failover["dedup_window"]["us"],
    }


def delivery_table(judged: DataFrame, explained: DataFrame, reordered: DataFrame) -> DataFrame:
    """The rows of deliveries.parquet: one per delivery, with its verdict, and the cause of a duplicate."""
    causes = explained.select("run", "seq", "cause", "evidence_seq")
    disorder = reordered.select("run", "seq", F.lit(True).alias("reordered"))
    ledger = F.floor((F.col("place") + 1) / LEDGER_STEP)
    return (
        judged.drop("cause", "evidence_seq")
        .join(causes, ["run", "seq"], "left")
        .join(disorder, ["run", "seq"], "left")
        .withColumns(
            {
                "ledger": ledger,
                "entry": F.col("place") - ledger * LEDGER_STEP,
                "reordered": F.coalesce("reordered", F.lit(False)),
            }
        )
    )
