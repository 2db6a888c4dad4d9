"""The report page: one self-contained HTML text from the report's plain values.

Rules: every value is escaped; styles, Plotly and the figures are inlined, so the page opens offline and asks
for nothing; without scripts all words and tables are still there.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

from plotly.offline import get_plotlyjs

from spark_reports.html import charts, group_words, groups, migration, quiet_runs, sections
from spark_reports.html.comparison import comparison
from spark_reports.html.parts import scrolling
from spark_reports.html.what_if import what_if
from spark_reports.html.words import DEFINITIONS, number, plural, span

DRAW = """
function draw() {
  const style = getComputedStyle(document.documentElement);
  for (const place of document.querySelectorAll("[data-chart]")) {
    const told = document.getElementById(place.dataset.chart).textContent;
    const figure = JSON.parse(told.replaceAll(/var\\((--[a-z0-9-]+)\\)/g, (_, name) => style.getPropertyValue(name).trim()));
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

DETAILED_MOST = 8
"""Failovers that are told at length; a job over many traces lists the others in its table."""


def page(report: dict[str, Any]) -> str:
    """The whole page."""
    pairs = [(run, failover) for run in report["runs"] for failover in run["failovers"]]
    shared = [(run, group) for run in report["runs"] for group in run["groups"]]
    apart = _apart(report)
    body, alone = [_kick(report, pairs)], len(pairs) + len(shared) <= 1 and len(report["runs"]) == 1
    if not alone:
        body += [_overview(pairs), quiet_runs.overview(apart)]
    if len(apart) < len(report["runs"]) and not (alone and shared):
        body.append(groups.overview(shared))
    detailed = [(run, failover) for run, failover in pairs if failover.get("series")][:DETAILED_MOST]
    body += [_failover(run, failover, place, alone) for place, (run, failover) in enumerate(detailed)]
    body.append(quiet_runs.articles(apart, alone))
    told_groups = [
        (run, group, place) for place, (run, group) in enumerate(shared) if "streams_told" in group
    ]
    body += [groups.article(*told, alone) for told in told_groups]
    body.append(_method(report))
    figures = [
        _data(f"{name}-{place}", figure)
        for place, (run, failover) in enumerate(detailed)
        for name, figure in _figures(run, failover)
    ]
    told = [run for run in report["runs"] if any(run is other for other, _ in detailed)] + quiet_runs.quiet(
        apart
    )[: quiet_runs.DETAILED_MOST]
    figures += [
        _data(name, figure) for told_group in told_groups for name, figure in groups.charts(*told_group)
    ]
    figures += [_data(name, figure) for name, figure in quiet_runs.figures(told)]
    title = _title(report["runs"], pairs, shared)
    style = files("spark_reports.html").joinpath("report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
        'content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · Failover Lab "
        f'report</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main class="paper">\n'
        + "\n".join(body)
        + "\n</main>\n"
        + "\n".join(figures)
        + (f"\n<script>{get_plotlyjs()}</script>\n<script>{DRAW}</script>" if figures else "")
        + "\n</body>\n</html>\n"
    )


def _apart(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The runs of brokers in regions: those that could have failed over."""
    return [run for run in report["runs"] if run["protocol"] == "pulsar"]


def _title(
    runs: list[dict[str, Any]], pairs: list[tuple[dict, dict]], shared: list[tuple[dict, dict]]
) -> str:
    if len(pairs) == 1:
        failover = pairs[0][1]
        return f"{failover['subscription']} from {failover['from']} to {failover['to']}"
    if len(shared) == 1 and len(runs) == 1:
        return f"{shared[0][1]['name']}, a shared subscription"
    if not pairs:
        return runs[0]["title"] if len(runs) == 1 else plural(len(runs), "run", "runs")
    return plural(len(pairs), "failover", "failovers")


def _kick(report: dict[str, Any], pairs: list[tuple[dict, dict]]) -> str:
    runs = report["runs"]
    what = (
        f"{runs[0]['title']} · seed {runs[0]['seed']}" if len(runs) == 1 else plural(len(runs), "run", "runs")
    )
    return (
        f'<header class="kick"><b>Failover '
        f'Lab</b><span>{"Failover report" if pairs else "Report"}</span><span class="made">{escape(what)} '
        f"· made {escape(report['made_at'])}</span></header>"
    )


def _overview(pairs: list[tuple[dict, dict]]) -> str:
    """The sum over all failovers, and one line each; "" without any."""
    if not pairs:
        return ""
    twice, lost = (sum(failover[name] for _, failover in pairs) for name in ("duplicates", "lost"))
    head = (
        f"<h1>{plural(len(pairs), 'failover', 'failovers')} delivered <span "
        f'class="harm">{plural(twice, "message", "messages")} twice</span> and lost '
        f"<b>{number(lost) if lost else 'none'}</b>.</h1>"
    )
    rows = "".join(
        f"<tr><td>{escape(run['scenario'])}</td><td "
        f'class="left">{escape(failover["subscription"])}</td><td '
        f'class="left">{escape(failover["from"])} → {escape(failover["to"])}</td>'
        f"<td>{failover['at_us'] / 1e6:.3f}</td><td "
        f'class="{"harm" if failover["duplicates"] else "none"}">{number(failover["duplicates"])}</td>'
        f"<td>{number(failover['redeliveries'])}</td><td>{number(failover['stranded'])}</td><td "
        f'class="{"harm" if failover["lost"] else "none"}">{number(failover["lost"])}</td>'
        f"<td>{span(failover['outage_us'])}</td></tr>"
        for run, failover in pairs
    )
    return (
        head
        + "<section><h2>Every failover</h2>"
        + scrolling(
            '<table><thead><tr><th>run</th><th class="left">subscription</th><th '
            'class="left">moved</th><th>at, s</th>'
            f"<th>twice</th><th>redelivered</th><th>stranded</th><th>lost</th><th>outage</th></tr></thead><tbody>{rows}</tbody></table>"
        )
        + "</section>"
    )


def _failover(run: dict[str, Any], failover: dict[str, Any], place: int, alone: bool) -> str:
    """One failover from sentence to causal chain."""
    parts = [
        sections.headline(run, failover, alone),
        sections.figures(failover),
        sections.causes(run, failover),
        sections.losses(failover),
        migration.sections(run) if failover is _first_move(run) else "",
        comparison(run, failover),
        what_if(run, failover["number"]),
        sections.chart(
            "Around the failover",
            (
                "Deliveries to the subscription's consumers. Below: the messages that would come twice if "
                "the consumers moved at that instant and, after the move, those still to come."
            ),
            f"timeline-{place}",
            "tall",
        ),
        sections.chart(
            "Where each cursor stood",
            (
                "The thin line is the end of the log, the thick one the mark-delete, in entries. What lies "
                "between is what a consumer starting there reads."
            ),
            f"positions-{place}",
            "wide",
        ),
        sections.chart(
            "How far behind",
            (
                f"Sync lag: the age of the oldest message that {failover['to']} holds and its cursor does "
                "not cover."
            ),
            f"lag-{place}",
            "wide",
        ),
        sections.forecast(failover),
        sections.snapshots(failover),
        sections.consumers(failover),
        sections.keys(failover),
        sections.stories(failover),
        quiet_runs.systems(run),
        sections.run_tables(run),
        sections.replay(run),
    ]
    return (
        f'<article class="{"" if alone else "part"}">'
        + "\n".join(part for part in parts if part)
        + "</article>"
    )


def _first_move(run: dict[str, Any]) -> dict[str, Any] | None:
    """The failover under which a run's migrations are told: its first."""
    return run["failovers"][0] if run["failovers"] else None


def _figures(run: dict[str, Any], failover: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("timeline", charts.timeline(failover, run["clusters"])),
        ("positions", charts.positions(failover)),
        ("lag", charts.lag(failover)),
    ]


def _data(name: str, figure: dict[str, Any]) -> str:
    text = json.dumps(figure, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _method(report: dict[str, Any]) -> str:
    kinds = [
        (DEFINITIONS, _apart(report)),
        (group_words.DEFINITIONS, [run for run in report["runs"] if run["protocol"] == "emqx"]),
    ]
    terms = "".join(
        f"<dt>{escape(term)}</dt><dd>{escape(says)}</dd>"
        for definitions, runs in kinds
        if runs
        for term, says in definitions
    )
    made = report["made_by"]
    facts = (
        ("counted by", f"Spark {made['spark']} on {made['master']}"),
        ("rows", number(sum(run["rows"] for run in report["runs"]))),
        ("taken", f"{made['seconds']:.1f} s"),
    )
    told = "".join(f"<dt>{escape(term)}</dt><dd>{escape(str(says))}</dd>" for term, says in facts)
    return (
        '<section class="columns"><div><h2>Definitions</h2><dl class="definitions">'
        + terms
        + "</dl></div><div><h2>Method</h2><p>Every figure is counted from the rows of the trace alone: "
        "what happened before something is what has a smaller row number. A cause is the first of an "
        "ordered list that holds, so causes never overlap and add up to the total. "
        f"The counting in Spark and the simulator's own are two programs; a test compares them figure "
        f'by figure.</p><dl class="facts">{told}</dl></div></section>'
    )
