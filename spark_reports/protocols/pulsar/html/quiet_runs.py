"""Runs without a failover: each has a sentence about its main result, and its tables; a job over several
lists them first.

Rules: the sentence is the first that a system of the run gives; a run about none of them states the cost of
markers.
"""

from __future__ import annotations

from html import escape
from typing import Any

from spark_reports.html.numbers import plural
from spark_reports.html.parts import section, table
from spark_reports.html.replay import replay
from spark_reports.protocols.pulsar.html import creation, latency, migration, sections, shadows

DETAILED_MOST = 8
"""Runs without a failover that are described in full; a job over many lists the others in its table."""

SENTENCES = (migration.sentence, creation.sentence, shadows.sentence, latency.sentence, shadows.saving)
"""What went wrong before what went well."""


def quiet(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs that this part is about."""
    return [run for run in runs if not run["failovers"]]


def articles(runs: list[dict[str, Any]], alone: bool) -> str:
    """Those of `runs` that had no failover, in full; `alone`: the page is about this one run."""
    told = quiet(runs)
    return "".join(_article(run, alone) for run in told[:DETAILED_MOST])


def overview(runs: list[dict[str, Any]]) -> str:
    """One line each, and the headline where none of them has a failover; "" without such
    runs.
    """
    told = quiet(runs)
    if not told:
        return ""
    rows = [[escape(run["scenario"]), str(run["seed"]), _sentence(run)] for run in told]
    more = f" The first {DETAILED_MOST} are described in full below." if len(told) > DETAILED_MOST else ""
    head = (
        (f"<h1>{plural(len(runs), 'run', 'runs')}, none with a failover.</h1>")
        if len(told) == len(runs)
        else ""
    )
    title = "Every run" if head else "Runs without a failover"
    return head + section(
        title,
        f"The main result of each.{more}",
        '<div class="sentences">' + table(["run", "seed", "result"], rows, words=3) + "</div>",
    )


def systems(run: dict[str, Any]) -> str:
    """The sections beside failovers and migrations: topic creation, shadow topics, declared brokers."""
    return (
        creation.sections(run, f"creation-{run['run']}")
        + shadows.sections(run, f"shadows-{run['run']}")
        + latency.sections(run)
    )


def figures(runs: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Name and figure of each chart that `systems` of these runs has a place for."""
    drawn = [(f"creation-{run['run']}", creation.figure(run)) for run in runs if creation.drawn(run)]
    return drawn + [(f"shadows-{run['run']}", shadows.figure(run)) for run in runs if run.get("shadows")]


def _article(run: dict[str, Any], alone: bool) -> str:
    title = f"<h1>{_sentence(run)}</h1>" if alone else f'<h1 class="part-title">{_sentence(run)}</h1>'
    dek = f'<p class="dek">{escape(run["title"])}: a run without a failover.</p>'
    kind = "" if alone else ' class="part"'
    return (
        f"<article{kind}>{title}{dek}"
        + migration.sections(run)
        + systems(run)
        + sections.run_tables(run)
        + replay(run)
        + "</article>"
    )


def _sentence(run: dict[str, Any]) -> str:
    for sentence in SENTENCES:
        says = sentence(run)
        if says is not None:
            return says
    delivered = sum(
        told["delivered"] for clusters in run["subscriptions"].values() for told in clusters.values()
    )
    share = run["marker_share"]["entries"]
    cost = f"markers took <b>{share:.1%}</b> of the logs' entries" if share else "no markers were written"
    return (
        f"{plural(delivered, 'delivery', 'deliveries')}, and {cost}."
        if delivered
        else f"Nothing was delivered, and {cost}."
    )
