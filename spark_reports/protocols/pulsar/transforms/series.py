"""A report's curves over time: deliveries around a failover, positions, and the target's lag.

Rules: time is cut into bins in Spark, so a series has at most `SAMPLES` points however long the run. A sample
is the value at the end of its bin. `clock` frames have the width of a bin for each run.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.places import FAILOVER, is_type, place

SAMPLES = 160


def bin_of(at_us: str = "at_us", from_us: str | None = None) -> Column:
    """The bin of an instant, in a frame that has `bin_us`."""
    since = F.col(at_us) if from_us is None else F.col(at_us) - F.col(from_us)
    return F.floor(since / F.col("bin_us"))


def delivery_bins(judged: DataFrame, zooms: DataFrame) -> DataFrame:
    """Deliveries in each failover's zoomed span: FAILOVER, cluster, bin, kind, deliveries.

    `zooms`: run, of_failover, subscription, from_us, to_us, bin_us. Kind: first, duplicate, redelivery,
    again.
    """
    kind = (
        F.when(F.col("verdict").isin("first", "plain"), "first")
        .when(F.col("verdict").isin("extra", "repeated"), "again")
        .otherwise(F.col("verdict"))
    )
    met = judged.select("run", "subscription", "cluster", "at_us", "verdict").join(
        F.broadcast(zooms), ["run", "subscription"], "inner"
    )
    inside = met.filter((F.col("at_us") >= F.col("from_us")) & (F.col("at_us") < F.col("to_us")))
    return (
        inside.groupBy(
            "run",
            F.col("of_failover").alias("failover_seq"),
            "cluster",
            bin_of(from_us="from_us").alias("bin"),
            kind.alias("kind"),
        )
        .agg(F.count("*").alias("deliveries"))
        .select(*FAILOVER, "cluster", "bin", "kind", "deliveries")
    )


def log_bins(rows: DataFrame, clock: DataFrame) -> DataFrame:
    """Appends to the logs: run, cluster, topic, ledger, bin, last_entry. `clock`: run, bin_us."""
    entries = rows.filter(is_type("message.stored", "marker.written", "marker.stored")).select(
        "run", "cluster", "topic", "ledger", "entry", "at_us"
    )
    return (
        entries.join(F.broadcast(clock), "run", "inner")
        .groupBy("run", "cluster", "topic", "ledger", bin_of().alias("bin"))
        .agg(F.max("entry").alias("last_entry"))
        .select("run", "cluster", "topic", "ledger", "bin", "last_entry")
    )


def mark_bins(marks: DataFrame, clock: DataFrame) -> DataFrame:
    """The mark-delete at the end of each bin in which it moved.

    Columns: run, cluster, topic, subscription, bin, mark.
    """
    return (
        marks.join(F.broadcast(clock), "run", "inner")
        .groupBy("run", "cluster", "topic", "subscription", bin_of().alias("bin"))
        .agg(F.max_by("mark", "seq").alias("mark"))
        .select("run", "cluster", "topic", "subscription", "bin", "mark")
    )


def coverage(rows: DataFrame, targets: DataFrame, steps: DataFrame) -> DataFrame:
    """Messages in the target's log by when they were stored, acknowledged, and covered by its mark-delete.

    `targets`: run, of_failover, topic, subscription, cluster (the target), bin_us. `steps`: run, of_failover,
    topic, low, high, covered_bin: the positions above `low` up to `high` are first covered in that bin (the
    number of bins: never). Returns failover_seq, stored_bin, risky_bin (stored and acknowledged; null:
    never), covered_bin, messages, oldest_us. The result has one row per combination of bins, not per message.
    """
    of_message = ["run", "of_failover", "topic", "producer", "sequence_id"]
    wanted = rows.filter(is_type("message.stored", "message.acknowledged")).select(
        "run",
        "topic",
        "producer",
        "sequence_id",
        "type",
        "at_us",
        F.col("cluster").alias("here"),
        F.col("subscription").alias("of"),
        place().alias("place"),
    )
    met = wanted.join(F.broadcast(targets), ["run", "topic"], "inner")
    in_target = (F.col("type") == "message.stored") & (F.col("here") == F.col("cluster"))
    mine = (F.col("type") == "message.acknowledged") & (F.col("of") == F.col("subscription"))
    each = (
        met.filter(in_target | mine)
        .groupBy(*of_message)
        .agg(
            F.max("bin_us").alias("bin_us"),
            F.min(F.when(in_target, F.col("at_us"))).alias("stored_us"),
            F.min(F.when(in_target, F.col("place"))).alias("place"),
            F.min(F.when(mine, F.col("at_us"))).alias("acknowledged_us"),
        )
    )
    same = ["run", "of_failover", "topic"]
    found = each.filter(F.col("stored_us").isNotNull()).join(F.broadcast(steps), same, "inner")
    found = found.filter((F.col("place") > F.col("low")) & (F.col("place") <= F.col("high")))
    risky_us = F.when(F.col("acknowledged_us").isNotNull(), F.greatest("stored_us", "acknowledged_us"))
    return (
        found.withColumn("risky_us", risky_us)
        .groupBy(
            "run",
            "of_failover",
            bin_of("stored_us").alias("stored_bin"),
            bin_of("risky_us").alias("risky_bin"),
            "covered_bin",
        )
        .agg(F.count("*").alias("messages"), F.min("stored_us").alias("oldest_us"))
        .select(
            "run",
            F.col("of_failover").alias("failover_seq"),
            "stored_bin",
            "risky_bin",
            "covered_bin",
            "messages",
            "oldest_us",
        )
    )
