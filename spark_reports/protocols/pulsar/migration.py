"""`migrations` of a report's run, for `report.json`: steps, traffic and client moves of each tenant.

Rules: only small rows are collected to the driver: one per change of a step, cluster and client. A run
without a migration has an empty list.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from spark_reports.local import from_rows
from spark_reports.protocols.pulsar.schemas import TENANTS
from spark_reports.transforms import NEVER, base_topic, is_type

STEPS = ("metadata", "topic-data", "consumption-progress", "switch", "clean-up")
CLIENTS_MOST = 40


def add_migrations(
    spark: SparkSession, runs: list[dict[str, Any]], scenarios: dict[int, Any], control: Any, rows: Any
) -> None:
    """Add its part to every run. `scenarios`, by run, name each topic's tenant."""
    for run in runs:
        run["migrations"] = []
    moved = moves(control)
    begun = moved.orderBy("run", "move_seq").collect()
    if not begun:
        return
    tenants = {
        (run, spec.topic, scenario.topics[spec.topic].tenant)
        for run, scenario in scenarios.items()
        for spec in scenario.subscriptions.values()
    }
    topics = from_rows(spark, sorted(tenants), TENANTS)
    by_move: dict[str, dict[tuple[int, int], list[Any]]] = {}
    frames = {
        "happenings": happenings(control, moved).orderBy("seq"),
        "traffic": traffic(
            rows.filter(is_type("message.replicated", "acknowledgements.sent")), moved, topics
        ),
        "comings": comings(control, moved, topics).orderBy("client", "cluster"),
    }
    for name, frame in frames.items():
        by_move[name] = defaultdict(list)
        for row in frame.collect():
            by_move[name][row.run, row.move_seq].append(row)
    for run in runs:
        run["migrations"] = [
            _described(move, {name: found[move.run, move.move_seq] for name, found in by_move.items()})
            for move in begun
            if move.run == run["run"]
        ]


def _described(move: Any, found: dict[str, list[Any]]) -> dict[str, Any]:
    happened = found["happenings"]
    mapped = [row for row in happened if row.type == "tenant.mapped"]
    ended = [row for row in happened if row.type == "migration.ended"]
    crossed = {
        row.cluster: {"messages": row.messages, "requests": row.requests, "request_bytes": row.request_bytes}
        for row in found["traffic"]
    }
    nothing = {"messages": 0, "requests": 0, "request_bytes": 0}
    comings = found["comings"]
    return {
        "tenant": move.tenant,
        "from": move.source,
        "to": move.target,
        "strategy": move.strategy,
        "started_us": move.at_us,
        "ended": ended[-1].reason if ended else None,
        "ended_us": ended[-1].at_us if ended else None,
        "mapped": [{"at_us": row.at_us, "to": row.cluster} for row in mapped],
        "steps": [_step(name, [row for row in happened if row.reason == name]) for name in STEPS],
        "crossed": {"there": crossed.get(move.source, nothing), "back": crossed.get(move.target, nothing)},
        "lookups": {
            "answered": sum(row.asked for row in comings),
            "failed": sum(row.failed for row in comings),
        },
        "clients": [
            {"client": row.client, "came_us": row.first_us}
            for row in comings
            if row.cluster == move.target and row.first_us is not None
        ][:CLIENTS_MOST],
    }


def _step(name: str, rows: list[Any]) -> dict[str, Any]:
    """One of the five steps: its first start, its last end, its attempts and its failures."""
    began = [row for row in rows if row.type == "migration.step-began"]
    over = [row for row in rows if row.type in ("migration.step-finished", "migration.step-undone")]
    last = rows[-1].type.removeprefix("migration.step-") if rows else None
    return {
        "name": name,
        "state": last,
        "attempts": max((row["count"] for row in began), default=0),
        "started_us": began[0].at_us if began else None,
        "finished_us": over[-1].at_us if over else None,
        "failures": [
            {"at_us": row.at_us, "words": row.detail} for row in rows if row.type == "migration.step-failed"
        ],
    }


# --- tenant migrations: rows, messages and ack state sent each way, and when clients moved
#
# Rules: a migration begins with `migration.started` and ends with the tenant's next one, else with the
# trace. Its rows are those of the tenant's topics between the two.


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
