"""`latency` of a report's run, for `report.json`: its declared brokers and their readers' latency.

Rules: only one row per broker and reader is collected to the driver. A run without declared brokers has no
such part (None). Rows of audiences are used only here: an audience's name represents many subscriptions, so
transforms that count by subscription read `without_audiences`.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms import is_type


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
    served, read = brokers(rows).collect(), readers(rows).collect()
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


# --- the dispatch of declared brokers and its latency, from the rows about messages that left a broker
#
# Rules: latency is from publishing to leaving the broker, one per message and reader, repeats included. An
# audience is one reader. Percentiles are by nearest rank, so they are latencies that occurred. A broker
# dispatches entries: the first row of an entry has its bytes and its time.


READER = ("run", "cluster", "topic", "subscription")
SECOND_US = 1_000_000


def readers(rows: DataFrame) -> DataFrame:
    """The latency of readers, one row per reader: READER, delivered, total_us, p50_us, p99_us, max_us."""
    message = ["run", "producer", "sequence_id"]
    published = rows.filter(is_type("message.published")).select(
        *message, F.col("at_us").alias("published_us")
    )
    left = rows.filter(is_type("message.dispatched")).select(
        *READER, "producer", "sequence_id", "at_us", "seq"
    )
    waited = left.join(published, message, "inner").withColumn(
        "waited_us", F.col("at_us") - F.col("published_us")
    )
    all_readers = Window.partitionBy(*READER)
    ranked = waited.withColumn(
        "rank", F.row_number().over(all_readers.orderBy("waited_us", "seq"))
    ).withColumn("of", F.count("*").over(all_readers))
    return ranked.groupBy(*READER).agg(
        F.count("*").alias("delivered"),
        F.sum("waited_us").alias("total_us"),
        F.max(_at_share(50)).alias("p50_us"),
        F.max(_at_share(99)).alias("p99_us"),
        F.max("waited_us").alias("max_us"),
    )


def _at_share(percent: int) -> Column:
    """The latency if it is at that percentile's rank, else null."""
    return F.when(F.col("rank") == F.ceil(F.col("of") * percent / 100), F.col("waited_us"))


def brokers(rows: DataFrame) -> DataFrame:
    """The load of brokers, one row per broker.

    Columns: run, cluster, broker, dispatches, bytes_out, busy_us, bytes_out_per_s_max.
    """
    topic = ["run", "cluster", "topic"]
    in_order = Window.partitionBy(*topic).orderBy("seq")
    assigned = (
        rows.filter(is_type("topic.assigned"))
        .select(*topic, "broker", "seq", F.lead("seq").over(in_order).alias("until_seq"))
        .withColumnRenamed("seq", "since_seq")
    )
    left = rows.filter(is_type("message.dispatched")).select(
        *topic, "seq", "at_us", "batch_index", "size_bytes", "duration_us"
    )
    served = left.join(F.broadcast(assigned), topic, "inner").filter(
        (F.col("seq") > F.col("since_seq"))
        & (F.col("until_seq").isNull() | (F.col("seq") < F.col("until_seq")))
    )
    first = F.col("batch_index").isNull() | (F.col("size_bytes") > 0) | (F.col("duration_us") > 0)
    seconds = served.groupBy(
        "run", "cluster", "broker", F.floor(F.col("at_us") / SECOND_US).alias("second")
    ).agg(
        F.count_if(first).alias("dispatches"),
        F.sum("size_bytes").alias("bytes_out"),
        F.sum("duration_us").alias("busy_us"),
    )
    return seconds.groupBy("run", "cluster", "broker").agg(
        F.sum("dispatches").alias("dispatches"),
        F.sum("bytes_out").alias("bytes_out"),
        F.sum("busy_us").alias("busy_us"),
        F.max("bytes_out").alias("bytes_out_per_s_max"),
    )
