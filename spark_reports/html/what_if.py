"""“What would have helped”: the run and its changed reruns as a table, in the order of the lab's page.

Rules: the run itself is first, then the changes that helped, most helpful first, then those without effect,
then those that assume a plan that did not exist. Figures, texts and order are from `simulator.what_if`.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from spark_reports.html.numbers import number, span
from spark_reports.html.templates import render

SAME = "no difference"
Line = tuple[str, dict[str, Any]]
"""A variant's name and the values of one case in it."""


def what_if(run: dict[str, Any], place: int) -> Markup:
    """The section about the run's case with index `place`, empty where nothing was run again."""
    figures = run.get("what_if") or {}
    if figures.get("note"):
        return render("html/templates/what_if.html", note=figures["note"])
    if not figures.get("variants"):
        return Markup("")
    columns = figures["columns"]
    real, changed, same, assumed = _in_order(figures["variants"], place)
    kinds = (("real", [real]), ("", changed), ("same", same), ("assumed", assumed))
    lines = [(kind, line) for kind, its in kinds for line in its]
    first = columns[0]["name"]
    most = max((case["figures"][first] for _, (_name, case) in lines if case["figures"]), default=0) or 1
    return render(
        "html/templates/what_if.html",
        note=None,
        columns=columns,
        best=_best(changed),
        rows=[_row(line, columns, most, kind) for kind, line in lines],
    )


def _in_order(variants: list[dict[str, Any]], place: int) -> tuple[Line, list[Line], list[Line], list[Line]]:
    """Sort the variants of one case into four groups.

    Returns the real run, the changes with an effect (the least harmful first), those without, and those that
    assume a plan made before the crash.
    """
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


def _best(changed: list[Line]) -> dict[str, str] | None:
    """The change that helps most; None when none helps."""
    if not changed or not changed[0][1]["helps"]:
        return None
    name, case = changed[0]
    return {"name": name, "difference": case["difference"][0].upper() + case["difference"][1:]}


def _row(line: Line, columns: list[dict[str, str]], most: int, kind: str) -> dict[str, Any]:
    name, case = line
    figures = case["figures"]
    values = [None if figures is None else figures[column["name"]] for column in columns]
    return {
        "kind": kind,
        # a number stays on one line with its unit
        "name": name.replace(" ms", "\u00a0ms"),
        "assumes": case["assumes"],
        "figures": [_figure(value, column["unit"]) for value, column in zip(values, columns, strict=True)],
        "share": f"{100 * values[0] / most:.0f}" if values[0] is not None else None,
        "words": "as it ran" if kind == "real" else case["difference"],
    }


def _figure(value: int | None, unit: str) -> str:
    if value is None:
        return "–"
    return number(value) if unit == "count" else span(value) if value else "0 ms"
