"""Small pictures of runs: a few true cells and cursors, of each scenario for the gallery, of each lab where it stands.

Rules: a scenario's run stops at the instant that says most (a little after the first failover or fault, else half-way), or at a
bound of rows; computed once per scenario text and engine version and kept in the database.
"""

from __future__ import annotations

import hashlib
from typing import Any

from simulator import ENGINE_VERSION, World
from visualizer.models import ScenarioPicture

CELLS = 48
"""Entries per lane: as wide as a card."""

ROWS = 60_000
"""Rows that a picture's run may have: about a third of a second."""

AFTER_US = 300_000
"""Long enough after a fault for its first consequence to be there."""

TELLING = ("subscription.fail-over", "cluster.crash", "link.cut")
"""Commands that a picture should show the consequence of."""

FORMAT = 1
"""Raised when the picture's content changes, so that kept ones are computed again."""


def picture_of(scenario: Any) -> dict[str, Any]:
    """{at_us, lanes: [{cluster, topic, state, length, cells, subscriptions}]} of a scenario."""
    key = hashlib.sha256(f"{FORMAT} {ENGINE_VERSION}\n{scenario.canonical_text}".encode()).hexdigest()
    found = ScenarioPicture.objects.filter(pk=key).first()
    if found is None:
        # Of two requests that compute the same picture at once, the second finds the first one's row.
        found, _ = ScenarioPicture.objects.get_or_create(pk=key, defaults={"picture": _computed(scenario)})
    return found.picture


def _computed(scenario: Any) -> dict[str, Any]:
    world = World.from_scenario(scenario, rows_max=ROWS)
    world.run(_telling_instant(scenario))
    return picture_at(world)


def picture_at(world: World) -> dict[str, Any]:
    """What a world shows at its present instant."""
    return {"at_us": world.now_us, "lanes": _lanes(world)}


def _telling_instant(scenario: Any) -> int:
    for word in TELLING:
        for command in scenario.commands:
            if command.do == word:
                return min(command.at_us + AFTER_US, scenario.until_us)
    return scenario.until_us // 2


def _lanes(world: World) -> list[dict[str, Any]]:
    """One lane per cluster, with its first topic."""
    lanes = []
    for cluster, content in world.view()["clusters"].items():
        for topic, shown in list(content["topics"].items())[:1]:
            cells = world.cells(cluster, topic, max(0, shown["length"] - CELLS), CELLS)
            subscriptions = {
                name: {"mark_delete_index": subscription["mark_delete_index"], "read_index": subscription["read_index"], "ranges": subscription["ranges"][-20:]}
                for name, subscription in shown["subscriptions"].items()
            }
            lanes.append({"cluster": cluster, "topic": topic, "state": content["state"], "length": shown["length"], "cells": cells, "subscriptions": subscriptions})
    return lanes
