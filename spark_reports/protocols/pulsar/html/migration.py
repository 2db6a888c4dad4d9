"""Migrations in a report: the five steps, the traffic between the clusters, and the switch's cost."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from spark_reports.html.numbers import number, plural, seconds, size, span
from spark_reports.html.sections import NOTHING, bold, section, table
from spark_reports.protocols.pulsar.html.sections import lower_bound

STATES = {
    None: "not started",
    "began": "running",
    "finished": "finished",
    "failed": "failed",
    "undone": "rolled back",
}
ENDS = {None: "not finished", "finished": "finished", "rolled-back": "rolled back"}
BY_MAP = ("migration", "roll-back", "blue-green")


def sections(run: dict[str, Any]) -> Markup:
    """The sections of a run; "" without a migration."""
    return NOTHING.join(_migration(run, one) for one in run.get("migrations", []))


def sentence(run: dict[str, Any]) -> Markup | None:
    """The sentence about a run without a failover in which a migration was started; None without one."""
    figures = run.get("migrations")
    if not figures:
        return None
    one = figures[-1]
    return NOTHING.join(
        (
            f"{one['tenant']}, from {one['from']} to {one['to']}: ",
            bold(ENDS[one["ended"]]),
            ", and no client moved.",
        )
    )


def _migration(run: dict[str, Any], one: dict[str, Any]) -> Markup:
    says = (
        f"{one['tenant']} from {one['from']} to {one['to']}, {one['strategy']}; {ENDS[one['ended']]}. "
    ) + _switched(one)
    rows = [
        [
            step["name"],
            "nothing to do" if not step["attempts"] and one["ended"] == "finished" else STATES[step["state"]],
            Markup("<br>").join(
                f"{seconds(failure['at_us'])} s: {failure['words']}" for failure in step["failures"]
            )
            or "–",
            number(step["attempts"]),
            seconds(step["started_us"]),
            seconds(step["finished_us"]),
        ]
        for step in one["steps"]
    ]
    classes = ["harm" if step["failures"] else "" for step in one["steps"]]
    steps = section(
        f"{one['tenant']}: migration steps",
        says,
        table(
            ["step", "final state", "failures", "attempts", "started, s", "finished, s"],
            rows,
            classes,
            words=3,
        ),
    )
    return steps + _crossed(run, one)


def _switched(one: dict[str, Any]) -> str:
    if not one["mapped"]:
        return "The tenant map was not changed."
    figures = ", ".join(f"to {row['to']} at {seconds(row['at_us'])} s" for row in one["mapped"])
    last_us = max((client["came_us"] for client in one["clients"]), default=None)
    switched_us = one["mapped"][0]["at_us"]
    came = (
        (
            f" The last of {plural(len(one['clients']), 'client', 'clients')} connected in "
            f"{one['to']} "
            f"{span(last_us - switched_us)} after the first switch."
        )
        if last_us is not None and last_us >= switched_us
        else ""
    )
    return f"The tenant map was switched {figures}.{came}"


def _crossed(run: dict[str, Any], one: dict[str, Any]) -> Markup:
    there, back, lookups = one["crossed"]["there"], one["crossed"]["back"], one["lookups"]
    ways = [
        [
            f"{source} → {target}",
            number(way["messages"]),
            number(way["requests"]),
            size(way["request_bytes"]),
        ]
        for source, target, way in ((one["from"], one["to"], there), (one["to"], one["from"], back))
    ]
    asked = f"{plural(lookups['answered'], 'request', 'requests')} answered by the LookupService" + (
        f", {number(lookups['failed'])} failed" if lookups["failed"] else ""
    )
    return section(
        f"{one['tenant']}: traffic between the clusters",
        f"Messages replicated, resends included, and ack-state sync requests. {asked}.",
        table(["direction", "messages", "sync requests", "size of requests"], ways),
    ) + _effects(run, one)


def _effects(run: dict[str, Any], one: dict[str, Any]) -> Markup:
    """The subscriptions that moved by the tenant map, each counted as a failover."""
    moves = [
        failover
        for failover in run["failovers"]
        if failover["mode"] in BY_MAP
        and {failover["from"], failover["to"]} == {one["from"], one["to"]}
        and failover["at_us"] >= one["started_us"]
        and (one["ended_us"] is None or failover["at_us"] <= one["ended_us"])
    ]
    if not moves:
        return NOTHING
    cost = [
        [
            move["subscription"],
            f"{move['from']} → {move['to']}",
            move["mode"],
            seconds(move["at_us"]),
            lower_bound(move, "duplicates"),
            lower_bound(move, "redeliveries"),
            number(move["stranded"]),
            number(move["lost"]),
            number(move["reordered"]),
            span(move["outage_us"]),
        ]
        for move in moves
    ]
    heads = [
        "subscription",
        "moved",
        "mode",
        "at, s",
        "duplicates",
        "redelivered",
        "not replicated",
        "lost",
        "reordered",
        "delivery gap",
    ]
    classes = ["harm" if move["lost"] else "" for move in moves]
    return section(
        f"{one['tenant']}: effect on subscriptions",
        "Counted like any failover, from the switch of the tenant map on.",
        table(heads, cost, classes, words=3),
    )
