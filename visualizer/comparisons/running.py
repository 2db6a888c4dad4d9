"""This process's comparisons: one run per column, in the pump's slices.

Rules: a comparison is identified by its inputs, so repeated or concurrent requests share one study. The
newest `KEPT` are kept. The page receives the complete, final result and plays it without the server.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from simulator import ENGINE_VERSION, ScenarioError, World, Wrong
from simulator.comparison import REAL, SIMULATED, STRATEGIES, column, real_and_simulated, strategy_runs
from simulator.inevitable import Draws, rerun_commands
from simulator.recordings import RecordedFile
from simulator.runs import Variant
from visualizer.labs import clients
from visualizer.labs.pump import Pump
from visualizer.labs.reruns import Study
from visualizer.live.wire import Refused

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


KEPT = 20
"""Comparisons kept, running or done. Each takes up to a few megabytes."""

RUNNING = 4
"""Comparisons that run at once. Each takes turns with the labs."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column before its run: its key, and what the reader is told about it."""

    name: str
    title: str
    says: str


STRATEGY_COLUMNS = tuple(Column(one.name, one.title, one.says) for one in STRATEGIES)


def recorded_columns(recorded: RecordedFile) -> tuple[Column, ...]:
    """The columns of a recorded run and its twin."""
    return (
        Column(REAL, "Real brokers", f"{recorded.system}, recorded {recorded.date}"),
        Column(SIMULATED, "Simulated", "The same scenario, with the instants of the real run"),
    )


@dataclass(frozen=True, slots=True)
class Source:
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

    compared = "failovers"
    """Entry of an outcome that is empty when there is nothing to compare."""

    def outcome_of(self) -> Callable[[Variant, World], dict[str, Any]]:
        """The function that computes a column from its run."""
        return column

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""
        return STRATEGY_COLUMNS if self.recorded is None else recorded_columns(self.recorded)

    def runs(self) -> list[Variant]:
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


class Compared(Protocol):
    """What is compared: the inputs of runs, and what is computed of each."""

    @property
    def seed(self) -> int:
        """The seed of every run."""

    @property
    def until_us(self) -> int:
        """How far every run goes."""

    @property
    def compared(self) -> str:
        """Entry of an outcome that is empty when there is nothing to compare."""

    @property
    def key(self) -> str:
        """Identifies it by its inputs."""

    def runs(self) -> list[Variant]:
        """The inputs of each run, in order. Raises Refused where there can be none."""

    def outcome_of(self) -> Callable[[Variant, World], dict[str, Any]]:
        """The function that computes the outcome of each run, in order."""


class Comparisons:
    """This process's comparisons, the newest last."""

    def __init__(self, pump: Pump, admit: Callable[[], None] = lambda: None) -> None:
        """Use this pump; `admit` raises Refused when there is no memory for another comparison."""
        self._pump, self._admit = pump, admit
        self._studies: OrderedDict[str, Study] = OrderedDict()
        self._askers: dict[str, str] = {}  # the client that requested each comparison
        self._numbers = count(1)

    def worlds(self) -> list[Any]:
        """The worlds of the running comparisons."""
        return [study.world for study in self._studies.values()]

    def of(self, source: Compared) -> Study:
        """The study of these inputs, started if it is new.

        Raises Refused when too many run.
        """
        study = self._studies.get(source.key)
        if study is None:
            study = self._begin(source)
        self._studies.move_to_end(source.key)
        return study

    def _begin(self, source: Compared) -> Study:
        self._admit()
        if sum(study.state == "running" for study in self._studies.values()) >= RUNNING:
            raise Refused(
                "too-many", f"{RUNNING} comparisons are being run already.", "Try again in a minute."
            )
        running = [self._askers[key] for key, study in self._studies.items() if study.state == "running"]
        clients.check_at_once(running, clients.COMPARISONS_PER_CLIENT, "comparisons")
        study = Study(
            f"comparison {next(self._numbers)}",
            source.seed,
            source.until_us,
            source.runs(),
            self._pump.remove,
            source.outcome_of(),
            source.compared,
        )
        self._studies[source.key] = study
        self._askers[source.key] = clients.client.get()
        while len(self._studies) > KEPT:
            key, oldest = self._studies.popitem(last=False)
            del self._askers[key]
            self._pump.remove(oldest)
        self._pump.add(study)
        return study


def progress_of(study: Study) -> dict[str, Any]:
    """Progress for the page."""
    return {
        "state": study.state,
        "running": study.running,
        "done": len(study.outcomes),
        "of": study.of,
        "words": study.words,
    }


def outcome_of(study: Study, source: Source) -> dict[str, Any]:
    """Progress for the page; when done, also the columns, in their order."""
    progress = progress_of(study)
    if study.state != "done":
        return progress
    titles = {one.name: {"title": one.title, "says": one.says} for one in source.columns}
    return {**progress, "columns": [{**titles[outcome["strategy"]], **outcome} for outcome in study.outcomes]}
