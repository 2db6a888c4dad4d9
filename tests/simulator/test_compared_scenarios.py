"""Experiments that compare scenarios, and limits that the text of an experiment cannot raise."""

from __future__ import annotations

import pytest

from simulator import ScenarioError
from simulator.experiments import read_experiment_text
from tests.simulator.test_experiments import SCENARIO, problems_of, rows_of

INDENTED = "".join(f"    {line}\n" for line in SCENARIO.splitlines())


def test_scenarios_are_compared_as_an_axis_of_their_names():
    text = (
        "scenario:\n  old: region-down\n  new: |\n"
        + INDENTED
        + "phases: 2\ngrid: {settings.keepAliveIntervalSeconds: [20, 30]}\n"
    )
    experiment = read_experiment_text(text)
    assert [axis.path for axis in experiment.axes] == ["scenario", "settings.keepAliveIntervalSeconds"]
    titles = [experiment.scenario_at(point).title for point in experiment.points]
    assert titles[0] == titles[1] != titles[2] == titles[3]
    assert experiment.scenario_at(experiment.points[1]).settings["keepAliveIntervalSeconds"] == 30
    assert set(experiment.described()["scenario"]) == {"old", "new"}
    assert {row["status"] for row in rows_of(experiment)} == {"finished"}


def test_problems_of_compared_scenarios_have_the_lines_of_the_file():
    text = "scenario:\n  old: region-down\n  new: |\n    format: 1\n    wrong: 1\n  third: nowhere\n"
    found = problems_of(text)
    assert any(line.startswith("experiment:5:5: wrong: unknown key") for line in found)
    assert any(
        line.startswith("experiment:6:10: scenario.third: there is no scenario nowhere") for line in found
    )
    assert "nothing to compare it with" in problems_of("scenario: {only: region-down}\n")[0]
    [mixed] = problems_of("scenario: {one: region-down, other: groups-killed}\nphases: 1\n")
    assert "do not have the same measures" in mixed


def test_limits_that_the_text_cannot_raise():
    text = "scenario: region-down\nphases: 4\nlimits: {runs: 100000}\ngrid: {settings.keepAliveIntervalSeconds: [20, 30]}\n"
    assert read_experiment_text(text, runs_most=8, points_most=2).runs == 8
    for limits, words in (
        ({"runs_most": 7}, "8 runs are too many here"),
        ({"points_most": 1}, "has 2 points"),
    ):
        with pytest.raises(ScenarioError, match=words):
            read_experiment_text(text, **limits)
