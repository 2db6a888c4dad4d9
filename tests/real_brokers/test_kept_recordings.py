"""Recordings of real Pulsar brokers that the rig made: their rows, figures, and the labs that they open as.

`recordings/` has the raw recordings of three jobs of the comparison on Pulsar 4.2.4, with the figures that
were counted when they were made.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from script.real_brokers.output import figures, write_simulated
from script.real_brokers.recording import read_recording
from script.real_brokers.rows import convert
from simulator import World, load_scenario, recordings
from simulator.recordings import COMPARED, RecordedFile, scenario_of
from tests.oracle.failovers import recount

KEPT = Path(__file__).parent / "recordings"
JOBS = ("broker-crash-10", "cursor-reset", "link-cut")


def of(job: str):
    scenario = load_scenario(str(KEPT / job / "scenario.yaml"))
    return scenario, convert(read_recording(KEPT / job / "raw.jsonl.gz"), scenario)


@pytest.mark.parametrize("job", JOBS)
def test_the_figures_are_those_that_were_counted_when_it_was_recorded(job):
    scenario, converted = of(job)
    assert figures(converted.trace, scenario) == json.loads((KEPT / job / "real.json").read_text())


@pytest.mark.parametrize("job", JOBS)
def test_messages_agree_with_what_the_clients_reported(job):
    """Counted from the raw events alone: no rows, positions or causes."""
    scenario, converted = of(job)
    events = read_recording(KEPT / job / "raw.jsonl.gz").events
    for event, type_ in (
        ("published", "message.published"),
        ("receipted", "message.receipted"),
        ("delivered", "message.delivered"),
        ("acknowledged", "message.acknowledged"),
    ):
        reported = sum(one.get("e") == event for one in events)
        assert reported > 50
        assert len(converted.trace.rows(types=(type_,))) == reported, event


@pytest.mark.parametrize("job", JOBS)
def test_a_plain_recount_agrees(job):
    scenario, converted = of(job)
    counted = figures(converted.trace, scenario)["failovers"]
    for one, plain in zip(counted, recount(converted.trace, scenario), strict=True):
        for name in ("duplicates", "redeliveries", "stranded", "lost"):
            assert one[name] == plain[name], name


@pytest.mark.parametrize("job", JOBS)
def test_the_engines_twin_delivers_as_many_duplicates(job, tmp_path):
    """The engine plays the same instants; these three runs were equal to within one message."""
    scenario, converted = of(job)
    simulated = figures(write_simulated(scenario, tmp_path / "simulated.jsonl"), scenario)
    real = figures(converted.trace, scenario)
    for one, twin in zip(real["failovers"], simulated["failovers"], strict=True):
        assert abs(one["duplicates"] - twin["duplicates"]) <= 1
        assert one["lost"] == twin["lost"] == 0


def test_the_recordings_that_come_with_the_lab_open_and_run_without_violations():
    files = [one for one in recordings.listed() if isinstance(one, RecordedFile)]
    names = [one.path.name for one in files]
    assert "broker-crash-10-pulsar-4.2.4.jsonl" in names and "ack-hole-pulsar-4.2.4.jsonl" in names
    for one in files:
        world = World.from_scenario(scenario_of(one))
        world.run(world.scenario.until_us)
        summary = world.summary()
        assert summary["violations"] == [], one.path.name
        assert summary["failovers"][0]["duplicates"] > 5 or one.path.parent == COMPARED
