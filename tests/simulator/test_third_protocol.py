"""A protocol that exists only in the tests runs through the lab without a changed line outside its folder
and the tables: scenario file, loader, world, summary, checks, what-if, documents, trace files.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator import World
from simulator.checks.checks import Checks
from simulator.experiments import batches, read_experiment_text, run_batch
from simulator.protocols.registry import vocabulary
from simulator.protocols.table import PROTOCOLS
from simulator.runs import Runs, finished
from simulator.scenarios import ScenarioError, broken_expectations, load_scenario_text
from simulator.scenarios.json_schema import scenario_schema
from simulator.system.measured import Measured
from simulator.trace.files import read_trace, write_trace
from simulator.trace.registry import NULL
from simulator.what_if import beside, looks, outcome, variants
from tests.third_protocol import registered
from tests.third_protocol.manifest import MANIFEST

UNTIL_US = 30_000_000

TEXT = """\
format: 1
name: one-crash
title: One crash
family: single-log
until: 30s
servers:
  alpha: {every: 1s, count: 20, persistEach: 4}
commands:
  - {at: 10500ms, do: server.crash, server: alpha}
expect:
  # 10 messages by 10.5 s, 8 of them persisted: entries 8 and 9 come again
  servers.alpha.stored: 20
  servers.alpha.duplicates: 2
  servers.alpha.delivered: 22
  violations: []
"""


@pytest.fixture(autouse=True)
def third_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    registered.register(monkeypatch)


def run(text: str = TEXT) -> World:
    world = World.from_scenario(load_scenario_text(text))
    world.run(UNTIL_US)
    return world


def test_a_run_meets_its_expectations_repeatedly():
    world = run()
    assert broken_expectations(world.scenario.expect, world.summary()) == []
    assert run().summary() == world.summary()


def test_the_canonical_text_loads_as_the_same_scenario():
    scenario = load_scenario_text(TEXT)
    assert load_scenario_text(scenario.canonical_text) == scenario
    assert "alpha: {every: 1s, count: 20, persistEach: 4, restart: 1s}" in scenario.canonical_text


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("count: 20", "count: 40", "servers.alpha.count: lasts longer than the run"),
        ("server: alpha}", "server: beta}", 'there is no server "beta"; the only one is alpha'),
        (
            "server.crash, server: alpha",
            "cluster.crash, cluster: alpha",
            "cluster.crash is no command of this",
        ),
        ("persistEach", "persistEvery", "unknown key; did you mean persistEach?"),
        ("servers:", "topics:", "topics: is no section of single-log"),
        ("single-log", "single-logs", "did you mean single-log?"),
    ],
)
def test_mistakes_are_reported_with_what_would_be_right(old: str, new: str, words: str):
    with pytest.raises(ScenarioError) as raised:
        load_scenario_text(TEXT.replace(old, new))
    assert words in str(raised.value)


def test_a_live_command_counts_and_an_impossible_one_is_refused():
    world = World.from_scenario(load_scenario_text(TEXT))
    world.run(3_500_000)
    world.apply({"do": "server.crash", "server": "alpha"})
    refused = world.apply({"do": "server.crash", "server": "alpha"})
    assert (refused.ok, refused.code) == (False, "server-down")
    world.run(UNTIL_US)
    # entries 0 to 2 are redelivered; then nothing is stored at 4 s, and of 9 entries by 10.5 s only 8 is not
    # persisted
    assert world.summary()["servers"]["alpha"]["duplicates"] == 3 + 1


def test_seeking_back_and_forth_gives_the_same_state():
    world = run()
    then, digest = world.view(), world.digest()
    world.seek(11_000_000)
    assert world.view()["servers"]["alpha"]["up"] is False
    world.seek(UNTIL_US)
    assert world.view() == then and world.digest() == digest


def test_the_check_reports_a_delivery_that_is_not_in_the_log(monkeypatch: pytest.MonkeyPatch):
    world = run(TEXT.replace("count: 20", "count: 3"))
    assert world.violations == []
    trace, code = world.trace, world.trace.vocabulary.code["message.delivered"]
    alpha = trace.number("alpha")
    trace.append((code, UNTIL_US, NULL, alpha, alpha, alpha, alpha, alpha, 9, 0, 9, NULL, 0, 0))
    found = Checks(world.scenario).read(trace)
    assert [(one.claim, one.reason) for one in found] == [
        ("delivered-from-the-log", "entry 9 of alpha is not in the log")
    ]


def test_what_if_variants_of_the_third_protocol():
    scenario = load_scenario_text(TEXT)
    outcomes = finished(Runs().each(variants(scenario, [], until_us=UNTIL_US), outcome))
    assert looks(scenario)["noun"] == "server"
    real, prompt = beside(scenario, outcomes)
    assert (real["cases"][0]["figures"], prompt["cases"][0]["figures"]) == (
        {"duplicates": 2},
        {"duplicates": 0},
    )
    assert prompt["key"] == "persist-each" and prompt["cases"][0]["difference"] == "2 fewer twice"


def test_the_json_schema_follows_the_table():
    schema = scenario_schema()
    assert "servers" in schema["properties"] and "servers" in schema["$defs"]
    assert "single-log" in schema["properties"]["family"]["enum"]
    assert "server.crash" in schema["$defs"]["commands"]["items"]["properties"]["do"]["enum"]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_a_trace_file_is_read_back_unchanged(tmp_path, suffix: str):
    world = run()
    path = tmp_path / f"run{suffix}"
    write_trace(
        path, world.trace, {"engine_version": "0", "scenario": TEXT, "seed": 1, "commands": [], "until_us": 1}
    )
    back = read_trace(path, vocabulary()).trace
    assert back.digest() == world.trace.digest() and back.rows() == world.trace.rows()


def test_an_experiment_moves_the_crash_within_the_period_of_persisting():
    """A position is persisted every 4 s, so eight phases of the crash are half a second apart."""
    block = "\n".join(f"  {line}" for line in TEXT.splitlines())
    experiment = read_experiment_text(
        f"grid: {{servers.alpha.persistEach: [4, 1]}}\nphases: 8\nscenario: |\n{block}"
    )
    rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
    # the crash is at 10.5 s, 11 s, … 14 s: 10, 11, 11, 12, … 14 messages, 8 or 12 of them persisted
    assert [row["duplicates"] for row in rows[:8]] == [2, 3, 3, 0, 0, 1, 1, 2]
    assert [row["duplicates"] for row in rows[8:]] == [0] * 8
    assert experiment.measures[0].title == "delivered twice"


def test_an_experiment_with_nothing_to_measure_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(PROTOCOLS, registered.NAME, replace(MANIFEST, measured=Measured()))
    block = "\n".join(f"  {line}" for line in TEXT.splitlines())
    with pytest.raises(ScenarioError, match="scenario: has nothing to measure; choose a simulated scenario"):
        read_experiment_text(f"scenario: |\n{block}")


def test_a_protocol_without_stories_has_no_cases():
    world = run()
    assert world.protocol.stories.cases(world.counted_whole()) == []
