"""“Under three strategies”: the run with other ways to replicate acks, one column each.

Spark counts each of these runs.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from spark_reports.html.numbers import number, size, span
from spark_reports.html.sections import NOTHING, render
from spark_reports.protocols.pulsar.html.sections import TEMPLATES, lower_bound
from spark_reports.protocols.pulsar.html.words import CAUSES, cause_heading

FIGURES = (
    ("redelivered", "redeliveries"),
    ("not replicated", "stranded"),
    ("lost", "lost"),
    ("reordered", "reordered"),
)


def comparison(run: dict[str, Any], failover: dict[str, Any]) -> Markup:
    """The section, empty where nothing was compared."""
    columns = run.get("comparison") or []
    place = failover["number"]
    figures = [column["failovers"][place] if place < len(column["failovers"]) else None for column in columns]
    if not any(figures):
        return NOTHING
    fewest = min(found["duplicates"] for found in figures if found)
    pairs = zip(columns, figures, strict=True)
    open_ = [column["title"] for column, found in pairs if found and found["pending_repeats"]]
    best = [
        column["title"]
        for column, found in zip(columns, figures, strict=True)
        if found and found["duplicates"] == fewest
    ]
    return render(
        f"{TEMPLATES}/comparison.html",
        columns=columns,
        figures=figures,
        most=max(found["duplicates"] for found in figures if found) or 1,
        rows=_rows(columns, figures, failover),
        fewest=fewest,
        best=best if len(best) < len(columns) else None,
        open=open_,
        lower_bound=lower_bound,
    )


def _rows(
    columns: list[dict[str, Any]], figures: list[dict[str, Any] | None], failover: dict[str, Any]
) -> list[dict[str, Any]]:
    by_cause = [
        (
            cause_heading(name, failover),
            [number(found["by_cause"].get(name, 0) if found else None) for found in figures],
            "by-cause",
        )
        for name in _causes(figures)
    ]
    plain = [
        (words, [lower_bound(found, name) if found else "–" for found in figures], "")
        for words, name in FIGURES
    ]
    rows = [
        *by_cause,
        *plain,
        ("delivery gap", [_gap(found) for found in figures], ""),
        ("markers in the logs", [_cost(column["markers"]) for column in columns], ""),
        ("sync requests outside the topic", [_cost(column["requests"]) for column in columns], ""),
    ]
    return [{"words": words, "cells": cells, "kind": kind} for words, cells, kind in rows]


def _gap(found: dict[str, Any] | None) -> str:
    if not found or found["outage_us"] is None:
        return "–"
    return span(found["outage_us"]) if found["outage_us"] else "0 ms"


def _causes(figures: list[dict[str, Any] | None]) -> list[str]:
    """The causes that any strategy has, in the order of decision."""
    return [name for name in CAUSES if any(found and found["by_cause"].get(name) for found in figures)]


def _cost(cost: dict[str, int]) -> str:
    return f"{number(cost['entries'])}, {size(cost['bytes'])}" if cost["entries"] else "none"
