"""The figures that the engine keeps during delivery equal those counted from the rows afterwards."""

from __future__ import annotations

import pytest

from simulator import World, scenario_names
from simulator.story import bursts_of
from tests.simulator.random_scenarios import random_scenario

FIGURES = (
    "duplicates",
    "redeliveries",
    "extra_deliveries",
    "stranded",
    "stranded_returned",
    "stranded_missing",
    "lost",
    "first_delivery_us",
    "outage_us",
    "caught_up_us",
    "drained_us",
    "pending_repeats",
)

GROUP_FIGURES = (
    "duplicates",
    "redeliveries",
    "pending_repeats",
    "handovers",
    "handover_us",
    "unowned_us",
    "two_readers",
    "two_readers_us",
)


@pytest.mark.parametrize("name", scenario_names())
def test_live_figures_equal_the_counted_ones(name):
    world = World.open(name)
    world.run()
    live, summary = world.live_failovers(), world.summary()
    assert figures(live) == figures(summary["failovers"])
    assert live_groups(world) == counted_groups(summary)


def figures(failovers: list[dict]) -> list[dict]:
    return [{key: one[key] for key in FIGURES} for one in failovers]


@pytest.mark.parametrize("seed", [6, 67, 71, 79, 158, 273, 326, 360, 475])
def test_live_figures_of_random_runs_equal_the_counted_ones_at_any_instant(seed):
    """Windows closed by the next failover (6), ledgers deleted at the target (67), the target lost
    permanently (71, 79), its cursor created by an Update (475) or reset (158), messages skipped at the
    source (273), filtered at the target (326), the source lost permanently before (360).
    """
    world = World.open(random_scenario(seed))
    world.run()
    end_us = world.now_us
    for at_us in (end_us, end_us * 2 // 3, end_us * 5 // 6):
        world.seek(at_us=at_us)
        assert figures(world.live_failovers()) == figures(world.summary()["failovers"])


def live_groups(world: World) -> dict:
    """What the page shows of each group."""
    return {
        name: {key: one["figures"][key] for key in GROUP_FIGURES}
        for name, one in world.view().get("groups", {}).items()
        if one["figures"]
    }


def counted_groups(summary: dict) -> dict:
    return {name: {key: one[key] for key in GROUP_FIGURES} for name, one in summary["groups"].items()}


@pytest.mark.parametrize("at_us", [6_300_000, 10_000_000, 12_500_000])
def test_live_figures_of_a_group_equal_the_counted_ones_at_any_instant(at_us):
    """Two readers at once, in the middle of it and after; a run that was sought back has the same figures."""
    world = World.open("groups-two-readers")
    world.run()
    world.seek(at_us=at_us)
    assert live_groups(world) == counted_groups(world.summary())
    now = world.view()["groups"]["meters"]["figures"]
    assert now["two_readers_now"] == (2 if at_us == 10_000_000 else 0) and now["unowned_now"] == 0


def test_a_view_has_the_duplicates_of_each_stream_as_ranges():
    world = World.open("groups-two-readers")
    world.run(9_000_000)
    assert world.view()["groups"]["meters"]["duplicates"] == {}
    world.run()
    group = world.view()["groups"]["meters"]
    counted = world.counted_whole().groups["meters"].duplicates_list
    rows = [world.trace.row(one.evidence["delivered"]) for one in counted]
    offsets = {(row["topic"], row["entry"]) for row in rows}
    shown = {
        (stream, offset)
        for stream, ranges in group["duplicates"].items()
        for first, after in ranges
        for offset in range(first, after)
    }
    assert shown == offsets and len(shown) == 31


def test_the_forecast_of_a_leaders_crash_is_what_the_next_leader_delivers_again():
    """The leader crashes after a commit; the next one starts from the committed positions."""
    world = World.open("groups-leader-crash-late")
    world.run(11_999_999)
    forecast = world.forecast("meters")["leader"]
    assert forecast == {
        "duplicates": world.view()["groups"]["meters"]["repeats"]["leader"]["acknowledged"],
        "redeliveries": 0,
    }
    assert world.view()["forecast"]["meters"] == {"from": "n1", "to": {"leader": forecast}}
    assert world.forecast("nobody") == {}


@pytest.mark.parametrize("name", ["groups-two-readers", "region-down"])
def test_bursts_are_all_duplicates_by_instant_and_cause(name):
    world = World.open(name)
    world.run()
    counted = world.counted_whole()
    for case in world.protocol.stories.cases(counted):
        listed = world.protocol.stories.lists(case)["duplicates"]
        bursts = bursts_of(listed, world.furthest_us)
        assert sum(one["count"] for one in bursts) == len(listed) > 0
        for one in listed:
            assert any(
                burst["cause"] == one.cause and burst["from_us"] <= one.at_us <= burst["until_us"]
                for burst in bursts
            )
