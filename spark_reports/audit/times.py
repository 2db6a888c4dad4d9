"""Times between publish, delivery and acknowledgement of the same message, by cluster.

Rules: they are instants of different machines, so a negative time is a skew of clocks. Above `ROWS_MEASURED`
rows a part of the messages is measured, chosen by a hash of their keys.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.audit.columns import ACK, DELIVER, IDENTITY, PUBLISH
from spark_reports.audit.losses import message_columns
from spark_reports.audit.rows import of_kinds

ROWS_MEASURED = 1_000_000
"""About the most rows whose times are measured: percentiles of 300,000 messages are known well enough."""
ACCURACY = 10_000
"""Accuracy of the approximate percentiles: their rank is right to a ten-thousandth."""


def share_of(rows: int) -> int:
    """One message in so many is measured."""
    return max(1, -(-rows // ROWS_MEASURED))


def measured(rows: DataFrame, share: int) -> DataFrame:
    """The rows of one message in `share`."""
    return rows if share == 1 else rows.filter(F.pmod(F.xxhash64("key"), F.lit(share)) == 0)


def latencies(rows: DataFrame, by_position: bool) -> DataFrame:
    """Times from publish to the subscription's first delivery, by the clusters of both and subscription."""
    own = message_columns(by_position)
    published = (
        of_kinds(rows, PUBLISH).groupBy(*own).agg(F.min(F.struct("at_us", "cluster")).alias("publish"))
    )
    delivered = (
        of_kinds(rows, DELIVER)
        .groupBy("subscription", *own)
        .agg(F.min(F.struct("at_us", "cluster")).alias("delivery"))
    )
    return _figures(
        delivered.join(published, own).select(
            "subscription",
            F.col("publish.cluster").alias("from"),
            F.col("delivery.cluster").alias("to"),
            (F.col("delivery.at_us") - F.col("publish.at_us")).alias("us"),
        ),
        "subscription",
        "from",
        "to",
    )


def processing(rows: DataFrame) -> DataFrame:
    """Times from the first delivery of a message to its first acknowledgement in the same cluster."""
    both = (
        of_kinds(rows, DELIVER, ACK)
        .groupBy("cluster", *IDENTITY)
        .agg(
            F.min(F.when(F.col("kind") == DELIVER, F.col("at_us"))).alias("delivered_us"),
            F.min(F.when(F.col("kind") == ACK, F.col("at_us"))).alias("acked_us"),
        )
    )
    measured = both.filter("delivered_us is not null and acked_us is not null")
    return _figures(
        measured.select("subscription", "cluster", (F.col("acked_us") - F.col("delivered_us")).alias("us")),
        "subscription",
        "cluster",
    )


def _figures(times: DataFrame, *by: str) -> DataFrame:
    return times.groupBy(*by).agg(
        F.count(F.lit(1)).alias("messages"),
        F.sum((F.col("us") < 0).cast("bigint")).alias("negative"),
        F.min("us").alias("least_us"),
        F.percentile_approx("us", F.lit(0.5), ACCURACY).alias("p50_us"),
        F.percentile_approx("us", F.lit(0.99), ACCURACY).alias("p99_us"),
        F.max("us").alias("most_us"),
    )
