"""The figures that the engine keeps while it delivers are the ones that counting finds in the rows afterwards."""

from __future__ import annotations

import pytest

from simulator import World, scenario_names

FIGURES = (
    "duplicates", "redeliveries", "extra_deliveries", "stranded", "stranded_returned", "first_delivery_us", "outage_us", "caught_up_us",
)  # fmt: skip


@pytest.mark.parametrize("name", scenario_names())
def test_live_figures_equal_the_counted_ones(name):
    world = World.open(name)
    world.run()
    live, counted = world.live_failovers(), world.summary()["failovers"]
    assert [{key: one[key] for key in FIGURES} for one in live] == [{key: one[key] for key in FIGURES} for one in counted]
