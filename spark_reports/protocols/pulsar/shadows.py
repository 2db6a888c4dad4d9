"""`shadows` of a report's run, for `report.json`: delay, saved bytes and losses of each shadow topic.

Rules: one small row per shadow, bin and subscription is collected to the driver. A run without shadow topics
has no such part (None). The rows do not show where reads were served. The lab's page and `simulate --json`
do.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from spark_reports.flows import bin_widths_us, piled_up
from spark_reports.local import from_rows
from spark_reports.protocols.pulsar.transforms import shadows
from spark_reports.schemas import BINS
from spark_reports.transforms.places import is_type


def add_shadows(spark: Any, runs: list[dict[str, Any]], control: Any, rows: Any) -> None:
    """Add its part to every run."""
    for run in runs:
        run["shadows"] = None
    if not control.filter(is_type("shadow.created")).head(1):
        return
    widths = bin_widths_us(runs)
    known, moves = shadows.shadows(control), shadows.steps(control)
    sights = shadows.seen(shadows.entries(rows, known), moves).persist()
    figures = shadows.figures(sights, moves, control, known).collect()
    flows: dict[tuple, dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in shadows.unseen_flow(sights, from_rows(spark, sorted(widths.items()), BINS)).collect():
        flows[row.run, row.cluster, row.topic][row.bin] = (row.came, row.left)
    lost = shadows.losses(rows).collect()
    sights.unpersist()
    for run in runs:
        mine = sorted(
            (row for row in figures if row.run == run["run"]),
            key=lambda row: (row.source_base, row.cluster, row.base, row.topic),
        )
        if mine:
            found = [
                _shadow(row, flows[row.run, row.cluster, row.topic], widths[row.run], run["until_us"])
                for row in mine
            ]
            run["shadows"] = {
                "topics": found,
                "lost": [_lost(row) for row in sorted(lost, key=_by_name) if row.run == run["run"]],
            }


def _by_name(row: Any) -> tuple:
    return row.cluster, row.topic, row.subscription, row.reason


def _shadow(row: Any, flow: dict[int, tuple[int, int]], bin_us: int, until_us: int) -> dict[str, Any]:
    instants, unseen = piled_up(flow, bin_us, until_us)
    return {
        "cluster": row.cluster,
        "topic": row.topic,
        "source": row.source,
        "entries": row.entries or 0,
        "unseen": row.unseen or 0,
        "median_us": row.median_us,
        "slowest_us": row.slowest_us,
        "announced": row.announced or 0,
        "saved_bytes": row.saved_bytes or 0,
        "curve": {"at_us": instants, "entries": unseen},
    }


def _lost(row: Any) -> dict[str, Any]:
    return {
        name: row[name]
        for name in (
            "cluster",
            "topic",
            "subscription",
            "reason",
            "messages",
            "first_us",
            "producer",
            "sequence_id",
        )
    }
