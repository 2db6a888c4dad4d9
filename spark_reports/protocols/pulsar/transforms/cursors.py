"""Mark-deletes over time: every row that set one, its value at an instant, and its backward steps.

Rules: a deleted subscription is at `ABSENT`, below every position. Before its first row a cursor does not
exist.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.places import is_type, place

ABSENT = -(1 << 62)
CURSOR = ("run", "cluster", "topic", "subscription")


def marks(rows: DataFrame) -> DataFrame:
    """Rows that set a mark-delete: run, cluster, topic, subscription, seq, at_us, type, reason, mark."""
    wanted = rows.filter(
        is_type("subscription.created", "subscription.deleted", "cursor.moved", "cursor.recovered")
    )
    mark = (
        F.when(F.col("type") == "subscription.deleted", F.lit(ABSENT))
        .when(F.col("type") == "cursor.moved", place("to_ledger", "to_entry"))
        .otherwise(place())
    )
    return wanted.select(*CURSOR, "seq", "at_us", "type", "reason", mark.alias("mark"))


def mark_at(marks: DataFrame, moments: DataFrame, keys: list[str], upto: str, name: str) -> DataFrame:
    """`moments` with `name`, the mark in force, and `name`_seq, the row that set it.

    `moments` is small and has cluster, topic, subscription and `upto`. `keys` identify a moment. Both new
    columns are null where the cursor had no row by then.
    """
    before = marks.join(
        F.broadcast(moments.select(*dict.fromkeys([*keys, *CURSOR, upto]))), list(CURSOR), "inner"
    )
    latest = (
        before.filter(F.col("seq") <= F.col(upto))
        .groupBy(*keys)
        .agg(F.max_by("mark", "seq").alias(name), F.max("seq").alias(f"{name}_seq"))
    )
    return moments.join(latest, keys, "left").select(*moments.columns, name, f"{name}_seq")


def backward_steps(marks: DataFrame) -> DataFrame:
    """The backward steps of mark-deletes.

    Columns: run, cluster, topic, subscription, back_seq, low (the new mark), high (the old one).
    """
    previous = F.lag("mark").over(Window.partitionBy(*CURSOR).orderBy("seq"))
    return (
        marks.withColumn("high", previous)
        .filter(F.col("mark") < F.col("high"))
        .select(*CURSOR, F.col("seq").alias("back_seq"), F.col("mark").alias("low"), "high")
    )
