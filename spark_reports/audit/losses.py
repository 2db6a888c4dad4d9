"""Published messages that a subscription never received, and what that proves.

Rules: a message that was published before the first or after the last message that the subscription received
may have been delivered outside the log, so it is not counted as lost. Of the others a loss is claimed only
where the log is declared complete, is not sampled, and nothing in it contradicts that.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.audit.columns import ACK, DELIVER, PUBLISH
from spark_reports.audit.rows import of_kinds

OF_SUBSCRIPTION = ("subscription", "topic")


def message_columns(by_position: bool) -> list[str]:
    """The columns by which a publish and a delivery are the same message.

    A producer that assigns an id often does not know the partition.
    """
    return ["topic", "partition", "scope", "key"] if by_position else ["topic", "key"]


def not_delivered(rows: DataFrame, by_position: bool) -> DataFrame:
    """For each subscription of a topic: messages published, received, and not received by when.

    `between` were published between the first and the last message that it received.
    """
    own = message_columns(by_position)
    published = of_kinds(rows, PUBLISH).groupBy(*own).agg(F.min("at_us").alias("published_us"))
    received = (
        of_kinds(rows, DELIVER, ACK)
        .groupBy("subscription", *own)
        .agg(F.max((F.col("kind") == DELIVER).cast("bigint")).alias("delivered"))
    )
    readers = received.filter("delivered = 1").select(*OF_SUBSCRIPTION).distinct()
    pairs = published.join(F.broadcast(readers), "topic").join(received, ["subscription", *own], "left")
    got = F.col("delivered") == 1
    bounds = pairs.groupBy(*OF_SUBSCRIPTION).agg(
        F.min(F.when(got, F.col("published_us"))).alias("first_us"),
        F.max(F.when(got, F.col("published_us"))).alias("last_us"),
    )
    missing, at = F.col("delivered").isNull(), F.col("published_us")
    inside = (at > F.col("first_us")) & (at < F.col("last_us"))
    return (
        pairs.join(F.broadcast(bounds), list(OF_SUBSCRIPTION))
        .groupBy(*OF_SUBSCRIPTION)
        .agg(
            F.count(F.lit(1)).alias("published"),
            _count(got).alias("received"),
            _count(F.col("delivered") == 0).alias("acked_only"),
            _count(missing & (F.col("first_us").isNull() | (at <= F.col("first_us")))).alias("before"),
            _count(missing & inside).alias("between"),
            _count(missing & (at >= F.col("last_us"))).alias("after"),
        )
    )


def _count(condition: Any) -> Any:
    return F.sum(F.coalesce(condition.cast("bigint"), F.lit(0)))


def judged(found: dict[str, Any], complete: bool, sampled: bool, unreadable: int) -> dict[str, Any]:
    """The figures with `lost`, or None and why it is unknown."""
    reasons = []
    if sampled:
        reasons.append("the log is sampled")
    elif not complete:
        reasons.append("the log is not declared complete (`complete: true` in the mapping)")
    if unreadable:
        reasons.append(f"{unreadable:,} unreadable rows may be deliveries")
    if found["acked_only"]:
        reasons.append(f"{found['acked_only']:,} messages were acknowledged without a delivery in the log")
    return {**found, "lost": None if reasons else found["between"], "unknown_because": reasons}
