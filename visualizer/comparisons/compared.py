"""What is compared: strategies, a recording and its twin, two runs of a lab, or two set-ups.

Rules: a run of a lab is named in an address, `branch-0`, `variant-<key>` (a change of "what would have
helped" applied to the branch that is shown), or `rerun-<branch>-<instant>-<number>-<spread>-<arrivals>` (a
branch with fresh draws from an instant on, `simulator.inevitable`). Runs are run again beside the labs, to
the same instant. A page receives the complete result and plays it without the server, or shows each of two
runs in a lab of the visitor's own, made from the same document.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from simulator import ENGINE_VERSION, ScenarioError, Trace, World, Wrong
from simulator.comparison import (
    REAL,
    SIMULATED,
    STRATEGIES,
    column,
    differences,
    real_and_simulated,
    strategy_runs,
)
from simulator.inevitable import Draws, rerun_commands
from simulator.recordings import RecordedFile
from simulator.runs import Runs, Slices, Variant
from simulator.what_if import lower_bounds, outcome, variants
from visualizer.live.wire import Refused, problems_counted
from visualizer.setups.reading import read_text
from visualizer.sharing.run_document import FORMAT

# --- names of re-runs with fresh draws in addresses, such as `rerun-0-2500000-17-200000-poisson`
#
# The parts are branch, instant, number, spread and arrivals (`simulator.inevitable`). With the lab's inputs
# the name determines the run.


RERUN = "rerun-"

_RERUN = re.compile(
    rf"{RERUN}(?P<branch>\d{{1,3}})-(?P<at_us>\d{{1,13}})-(?P<number>\d{{1,3}})"
    r"-(?P<spread>\d{1,6})-(?P<arrivals>[a-z-]{1,20})",
    re.ASCII,
)


def rerun_name(branch: int, at_us: int, number: int, draws: Draws) -> str:
    """The name of a re-run in addresses."""
    return f"{RERUN}{branch}-{at_us}-{number}-{draws.spread_millionths}-{draws.arrivals}"


def rerun_named(name: str, scenario: Any, inputs: dict[str, Any]) -> Variant | None:
    """The run of a name such as `rerun-0-2500000-17-200000-poisson`; None when it names none."""
    found = _RERUN.fullmatch(name)
    logs = {one["number"]: one["commands"] for one in inputs["branches"]}
    if found is None or int(found["branch"]) not in logs:
        return None
    at_us, number = int(found["at_us"]), int(found["number"])
    try:
        draws = Draws(int(found["spread"]), found["arrivals"])
    except Wrong:
        return None
    commands = rerun_commands(logs[int(found["branch"])], scenario.seed, at_us, number, draws)
    return Variant(name, f"re-run {number + 1} from {at_us / 1e6:.3f} s", scenario, commands)


Columns = dict[str, dict[str, str]]
"""Title and description of each column before its run, by name, in order."""

STRATEGY_COLUMNS: Columns = {one.name: {"title": one.title, "says": one.says} for one in STRATEGIES}


def recorded_columns(recorded: RecordedFile) -> Columns:
    """The columns of a recorded run and its twin."""
    return {
        REAL: {"title": "Real brokers", "says": f"{recorded.system}, recorded {recorded.date}"},
        SIMULATED: {"title": "Simulated", "says": "The same scenario, with the instants of the real run"},
    }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The inputs of a comparison: scenario, seed, commands given by hand, and end instant.

    `recorded` is the real run that the scenario's simulation is compared with; None: strategies are compared.
    """

    title: str
    scenario: Any
    seed: int
    commands: list[dict[str, Any]]
    until_us: int
    recorded: RecordedFile | None = None

    @property
    def key(self) -> str:
        recorded = "" if self.recorded is None else self.recorded.digest
        text = json.dumps(
            [ENGINE_VERSION, self.scenario.canonical_text, self.seed, self.commands, self.until_us, recorded]
        )
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def columns(self) -> Columns:
        return STRATEGY_COLUMNS if self.recorded is None else recorded_columns(self.recorded)

    def work(self, runs: Runs) -> Slices[Any]:
        """Run each column; only the first one where there is no failover to compare. Raises Refused."""
        columns = [replace(one, seed=self.seed, until_us=self.until_us) for one in self._variants()]
        return runs.each(columns, column, lambda first: first["failovers"])

    def _variants(self) -> list[Variant]:
        """The inputs of each column's run. Raises Refused where there can be none."""
        if self.recorded is not None:
            return real_and_simulated(self.recorded)
        try:
            return strategy_runs(self.scenario, self.commands)
        except ScenarioError as error:
            raise Refused(
                "bad-scenario",
                f"{self.title} cannot be compared: {error}",
                "Strategies differ in how acknowledgements of replicated subscriptions are synced.",
            ) from error


# --- two runs of a lab, or of two set-ups


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

    @property
    def key(self) -> str:
        """Identifies the runs by their inputs."""
        sides = [[one.scenario.canonical_text, one.commands] for one in (self.left, self.right)]
        return json.dumps([ENGINE_VERSION, self.seed, self.until_us, sides])

    def work(self, runs: Runs) -> Slices[Any]:
        """Run both: figures of the first, and figures of the second with its differences to the first."""
        traces: list[Trace] = []

        def figures(variant: Variant, world: World) -> dict[str, Any]:
            traces.append(world.trace)
            cases = [
                {**one, "at_least": lower_bounds(world.scenario, one)}
                for one in outcome(variant, world)["cases"]
            ]
            found = {"rows": len(world.trace), "cases": cases}
            return found if len(traces) == 1 else {**found, "differences": differences(*traces)}

        sides = [replace(one, seed=self.seed, until_us=self.until_us) for one in (self.left, self.right)]
        return runs.each(sides, figures)

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
