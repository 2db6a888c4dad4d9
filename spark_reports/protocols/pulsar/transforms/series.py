"""The mark-deletes of a report over time, in bins.

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
