"""`latency` of a report's run, for `report.json`: its declared brokers and their readers' latency.

Rules: only one row per broker and reader is collected to the driver. A run without declared brokers has no
such part (None). Rows of audiences are used only here: an audience's name represents many subscriptions, so
transforms that count by subscription read `without_audiences`.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.protocols.pulsar.transforms import latency


def audiences_of(scenarios: dict[int, Any]) -> dict[int, list[str]]:
    """The names of the audiences of those runs that have any."""
    return {run: sorted(scenario.audiences) for run, scenario in scenarios.items() if scenario.audiences}


def without_audiences(rows: DataFrame, scenarios: dict[int, Any]) -> DataFrame:
    """The rows that do not belong to an audience; `scenarios` by run."""
    named = audiences_of(scenarios)
    if not named:
        return rows
    theirs = reduce(
        or_, ((F.col("run") == run) & F.col("subscription").isin(names) for run, names in named.items())
    )
    return rows.filter(F.col("subscription").isNull() | ~theirs)


def add_latency(runs: list[dict[str, Any]], scenarios: dict[int, Any], rows: DataFrame) -> None:
    """Add its part to every run."""
    declared = [run for run in runs if scenarios[run["run"]].brokers]
    for run in runs:
        run["latency"] = None
    if not declared:
        return
    rows = rows.filter(F.col("run").isin([run["run"] for run in declared]))
    served, read = latency.brokers(rows).collect(), latency.readers(rows).collect()
    for run in declared:
        scenario = scenarios[run["run"]]
        run["latency"] = {
            "brokers": [
                _broker(row, scenario, run["until_us"])
                for row in sorted(served, key=lambda row: row.broker)
                if row.run == run["run"]
            ],
            "readers": [
                _reader(row, scenario)
                for row in sorted(read, key=lambda row: (row.cluster, row.topic, row.subscription))
                if row.run == run["run"]
            ],
        }


def _broker(row: Any, scenario: Any, until_us: int) -> dict[str, Any]:
    spec = scenario.brokers[row.broker]
    figures = {
        name: row[name]
        for name in ("cluster", "broker", "dispatches", "bytes_out", "busy_us", "bytes_out_per_s_max")
    }
    return {
        **figures,
        "busy_millionths": row.busy_us * 1_000_000 // until_us if until_us else 0,
        "dispatch_us": spec.dispatch_us,
        "bandwidth_bytes_per_s": spec.bandwidth_bytes_per_s,
        "connect_us": spec.connect_us,
    }


def _reader(row: Any, scenario: Any) -> dict[str, Any]:
    audience = scenario.audiences.get(row.subscription)
    figures = {name: row[name] for name in ("cluster", "topic", "delivered", "p50_us", "p99_us", "max_us")}
    return {
        "name": row.subscription,
        **figures,
        "mean_us": row.total_us // row.delivered,
        "subscriptions": audience.subscriptions if audience else 1,
    }
