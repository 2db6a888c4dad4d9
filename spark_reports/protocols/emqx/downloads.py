"""A group's line in figures.csv and on the terminal."""

from __future__ import annotations

from typing import Any

CSV_COLUMNS = ("run", "scenario", "seed", "group", "filter")
"""The columns of a file without any group."""


def csv_lines(run: dict[str, Any]) -> list[dict[str, Any]]:
    """One line of figures.csv per group."""
    return [_csv_line(run, group) for group in run["groups"]]


def result_lines(run: dict[str, Any]) -> list[str]:
    """One line per group for the terminal."""
    return [
        f"{run['scenario']}: {group['name']}: {'at least ' if group['pending_repeats'] else ''}"
        f"{group['duplicates']} duplicate deliveries, {group['redeliveries']} redelivered, "
        f"{group['lost']} lost"
        f"{', still delivering at the end' if group['pending_repeats'] else ''}"
        for group in run["groups"]
    ]


def _csv_line(run: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    plain = {
        name: value
        for name, value in group.items()
        if isinstance(value, int | str) and name not in ("number", "name", "filter")
    }
    return {
        "run": run["run"],
        "scenario": run["scenario"],
        "seed": run["seed"],
        "group": group["name"],
        "filter": group["filter"],
        **plain,
        **{f"by_cause.{name}": count for name, count in group["by_cause"].items()},
        **{f"handover_us.{name}": us for name, us in group["handover_us"].items()},
    }
