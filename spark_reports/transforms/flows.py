"""What came and left over time, counted by bins of each run (`spark_reports.flows` draws it)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def by_bin(things: DataFrame, place: tuple[str, ...], came: str, left: str, bins: DataFrame) -> DataFrame:
    """`place`, bin, came, left: how many things of a place came and left in each bin.

    Columns `came` and `left` are instants, `left` null for what stays; `bins`: run, bin_us.
    """
    placed = things.join(F.broadcast(bins), "run", "inner")
    counts = [
        placed.filter(F.col(instant).isNotNull())
        .groupBy(*place, F.floor(F.col(instant) / F.col("bin_us")).alias("bin"))
        .agg(F.count("*").alias(name))
        for instant, name in ((came, "came"), (left, "left"))
    ]
    both = counts[0].join(counts[1], [*place, "bin"], "full")
    return both.select(
        *place, "bin", F.coalesce("came", F.lit(0)).alias("came"), F.coalesce("left", F.lit(0)).alias("left")
    )
