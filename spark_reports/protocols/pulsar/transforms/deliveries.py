"""What follows from the verdicts of `scans.judging`: order, causes, origins, consumers and keys."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms import FAILOVER, is_type


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


def origin_counts(explained: DataFrame) -> DataFrame:
    """Duplicates by failover, cause and the cluster in which they were published."""
    return (
        explained.groupBy(*FAILOVER, "cause", "origin")
        .agg(F.count("*").alias("duplicates"))
        .select(*FAILOVER, "cause", "origin", "duplicates")
    )


def cause_counts(explained: DataFrame) -> DataFrame:
    """Duplicates by failover and cause, with the earliest as the example."""
    example = F.struct(
        "producer",
        "sequence_id",
        "topic",
        "client",
        "ack_cluster",
        "origin",
        "key",
        "seq",
        "at_us",
        "ack_seq",
        "ack_us",
        "evidence_seq",
    )
    return (
        explained.groupBy(*FAILOVER, "cause")
        .agg(F.count("*").alias("duplicates"), F.min_by(example, "seq").alias("example"))
        .select(*FAILOVER, "cause", "duplicates", "example")
    )


def consumer_counts(consumers: DataFrame, twice: DataFrame) -> DataFrame:
    """The figures of each consumer at the source before the failover, in the columns of `scans.consumers`.

    `duplicates` is the number of messages that it acknowledged and that were delivered again.
    """
    figures = ("delivered", "acknowledged", "unacked")
    nothing = (F.lit(0).alias(name) for name in figures)
    keys = (*FAILOVER, "cluster", "client")
    parts = consumers.withColumn("duplicates", F.lit(0)).unionByName(
        twice.select(*keys, *nothing, F.lit(None).cast("long").alias("slowest_us"), "duplicates")
    )
    return (
        parts.groupBy(*keys)
        .agg(
            *(F.sum(name).alias(name) for name in figures),
            F.max("slowest_us").alias("slowest_us"),
            F.sum("duplicates").alias("duplicates"),
        )
        .select(*keys, *figures, "slowest_us", "duplicates")
    )


def acknowledged_twice(rows: DataFrame, explained: DataFrame, failovers: DataFrame) -> DataFrame:
    """How many duplicates each consumer at the source had acknowledged before the failover.

    Columns: FAILOVER, cluster, client, duplicates.
    """
    windows = failovers.select(*FAILOVER, "subscription", F.col("source").alias("cluster"))
    acked = rows.filter(is_type("message.acknowledged")).join(
        F.broadcast(windows), ["run", "subscription", "cluster"], "inner"
    )
    met = acked.filter(F.col("seq") < F.col("failover_seq")).join(
        explained.select(*FAILOVER, "producer", "sequence_id"),
        [*FAILOVER, "producer", "sequence_id"],
        "leftsemi",
    )
    return met.groupBy(*FAILOVER, "cluster", "client").agg(
        F.count_distinct("producer", "sequence_id").alias("duplicates")
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
