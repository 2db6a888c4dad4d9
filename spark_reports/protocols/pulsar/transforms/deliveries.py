"""What follows from the verdicts of `scans.judging`: sums, repeats and reordering."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.places import FAILOVER


def judged(notable: DataFrame) -> DataFrame:
    """The deliveries among notable rows."""
    return notable.filter(F.col("verdict") != "acknowledged")


def repeated(notable: DataFrame) -> DataFrame:
    """Acknowledgements that were repeated: run, subscription, early (its seq), late (the next one's)."""
    again = notable.filter(F.col("verdict") == "acknowledged")
    return again.select("run", "subscription", F.col("ack_seq").alias("early"), F.col("seq").alias("late"))


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


def delivery_figures(judged: DataFrame, reordered: DataFrame) -> DataFrame:
    """The counts of each failover's deliveries."""
    verdicts = (
        judged.filter(F.col("failover_seq").isNotNull())
        .groupBy(*FAILOVER)
        .agg(
            *(
                F.count_if(F.col("verdict") == verdict).alias(name)
                for verdict, name in (
                    ("duplicate", "duplicates"),
                    ("extra", "extra_deliveries"),
                    ("redelivery", "redeliveries"),
                )
            ),
            F.min("at_us").alias("first_delivery_us"),
        )
    )
    disorder = reordered.groupBy(*FAILOVER).agg(F.count("*").alias("reordered"))
    return verdicts.join(disorder, list(FAILOVER), "left").select(
        *FAILOVER,
        "duplicates",
        "extra_deliveries",
        "redeliveries",
        F.coalesce("reordered", F.lit(0)).alias("reordered"),
        "first_delivery_us",
    )
