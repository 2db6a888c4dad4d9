"""The same inputs give the same bytes.

In other processes, however the run is cut, watched, sought in or forked.

Design, "The spine": "same digest in another process, under another PYTHONHASHSEED … after a seek"; "Looking
never changes a run"; property: "in one go, cut at random instants, stepped row by row, watched at 20
frames/s, sought to and fro, forked: one digest".
"""

import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import TOOLS, World, load_scenario
from tests.simulator.engine_runs import MS, open_world
from tests.simulator.test_world_history import BODY, END_US

ROOT = Path(__file__).resolve().parents[2]
DIGESTS = (
    "from simulator import World\nfor name in {names!r}:\n    world = World.open(name)\n    world.run()\n  "
    "  print(name, world.digest(), flush=True)\n"
)
LIBRARY = [
    "two-regions",
    "three-regions",
    "unsafe-partial-snapshot",
    "region-down",
    "fail-over-and-back",
    "groups-split-heals",
]


@lru_cache
def at_once(seed=1):
    world = open_world(BODY, until="6s", seed=seed)
    world.run()
    return world.digest()


def in_a_process(hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, "-c", DIGESTS.format(names=LIBRARY)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_same_bytes_in_two_processes_with_different_hash_seeds():
    first, second = in_a_process(1), in_a_process(271_828)
    assert first == second and len(first.splitlines()) == len(LIBRARY)
    here = World.open(LIBRARY[0])
    here.run()
    assert first.splitlines()[0] == f"{LIBRARY[0]} {here.digest()}"


def test_another_seed_gives_another_run():
    assert at_once(1) != at_once(2)


def test_the_digest_covers_the_rows_up_to_now():
    world = open_world(BODY, until="6s")
    world.run(2_000 * MS)
    half = world.digest()
    world.run()
    assert world.digest() == at_once() != half
    assert world.trace.digest(len(world.trace.rows(0, world.trace.first_after(2_000 * MS)))) == half


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(0, END_US), max_size=8), st.integers(1, 400))
def test_digest_of_a_run_cut_at_random_instants_and_in_slices(cuts, events):
    world = open_world(BODY, until="6s")
    for until_us in sorted(cuts):
        while world.advance(until_us, events):
            pass
    world.run()
    assert world.digest() == at_once()


def test_digest_of_a_run_watched_at_twenty_frames_a_second():
    world = open_world(BODY, until="6s")
    for at_us in range(0, END_US + 1, 50 * MS):
        world.run(at_us)
        world.view(), world.flights(), world.forecast("s"), world.cells("a", "t", 0, 512)
        if at_us % 1_000_000 == 0:
            world.summary(), [world.admin(tool, "a", "t") for tool in TOOLS], world.violations
    assert world.digest() == at_once()


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(0, END_US), min_size=1, max_size=6))
def test_digest_of_a_run_sought_back_and_forth(instants):
    world = open_world(BODY, until="6s")
    for at_us in instants:
        world.seek(at_us=at_us)
        world.view()
    world.seek(at_us=END_US)
    assert world.digest() == at_once()


def test_digest_of_a_run_stepped_row_by_row_back_and_forth():
    world = open_world(BODY, until="6s")
    for _ in range(60):
        world.step("everything")
    for _ in range(30):
        world.step_back("everything")
    world.run()
    assert world.digest() == at_once()


@pytest.mark.parametrize("at_us", [0, 900 * MS, 3300 * MS, 4500 * MS])
def test_digest_of_a_fork(at_us):
    world = open_world(BODY, until="6s")
    world.run(at_us)
    fork = world.fork()
    fork.run(END_US)
    world.run()
    assert fork.digest() == world.digest() == at_once()


def test_the_scenarios_own_seed_equals_the_same_seed_given():
    scenario = load_scenario("two-regions")
    given_seed = World.from_scenario(scenario, seed=scenario.seed)
    given_seed.run()
    own = World.from_scenario(scenario)
    own.run()
    assert own.digest() == given_seed.digest()
