"""“What would have helped”: the run and its changed reruns as a table, in the order in which the lab's
page shows them.

Rules: what happened comes first, then what helped most, then what made no difference, then what assumes a
plan that there was not; figures, words and order come ready (`simulator.what_if`).
"""

from __future__ import annotations

from html import escape
from typing import Any

from spark_reports.html.numbers import number, span
from spark_reports.html.parts import scrolling

SAME = "no difference"
Line = tuple[str, dict[str, Any]]
"""A variant's name and the values of one case in it."""


def what_if(run: dict[str, Any], place: int) -> str:
    """The section about the run's case of this number, empty where nothing was run again."""
    told = run.get("what_if") or {}
    if told.get("note"):
        return f"<section><h2>What would have helped</h2><p>{escape(told['note'])}</p></section>"
    if not told.get("variants"):
        return ""
    columns = told["columns"]
    real, changed, same, assumed = _in_order(told["variants"], place)
    most = (
        max(
            [
                case["figures"][columns[0]["name"]]
                for _name, case in (real, *changed, *same, *assumed)
                if case["figures"]
            ],
            default=0,
        )
        or 1
    )
    kinds = (("real", [real]), ("", changed), ("same", same), ("assumed", assumed))
    rows = [_row(line, columns, most, kind) for kind, lines in kinds for line in lines]
    head = (
        "".join(f"<th>{escape(title)}</th>" for title in ("change", *(column["title"] for column in columns)))
        + '<th class="left">difference</th>'
    )
    table = scrolling(
        f'<table class="what-if"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return f"<section><h2>What would have helped</h2><p>{_headline(changed)}</p>{table}</section>"


def _in_order(variants: list[dict[str, Any]], place: int) -> tuple[Line, list[Line], list[Line], list[Line]]:
    """The real run, what changed something, the least harmful first, what changed nothing, and what would have needed a plan before the crash."""
    real, *others = [(variant["name"], variant["cases"][place]) for variant in variants]
    others.sort(key=lambda line: (line[1]["harm"] is None, line[1]["harm"] or []))
    advice = [line for line in others if not line[1]["assumes"]]
    same = [line for line in advice if line[1]["difference"] == SAME]
    return (
        real,
        [line for line in advice if line[1]["difference"] != SAME],
        same,
        [line for line in others if line[1]["assumes"]],
    )


def _headline(changed: list[Line]) -> str:
    says = "The same seed and the same failure, with one thing changed at a time"
    if changed and changed[0][1]["helps"]:
        name, case = changed[0]
        return (
            f"{says}. What helps most: <b>{escape(name)}</b>. "
            f"{escape(case['difference'][0].upper() + case['difference'][1:])}."
        )
    return f"{says}: no change helps."


def _row(line: Line, columns: list[dict[str, str]], most: int, kind: str) -> str:
    name, case = line
    figures, cells = case["figures"], []
    for place, column in enumerate(columns):
        value = None if figures is None else figures[column["name"]]
        bar = (
            (
                f'<span class="track" aria-hidden="true"><span class="bar" '
                f'style="width:{100 * value / most:.0f}%"></span></span>'
            )
            if place == 0 and figures
            else ""
        )
        cells.append(f"<td>{_figure(value, column['unit'])}{bar}</td>")
    words = "as it ran" if kind == "real" else case["difference"]
    mark = f' class="{kind}"' if kind else ""
    assumes = f" <small>({escape(case['assumes'])})</small>" if case["assumes"] else ""
    return (
        f"<tr{mark}><th "
        f'scope="row">{escape(name).replace(" ms", "&nbsp;ms")}{assumes}</th>{"".join(cells)}<td '
        f'class="left words">{escape(words)}</td></tr>'
    )


def _figure(value: int | None, unit: str) -> str:
    if value is None:
        return "–"
    return number(value) if unit == "count" else span(value) if value else "0 ms"
