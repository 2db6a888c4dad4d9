"""“What would have helped”: the run and its changed reruns as a table, in the order of the lab's page.

Rules: figures, texts, order and the recommended setting are those of `simulator.what_if.answer`.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from spark_reports.html.numbers import number, span
from spark_reports.html.templates import render


def what_if(run: dict[str, Any], place: int) -> Markup:
    """The section about the run's case with index `place`, empty where nothing was run again."""
    figures = run.get("what_if") or {}
    if figures.get("note"):
        return render("html/templates/what_if.html", note=figures["note"])
    if not figures.get("variants"):
        return Markup("")
    columns, order = figures["columns"], figures["order"][place]
    variants = {variant["key"]: variant for variant in figures["variants"]}
    cases = [variants[row["key"]]["cases"][place] for row in order["rows"]]
    first = columns[0]["name"]
    most = max((case["figures"][first] for case in cases if case["figures"]), default=0) or 1
    return render(
        "html/templates/what_if.html",
        note=None,
        columns=columns,
        best=_best(variants.get(order["best"]), place),
        rows=[
            _row(variants[row["key"]], case, columns, most, row["group"])
            for row, case in zip(order["rows"], cases, strict=True)
        ],
    )


def _best(variant: dict[str, Any] | None, place: int) -> dict[str, Any] | None:
    """The setting to recommend; None when none helps."""
    if variant is None:
        return None
    case = variant["cases"][place]
    return {
        "name": variant["name"],
        "difference": case["difference"][0].upper() + case["difference"][1:],
        "settings": variant["settings"],
        "price": case["price_words"],
    }


def _row(
    variant: dict[str, Any], case: dict[str, Any], columns: list[dict[str, str]], most: int, kind: str
) -> dict[str, Any]:
    figures = case["figures"]
    values = [None if figures is None else figures[column["name"]] for column in columns]
    return {
        "kind": "" if kind == "changed" else kind,
        # a number stays on one line with its unit
        "name": variant["name"].replace(" ms", "\u00a0ms"),
        "assumes": case["assumes"],
        "settings": variant["settings"],
        "figures": [
            _figure(value, column["unit"], column["name"] in case["at_least"])
            for value, column in zip(values, columns, strict=True)
        ],
        "share": f"{100 * values[0] / most:.0f}" if values[0] is not None else None,
        "words": "as it ran" if kind == "real" else case["difference"],
        "price": case["price_words"],
    }


def _figure(value: int | None, unit: str, at_least: bool) -> str:
    if value is None:
        return "–"
    return (
        f"{'at least ' if at_least else ''}{number(value)}"
        if unit == "count"
        else span(value)
        if value
        else "0 ms"
    )
