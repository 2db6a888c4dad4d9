"""The verdict on every delivery: first, duplicate, redelivery, extra, or a repeat outside any window.

Rules: a row is before a delivery when its seq is smaller. A delivery belongs to a failover when it is at the
target inside the window. Each message gets one verdict, at its first delivery there. Duplicate: acknowledged
before, in any cluster. Redelivery: delivered before in any cluster, not acknowledged before. Publishes,
deliveries and acknowledgements are joined in one shuffle by message and one sort by subscription and seq,
which serves every window function here.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.places import FAILOVER, MESSAGE, is_type, place

_PUBLISHED, _DELIVERED, _ACKNOWLEDGED = "message.published", "message.delivered", "message.acknowledged"
_MESSAGE = ("sequence_id", "run", "producer")
"""MESSAGE with the column first that differs most: Spark's sort compares the first one as a number."""
_JUDGED = (
    "run",
    "subscription",
    "producer",
    "sequence_id",
    "seq",
    "at_us",
    "cluster",
    "topic",
    "client",
    "place",
    "stored_seq",
    "key",
    "origin",
    "failover_seq",
    "ack_seq",
    "ack_us",
    "ack_cluster",
    "ack_place",
    "verdict",
)


def histories(rows: DataFrame, failovers: DataFrame) -> DataFrame:
    """Deliveries and repeated acknowledgements, each with the latest acknowledgement before it.

    A repeated acknowledgement has the verdict "acknowledged". Columns: `_JUDGED`. `failover_seq` is null
    outside a window. Verdict: first, duplicate, redelivery, extra, plain, repeated.
    """
    found = rows.filter(is_type(_PUBLISHED, _DELIVERED, _ACKNOWLEDGED)).select(
        *MESSAGE,
        "subscription",
        "seq",
        "at_us",
        "type",
        "cluster",
        "topic",
        "client",
        "key",
        place().alias("place"),
        F.col("evidence_seq").alias("stored_seq"),
    )
    # nulls are first: the publish has no subscription
    of_message = Window.partitionBy(*_MESSAGE).orderBy("subscription", "seq")
    publish = F.when(F.col("type") == _PUBLISHED, F.struct("key", "cluster"))
    published = F.first(publish, ignorenulls=True).over(
        of_message.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    is_delivery = F.col("type") == _DELIVERED
    return (
        _placed(found, failovers)
        .withColumn("published", published)
        .filter(F.col("type") != _PUBLISHED)
        .withColumns(_before(is_delivery))
        .withColumn("verdict", F.when(is_delivery, _verdict()).when(F.col("ack").isNotNull(), "acknowledged"))
        .filter(F.col("verdict").isNotNull())
        .withColumns({"key": F.col("published.key"), "origin": F.col("published.cluster")})
        .withColumns(
            {
                f"ack_{name}": F.col(f"ack.{field}")
                for name, field in (
                    ("seq", "seq"),
                    ("us", "at_us"),
                    ("cluster", "cluster"),
                    ("place", "place"),
                )
            }
        )
        .select(*_JUDGED)
    )


def _placed(rows: DataFrame, failovers: DataFrame) -> DataFrame:
    """Rows with the failover of each delivery: it is in the failover's window and at its target."""
    windows = failovers.select(
        *FAILOVER, F.col("subscription").alias("of"), "target", "end_seq"
    ).withColumnRenamed("run", "of_run")
    inside = (
        (F.col("run") == F.col("of_run"))
        & (F.col("subscription") == F.col("of"))
        & (F.col("cluster") == F.col("target"))
        & (F.col("type") == _DELIVERED)
        & (F.col("seq") > F.col("failover_seq"))
        & (F.col("seq") < F.col("end_seq"))
    )
    return rows.join(F.broadcast(windows), inside, "left").drop("of_run", "of", "target", "end_seq")


def _before(is_delivery: Column) -> dict[str, Column]:
    """Columns about the earlier rows of the same message and subscription.

    Windows of a subscription never overlap, so the newest failover before a delivery shows whether it is the
    first in its own window.
    """
    before = (
        Window.partitionBy(*_MESSAGE, "subscription")
        .orderBy("seq")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    ack = F.when(F.col("type") == _ACKNOWLEDGED, F.struct("seq", "at_us", "cluster", "place"))
    return {
        "ack": F.last(ack, ignorenulls=True).over(before),
        "delivered_at": F.collect_set(F.when(is_delivery, F.col("cluster"))).over(before),
        "newest_failover": F.max("failover_seq").over(before),
    }


def _verdict() -> Column:
    here_before = F.array_contains("delivered_at", F.col("cluster"))
    return (
        F.when(F.col("failover_seq").isNull(), F.when(here_before, "repeated").otherwise("plain"))
        .when(F.col("newest_failover") == F.col("failover_seq"), "extra")
        .when(F.col("ack").isNotNull(), "duplicate")
        .when(F.size("delivered_at") > 0, "redelivery")
        .otherwise("first")
    )


def judged(histories: DataFrame) -> DataFrame:
    """The deliveries with their verdicts."""
    return histories.filter(F.col("verdict") != "acknowledged")


def repeated(histories: DataFrame) -> DataFrame:
    """Acknowledgements that were repeated: run, subscription, early (its seq), late (the next one's)."""
    again = histories.filter(F.col("verdict") == "acknowledged")
    return again.select("run", "subscription", F.col("ack_seq").alias("early"), F.col("seq").alias("late"))


def reordered(judged: DataFrame) -> DataFrame:
    """Reordered deliveries in a window: FAILOVER, producer, key, seq.

    Each is older, in its producer's order, than an earlier delivery of the same key.
    """
    of_key = Window.partitionBy(*FAILOVER, "producer", "key").orderBy("seq")
    newest_before = F.max("sequence_id").over(of_key.rowsBetween(Window.unboundedPreceding, -1))
    inside = judged.filter(F.col("failover_seq").isNotNull()).select(
        *FAILOVER, "producer", "key", "sequence_id", "seq"
    )
    return (
        inside.withColumn("newest_before", newest_before)
        .filter(F.col("newest_before") > F.col("sequence_id"))
        .select(*FAILOVER, "producer", "key", "seq")
    )


def delivery_figures(judged: DataFrame, reordered: DataFrame) -> DataFrame:
    """The counts of each failover's deliveries."""
    verdicts = (
        judged.filter(F.col("failover_seq").isNotNull())
        .groupBy(*FAILOVER)
        .agg(
            *(
                F.count_if(F.col("verdict") == verdict).alias(name)
                for verdict, name in (
                    ("duplicate", "duplicates"),
                    ("extra", "extra_deliveries"),
                    ("redelivery", "redeliveries"),
                )
            ),
            F.min("at_us").alias("first_delivery_us"),
        )
    )
    disorder = reordered.groupBy(*FAILOVER).agg(F.count("*").alias("reordered"))
    return verdicts.join(disorder, list(FAILOVER), "left").select(
        *FAILOVER,
        "duplicates",
        "extra_deliveries",
        "redeliveries",
        F.coalesce("reordered", F.lit(0)).alias("reordered"),
        "first_delivery_us",
    )
