"""Draws messages as squares, one each, in the hue and shape of their region."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from spark_reports.html.charts import region_colour, region_number
from spark_reports.html.templates import render

SQUARES_MOST = 400
"""Most squares drawn for one cause. Beyond it one square is several messages, as the text explains."""

CELLS = (
    "M{x} {y}h17v20h-17z",
    "M{x} {y}h17v8.5h-17zm0 11.5h17v8.5h-17z",
    "M{x} {y}h17v20h-17zm8.5 6.5a3.5 3.5 0 1 0 .01 0z",
    "M{x} {y}h17v5h-17zm0 7.5h17v5h-17zm0 7.5h17v5h-17z",
)
"""A message's shape by its region's number: whole, split, pierced, barred."""


COLUMNS, STEP_X, STEP_Y = 44, 19, 23
"""Squares in a row, and the distance between two in px."""


def per_square(count: int) -> int:
    """How many messages one square stands for, when this many are drawn."""
    return max(1, -(-count // SQUARES_MOST))


def squares_say(counts: Iterable[int], noun: str) -> str:
    """What one square of a section is, when its rows draw these numbers of messages."""
    if all(per_square(count) == 1 for count in counts):
        return f"One square is one {noun}."
    return f"One square is one {noun}, or several where its row says so."


def squares(by_origin: dict[str, int], clusters: list[str]) -> Markup:
    """Messages by the region that wrote them, in the hue and shape of the lab's page."""
    each = per_square(sum(by_origin.values()))
    place, origins = 0, []
    for origin in sorted(by_origin):
        drawn = -(-by_origin[origin] // each)
        shape = CELLS[region_number(origin, clusters) or 0]
        cells = "".join(
            shape.format(x=at % COLUMNS * STEP_X, y=at // COLUMNS * STEP_Y)
            for at in range(place, place + drawn)
        )
        colour = region_colour(origin, clusters)
        origins.append({"name": origin, "count": by_origin[origin], "cells": cells, "colour": colour})
        place += drawn
    return render(
        "html/templates/squares.html",
        width=min(place, COLUMNS) * STEP_X,
        height=-(-place // COLUMNS) * STEP_Y,
        origins=origins,
        each=each,
    )
