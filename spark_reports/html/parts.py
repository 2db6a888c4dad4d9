"""What the report's sections are built of: a section, a table, and the frame in which a wide table
scrolls.
"""

from __future__ import annotations

from html import escape

LEFT = ' class="left"'


def section(title: str, says: str, body: str) -> str:
    """`title` is plain, `says` and `body` are HTML."""
    return f"<section><h2>{escape(title)}</h2><p>{says}</p>{body}</section>"


def table(head: list[str], rows: list[list[str]], classes: list[str] | None = None, words: int = 1) -> str:
    """Cells are HTML; the head is plain.

    `classes` mark rows; the first `words` columns are words and begin at the left.
    """

    def cells(kind: str, row: list[str]) -> str:
        return "".join(
            f"<{kind}{LEFT if 0 < place < words else ''}>{cell}</{kind}>" for place, cell in enumerate(row)
        )

    marks = classes or [""] * len(rows)
    lines = "".join(
        f'<tr class="{mark}">{cells("td", row)}</tr>' if mark else f"<tr>{cells('td', row)}</tr>"
        for row, mark in zip(rows, marks, strict=True)
    )
    return scrolling(
        f"<table><thead><tr>{cells('th', [escape(title) for title in head])}</tr></thead><tbody>{lines}</tbody></table>"
    )


def scrolling(content: str) -> str:
    """Wide content scrolls in its own frame, by keyboard too."""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table; scrolls sideways where it is '
        f'wide">{content}</div>'
    )


def chart(title: str, says: str, name: str, kind: str) -> str:
    """A place where Plotly draws."""
    return (
        f'<section><h2>{escape(title)}</h2><p>{escape(says)}</p><figure><div class="chart {kind}" '
        f'data-chart="{name}" role="img" aria-label="{escape(title)}"></div></figure></section>'
    )
