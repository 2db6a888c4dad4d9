"""Reads an experiment's file: every problem at once, with its line, before anything runs.

Rules: the scenario of every point is loaded here, so a value that the scenario's schema refuses is found with
the line at which the experiment gives it. The format is described in docs/experiments.md.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simulator.experiments.experiment import Experiment
from simulator.experiments.fields import SCENARIO, Fields
from simulator.experiments.parts import axes, cheaper, measures, phases, runs_max, seeds, wanted
from simulator.experiments.points import Points, settled_phases
from simulator.scenarios.builtin import builtin_text, scenario_names
from simulator.scenarios.problems import ScenarioError, suggestion
from simulator.scenarios.text_files import read_text_file
from simulator.scenarios.tree import Node, read_tree
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


def read_experiment_text(text: str, source: str = "experiment", folder: Path | None = None) -> Experiment:
    """The experiment of a text. Raises ScenarioError with every problem.

    A scenario's file is looked up in `folder`; without one, no file is opened.
    """
    root, found = read_tree(text, source)
    fields = Fields(root, text, found)
    fields.known(root, "", KEYS)
    if fields.value(root, "format", FORMAT) != FORMAT:
        fields.fail(root, "format", "unknown format", f"write `format: {FORMAT}`")
    name = fields.text(root, "name", "experiment")
    count, drawn = phases(fields, root)
    scenario_text, scenario_source = _scenario(fields, root, folder)
    limit = runs_max(fields, root)
    experiment = Experiment(
        name=name,
        title=fields.text(root, "title", name),
        scenario_text=scenario_text,
        scenario_source=scenario_source,
        axes=axes(fields, root),
        seeds=seeds(fields, root),
        phases=count or 1,
        drawn=drawn,
        until_us=fields.read(root, "until", parse_duration, None),
        wanted=wanted(fields, root),
        cheaper=cheaper(fields, root),
        measured=measures(fields, root),
    )
    if scenario_text:
        _check_grid(fields, root, experiment)
        tried = replace(experiment, axes=()) if fields.has_problem_at("grid") else experiment
        points = Points(fields, root, tried)
        if (first := points.first()) is not None:
            phase_count = settled_phases(fields, root, first, count, drawn)
            experiment, tried = replace(experiment, phases=phase_count), replace(tried, phases=phase_count)
            _check_runs(fields, root, tried, limit)
        if not fields.has_problem_at(RUNS):
            points.check(tried)
    fields.stop_if_any()
    return experiment


def _scenario(fields: Fields, root: Node, folder: Path | None) -> tuple[str, str]:
    """Text and source of the scenario: a built-in name, a file beside the experiment, or a block of text."""
    given = fields.text(root, "scenario", "")
    if not given:
        if not fields.has_problem_at("scenario"):
            fields.fail(root, "scenario", "is missing", "name a built-in scenario or a .yaml file")
        return "", ""
    if "\n" in given:
        return given, SCENARIO
    if given in scenario_names():
        return builtin_text(given), f"{given}.yaml"
    path = (folder or Path()) / given
    if folder is not None and path.suffix in (".yaml", ".yml"):
        try:
            return read_text_file(path), str(path)
        except ScenarioError as error:
            fields.fail(root, "scenario", f"{given} {error.kept[0].what}", error.kept[0].right)
            return "", ""
    right = f"a built-in scenario ({suggestion(given, scenario_names())}), or a .yaml file beside this one"
    fields.fail(root, "scenario", f"there is no scenario {given}", right)
    return "", ""


def _check_grid(fields: Fields, root: Node, experiment: Experiment) -> None:
    points = 1
    for axis in experiment.axes:
        points *= len(axis.values)
    if points > POINTS_MAX:
        fields.fail(root, "grid", f"has {points:,} points", f"at most {POINTS_MAX:,}; leave out values")


def _check_runs(fields: Fields, root: Node, experiment: Experiment, limit: int) -> None:
    if experiment.runs > limit:
        what = f"{experiment.runs:,} runs ({len(experiment.points):,} points × "
        what += f"{len(experiment.seeds):,} seeds × {experiment.phases:,} phases)"
        right = f"at most {limit:,}; write `limits: {{runs: {experiment.runs}}}` to allow them, or fewer"
        fields.add(root, RUNS, what, right)
