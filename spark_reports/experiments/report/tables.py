"""The tables of the page, as heads and rows of plain text."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup, escape

from spark_reports.experiments.report.answer import (
    NOT_BY_THE_END,
    amount,
    axis_label,
    interval_words,
    mean_amount,
    percent,
    percent_down,
    setting_words,
)
from spark_reports.experiments.report.choices import MEETS, MISSES, Judged, Setting
from spark_reports.experiments.report.figures import MORE, PHASE, SAMPLED, SEED, Ends, Figures, Share
from spark_reports.experiments.report.results import Results
from spark_reports.html.numbers import number, seconds
from spark_reports.html.sections import harm_cell

ROWS_MOST = 200
"""The most settings in a table of the page; the JSON file has all."""

SOURCES = {
    MORE: "interactions of more parameters",
    PHASE: "phase of the failure within the period",
    SEED: "seed",
}


@dataclass(frozen=True)
class Table:
    """A table: its first `words` columns are text, `marks` are the classes of its rows."""

    head: list[str]
    rows: list[list[str | Markup]]
    marks: list[str]
    words: int


def settings_table(results: Results) -> Table:
    """Every setting, the cheapest first, with the main measure and the bound."""
    experiment, measure = results.experiment, results.main
    head = axis_heads(results)
    words = len(head)
    head = [*head, "runs"]
    if experiment.wanted is not None:
        head += ["within the bound", "lower bound of the share", "independent runs", "verdict"]
    head += [f"{measure.title}: mean", "median", "p95", "largest", "larger than that, at most"]
    shown = results.spread(ROWS_MOST)
    rows: list[list[str | Markup]] = []
    for one in shown:
        cells: list[str | Markup] = [*values_of(one)]
        cells.append(number(len(one.runs.runs)))
        if one.judged is not None:
            cells += _bound_cells(one, one.judged)
        rows.append([*cells, *_figure_cells(one.figures[measure.name], measure.unit)])
    marks = ["chosen" if results.is_chosen(one) else "" for one in shown]
    return _without_empty_columns(Table(head, rows, marks, words))


def axis_heads(results: Results) -> list[str]:
    """The headings of the columns that name a setting."""
    return [axis_label(results.experiment, axis.path) for axis in results.experiment.axes] or ["setting"]


def values_of(setting: Setting) -> list[str]:
    """The cells that name a setting."""
    return list(setting.point.values.values()) or ["as it is written"]


def _without_empty_columns(table: Table) -> Table:
    """The same without columns that say nothing, such as the intervals of an enumeration."""
    kept = [place for place in range(len(table.head)) if any(cells[place] for cells in table.rows)]
    rows = [[cells[place] for place in kept] for cells in table.rows]
    return Table([table.head[place] for place in kept], rows, table.marks, table.words)


def _bound_cells(setting: Setting, judged: Judged) -> list[str | Markup]:
    if not judged.runs:
        return ["–", "–", "–", "no runs yet"]
    sampled = setting.design.kind == SAMPLED
    verdict: str | Markup = "meets it" if judged.verdict == MEETS else "too few to tell"
    if judged.verdict == MISSES:
        verdict = harm_cell("misses it")
    return [
        f"{percent(judged.within / judged.runs)} ({number(judged.within)})",
        percent_down(judged.low),
        number(int(judged.independent)) if sampled else "enumerated",
        verdict,
    ]


def _figure_cells(figures: Figures, unit: str) -> list[str | Markup]:
    never = f" ({number(figures.never)} not by the end)" if figures.never else ""
    return [
        _with_interval(mean_amount(figures.mean, unit) + never, figures.mean_interval, unit),
        _with_interval(amount(figures.median, unit), figures.median_interval, unit),
        _with_interval(amount(figures.p95, unit), figures.p95_interval, unit),
        NOT_BY_THE_END if figures.never else amount(figures.largest, unit),
        "" if figures.beyond is None else percent(figures.beyond),
    ]


def _with_interval(value: str, ends: Ends | None, unit: str) -> Markup:
    """A figure with its 95 % interval below it."""
    interval = interval_words(ends, unit)
    return Markup("{}<small>{}</small>").format(value, interval) if interval else escape(value)


def measures_table(results: Results) -> Table:
    """Mean and largest value of every measure, by setting."""
    measures = [
        one
        for one in results.experiment.measures
        if any(
            setting.figures[one.name].largest or setting.figures[one.name].never
            for setting in results.settings
        )
    ]
    shown = results.spread(ROWS_MOST)
    rows: list[list[str | Markup]] = []
    for one in shown:
        cells: list[str | Markup] = [*values_of(one)]
        for measure in measures:
            figures = one.figures[measure.name]
            largest = NOT_BY_THE_END if figures.never else amount(figures.largest, measure.unit)
            cells.append(f"{mean_amount(figures.mean, measure.unit)} / {largest}")
        rows.append(cells)
    head = axis_heads(results)
    return Table([*head, *(one.title for one in measures)], rows, ["" for _ in shown], len(head))


def always_zero(results: Results) -> list[str]:
    """The titles of measures that are 0 in every run."""
    return [
        one.title
        for one in results.experiment.measures
        if not any(
            setting.figures[one.name].largest or setting.figures[one.name].never
            for setting in results.settings
        )
    ]


def failed_table(results: Results) -> Table:
    """Runs that failed, one by one."""
    points = {one.point.number: one.point for one in results.settings}
    rows: list[list[str | Markup]] = [
        [
            number(one.run),
            setting_words(results.experiment, points[one.point]),
            number(one.seed),
            "–" if one.phase_us is None else f"{seconds(one.phase_us)} s",
            one.reason,
        ]
        for one in results.failed
    ]
    return Table(["run", "setting", "seed", "later by", "reason"], rows, ["" for _ in rows], 2)


def share_name(results: Results, share: Share) -> str:
    """The name of a source of variance."""
    if share.paths:
        return " × ".join(axis_label(results.experiment, path) for path in share.paths)
    return SOURCES.get(share.name, "phase and seed")
