"""The common parts of a report's Plotly charts: colours, axes, layout, the hues of regions.

Rules: colours are those of the lab's page (crimson for harm, ink, indigo for the protocol, a hue for each
region). Every hue is also marked by a symbol, a dash or a position. There is no animation. Instants are
seconds of simulated time.
"""

from __future__ import annotations

import re
from typing import Any

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
