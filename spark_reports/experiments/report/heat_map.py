"""Heat maps over two parameters: a table whose cells are the darker, the more harm they hold.

Tables need no script, print, and are read aloud. A cell is the mean over the other parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from simulator.experiments import Axis
from spark_reports.experiments.report.choices import Setting
from spark_reports.experiments.report.results import Results
from spark_reports.experiments.report.words import axis_label, mean_amount, percent

MAPS_MOST = 6
"""The most pairs of parameters that are drawn: those of four parameters."""
CELLS_MOST = 900
"""The most cells of one map; a larger grid is in the JSON file."""
DARKEST = 52
"""Per cent of crimson in the darkest cell, so that text on it keeps its contrast."""


@dataclass(frozen=True)
class Cell:
    """A cell's text, its shade in per cent of crimson, and whether the chosen setting is in it."""

    text: str
    shade: int
    chosen: bool


@dataclass(frozen=True)
class HeatMap:
    """Two parameters, down and across, and what a cell shows."""

    title: str
    says: str
    down: str
    across: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


def heat_maps(results: Results) -> list[HeatMap]:
    """The maps of the first pairs of parameters that have several values."""
    axes = [axis for axis in results.experiment.axes if len(axis.values) > 1]
    pairs = [
        pair for pair in combinations(axes, 2) if len(pair[0].values) * len(pair[1].values) <= CELLS_MOST
    ]
    return [_map(results, *_upright(*pair)) for pair in pairs[:MAPS_MOST]]


def _upright(first: Axis, second: Axis) -> tuple[Axis, Axis]:
    """The parameter with more values goes down, where there is room on a phone."""
    return (second, first) if len(second.values) > len(first.values) else (first, second)


def _map(results: Results, down: Axis, across: Axis) -> HeatMap:
    sums: dict[tuple[str, str], list[float]] = {}
    for one in results.settings:
        value = _shown(results, one)
        if value is not None:
            sums.setdefault((one.point.values[down.path], one.point.values[across.path]), []).append(value)
    means = {key: sum(values) / len(values) for key, values in sums.items()}
    low, high = min(means.values(), default=0), max(means.values(), default=0)
    chosen = {
        (one.point.values[down.path], one.point.values[across.path])
        for one in (results.chosen.settings if results.chosen else ())
    }
    rows = tuple(
        (
            row,
            tuple(
                _cell(results, means.get((row, column)), low, high, (row, column) in chosen)
                for column in across.values
            ),
        )
        for row in down.values
    )
    labels = [axis_label(results.experiment, axis.path) for axis in (down, across)]
    others = len(results.experiment.axes) > 2
    what = "Share of runs outside the bound" if results.experiment.wanted else f"Mean: {results.main.title}"
    says = f"{what}. The stronger the colour, the more." + (
        " Averaged over the other parameters." if others else ""
    )
    says += " The cheapest setting that meets the bound has a frame." if chosen else ""
    return HeatMap(f"{labels[0]} and {labels[1]}", says, labels[0], labels[1], across.values, rows)


def _shown(results: Results, setting: Setting) -> float | None:
    """What a cell shows of a setting: the share outside the bound, else the mean."""
    if setting.judged is not None:
        judged = setting.judged
        return 1 - judged.within / judged.runs if judged.runs else None
    return setting.figures[results.main.name].mean


def _cell(results: Results, value: float | None, low: float, high: float, chosen: bool) -> Cell:
    if value is None:
        return Cell("–", 0, chosen)
    bottom = 0.0 if results.experiment.wanted else low
    shade = 0 if high <= bottom else round(DARKEST * (value - bottom) / (high - bottom))
    text = percent(value) if results.experiment.wanted else mean_amount(value, results.main.unit)
    return Cell(text, shade, chosen)
