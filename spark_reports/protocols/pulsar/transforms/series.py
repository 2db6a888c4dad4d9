"""The mark-deletes and deliveries of a report over time, in bins.

Rules: a series has at most `SAMPLES` points however long the run. A sample is the value at the end
of its bin. `clock` frames have the width of a bin for each run.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SAMPLES = 160


def mark_bins(marks: DataFrame, clock: DataFrame) -> DataFrame:
    """The mark-delete at the end of each bin in which it moved.

    Columns: run, cluster, topic, subscription, bin, mark.
    """
    return (
        marks.join(F.broadcast(clock), "run", "inner")
        .groupBy(
            "run", "cluster", "topic", "subscription", F.floor(F.col("at_us") / F.col("bin_us")).alias("bin")
        )
        .agg(F.max_by("mark", "seq").alias("mark"))
        .select("run", "cluster", "topic", "subscription", "bin", "mark")
    )


def delivery_bins(deliveries: DataFrame, zooms: DataFrame) -> DataFrame:
    """The numbers of deliveries in each zoom: FAILOVER, cluster, bin, kind, deliveries."""
    spans = zooms.withColumnRenamed("failover_seq", "of")
    kind = F.when(F.col("verdict").isin("duplicate", "redelivery"), F.col("verdict")).otherwise(
        F.when(F.col("verdict").isin("extra", "repeated"), "again").otherwise("first")
    )
    return (
        deliveries.drop("failover_seq")
        .join(F.broadcast(spans), ["run", "subscription"], "inner")
        .filter((F.col("at_us") >= F.col("from_us")) & (F.col("at_us") < F.col("to_us")))
        .groupBy(
            "run",
            F.col("of").alias("failover_seq"),
            "cluster",
            F.floor((F.col("at_us") - F.col("from_us")) / F.col("bin_us")).alias("bin"),
            kind.alias("kind"),
        )
        .agg(F.count("*").alias("deliveries"))
    )
