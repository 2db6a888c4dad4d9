"""The report page: one self-contained HTML text from the report's plain values.

Rules: every value is escaped; styles, Plotly and the figures are inlined, so the page opens offline and asks
for nothing; without scripts all text and tables are still there.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

from plotly.offline import get_plotlyjs

from spark_reports.html.numbers import number, plural
from spark_reports.protocols.manifest import Heading
from spark_reports.protocols.table import with_runs

DRAW = """
function draw() {
  const style = getComputedStyle(document.documentElement);
  for (const place of document.querySelectorAll("[data-chart]")) {
    const text = document.getElementById(place.dataset.chart).textContent;
    const figure = JSON.parse(text.replaceAll(/var\\((--[a-z0-9-]+)\\)/g, (_, name) => style.getPropertyValue(name).trim()));
    Plotly.react(place, figure.data, figure.layout, { displayModeBar: false, responsive: true });
  }
}
function paper(printed) {
  document.documentElement.toggleAttribute("data-paper", printed);
  draw();
}
draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
addEventListener("beforeprint", () => paper(true));
addEventListener("afterprint", () => paper(false));
"""
"""Charts take the page's own colours, and the light ones for paper."""


def page(report: dict[str, Any]) -> str:
    """The whole page."""
    runs = report["runs"]
    protocols = with_runs(runs)
    alone = len(runs) == 1 and all(
        len(protocol.subjects(run)) <= 1 for protocol, own in protocols for run in own
    )
    headings = [protocol.page.heading(own, alone) for protocol, own in protocols]
    heading = next((one for one in headings if one), _plain_heading(runs))
    body = [_kick(report, heading)]
    body += [html for protocol, own in protocols for html in protocol.page.overview(own, alone)]
    body += [html for protocol, own in protocols for html in protocol.page.articles(own, alone)]
    body.append(_method(report))
    figures = [_data(*figure) for protocol, own in protocols for figure in protocol.page.figures(own)]
    style = files("spark_reports.html").joinpath("report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
        'content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(heading.title)} · Failover Lab "
        f'report</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main class="paper">\n'
        + "\n".join(body)
        + "\n</main>\n"
        + "\n".join(figures)
        + (f"\n<script>{get_plotlyjs()}</script>\n<script>{DRAW}</script>" if figures else "")
        + "\n</body>\n</html>\n"
    )


def _plain_heading(runs: list[dict[str, Any]]) -> Heading:
    return Heading(runs[0]["title"] if len(runs) == 1 else plural(len(runs), "run", "runs"), "Report")


def _kick(report: dict[str, Any], heading: Heading) -> str:
    runs = report["runs"]
    what = (
        f"{runs[0]['title']} · seed {runs[0]['seed']}" if len(runs) == 1 else plural(len(runs), "run", "runs")
    )
    return (
        f'<header class="kick"><b>Failover '
        f'Lab</b><span>{heading.kind}</span><span class="made">{escape(what)} '
        f"· made {escape(report['made_at'])}</span></header>"
    )


def _data(name: str, figure: dict[str, Any]) -> str:
    text = json.dumps(figure, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _method(report: dict[str, Any]) -> str:
    terms = "".join(
        f"<dt>{escape(term)}</dt><dd>{escape(says)}</dd>"
        for protocol, _runs in with_runs(report["runs"])
        for term, says in protocol.page.definitions
    )
    made = report["made_by"]
    facts = (
        ("counted by", f"Spark {made['spark']} on {made['master']}"),
        ("rows", number(sum(run["rows"] for run in report["runs"]))),
        ("duration", f"{made['seconds']:.1f} s"),
    )
    told = "".join(f"<dt>{escape(term)}</dt><dd>{escape(str(says))}</dd>" for term, says in facts)
    return (
        '<section class="columns"><div><h2>Definitions</h2><dl class="definitions">'
        + terms
        + "</dl></div><div><h2>Method</h2><p>Every figure is counted from the rows of the trace alone: "
        "an event is earlier than another when its row number is smaller. A cause is the first of an ordered "
        "list that holds, so causes never overlap and add up to the total. "
        f"Spark and the simulator count independently; a test compares them figure "
        f'by figure.</p><dl class="facts">{told}</dl></div></section>'
    )
