"""A swarm of small random runs.

No claim breaks, nothing is lost, and one digest however the run is cut.

A few runs, the same ones each time, are part of every test run; `SWARM_EXAMPLES=2000 pytest -m swarm` draws
that many new ones. A failing example is printed as a scenario file.
"""

import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from simulator import World, load_scenario_text
from simulator.checks.checks import Checks
from simulator.trace.registry import NULL
from tests.simulator.swarm_scenarios import END_MS, SUBSCRIPTION, as_text, scenarios

EXAMPLES_ALWAYS = 5
REQUESTED = os.environ.get("SWARM_EXAMPLES")
END_US = END_MS * 1000

pytestmark = pytest.mark.swarm
swarm = settings(
    max_examples=int(REQUESTED or EXAMPLES_ALWAYS),
    derandomize=REQUESTED is None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def loaded(scenario):
    note(as_text(scenario))
    return load_scenario_text(as_text(scenario))


def run(scenario) -> World:
    world = World.from_scenario(loaded(scenario))
    world.run()
    return world


def violations(world):
    checks = Checks(world.scenario)
    checks.read(world.trace)
    return checks.violations + checks.check_counts(world.summary()["failovers"])


@swarm
@given(scenarios())
def test_safe_runs_break_no_claim(scenario):
    assert violations(run(scenario)) == []


@swarm
@given(scenarios(safe=False))
def test_runs_with_every_kind_of_command_break_no_claim(scenario):
    assert violations(run(scenario)) == []


@swarm
@given(scenarios(safe=False))
def test_causes_precede_their_effects(scenario):
    trace = run(scenario).trace
    columns = trace.columns(names=("at_us", "cause_seq", "evidence_seq"))
    for name in ("cause_seq", "evidence_seq"):
        causes = columns[name]
        for seq in (causes != NULL).nonzero()[0].tolist():
            assert 0 <= causes[seq] < seq, (name, trace.row(seq))
    assert (columns["at_us"][1:] >= columns["at_us"][:-1]).all()


@swarm
@given(scenarios())
def test_healed_clusters_hold_the_same_messages(scenario):
    world = run(scenario)
    held = {}
    columns = ("cluster", "producer", "sequence_id")
    for row in world.trace.rows(types=["message.stored"]):
        held.setdefault(row["cluster"], set()).add(tuple(row[name] for name in columns[1:]))
    receipted = {
        (row["producer"], row["sequence_id"]) for row in world.trace.rows(types=["message.receipted"])
    }
    for cluster in scenario["clusters"]:
        assert held.get(cluster, set()) == receipted, (
            f"{cluster} lacks {sorted(receipted - held.get(cluster, set()))[:5]}"
        )


@swarm
@given(scenarios())
def test_no_message_after_the_start_of_an_earliest_subscription_is_lost(scenario):
    scenario["subscriptions"][SUBSCRIPTION]["initialPosition"] = "Earliest"
    # messages without a subscription yet stay
    scenario["settings"] |= {"defaultRetentionTimeInMinutes": -1, "defaultRetentionSizeInMB": -1}
    world = run(scenario)
    for failover in world.summary()["failovers"]:
        assert failover["lost"] == 0, failover
    handed = {(row["producer"], row["sequence_id"]) for row in world.trace.rows(types=["message.delivered"])}
    stored = {(row["producer"], row["sequence_id"]) for row in world.trace.rows(types=["message.stored"])}
    assert stored <= handed, f"never delivered: {sorted(stored - handed)[:5]}"


@swarm
@given(scenarios(safe=False), st.data())
def test_digest_is_the_same_however_the_run_is_cut(scenario, data):
    scenario = loaded(scenario)
    at_once = World.from_scenario(scenario)
    at_once.run()
    digest = at_once.digest()

    in_pieces = World.from_scenario(scenario)
    for until_us in sorted(data.draw(st.lists(st.integers(0, END_US), max_size=6))):
        while in_pieces.advance(until_us, data.draw(st.integers(1, 300))):
            pass
        in_pieces.view(), in_pieces.violations
    in_pieces.run()
    assert in_pieces.digest() == digest

    for at_us in data.draw(st.lists(st.integers(0, END_US), max_size=4)):
        in_pieces.seek(at_us=at_us)
        fork = in_pieces.fork()
        fork.run()
        assert fork.digest() == digest
    in_pieces.run()
    assert in_pieces.digest() == digest


@swarm
@given(scenarios(safe=False), st.data())
def test_live_commands_replay_to_the_same_bytes(scenario, data):
    commands, scenario["commands"] = scenario["commands"], []
    scenario = loaded(scenario)
    world = World.from_scenario(scenario)
    world.run(data.draw(st.integers(0, END_US)))
    for command in commands:
        world.seek(
            at_us=max(0, int(command["at"][:-2]) * 1000 + data.draw(st.sampled_from([-200_000, 0, 300_000])))
        )
        world.apply({name: value for name, value in command.items() if name != "at"})
    world.run(END_US)
    replayed = World.replay(scenario, scenario.seed, world.command_log, END_US)
    assert replayed.digest() == world.digest()
    assert violations(world) == []
