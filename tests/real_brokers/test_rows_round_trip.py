"""A run of the engine, recorded as the rig would, becomes the same run again.

The recording has only what brokers and clients show (`recorded_from_engine`). Made into rows again it must
give the same verdicts, snapshots, markers and checks, although every cause was inferred.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from script.real_brokers.output import figures
from script.real_brokers.plan import job_text, make_run
from script.real_brokers.recording import recording_of
from script.real_brokers.rows import convert
from simulator import load_scenario, load_scenario_text
from tests.real_brokers.recorded_from_engine import EngineRun

SCENARIOS = (
    "two-regions",
    "three-regions",
    "region-down",
    "ack-hole-delayed-message",
    "fail-over-and-back",
    "producers-everywhere",
    pytest.param("slow-consumer-spread", marks=pytest.mark.slow),
    pytest.param("slow-consumer-oldest-first", marks=pytest.mark.slow),
)

SAME_ROWS = (
    "message.published",
    "message.stored",
    "message.receipted",
    "message.delivered",
    "message.acknowledged",
    "message.registered",
    "marker.written",
    "marker.stored",
    "marker.handled",
    "controller.started",
    "snapshot.requested",
    "snapshot.refused",
    "snapshot.answered",
    "snapshot.completed",
    "snapshot.position",
    "snapshot.used",
    "update.written",
    "update.position",
    "update.applied",
    "update.refused",
    "subscription.created",
    "consumer.connected",
    "consumer.disconnected",
    "client.changed",
    "failover.started",
    "failover.finished",
    "cluster.crashed",
    "topic.unloaded",
)
"""Types whose rows agree in every column, in order of instants, positions and names."""


@pytest.fixture(scope="module", params=SCENARIOS)
def run(request):
    """A finished run of the engine."""
    with pytest.MonkeyPatch.context() as patch:
        yield EngineRun(load_scenario(request.param), patch)


@pytest.mark.parametrize(
    ("job", "number"),
    [
        ("negative-acks-exclusive", 2),  # an Update moves the cursor over a message that is not acked
        ("negative-acks-exclusive", 3),
        ("failover-type", 3),
        ("batches", 3),
        ("shared-12", 3),
        ("period-250-cumulative", 3),
    ],
)
def test_a_recorded_run_of_a_job_has_the_figures_of_the_run_itself(job, number, monkeypatch):
    scenario = make_run(load_scenario_text(job_text(job), f"{job}.yaml"), number).scenario
    run = EngineRun(scenario, monkeypatch)
    assert figures(converted(run).trace, scenario) == figures(run.world.trace, scenario)


def converted(run: EngineRun, **given: bool):
    """The recording of the run, through JSON, made into rows."""
    lines = json.loads(json.dumps(run.lines(**given)))
    return convert(recording_of(lines), run.world.scenario)


@pytest.mark.parametrize("given", [{}, {"with_caches": False, "with_sources": False}])
def test_a_recorded_run_has_the_verdicts_snapshots_markers_and_checks_of_the_run_itself(run, given):
    found = converted(run, **given)
    simulated = figures(run.world.trace, run.world.scenario)
    assert simulated["violations"] == []
    assert figures(found.trace, run.world.scenario) == simulated
    assert found.cut == 0


def test_every_measured_row_agrees_in_all_its_columns(run):
    found = converted(run)
    rows = found.trace.rows()
    for type_ in SAME_ROWS:
        assert _columns(rows, type_) == _columns(run.rows, type_), type_


def test_every_row_comes_after_its_cause_and_at_its_instant_or_later(run):
    rows = converted(run).trace.rows()
    assert [row["at_us"] for row in rows] == sorted(row["at_us"] for row in rows)
    for row in rows:
        for name in ("cause_seq", "evidence_seq"):
            assert row.get(name, -1) < row["seq"], row


def test_inferred_causes_are_of_the_types_that_the_engine_names(run):
    found = converted(run).trace.rows()
    for type_ in ("message.registered", "snapshot.completed", "update.applied", "marker.handled"):
        assert _causes(found, type_) == _causes(run.rows, type_), type_


def _causes(rows: list[dict], type_: str) -> Counter:
    return Counter(rows[row["cause_seq"]]["type"] for row in rows if row["type"] == type_)


def _columns(rows: list[dict], type_: str) -> list[tuple]:
    """The rows of a type without their numbers in the trace, in an order that both traces have."""
    kept = [
        {name: value for name, value in row.items() if name not in ("seq", "cause_seq", "evidence_seq")}
        for row in rows
        if row["type"] == type_
    ]
    return sorted(tuple(sorted(row.items())) for row in kept)
