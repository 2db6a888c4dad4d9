"""Small pictures of runs with logs: a few cells and cursors of each cluster's first topic.

Rules: lanes are in the scenario file's order. `number` is a cluster's place among the sorted names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.events import EVENTS
from simulator.protocols.pulsar.failover import forecasting
from simulator.system.live_rows import LiveRows, Passages

if TYPE_CHECKING:
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.model import PulsarScenario


CELLS = 48
"""Entries per lane: as wide as a card."""

THREADS = 4
"""Snapshots of each cluster that are drawn as threads."""

SNAPSHOT_KIND = 112
"""Kind of a snapshot's cell, as numbered in the Python API."""

AFTER_US = 300_000
"""Time after a fault that includes its first consequence."""

PICTURED_COMMANDS = ("subscription.fail-over", "cluster.crash", "link.cut")
"""Commands whose consequence a picture should show."""


def gallery_picture(world: Any) -> dict[str, Any]:
    """Run to shortly after the first failover or fault, else half-way, and on while every log is empty."""
    until_us = world.scenario.until_us
    world.run(_picture_instant(world.scenario))
    picture = picture_at(world)
    while (
        not any(lane["cells"]["kind"] for lane in picture["lanes"])
        and world.now_us < until_us
        and not world.limit_reached
    ):
        world.run(min(until_us, world.now_us + AFTER_US))  # retention had emptied every log
        picture = picture_at(world)
    return picture


def picture_at(world: Any) -> dict[str, Any]:
    """The picture at the present instant: `{at_us, subject, lanes, threads}`.

    `subject` is the cluster that consumers last left, or None. A lane is
    `{cluster, number, topic, state, length, cells, subscriptions, duplicates}`, a thread `{of, ends}`.
    """
    lanes = _lanes(world)
    failovers = world.live_failovers()
    return {
        "at_us": world.now_us,
        "subject": failovers[-1]["from"] if failovers else None,
        "lanes": lanes,
        "threads": _threads(world, lanes),
    }


def _picture_instant(scenario: Any) -> int:
    for word in PICTURED_COMMANDS:
        for command in scenario.commands:
            if command.do == word:
                return min(command.at_us + AFTER_US, scenario.until_us)
    return scenario.until_us // 2


def _lanes(world: Any) -> list[dict[str, Any]]:
    """One lane per cluster, with its first topic."""
    lanes = []
    whole = world.view()
    view = whole["clusters"]
    numbers = {cluster: number for number, cluster in enumerate(view)}
    for cluster in world.scenario.clusters:
        content = view[cluster]
        for topic, shown in list(content["topics"].items())[:1]:
            cells = world.cells(cluster, topic, max(0, shown["length"] - CELLS), CELLS)
            subscriptions = {
                name: {
                    "mark_delete_index": subscription["mark_delete_index"],
                    "read_index": subscription["read_index"],
                    "ranges": subscription["ranges"][-20:],
                }
                for name, subscription in shown["subscriptions"].items()
            }
            lanes.append(
                {
                    "cluster": cluster,
                    "number": numbers[cluster],
                    "topic": topic,
                    "state": content["state"],
                    "length": shown["length"],
                    "cells": cells,
                    "subscriptions": subscriptions,
                    "duplicates": _duplicates(whole, cluster, topic),
                }
            )
    return lanes


def _duplicates(view: dict[str, Any], cluster: str, topic: str) -> dict[str, Any]:
    """The log's entries with duplicates, as the lab shows them: delivered by a failover, else forecast.

    Returns {"delivered": whether they were delivered, "ranges": [[first, last], …]}.
    """
    for failover in reversed(view["failovers"]):
        if failover["to"] == cluster and "entries" in failover:
            marked = failover["entries"].get(topic, {})
            return {"delivered": True, "ranges": marked.get("duplicates", [])}
    for forecast in view["forecast"].values():
        if cluster in forecast["to"] and topic in forecast["entries"][cluster]:
            return {"delivered": False, "ranges": forecast["entries"][cluster][topic]["ranges"]}
    return {"delivered": False, "ranges": []}


def _threads(world: Any, lanes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The positions of the newest snapshots in each lane.

    `of` is the cluster that took a snapshot, `ends` is {cluster: index in its log}.
    """
    clusters = world.view()["clusters"]
    found = []
    for lane in lanes:
        own = 1000 * (lane["number"] + 1) + SNAPSHOT_KIND
        cells = lane["cells"]
        numbers = [number for kind, number in zip(cells["kind"], cells["number"], strict=True) if kind == own]
        for number in numbers[-THREADS:]:
            snapshot = json.loads(world.marker(number)["json"])
            positions = {
                lane["cluster"]: snapshot["local_message_id"],
                **{one["cluster"]: one["message_id"] for one in snapshot["clusters"]},
            }
            ends = {
                cluster: _index(clusters[cluster]["topics"][lane["topic"]]["ledgers"], position)
                for cluster, position in positions.items()
                if lane["topic"] in clusters[cluster]["topics"]
            }
            found.append(
                {
                    "of": lane["cluster"],
                    "ends": {cluster: index for cluster, index in ends.items() if index is not None},
                }
            )
    return found


def _index(ledgers: list[list[int]], position: dict[str, int]) -> int | None:
    """The index of a position in its log; None when its ledger is no longer listed."""
    return next(
        (first + position["entry_id"] for ledger, first, _ in ledgers if ledger == position["ledger_id"]),
        None,
    )


# --- the rows of Pulsar that a live page keeps, marks and shows in the time diagram


STOPS = ("snapshot.completed", "snapshot.timed-out", "snapshot.abandoned")
"""Ended snapshots."""

LIVE_ROWS = LiveRows(
    kept={
        # about forty snapshots
        "snapshots": (
            (
                "snapshot.requested",
                "snapshot.answered",
                "snapshot.position",
                *STOPS,
                "snapshot.cached",
                "snapshot.used",
                "snapshot.evicted",
            ),
            400,
        ),
        "created": (("subscription.created",), 100),  # every cursor
        "held": (("message.held",), 200),
    },
    faults=("cluster.crashed", "cluster.restarted", "cluster.lost", "failover.started"),
    stops=STOPS,
    jumps=("update.applied", "subscription.created", "subscription.deleted"),
    jumps_of_all=(
        "cluster.crashed",
        "cluster.restarted",
        "cluster.lost",
        "failover.started",
        "failover.finished",
    ),
    passages=Passages(
        listed=tuple(
            event.name
            for event in EVENTS
            if event.plane == "control" and event.name.startswith(("marker.", "snapshot."))
        ),
        sent=("marker.sent",),
        lost=("marker.lost", "marker.dropped"),
    ),
)


# --- the forecast of a failover, for the clusters that consumers could move to


def movable(scenario: PulsarScenario) -> list[str]:
    """Subscriptions, replicated or not, that could go to another cluster, sorted."""
    return [
        name
        for name, spec in sorted(scenario.subscriptions.items())
        if len(scenario.topics[spec.topic].clusters) > 1
    ]


def to_targets(runtime: Pulsar, subscription: str, source: str | None) -> dict[str, dict[str, int]]:
    """By remote cluster the forecast of a failure of `source` now.

    Clusters that are down, or that the topic was migrated away from, are left out.
    """
    found = forecasting.forecast(runtime, subscription, source)
    return {
        remote: figures
        for remote, figures in found.items()
        if forecasting.is_target(runtime, subscription, remote)
    }
