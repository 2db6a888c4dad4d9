"""What the report's sections are built of: a section, a table, a chart's place, and the frame in which a
wide table scrolls.
"""

from __future__ import annotations

from markupsafe import Markup

from spark_reports.html.templates import render


def section(title: str, says: str, body: str) -> str:
    """`title` is plain, `says` and `body` are HTML."""
    return render("html/templates/section.html", title=title, says=Markup(says), body=Markup(body))


def table(head: list[str], rows: list[list[str]], classes: list[str] | None = None, words: int = 1) -> str:
    """Cells are HTML; the head is plain.

    `classes` mark rows; the first `words` columns are words and begin at the left.
    """
    marked = [
        (mark, [Markup(cell) for cell in row])
        for mark, row in zip(classes or [""] * len(rows), rows, strict=True)
    ]
    return render("html/templates/table.html", head=head, rows=marked, words=words)


def scrolling(content: str) -> str:
    """HTML that scrolls in its own frame where it is wide, by keyboard too."""
    return render("html/templates/scrolling.html", content=Markup(content))


def chart(
    title: str, says: str, name: str, kind: str = "", label: str = "", height_px: int | None = None
) -> str:
    """A section in which Plotly draws the figure `name`; all values are plain.

    `kind` is a class with a height, unless `height_px` sets one. `label` says what the chart shows (default:
    its title).
    """
    values = {"title": title, "says": says, "name": name, "kind": kind, "height_px": height_px}
    return render("html/templates/chart.html", label=label or title, **values)
