"""The comparison as one HTML file that opens offline.

Rules: every value is escaped. Styles, Plotly and figures are inlined. Links lead to the files of the runs,
relative to the page; no other address is in it. Equal pairs in equal folders give equal bytes.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from simulator import ENGINE_VERSION
from spark_reports.html.drawing import DRAW, chart_json, plotly_script
from spark_reports.html.templates import render
from spark_reports.protocols.pulsar.fidelity.run_files import links


def page(content: dict[str, Any], folders: dict[str, Path], out: Path) -> str:
    """The whole page; `folders` are those of the jobs by anchor, `out` is where the page will be."""

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
