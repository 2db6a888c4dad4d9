"""A swarm draws runs from seeds, finds a broken rule, and shrinks the violation to the fewest commands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator import World, load_scenario_text
from simulator.experiments import swarm, swarm_families, swarm_run
from simulator.log.cursors import Cursor
from simulator.scenarios.canonical import canonical_text

FAMILY = "replicated-subscriptions"
NEEDED = ["link.cut", "cluster.crash", "cluster.restart"]
"""The commands that a violation of the broken rule needs."""


@pytest.fixture
def keeps_unpersisted_acks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutation: a crash does not move a cursor back to what was persisted."""
    monkeypatch.setattr(Cursor, "recover", lambda self: None)


@pytest.fixture(scope="module")
def with_a_crash() -> int:
    """The first seed whose run breaks the rule by these commands, and has others, too.

    It is looked for, because each new kind of command changes what every seed draws.
    """
    for seed in range(2_000):
        names = [spec.do for spec in swarm._drawn(*drawing(seed)).commands]
        if len(names) > len(NEEDED) and set(NEEDED) <= set(names):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Cursor, "recover", lambda self: None)
                found = swarm_run(FAMILY, seed)
            if found.status == swarm.BROKEN and [spec.do for spec in found.scenario.commands] == NEEDED:
                return seed
    raise AssertionError("no seed breaks the rule by these commands")


@pytest.mark.parametrize("family", swarm_families())
def test_every_family_has_runs_that_keep_every_claim(family: str):
    runs = [swarm_run(family, seed) for seed in range(4)]
    assert [(one.claim, one.reason) for one in runs] == [(None, None)] * 4
    assert len({one.scenario.canonical_text for one in runs}) == 4
    for one in runs:
        assert load_scenario_text(one.scenario.canonical_text) == one.scenario
        assert swarm_run(family, one.seed) == one


def test_a_broken_rule_is_found_and_shrunk_to_the_commands_that_it_needs(
    with_a_crash: int, keeps_unpersisted_acks: None
):
    found = swarm_run(FAMILY, with_a_crash)
    assert found.status == swarm.BROKEN and "Mark-delete moves back only by" in found.claim
    assert [spec.do for spec in found.scenario.commands] == NEEDED
    commands = found.scenario.commands
    for place in range(3):
        fewer = replace(found.scenario, commands=commands[:place] + commands[place + 1 :])
        assert swarm.first_broken(load_scenario_text(canonical_text(fewer)), found.claim) is None
        assert swarm.first_broken(load_scenario_text(canonical_text(fewer)), swarm.CRASHED) is None
    assert swarm.first_broken(found.scenario, found.claim) is not None
    assert swarm.first_broken(found.scenario, swarm.CRASHED) is None, "only the named claim counts"
    world = World.from_scenario(load_scenario_text(found.as_row()["scenario"]))
    world.run()
    assert (world.violations[0].claim, world.violations[0].at_us) == (found.claim, found.at_us)


def drawing(seed: int) -> tuple:
    draws = swarm.Draws(seed, f"swarm/{FAMILY}")
    return draws.choice(swarm._of_families()[FAMILY]), FAMILY, seed, draws


def test_without_the_mutation_the_same_seed_keeps_every_claim(with_a_crash: int):
    assert swarm_run(FAMILY, with_a_crash).status == swarm.KEPT


def test_commands_are_left_out_one_by_one_when_there_are_too_many_sets(
    with_a_crash: int, keeps_unpersisted_acks: None, monkeypatch: pytest.MonkeyPatch
):
    by_size = swarm_run(FAMILY, with_a_crash)
    monkeypatch.setattr(swarm, "SHRINKING_RUNS_MAX", 0)
    assert swarm_run(FAMILY, with_a_crash) == by_size


def test_an_internal_error_is_a_violation(with_a_crash: int, monkeypatch: pytest.MonkeyPatch):
    def fails(self: Cursor) -> None:
        raise AssertionError("planted")

    monkeypatch.setattr(Cursor, "recover", fails)
    found = swarm_run(FAMILY, with_a_crash)
    assert (found.claim, found.reason) == (swarm.CRASHED, "AssertionError: planted")
    assert 1 <= len(found.scenario.commands) <= 2


def test_a_family_without_scenarios_is_refused():
    with pytest.raises(KeyError):
        swarm_run("single-log", 1)
