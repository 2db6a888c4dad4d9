"""The headline figures of a run, in a report's row: one object per failover and group."""

from __future__ import annotations

import logging
from typing import Any

from simulator import World

log = logging.getLogger("labsite.reports")

OF_FAILOVER = (
    "subscription",
    "from",
    "to",
    "mode",
    "at_us",
    "duplicates",
    "redeliveries",
    "stranded",
    "lost",
    "pending_repeats",
)
OF_GROUP = ("duplicates", "redeliveries", "lost")


def headlines(
    failovers: list[dict[str, Any]], groups: list[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The figures of failovers and of groups (name, figures), under their names in `simulate --json`."""
    return [{name: failover[name] for name in OF_FAILOVER} for failover in failovers] + [
        {"group": group, **{name: figures[name] for name in OF_GROUP}} for group, figures in groups
    ]


def of_report(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The headlines of a report's runs, as Spark counted them."""
    return headlines(
        [failover for run in runs for failover in run["failovers"]],
        [(group["name"], group) for run in runs for group in run["groups"]],
    )


def of_simulator(world: World) -> list[dict[str, Any]]:
    """The simulator's own headlines of a run, none of a recording, which the simulator did not run.

    They are shown while Spark counts, so an error in them does not end the report.
    """
    if world.scenario.recording:
        return []
    try:
        summary = world.summary()
    except Exception:
        log.exception("The simulator's own figures of a run cannot be shown")
        return []
    return headlines(summary.get("failovers", []), sorted(summary.get("groups", {}).items()))
