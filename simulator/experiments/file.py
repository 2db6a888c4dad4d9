"""Reads an experiment's file: every problem at once, with its line, before anything runs.

Rules: the scenario of every point is loaded here, so a value that the scenario's schema refuses is found with
the line at which the experiment gives it. The format is described in docs/experiments.md.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from simulator.experiments.experiment import Axis, Experiment, Wanted
from simulator.experiments.fields import Fields
from simulator.experiments.runs import first_fault_us
from simulator.protocols.table import protocol_of
from simulator.scenarios.builtin import builtin_text, scenario_names
from simulator.scenarios.model import Scenario
from simulator.scenarios.problems import Problem, ScenarioError, suggestion
from simulator.scenarios.tree import Node, read_tree
from simulator.scenarios.units import parse_duration, parse_share

FORMAT = 1
RUNS_MAX = 10_000
"""The most runs of an experiment whose file does not raise the limit: about ten minutes on two cores."""
RUNS_MOST = 10_000_000
"""The most runs of any experiment."""
POINTS_MOST = 10_000
"""The most points of a grid: each one's scenario is read before anything runs, 10 ms each."""
SEEDS_MOST = 100_000
PHASES = 20
"""Phases of an experiment that does not give them: a single instant would be an accident."""

KEYS = (
    *("format", "name", "title", "scenario", "grid", "seeds", "phases", "until"),
    *("wanted", "cheaper", "limits"),
)
ENDS = ("larger", "smaller")


def read_experiment(path: str | Path) -> Experiment:
    """The experiment of a file. Raises ScenarioError with every problem, OSError if it cannot be read."""
    source = Path(path)
    return read_experiment_text(source.read_text(encoding="utf-8"), str(path), source.parent)


def read_experiment_text(text: str, source: str = "experiment", folder: Path | None = None) -> Experiment:
    """The experiment of a text; a scenario's file is looked up in `folder`. Raises ScenarioError."""
    root, found = read_tree(text, source)
    fields = Fields(root, source, found)
    fields.known(root, "", KEYS)
    if fields.value(root, "format", 1) != FORMAT:
        fields.fail(root, "format", "is not known", f"write `format: {FORMAT}`")
    name = fields.text(root, "name", "experiment")
    experiment = Experiment(
        name=name,
        title=fields.text(root, "title", name),
        scenario_text="",
        scenario_source="",
        axes=_axes(fields, root),
        seeds=_seeds(fields, root),
        **_phases(fields, root),
        until_us=fields.read(root, "until", parse_duration, None),
        wanted=_wanted(fields, root),
        cheaper=_cheaper(fields, root),
    )
    scenario_text, scenario_source = _scenario(fields, root, folder)
    experiment = replace(experiment, scenario_text=scenario_text, scenario_source=scenario_source)
    fields.stop_if_any()
    _check_size(fields, root, experiment)
    fields.stop_if_any()
    _check_points(fields, root, experiment)
    fields.stop_if_any()
    return experiment


def _scenario(fields: Fields, root: Node, folder: Path | None) -> tuple[str, str]:
    """Text and source of the scenario: a built-in name, a file beside the experiment, or a block of text."""
    given = fields.text(root, "scenario", "")
    if not given:
        fields.fail(root, "scenario", "is missing", "name a built-in scenario or a .yaml file")
        return "", ""
    if "\n" in given:
        return given, "scenario"
    if given in scenario_names():
        return builtin_text(given), f"{given}.yaml"
    path = (folder or Path()) / given
    if folder is not None and path.suffix in (".yaml", ".yml") and path.is_file():
        return path.read_text(encoding="utf-8"), str(path)
    right = (
        f"name a .yaml file beside the experiment, or a built-in one: {suggestion(given, scenario_names())}"
    )
    fields.fail(root, "scenario", f"there is no scenario {given}", right)
    return "", ""


def _axes(fields: Fields, root: Node) -> tuple[Axis, ...]:
    grid = fields.member(root, "grid", dict)
    axes = []
    for path, node in (grid.value if grid is not None else {}).items():
        values = node.value if isinstance(node.value, list) else []
        if not values or any(isinstance(one.value, (dict, list)) and not one.text for one in values):
            fields.add(node, f"grid.{path}", "is no list of values", "write a list, such as [250, 500, 1000]")
            continue
        axes.append(Axis(path, tuple(one.text if one.text is not None else str(one.value) for one in values)))
    return tuple(axes)


def _seeds(fields: Fields, root: Node) -> tuple[int, ...]:
    value = fields.value(root, "seeds", 1)
    right = f"write the number of seeds, 1 to {SEEDS_MOST:,}, or a list of seeds"
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= SEEDS_MOST:
        return tuple(range(1, value + 1))
    if isinstance(value, list) and 1 <= len(value) <= SEEDS_MOST and all(type(one) is int for one in value):
        if len(dict.fromkeys(value)) == len(value):
            return tuple(value)
        right = "write each seed once"
    fields.fail(root, "seeds", "are no seeds", right)
    return (1,)


def _phases(fields: Fields, root: Node) -> dict[str, Any]:
    node = fields.member(root, "phases", None)
    value: Any = PHASES if node is None else node.plain()
    drawn = isinstance(value, dict) and list(value) == ["drawn"]
    count = value["drawn"] if drawn else value
    if type(count) is int and 1 <= count <= RUNS_MOST:
        return {"phases": count, "drawn": drawn}
    fields.fail(root, "phases", "is no number of phases", "write a number, such as 20, or {drawn: 20}")
    return {"phases": 1, "drawn": False}


def _wanted(fields: Fields, root: Node) -> Wanted | None:
    node = fields.member(root, "wanted", dict)
    if node is None:
        return None
    fields.known(node, "wanted", ("measure", "at_most", "share", "confidence"))
    at_most = fields.value(node, "at_most", None)
    if type(at_most) is not int or at_most < 0:
        fields.fail(node, "at_most", "is no whole number", "write the largest value that is wanted", "wanted")
        at_most = 0
    shares = {}
    for key, otherwise in (("share", "99%"), ("confidence", "95%")):
        shares[key] = fields.read(node, key, parse_share, parse_share(otherwise), "wanted")
        if not 0 < shares[key] < 1_000_000:
            fields.fail(
                node, key, "is not between 0 % and 100 %", f"write a share such as {otherwise}", "wanted"
            )
    return Wanted(fields.text(node, "measure", "", "wanted"), at_most, shares["share"], shares["confidence"])


def _cheaper(fields: Fields, root: Node) -> tuple[tuple[str, str], ...]:
    node = fields.member(root, "cheaper", dict)
    given = {} if node is None else {path: one.value for path, one in node.value.items()}
    grid = fields.member(root, "grid", dict)
    paths = list(grid.value) if grid is not None else []
    for path, end in given.items():
        assert node is not None
        if path not in paths:
            fields.add(node.value[path], f"cheaper.{path}", "is no path of the grid", suggestion(path, paths))
        elif end not in ENDS:
            fields.add(node.value[path], f"cheaper.{path}", "is no direction", "write larger or smaller")
    return tuple(given.items())


def _check_size(fields: Fields, root: Node, experiment: Experiment) -> None:
    limits = fields.member(root, "limits", dict)
    most = RUNS_MAX
    if limits is not None:
        fields.known(limits, "limits", ("runs",))
        most = fields.value(limits, "runs", RUNS_MAX)
        if type(most) is not int or not 1 <= most <= RUNS_MOST:
            fields.fail(
                limits, "runs", "is no limit", f"write a number of runs, 1 to {RUNS_MOST:,}", "limits"
            )
            return
    points = 1
    for axis in experiment.axes:
        points *= len(axis.values)
    if points > POINTS_MOST:
        fields.fail(root, "grid", f"has {points:,} points", f"at most {POINTS_MOST:,}; leave out values")
    elif experiment.runs > most:
        what = f"are {experiment.runs:,} runs ({points:,} points × {len(experiment.seeds):,} seeds × "
        what += f"{experiment.phases:,} phases)"
        fields.add(
            root, "", what, f"at most {most:,}; raise `limits: {{runs: {experiment.runs}}}`, or run fewer"
        )


def _check_points(fields: Fields, root: Node, experiment: Experiment) -> None:
    """Load the scenario of every point; each problem is reported once, at the value that causes it."""
    try:
        first = experiment.scenario_at(experiment.points[0]) if not experiment.axes else None
    except ScenarioError as error:
        fields.extend(error.kept)
        return
    seen: set[tuple[str, str]] = set()
    for point in experiment.points:
        try:
            first = first or experiment.scenario_at(point)
            experiment.scenario_at(point)
        except ScenarioError as error:
            for problem in error.kept:
                if (problem.source, problem.what) not in seen:
                    seen.add((problem.source, problem.what))
                    fields.extend([_placed(root, problem, point.values)])
    if first is not None and not fields.problems:
        _check_meaning(fields, root, experiment, first)


def _placed(root: Node, problem: Problem, values: dict[str, str]) -> Problem:
    """The problem of an overridden value, at its place in the experiment's file."""
    for path, value in values.items():
        if problem.source == f"--set {path}={value}":
            node = root.value["grid"].value[path]
            place = next((one for one in node.value if (one.text or str(one.value)) == value), node)
            return place.problem(f"grid.{path}", f"{value}: {problem.what}", problem.right)
    return problem


def _check_meaning(fields: Fields, root: Node, experiment: Experiment, scenario: Scenario) -> None:
    declared = protocol_of(scenario).measured
    if experiment.phases > 1 or experiment.drawn:
        if first_fault_us(scenario) is None:
            what = f"the scenario has no command that could be moved ({', '.join(declared.faults)})"
            fields.fail(root, "phases", what, "write phases: 1, or add a failover to the scenario")
        elif not declared.period_us(scenario):
            fields.fail(root, "phases", "nothing in this scenario repeats with a period", "write phases: 1")
    names = [measure.name for measure in declared.measures]
    wanted = fields.member(root, "wanted", dict)
    if experiment.wanted is not None and wanted is not None and experiment.wanted.measure not in names:
        right = suggestion(experiment.wanted.measure, names)
        fields.fail(wanted, "measure", f"there is no measure {experiment.wanted.measure}", right, "wanted")
