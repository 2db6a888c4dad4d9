"""Counts arrivals and departures by bins of each run (`spark_reports.flows` makes the curve)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def by_bin(things: DataFrame, place: tuple[str, ...], came: str, left: str, bins: DataFrame) -> DataFrame:
    """How many items of a place arrived and left in each bin: `place`, bin, came, left.

    Columns `came` and `left` are instants. `left` is null for an item that stays. `bins`: run, bin_us.
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
