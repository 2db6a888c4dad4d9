"""Small pictures of runs with real cells and cursors, for the gallery and the list of labs.

They show each scenario, and each lab at its position. Rules: each protocol declares its pictures. A
scenario's run stops at the most informative instant, or at a limit of rows. Its picture is computed once per
scenario text and engine version and stored in the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from simulator import ENGINE_VERSION, World
from visualizer.models import ScenarioPicture

ROWS = 60_000
"""Most rows of a picture's run, which takes about a third of a second."""

OUTCOME = ("duplicates", "redeliveries", "lost", "stranded")

FORMAT = 6
"""Version of the picture's content. When it is raised, stored pictures are computed again."""


def picture_of(scenario: Any) -> dict[str, Any]:
    """The picture of a scenario, as its protocol draws it: `{at_us, lanes, …}`."""
    return _kept("", scenario, _computed)


def known_pictures(scenarios: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The pictures that were computed before, by name of the scenario, in one query.

    The page requests the others a few at a time.
    """
    names = {_key("", scenario): scenario.name for scenario in scenarios}
    return {names[found.pk]: found.picture for found in ScenarioPicture.objects.filter(pk__in=names)}


def outcome_of(scenario: Any) -> dict[str, Any]:
    """The outcome of a built-in scenario's run.

    Returns {failovers: [{duplicates, redeliveries, lost, stranded}]}.
    """
    return _kept("outcome ", scenario, _outcome)


def _kept(what: str, scenario: Any, compute: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Read the picture from the database, or compute and store it now."""
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
    """The picture of a world at its current instant, as its protocol draws it."""
    return world.protocol.pictures.now(world)
