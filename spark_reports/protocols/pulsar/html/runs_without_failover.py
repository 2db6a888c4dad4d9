"""Runs without a failover: each has a sentence about its main result, and its tables.

A report over several runs lists them first. Rules: the sentence is the first that a section's module returns
for the run. If none does, it states the cost of markers.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from spark_reports.html.numbers import plural
from spark_reports.html.sections import NOTHING, article, bold, render, replay, section, table
from spark_reports.protocols.pulsar.html import creation, latency, migration, sections, shadows
from spark_reports.protocols.pulsar.html.sections import TEMPLATES

DETAILED_MOST = 8
"""Most runs without a failover described in full. A report over many lists the others in its table."""

SENTENCES = (migration.sentence, creation.sentence, shadows.sentence, latency.sentence, shadows.saving)
"""Functions that return a run's sentence: losses and failures first."""


def without_failover(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs without a failover."""
    return [run for run in runs if not run["failovers"]]


def articles(runs: list[dict[str, Any]], alone: bool) -> list[Markup]:
    """The articles of the runs without a failover; `alone`: the page is about this one run."""
    return [_article(run, alone) for run in without_failover(runs)[:DETAILED_MOST]]


def overview(runs: list[dict[str, Any]]) -> Markup:
    """One line per run, and the headline where no run has a failover; "" without such runs."""
    found = without_failover(runs)
    if not found:
        return NOTHING
    rows = [[run["scenario"], str(run["seed"]), _sentence(run)] for run in found]
    more = f" The first {DETAILED_MOST} are described in full below." if len(found) > DETAILED_MOST else ""
    only = len(found) == len(runs)
    head = Markup("<h1>{}, none with a failover.</h1>").format(plural(len(runs), "run", "runs"))
    listed = section(
        "Every run" if only else "Runs without a failover",
        f"The main result of each.{more}",
        table(["run", "seed", "result"], rows, words=3, kind="sentences"),
    )
    return head + listed if only else listed


def systems(run: dict[str, Any]) -> Markup:
    """The sections beside failovers and migrations: topic creation, shadow topics, declared brokers."""
    return (
        creation.sections(run, f"creation-{run['run']}")
        + shadows.sections(run, f"shadows-{run['run']}")
        + latency.sections(run)
    )


def figures(runs: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The name and figure of each chart that `systems` of these runs has a place for."""
    drawn = [(f"creation-{run['run']}", creation.figure(run)) for run in runs if creation.drawn(run)]
    return drawn + [(f"shadows-{run['run']}", shadows.figure(run)) for run in runs if run.get("shadows")]


def _article(run: dict[str, Any], alone: bool) -> Markup:
    return article(
        [
            render(
                f"{TEMPLATES}/headline_without_failover.html",
                sentence=_sentence(run),
                title=run["title"],
                alone=alone,
            ),
            migration.sections(run),
            systems(run),
            sections.run_tables(run),
            replay(run),
        ],
        alone,
    )


def _sentence(run: dict[str, Any]) -> Markup:
    for sentence in SENTENCES:
        says = sentence(run)
        if says is not None:
            return says
    delivered = sum(
        found["delivered"] for clusters in run["subscriptions"].values() for found in clusters.values()
    )
    share = run["marker_share"]["entries"]
    cost = (
        Markup("markers took {} of the logs' entries").format(bold(f"{share:.1%}"))
        if share
        else "no markers were written"
    )
    what = plural(delivered, "delivery", "deliveries") if delivered else "Nothing was delivered"
    return Markup("{}, and {}.").format(what, cost)
