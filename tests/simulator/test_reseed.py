"""Tests of `draws.reseed`: the past stays, later draws are those of another seed, other worlds keep theirs."""

from __future__ import annotations

import pickle
from io import BytesIO

import pytest

from simulator import World
from simulator.kernel.distributions import Sampler
from simulator.kernel.random import StreamKey, stream_key
from simulator.system.checkpoint import SharedObjects

SCENARIOS = ["region-down", "groups-node-crash", "tenant-moves", "producers-everywhere", "retry-without-end"]
FRESH = {"do": "draws.reseed", "seed": 77, "spread": "20%", "arrivals": "poisson"}


class _Keys(pickle.Unpickler):
    """Collects the keys of streams that a state refers to."""

    def __init__(self, pickled: bytes, objects: list) -> None:
        super().__init__(BytesIO(pickled))
        self.found: list[StreamKey] = []
        self._objects = objects

    def find_class(self, module, name):
        if name == "_fetch":
            return self._objects.__getitem__
        return self._key if name == "StreamKey" else super().find_class(module, name)

    def _key(self, value, name):
        self.found.append(StreamKey(value, name))
        return self.found[-1]


def keys_of(world: World) -> list[StreamKey]:
    shared = SharedObjects(world.runtime.shared_types)
    keys = _Keys(shared.pickled(world.runtime), shared.objects)
    keys.load()
    return keys.found + [item.key for item in shared.objects if isinstance(item, Sampler)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_stream_of_the_state_is_that_of_the_new_seed(name):
    world = World.open(name)
    world.run(world.scenario.until_us // 2)
    other, before = world.fork(), keys_of(world)
    assert other.apply(FRESH).ok
    assert before and all(key == stream_key(world.seed, key.name) for key in before)
    assert [key for key in keys_of(other) if key != stream_key(77, key.name)] == []
    assert keys_of(world) == before, "another world keeps its draws"


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_reseeded_run_is_replayed_sought_in_and_forked_like_any_other(name):
    world = World.open(name)
    until_us, at_us = world.scenario.until_us, world.scenario.until_us // 3
    world.run(at_us)
    before = world.digest()
    assert world.apply(FRESH).ok
    world.run(until_us)
    logged = world.command_log
    assert logged[0]["spread_millionths"] == 200_000 and logged[0]["arrivals"] == "poisson"
    digest = World.replay(world.scenario, world.seed, logged, until_us).digest()
    assert world.digest() == digest
    world.seek(at_us=at_us - 1)
    world.seek(at_us=at_us)
    assert world.trace.digest(world.trace.first_after(at_us - 1, 0)) != digest and before != world.digest()
    fork = world.fork()
    world.seek(at_us=until_us)
    fork.run(until_us)
    assert world.digest() == fork.digest() == digest
    assert world.violations == []


def test_a_spread_stays_at_or_below_the_value_and_is_not_applied_twice():
    world = World.open("region-down")
    world.run(3_000_000)
    assert world.apply(FRESH).ok and world.apply({**FRESH, "seed": 78}).ok
    link = world.runtime.links["us-west", "us-east"]
    drawn = [link.latency_us(index) for index in range(1000)]
    assert min(drawn) >= 28_000 and max(drawn) <= 35_000 and max(drawn) - min(drawn) > 6_000
    assert link.nominal_us == 35_000


def test_without_spread_and_arrivals_a_run_that_draws_nothing_is_the_same():
    real, other = World.open("region-down"), World.open("region-down")
    other.run(3_000_000)
    assert other.apply({"do": "draws.reseed", "seed": 5}).ok
    for world in (real, other):
        world.run()
    rows = [[world.trace.row(seq)["type"] for seq in range(world.seq)] for world in (real, other)]
    rows[1].remove("command.applied")
    assert rows[0] == rows[1]


def test_a_command_of_the_file_after_it_in_the_same_instant_applies():
    world = World.open("region-down")
    world.run(5_600_000)
    log = [{"at_us": 5_700_000, "number": 0, "do": "draws.reseed", "seed": 1, "spread_millionths": 0}]
    run = World.replay(world.scenario, world.seed, [{**log[0], "arrivals": "as-declared"}], 10_000_000)
    assert [failover["at_us"] for failover in run.failovers()] == [5_700_000]
