"""The arguments of `World.seek`: an instant or a row, exactly one of them."""

import pytest

from simulator import World


def test_seek_takes_either_an_instant_or_a_row():
    world = World.open("two-regions")
    world.run(1_000_000)
    for given in ({}, {"at_us": 1, "seq": 1}):
        with pytest.raises(TypeError, match="an instant or a row"):
            world.seek(**given)
    assert world.now_us == 1_000_000
    world.seek(seq=-5)
    assert world.now_us == world.trace.at_us(0)
    world.seek(seq=10_000_000)
    assert world.seq == len(world.trace)
