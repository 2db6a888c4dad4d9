"""The report of an experiment as one HTML file that opens offline.

Rules: every value is escaped. Styles, Plotly, figures and the scenarios of the listed runs are inlined, so
the page makes no request. Without scripts it still has all text, tables and heat maps.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from markupsafe import Markup

from simulator import ENGINE_VERSION
from spark_reports.experiments.report import charts
from spark_reports.experiments.report.answer import answer_of
from spark_reports.experiments.report.definitions import definitions
from spark_reports.experiments.report.examples import SETTINGS_MOST, Example
from spark_reports.experiments.report.heat_map import heat_maps
from spark_reports.experiments.report.results import Results
from spark_reports.experiments.report.tables import (
    always_zero,
    axis_heads,
    failed_table,
    measures_table,
    settings_table,
    share_name,
    values_of,
)
from spark_reports.experiments.report.words import NOT_BY_THE_END, amount, breakable, percent
from spark_reports.html.drawing import DRAW, chart_json, plotly_script
from spark_reports.html.numbers import number
from spark_reports.html.templates import render

FOLDER = "experiments/report/templates"


def page(results: Results, examples: dict[int, list[Example]]) -> str:
    """The whole page; `examples` are the runs to open, by point."""
    figures = _figures(results) if results.finished else {}
    style = files("spark_reports.html").joinpath("report.css").read_text(encoding="utf-8")
    own = files("spark_reports.experiments.report").joinpath("sweep.css").read_text(encoding="utf-8")
    return render(
        f"{FOLDER}/sweep.html",
        results=results,
        experiment=results.experiment,
        described=results.experiment.described(),
        engine=ENGINE_VERSION,
        answer=answer_of(results),
        style=Markup(style + own),
        big=_large_figures(results),
        settings=settings_table(results),
        axis_heads=axis_heads(results),
        charts=figures,
        maps=heat_maps(results) if results.finished else [],
        shares=[(share_name(results, one), one.share) for one in results.shares or ()],
        examples=_examples(results, examples),
        examples_most=SETTINGS_MOST,
        measures=measures_table(results),
        zero=always_zero(results),
        failed=failed_table(results),
        definitions=definitions(results),
        figures=[(name, chart_json(figure)) for name, figure in figures.items()],
        plotly=plotly_script(),
        draw=Markup(DRAW),
        percent=percent,
        breakable=breakable,
    )


def _figures(results: Results) -> dict[str, dict[str, Any]]:
    """The charts of the page by name; a chart that does not apply is absent."""
    found = {
        "ranges": charts.ranges(results),
        "distributions": charts.distributions(results),
        "phases": charts.phases(results),
    }
    return {name: figure for name, figure in found.items() if figure is not None}


def _large_figures(results: Results) -> list[dict[str, str]]:
    """The row of large figures below the answer."""
    choice = results.chosen or (results.closest if results.experiment.wanted else None)
    shown = choice.weakest if choice else None
    settings = len(results.settings)
    found = [
        _large(number(results.present), "run" if results.present == 1 else "runs"),
        _large(number(settings), "setting" if settings == 1 else "settings"),
    ]
    if shown is not None and shown.judged is not None and shown.judged.runs:
        figures = shown.figures[results.main.name]
        largest = NOT_BY_THE_END if figures.never else amount(figures.largest, results.main.unit)
        measure = results.main
        found += [
            _large(percent(shown.share_within), "of the runs of this setting within the bound"),
            _large(amount(figures.median, measure.unit), f"{measure.title}, median"),
            _large(largest, f"{measure.title}, largest"),
        ]
    words = "failed run" if results.failures == 1 else "failed runs"
    found.append(_large(number(results.failures), words, "harm" if results.failures else "zero"))
    return found


def _expected_words(ends: tuple[int, int] | None, unit: str) -> str:
    """A value in closed form: one number, or both ends of a range."""
    if ends is None:
        return ""
    return " to ".join(amount(end, unit) for end in dict.fromkeys(ends))


def _large(value: str, words: str, kind: str = "") -> dict[str, str]:
    return {"value": value, "words": words, "kind": kind}


def _examples(results: Results, examples: dict[int, list[Example]]) -> list[dict[str, Any]]:
    """The rows of the table of runs to open."""
    return [
        {
            "setting": values_of(setting) if place == 0 else [""] * len(values_of(setting)),
            "example": example,
            "expected": _expected_words(example.expected, results.main.unit),
            "value": NOT_BY_THE_END if example.value is None else amount(example.value, results.main.unit),
        }
        for setting in results.settings
        for place, example in enumerate(examples.get(setting.point.number, []))
    ]
