"""“Under three strategies”: the same run with other ways to replicate acks, one column each; figures come
ready from Spark.
"""

from __future__ import annotations

from html import escape
from typing import Any

from spark_reports.html.numbers import number, plural, size, span
from spark_reports.protocols.pulsar.html.words import CAUSES

FIGURES = (
    ("redelivered", "redeliveries"),
    ("not replicated", "stranded"),
    ("lost", "lost"),
    ("reordered", "reordered"),
)


def comparison(run: dict[str, Any], failover: dict[str, Any]) -> str:
    """The section, empty where nothing was compared."""
    columns = run.get("comparison") or []
    place = failover["number"]
    figures = [column["failovers"][place] if place < len(column["failovers"]) else None for column in columns]
    if not any(figures):
        return ""
    most = max(found["duplicates"] for found in figures if found) or 1
    head = "".join(f'<th scope="col">{escape(column["title"])}</th>' for column in columns)
    rows = [
        _row(
            "duplicates",
            [
                f"{number(found['duplicates'])}{_bar(found['duplicates'], most)}" if found else "no failover"
                for found in figures
            ],
            "twice",
        )
    ]
    rows += [
        _row(
            _cause(name, failover),
            [number(found and found["by_cause"].get(name, 0)) for found in figures],
            "by-cause",
        )
        for name in _causes(figures)
    ]
    rows += [_row(words, [number(found and found[name]) for found in figures]) for words, name in FIGURES]
    rows.append(
        _row(
            "delivery gap",
            [
                "–"
                if not found or found["outage_us"] is None
                else span(found["outage_us"])
                if found["outage_us"]
                else "0 ms"
                for found in figures
            ],
        )
    )
    rows.append(_row("markers in the logs", [_cost(column["markers"]) for column in columns]))
    rows.append(_row("sync requests outside the topic", [_cost(column["requests"]) for column in columns]))
    table = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Under three strategies"><table '
        f'class="strategies"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )
    ways = "".join(
        f"<dt>{escape(column['title'])}</dt><dd>{escape(column['says'])}</dd>" for column in columns
    )
    return (
        f"<section><h2>Under three strategies</h2><p>{_headline(columns, figures)}</p>{table}<dl "
        f'class="definitions">{ways}</dl></section>'
    )


def _causes(figures: list[dict[str, Any] | None]) -> list[str]:
    """Those that any strategy has, in the order of decision."""
    return [name for name in CAUSES if any(found and found["by_cause"].get(name) for found in figures)]


def _cause(name: str, failover: dict[str, Any]) -> str:
    return escape(CAUSES[name][0].format(to=failover["to"], x=failover["from"]))


def _row(words: str, cells: list[str], kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<tr{mark}><th scope="row">{words}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _bar(value: int, most: int) -> str:
    return (
        f'<span class="track" aria-hidden="true"><span class="bar" '
        f'style="width:{100 * value / most:.0f}%"></span></span>'
    )


def _cost(cost: dict[str, int]) -> str:
    return f"{number(cost['entries'])}, {size(cost['bytes'])}" if cost["entries"] else "none"


def _headline(columns: list[dict[str, Any]], figures: list[dict[str, Any] | None]) -> str:
    fewest = min(found["duplicates"] for found in figures if found)
    best = [
        column["title"]
        for column, found in zip(columns, figures, strict=True)
        if found and found["duplicates"] == fewest
    ]
    says = "The same seed, publishes, faults and move; only the way in which acks are replicated differs."
    if len(best) == len(columns):
        return f"{says} No difference: {plural(fewest, 'duplicate', 'duplicates')} under each."
    return f"{says} Fewest duplicates: <b>{escape(' and '.join(best))}</b>, {number(fewest)}."
