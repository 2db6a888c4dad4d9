"""A replicator moves only as its table says, whatever breaks: every move happens in one run, and no other may."""

from __future__ import annotations

import pytest

from simulator.protocols.pulsar.replication.replicator import (
    DISCONNECTED,
    REPLICATOR_MOVES,
    STARTED,
    STARTING,
    Replicator,
)
from tests.simulator.engine_runs import MS, do, open_world
from tests.simulator.test_engine_snapshots import body


def test_all_moves_of_the_table_happen_and_no_other(monkeypatch):
    seen, become = [], Replicator._become

    def noted(self, state):
        seen.append((self.state, state))
        become(self, state)

    monkeypatch.setattr(Replicator, "_become", noted)
    world = open_world(body(), until="5s")
    world.run(1000 * MS)
    do(world, "link.cut", link="a -> b")
    world.run(1500 * MS)
    do(world, "link.heal", link="a -> b")
    world.run(2500 * MS)
    do(world, "topic.unload", topic="t", cluster="a")
    world.run(2501 * MS)
    do(world, "link.cut", link="a -> b")  # while it connects
    world.run()
    assert set(seen) == {(before, after) for before, moves in REPLICATOR_MOVES.items() for after in moves}


@pytest.mark.parametrize(
    ("state", "wrong"),
    [(DISCONNECTED, STARTED), (STARTED, STARTING), (STARTED, STARTED), (DISCONNECTED, DISCONNECTED)],
)
def test_any_other_move_is_an_internal_error(state, wrong):
    world = open_world(body(), until="5s")
    world.run(1000 * MS)
    replicator = world.runtime.clusters["a"].topics["t"].replicators["b"]
    replicator.state = state
    with pytest.raises(AssertionError, match="no move of a replicator"):
        replicator._become(wrong)
