"""Reads an experiment's text within the site's bounds: its problems, or its size and estimated time.

Rules: only the experiment reader decides what is valid. It loads the scenario of every point, so their number
is limited by the length of the text. Texts are read in turn with those of scenarios.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from simulator import ScenarioError
from simulator.experiments import Cost, Experiment, cost_of, read_experiment_text
from visualizer.live.wire import Refused
from visualizer.pages.scenario_reading import problem_of, read_in_turn

TEXT_MOST = 393_216
"""Most characters of an experiment's text: two scenarios of the length of the longest sensible one."""

RUNS_MOST = 2_000
"""Most runs of an experiment from the page: minutes of the one worker that all visitors share."""

POINTS_MOST = 200
"""Most points: the page draws a row for each."""

CHARACTERS_LOADED = 1_000_000
"""Most characters of all points' scenarios together: about three seconds of reading."""

MEASURED_S = 1.0
"""Seconds of the processor for estimating the cost of an experiment."""

CORE_SECONDS_MOST = 1_200.0
"""Most estimated time of one core, seconds: ten minutes of a worker with two cores."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the experiment reader read it. `experiment` is None when there are problems."""

    experiment: Experiment | None
    cost: Cost = Cost(0.0, 0.0)
    problems: tuple[dict[str, Any], ...] = field(default_factory=tuple)


def read_text(text: str) -> Reading:
    """Read a visitor's text, in a thread. Raises Refused when it is too long or too many texts wait."""
    if len(text) > TEXT_MOST:
        raise Refused(
            "bad-field", f"The experiment has {len(text):,} characters.", f"At most {TEXT_MOST:,} are taken."
        )
    return read_in_turn(_read, text)


def experiment_of(text: str) -> Experiment:
    """The experiment of a stored text, without its estimate. Raises ScenarioError."""
    return read_in_turn(_experiment, text)


@lru_cache(maxsize=64)
def _read(text: str) -> Reading:
    try:
        experiment = _experiment(text)
    except ScenarioError as error:
        return Reading(None, problems=tuple(problem_of(one) for one in error.problems))
    cost = cost_of(experiment, time.thread_time, MEASURED_S)
    if cost.core_s <= CORE_SECONDS_MOST:
        return Reading(experiment, cost)
    too_long = {
        "line": None,
        "column": None,
        "path": "estimated time",
        "message": f"all runs together need about {cost.core_s / 60:,.0f} minutes of one core",
        "hint": (
            f"at most {CORE_SECONDS_MOST / 60:.0f} minutes from the page; take fewer values, seeds "
            f"or phases, or a shorter scenario, or use the command line (docs/experiments.md)"
        ),
    }
    return Reading(None, cost, (too_long,))


@lru_cache(maxsize=32)
def _experiment(text: str) -> Experiment:
    points_most = max(1, min(POINTS_MOST, CHARACTERS_LOADED // max(1, len(text))))
    return read_experiment_text(text, runs_most=RUNS_MOST, points_most=points_most)
