"""One run of the simulator as canonical rows, with what is true of them.

Rules: a message's id is a number, dense per topic. A log is made of copies of one run, each with its own
partition and time, so that a hundred million rows need one run only.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from simulator import World, load_scenario_text
from spark_reports.audit.columns import ACK, DELIVER, PUBLISH

EPOCH_US = 1_767_225_600_000_000
"""The instant of a run's beginning: 1 January 2026, UTC."""
MESSAGES_MOST, MESSAGES_LEAST = 4_000, 60
"""Messages of each of the two producers in one run."""
ROWS_OF_A_MESSAGE = 3
KINDS = {"message.published": PUBLISH, "message.delivered": DELIVER, "message.acknowledged": ACK}
FIELDS = ("at_us", "kind", "cluster", "topic", "message_id", "subscription", "consumer")


@dataclass(frozen=True, slots=True)
class Log:
    """The rows of one run by column, its length, and the truth of each copy."""

    columns: dict[str, list[Any]]
    length_us: int
    truth: dict[str, Any]

    @property
    def rows(self) -> int:
        return len(self.columns["at_us"])


def run_log(rows: int, seed: int) -> Log:
    """A run with about so many rows, within the limits of messages."""
    messages = min(MESSAGES_MOST, max(MESSAGES_LEAST, rows // (2 * ROWS_OF_A_MESSAGE)))
    length_ms = messages * 10
    template = files("spark_reports.audit.generate").joinpath("logs.yaml").read_text(encoding="utf-8")
    text = template.format(messages=messages, until_ms=length_ms + 20_000, crash_ms=50 + length_ms * 2 // 3)
    scenario = load_scenario_text(text, seed=seed)
    world = World(scenario, seed)
    world.run()
    found = list(_rows(world))
    columns = {name: [row[name] for row in found] for name in FIELDS}
    failover = world.summary()["failovers"][0]
    verdict = {name: failover[name] for name in ("duplicates", "redeliveries", "lost")}
    return Log(columns, world.now_us, {"figures": figures_of(found), "simulator": verdict})


def _rows(world: World) -> Any:
    numbers: dict[tuple[str, int], int] = {}
    for row in world.trace.rows(types=list(KINDS)):
        message = (row["producer"], row["sequence_id"])
        yield {
            "at_us": row["at_us"],
            "kind": KINDS[row["type"]],
            "cluster": row["cluster"],
            "topic": row["topic"],
            "message_id": numbers.setdefault(message, len(numbers)),
            "subscription": row.get("subscription"),
            "consumer": row.get("client"),
        }


def figures_of(rows: list[dict[str, Any]]) -> dict[str, int]:
    """The figures of one copy, counted row by row: what an audit must find in each partition."""
    clusters: dict[int, list[str]] = {}
    acked: dict[int, bool] = {}
    acked_before: dict[int, bool] = {}
    for row in rows:
        message = row["message_id"]
        if row["kind"] == ACK:
            acked[message] = True
        elif row["kind"] == DELIVER:
            clusters.setdefault(message, []).append(row["cluster"])
            if message in acked:
                acked_before[message] = True
    again = [found for found in clusters.values() if len(found) > 1]
    return {
        "deliveries": sum(map(len, clusters.values())),
        "messages": len(clusters),
        "repeated_messages": len(again),
        "in_several_clusters": sum(len(dict.fromkeys(found)) > 1 for found in again),
        "in_one_cluster": sum(len(dict.fromkeys(found)) == 1 for found in again),
        "extra_deliveries": sum(len(found) - 1 for found in again),
        "duplicates": len(acked_before),
    }
