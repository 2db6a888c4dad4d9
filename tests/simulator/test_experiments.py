"""Experiments: the file and its problems, the order of the runs, and figures equal to those of whole runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import ScenarioError, World
from simulator.experiments import (
    RUNS_MAX,
    Experiment,
    batches,
    read_experiment,
    read_experiment_text,
    replayed,
    run_batch,
)
from simulator.experiments.runs import later
from simulator.runs import Runs, finished
from simulator.scenarios.canonical import Variant
from simulator.scenarios.loader import load_scenario
from simulator.scenarios.tree import Problem
from tests.examples import examples

ROOT = Path(__file__).resolve().parents[2]
PERIOD = "settings.replicatedSubscriptionsSnapshotFrequencyMillis"

SCENARIO = """\
format: 1
name: small
title: Small
family: replicated-subscriptions
until: 8s
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [a, b]}}
producers: {web: {topic: orders, cluster: a, start: 50ms, every: 100ms, arrivals: poisson, count: 60}}
subscriptions: {billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers: {one: {subscription: billing, cluster: a, processing: 2ms}}
commands:
  - {at: 3500ms, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned}
"""


def block(text: str = SCENARIO) -> str:
    return "scenario: |\n" + "".join(f"  {line}\n" for line in text.splitlines())


def read(rest: str, scenario: str = SCENARIO) -> Experiment:
    return read_experiment_text(rest + "\n" + block(scenario))


def rows_of(experiment: Experiment) -> list[dict]:
    return [row for batch in batches(experiment) for row in run_batch(experiment, batch)]


def problems_of(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as raised:
        read_experiment_text(text)
    return [str(problem) for problem in raised.value.problems]


# --- the runs and their order


def test_the_last_axis_varies_fastest_then_seeds_and_phases_within_a_point():
    experiment = read(
        f"grid: {{{PERIOD}: [500, 1000], links.default.latency: [10ms, 40ms]}}\nseeds: 2\nphases: 2"
    )
    assert [list(point.values.values()) for point in experiment.points] == [
        ["500", "10ms"],
        ["500", "40ms"],
        ["1000", "10ms"],
        ["1000", "40ms"],
    ]
    rows = rows_of(experiment)
    assert [row["run"] for row in rows] == list(range(experiment.runs)) == list(range(16))
    assert [(row["point"], row["seed"]) for row in rows[::2]] == [(n, s) for n in range(4) for s in (1, 2)]
    assert [row["phase_us"] for row in rows[:2]] == [0, 250_000]  # halves of the point's own period
    assert [row["phase_us"] for row in rows[8:10]] == [0, 500_000]


def test_without_phases_there_are_twenty_where_faults_can_be_moved_and_one_elsewhere():
    assert read("seeds: [7]").phases == 20
    assert read("", SCENARIO.partition("commands:")[0]).phases == 1
    assert read("", SCENARIO.replace("replicateSubscriptionState: true, ", "")).phases == 1
    assert read("phases: 1").phases == 1


def test_drawn_phases_differ_by_seed_and_repeat():
    experiment = read("phases: {drawn: 5}\nseeds: 2")
    drawn = [
        experiment.offsets_us(experiment.scenario_at(b.point, b.seed), b.point, b.seed)
        for b in batches(experiment)
    ]
    assert len({*drawn[0], *drawn[1]}) == 10 and all(0 <= one < 1_000_000 for one in drawn[0])
    again = read("phases: {drawn: 5}\nseeds: 2")
    assert drawn[1] == again.offsets_us(again.scenario_at(again.points[0], 2), again.points[0], 2)


@pytest.mark.parametrize("phases", ["5", "{drawn: 5}"])
def test_the_parts_of_a_batch_have_its_rows(phases):
    experiment = read(f"phases: {phases}\nseeds: [7]")
    (batch,) = batches(experiment)
    whole = list(run_batch(experiment, batch))
    assert len(whole) == 5
    for count, sizes in ((1, [5]), (2, [2, 3]), (3, [1, 2, 2]), (9, [1] * 5)):
        parts = batch.parts(count)
        assert [len(part.phases) for part in parts] == sizes
        assert [row for part in parts for row in run_batch(experiment, part)] == whole


def test_the_parts_of_a_batch_that_cannot_run_have_its_rows(monkeypatch: pytest.MonkeyPatch):
    experiment = read("phases: 4\nseeds: [7]")
    (batch,) = batches(experiment)

    def refused(*_: object):
        raise ScenarioError([Problem("planted", None, None, "", "is wrong", "write another")])

    monkeypatch.setattr(Experiment, "offsets_us", refused)
    rows = [row for part in batch.parts(3) for row in run_batch(experiment, part)]
    assert rows == list(run_batch(experiment, batch))
    assert [(row["run"], row["status"]) for row in rows] == [(run, "failed") for run in range(4)]


def test_duplicates_depend_on_the_phase():
    """The reason for phases: one instant would give one of these figures."""
    found = [row["duplicates"] for row in rows_of(read("phases: 20"))]
    assert max(found) >= min(found) + 8


def test_the_period_of_synced_acknowledgements_is_a_period():
    text = SCENARIO.replace(
        "replicateSubscriptionState: true", "acknowledgementSync: periodic, ackSyncPeriod: 400ms"
    )
    text = text.replace("replicated-subscriptions", "tenant-migration")
    rows = rows_of(read("phases: 4", text))
    assert [row["phase_us"] for row in rows] == [0, 100_000, 200_000, 300_000]


def test_until_replaces_the_end_of_the_scenario():
    experiment = read("until: 5s\nphases: 2")
    assert replayed(experiment, rows_of(experiment)[1]).until_us == 5_500_000


def test_an_experiment_is_described_completely():
    rest = f"grid: {{{PERIOD}: [500]}}\nphases: {{drawn: 3}}\nwanted: {{measure: outage_us, at_most: 2s}}"
    described = read(rest).described()
    assert described == read(rest).described() == json.loads(json.dumps(described))
    assert described["phases"] == {"drawn": 3} and described["grid"] == {PERIOD: ["500"]}
    assert described["wanted"] == {
        "measure": "outage_us",
        "at_most": 2_000_000,
        "share": 0.99,
        "confidence": 0.95,
    }


def test_an_experiment_that_names_its_measures_has_only_these():
    experiment = read("measures: [lost, duplicates]\nphases: 1")
    assert [one.name for one in experiment.measures] == ["duplicates", "lost"]
    (row,) = rows_of(experiment)
    assert list(row)[-5:] == ["rows", "causes", "delivering", "duplicates", "lost"]


# --- figures of forks and of whole runs


def assert_equals_whole_runs(experiment: Experiment) -> None:
    for row in rows_of(experiment):
        world = World.from_scenario(replayed(experiment, row))
        world.run()
        measures = {one.name: row[one.name] for one in experiment.measures}
        assert measures == world.protocol.measured.of(world) == summed(world.summary(), measures), row
        assert row["rows"] <= world.seq
        assert prefix_digest(experiment, row) == world.digest()


def prefix_digest(experiment: Experiment, row: dict) -> str:
    """The digest of a run that goes on from a fork at a later fault, after another fork."""
    scenario, runs = (
        experiment.scenario_at(experiment.points[row["point"]], row["seed"]),
        Runs(figures_only=True),
    )
    finished(runs.run(later(scenario, row["phase_us"] // 2)))
    return finished(runs.run(later(scenario, row["phase_us"]))).digest()


def summed(summary: dict, names: dict) -> dict:
    """The measures from the summary, which does not use the code of the measures."""
    if summary["groups"]:
        return {name: sum(group[name] for group in summary["groups"].values()) for name in names}
    failovers = summary["failovers"]
    found = {name: sum(one[name] for one in failovers) for name in names if not name.endswith("_us")}
    spans = {
        "outage_us": [one["outage_us"] for one in failovers],
        "drained_us": [one["drained_us"] and one["drained_us"] - one["at_us"] for one in failovers],
    }
    return found | {
        name: max(given) if given and None not in given else None for name, given in spans.items()
    }


@pytest.mark.parametrize(
    "name",
    ["region-down", "region-down-twice", "fail-over-and-back", "strategies-backlog"]
    + ["groups-killed", "groups-node-crash", "groups-leader-crash-early", "groups-split-heals"],
)
def test_rows_equal_whole_runs_of_built_in_scenarios(name: str):
    assert_equals_whole_runs(read_experiment_text(f"scenario: {name}\nphases: 2\nseeds: [1, 5]"))


@examples(4)
@given(
    offsets=st.lists(st.integers(0, 2_000_000), min_size=1, max_size=3),
    name=st.sampled_from(
        ["region-down", "groups-two-leaders", "consumer-drains-backlog", "unsafe-partial-snapshot"]
    ),
)
def test_any_offsets_give_the_bytes_of_the_whole_run(offsets: list[int], name: str):
    from simulator.experiments.experiment import moved

    scenario = load_scenario(name)
    runs = Runs(figures_only=True)
    for offset_us in sorted(offsets):
        run = finished(runs.run(later(scenario, offset_us)))
        world = World.from_scenario(moved(scenario, offset_us))
        world.run()
        assert run.trace.digest() == world.digest()
        assert run.protocol.measured.of(run) == world.protocol.measured.of(world)


def test_the_same_rows_in_another_process_with_another_hash_seed():
    rest = f"grid: {{{PERIOD}: [500, 1000]}}\nphases: {{drawn: 2}}\n"
    program = (
        "import json, sys\nfrom simulator.experiments import *\n"
        "read = read_experiment_text(sys.stdin.read())\n"
        "print(json.dumps([row for batch in batches(read) for row in run_batch(read, batch)]))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        input=rest + block(),
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(answer.stdout) == rows_of(read(rest))


def test_a_failed_run_is_a_row_with_its_reason_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch):
    experiment = read("phases: 3")
    whole = rows_of(experiment)
    begin = Runs._begin
    last_us = sorted(row["phase_us"] for row in whole)
    ends = [later(experiment.scenario_at(experiment.points[0], 1), at_us).end_us for at_us in last_us]

    def broken(self: Runs, variant: Variant):
        if variant.end_us == ends[last_us.index(whole[1]["phase_us"])]:
            raise ZeroDivisionError("planted")
        return begin(self, variant)

    monkeypatch.setattr(Runs, "_begin", broken)
    rows = rows_of(experiment)
    assert [rows[0], rows[2]] == [whole[0], whole[2]]
    assert (rows[1]["status"], rows[1]["rows"], rows[1]["seed"]) == ("failed", 0, 1)
    assert rows[1]["reason"] == "internal error, ZeroDivisionError: planted"


def test_a_fork_at_too_many_rows_fails_with_the_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Runs.__init__, "__defaults__", (*Runs.__init__.__defaults__[:1], 100, False))
    rows = rows_of(read("phases: 2"))
    assert {row["status"] for row in rows} == {"failed"}
    assert rows[0]["reason"].startswith("it has more than 100 rows at ")


# --- the file


def test_every_problem_is_reported_at_once_with_its_line():
    text = """\
format: 2
nmae: wrong
scenario: region-up
grid:
  settings.x: []
  seed: [1, 2]
seeds: [1, 1]
phases: 0
until: soon
wanted: {measure: duplicates, at_most: -1, share: 100%, sure: 1%}
cheaper: {settings.y: larger}
limits: {runs: 0}
"""
    assert problems_of(text) == [
        "experiment:1:9: format: unknown format; write `format: 1`",
        "experiment:2:1: nmae: unknown key; did you mean name?",
        "experiment:3:11: scenario: there is no scenario region-up; a built-in scenario (did you mean region-down?), "
        "or a .yaml file beside this one",
        "experiment:5:15: grid.settings.x: is not a list of values; write a list, such as [250, 500, 1000]",
        "experiment:6:9: grid.seed: is no axis of a grid; write `seeds:` outside of the grid",
        "experiment:7:8: seeds: are not seeds; give each seed once",
        "experiment:8:9: phases: is not a number of phases; write a number, 1 to 10,000, {drawn: 20} for random "
        "phases, or by-seed",
        'experiment:9:8: until: "soon" is not a duration; write a number with us, ms, s, m or h, such as 40ms or 1.5s',
        "experiment:10:40: wanted.at_most: is not a whole number or a duration; write the largest acceptable value, "
        "such as 50, or 2s for a measure of time",
        "experiment:10:51: wanted.share: is not between 0% and 100%; write a share such as 99%",
        "experiment:10:57: wanted.sure: unknown key; did you mean measure?",
        "experiment:11:23: cheaper.settings.y: is no path of the grid; did you mean settings.x?",
        "experiment:12:16: limits.runs: is not a limit; write a number of runs, 1 to 10,000,000",
    ]


def test_a_value_that_the_scenario_refuses_is_reported_where_the_grid_gives_it():
    text = f"grid:\n  {PERIOD}: [500, often]\n  links.default.latency:\n    - 40ms\n    - -1ms\n" + block()
    found = problems_of(text)
    assert len(found) == 2
    assert found[1].startswith("experiment:5:7: grid.links.default.latency: -1ms: ")
    assert found[0].startswith(f"experiment:2:{len(PERIOD) + 11}: grid.{PERIOD}: often: ")


def test_a_problem_of_a_scenario_in_the_file_has_the_line_of_the_file():
    text = "seeds: 0\n" + block(SCENARIO.replace("every: 100ms", "every: sometimes"))
    found = problems_of(text)
    assert found[0].startswith("experiment:1:8: seeds: are not seeds")
    column = SCENARIO.splitlines()[8].index("100ms") + 3
    assert found[1].startswith(f"experiment:11:{column}: producers.web.every: ")


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("phases: 3", "phases: the scenario has no command that phases could move (subscription.fail-over, "),
        ("phases: {drawn: 1}", "write `phases: 1`, or add a failover to the scenario"),
        (
            "wanted: {measure: duplicate, at_most: 1}",
            "wanted.measure: there is no measure duplicate; did you mean dup",
        ),
        ("wanted: {at_most: 1}", "wanted.measure: is missing"),
        (
            "wanted: {measure: duplicates, at_most: 1s}",
            "wanted.at_most: is not a value of duplicates; write a whole",
        ),
        (
            "wanted: {measure: outage_us, at_most: 1}",
            "wanted.at_most: is not a value of outage_us; write a duration",
        ),
        ("measures: [duplicate]", "measures: there is no measure duplicate; did you mean duplicates?"),
        ("measures: duplicates", "measures: is not a list of measures"),
        (
            "measures: [lost]\nwanted: {measure: duplicates, at_most: 1}",
            "wanted.measure: duplicates is not in `measures`; add it there",
        ),
        ("grid: {a.b: [1, 1]}", "grid.a.b: 1 is given twice; keep one of them"),
        ("grid: [1]", "grid: is not a mapping"),
        ("cheaper: {}\ngrid: {x: [1]}\nlimits: {rows: 3}", "limits.rows: unknown key"),
    ],
)
def test_a_problem_says_what_would_be_right(rest: str, words: str):
    assert words in "\n".join(problems_of(f"{rest}\n{block(SCENARIO.partition('commands:')[0])}"))


def test_a_point_whose_faults_cannot_be_moved_is_named():
    text = "phases: 2\ngrid: {subscriptions.billing.replicateSubscriptionState: [true, false]}\n" + block()
    assert problems_of(text) == [
        "experiment:1:9: phases: with subscriptions.billing.replicateSubscriptionState=false, nothing in the "
        "scenario repeats with a period; write `phases: 1`"
    ]


def test_the_limit_of_runs_can_be_raised():
    text = f"seeds: {RUNS_MAX // 20 + 1}\n"
    (found,) = problems_of(text + block())
    assert found == (
        "experiment:1:1: number of runs: 10,020 runs (1 points × 501 seeds × 20 phases); at most 10,000; write "
        "`limits: {runs: 10020}` to allow them, or fewer"
    )
    assert read(f"{text}limits: {{runs: 10020}}").runs == 10_020
    (found,) = problems_of(f"limits: {{runs: 19}}\n{block()}")
    assert "20 runs" in found and "at most 19" in found


def test_a_grid_of_too_many_points_is_refused_without_reading_them():
    axes = ", ".join(f"settings.s{axis}: [{', '.join(map(str, range(100)))}]" for axis in range(3))
    (found,) = problems_of(f"grid: {{{axes}}}\n{block()}")
    assert found.startswith("experiment:1:7: grid: has 1,000,000 points; at most 10,000")


def test_a_scenario_is_a_built_in_one_or_a_file_beside_the_experiment(tmp_path: Path):
    (tmp_path / "mine.yaml").write_text(SCENARIO)
    (tmp_path / "experiment.yaml").write_text("scenario: mine.yaml\nphases: 1\n")
    (tmp_path / "other.yaml").write_text("scenario: yours.yaml\n")
    assert read_experiment(tmp_path / "experiment.yaml").runs == 1
    assert read_experiment_text("scenario: region-down\nphases: 1").runs == 1
    with pytest.raises(ScenarioError, match="scenario: yours.yaml cannot be read: No such file"):
        read_experiment(tmp_path / "other.yaml")
    with pytest.raises(ScenarioError, match="there is no scenario mine.yaml"):
        read_experiment_text("scenario: mine.yaml")  # a text from a page opens no file
    with pytest.raises(ScenarioError, match="none.yaml: cannot be read"):
        read_experiment(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match="an experiment is a mapping"):
        read_experiment_text("- 1")


def test_the_example_of_the_document_is_an_experiment():
    text = (ROOT / "docs" / "experiments.md").read_text()
    experiment = read_experiment_text(text.partition("```yaml\n")[2].partition("```")[0])
    assert f"= {experiment.runs} runs" in text
    measures = {one.name for name in ("region-down", "groups-killed") for one in measures_of(name)}
    assert {name for name in measures if f"`{name}`" not in text} == set()


def measures_of(scenario: str) -> tuple:
    return read_experiment_text(f"scenario: {scenario}").measures


def test_phases_by_seed_give_each_seed_one_of_evenly_spaced_phases():
    rows = rows_of(read("phases: by-seed\nseeds: 4"))
    assert [(row["seed"], row["phase_us"]) for row in rows] == [
        *((1, 0), (2, 250_000), (3, 500_000), (4, 750_000))
    ]
    assert read("phases: by-seed\nseeds: 4").described()["phases"] == "by-seed"
    still = SCENARIO.partition("commands:")[0]
    assert "phases" in problems_of("phases: by-seed\n" + block(still))[0]


def test_a_run_that_ends_before_its_backlog_is_drained_says_so():
    busy = SCENARIO.replace("processing: 2ms", "processing: 90ms")
    (whole,) = rows_of(read("phases: 1", busy.replace("until: 8s", "until: 30s")))
    (cut,) = rows_of(read("phases: 1", busy.replace("until: 8s", "until: 3600ms")))
    assert (whole["delivering"], cut["delivering"]) == (0, 1)
    assert cut["drained_us"] is None and whole["drained_us"] is not None


def test_an_ack_that_never_comes_is_no_delivery_that_may_still_follow():
    held = SCENARIO.replace("processing: 2ms", "processing: 2ms, hold: {messages: [web/30]}").replace(
        "mode: planned", "mode: crash"
    )
    (row,) = rows_of(read("phases: 1", held.replace("until: 8s", "until: 30s")))
    assert (row["drained_us"], row["delivering"]) == (None, 0)


def test_a_row_has_the_causes_of_its_duplicates():
    (row,) = rows_of(read("phases: 1"))
    assert sum(json.loads(row["causes"]).values()) == row["duplicates"] > 0
