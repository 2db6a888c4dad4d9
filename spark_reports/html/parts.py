"""Parts of the report's sections: a section, a table, a chart's place, and marked figures.

Rules: `Markup` is HTML. Everything else is plain text, which is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from simulator import glossary
from spark_reports.html.charts import region_colour, region_number
from spark_reports.html.numbers import number, plural, seconds, size, span

ENVIRONMENT = Environment(
    loader=PackageLoader("spark_reports", "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters.update(number=number, plural=plural, seconds=seconds, size=size, span=span)


def render(template: str, /, **values: Any) -> Markup:
    """The HTML of a template, named by its path inside `spark_reports`.

    `Markup` values are HTML, others plain text.

    Rules: autoescape is on everywhere, an undefined name is an error, and only `Markup` passes unescaped.
    Templates are read through the package's own loader, so that they are also found in the zip archive that
    spark-submit ships.
    """
    return Markup(ENVIRONMENT.get_template(template).render(**values))


def from_glossary(*names: str) -> tuple[tuple[str, str], ...]:
    """The name and the definition of each of these terms, from the glossary.

    Raises KeyError for an unknown term.

    A report is a file that is passed on, so it contains them and does not link to them.
    """
    terms = glossary.catalogue().by_label
    return tuple((terms[name.lower()].name, terms[name.lower()].plain) for name in names)


NOTHING = Markup("")


def section(title: str, says: str, body: Markup = NOTHING) -> Markup:
    """A heading, a sentence and the content below."""
    return render("html/templates/section.html", title=title, says=says, body=body)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    classes: Sequence[str] | None = None,
    words: int = 1,
    kind: str = "",
) -> Markup:
    """A table in its own frame, which scrolls if the table is wide.

    `classes` mark rows. The first `words` columns are text and left-aligned. `kind` is a class of the table.
    """
    marked = list(zip(classes or [""] * len(rows), rows, strict=True))
    return render("html/templates/table.html", head=head, rows=marked, words=words, kind=kind)


def chart(
    title: str, says: str, name: str, kind: str = "", label: str = "", height_px: int | None = None
) -> Markup:
    """A section in which Plotly draws the figure `name`.

    `kind` is a class with a height, unless `height_px` sets one. `label` describes what the chart shows
    (default: its title).
    """
    values = {"title": title, "says": says, "name": name, "kind": kind, "height_px": height_px}
    return render("html/templates/chart.html", label=label or title, **values)


def bold(text: object) -> Markup:
    """The main figure of a sentence, in bold."""
    return Markup("<b>{}</b>").format(text)


def harm(text: object) -> Markup:
    """A figure in a sentence that is a loss or a duplicate."""
    return Markup('<span class="harm">{}</span>').format(text)


def harm_cell(text: object) -> Markup:
    """A table cell that is a loss, a duplicate or a failure."""
    return Markup('<span class="harm-text">{}</span>').format(text)


def article(parts: Sequence[Markup], alone: bool) -> Markup:
    """One subject of the page; `alone` if it is the only one."""
    return render("html/templates/article.html", parts=[part for part in parts if part], alone=alone)


class _Gaps(dict):
    def __missing__(self, name: str) -> str:
        return "?"


def clause(wordings: Mapping[str, str], row: dict[str, Any]) -> str:
    """The wording of the row's event type with the row's values; "?" for a missing value."""
    wording = wordings.get(row["type"], row["type"].replace(".", " "))
    return wording.format_map(_Gaps({name: value for name, value in row.items() if value is not None}))


# --- draws messages as squares, one each, in the hue and shape of their region


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
