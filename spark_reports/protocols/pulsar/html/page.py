"""Failovers on the report's page: the list of all, and an article about each."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from spark_reports.html.numbers import plural
from spark_reports.html.sections import NOTHING, article, chart, render, replay, what_if
from spark_reports.protocols.manifest import Figure, Heading
from spark_reports.protocols.pulsar.assemble import DETAILED_MOST
from spark_reports.protocols.pulsar.html import charts, migration, runs_without_failover, sections
from spark_reports.protocols.pulsar.html.comparison import comparison
from spark_reports.protocols.pulsar.html.sections import TEMPLATES

KIND = "Failover report"


def heading(runs: list[dict[str, Any]], alone: bool) -> Heading | None:
    """The page's heading, with the failover or the number of failovers; None without any."""
    failovers = [failover for _, failover in _pairs(runs)]
    if not failovers:
        return None
    if len(failovers) > 1:
        return Heading(plural(len(failovers), "failover", "failovers"), KIND)
    one = failovers[0]
    return Heading(f"{one['subscription']} from {one['from']} to {one['to']}", KIND)


def overview(runs: list[dict[str, Any]], alone: bool) -> list[Markup]:
    """The list of failovers and of runs without one, one line each; empty when the page has one subject."""
    return (
        []
        if alone
        else [html for html in (_overview(_pairs(runs)), runs_without_failover.overview(runs)) if html]
    )


def articles(runs: list[dict[str, Any]], alone: bool) -> list[Markup]:
    """The articles of the failovers described in full, then of the runs without one."""
    found = [_failover(run, failover, place, alone) for place, (run, failover) in enumerate(_detailed(runs))]
    return found + runs_without_failover.articles(runs, alone)


def figures(runs: list[dict[str, Any]]) -> list[Figure]:
    """The charts of these articles."""
    detailed = _detailed(runs)
    found = [
        (f"{name}-{place}", figure)
        for place, (run, failover) in enumerate(detailed)
        for name, figure in _figures(run, failover)
    ]
    with_systems = [run for run in runs if any(run is other for other, _ in detailed)]
    return found + runs_without_failover.figures(
        with_systems + runs_without_failover.without_failover(runs)[: runs_without_failover.DETAILED_MOST]
    )


def _pairs(runs: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(run, failover) for run in runs for failover in run["failovers"]]


def _detailed(runs: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The failovers described in full, which are those with counted curves."""
    return [(run, failover) for run, failover in _pairs(runs) if failover.get("series")][:DETAILED_MOST]


def _overview(pairs: list[tuple[dict, dict]]) -> Markup:
    """The sum over all failovers, and one line for each; "" without any."""
    if not pairs:
        return NOTHING
    twice, lost = (sum(failover[name] for _, failover in pairs) for name in ("duplicates", "lost"))
    open_ = sum(bool(failover["pending_repeats"]) for _, failover in pairs)
    return render(
        f"{TEMPLATES}/failovers.html",
        pairs=pairs,
        twice=twice,
        lost=lost,
        open=open_,
        lower_bound=sections.lower_bound,
    )


def _failover(run: dict[str, Any], failover: dict[str, Any], place: int, alone: bool) -> Markup:
    """The article of one failover, from the headline to single messages."""
    parts = [
        sections.headline(run, failover, alone),
        sections.figures(run, failover),
        sections.causes(run, failover),
        sections.losses(failover),
        migration.sections(run) if failover is _first_move(run) else NOTHING,
        comparison(run, failover),
        what_if(run, failover["number"]),
        chart(
            "Deliveries around the failover",
            (
                "Deliveries to the subscription's consumers. Bottom: before the move, how many duplicates a "
                "move at that instant would cause; after it, how many are still to be delivered."
            ),
            f"timeline-{place}",
            "tall",
        ),
        chart(
            "Cursor and end of the log",
            (
                "Thin line: last entry of the log. Thick line: mark-delete position. Shaded: what a consumer that "
                "starts there would read."
            ),
            f"positions-{place}",
            "wide",
        ),
        chart(
            "Sync lag",
            (f"Age of the oldest message that {failover['to']} stores and its cursor does not cover."),
            f"lag-{place}",
            "wide",
        ),
        sections.forecast(failover),
        sections.snapshots(run, failover),
        sections.consumers(failover),
        sections.keys(failover),
        sections.stories(failover),
        runs_without_failover.systems(run),
        sections.run_tables(run),
        replay(run),
    ]
    return article(parts, alone)


def _first_move(run: dict[str, Any]) -> dict[str, Any] | None:
    """The failover that shows a run's migrations: its first."""
    return run["failovers"][0] if run["failovers"] else None


def _figures(run: dict[str, Any], failover: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("timeline", charts.timeline(failover, run["clusters"])),
        ("positions", charts.positions(failover)),
        ("lag", charts.lag(failover)),
    ]
