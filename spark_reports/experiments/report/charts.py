"""Charts of an experiment: settings side by side, distributions, effect of the phase, heat maps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from simulator.experiments import Axis, Measure
from spark_reports.experiments.report.answer import axis_label, mean_amount, percent, short_setting
from spark_reports.experiments.report.choices import Setting
from spark_reports.experiments.report.figures import Whole
from spark_reports.experiments.report.results import Results
from spark_reports.html.charts import GREY, HARM, INK, LINE, PROTOCOL, axis, layout

# --- heat maps over two parameters: a table whose cells are the darker, the more harm they hold
#
# Tables need no script, print, and are read aloud. A cell is the mean over the other parameters.


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


# --- plotly figures of an experiment: settings side by side, distributions, and the effect of the phase
#
# Rules: only lines, points and error bars, which the smallest bundle of Plotly has. Of more settings than a
# chart holds it shows some, evenly spread from the cheapest to the most expensive one. The chosen setting
# is always among them, drawn in ink.


CURVES_MOST = 8
BARS_MOST = 40
STEPS_MOST = 200
"""Steps of a cumulative distribution; a longer one is drawn at this many evenly spaced shares."""

LOOKS = [(f"var(--origin-{hue})", dash) for dash in ("solid", "dash") for hue in range(4)]

MARGIN = {"l": 56, "r": 16, "t": 44, "b": 44}


def ranges(results: Results) -> dict[str, Any]:
    """Mean with interval, median, p95 and largest value of each setting."""
    measure = results.main
    shown = results.spread(BARS_MOST)
    names = [short_setting(results.experiment, one.point) for one in shown]
    figures = [one.figures[measure.name] for one in shown]
    means = [one.mean or 0.0 for one in figures]
    ends = [one.mean_interval or (None, None) for one in figures]
    mean = {
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [
                _scaled(0.0 if high is None else high - at, measure)
                for at, (_, high) in zip(means, ends, strict=True)
            ],
            "arrayminus": [
                _scaled(0.0 if low is None else at - low, measure)
                for at, (low, _) in zip(means, ends, strict=True)
            ],
            "color": INK,
            "thickness": 1.5,
        },
        **_points("mean with 95 % interval", INK, "circle", 9),
        "x": [_scaled(one.mean, measure) for one in figures],
        "y": names,
    }
    kinds = (
        ("median", GREY, "line-ns-open", [one.median for one in figures]),
        ("p95", PROTOCOL, "diamond-open", [one.p95 for one in figures]),
        ("largest", HARM, "x-thin-open", [one.largest for one in figures]),
    )
    others = [
        {**_points(name, colour, symbol, 10), "x": [_scaled(value, measure) for value in values], "y": names}
        for name, colour, symbol, values in kinds
    ]
    return {
        "data": [*others, mean],
        "layout": layout(
            110 + 26 * len(shown),
            margin={"l": 12, "r": 16, "t": 44, "b": 44},
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 11}},
            hovermode="closest",
            xaxis=axis(_unit(measure), rangemode="tozero"),
            yaxis=axis(
                automargin=True,
                type="category",
                categoryorder="array",
                ticks="",
                categoryarray=names[::-1],
            ),
            shapes=_bound_line(results),
        ),
    }


def distributions(results: Results) -> dict[str, Any]:
    """The cumulative distribution of the main measure by setting."""
    measure = results.main
    shown = results.spread(CURVES_MOST)
    curves = [_steps(*one.runs.ordered(measure.name)) for one in shown]
    last = max((values[-1] for values, _ in curves if values), default=1)
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": short_setting(results.experiment, one.point),
            "x": [_scaled(value, measure) for value in [*values[:1], *values, last]],
            "y": [0, *shares, shares[-1] if shares else 0],
            "line": _look(results, one, place) | {"shape": "hv"},
            "hovertemplate": "%{y:.1%} up to %{x}",
        }
        for place, (one, (values, shares)) in enumerate(zip(shown, curves, strict=True))
    ]
    return {
        "data": data,
        "layout": layout(
            320,
            margin=MARGIN,
            hovermode="closest",
            xaxis=axis(_unit(measure), rangemode="tozero"),
            yaxis=axis("share of runs", tickformat=".0%", range=[0, 1.03], gridcolor=LINE),
            shapes=_bound_line(results),
        ),
    }


def phases(results: Results) -> dict[str, Any] | None:
    """The mean of the main measure at each phase; None where phases are drawn or there is one."""
    experiment, measure = results.experiment, results.main
    if experiment.drawn or experiment.phases == 1:
        return None
    data = []
    for place, one in enumerate(results.spread(CURVES_MOST)):
        known = one.runs.measures[measure.name].known
        at_us, index = np.unique(one.runs.phases_us[known], return_inverse=True)
        numbers = one.runs.measures[measure.name].numbers[known]
        means = np.bincount(index, numbers) / np.bincount(index)
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": short_setting(experiment, one.point),
                "x": [round(at / 1000, 3) for at in at_us.tolist()],
                "y": [_scaled(mean, measure) for mean in means.tolist()],
                "line": _look(results, one, place),
                "marker": {"size": 4},
                "hovertemplate": "%{y} at %{x} ms",
            }
        )
    return {
        "data": data,
        "layout": layout(
            320,
            margin=MARGIN,
            hovermode="closest",
            xaxis=axis("how much later than written the failure begins, ms", rangemode="tozero"),
            yaxis=axis(f"mean, {_unit(measure)}", rangemode="tozero"),
        ),
    }


def _steps(ordered: Whole, never: int) -> tuple[list[int], list[float]]:
    """Values and the share of runs up to each."""
    total = len(ordered) + never
    values, counts = np.unique(ordered, return_counts=True)
    shares = np.cumsum(counts) / max(1, total)
    if len(values) > STEPS_MOST:
        kept = np.unique(np.linspace(0, len(values) - 1, STEPS_MOST).round().astype(int))
        values, shares = values[kept], shares[kept]
    return values.tolist(), [round(share, 5) for share in shares.tolist()]


def _look(results: Results, setting: Setting, place: int) -> dict[str, Any]:
    if results.chosen is not None and setting is results.chosen.weakest:
        return {"color": INK, "dash": "solid", "width": 3}
    colour, dash = LOOKS[place % len(LOOKS)]
    return {"color": colour, "dash": dash, "width": 1.75}


def _points(name: str, colour: str, symbol: str, size: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "marker": {"color": colour, "symbol": symbol, "size": size, "line": {"width": 2, "color": colour}},
        "hovertemplate": f"%{{y}}: {name} %{{x}}<extra></extra>",
    }


def _bound_line(results: Results) -> list[dict[str, Any]]:
    wanted = results.experiment.wanted
    if wanted is None:
        return []
    at = _scaled(wanted.at_most, results.main)
    line = {"color": HARM, "dash": "dot", "width": 1.5}
    return [{"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "line": line}]


def _scaled(value: float | None, measure: Measure) -> float | None:
    """A value in the unit of the charts: milliseconds for durations."""
    if value is None:
        return None
    return round(value / 1000 if measure.unit == "us" else value, 3)


def _unit(measure: Measure) -> str:
    return f"{measure.title}, ms" if measure.unit == "us" else measure.title
