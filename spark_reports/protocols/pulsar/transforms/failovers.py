"""Failovers, their windows, and the end of each cluster's part in them.

Rules: a window begins at the row `failover.started` and lasts to the subscription's next one, else to the end
of the trace. A cluster's end is its crash if it had not restarted by the failover, else the failover, or the
unload after it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.places import FAILOVER, NEVER, is_type

DOWN = ("cluster.crashed", "cluster.lost")
BY_MAP = ("migration", "roll-back")
"""Modes of a failover in which clients follow the LookupService's map."""


def failovers(rows: DataFrame) -> DataFrame:
    """The failovers, one row per failover.

    Columns: run, failover_seq, failover_us, subscription, source, target, mode, end_seq, end_us (null: open).
    """
    following = Window.partitionBy("run", "subscription").orderBy("seq")
    return rows.filter(is_type("failover.started")).select(
        "run",
        F.col("seq").alias("failover_seq"),
        F.col("at_us").alias("failover_us"),
        "subscription",
        F.col("cluster").alias("source"),
        F.col("peer").alias("target"),
        F.col("reason").alias("mode"),
        F.coalesce(F.lead("seq").over(following), F.lit(NEVER)).alias("end_seq"),
        F.lead("at_us").over(following).alias("end_us"),
    )


def cluster_ends(rows: DataFrame, failovers: DataFrame) -> DataFrame:
    """The end of each cluster's part in each failover.

    Columns: run, failover_seq, cluster, ended_seq, ended_us, crashed.
    """
    events = rows.filter(is_type(*DOWN, "cluster.restarted")).select("run", "cluster", "type", "seq", "at_us")
    clusters = (
        rows.filter(is_type("topic.loaded", "ledger.opened", "subscription.created"))
        .select("run", "cluster")
        .distinct()
    )
    parts = failovers.select(*FAILOVER, "failover_us").join(F.broadcast(clusters), "run", "inner")
    before = events.join(F.broadcast(parts), ["run", "cluster"], "inner").filter(
        F.col("seq") < F.col("failover_seq")
    )
    back = Window.partitionBy(*FAILOVER, "cluster")
    returned = F.max(F.when(F.col("type") == "cluster.restarted", F.col("seq"))).over(back)
    crashes = (
        before.withColumn("returned_seq", F.coalesce(returned, F.lit(-1)))
        .filter(F.col("type").isin(*DOWN) & (F.col("seq") > F.col("returned_seq")))
        .groupBy(*FAILOVER, "cluster")
        .agg(F.min("seq").alias("crash_seq"), F.min("at_us").alias("crash_us"))
    )
    return parts.join(crashes, [*FAILOVER, "cluster"], "left").select(
        *FAILOVER,
        "cluster",
        F.coalesce("crash_seq", "failover_seq").alias("ended_seq"),
        F.coalesce("crash_us", "failover_us").alias("ended_us"),
        F.col("crash_seq").isNotNull().alias("crashed"),
    )


def topic_ends(rows: DataFrame, failovers: DataFrame, ends: DataFrame, topics: DataFrame) -> DataFrame:
    """`ends` for each topic: run, failover_seq, topic, cluster, ended_seq, ended_us, crashed.

    Clients that follow the LookupService's map stay until the topic is unloaded, which is after the failover.
    The end is then the last such unload of the window, except at the target and after a crash.
    """
    each = ends.join(F.broadcast(topics), list(FAILOVER), "inner")
    unloads = rows.filter(is_type("topic.unloaded") & F.col("reason").isin("migration", "crash")).select(
        "run", "cluster", "topic", "seq", "at_us"
    )
    moves = failovers.filter(F.col("mode").isin(*BY_MAP)).select(*FAILOVER, "target", F.col("end_seq"))
    left = (
        unloads.join(F.broadcast(moves), "run", "inner")
        .filter(
            (F.col("seq") > F.col("failover_seq"))
            & (F.col("seq") < F.col("end_seq"))
            & (F.col("cluster") != F.col("target"))
        )
        .groupBy(*FAILOVER, "topic", "cluster")
        .agg(F.max("seq").alias("left_seq"), F.max("at_us").alias("left_us"))
    )
    stays = F.col("left_seq").isNotNull() & ~F.col("crashed")
    return each.join(left, [*FAILOVER, "topic", "cluster"], "left").select(
        *FAILOVER,
        "topic",
        "cluster",
        F.when(stays, F.col("left_seq")).otherwise(F.col("ended_seq")).alias("ended_seq"),
        F.when(stays, F.col("left_us")).otherwise(F.col("ended_us")).alias("ended_us"),
        "crashed",
    )


def failover_topics(rows: DataFrame, failovers: DataFrame) -> DataFrame:
    """The topics (partitions) of each failover's subscription: run, failover_seq, topic."""
    topics = rows.filter(is_type("subscription.created")).select("run", "subscription", "topic").distinct()
    return failovers.join(topics, ["run", "subscription"], "inner").select(*FAILOVER, "topic").distinct()
