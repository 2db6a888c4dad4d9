"""The comparison as one HTML file that opens offline, and as a table in a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from simulator import ENGINE_VERSION
from spark_reports.html.charts import DRAW, chart_json, plotly_script
from spark_reports.html.sections import render
from spark_reports.protocols.pulsar.fidelity.content import overview
from spark_reports.protocols.pulsar.fidelity.pairs import PairsError
from spark_reports.protocols.pulsar.fidelity.run_files import links


def page(content: dict[str, Any], folders: dict[str, Path], out: Path) -> str:
    """The whole page; `folders` are those of the jobs by anchor, `out` is where the page will be.

    Rules: every value is escaped. Styles, Plotly and figures are inlined. Links lead to the files of the
    runs, relative to the page; no other address is in it. Equal pairs in equal folders give equal bytes.
    """

    blocks = [*content["overview"], *(block for job in content["jobs"] for block in job["blocks"])]
    style = files("spark_reports.html").joinpath("report.css").read_text(encoding="utf-8")
    own = (
        files("spark_reports.protocols.pulsar.fidelity").joinpath("fidelity.css").read_text(encoding="utf-8")
    )
    return render(
        "protocols/pulsar/fidelity/templates/page.html",
        content=content,
        engine=ENGINE_VERSION,
        style=Markup(style + own),
        links=lambda anchor, folder: links(folders[anchor] / folder, out),
        figures=[
            (block["name"], chart_json(block["figure"])) for block in blocks if block["kind"] == "chart"
        ],
        plotly=plotly_script(),
        draw=Markup(DRAW),
    )


# --- writes the table of all jobs into a document, between two marker comments
#
# `python -m spark_reports fidelity … --write docs/fidelity.md` replaces what is between `<!-- measured:
# real brokers -->` and `<!-- end: real brokers -->`. The rest of the document is unchanged.


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
