"""Plotly figures of the comparison, drawn from a summary by report and site alike.

Rules: real is a wide grey line, simulated a thin dashed one in ink above it, so that both are seen where they
are equal. Colours are variables of the stylesheets, which both pages have under the same names.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from spark_reports.html.charts import GREY, HARM, INK, INK_2, LINE, axis, layout
from spark_reports.protocols.pulsar.fidelity.summary import DIFFERENT, EQUAL, NOT_DECIDED, limit_of

SIDES: dict[str, dict[str, Any]] = {
    "real": {"name": "real", "colour": GREY, "dash": "solid", "width": 5, "fill": GREY},
    "simulated": {"name": "simulated", "colour": INK, "dash": "dash", "width": 1.75, "fill": "rgba(0,0,0,0)"},
}

FEW = 5
"""Range of messages up to which every whole number gets a tick, and nothing between them."""

MARGIN = {"l": 48, "r": 12, "t": 34, "b": 40}


def differences(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The main difference of every job with its interval, in multiples of the largest negligible one."""
    reached = [at for job in jobs for at in _scaled(main_of(job), "low", "high")]
    edges = [round(1.1 * min(-1.1, *reached), 3), round(1.1 * max(1.1, *reached), 3)]
    limit = {
        "type": "line",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": GREY, "dash": "dot", "width": 1},
    }
    groups = (
        (EQUAL, INK, "circle"),
        (NOT_DECIDED, INK_2, "circle-open"),
        (DIFFERENT, HARM, "x"),
    )
    return {
        "data": [
            _intervals([job for job in jobs if job["verdict"] == word], word, colour, symbol)
            for word, colour, symbol in groups
            if any(job["verdict"] == word for job in jobs)
        ],
        "layout": layout(
            90 + 30 * len(jobs),
            margin={"l": 12, "r": 16, "t": 40, "b": 44},
            hovermode="closest",
            xaxis=axis("difference", zeroline=True, zerolinecolor=GREY, range=edges),
            yaxis=axis(
                automargin=True,
                categoryorder="array",
                categoryarray=[title_of(job) for job in jobs][::-1],
                ticks="",
            ),
            shapes=[{**limit, "x0": at, "x1": at} for at in (-1, 1)],
        ),
    }


def _intervals(jobs: list[dict[str, Any]], name: str, colour: str, symbol: str) -> dict[str, Any]:
    mains = [main_of(job) for job in jobs]
    bounds = [_scaled(main, "difference", "low", "high") for main in mains]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [round(middle, 4) for middle, _, _ in bounds],
        "y": [title_of(job) for job in jobs],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [round(high - middle, 4) for middle, _, high in bounds],
            "arrayminus": [round(middle - low, 4) for middle, low, _ in bounds],
            "color": colour,
            "thickness": 1.5,
        },
        "marker": {"color": colour, "symbol": symbol, "size": 8},
        "text": [difference_words(main) for main in mains],
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }


def _scaled(measure: dict[str, Any], *names: str) -> list[float]:
    limit = limit_of(measure["real"]["mean"])
    return [measure[name] / limit for name in names]


def shares(values: list[list[float]], unit: str) -> dict[str, Any]:
    """The cumulative distribution of a figure of messages on both sides."""
    curves = {
        side: _steps(sorted((row[place], row[2]) for row in values)) for place, side in enumerate(SIDES)
    }
    return _curves(curves, unit)


def durations(curves: dict[str, Any]) -> dict[str, Any]:
    """The cumulative distribution of durations on both sides."""
    found = {
        side: ([at for at, _ in curve["at"]], [share for _, share in curve["at"]])
        for side, curve in curves.items()
    }
    return _curves(found, "ms")


def scatter(values: list[list[float]], unit: str) -> dict[str, Any]:
    """Every pair as a point: simulated across, real up; the line is equality."""
    far = max(max(real, simulated) for real, simulated, _ in values)
    most = max(count for *_, count in values)
    counts = [count for *_, count in values]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [0, far],
                "y": [0, far],
                "line": {"color": GREY, "width": 1, "dash": "dot"},
                "hoverinfo": "skip",
                "showlegend": False,
            },
            {
                "type": "scatter",
                "mode": "markers",
                "x": [simulated for _, simulated, _ in values],
                "y": [real for real, _, _ in values],
                "text": [f"{count} pair{'s' if count > 1 else ''}" for count in counts],
                "marker": {
                    "color": INK,
                    "opacity": 0.65,
                    "line": {"width": 0},
                    "size": [round(5 + 15 * ((count - 1) / max(1, most - 1)) ** 0.5, 2) for count in counts],
                },
                "hovertemplate": "real %{y}, simulated %{x}: %{text}<extra></extra>",
                "showlegend": False,
            },
        ],
        "layout": layout(
            260,
            margin=MARGIN,
            hovermode="closest",
            xaxis=axis(f"simulated, {unit}", rangemode="tozero"),
            yaxis=axis(f"real, {unit}", rangemode="tozero"),
        ),
    }


def markers(measures: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean number of markers of a run, by type."""
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "name": look["name"],
                "y": [one["label"].removeprefix("markers ") for one in measures],
                "x": [one[side]["mean"] for one in measures],
                "marker": {
                    "color": look["fill"],
                    "line": {"color": look["colour"], "width": 1.5},
                },
                "hovertemplate": "%{y}: %{x}<extra>" + look["name"] + "</extra>",
            }
            for side, look in SIDES.items()
        ],
        "layout": layout(
            100 + 44 * len(measures),
            margin={**MARGIN, "l": 12},
            hovermode="closest",
            bargap=0.35,
            xaxis=axis("markers in a run, mean", rangemode="tozero"),
            yaxis=axis(automargin=True, autorange="reversed", ticks=""),
        ),
    }


def main_of(job: dict[str, Any]) -> dict[str, Any]:
    """The measure that decides a job's verdict."""
    return next(one for one in job["measures"] if one["key"] == job["main"])


def title_of(job: dict[str, Any]) -> str:
    """A job's name with its version."""
    return f"{job['job']} · {job['pulsar']}"


def signed(value: float, digits: int = 2) -> str:
    """A difference with its sign; zero has none."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def difference_words(measure: dict[str, Any]) -> str:
    """A mean difference with its interval."""
    if measure["low"] == measure["high"]:
        return signed(measure["difference"], 0 if measure["difference"] == int(measure["difference"]) else 2)
    return f"{signed(measure['difference'])} ({signed(measure['low'])} to {signed(measure['high'])})"


def _steps(counted: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Values and the share of runs up to each, from [value, number] in order."""
    total = sum(count for _, count in counted)
    values, found, so_far = [], [], 0.0
    for value, group in groupby(counted, key=lambda one: one[0]):
        so_far += sum(count for _, count in group)
        values.append(value)
        found.append(round(so_far / total, 5))
    return values, found


def _curves(curves: dict[str, tuple[list[float], list[float]]], unit: str) -> dict[str, Any]:
    first = min((xs[0] for xs, _ in curves.values() if xs), default=0)
    last = max((xs[-1] for xs, _ in curves.values() if xs), default=1)
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "name": look["name"],
                "x": [first, *xs, last],
                "y": [0, *shares_up_to, 1],
                "line": {
                    "color": look["colour"],
                    "dash": look["dash"],
                    "width": look["width"],
                    "shape": "hv",
                },
                "hovertemplate": "%{y:.0%} up to %{x} " + unit + "<extra>" + look["name"] + "</extra>",
            }
            for side, look in SIDES.items()
            for xs, shares_up_to in (curves[side],)
            if xs
        ],
        "layout": layout(
            260,
            margin=MARGIN,
            hovermode="closest",
            xaxis=axis(unit, **({"dtick": 1} if unit == "messages" and last - first <= FEW else {})),
            yaxis=axis("share", tickformat=".0%", range=[0, 1.03], gridcolor=LINE),
        ),
    }
