"""Counts of each subscription in each cluster, topic partition and client.

Rules: figures are numbers of rows. `repeated` counts deliveries of messages that the cluster had delivered
before, outside the windows that move the subscription there.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.places import FAILOVER, is_type

_WHERE = ("run", "subscription", "cluster", "topic")


def partition_counts(rows: DataFrame, judged: DataFrame) -> DataFrame:
    """The counts of each subscription, cluster and partition.

    Columns: run, subscription, cluster, topic, delivered, acknowledged, repeated, expired, skipped.
    """
    words = ("delivered", "acknowledged", "expired", "skipped")
    wanted = rows.filter(is_type("subscription.created", *(f"message.{word}" for word in words))).select(
        *_WHERE, "type"
    )
    counted = wanted.groupBy(*_WHERE).agg(
        *(F.count_if(F.col("type") == f"message.{word}").alias(word) for word in words)
    )
    repeats = judged.groupBy(*_WHERE).agg(F.count_if(F.col("verdict") == "repeated").alias("repeated"))
    return counted.join(repeats, list(_WHERE), "left").select(
        *_WHERE,
        "delivered",
        "acknowledged",
        F.coalesce("repeated", F.lit(0)).alias("repeated"),
        "expired",
        "skipped",
    )


def consumer_counts(rows: DataFrame, explained: DataFrame, failovers: DataFrame) -> DataFrame:
    """The consumers at the source before the failover: numbers of messages and slowest acknowledgement.

    The numbers are messages delivered, acknowledged, delivered but not acked, and later delivered as
    duplicates.
    """
    windows = failovers.select(*FAILOVER, "subscription", F.col("source").alias("cluster"))
    handled = rows.filter(is_type("message.delivered", "message.acknowledged"))
    met = handled.join(F.broadcast(windows), ["run", "subscription", "cluster"], "inner").filter(
        F.col("seq") < F.col("failover_seq")
    )
    is_ack = F.col("type") == "message.acknowledged"
    each = met.groupBy(*FAILOVER, "subscription", "cluster", "producer", "sequence_id", "client").agg(
        F.count_if(~is_ack).alias("deliveries"),
        F.count_if(is_ack).alias("acks"),
        F.min(F.when(~is_ack, F.col("at_us"))).alias("delivered_us"),
        F.min(F.when(is_ack, F.col("at_us"))).alias("acknowledged_us"),
        F.max(F.when(~is_ack, F.col("seq"))).alias("delivered_seq"),
        F.max(F.when(is_ack, F.col("seq"))).alias("acknowledged_seq"),
    )
    twice = explained.select(*FAILOVER, "producer", "sequence_id", F.lit(1).alias("twice"))
    found = each.join(twice, [*FAILOVER, "producer", "sequence_id"], "left")
    unacked = F.col("delivered_seq").isNotNull() & (
        F.col("acknowledged_seq").isNull() | (F.col("acknowledged_seq") < F.col("delivered_seq"))
    )
    return (
        found.groupBy(*FAILOVER, "cluster", "client")
        .agg(
            F.sum("deliveries").alias("delivered"),
            F.sum("acks").alias("acknowledged"),
            F.count_if(unacked).alias("unacked"),
            F.max(F.col("acknowledged_us") - F.col("delivered_us")).alias("slowest_us"),
            F.count_if((F.col("acks") > 0) & F.col("twice").isNotNull()).alias("duplicates"),
        )
        .select(
            *FAILOVER, "cluster", "client", "delivered", "acknowledged", "unacked", "slowest_us", "duplicates"
        )
    )


def worst_keys(explained: DataFrame, reordered: DataFrame, most: int) -> DataFrame:
    """The keys with most duplicates and reordered deliveries, at most `most` per failover.

    Where there are no keys, the producer is the key.
    """
    of_key = [*FAILOVER, "producer", "key"]
    twice = explained.groupBy(*of_key).agg(
        F.count("*").alias("duplicates"),
        F.max_by(F.struct("sequence_id", "seq", "ack_seq", "evidence_seq", "cause"), "seq").alias("last"),
    )
    disorder = reordered.groupBy(*of_key).agg(F.count("*").alias("reordered"))
    both = twice.withColumnRenamed("key", "k").join(
        disorder.withColumnsRenamed({"run": "r", "failover_seq": "f", "producer": "p", "key": "q"}),
        (F.col("run") == F.col("r"))
        & (F.col("failover_seq") == F.col("f"))
        & (F.col("producer") == F.col("p"))
        & F.col("k").eqNullSafe(F.col("q")),
        "left",
    )
    rank = F.row_number().over(
        Window.partitionBy(*FAILOVER).orderBy(F.col("duplicates").desc(), "producer", "k")
    )
    return (
        both.withColumn("rank", rank)
        .filter(F.col("rank") <= most)
        .select(
            *FAILOVER,
            "producer",
            F.col("k").alias("key"),
            "duplicates",
            F.coalesce("reordered", F.lit(0)).alias("reordered"),
            "last",
        )
    )
