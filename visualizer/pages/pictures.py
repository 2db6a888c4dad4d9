"""Small pictures of runs: a few true cells and cursors, of each scenario for the gallery, of each lab
where it stands.

Rules: a scenario's run stops at the instant that says most (a little after the first failover or fault, else
half-way), or at a bound of rows; computed once per scenario text and engine version and kept in the database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from simulator import ENGINE_VERSION, World
from visualizer.models import ScenarioPicture
from visualizer.pages.group_pictures import group_picture, telling

CELLS = 48
"""Entries per lane: as wide as a card."""

ROWS = 60_000
"""Rows that a picture's run may have: about a third of a second."""

THREADS = 4
"""Snapshots of each cluster whose threads are drawn."""

SNAPSHOT_KIND = 112
"""Of a cell, as the front door numbers them."""

AFTER_US = 300_000
"""Long enough after a fault for its first consequence to be there."""

TELLING = ("subscription.fail-over", "cluster.crash", "link.cut")
"""Commands that a picture should show the consequence of."""

OUTCOME = ("duplicates", "redeliveries", "lost", "stranded")

FORMAT = 5
"""Raised when the picture's content changes, so that kept ones are computed again."""


def picture_of(scenario: Any) -> dict[str, Any]:
    """{at_us, subject, lanes: [{cluster, number, topic, state, length, cells, subscriptions}], threads:
    [{of, ends}]} of a scenario: lanes stand in the scenario file's order, `number` is a cluster's place
    among the sorted names; `subject` is the cluster that consumers left last, None before that.
    """
    return _kept("", scenario, _computed)


def known_pictures(scenarios: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """name -> picture of those that were computed before, in one query.

    The page requests the others a few at a time.
    """
    names = {_key("", scenario): scenario.name for scenario in scenarios}
    return {names[found.pk]: found.picture for found in ScenarioPicture.objects.filter(pk__in=names)}


def outcome_of(scenario: Any) -> dict[str, Any]:
    """{failovers: [{duplicates, redeliveries, lost, stranded}]}: the outcome of a built-in scenario's run."""
    return _kept("outcome ", scenario, _outcome)


def _kept(what: str, scenario: Any, compute: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """From the database, or computed now."""
    key = _key(what, scenario)
    found = ScenarioPicture.objects.filter(pk=key).first()
    if found is None:
        # Of two requests that compute the same at once, the second finds the first one's row.
        found, _ = ScenarioPicture.objects.get_or_create(pk=key, defaults={"picture": compute(scenario)})
    return found.picture


def _key(what: str, scenario: Any) -> str:
    return hashlib.sha256(f"{what}{FORMAT} {ENGINE_VERSION}\n{scenario.canonical_text}".encode()).hexdigest()


def _outcome(scenario: Any) -> dict[str, Any]:
    world = World.from_scenario(scenario)
    world.run()
    return {"failovers": [{name: one[name] for name in OUTCOME} for one in world.failovers()]}


def _computed(scenario: Any) -> dict[str, Any]:
    world = World.from_scenario(scenario, rows_max=ROWS)
    if scenario.groups:
        return telling(world, scenario)
    world.run(_telling_instant(scenario))
    picture = picture_at(world)
    while (
        not any(lane["cells"]["kind"] for lane in picture["lanes"])
        and world.now_us < scenario.until_us
        and not world.limit_reached
    ):
        world.run(min(scenario.until_us, world.now_us + AFTER_US))  # retention had just emptied every log
        picture = picture_at(world)
    return picture


def picture_at(world: World) -> dict[str, Any]:
    """What a world shows at its present instant: `group` stands in place of lanes where groups share
    (`group_pictures`).
    """
    if world.scenario.groups:
        return group_picture(world)
    lanes = _lanes(world)
    failovers = world.live_failovers()
    return {
        "at_us": world.now_us,
        "subject": failovers[-1]["from"] if failovers else None,
        "lanes": lanes,
        "threads": _threads(world, lanes),
    }


def _telling_instant(scenario: Any) -> int:
    for word in TELLING:
        for command in scenario.commands:
            if command.do == word:
                return min(command.at_us + AFTER_US, scenario.until_us)
    return scenario.until_us // 2


def _lanes(world: World) -> list[dict[str, Any]]:
    """One lane per cluster, with its first topic."""
    lanes = []
    view = world.view()["clusters"]
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
                }
            )
    return lanes


def _threads(world: World, lanes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the newest snapshots tie together: `of` the cluster that took it, `ends` {cluster: index in its
    log}.
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
