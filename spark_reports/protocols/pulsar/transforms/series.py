"""A report's curves over time: deliveries around a failover, positions, and the target's lag.

Rules: time is cut into bins in Spark, so a series has at most `SAMPLES` points however long the run. A sample
is the value at the end of its bin. `clock` frames have the width of a bin for each run.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SAMPLES = 160


def bin_of(at_us: str = "at_us", from_us: str | None = None) -> Column:
    """The bin of an instant, in a frame that has `bin_us`."""
    since = F.col(at_us) if from_us is None else F.col(at_us) - F.col(from_us)
    return F.floor(since / F.col("bin_us"))


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
