"""Messages drawn as squares, one each, in the hue and shape of their region."""

from __future__ import annotations

from html import escape

from spark_reports.html.charts import region_colour, region_number
from spark_reports.html.numbers import number

SQUARES_MOST = 400
"""Squares drawn for one cause: beyond it one square stands for several messages, and the text says so."""

CELLS = (
    "M{x} {y}h17v20h-17z",
    "M{x} {y}h17v8.5h-17zm0 11.5h17v8.5h-17z",
    "M{x} {y}h17v20h-17zm8.5 6.5a3.5 3.5 0 1 0 .01 0z",
    "M{x} {y}h17v5h-17zm0 7.5h17v5h-17zm0 7.5h17v5h-17z",
)
"""A message's cell by its region's number: whole, split, pierced, barred."""


def squares(by_origin: dict[str, int], clusters: list[str]) -> str:
    """Messages by the region that wrote them, hue and shape as in the lab."""
    count = sum(by_origin.values())
    each = -(-count // SQUARES_MOST)
    columns, place, paths = 44, 0, []
    for origin in sorted(by_origin):
        drawn = -(-by_origin[origin] // each)
        shape = CELLS[region_number(origin, clusters) or 0]
        cells = "".join(
            shape.format(x=at % columns * 19, y=at // columns * 23) for at in range(place, place + drawn)
        )
        paths.append(
            f'<path d="{cells}" fill="{region_colour(origin, clusters)}" '
            f'fill-rule="evenodd"><title>{number(by_origin[origin])} from {escape(origin)}</title></path>'
        )
        place += drawn
    width, height = min(place, columns) * 19, -(-place // columns) * 23
    note = "" if each == 1 else f'<div class="ids">One square is {each} messages.</div>'
    says = ", ".join(f"{number(by_origin[origin])} from {escape(origin)}" for origin in sorted(by_origin))
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{says}">{"".join(paths)}</svg>{note}'
    )
