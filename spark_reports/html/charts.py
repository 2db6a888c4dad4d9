"""The common parts of a report's Plotly charts: colours, axes, layout, the hues of regions.

Rules: colours are those of the lab's page (crimson for harm, ink, indigo for the protocol, a hue for each
region). Every hue is also marked by a symbol, a dash or a position. There is no animation. Instants are
seconds of simulated time.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from markupsafe import Markup

# --- how a page draws its Plotly charts: each figure as JSON in the page, and the scripts that draw them
#
# Rules: `plotly/` has the bundle of Plotly that reports contain and the site serves. It is the smallest one
# with the kinds of charts that both draw (docs/dependencies.md has its version).


DRAW = """
function draw() {
  const style = getComputedStyle(document.documentElement);
  for (const place of document.querySelectorAll("[data-chart]")) {
    const text = document.getElementById(place.dataset.chart).textContent;
    const figure = JSON.parse(text.replaceAll(/var\\((--[a-z0-9-]+)\\)/g, (_, name) => style.getPropertyValue(name).trim()));
    Plotly.react(place, figure.data, figure.layout, { displayModeBar: false, responsive: true });
  }
}
function paper(printed) {
  document.documentElement.toggleAttribute("data-paper", printed);
  draw();
}
draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
addEventListener("beforeprint", () => paper(true));
addEventListener("afterprint", () => paper(false));
"""
"""Script that draws the charts in the page's current colours, and in the light ones for paper."""


BUNDLE = "plotly-basic.min.js"
BUNDLED = ("bar", "pie", "scatter")
"""Kinds of charts in the bundle."""


def plotly_script() -> Markup:
    """The library that draws the charts, for a script element."""
    return Markup(files("spark_reports.html").joinpath("plotly", BUNDLE).read_text(encoding="utf-8"))


def chart_json(figure: dict[str, Any]) -> Markup:
    """A chart as JSON for a script element. No text in it can end the element.

    Raises ValueError for a kind of chart that the bundle does not have: Plotly would draw a scatter plot instead.
    """
    kinds = {trace.get("type", "scatter") for trace in figure["data"]}
    if not kinds <= set(BUNDLED):
        raise ValueError(
            f"{sorted(kinds - set(BUNDLED))} is not in {BUNDLE}, which draws {', '.join(BUNDLED)}; "
            f"use one of these, or a larger bundle of Plotly"
        )
    return Markup(json.dumps(figure, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


HARM, HARM_VEIL, INK, INK_2, GREY, LINE, PROTOCOL = (
    f"var(--{name})" for name in ("harm", "harm-veil", "ink", "ink-2", "line-strong", "line", "proto")
)
"""Colours of `report.css`.

The page inserts their values when it draws, so that charts follow light, dark and paper.
"""

ORIGINS = 4
"""Number of hues and shapes of regions, the same as on the lab's page."""

NAMED_HUES = {"blue": 0, "amber": 1, "orange": 1, "green": 2, "teal": 2, "olive": 3, "yellow": 3}
"""Hues by colour words in cluster names: a cluster named green must not be drawn amber.

The page's `theme.js` has the same table.
"""

FONT = {
    "family": 'Inter, "Segoe UI", "Helvetica Neue", "Liberation Sans", Arial, sans-serif',
    "size": 12,
    "color": INK_2,
}


def region_number(cluster: str | None, clusters: list[str]) -> int | None:
    """The number of a region's shape: its index in the sorted names."""
    return clusters.index(cluster) % ORIGINS if cluster in clusters else None


def region_colour(cluster: str | None, clusters: list[str]) -> str:
    """The hue of a region."""
    number = region_number(cluster, clusters)
    return GREY if number is None else f"var(--origin-{hues_of(clusters)[number]})"


def hues_of(clusters: list[str]) -> list[int]:
    """The hue of each region number: the number itself, or the colour that the region's name contains."""
    wanted = [_hue_in(cluster) for cluster in [*clusters[:ORIGINS], *[""] * (ORIGINS - len(clusters))]]
    claimed = [
        hue if hue is not None and wanted.index(hue) == number else None for number, hue in enumerate(wanted)
    ]
    free = [hue for hue in range(ORIGINS) if hue not in claimed]
    return [
        free.pop(free.index(number) if number in free else 0) if hue is None else hue
        for number, hue in enumerate(claimed)
    ]


def _hue_in(name: str) -> int | None:
    return next((NAMED_HUES[word] for word in re.split(r"[^a-z]+", name.lower()) if word in NAMED_HUES), None)


def layout(height: int, **more: Any) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 56, "r": 12, "t": 44, "b": 34},
        "font": FONT,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.1, "yanchor": "bottom", "font": {"size": 11}},
        "hovermode": "x unified",
        "bargap": 0,
        **more,
    }


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"size": 11}},
        "gridcolor": LINE,
        "zeroline": False,
        "linecolor": GREY,
        "ticks": "outside",
        "tickcolor": LINE,
        **more,
    }
