"""Tests of a user's own set-up.

Form to text, problems at their fields, twenty runs equal to those of the command line.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from datetime import timedelta
from statistics import median
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from labsite import engine_worker
from labsite.engine_pool import _run_changed
from simulator import World, load_scenario_text
from simulator.experiments import (
    batches,
    load_of,
    messages_of,
    read_experiment_text,
    replayed,
    run_batch,
)
from simulator.headless import simulate
from simulator.runs import SETTLING_US, Runs, finished
from simulator.scenarios.editing import builtin_text
from simulator.set_ups import FORMS, completed, composed
from simulator.what_if import answer, outcome, variants
from tests.visualizer.pages import Page
from visualizer.labs import clients
from visualizer.live.wire import Refused
from visualizer.setups import question as question_module
from visualizer.setups.question import RUNS, Question, _asked, ask, question_of, size_of
from visualizer.setups.reading import read_form, read_text
from visualizer.tasks import experiments
from visualizer.tasks.models import Experiment

SMALL = {"rate": "40/s", "at": "3s", "after": "500ms", "end": "2s"}
INSTANTS = {"at": "20s", "after": "5s", "end": "15s"}


def text_of(**given: str) -> str:
    return "".join(f"{line.text}\n" for line in composed(completed(given)))


def problems_of(**given: str) -> list[tuple[str, str]]:
    _, reading = read_form(completed(given))
    return [(problem["field"], f"{problem['message']}; {problem['hint']}") for problem in reading.problems]


# --- the form


def test_the_initial_form_is_a_valid_scenario():
    scenario = load_scenario_text(text_of(**INSTANTS))
    assert scenario.links["us-west", "us-east"].latency.nominal_us == 40_000, "half of the round trip"
    assert [command.do for command in scenario.commands] == ["cluster.crash", "subscription.fail-over"]
    assert scenario.commands[1].at_us == 25_000_000 and scenario.until_us == 40_000_000


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_field_is_written_and_every_piece_of_the_text_has_a_field(form: Any):
    """A field without effect on the text would be one that is forgotten."""
    names = [field.name for field in form.fields]
    assert len(set(names)) == len(names)
    faults = next((one.choices for one in form.fields if one.name == "fault"), (("", ""),))
    before = [form.composed(form.completed({"fault": fault} if fault else {})) for fault, _ in faults]
    for field in form.fields:
        other = (
            "7"
            if field.choices is None
            else next((one for one, _ in field.choices if one != field.default), "")
        )
        given = {field.name: other or "n2"}
        fuller = {"slow_share": "1%"} if field.name == "slow_for" else {}
        texts = [
            form.composed(form.completed({**({"fault": fault} if fault else {}), **fuller, **given}))
            for fault, _ in faults
        ]
        assert texts != before, field.name
    pieces = {name for lines in before for line in lines for _, name in line.pieces}
    assert pieces <= {"", *names} | {one.name for one, _ in form.pairs(form.completed({}))}


def test_deliveries_and_ack_groups_are_as_measured_unless_chosen_otherwise():
    assert load_scenario_text(text_of()).options["timing"] == "measured"
    assert load_scenario_text(text_of(timing="nominal")).options["timing"] == "nominal"
    assert [field for field, _ in problems_of(timing="exact")] == ["timing"]


def test_three_regions_have_three_round_trips():
    values = {"regions": "a, b, c", "rtt.a.b": "10ms", "rtt.c.a": "31us"}
    scenario = load_scenario_text(text_of(**values))
    assert scenario.commands[0].arguments["cluster"] == "a", (
        "the first region goes down when the default one is not there"
    )
    latencies = {pair: link.latency.nominal_us for pair, link in scenario.links.items()}
    assert latencies["a", "b"] == latencies["b", "a"] == 5_000
    assert latencies["a", "c"] + latencies["c", "a"] == 31, "an odd microsecond is not lost"
    assert latencies["b", "c"] == 40_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"rate": "fast"}, [("rate", '"fast" is not a rate; write a number per second, such as 100/s')]),
        (
            {"processing": "soon"},
            [
                (
                    "processing",
                    '"soon" is not a duration; write a number with us, ms, s, m or h, such as 40ms or 1.5s',
                )
            ],
        ),
        ({"consumers": "three"}, [("consumers", '"three" is not a whole number; write how many, such as 2')]),
        ({"consumers": "2000"}, [("consumers", "2000 consumers are too many; at most 1000")]),
        ({"cache": "2"}, [("cache", "2 is too small; at least 3 with the cache rule spread")]),
        (
            {"rtt.us-west.us-east": "80"},
            [
                (
                    "rtt.us-west.us-east",
                    "80 has no unit; write a number with us, ms, s, m or h, such as 40ms or 1.5s",
                )
            ],
        ),
        ({"to": "us-west"}, [("to", "is the cluster that they leave; name another cluster")]),
        ({"from": "atlantis"}, [("from", 'there is no cluster "atlantis"; one of us-east, us-west')]),
        (
            {"slow_share": "2"},
            [("slow_share", '"2" is not a share; write a percentage from 0% to 100%, such as 1% or 0.5%')],
        ),
        (
            {"after": "later"},
            [
                (
                    "after",
                    '"later" is not a duration; write a number with us, ms, s, m or h, such as 40ms or 1.5s',
                )
            ],
        ),
        ({"period": "1s"}, [("period", '"1s" is not a whole number; write a whole number')]),
    ],
)
def test_a_problem_is_shown_at_its_field_in_the_loaders_text(given, expected):
    assert problems_of(**given) == expected


def test_two_wrong_fields_are_both_reported():
    assert [field for field, _ in problems_of(rate="fast", queue="-1")] == ["rate", "queue"]


@pytest.mark.parametrize(
    "typed", ["{a: b}", "- x", "#", '"', "a\n  b: c", "x: y", "&anchor", "'", "\x00", "\u2028x", "<script>"]
)
@pytest.mark.parametrize("field", ["regions", "rate", "processing", "from", "consumers", "period"])
def test_any_input_stays_one_value(field, typed):
    """No value can open a mapping of its own: problems are about values, at this field or one that names
    it.
    """
    lines, reading = read_form(completed({field: typed}))
    assert reading.problems, "none of these is right"
    assert not any(
        "not YAML" in problem["message"] or "unknown key" in problem["message"]
        for problem in reading.problems
    )
    assert len(reading.text.splitlines()) >= len(lines) - 1


@pytest.mark.django_db
def test_the_page_keeps_the_input_and_shows_what_is_wrong(client: Client):
    page = client.get("/my-set-up/", {"rate": "fast <b>", "from": "atlantis"}).content.decode()
    assert 'value="fast &lt;b&gt;"' in page and "<b>&quot;" not in page
    assert "is not a rate" in page and 'aria-invalid="true"' in page
    assert '<option value="atlantis" selected>' in page, "a choice that is none stays chosen"


@pytest.mark.django_db
def test_the_address_contains_the_set_up(client: Client):
    answer = client.get("/my-set-up/scenario.json", {"regions": "a, b", "rtt.a.b": "10ms"}).json()
    assert answer["problems"] == [] and answer["failure"] == {
        "from": "a",
        "to": "b",
        "mode": "crash",
        "fault": "",
        "begins": "If a goes down",
        "at": "9s",
    }
    assert "a <-> b: {latency: 5ms}" in answer["yaml"]
    assert "".join("".join(text for text, _ in pieces) + "\n" for pieces in answer["lines"]) == answer["yaml"]
    pair = {"name": "rtt.a.b", "between": ["a", "b"], "value": "10ms", "default": "80ms"}
    assert answer["pairs"] == [pair]
    assert (answer["names"], answer["named"]) == (["a", "b"], {"from": "a", "to": "b"})


@pytest.mark.django_db
def test_problems_of_a_users_text_have_line_and_column(client: Client):
    def check(text: Any) -> Any:
        return client.post("/my-set-up/check/", json.dumps({"yaml": text}), content_type="application/json")

    wrong = check(text_of().replace("rate: 100/s", "rate: many")).json()["problems"]
    assert [(problem["line"], problem["column"]) for problem in wrong] == [
        (20, wrong[0]["column"])
    ] and "many" in wrong[0]["message"]
    assert check("a: [").json()["problems"][0]["line"] == 1
    assert check(text_of()).json()["failure"]["to"] == "us-east"
    without = check(text_of().split("commands:")[0]).json()
    assert (
        without["failure"]["begins"] == "In this scenario" and "only by their seeds" in without["no_failure"]
    )
    assert check(7).status_code == 400 and check("x" * 400_000).status_code == 400


@pytest.mark.parametrize(
    ("name", "fault", "phases"),
    [
        ("groups-leader-crash-late", "leader.crash meters", True),
        ("groups-killed", "session.kill ben", True),
        ("groups-timers-changed", "", False),
        ("drifted-partitions", "", False),
        ("groups-join", "", False),
        ("shadow-rollover", "", False),
    ],
)
@pytest.mark.django_db
def test_a_users_text_may_have_any_fault_of_any_protocol(name: str, fault: str, phases: bool):
    text = builtin_text(name)
    failure = read_text(text).failure
    assert failure is not None and (failure.fault == fault or not fault) and failure.begins
    question = question_of({"yaml": text})
    assert ("phases: by-seed" in question.text) == phases
    size = size_of(question)
    assert size["runs"] == 20 and size["rows"] > 0
    asked = ask(question, "http://testserver")["asked"]
    assert len(asked["runs"]) == 20 and (asked["period_us"] > 0) == phases
    instants = [run["at_us"] for run in asked["runs"]]
    assert len(set(instants)) == (20 if phases else 1) and instants[0] == failure.at_us


# --- the question as an experiment


def test_the_warm_up_is_three_snapshot_periods_and_slow_acks_are_not_assumed():
    assert load_scenario_text(text_of()).commands[0].at_us == 4_000_000
    longer = load_scenario_text(text_of(period="4000", slow_share="1%", slow_for="2s"))
    assert longer.commands[0].at_us == 16_000_000
    assert load_scenario_text(text_of(period="100")).commands[0].at_us == 2_000_000
    assert "hold" not in text_of() and [field for field, _ in problems_of(period="often")] == ["period"]


def test_each_run_equals_that_of_the_command_line():
    question = question_of({"yaml": text_of(**SMALL)})
    experiment = read_experiment_text(question.text)
    planned = _asked(question)["runs"]
    assert [one["seed"] for one in planned] == list(range(1, RUNS + 1))
    assert [one["at_us"] - planned[0]["at_us"] for one in planned] == [
        50_000 * place for place in range(RUNS)
    ]
    found = []
    for batch, run in list(zip(batches(experiment), planned, strict=True))[::6]:
        (row,) = run_batch(experiment, batch)
        out, err = io.StringIO(), io.StringIO()
        sets = [f"{path}={value}" for path, value in run["set"]]
        assert simulate(text_of(**SMALL), out, err, seed=run["seed"], sets=sets, as_json=True) == 0, (
            err.getvalue()
        )
        counted = json.loads(out.getvalue())["failovers"][0]
        names = (
            "duplicates",
            "redeliveries",
            "lost",
            "stranded",
            "stranded_unprocessed",
            "stranded_missing",
            "outage_us",
        )
        assert {name: row[name] for name in names} == {name: counted[name] for name in names}
        assert run["at_us"] == counted["at_us"]
        found.append(row["duplicates"])
    assert len(set(found)) > 1, "equal runs would answer nothing"


def test_beside_a_form_the_slow_acks_that_it_has_or_has_not_are_tried():
    assert question_of({"query": "rate=40%2Fs"}).beside == "with-slow-acks"
    question = question_of({"query": "?slow_share=5%25"})
    assert question.beside == "without-slow-acks"
    points = read_experiment_text(question.text).points
    assert [point.values for point in points] == [
        {"scenario": "as-entered"},
        {"scenario": "without-slow-acks"},
    ]
    assert question_of({"yaml": text_of()}).beside == ""


def at_a_part(monkeypatch: Any, factor: int, **values: str) -> Question:
    """The question of a small set-up as if its rate were too high, at 1/`factor` of it."""
    rate = int(values["rate"].removesuffix("/s"))
    monkeypatch.setattr(question_module, "WHOLE_RATE", 1)
    monkeypatch.setattr(question_module, "LEAST_RATE", rate / factor)
    monkeypatch.setattr(question_module, "PART_MESSAGES", 0)
    found = question_of({"query": urlencode({**SMALL, **values})})
    assert found.factor == factor
    return found


def test_a_high_rate_is_run_at_a_part_of_it_that_its_messages_choose(monkeypatch):
    question = at_a_part(monkeypatch, 4, rate="400/s", consumers="48")
    points = read_experiment_text(question.text).points
    assert [one.values["scenario"] for one in points] == ["rate-over-4", "rate-over-8", "with-slow-acks"]
    run = load_scenario_text(question.run_text)
    assert load_of(run).rate == 100 and len(run.consumers) == 12
    assert _asked(question)["yaml"] == question.run_text
    size = question_module.size_of(question)
    assert (size["factor"], size["rate"], size["runs"]) == (4, 400, RUNS)
    monkeypatch.setattr(question_module, "PART_MESSAGES", 100_000)
    fast = {**SMALL, "rate": "400/s", "consumers": "48"}
    assert question_of({"query": urlencode(fast)}).factor == 1, "it is fast enough"
    monkeypatch.setattr(question_module, "WHOLE_RATE", 10_000)
    monkeypatch.setattr(question_module, "WHOLE_MESSAGES", 0)
    low = question_of({"query": urlencode(fast)})
    assert low.factor > 1, "a set-up up to ten thousand messages per second is not refused either"


FACTOR_AND_TEXT = """
import os, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "labsite.settings"
slower, clock = int(sys.argv[1]), time.thread_time
time.thread_time = lambda: slower * clock()
import django
django.setup()
from hashlib import sha256
from visualizer.setups.question import question_of, size_of
question = question_of({"query": sys.argv[2]})
print(question.factor, sha256(question.text.encode()).hexdigest(), round(size_of(question)["core_s"], 1))
"""


def test_a_slower_machine_runs_the_same_text():
    """Two processes, of which one measures that everything takes eight times as long."""
    query = urlencode({"rate": "20000/s", "consumers": "150", "how": "planned"})
    runs = [
        subprocess.run([sys.executable, "-c", FACTOR_AND_TEXT, slower, query], capture_output=True, text=True)
        for slower in ("1", "8")
    ]
    (factor, digest, core_s), (slow_factor, slow_digest, slow_s) = (run.stdout.split() for run in runs)
    assert (factor, digest) == (slow_factor, slow_digest)
    assert factor == "8" and float(slow_s) > 2 * float(core_s), "the seconds shown remain an estimate"


def test_the_messages_of_a_run_follow_from_the_scenario():
    """Until the crash at 3 s 100 messages of each region; the target's go on until the run settles."""
    given = {**SMALL, "rate": "100/s", "producers": "everywhere", "count": ""}
    scenario = load_scenario_text(text_of(**given))
    settles_us = 3_500_000 + round(load_of(scenario).drained_s * 1e6) + 2 * SETTLING_US
    assert messages_of(scenario) == 300 + min(settles_us, scenario.until_us) // 10_000
    few = load_scenario_text(text_of(**{**given, "count": "120"}))
    assert messages_of(few) == 240
    assert messages_of(load_scenario_text(text_of(**{**given, "how": "planned"}))) > messages_of(scenario)


def test_a_thousand_consumers_as_many_as_the_loader_takes_can_be_entered():
    question = question_of(
        {"query": urlencode({"rate": "200000/s", "consumers": "1000", "processing": "4ms"})}
    )
    assert len(question.scenario.consumers) == 1000 and question.factor == 32


def test_an_answer_at_a_part_of_the_rate_equals_the_whole_one_within_what_it_says(monkeypatch):
    """A set-up that can be computed both ways, at the whole rate and at half of it."""
    values = {"rate": "1000/s", "consumers": "24", "processing": "18ms", "queue": "20", "end": ""}
    values |= {"at": "", "after": "500ms", "period": "500"}
    whole = read_experiment_text(question_of({"query": urlencode(values)}).text)
    part = read_experiment_text(at_a_part(monkeypatch, 2, **values).text)
    of_whole, of_part = (
        [row for one in batches(read) if one.point.number < points for row in run_batch(read, one)]
        for read, points in ((whole, 1), (part, 2))
    )
    assert {row["status"] for row in [*of_whole, *of_part]} == {"finished"}
    differs = question_module.may_differ(part, of_part)
    assert question_module.may_differ(part, of_part[:-1]) is None, "not before all runs are there"
    assert question_module.may_differ(whole, of_whole) is None
    mine = [row for row in of_part if row["point"] == 0]
    for name, times in (("duplicates", 2), ("stranded", 2), ("outage_us", 1), ("drained_us", 1)):
        at_whole = median(row[name] for row in of_whole)
        at_part = times * median(row[name] for row in mine)
        assert abs(at_part - at_whole) <= differs[name], (name, at_whole, at_part, differs[name])
    assert differs["duplicates"] < median(row["duplicates"] for row in of_whole), "it says something"


def test_what_a_run_cannot_hold_is_said_before_anything_runs(monkeypatch):
    question = question_of({"query": urlencode(SMALL)})
    size = question_module.size_of(question)
    rows = size["rows"] / size["runs"]
    assert size["changed_runs"] > 0
    monkeypatch.setattr(question_module, "ROWS_MOST", int(rows) - 1)
    without = question_module.size_of(question)
    assert without["changed_runs"] == 0 and without["beside_core_s"] < size["beside_core_s"]
    monkeypatch.setattr(question_module, "ROWS_MAX", int(rows) - 1)
    with pytest.raises(Refused, match=r"A run has about [0-9,]+ rows, of at most [0-9,]+") as refused:
        question_module.size_of(question)
    assert "highest rate of this set-up that can be answered is about 3" in refused.value.hint
    monkeypatch.setattr(experiments, "CORE_SECONDS_MOST", 0.001)
    experiments._read.cache_clear()
    with pytest.raises(Refused, match="minutes of one core") as refused:
        question_module.size_of(question)
    assert "lower rate" in refused.value.hint and "seeds" not in refused.value.hint
    experiments._read.cache_clear()


def test_what_would_have_helped_is_refused_for_a_run_with_too_many_rows(monkeypatch, tmp_path):
    experiment = read_experiment_text(question_of({"query": urlencode(SMALL)}).text)
    rows = list(run_batch(experiment, next(iter(batches(experiment)))))
    monkeypatch.setattr(engine_worker, "ROWS_MOST", rows[0]["rows"] - 1)
    monkeypatch.setattr(
        engine_worker, "results_so_far", lambda *_: {"points": [{engine_worker.CHOSEN: rows[0]["run"]}]}
    )
    helped = engine_worker.WhatHelped(experiment, tmp_path / "what-if.jsonl")
    helped.choose(rows)
    assert helped.done and helped.wanted() == []
    [words] = helped.described()["failed"]
    assert words.startswith(f"the run has {rows[0]['rows']:,} rows")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"yaml": text_of(rate="fast")}, "bad-scenario"),
        ({"query": "rate=fast"}, "bad-scenario"),
        ({"yaml": 7}, "bad-field"),
        ({}, "bad-field"),
    ],
)
def test_an_impossible_request_is_refused_with_a_reason(client: Client, body: Any, code: str):
    answer = client.post("/my-set-up/answer/", json.dumps(body), content_type="application/json")
    assert answer.status_code == 400 and answer.json()["code"] == code and answer.json()["hint"]
    size = client.post("/my-set-up/size/", json.dumps(body), content_type="application/json")
    assert size.status_code == 200 and size.json()["size"] is None and size.json()["error"]


@pytest.mark.django_db
def test_rows_and_seconds_are_known_before_the_runs(client: Client):
    body = json.dumps({"query": urlencode(SMALL)})
    size = client.post("/my-set-up/size/", body, content_type="application/json").json()["size"]
    question = question_of({"query": urlencode(SMALL)})
    experiment = read_experiment_text(question.text)
    rows = sum(
        row["rows"] for batch in list(batches(experiment))[:RUNS] for row in run_batch(experiment, batch)
    )
    assert size["runs"] == RUNS and 0.7 * rows < size["rows"] < 1.3 * rows and size["core_s"] > 0
    assert size["beside_core_s"] > size["core_s"], "the assumptions, and what would have helped"
    assert (size["rate"], size["capacity"]) == (40, 353) and size["cores"] >= 1


@pytest.fixture
def site_data(settings: Any, tmp_path: Any) -> Any:
    settings.DATA_DIR = tmp_path
    settings.ENGINE_PROCESSES = 1
    engine_worker.pool.cache_clear()
    yield settings
    engine_worker.pool().stop()
    engine_worker.pool.cache_clear()


def asked(client: Client, **values: str) -> dict[str, Any]:
    body = json.dumps({"query": urlencode({**SMALL, **values})})
    answer = client.post("/my-set-up/answer/", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return answer.json()


@pytest.mark.django_db(transaction=True)
def test_the_answer_is_an_experiment_that_the_worker_runs_without_spark(client: Client, site_data: Any):
    one = asked(client)
    assert "queued" in client.get(f"{one['url']}status.json").json()["state"]
    assert engine_worker.EngineAttempt.run(*Experiment.next_in_turn("engine")) == "done"
    status = client.get(f"{one['url']}status.json").json()
    rows = status["results"]["rows"]
    assert [row["point"] for row in rows] == [0] * RUNS + [1] * RUNS, "the answer comes first"
    assert all(sum(row["by_cause"].values()) == row["duplicates"] for row in rows)
    low, high = status["results"]["points"][0]["figures"]["duplicates"]["interval"]
    values = sorted(row["duplicates"] for row in rows[:RUNS])
    assert (low, high) == (values[5], values[14]), "ranks 6 and 15 of 20 enclose the median"
    again = asked(client)
    assert (again["id"], again["token"]) == (one["id"], None), "an equal question has its answer"
    assert Experiment.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_what_would_have_helped_is_that_of_the_simulator_in_the_worst_run(client: Client, site_data: Any):
    one = asked(client)
    assert engine_worker.EngineAttempt.run(one["id"], 1) == "done"
    status = client.get(f"{one['url']}status.json").json()
    found = status["results"]["what_if"]
    values = sorted(row["duplicates"] for row in status["results"]["rows"][:RUNS])
    row = next(row for row in status["results"]["rows"] if row["duplicates"] == values[-1])
    experiment = read_experiment_text(Experiment.objects.get().text)
    scenario = replayed(experiment, row)
    outcomes = finished(Runs().each(variants(scenario, [], row["seed"], found["until_us"]), outcome))
    expected = json.loads(json.dumps(answer(scenario, outcomes, done=True)))
    assert {name: found[name] for name in expected} == expected
    assert (found["seed"], found["failed"]) == (row["seed"], [])
    assert found["of"] == found["finished"] == len(outcomes)
    assert found["variants"][0]["cases"][0]["figures"]["duplicates"] == row["duplicates"]
    have = client.get(f"{one['url']}status.json?have={status['have']}").json()
    assert "results" not in have and status["have"] == 2 * RUNS + found["of"]


@pytest.mark.django_db(transaction=True)
def test_another_attempt_makes_the_missing_changed_runs_and_recommends_only_then(
    client: Client, site_data: Any, monkeypatch: Any
):
    one = asked(client)
    token = json.dumps({"token": one["token"]})
    shown = engine_worker.ExperimentRuns._show

    def cancel_after_three(runs: Any) -> None:
        shown(runs)
        if len(runs.helped.found) == 3:
            client.post(f"{one['url']}cancel/", token, content_type="application/json")
            runs.attempt._try_to_write()

    monkeypatch.setattr(engine_worker, "SHOWN_EVERY_S", 0)
    monkeypatch.setattr(engine_worker.ExperimentRuns, "_show", cancel_after_three)
    assert engine_worker.EngineAttempt.run(one["id"], 1) == "cancelled"
    monkeypatch.setattr(engine_worker.ExperimentRuns, "_show", shown)
    status = client.get(f"{one['url']}status.json").json()
    found = status["results"]["what_if"]
    assert status["finished"] == 2 * RUNS and 3 <= found["finished"] < found["of"]
    assert found["order"][0]["best"] is None and not found["done"]
    client.post(f"{one['url']}again/", token, content_type="application/json")
    assert engine_worker.EngineAttempt.run(one["id"], 2) == "done"
    found = client.get(f"{one['url']}status.json").json()["results"]["what_if"]
    assert found["done"] and found["order"][0]["best"] == "period-halved"
    assert found["variants"][0]["cases"][0]["figures"]["duplicates"] == 41, "in the run with the most"
    lines = (Experiment.objects.get().folder / "what-if.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["place"] for line in lines) == list(range(found["of"])), "each once"


@pytest.mark.django_db(transaction=True)
def test_changed_runs_that_cannot_be_made_have_a_reason_and_nothing_is_recommended(
    client: Client, site_data: Any, monkeypatch: Any
):
    monkeypatch.setattr(engine_worker, "ROWS_MOST", 1_400)
    one = asked(client)
    assert engine_worker.EngineAttempt.run(one["id"], 1) == "done"
    found = client.get(f"{one['url']}status.json").json()["results"]["what_if"]
    assert found["failed"] == ["it has more than 1,400 rows"]
    assert not found["done"] and found["order"][0]["best"] is None
    assert found["finished"] == found["of"] > len(found["variants"]) > 0


def test_a_change_that_was_still_delivering_at_the_end_is_not_compared(tmp_path: Any):
    experiment = read_experiment_text(question_of({"yaml": text_of(**SMALL)}).text)
    rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
    helped = engine_worker.WhatHelped(experiment, tmp_path / "what-if.jsonl")
    helped.choose(rows)
    for changed in helped.wanted():
        helped.take(_run_changed(experiment, changed))
    assert helped.done and helped.described()["failed"] == []
    late = helped.found[1]["outcome"]
    late["cases"][0]["drained_us"] = None
    found = helped.described()
    assert found["failed"] == [f"with {late['name']} it was still delivering at the end"]
    assert not found["done"] and late["key"] not in [one["key"] for one in found["variants"]]


@pytest.mark.django_db(transaction=True)
def test_cancelling_ends_the_runs_and_another_attempt_makes_the_missing_ones(
    client: Client, site_data: Any, monkeypatch: Any
):
    one = asked(client)
    shown = engine_worker.ExperimentRuns._show

    def cancel_after_three(runs: Any) -> None:
        shown(runs)
        if len(runs.rows) == 3:
            client.post(
                f"{one['url']}cancel/", json.dumps({"token": one["token"]}), content_type="application/json"
            )
            runs.attempt._try_to_write()

    monkeypatch.setattr(engine_worker, "SHOWN_EVERY_S", 0)
    monkeypatch.setattr(engine_worker.ExperimentRuns, "_show", cancel_after_three)
    assert engine_worker.EngineAttempt.run(one["id"], 1) == "cancelled"
    assert engine_worker.pool()._engines == [], "its processes were killed"
    monkeypatch.undo()
    assert 3 <= client.get(f"{one['url']}status.json").json()["finished"] < 2 * RUNS
    client.post(f"{one['url']}again/", json.dumps({"token": one["token"]}), content_type="application/json")
    assert engine_worker.EngineAttempt.run(one["id"], 2) == "done"
    rows = (Experiment.objects.get().folder / "rows.jsonl").read_text().splitlines()
    assert sorted(json.loads(row)["run"] for row in rows) == list(range(2 * RUNS)), "each was made once"


@pytest.mark.django_db(transaction=True)
def test_a_killed_process_is_reported_and_finished_runs_are_kept(
    client: Client, site_data: Any, monkeypatch: Any
):
    one = asked(client)
    shown = engine_worker.ExperimentRuns._show

    def kill(runs: Any) -> None:
        shown(runs)
        if len(runs.rows) == 2:
            engine_worker.pool()._engines[0].process.kill()

    monkeypatch.setattr(engine_worker, "SHOWN_EVERY_S", 0)
    monkeypatch.setattr(engine_worker.ExperimentRuns, "_show", kill)
    assert engine_worker.EngineAttempt.run(one["id"], 1) == "failed"
    status = client.get(f"{one['url']}status.json").json()
    assert "code -9" in status["error"] and "kept" in status["hint"] and status["finished"] >= 2


@pytest.mark.django_db
def test_questions_are_limited_for_an_address_and_for_the_site(
    client: Client, site_data: Any, monkeypatch: Any
):
    def ask_as(name: str, rate: int) -> None:
        clients.client.set(name)
        ask(question_of({"query": urlencode({**SMALL, "rate": f"{rate}/s"})}), "")

    for rate in range(1, 1 + clients.STUDIES_PER_CLIENT):
        ask_as("10.0.0.1", rate)
    with pytest.raises(Refused, match="queued or running already"):
        ask_as("10.0.0.1", 9)
    ask_as("10.0.0.2", 9)
    monkeypatch.setattr(question_module, "WAITING_MOST", 4)
    with pytest.raises(Refused, match="4 set-ups wait already"):
        ask_as("10.0.0.3", 10)
    Experiment.objects.update(state="done")
    monkeypatch.setattr(question_module, "KEPT", 3)
    ask_as("10.0.0.3", 10)
    assert Experiment.objects.filter(set_up=True).count() == 3, "the oldest answers were deleted"
    clients.client.set("")


@pytest.mark.django_db
def test_without_a_worker_the_status_names_what_is_missing(client: Client, site_data: Any):
    one = asked(client)
    Experiment.objects.update(queued_at=timezone.now() - timedelta(seconds=6))
    assert "db_worker --queue-name engine" in client.get(f"{one['url']}status.json").json()["note"]


def test_a_run_without_failover_is_no_run_without_duplicates():
    text = text_of(**SMALL).replace("until: 5500ms", "until: 3200ms")
    experiment = read_experiment_text(question_of({"yaml": text}).text)
    rows = list(run_batch(experiment, next(iter(batches(experiment)))))
    assert rows[0]["status"] == "failed" and "ends before the consumers move" in rows[0]["reason"]


# --- a lab of one of the runs


@pytest.mark.django_db(transaction=True)
async def test_a_run_opens_as_a_lab_at_its_failover(hub: Any):
    from visualizer.labs.definitions import new_lab

    text = text_of(**SMALL)
    one = _asked(question_of({"yaml": text}))["runs"][7]
    made = await sync_to_async(new_lab)(
        {"yaml": text, "seed": one["seed"], "set": one["set"], "at_us": one["at_us"]}
    )
    page = Page(made.lab.pk, made.token)
    welcome = await page.open()
    frame = await page.frame(lambda frame: frame["snapshot"] and frame["at_us"] == one["at_us"])
    assert welcome["seed"] == one["seed"] and frame["view"]["failovers"], (
        "it stands where its consumers have just moved"
    )
    await page.close()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body",
    [
        {"at_us": -1},
        {"at_us": 10**12},
        {"at_us": "soon"},
        {"set": "until=3s"},
        {"set": [["until"]]},
        {"set": [["until", 3]]},
    ],
)
def test_a_lab_is_not_created_from_invalid_fields(client: Client, body: dict[str, Any]):
    answer = client.post("/labs/", json.dumps({"yaml": text_of(), **body}), content_type="application/json")
    assert answer.status_code == 400 and answer.json()["code"] == "bad-field"


@pytest.mark.django_db
def test_an_invalid_change_is_reported_by_the_loader(client: Client):
    answer = client.post(
        "/labs/", json.dumps({"yaml": text_of(), "set": [["until", "soon"]]}), content_type="application/json"
    )
    assert answer.status_code == 400 and "until" in answer.json()["problems"][0]["path"]


@pytest.mark.django_db
def test_the_gallery_says_that_its_figures_are_examples_with_nominal_times(client: Client):
    page = client.get("/").content.decode()
    assert "The figures are those of the examples, with nominal times" in page


# --- a shared group


def group_text(**given: str) -> str:
    return text_of(system="emqx", **given)


def test_the_initial_form_of_a_group_is_a_valid_scenario_of_the_release_as_shipped():
    scenario: Any = load_scenario_text(group_text())
    assert len(scenario.nodes) == 3 and len(scenario.sessions) == 6
    assert scenario.options["emqx"] == "5.10" and not scenario.settings
    assert [one.do for one in scenario.commands] == ["node.crash", "node.restart"]
    assert scenario.commands[0].at_us == 20_000_000, "two commits of the leader"
    assert scenario.links["n1", "n2"].latency.nominal_us == 500


@pytest.mark.parametrize("streams", [1, 5, 32, 40])
def test_a_group_has_as_many_streams_as_entered(streams: int):
    world = World(load_scenario_text(group_text(streams=str(streams), rate="400/s")))
    world.run(until_us=5_000_000)
    assert world.summary()["groups"]["meters"]["streams"] == streams


@pytest.mark.parametrize(
    ("fault", "commands", "begins"),
    [
        ("node-crash", ["node.crash", "node.restart"], "If node n1 crashes"),
        ("node-stop", ["node.stop", "node.restart"], "If node n1 is stopped"),
        ("node-evacuate", ["node.stop", "node.restart"], "If node n1 is stopped"),
        (
            "node-cut",
            ["link.cut", "link.cut", "link.heal", "link.heal"],
            "If the link n1 <-> n2 is cut and 1 more fault follows",
        ),
        ("rolling", ["node.stop", "node.restart"] * 3, "If node n1 is stopped and 2 more faults follow"),
        ("leader-crash", ["leader.crash"], "If the leader of meters crashes"),
        ("leader-stop", ["leader.stop"], "If the leader of meters stops"),
        ("session-kill", ["session.kill"], "If the session of c1 is killed"),
        ("session-disconnect", ["session.disconnect"], "If c1 disconnects"),
        ("store-fail", ["store.fail"], "If the leaders' store fails"),
    ],
)
def test_every_fault_of_a_group_is_one_of_the_engine_and_begins_a_sentence(fault, commands, begins):
    reading = read_text(group_text(fault=fault, rate="20/s", streams="4"))
    assert reading.problems == [] and reading.scenario is not None
    assert [one.do for one in reading.scenario.commands] == commands
    assert reading.failure is not None and reading.failure.begins == begins
    last_us = max(one.at_us for one in reading.scenario.commands)
    assert reading.scenario.until_us > last_us + 10_000_000, "the group can recover"
    world = World(reading.scenario)
    world.run(until_us=last_us + 1)
    assert [result["ok"] for result in world.command_results] == [True] * len(commands)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"nodes": "many"},
            [("nodes", '"many" is not a whole number; write how many, such as 2'), ("node", None)],
        ),
        ({"nodes": "17"}, [("nodes", "17 nodes are too many; at most 16")]),
        ({"clients": "1001"}, [("clients", "1001 clients are too many; at most 1000")]),
        ({"node": "n9"}, [("node", 'there is no node "n9"; one of n1, n2, n3')]),
        (
            {"leader_borrower_timeout": "5"},
            [
                (
                    "leader_borrower_timeout",
                    "5 has no unit; write a number with us, ms, s, m or h, such as 40ms or 1.5s",
                )
            ],
        ),
        ({"release": "5.8"}, [("release", None)]),
        ({"fault": "store-fail", "lasts": ""}, [("lasts", None)]),
    ],
)
def test_a_problem_of_a_group_is_shown_at_its_field(given, expected):
    found = problems_of(system="emqx", **given)
    for field, words in expected:
        assert any(name == field and words in (None, said) for name, said in found), found
    assert {name for name, _ in found} == {field for field, _ in expected}


@pytest.mark.parametrize(
    "typed", ["{a: b}", "- x", "#", '"', "a\n  b: c", "&anchor", "'", "\x00", "<script>"]
)
@pytest.mark.parametrize("field", ["nodes", "rtt", "release", "streams", "clients", "node", "batch_size"])
def test_any_input_of_a_group_stays_one_value(field, typed):
    _, reading = read_form(completed({"system": "emqx", field: typed}))
    assert reading.problems
    assert not any("not YAML" in one["message"] for one in reading.problems)


def test_settings_of_a_group_have_the_names_of_emqx_and_reach_the_run():
    given = {"leader_borrower_timeout": "9s", "session_ping_leader_interval": "500ms", "batch_size": "10"}
    scenario = load_scenario_text(group_text(**given))
    assert scenario.settings == {
        "leader_borrower_timeout": 9_000_000,
        "session_ping_leader_interval": 500_000,
        "batch_size": 10,
    }
    longer = load_scenario_text(group_text(session_ping_leader_timeout="60s"))
    assert longer.until_us > load_scenario_text(group_text()).until_us, "the run waits for its timers"


@pytest.mark.django_db
def test_what_a_group_assumes_and_its_validity_are_said(client: Client):
    asked = _asked(question_of({"query": "system=emqx&rate=20/s"}))
    assert (asked["begins"], asked["fault"]) == ("If node n1 crashes", "node.crash n1")
    assert asked["period_us"] == 10_000_000 and asked["period_says"].endswith("commits of the leader")
    assert "2 of 6 clients of meters read, those at n1" in asked["assumed"][1]
    assert asked["beside"] == "with-remote-leaders" and "6.0.4" in asked["beside_says"]
    repaired = _asked(question_of({"query": "system=emqx&rate=20/s&release=proposal"}))
    assert len(repaired["assumed"]) == 1 and repaired["beside"] == ""
    page = client.get("/my-set-up/", {"system": "emqx"}).content.decode()
    assert "Not compared with running EMQX brokers so far" in page and "leader_borrower_timeout" in page
    assert (
        "Compared with real brokers at 10 to 100 messages per second"
        in client.get("/my-set-up/").content.decode()
    )
    load = load_of(load_scenario_text(group_text(rate="100/s")))
    assert round(load.rate) == 100 and round(load.capacity) == 353, "two clients of 5 ms"


def test_a_text_without_a_failover_says_why_it_has_no_duplicates():
    text = text_of(**SMALL)
    commands = "commands:\n  - {at: 3s, do: client.kill, client: billing-1}\n"
    asked = _asked(question_of({"yaml": text.split("commands:")[0] + commands}))
    assert asked["begins"] == "If billing-1 is killed"
    assert "this scenario has none, so there are 0" in asked["assumed"][0]
    assert _asked(question_of({"yaml": text}))["assumed"] == []


@pytest.mark.django_db(transaction=True)
def test_the_answer_about_a_group_has_causes_and_what_helps_with_keys_to_paste(
    client: Client, site_data: Any
):
    query = "system=emqx&nodes=2&clients=2&streams=4&rate=20/s&fault=leader-crash&release=proposal"
    answer = client.post(
        "/my-set-up/answer/", json.dumps({"query": query}), content_type="application/json"
    ).json()
    assert engine_worker.EngineAttempt.run(answer["id"], 1) == "done"
    results = client.get(f"{answer['url']}status.json").json()["results"]
    rows = results["rows"]
    assert [row["status"] for row in rows] == ["finished"] * RUNS
    assert any(row["duplicates"] for row in rows)
    assert all(sum(row["by_cause"].values()) == row["duplicates"] for row in rows)
    pasted = [one["paste"] for line in results["what_if"]["variants"] for one in line["settings"]]
    assert "durable_sessions.batch_size = 1" in pasted
    assert any(one.startswith("durable_queues.leader_renew_streams_interval = ") for one in pasted)
