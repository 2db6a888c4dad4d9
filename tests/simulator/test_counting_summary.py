"""The contract's keys, always all of them."""

from __future__ import annotations

import json

from simulator.counting import LOST_CAUSES
from simulator.protocols.pulsar.verdicts import SubscriptionCounts, failover_summary, subscription_summary
from tests.simulator.trace_builder import TraceBuilder

FAILOVER_KEYS = {
    "subscription",
    "from",
    "to",
    "mode",
    "at_us",
    "duplicates",
    "extra_deliveries",
    "redeliveries",
    "lost",
    "lost_recovered",
    "lost_by_cause",
    "stranded",
    "stranded_unprocessed",
    "stranded_returned",
    "stranded_missing",
    "expired",
    "skipped",
    "reordered",
    "by_cause",
    "dedup_window",
    "outage_us",
    "first_delivery_us",
    "caught_up_us",
    "drained_us",
    "pending_repeats",
    "forecast",
}
CAUSES = [
    "resent_copy",
    "subscription_missing",
    "not_replicated",
    "cursor_went_back",
    "ack_not_registered",
    "not_in_target_yet",
    "ack_hole",
    "update_in_flight",
    "snapshot_evicted",
    "snapshot_unused",
    "snapshot_incomplete",
    "after_newest_snapshot",
]


def no_failover_events() -> TraceBuilder:
    world = TraceBuilder()
    world.fail_over("a", "b", "planned")
    return world


def test_every_key_is_present_when_nothing_happened():
    printed = failover_summary(no_failover_events().failover())
    assert set(printed) == FAILOVER_KEYS
    assert printed["by_cause"] == dict.fromkeys(CAUSES, 0) and list(printed["by_cause"]) == CAUSES
    assert printed["lost_by_cause"] == dict.fromkeys(LOST_CAUSES, 0)
    assert printed["dedup_window"] == {"messages": 0, "us": 0}
    assert printed["forecast"] == {"duplicates": None, "lost": None, "stranded": None}
    assert (printed["from"], printed["to"], printed["mode"]) == ("a", "b", "planned")
    assert (printed["outage_us"], printed["first_delivery_us"]) == (None, None)
    json.dumps(printed)


def test_the_forecast_is_taken_from_the_world():
    expected = {"duplicates": 3, "lost": 0, "stranded": 2, "redeliveries": 9, "stranded_unprocessed": 1}
    assert failover_summary(no_failover_events().failover(), expected)["forecast"] == {
        "duplicates": 3,
        "lost": 0,
        "stranded": 2,
    }


def test_numbers_are_plain_integers_for_json():
    world = TraceBuilder()
    world.create("a")
    world.create("b")
    world.publish([0, 1], "a", to=["b"])
    world.consume([0, 1], "a")
    world.move("a", 1)
    world.fail_over("a", "b", "planned")
    world.wait().consume([0], "b")
    counted = world.counted()
    json.dumps(failover_summary(counted.failovers[0]))
    json.dumps([vars_of(entry) for entry in counted.failovers[0].duplicates_list])
    assert subscription_summary(counted.subscriptions["billing", "a"]) == {
        "delivered": 2,
        "acknowledged": 2,
        "repeated": 0,
        "expired": 0,
        "skipped": 0,
    }


def vars_of(entry) -> dict:
    return {name: getattr(entry, name) for name in entry.__slots__}


def test_subscription_summary_without_rows_is_zero():
    assert set(subscription_summary(SubscriptionCounts()).values()) == {0}


def test_a_run_without_a_failover_counts_its_subscriptions():
    world = TraceBuilder()
    world.create("a")
    world.publish([0], "a")
    world.deliver([0, 0], "a")
    counted = world.counted()
    assert counted.failovers == [] and counted.subscriptions["billing", "a"].repeated == 1


def test_counts_of_an_empty_trace_are_zero():
    counted = TraceBuilder(replicators=False).counted(0)
    assert (counted.upto_seq, counted.failovers, counted.subscriptions) == (0, [], {})


def test_lists_are_lazy_sequences():
    world = TraceBuilder()
    world.create("a")
    world.create("b")
    world.publish(range(5), "a", to=["b"])
    world.consume(range(5), "a")
    world.move("a", 4)
    world.fail_over("a", "b", "planned")
    world.deliver(range(5), "b")
    listed = world.failover().duplicates_list
    assert [entry.sequence_id for entry in listed[1:3]] == [1, 2] and listed[-1].sequence_id == 4
    assert (
        listed[0].producer == "web"
        and listed[0].cluster == "b"
        and listed[0].evidence["delivered"] == listed[0].delivered_seq
    )
