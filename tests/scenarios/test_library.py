"""The built-in scenarios: each is well-formed, and each has the outcome in its `expect` block.

The expectations are derived in comments beside them, so a broken one reveals an error either of the engine or
of the reasoning.
"""

from __future__ import annotations

from functools import cache

import pytest

from simulator import World, load_scenario, scenario_names
from simulator.comparison import strategy_named, under
from simulator.scenarios import broken_expectations, builtin_text, parse_overrides
from simulator.scenarios.shape import PROTOCOL_OF

REQUIRED = (
    "two-regions",
    "three-regions",
    "local-subscription-latest",
    "local-subscription-earliest",
    "unsafe-partial-snapshot",
    "figure-4",
    "figure-5-and-8",
    "periodic-snapshots",
    "ack-hole-delayed-message",
    "backlog-blocks-snapshots",
    "one-way-replication",
    "region-down",
    "region-down-twice",
    "consumer-drains-backlog",
    "slow-consumer-oldest-first",
    "slow-consumer-spread",
    "issue-10054",
    "issue-20767",
    "enabled-on-backlog",
    "fail-over-and-back",
    "crash-returns-stranded",
    "failover-before-first-update",
    "update-in-flight",
    "producers-everywhere",
    "overhead",
    # tenant migration
    "tenant-moves",
    "tenant-link-fails",
    "tenant-switched-too-early",
    "tenant-rolls-back",
    "tenant-blue-green",
    "tenant-noisy-neighbour",
    "strategies-delayed-message",
    "strategies-backlog",
    "strategies-between-snapshots",
    # topic creation
    "clients-created-it-before",
    "clients-created-it-proposed",
    "clients-created-it",
    "drifted-partitions",
    "drifted-partitions-before",
    "retry-without-end",
    "new-schema-before",
    "new-schema",
    "schema-refused",
    "created-apart",
    "compared-first",
    # durable shared subscriptions
    "groups-join",
    "groups-leave",
    "groups-killed",
    "groups-killed-in-a-chunk",
    "groups-leader-crash-early",
    "groups-leader-crash-late",
    "groups-two-readers",
    "groups-split-heals",
    "groups-quick-resubscribe",
    "groups-generation-ends",
    "groups-end-of-stream-as-shipped",
    "groups-more-borrowers",
    "groups-replay",
    "groups-late-progress",
    "groups-late-progress-as-shipped",
    "groups-second-answer",
    "groups-second-answer-as-shipped",
    "groups-reset-while-leaving",
    "groups-reset-while-leaving-as-shipped",
    "groups-rounds",
    "groups-rounds-as-shipped",
    "groups-late-revoke",
    "groups-thousand-streams",
    "groups-takeover",
    "groups-node-stop",
    "groups-two-leaders",
    "groups-timers-changed",
    # shadow topics
    "shadow-two-audiences",
    "shadow-cached",
    "shadow-loaded-late",
    "shadow-explicit-lac",
    "shadow-refresh",
    "shadow-source-unload",
    "shadow-rollover",
    "shadow-retention-loss",
    "shadow-not-writable",
    "shadow-offloaded",
    "starved-subscription",
    "broadcast",
)
LARGEST_EVENTS = 100_000
"""A built-in scenario is run by many tests: none may take longer than a second or two."""


@cache
def summary_of(name: str, *sets: str) -> dict:
    """The summary of a scenario's run, with overrides."""
    world = World.from_scenario(load_scenario(name, overrides=parse_overrides(sets)))
    world.run()
    assert world.limit_reached is None
    return world.summary()


def failover_of(name: str, *sets: str, number: int = 0) -> dict:
    return summary_of(name, *sets)["failovers"][number]


def test_all_required_scenarios_exist():
    assert set(REQUIRED) <= set(scenario_names())


@pytest.mark.parametrize("name", scenario_names())
def test_scenario_has_the_expected_outcome(name):
    scenario = load_scenario(name)
    summary = summary_of(name)
    assert summary["violations"] == []
    broken = broken_expectations(scenario.expect, summary)
    assert not broken, "\n" + "\n".join(broken)


@pytest.mark.parametrize("name", scenario_names())
def test_scenario_is_well_formed(name):
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.family in PROTOCOL_OF
    assert scenario.title and scenario.about and scenario.watch
    assert scenario.expect.get("violations") == [] and len(scenario.expect) >= 4
    refused = [number for number, command in enumerate(summary_of(name)["commands"]) if not command["ok"]]
    assert [number for number in refused if f"commands[{number}].code" not in scenario.expect] == [], (
        "a refusal is part of the story, or a mistake"
    )
    assert summary_of(name)["events"] <= LARGEST_EVENTS


@pytest.mark.parametrize(
    "name, strategy",
    [(name, strategy) for name in scenario_names() for strategy in load_scenario(name).compare],
)
def test_each_strategy_has_the_expected_outcome(name, strategy):
    scenario = under(load_scenario(name), strategy_named(strategy))
    world = World.from_scenario(scenario)
    world.run()
    assert scenario.expect and not broken_expectations(scenario.expect, world.summary())
    assert all(command["ok"] for command in world.summary()["commands"])


@pytest.mark.parametrize("name", scenario_names())
def test_canonical_text_is_the_same_run(name):
    scenario = load_scenario(name)
    again = load_scenario(scenario.canonical_text)
    assert again == scenario
    world = World.from_scenario(again)
    world.run()
    assert world.digest() == summary_of(name)["trace_sha256"]


@pytest.mark.parametrize("name", scenario_names())
def test_expectations_have_comments_with_reasons(name):
    block = builtin_text(name).split("\nexpect:\n")[1]
    assert "#" in block or name == "issue-10054", "say in a comment how the numbers follow"


# --- claims of a scenario's text beyond its own run: one value changed


def test_the_two_round_snapshot_does_not_lose_what_the_partial_one_loses():
    assert failover_of("unsafe-partial-snapshot")["lost"] == 1
    safe = failover_of("unsafe-partial-snapshot", "options.unsafePartialSnapshotAfter=0s")
    assert safe["lost"] == 0
    assert safe["duplicates"] == 50  # shop/0 to shop/49: c received no Update


def test_a_shorter_period_costs_fewer_duplicates():
    assert failover_of("periodic-snapshots")["duplicates"] == 19
    # The snapshot of 3 s covers shop/0 to shop/29: shop/30 to shop/38 are duplicates.
    assert (
        failover_of("periodic-snapshots", "settings.replicatedSubscriptionsSnapshotFrequencyMillis=1000")[
            "duplicates"
        ]
        == 9
    )


def test_without_the_delayed_message_there_is_no_hole():
    # The snapshot of 5 s covers shop/0 to shop/49; acknowledged up to shop/58.
    plain = failover_of("ack-hole-delayed-message", "producers.shop.delay=")
    assert plain["duplicates"] == 9 and plain["by_cause"]["ack_hole"] == 0


def test_two_way_replication_costs_fewer_duplicates_than_one_way():
    # Everything was acknowledged and covered by the snapshot of 14 s, long before the failover of 15 s.
    assert failover_of("one-way-replication", "topics.orders.replication=")["duplicates"] == 0


def test_the_newer_cache_rule_serves_a_slow_consumer_better():
    older, newer = failover_of("slow-consumer-oldest-first"), failover_of("slow-consumer-spread")
    assert newer["duplicates"] * 2 < older["duplicates"]


def test_without_held_messages_there_are_no_duplicates():
    assert failover_of("issue-10054", "consumers.billing-1.hold=")["duplicates"] == 0


def test_the_fixed_broker_loses_nothing():
    with_earliest = failover_of("issue-20767", "options.missingSubscriptionCreation=earliest")
    assert with_earliest["lost"] == 0 and with_earliest["duplicates"] == 0


def test_waiting_until_the_backlog_is_passed_makes_the_failover_cheap():
    # The backlog of 200 is drained at 8.01 s; the snapshots at its end are passed, and us-east gets the
    # Update.
    assert failover_of("enabled-on-backlog", "commands[1].at=12s")["duplicates"] == 0


def test_an_update_in_time_prevents_all_duplicates():
    assert failover_of("update-in-flight", "commands[0].by=0s")["duplicates"] == 0


def test_a_region_left_on_the_list_keeps_the_third_failover_expensive():
    kept = failover_of("region-down-twice", "commands[3]=", number=2)
    assert kept["duplicates"] > 5 * failover_of("region-down-twice", number=2)["duplicates"]
