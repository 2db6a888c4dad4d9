"""Why no snapshot is requested now, and how far a remote lags.

Against the controller's own rules and a plain search in the rows.
"""

from __future__ import annotations

import random

import pytest

from simulator import World, load_scenario_text, scenario_names

TICK_OUTCOMES = ("snapshot.requested", "snapshot.refused")


def rules_of(world: World, topic: str, cluster: str) -> dict:
    return world.snapshot_rules(topic)[cluster]


@pytest.mark.parametrize("name", scenario_names())
def test_the_predicted_rule_equals_the_outcome_of_the_next_tick(name):
    """Just before each tick of the run, the rules predict its row, by instant and by reason."""
    world = World.open(name)
    world.run()
    ticks = [
        row for row in world.trace.rows(types=TICK_OUTCOMES) if row.get("count", 1) == 1 and row["at_us"] > 0
    ]
    for row in random.Random(7).sample(ticks, min(25, len(ticks))):
        world.seek(at_us=row["at_us"] - 1)
        if any(
            other["at_us"] == row["at_us"] and other["seq"] < row["seq"]
            for other in world.trace.rows(max(0, row["seq"] - 40), row["seq"])
        ):
            continue  # another event at this very instant may have changed the answer
        found = rules_of(world, row["topic"], row["cluster"])
        assert found["next_tick_us"] == row["at_us"], row
        assert found["stopped_by"] == row.get("reason"), row
        assert all(rule["holds"] for rule in found["rules"][:-1]) and bool(found["until"]) == (
            row["type"] == "snapshot.refused"
        )


def at(name: str, at_us: int) -> World:
    world = World.open(name)
    world.run(at_us)
    return world


def test_a_region_that_is_down_is_named():
    found = rules_of(at("region-down-twice", 8_000_000), "orders", "us-east")
    assert found["stopped_by"] == "replicator-disconnected"
    assert "us-west is down" in found["rules"][-1]["words"] and "taken off" in found["until"]


def test_the_pending_snapshot_that_blocks_is_named_with_its_end():
    found = rules_of(at("one-way-replication", 3_500_000), "orders", "us-west")
    assert found["stopped_by"] == "pending"
    assert (
        "S1, asked for at 1.000 s, still waits for us-east" in found["rules"][-1]["words"]
        and "after 6.000 s" in found["until"]
    )


def test_no_new_data_names_the_request_instant_of_the_newest_completed_snapshot():
    found = rules_of(at("two-regions", 12_000_000), "orders", "us-west")
    assert (
        found["stopped_by"] == "no-new-data"
        and "since the newest finished snapshot was asked for, at 8.000 s" in found["rules"][-1]["words"]
    )


def test_a_region_without_a_controller_has_a_reason():
    assert (
        rules_of(at("local-subscription-earliest", 1_000_000), "orders", "us-west")["stopped_by"]
        == "controller"
    )
    assert (
        "to no other region" in rules_of(at("figure-4", 500_000), "orders", "cluster-a")["rules"][0]["words"]
    )
    assert (
        "us-west is down" in rules_of(at("region-down", 7_000_000), "orders", "us-west")["rules"][0]["words"]
    )


def plain_lag(world: World, cluster: str, subscription: str) -> int:
    """From the view alone: the first stored message above the mark-delete and outside the ranges."""
    oldest = []
    for name, topic in world.view()["clusters"][cluster]["topics"].items():
        cursor = topic["subscriptions"].get(subscription)
        places = {
            (row["ledger"], row["entry"]): row["at_us"]
            for row in world.trace.rows(0, world.seq, types=("message.stored",))
            if (row["cluster"], row["topic"]) == (cluster, name)
        }
        for index in range(topic["first_kept"], topic["length"]):
            covered = cursor is not None and (
                index <= cursor["mark_delete_index"]
                or any(first <= index <= last for first, last in cursor["ranges"])
            )
            ledger, first, _ = next(part for part in reversed(topic["ledgers"]) if part[1] <= index)
            if not covered and (ledger, index - first) in places:
                oldest.append(places[ledger, index - first])
                break
    return world.now_us - min(oldest) if oldest else 0


@pytest.mark.parametrize(
    "name",
    ["region-down", "two-regions", "slow-consumer-spread", "ack-hole-delayed-message", "enabled-on-backlog"],
)
def test_the_lag_is_the_age_of_the_oldest_uncovered_message(name):
    world = World.open(name)
    world.run()
    for at_us in random.Random(3).sample(range(200_000, min(world.furthest_us, 9_000_000)), 6):
        world.seek(at_us=at_us)
        lags = world.sync_lag("billing")
        assert lags and all(lag == plain_lag(world, cluster, "billing") for cluster, lag in lags.items()), (
            at_us
        )


def test_reading_the_rules_changes_nothing():
    world, other = World.open("region-down"), World.open("region-down")
    for at_us in range(500_000, 10_000_001, 500_000):
        world.run(at_us)
        world.sync_lag("billing")
        world.snapshot_rules("orders")
    other.run()
    assert world.digest() == other.digest()


def test_the_lag_of_a_partitioned_topic_is_that_of_the_oldest_partition():
    text = World.open("two-regions").scenario.canonical_text.replace("partitions: 0", "partitions: 2")
    world = World.from_scenario(load_scenario_text(text))
    world.run(4_300_000)
    assert world.sync_lag("billing")["us-east"] == plain_lag(world, "us-east", "billing") > 0
