"""Small pictures of runs: a few true cells and cursors, of each scenario for the gallery, of each lab
where it stands.

Rules: each protocol declares its pictures. A scenario's run stops at the instant that says most, or at a
bound of rows; computed once per scenario text and engine version and kept in the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from simulator import ENGINE_VERSION, World
from visualizer.models import ScenarioPicture

ROWS = 60_000
"""Rows that a picture's run may have: about a third of a second."""

OUTCOME = ("duplicates", "redeliveries", "lost", "stranded")

FORMAT = 5
"""Raised when the picture's content changes, so that kept ones are computed again."""


def picture_of(scenario: Any) -> dict[str, Any]:
    """Of a scenario, as its protocol draws it: `{at_us, lanes, …}`."""
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
    return world.protocol.pictures.telling(world)


def picture_at(world: World) -> dict[str, Any]:
    """What a world shows at its present instant, as its protocol draws it."""
    return world.protocol.pictures.now(world)
