"""Reads an experiment's file: every problem at once, with its line, before anything runs.

Rules: the scenario of every point is loaded here, so a value that the scenario's schema refuses is found with
the line at which the experiment gives it. The format is described in docs/experiments.md.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simulator.experiments.experiment import (
    SCENARIO,
    Axis,
    Experiment,
    Fields,
    axes,
    cheaper,
    measures,
    phases,
    runs_max,
    seeds,
    wanted,
)
from simulator.experiments.runs import Points, settled_phases
from simulator.scenarios.builtin import builtin_text, scenario_names
from simulator.scenarios.tree import Node, ScenarioError, read_text_file, read_tree, suggestion
from simulator.scenarios.units import parse_duration

FORMAT = 1
POINTS_MAX = 10_000
"""The most points of a grid: each one's scenario is read before anything runs, 3 to 10 ms each."""

KEYS = (
    *("format", "name", "title", "scenario", "grid", "seeds", "phases", "until"),
    *("measures", "wanted", "cheaper", "limits"),
)
RUNS = "number of runs"


def read_experiment(path: str | Path) -> Experiment:
    """The experiment of a file. Raises ScenarioError with every problem."""
    source = Path(path)
    return read_experiment_text(read_text_file(source), str(path), source.parent)


def read_experiment_text(
    text: str,
    source: str = "experiment",
    folder: Path | None = None,
    *,
    runs_most: int | None = None,
    points_most: int = POINTS_MAX,
) -> Experiment:
    """The experiment of a text. Raises ScenarioError with every problem.

    A scenario's file is looked up in `folder`; without one, no file is opened. `runs_most` is a limit that
    the text cannot raise.
    """
    root, found = read_tree(text, source)
    fields = Fields(root, text, found)
    fields.known(root, "", KEYS)
    if fields.value(root, "format", FORMAT) != FORMAT:
        fields.fail(root, "format", "unknown format", f"write `format: {FORMAT}`")
    name = fields.text(root, "name", "experiment")
    count, drawn, by_seed = phases(fields, root)
    compared = _compared(fields, root, folder)
    scenario_text, scenario_source = compared[0][1:] if compared else _scenario(fields, root, folder)
    limit = runs_max(fields, root)
    names = (Axis(SCENARIO, tuple(name for name, *_ in compared)),) if compared else ()
    experiment = Experiment(
        name=name,
        title=fields.text(root, "title", name),
        scenario_text=scenario_text,
        scenario_source=scenario_source,
        axes=(*names, *axes(fields, root)),
        seeds=seeds(fields, root),
        phases=count or 1,
        drawn=drawn,
        until_us=fields.read(root, "until", parse_duration, None),
        wanted=wanted(fields, root),
        cheaper=cheaper(fields, root),
        measured=measures(fields, root),
        compared=tuple((name, written) for name, written, _ in compared),
        by_seed=by_seed,
    )
    if scenario_text:
        _check_grid(fields, root, experiment, points_most)
        tried = replace(experiment, axes=()) if fields.has_problem_at("grid") else experiment
        points = Points(fields, root, tried)
        if (first := points.first()) is not None:
            phase_count = settled_phases(fields, root, first, count, drawn or by_seed)
            experiment, tried = replace(experiment, phases=phase_count), replace(tried, phases=phase_count)
            _check_runs(fields, root, tried, limit, runs_most)
        if not fields.has_problem_at(RUNS):
            points.check(tried)
    fields.stop_if_any()
    return experiment


def _compared(fields: Fields, root: Node, folder: Path | None) -> list[tuple[str, str, str]]:
    """Name, text and source of each scenario where the file gives several by name, else none."""
    node = root.value.get(SCENARIO)
    if node is None or not isinstance(node.value, dict):
        return []
    found = [(name, *_scenario(fields, node, folder, name, SCENARIO)) for name in node.value]
    if len(found) == 1:
        fields.add(node, SCENARIO, "has one scenario, and nothing to compare it with", "add another one")
    return [one for one in found if one[1]]


def _scenario(
    fields: Fields, root: Node, folder: Path | None, key: str = SCENARIO, above: str = ""
) -> tuple[str, str]:
    """Text and source of a scenario: a built-in name, a file beside the experiment, or a block of text."""
    path_in_file = f"{above}.{key}" if above else key
    given = fields.text(root, key, "", above)
    if not given:
        if not fields.has_problem_at(path_in_file):
            right = "name a built-in scenario or a .yaml file"
            fields.fail(root, key, "is missing", right, above)
        return "", ""
    if "\n" in given:
        return given, path_in_file
    if given in scenario_names():
        return builtin_text(given), f"{given}.yaml"
    path = (folder or Path()) / given
    if folder is not None and path.suffix in (".yaml", ".yml"):
        try:
            return read_text_file(path), str(path)
        except ScenarioError as error:
            fields.fail(root, key, f"{given} {error.kept[0].what}", error.kept[0].right, above)
            return "", ""
    right = f"a built-in scenario ({suggestion(given, scenario_names())}), or a .yaml file beside this one"
    fields.fail(root, key, f"there is no scenario {given}", right, above)
    return "", ""


def _check_grid(fields: Fields, root: Node, experiment: Experiment, most: int) -> None:
    points = 1
    for axis in experiment.axes:
        points *= len(axis.values)
    if points > most:
        fields.fail(root, "grid", f"has {points:,} points", f"at most {most:,}; leave out values")


def _check_runs(fields: Fields, root: Node, experiment: Experiment, limit: int, most: int | None) -> None:
    if most is not None and experiment.runs > most:
        what = f"{experiment.runs:,} runs are too many here"
        fields.add(root, RUNS, what, f"at most {most:,}; take fewer values, seeds or phases")
    elif experiment.runs > limit:
        what = f"{experiment.runs:,} runs ({len(experiment.points):,} points × "
        what += f"{len(experiment.seeds):,} seeds × {experiment.phases:,} phases)"
        right = f"at most {limit:,}; write `limits: {{runs: {experiment.runs}}}` to allow them, or fewer"
        fields.add(root, RUNS, what, right)
