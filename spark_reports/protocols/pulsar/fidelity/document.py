"""Writes the table of all jobs into a document, between two marker comments.

`python -m spark_reports fidelity … --write docs/fidelity.md` replaces what is between
`<!-- measured: real brokers -->` and `<!-- end: real brokers -->`. The rest of the document is unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spark_reports.protocols.pulsar.fidelity.content import overview
from spark_reports.protocols.pulsar.fidelity.fields import PairsError

BEGIN, END = "<!-- measured: real brokers -->", "<!-- end: real brokers -->"
BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)

NOT_MEASURED = "No comparison has been measured with this version yet."


def checked(document: Path) -> Path:
    """The document, which has to have both markers. Raises PairsError."""
    if not document.is_file() or not BLOCK.search(document.read_text(encoding="utf-8")):
        raise PairsError(f"{document}: needs the lines {BEGIN} and {END}; the table is written between them")
    return document


def write_table(document: Path, summary: dict[str, Any], not_measured: Sequence[dict[str, str]] = ()) -> None:
    """Replace the table of a document, and the list of jobs that have not been measured."""
    text = checked(document).read_text(encoding="utf-8")
    rest = f"\n\n{not_measured_words(not_measured)}" if not_measured else ""
    block = f"{BEGIN}\n{table(summary)}{rest}\n{END}"
    document.write_text(BLOCK.sub(lambda _: block, text, count=1), encoding="utf-8")


def not_measured_words(jobs: Sequence[dict[str, str]]) -> str:
    """The jobs without runs as a sentence of the document."""
    names = ", ".join(f"`{one['job']}`" for one in jobs)
    return f"Not measured yet: {names}."


def table(summary: dict[str, Any] | None) -> str:
    """All jobs as a Markdown table, or the sentence that nothing has been measured."""
    if summary is None:
        return NOT_MEASURED
    found = overview(summary["jobs"])
    lines = [found["head"], ["---"] * len(found["head"]), *(row["cells"] for row in found["rows"])]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |" for cells in lines)
