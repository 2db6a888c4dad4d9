"""A swarm over every built-in scenario.

Random commands beside its own break no claim that the scenario itself keeps, and replay to the same bytes.

A few runs of each scenario, the same ones each time, are part of every test run; `SWARM_EXAMPLES=200 pytest
-m swarm` runs that many of each, beginning with number `SWARM_FROM`. A failing run prints its scenario and
commands.
"""

import os
from functools import cache

import pytest

from simulator import World
from simulator.experiments.swarm import Draws, random_command
from simulator.scenarios.builtin import scenario_names
from simulator.trace.registry import NULL

EXAMPLES_ALWAYS = 2
EXAMPLES = int(os.environ.get("SWARM_EXAMPLES", EXAMPLES_ALWAYS))
FIRST = int(os.environ.get("SWARM_FROM", "0"))
LONGEST_US = 20_000_000
"""A run ends here at the latest: what a scenario shows is over by then, and the swarm stays fast."""
LONGEST_OF_US = {"groups-thousand-streams": 1_500_000}
"""The same for a scenario whose second takes longer than the others' minute."""
REPLAYED = 3
"""Every so many runs the command log is replayed."""

pytestmark = pytest.mark.swarm


def schedule(name, number):
    """The scenario's end, and instants with commands, of the run with this number."""
    scenario = World.open(name).scenario
    draws = Draws(number, f"library/{name}")
    end_us = min(scenario.until_us, LONGEST_OF_US.get(name, LONGEST_US))
    instants = sorted(
        draws.choice((0, draws.below(end_us), draws.below(end_us))) for _ in range(1 + draws.below(5))
    )
    return end_us, [(at_us, random_command(scenario, draws)) for at_us in instants]


def perturbed(name, end_us, commands):
    """The scenario with live commands.

    A command that does not apply at its time is refused, which is allowed.
    """
    world = World.open(name)
    for at_us, command in commands:
        world.run(at_us)
        world.apply(command)
    world.run(end_us)
    return world


@cache
def own_violations(name):
    """Claims that the scenario breaks by itself: some show the effect of an unsafe option."""
    return frozenset(
        one["claim"]
        for one in perturbed(name, World.open(name).scenario.until_us, ()).summary()["violations"]
    )


@pytest.mark.parametrize("name", scenario_names())
def test_a_perturbed_scenario_breaks_no_claim(name):
    for number in range(FIRST, FIRST + EXAMPLES):
        end_us, commands = schedule(name, number)
        told = f"{name}, run {number}: {commands}"
        world = perturbed(name, end_us, commands)
        broken = [one for one in world.summary()["violations"] if one["claim"] not in own_violations(name)]
        assert not broken, f"{told} breaks {broken}"
        causes = world.trace.columns(names=("cause_seq",))["cause_seq"]
        later = [seq for seq in (causes != NULL).nonzero()[0].tolist() if causes[seq] >= seq]
        assert not later, f"{told}: rows {later[:5]} come before their causes"
        if number % REPLAYED == 0:
            replayed = World.replay(world.scenario, world.seed, world.command_log, end_us)
            assert replayed.digest() == world.digest(), told


def test_a_client_with_a_send_command_before_its_plan_keeps_its_backoff():
    # A send by command at 0 looks the cluster up; refused, it waits 100 ms. The plan's start at 100 ms must
    # not look up once more.
    world = perturbed(
        "tenant-moves",
        2_000_000,
        [(0, {"do": "cluster.lose", "cluster": "blue"}), (0, {"do": "producer.publish", "producer": "web"})],
    )
    asked = [
        row["at_us"] // 1000 for row in world.trace.rows(types=["lookup.failed"]) if row["client"] == "web"
    ]
    assert asked[:3] == [1, 103, 305] and world.summary()["violations"] == []


def test_a_copied_request_over_a_slowed_link_arrives_later():
    # The request of 1 s reaches eu at 1.3 s, where the refusal is logged.
    world = perturbed(
        "created-apart", 10_000_000, [(0, {"do": "link.slow", "link": "us -> eu", "latency": "300ms"})]
    )
    refused = world.trace.rows(types=["topic.creation-refused"])
    assert [row["at_us"] for row in refused if row["reason"] == "copied-request"] == [
        1_300_000
    ] and world.summary()["violations"] == []


def test_a_listed_shadow_that_is_a_plain_topic_closes_the_replicators_producer():
    # A message in flight to parcels-partition-2 arrived after that topic was deleted: an internal error.
    listed = {
        "do": "shadow.set",
        "cluster": "eu",
        "topic": "orders",
        "shadows": ["orders", "refunds", "parcels"],
    }
    world = perturbed(
        "compared-first",
        8_000_000,
        [
            (1_000_000, listed),
            (
                2_008_887,
                {
                    "do": "namespace.set-clusters",
                    "cluster": "eu",
                    "namespace": "shop/parcels",
                    "clusters": ["us"],
                },
            ),
        ],
    )
    stopped = [(row["topic"], row["reason"]) for row in world.trace.rows(types=["shadow.replicator-stopped"])]
    assert ("parcels-partition-2", "shadow-deleted") in stopped and world.summary()["violations"] == []
    # Its producers count when an operator deletes the topic without force.
    (refused,) = [
        row["detail"]
        for row in world.trace.rows(types=["command.refused"])
        if row["reason"] == "topic.delete"
    ]
    assert "and 1 replicators" in refused


def test_a_replicator_towards_a_terminated_partition_is_not_overdue():
    world = perturbed(
        "drifted-partitions",
        20_000_000,
        [(5_998_386, {"do": "topic.terminate", "cluster": "eu", "topic": "orders-partition-1"})],
    )
    assert world.summary()["violations"] == []


def test_an_audience_starts_over_after_its_topic_was_deleted_within_the_first_batch():
    world = perturbed(
        "starved-subscription",
        2_000_000,
        [(645_141, {"do": "topic.delete", "cluster": "eu", "topic": "orders", "force": True})],
    )
    assert world.summary()["violations"] == []
