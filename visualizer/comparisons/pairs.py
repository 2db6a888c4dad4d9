"""Two runs beside each other: branches of a lab, its run with one change, or two set-ups.

Rules: a run is named in an address, `branch-0` or `variant-<key>` (a change of "what would have helped"
applied to the branch that is shown), or `rerun-<branch>-<instant>-<number>-<spread>-<arrivals>` (a branch
with fresh draws from an instant on, `simulator.inevitable`). Both runs are run again beside the labs, like a
comparison. The page shows each in a lab of the visitor's own, made from the same document.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulator import ENGINE_VERSION, Trace, World
from simulator.comparison import differences
from simulator.runs import Variant
from simulator.what_if import lower_bounds, outcome, variants
from visualizer.comparisons.running import rerun_named
from visualizer.live.wire import Refused, problems_counted
from visualizer.setups.reading import read_text
from visualizer.sharing.run_document import FORMAT

BRANCH, VARIANT = "branch-", "variant-"
SIDES = ("left", "right")


def run_named(name: str, scenario: Any, inputs: dict[str, Any]) -> Variant:
    """The inputs of the run that an address names. Raises Refused.

    `inputs` is the answer to the question `branches`.
    """
    branches = {f"{BRANCH}{one['number']}": one for one in inputs["branches"]}
    if name in branches:
        one = branches[name]
        words = "first branch" if one["number"] == 0 else f"branch {one['number']}"
        return Variant(name, words, scenario, one["commands"])
    if (rerun := rerun_named(name, scenario, inputs)) is not None:
        return rerun
    shown = branches[f"{BRANCH}{inputs['branch']}"]
    changed = {f"{VARIANT}{one.key}": one for one in variants(scenario, shown["commands"])}
    if name in changed:
        one = changed[name]
        return Variant(name, one.name, one.scenario, one.commands)
    raise Refused(
        "not-found",
        f"This lab has no run {name[:60]!r}.",
        f"Runs: {', '.join([*branches, *changed])}.",
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """The inputs of two runs up to the same instant."""

    title: str
    seed: int
    until_us: int
    left: Variant
    right: Variant
    compared: str = "ran"
    """Entry of an outcome that is true when the runs can be compared."""

    @property
    def key(self) -> str:
        """Identifies the runs by their inputs."""
        sides = [[one.scenario.canonical_text, one.commands] for one in (self.left, self.right)]
        return json.dumps([ENGINE_VERSION, self.seed, self.until_us, sides])

    def runs(self) -> list[Variant]:
        """The inputs of each run, in order."""
        return [self.left, self.right]

    def outcome_of(self) -> Callable[[Variant, World], dict[str, Any]]:
        """The function that computes the outcome of each run, in order."""
        return _Outcomes().of

    def documents(self) -> dict[str, Any]:
        """Each run as a document, from which a lab is made, with its name."""
        return {
            side: {
                "name": one.name,
                "run": {
                    "format": FORMAT,
                    "engine_version": ENGINE_VERSION,
                    "title": f"{self.title}: {one.name}",
                    "yaml": one.scenario.canonical_text,
                    "seed": self.seed,
                    "commands": one.commands,
                    "until_us": self.until_us,
                },
            }
            for side, one in (("left", self.left), ("right", self.right))
        }


def set_up_of(side: str, text: Any) -> Any:
    """The scenario of a set-up's text, read in a thread. Raises Refused with its first problem."""
    if not isinstance(text, str):
        raise Refused("bad-field", f"{side} is not a text.", f'Send {{"{side}": "format: 1…"}}.')
    reading = read_text(text)
    if reading.scenario is None:
        problem = reading.problems[0]
        place = f"line {problem['line']}: " if problem["line"] else ""
        raise Refused(
            "bad-scenario",
            f"The {side} set-up has {problems_counted(len(reading.problems))}: {place}{problem['message']}.",
            f"{problem['hint']}. My set-up shows every problem.",
        )
    if reading.scenario.recording:
        raise Refused(
            "not-offered", f"The {side} set-up plays a recording.", "Take a scenario that is simulated."
        )
    return reading.scenario


def pair_of_set_ups(left: Any, right: Any) -> Pair:
    """Two set-ups to the later of their ends, both with the seed of the left one. Raises Refused."""
    if left.protocol != right.protocol:
        raise Refused(
            "bad-scenario",
            "The set-ups are of different protocols, so their figures cannot be compared.",
            "Take two set-ups of one family.",
        )
    titles = [left.title, right.title]
    if left.title == right.title:
        titles = [f"{left.title} (left)", f"{right.title} (right)"]
    until_us = max(left.until_us, right.until_us)
    first, second = Variant(SIDES[0], titles[0], left, []), Variant(SIDES[1], titles[1], right, [])
    return Pair("Two set-ups", left.seed, until_us, first, second)


@dataclass(slots=True)
class _Outcomes:
    """Figures of the first run; figures of the second, with its differences to the first."""

    first: list[Trace] = field(default_factory=list)

    def of(self, variant: Variant, world: World) -> dict[str, Any]:
        trace, found = world.trace, outcome(variant, world)["cases"]
        cases = [{**one, "at_least": lower_bounds(world.scenario, one)} for one in found]
        figures = {"ran": True, "rows": len(trace), "cases": cases}
        if not self.first:
            self.first.append(trace)
            return figures
        return {**figures, "differences": differences(self.first.pop(), trace)}
