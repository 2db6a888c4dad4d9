"""The form of an experiment: its text, problems, size, offered parameters and bounds."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from simulator.experiments import Cost, batches, cost_of, read_experiment_text, run_batch
from visualizer.labs.definitions import builtin_scenario
from visualizer.tasks import experiments
from visualizer.tasks.experiments import FREQUENT, base_of, comparison, offered

SMALL = "rate=20%2Fs&at=4s&after=1s&end=2s&period=500"
"""A set-up whose runs take milliseconds."""


def check(**given: Any) -> dict[str, Any]:
    answer = Client().post("/experiments/check/", json.dumps(given), content_type="application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def vary(**given: Any) -> dict[str, Any]:
    return check(**{"way": "parameter", "base": {"kind": "set-up", "query": SMALL}, "phases": "4", **given})


def test_a_parameter_of_my_set_up_becomes_an_experiment_that_runs() -> None:
    found = vary(
        parameter="processing", values="1ms, 5ms", seeds="2", at_most="5", share="90%", measure="lost"
    )
    assert found["problems"] == []
    assert found["size"]["words"].startswith("16 runs (2 settings × 2 seeds × 4 phases), about ")
    experiment = read_experiment_text(found["yaml"])
    assert [(axis.path, axis.values) for axis in experiment.axes] == [
        ("consumers.*.processing.median", ("1ms", "5ms"))
    ]
    assert experiment.wanted is not None and experiment.wanted.measure == "lost"
    assert experiment.scenario_at(experiment.points[1]).producers["from-us-west"].every_us == 50_000
    first = next(batches(experiment))
    assert {row["status"] for row in run_batch(experiment, first)} == {"finished"}


def test_reordered_messages_are_left_out_where_runs_stop_earlier_without_them() -> None:
    """Two Shared consumers may get messages out of order at any time."""
    found = vary(parameter="period", values="250, 500")
    names = [one.name for one in read_experiment_text(found["yaml"]).measures]
    assert "reordered" not in names and {"duplicates", "lost", "outage_us"} <= set(names)
    assert found["late"] == "reordered" and "reordered" in [one["name"] for one in found["size"]["measures"]]
    for asked in ({"late": True}, {"measure": "reordered", "at_most": "3"}):
        found = vary(parameter="period", values="250, 500", **asked)
        assert "measures:" not in found["yaml"] and found["problems"] == [] and found["late"] == "reordered"
    one = {"kind": "set-up", "query": f"{SMALL}&consumers=1"}
    found = vary(parameter="period", values="250, 500", base=one)
    assert "measures:" not in found["yaml"] and found["late"] == ""
    bases = {"base": one, "base2": {"kind": "set-up", "query": SMALL}}
    found = check(way="compare", phases="4", **bases)
    assert "measures: [duplicates," in found["yaml"] and found["problems"] == []


def test_offered_are_the_parameters_that_the_scenario_has() -> None:
    names = {one["name"]: one["path"] for one in vary()["parameters"]}
    assert names["queue"] == "consumers.*.receiverQueueSize" and names["rate"] == "producers.*.rate"
    assert names["mode"] == "commands[1].mode" and "every" not in names
    groups = check(way="parameter", base={"kind": "groups-killed"})["parameters"]
    assert "period" not in [one["name"] for one in groups]
    assert "settings.leader_claim_ttl" in [one["path"] for one in groups]


@pytest.mark.parametrize("name", ["region-down", "three-regions", "groups-killed"])
def test_every_offered_value_is_accepted_by_the_scenario(name: str) -> None:
    text = builtin_scenario(name).canonical_text
    for one in offered(text):
        if one.parameter.group == FREQUENT or one.parameter.name in ("leader_claim_ttl", "batch_size"):
            values = ", ".join(one.parameter.values)
            read_experiment_text(f"scenario: {name}\nphases: 1\ngrid: {{'{one.path}': [{values}]}}\n")


def test_a_new_parameter_brings_its_own_values() -> None:
    assert vary(parameter="queue")["values"] == "10, 100, 1000, 10000"
    assert vary(parameter="gone", values="1")["parameter"] == "period"


def test_all_problems_are_shown_with_their_lines() -> None:
    found = vary(parameter="queue", values="10, many", phases="0", at_most="few")
    lines = found["yaml"].splitlines()
    assert found["size"] is None
    assert {problem["path"].split(".")[0] for problem in found["problems"]} == {"grid", "phases", "wanted"}
    for problem in found["problems"]:
        assert problem["path"].split(".")[0] in " ".join(lines[problem["line"] - 2 : problem["line"]])


def test_problems_of_an_own_scenario_come_before_those_of_the_experiment() -> None:
    found = check(way="parameter", base={"kind": "text", "text": "format: 1\nname: x\nwrong: 1\n"})
    assert found["yaml"] == "" and found["parameters"] == []
    assert ("scenario: wrong", 3) in [(one["path"], one["line"]) for one in found["problems"]]


def test_two_scenarios_are_compared_under_their_names() -> None:
    found = check(
        way="compare",
        base={"kind": "set-up", "query": SMALL},
        base2={"kind": "region-down"},
        name="today",
        phases="2",
    )
    experiment = read_experiment_text(found["yaml"])
    assert found["size"]["runs"] == 4 and experiment.axes[0].values == ("today", "region-down")
    titles = [experiment.scenario_at(point).title for point in experiment.points]
    assert titles[1] == builtin_scenario("region-down").title != titles[0]


def test_a_scenario_compared_with_itself_gets_a_second_name() -> None:
    base = base_of({"kind": "region-down"})
    assert read_experiment_text(comparison(base, base, {})).axes[0].values == ("region-down", "region-down-2")


def test_a_pasted_experiment_is_read_as_it_is() -> None:
    text = "scenario: region-down\nphases: 3\ngrid: {options.snapshotCacheRule: [spread]}\n"
    assert check(way="yaml", yaml=text)["size"]["runs"] == 3
    found = check(way="yaml", yaml="scenario: nowhere.yaml\nbounds: 3\n")
    assert len(found["problems"]) == 2 and {one["line"] for one in found["problems"]} == {1, 2}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"way": "guess"}, "bad-field"),
        ({"way": "parameter", "base": {"kind": "no-such"}}, "unknown-scenario"),
        ({"way": "parameter", "base": 5}, "unknown-scenario"),
        ({"way": "parameter", "base": {"kind": "text", "text": 5}}, "bad-field"),
        ({"way": "yaml", "yaml": "#" * (experiments.TEXT_MOST + 1)}, "bad-field"),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(given: dict[str, Any], code: str) -> None:
    answer = Client().post("/experiments/check/", json.dumps(given), content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_the_number_of_runs_is_limited_whatever_the_text_allows() -> None:
    limit = f"limits: {{runs: {experiments.RUNS_MOST * 10}}}"
    base = f"scenario: region-down\nphases: 20\n{limit}\nseeds: "
    assert check(way="yaml", yaml=f"{base}{experiments.RUNS_MOST // 20}")["problems"] == []
    [problem] = check(way="yaml", yaml=f"{base}{experiments.RUNS_MOST // 20 + 1}")["problems"]
    assert problem["path"] == "number of runs" and "at most 2,000" in problem["hint"]


def test_the_number_of_settings_is_limited_by_the_length_of_the_text(monkeypatch: Any) -> None:
    text = "scenario: region-down\nphases: 1\ngrid: {settings.keepAliveIntervalSeconds: [30, 40, 50]}\n"
    assert check(way="yaml", yaml=text)["problems"] == []
    experiments._read.cache_clear()
    experiments._experiment.cache_clear()
    monkeypatch.setattr(experiments, "CHARACTERS_LOADED", 2 * len(text))
    [problem] = check(way="yaml", yaml=text)["problems"]
    assert problem["path"] == "grid" and "at most 2" in problem["hint"]


def test_an_experiment_of_hours_is_refused_with_its_time(monkeypatch: Any) -> None:
    monkeypatch.setattr(experiments, "cost_of", lambda *given: Cost(7_200.0, 0))
    found = check(way="yaml", yaml="scenario: region-down\nphases: 5\n")
    assert found["size"] is None and "120 minutes" in found["problems"][0]["message"]


def test_the_estimate_grows_with_seeds_and_is_bounded_for_a_long_scenario() -> None:
    text = "scenario: region-down\nphases: 2\nseeds: "

    def core_s(text: str) -> float:
        return cost_of(read_experiment_text(text), time.thread_time, experiments.MEASURED_S).core_s

    once = core_s(f"{text}1")
    assert 0 < once < core_s(f"{text}1000")
    assert core_s("scenario: region-down\nuntil: 40h\nphases: 1\n") > 0
