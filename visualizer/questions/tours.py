"""The answer about a lab's tour: its steps, resolved from a run beside the lab.

Rules: the run has the lab's scenario and seed and no command given by hand. It is run once per lab, whatever
the lab itself shows. The answers to its questions are included: they are no secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from visualizer.labs.definitions import builtin_scenario
from visualizer.live.wire import Refused

if TYPE_CHECKING:
    from visualizer.labs.session import Session
    from visualizer.labs.work import Work


def _next(name: str) -> dict[str, Any] | None:
    """The tour that the last step offers."""
    if not name:
        return None
    following = builtin_scenario(name).tour
    return None if following is None else {"scenario": name, "title": following.title}


def tour(session: Session) -> Work:
    """The tour of the lab's scenario: the first request starts its run, later ones return its state.

    `branch` is the lab's branch that has the same run, None when commands were given by hand in all of them.
    """
    yield None
    world = session.world
    told = world.scenario.tour
    if told is None:
        raise Refused(
            "not-found", "This scenario has no tour.", "Open a scenario of the gallery that has one."
        )
    assert session.reruns is not None, "the hub gives each session its reruns"
    found = session.reruns.of_tour(world)
    outcome: dict[str, Any] = found.outcomes[0] if found.outcomes else {"steps": [], "words": ""}
    words = found.words or outcome["words"]
    return {
        "state": "failed" if words else found.state,
        "words": words,
        "title": told.title,
        "minutes": told.minutes,
        "branch": world.branch_without_commands,
        "steps": outcome["steps"],
        "next": _next(told.next),
    }
