"""Tenant migrations: rows, messages and ack state sent each way, and when clients moved.

Rules: a migration begins with `migration.started` and ends with the tenant's next one, else with the trace.
Its rows are those of the tenant's topics between the two.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.places import NEVER, base_topic, is_type

MOVE = ("run", "move_seq")
STEP_ROWS = (
    "migration.step-began",
    "migration.step-finished",
    "migration.step-failed",
    "migration.step-undone",
    "migration.changed",
    "migration.ended",
    "tenant.mapped",
)


def moves(control: DataFrame) -> DataFrame:
    """The migrations, one row per migration.

    Columns: run, move_seq, at_us, tenant, source, target, strategy, end_seq.
    """
    following = Window.partitionBy("run", "tenant").orderBy("seq")
    return control.filter(is_type("migration.started")).select(
        "run",
        F.col("seq").alias("move_seq"),
        "at_us",
        "tenant",
        F.col("cluster").alias("source"),
        F.col("peer").alias("target"),
        F.col("reason").alias("strategy"),
        F.coalesce(F.lead("seq").over(following), F.lit(NEVER)).alias("end_seq"),
    )


def happenings(control: DataFrame, moves: DataFrame) -> DataFrame:
    """Rows of STEP_ROWS with their migration: MOVE, seq, at_us, type, cluster, reason, count, detail."""
    mine = control.filter(is_type(*STEP_ROWS)).select(
        "run", "tenant", "seq", "at_us", "type", "cluster", "reason", "count", "detail"
    )
    met = mine.join(F.broadcast(moves.select(*MOVE, "tenant", "end_seq")), ["run", "tenant"], "inner")
    return met.filter((F.col("seq") > F.col("move_seq")) & (F.col("seq") < F.col("end_seq"))).drop(
        "tenant", "end_seq"
    )


def _of_topics(rows: DataFrame, moves: DataFrame, topics: DataFrame) -> DataFrame:
    """Rows of the tenants' topics within their migrations, with MOVE, source, target."""
    known = topics.join(moves, ["run", "tenant"], "inner").select(
        *MOVE, F.col("topic").alias("base"), "source", "target", "end_seq"
    )
    met = rows.withColumn("base", base_topic()).join(F.broadcast(known), ["run", "base"], "inner")
    return met.filter((F.col("seq") > F.col("move_seq")) & (F.col("seq") < F.col("end_seq")))


def traffic(rows: DataFrame, moves: DataFrame, topics: DataFrame) -> DataFrame:
    """The traffic between the clusters.

    Columns: MOVE, cluster, messages (copies sent), requests (ack-state sync requests sent), request_bytes.
    `topics`: run, topic, tenant.
    """
    sent = rows.filter(is_type("message.replicated", "acknowledgements.sent")).select(
        "run", "topic", "cluster", "type", "seq", "size_bytes"
    )
    found = F.col("type") == "acknowledgements.sent"
    return (
        _of_topics(sent, moves, topics)
        .groupBy(*MOVE, "cluster")
        .agg(
            F.count_if(~found).alias("messages"),
            F.count_if(found).alias("requests"),
            F.coalesce(F.sum(F.when(found, F.col("size_bytes"))), F.lit(0)).alias("request_bytes"),
        )
    )


def comings(control: DataFrame, moves: DataFrame, topics: DataFrame) -> DataFrame:
    """Each client's connections within a migration.

    Columns: MOVE, client, cluster, first_us (first connected there), last_left_us, asked, failed.
    """
    types = (
        "consumer.connected",
        "producer.connected",
        "consumer.disconnected",
        "producer.disconnected",
        "lookup.answered",
        "lookup.failed",
    )
    seen = control.filter(is_type(*types)).select("run", "topic", "cluster", "client", "type", "seq", "at_us")
    connected, left = F.col("type").endswith(".connected"), F.col("type").endswith(".disconnected")
    return (
        _of_topics(seen, moves, topics)
        .groupBy(*MOVE, "client", F.coalesce("cluster", F.lit("")).alias("cluster"))
        .agg(
            F.min(F.when(connected, F.col("at_us"))).alias("first_us"),
            F.max(F.when(left, F.col("at_us"))).alias("last_left_us"),
            F.count_if(F.col("type") == "lookup.answered").alias("asked"),
            F.count_if(F.col("type") == "lookup.failed").alias("failed"),
        )
    )
