"""Every delivery to an application, judged: first, duplicate, redelivery, extra, or a repeat outside any window.

Rules: what happened before a delivery is what has a smaller seq. A delivery belongs to a failover when it is at the
target inside the window; each message is judged once, at its first delivery there. Duplicate: acknowledged before,
anywhere. Redelivery: delivered before, anywhere, not acknowledged before.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.places import MESSAGE, is_type, place

_THING = ("run", "subscription", "producer", "sequence_id")
COUNT_BLOCK_ROWS = 1 << 16
"""Rows per block of the two-level running count: the upper level has one row a block, so no task sorts a whole trace."""


def handled(rows: DataFrame) -> DataFrame:
    """Deliveries and acknowledgements, with `acks_so_far`: how many acknowledgements the subscription had up to the row."""
    wanted = rows.filter(is_type("message.delivered", "message.acknowledged")).select(
        *_THING, "seq", "at_us", "type", "cluster", "topic", "client", place().alias("place"),
        F.col("evidence_seq").alias("stored_seq"), F.floor(F.col("seq") / COUNT_BLOCK_ROWS).alias("block"),
    )  # fmt: skip
    is_ack = (F.col("type") == "message.acknowledged").cast("long")
    blocks = wanted.groupBy("run", "subscription", "block").agg(F.sum(is_ack).alias("acks"))
    earlier = Window.partitionBy("run", "subscription").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    totals = blocks.select("run", "subscription", "block", F.coalesce(F.sum("acks").over(earlier), F.lit(0)).alias("acks_before"))
    inside = Window.partitionBy("run", "subscription", "block").orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    counted = wanted.withColumn("acks_inside", F.sum(is_ack).over(inside))
    return counted.join(F.broadcast(totals), ["run", "subscription", "block"], "inner").select(
        *_THING, "seq", "at_us", "type", "cluster", "topic", "client", "place", "stored_seq",
        (F.col("acks_before") + F.col("acks_inside")).alias("acks_so_far"),
    )  # fmt: skip


def with_history(handled: DataFrame, published: DataFrame) -> DataFrame:
    """Deliveries with the latest acknowledgement before them, whether they repeat, and the message's key and origin."""
    before = Window.partitionBy(*_THING).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    before_here = Window.partitionBy(*_THING, "cluster").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    is_delivery = F.col("type") == "message.delivered"
    ack = F.when(F.col("type") == "message.acknowledged", F.struct("seq", "at_us", "cluster", "place", "acks_so_far"))
    told = (
        handled.join(published, list(MESSAGE), "left")
        .withColumn("ack", F.last(ack, ignorenulls=True).over(before))
        .withColumn("delivered_before", F.coalesce(F.max(is_delivery).over(before), F.lit(False)))
        .withColumn("delivered_here_before", F.coalesce(F.max(is_delivery).over(before_here), F.lit(False)))
    )
    return told.filter(is_delivery).select(
        *_THING, "seq", "at_us", "cluster", "topic", "client", "place", "stored_seq", "acks_so_far", "key", "origin", "published_us",
        F.col("ack.seq").alias("ack_seq"), F.col("ack.at_us").alias("ack_us"), F.col("ack.cluster").alias("ack_cluster"),
        F.col("ack.place").alias("ack_place"), F.col("ack.acks_so_far").alias("ack_number"), "delivered_before", "delivered_here_before",
    )  # fmt: skip


def published(rows: DataFrame) -> DataFrame:
    """What a publish says of a message: run, producer, sequence_id, key, origin cluster, published_us, size."""
    return rows.filter(is_type("message.published")).groupBy(*MESSAGE).agg(
        F.min("key").alias("key"), F.min_by("cluster", "seq").alias("origin"), F.min("at_us").alias("published_us")
    ).select(*MESSAGE, "key", "origin", "published_us")  # fmt: skip


def judged(deliveries: DataFrame, failovers: DataFrame) -> DataFrame:
    """Deliveries with their failover (null outside a window) and `verdict`: first, duplicate, redelivery, extra, plain, repeated."""
    windows = failovers.select(
        "run", "subscription", F.col("target").alias("cluster"), "failover_seq", "failover_us", "end_seq"
    )
    inside = (
        (deliveries.run == windows.run)
        & (deliveries.subscription == windows.subscription)
        & (deliveries.cluster == windows.cluster)
        & (deliveries.seq > windows.failover_seq)
        & (deliveries.seq < windows.end_seq)
    )
    placed = deliveries.join(F.broadcast(windows), inside, "left").select(deliveries["*"], "failover_seq", "failover_us")
    turn = F.row_number().over(Window.partitionBy(*_THING, "failover_seq").orderBy("seq"))
    verdict = (
        F.when(F.col("failover_seq").isNull(), F.when(F.col("delivered_here_before"), "repeated").otherwise("plain"))
        .when(F.col("turn") > 1, "extra")
        .when(F.col("ack_seq").isNotNull(), "duplicate")
        .when(F.col("delivered_before"), "redelivery")
        .otherwise("first")
    )
    older = Window.partitionBy("run", "subscription", "failover_seq", "producer", "key").orderBy("seq")
    newest_before = F.max("sequence_id").over(older.rowsBetween(Window.unboundedPreceding, -1))
    return (
        placed.withColumn("turn", turn)
        .withColumn("verdict", verdict)
        .withColumn("reordered", F.col("failover_seq").isNotNull() & F.coalesce(newest_before > F.col("sequence_id"), F.lit(False)))
        .select(*deliveries.columns, "failover_seq", "failover_us", "verdict", "reordered")
    )


def delivery_figures(judged: DataFrame) -> DataFrame:
    """Counts of each failover's deliveries."""
    duplicate = F.col("verdict") == "duplicate"
    return judged.filter(F.col("failover_seq").isNotNull()).groupBy("run", "failover_seq").agg(
        F.count_if(duplicate).alias("duplicates"),
        F.count_if(F.col("verdict") == "extra").alias("extra_deliveries"),
        F.count_if(F.col("verdict") == "redelivery").alias("redeliveries"),
        F.count_if(F.col("reordered")).alias("reordered"),
        F.min("at_us").alias("first_delivery_us"),
    ).select("run", "failover_seq", "duplicates", "extra_deliveries", "redeliveries", "reordered", "first_delivery_us")  # fmt: skip
