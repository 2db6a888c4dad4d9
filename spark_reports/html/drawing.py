"""How a page draws its Plotly charts: each figure as JSON in the page, and the script that draws them."""

from __future__ import annotations

import json
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


def chart_json(figure: dict[str, Any]) -> Markup:
    """A chart as JSON for a script element. No text in it can end the element."""
    return Markup(json.dumps(figure, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))
