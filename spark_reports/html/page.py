"""The report page: one self-contained HTML text from the report's plain values.

Rules: every value is escaped. Styles, Plotly and the figures are inlined, so the page opens offline and makes
no request. Without scripts it still has all text and tables.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from markupsafe import Markup

from spark_reports.html.charts import DRAW, chart_json, plotly_script
from spark_reports.html.numbers import plural
from spark_reports.html.sections import render
from spark_reports.protocols.manifest import Heading
from spark_reports.protocols.table import with_runs


def page(report: dict[str, Any]) -> str:
    """The whole page as HTML."""
    runs = report["runs"]
    protocols = with_runs(runs)
    alone = len(runs) == 1 and all(
        len(protocol.subjects(run)) <= 1 for protocol, own in protocols for run in own
    )
    headings = [protocol.page.heading(own, alone) for protocol, own in protocols]
    body = [html for protocol, own in protocols for html in protocol.page.overview(own, alone)]
    body += [html for protocol, own in protocols for html in protocol.page.articles(own, alone)]
    return render(
        "html/templates/page.html",
        heading=next((one for one in headings if one), _plain_heading(runs)),
        style=Markup(files("spark_reports.html").joinpath("report.css").read_text(encoding="utf-8")),
        runs=runs,
        made_at=report["made_at"],
        made_by=report["made_by"],
        body=body,
        definitions=dict.fromkeys(term for protocol, _ in protocols for term in protocol.page.definitions),
        figures=[
            (name, chart_json(figure))
            for protocol, own in protocols
            for name, figure in protocol.page.figures(own)
        ],
        plotly=plotly_script(),
        draw=Markup(DRAW),
    )


def _plain_heading(runs: list[dict[str, Any]]) -> Heading:
    return Heading(runs[0]["title"] if len(runs) == 1 else plural(len(runs), "run", "runs"), "Report")
