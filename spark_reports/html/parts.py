"""Parts of the report's sections: a section, a table, a chart's place, and marked figures.

Rules: `Markup` is HTML. Everything else is plain text, which is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from spark_reports.html.templates import render

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
