"""The numbers of one failover that need no lists, and the law that causes add up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.counting import CountedFailover
from simulator.protocols.pulsar.verdicts import CountingError
from simulator.protocols.pulsar.verdicts.count import check_sums
from tests.simulator.trace_builder import TraceBuilder


def both_hold(count: int) -> TraceBuilder:
    """A and B hold 0..count-1, and nobody has consumed anything."""
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish(range(count), "a", to=["b"])
    return world


def test_deliveries_of_a_message_after_its_first_in_the_window_are_extra():
    world = both_hold(3)
    world.fail_over("a", "b", "planned")
    world.deliver([0, 1, 2, 2], "b")
    assert world.failover().extra_deliveries == 1
    world.deliver([2, 0], "b")
    assert world.failover().extra_deliveries == 3


def test_the_first_delivery_in_the_window_ends_the_delivery_gap():
    world = both_hold(3)
    world.at(1000).deliver([0], "b")
    world.at(2000).fail_over("a", "b", "planned")
    for number in range(3):
        world.wait(500).deliver([number], "b")
    failover = world.failover()
    assert (failover.first_delivery_us, failover.outage_us) == (2500, 500)


COUNTED = CountedFailover(
    subscription="billing",
    source="a",
    target="b",
    mode="planned",
    at_us=0,
    opened_seq=70,
    closed_seq=90,
    duplicates=1000,
    by_cause={"ack_hole": 400, "resent_copy": 600},
    lost=2000,
    lost_by_cause={"removed": 1500, "cursor_moved_past": 500},
)


def test_causes_that_add_up_pass():
    check_sums(COUNTED)
    check_sums(replace(COUNTED, duplicates=0, by_cause={}, lost=0, lost_by_cause={}))


@pytest.mark.parametrize(
    "wrong", [{"duplicates": 999}, {"duplicates": 1001}, {"lost": 1999}, {"lost": 2001}, {"by_cause": {}}]
)
def test_causes_that_do_not_add_up_stop_the_count(wrong):
    with pytest.raises(CountingError, match="do not add up") as raised:
        check_sums(replace(COUNTED, **wrong))
    assert raised.value.evidence == {"failover": 70}
