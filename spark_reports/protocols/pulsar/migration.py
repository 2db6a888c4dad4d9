"""`migrations` of a report's run, for `report.json`: steps, traffic and client moves of each tenant.

Rules: only small rows are collected to the driver: one per change of a step, cluster and client. A run
without a migration has an empty list.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import SparkSession

from spark_reports.local import from_rows
from spark_reports.protocols.pulsar.schemas import TENANTS
from spark_reports.protocols.pulsar.transforms import migration
from spark_reports.transforms.places import is_type

STEPS = ("metadata", "topic-data", "consumption-progress", "switch", "clean-up")
CLIENTS_MOST = 40


def add_migrations(
    spark: SparkSession, runs: list[dict[str, Any]], scenarios: dict[int, Any], control: Any, rows: Any
) -> None:
    """Add its part to every run. `scenarios`, by run, name each topic's tenant."""
    for run in runs:
        run["migrations"] = []
    moves = migration.moves(control)
    begun = moves.orderBy("run", "move_seq").collect()
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
        "happenings": migration.happenings(control, moves).orderBy("seq"),
        "traffic": migration.traffic(
            rows.filter(is_type("message.replicated", "acknowledgements.sent")), moves, topics
        ),
        "comings": migration.comings(control, moves, topics).orderBy("client", "cluster"),
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
