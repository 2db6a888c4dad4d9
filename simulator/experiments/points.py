"""Checks the scenarios of an experiment's points.

Rules: phases and the wanted measure are checked here, too, since they depend on the scenarios. Each problem
is reported once, at the value of the grid that causes it.
"""

from __future__ import annotations

from simulator.experiments.experiment import Experiment, Fields, Point, written_value
from simulator.experiments.phase import first_fault_us
from simulator.protocols.table import protocol_of
from simulator.scenarios.model import Scenario
from simulator.scenarios.tree import Node, Problem, ScenarioError, suggestion

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
