"""The runs of an experiment: rows of figures, without the traces.

Rules: a batch is one point with one seed, in every phase, or some of these phases. A run is the same in
whichever batch it is. The runs of a batch are equal until the first moved
command, so this part is simulated once, and each phase goes on from a fork of it. A run that cannot be
carried out is a row with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simulator.branch import RunFailed
from simulator.checks.check import Violation
from simulator.checks.checks import Checks
from simulator.experiments.experiment import (
    Experiment,
    Fields,
    Point,
    first_fault_us,
    moved,
    moved_without_text,
    written_value,
)
from simulator.protocols.table import protocol_of
from simulator.runs import Runs, finished
from simulator.scenarios.canonical import Variant
from simulator.scenarios.model import Scenario
from simulator.scenarios.tree import Node, Problem, ScenarioError, suggestion
from simulator.world import World

# --- checks the scenarios of an experiment's points
#
# Rules: phases and the wanted measure are checked here, too, since they depend on the scenarios. Each
# problem is reported once, at the value of the grid that causes it.


PHASES = 20
"""Phases of an experiment that gives none: with a single instant the result would depend on it."""


def settled_phases(fields: Fields, root: Node, scenario: Scenario, count: int | None, moves: bool) -> int:
    """The number of phases; without a given number 20, or 1 where there is nothing to move or no period."""
    if count is None:
        return 1 if _unmovable(scenario) else PHASES
    if (count > 1 or moves) and (why := _unmovable(scenario)):
        fields.fail(root, "phases", *why)
    return count


class Points:
    """The points of an experiment; the problems of their scenarios are added once each."""

    def __init__(self, fields: Fields, root: Node, experiment: Experiment) -> None:
        self._fields, self._root, self._experiment = fields, root, experiment
        self._seen: dict[tuple[str, str, str], None] = {}

    def first(self) -> Scenario | None:
        """The scenario of the first point without problems."""
        found = (self._scenario_at(point) for point in self._experiment.points)
        return next((scenario for scenario in found if scenario is not None), None)

    def check(self, experiment: Experiment) -> None:
        """Check every scenario, and what the experiment needs of them; `experiment` has its phases now."""
        moves = experiment.phases > 1 or experiment.drawn or experiment.by_seed
        unchecked, measures = True, None
        for point in experiment.points:
            scenario = self._scenario_at(point)
            if scenario is None:
                continue
            found = protocol_of(scenario).measured.measures
            measures = measures or found
            if found != measures and not self._fields.has_problem_at("scenario"):
                what = "the scenarios do not have the same measures"
                self._fields.fail(self._root, "scenario", what, "compare scenarios of one protocol")
            if moves and (why := _unmovable(scenario)) and not self._fields.has_problem_at("phases"):
                values = ", ".join(f"{path}={value}" for path, value in point.values.items())
                self._fields.fail(self._root, "phases", f"with {values}, {why[0]}", why[1])
            if unchecked:
                _check_measures(self._fields, self._root, experiment, scenario)
                _check_wanted(self._fields, self._root, experiment, scenario)
                unchecked = False

    def _scenario_at(self, point: Point) -> Scenario | None:
        try:
            return self._experiment.scenario_at(point)
        except ScenarioError as error:
            for problem in error.kept:
                placed = self._placed(problem, point)
                # a value of a path with `*` has the same problem at each member
                key = (placed.source, placed.path, placed.what)
                if key not in self._seen:
                    self._seen[key] = None
                    self._fields.extend([placed])
            return None

    def _placed(self, problem: Problem, point: Point) -> Problem:
        """The problem at its place in the experiment's file."""
        for path, value in point.values.items():
            if problem.source == f"--set {path}={value}":
                values = self._root.value["grid"].value[path].value
                node = next(one for one in values if written_value(one) == value)
                return node.problem(f"grid.{path}", f"{value}: {problem.what}", problem.right)
        return self._fields.placed_in_block(self._root, problem)


def has_phases(scenario: Scenario) -> bool:
    """Whether phases make a difference: a fault can be moved within a period."""
    return _unmovable(scenario) is None


def _unmovable(scenario: Scenario) -> tuple[str, str] | None:
    """What is wrong and what would be right, if phases make no difference in a scenario."""
    declared = protocol_of(scenario).measured
    if first_fault_us(scenario) is None:
        what = f"the scenario has no command that phases could move ({', '.join(declared.faults)})"
        return what, "write `phases: 1`, or add a failover to the scenario"
    if not declared.period_us(scenario):
        return "nothing in the scenario repeats with a period", "write `phases: 1`"
    return None


def _check_measures(fields: Fields, root: Node, experiment: Experiment, scenario: Scenario) -> None:
    known = [measure.name for measure in protocol_of(scenario).measured.measures]
    if not known:
        fields.fail(root, "scenario", "has nothing to measure", "choose a simulated scenario")
        return
    for name in experiment.measured:
        if name not in known:
            fields.fail(root, "measures", f"there is no measure {name}", suggestion(name, known))


def _check_wanted(fields: Fields, root: Node, experiment: Experiment, scenario: Scenario) -> None:
    wanted, node = experiment.wanted, fields.member(root, "wanted", dict)
    if wanted is None or node is None:
        return
    units = {measure.name: measure.unit for measure in protocol_of(scenario).measured.measures}
    if wanted.measure in units and experiment.measured and wanted.measure not in experiment.measured:
        what, right = f"{wanted.measure} is not in `measures`", "add it there"
        fields.fail(node, "measure", what, right, "wanted")
        return
    if wanted.measure not in units:
        what = f"there is no measure {wanted.measure}" if wanted.measure else "is missing"
        fields.fail(node, "measure", what, suggestion(wanted.measure, units), "wanted")
        return
    is_duration = isinstance(fields.value(node, "at_most", 0), str)
    if is_duration != (units[wanted.measure] == "us"):
        right = "write a whole number" if is_duration else "write a duration, such as 2s"
        fields.fail(node, "at_most", f"is not a value of {wanted.measure}", right, "wanted")


FINISHED, FAILED = "finished", "failed"
LONGEST_REASON = 500
"""The most characters of the reason why a run failed."""

Row = dict[str, Any]
"""`run`, `point`, `seed`, `phase_us`, `status`, `reason`, simulated `rows`, and each measure by name.

`causes` are the duplicates by cause, as JSON. `delivering` is the number of failovers whose backlog was not
delivered completely at the end of the run: its figures are then lower bounds.
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs of one point with one seed. `first_run` is the number of their run in phase 0."""

    first_run: int
    point: Point
    seed: int
    phases: range

    def parts(self, count: int) -> list[Batch]:
        """The batch in at most so many batches of about equal size, in order.

        Each of them simulates again what its runs share.
        """
        count = min(count, len(self.phases))
        ends = [len(self.phases) * part // count for part in range(count + 1)]
        return [
            replace(self, phases=self.phases[start:end]) for start, end in zip(ends, ends[1:], strict=False)
        ]


def batches(experiment: Experiment) -> Iterator[Batch]:
    """Every batch, in the order of the runs."""
    for point in experiment.points:
        for index, seed in enumerate(experiment.seeds):
            first = (point.number * len(experiment.seeds) + index) * experiment.phases
            yield Batch(first, point, seed, range(experiment.phases))


def run_batch(experiment: Experiment, batch: Batch) -> Iterator[Row]:
    """The rows of a batch, in the order of its runs."""
    blank = {"point": batch.point.number, "seed": batch.seed}
    try:
        scenario = experiment.scenario_at(batch.point, batch.seed)
        offsets_us = experiment.offsets_us(scenario, batch.point, batch.seed)
    except ScenarioError as error:
        for phase in batch.phases:
            yield _failed({"run": batch.first_run + phase, **blank, "phase_us": None}, error)
        return
    runs, names = Runs(figures_only=True), [measure.name for measure in experiment.measures]
    found: dict[int, Row] = {}
    for phase in sorted(batch.phases, key=offsets_us.__getitem__):
        row = {"run": batch.first_run + phase, **blank, "phase_us": offsets_us[phase]}
        try:
            run = finished(runs.run(later(scenario, offsets_us[phase]), names))
            found[phase] = {
                **row,
                "status": FINISHED,
                "reason": None,
                "rows": run.seq,
                **_figures(run, names),
            }
        except Exception as error:  # whatever went wrong is a row, and the other runs go on
            found[phase] = _failed(row, error)
    yield from (found[phase] for phase in batch.phases)


def replayed(experiment: Experiment, row: Row) -> Scenario:
    """The scenario of one run, with its own seed and instants: it can be run and opened like any other."""
    scenario = experiment.scenario_at(experiment.points[row["point"]], row["seed"])
    return moved(scenario, row["phase_us"] or 0)


def made_again(experiment: Experiment, row: Row) -> World:
    """One run made again, to where its figures are final; `trace` has its rows. Raises RunFailed."""
    variant = Variant("again", "run again", replayed(experiment, row), [])
    return finished(Runs(figures_only=True).run(variant, [measure.name for measure in experiment.measures]))


def checked_rows(run: World) -> tuple[tuple[str, ...], list[Violation]]:
    """The claims that are checked in a run, and the violations in its rows."""
    checks = Checks(run.scenario)
    return checks.claims, checks.read(run.trace)


def checked_counts(scenario: Scenario, failovers: Sequence[dict[str, Any]]) -> list[Violation]:
    """The violations in a run's counted failovers."""
    return Checks(scenario).check_counts(failovers)


def expected(experiment: Experiment, row: Row) -> dict[str, tuple[int, int]] | None:
    """The least and the greatest value of some measures in closed form; None where there is none."""
    scenario = experiment.scenario_at(experiment.points[row["point"]], row["seed"])
    return protocol_of(scenario).measured.expected(moved_without_text(scenario, row["phase_us"] or 0))


def _figures(run: World, names: Sequence[str]) -> Row:
    """What is measured in a run. Raises RunFailed when nothing happened that could be measured."""
    if (why := _without_failure(run)) is not None:
        raise RunFailed(why)
    declared = run.protocol.measured
    causes = {name: count for name, count in declared.causes(run).items() if count}
    found = declared.of(run)
    return {
        "causes": json.dumps(causes, separators=(",", ":")),
        "delivering": declared.delivering(run),
        **{name: found[name] for name in names},
    }


def _without_failure(run: World) -> str | None:
    """Why no failover of the scenario took place; None if one did, or if it has none."""
    moves = [spec for spec in run.scenario.commands if spec.do.endswith(".fail-over")]
    if not moves or run.protocol.measured.failures(run):
        return None
    refused = [one["error"] for one in run.runtime.command_results if not one["ok"]]
    if refused:
        return f"the failover is refused at its instant: {refused[0]}"
    return "the run ends before the consumers move; let it run for longer"


def later(scenario: Scenario, offset_us: int) -> Variant:
    """The run with its faults so much later, which shares what comes before with runs of other offsets.

    No fault, or one at instant 0: there is nothing to share.
    """
    from_us = first_fault_us(scenario)
    fork_us = from_us + offset_us - 1 if from_us else None
    return Variant("later", "", moved_without_text(scenario, offset_us), [], fork_us=fork_us)


def _failed(row: Row, error: Exception) -> Row:
    expected = isinstance(error, (ScenarioError, RunFailed))
    reason = str(error) if expected else f"internal error, {type(error).__name__}: {error}"
    return {
        **row,
        "status": FAILED,
        "reason": reason[:LONGEST_REASON],
        "rows": 0,
        "causes": None,
        "delivering": None,
    }
