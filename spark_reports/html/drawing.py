"""How a page draws its Plotly charts: each figure as JSON in the page, and the scripts that draw them.

Rules: `plotly/` has the bundle of Plotly that reports contain and the site serves. It is the smallest one with the
kinds of charts that both draw (docs/dependencies.md has its version).
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from markupsafe import Markup

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
