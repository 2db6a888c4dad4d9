"""Counting on runs of the real engine: against the plain recount, and the worked cases as scenarios."""

from __future__ import annotations

import pytest

from simulator import World, load_scenario_text
from simulator.protocols.pulsar.verdicts import CountedRun, count_run, failover_summary
from tests.oracle.failovers import recount
from tests.simulator.random_scenarios import random_scenario
from tests.simulator.trace_builder import causes, losses

HEAD = """
format: 1
name: worked-case
title: A worked case
family: replicated-subscriptions
until: 10s
settings: {replicatedSubscriptionsSnapshotFrequencyMillis: 100}
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [a, b], partitions: 0}}
"""


def ran(text: str) -> tuple[World, CountedRun]:
    scenario = load_scenario_text(text)
    world = World.from_scenario(scenario)
    world.run(until_us=scenario.until_us)
    return world, count_run(world.trace, scenario)


def case(
    producer: str, consumer: str, *commands: str, subscription: str = "", head: str = HEAD
) -> CountedRun:
    """A run of one producer `web` and one consumer at A."""
    replicated = subscription or "replicateSubscriptionState: true, initialPosition: Earliest"
    text = "\n".join(
        (
            head,
            f"producers: {{web: {{topic: orders, cluster: a, {producer}}}}}",
            f"subscriptions: {{billing: {{topic: orders, type: Shared, {replicated}}}}}",
            f"consumers: {{c: {{subscription: billing, cluster: a, {consumer}}}}}",
            "commands:",
            *(f"  - {{{command}}}" for command in commands),
        )
    )
    return ran(text)[1]


def fail_over(at: str, mode: str = "crash") -> str:
    return f"at: {at}, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: {mode}"


@pytest.mark.parametrize("seed", [100, 107, 127, 152, 169, 223, 249, 336])
def test_random_runs_agree_with_the_plain_recount(seed: int):
    world, counted = ran(random_scenario(seed))
    plain = recount(world.trace, world.scenario)
    assert len(plain) == len(counted.failovers)
    for failover, expected in zip(counted.failovers, plain, strict=True):
        assert {name: getattr(failover, name) for name in expected} == expected
        assert sum(failover.by_cause.values()) == failover.duplicates


@pytest.mark.swarm
@pytest.mark.parametrize("seed", range(2000, 2006))
def test_many_random_runs_agree_with_the_plain_recount(seed: int):
    test_random_runs_agree_with_the_plain_recount(seed)


def test_case_1_messages_above_a_hole_are_duplicates_and_the_held_message_is_redelivered():
    counted = case(
        "every: 10ms, count: 100, start: 10ms",
        "processing: 1ms, acknowledgmentGroupTime: 0ms, hold: {messages: [web/60]}",
        "at: 3s, do: cluster.crash, cluster: a",
        fail_over("3s"),
    )
    failover = counted.failovers[0]
    assert failover.by_cause["ack_hole"] == 39
    assert set(causes(failover)) <= {"ack_hole", "after_newest_snapshot"}
    assert (failover.redeliveries, failover.lost, failover.stranded) == (1, 0, 0)


def test_case_3_not_replicated_acknowledged_and_returned():
    counted = case(
        "every: 10ms, count: 300, start: 10ms",
        "processing: 1ms, acknowledgmentGroupTime: 0ms",
        "at: 2s, do: link.cut, link: a -> b",
        "at: 2500ms, do: cluster.crash, cluster: a",
        fail_over("2500ms"),
        "at: 4s, do: link.heal, link: a -> b",
        "at: 4s, do: cluster.restart, cluster: a",
    )
    failover = counted.failovers[0]
    assert failover.stranded == failover.stranded_returned > 40
    assert failover.by_cause["not_in_target_yet"] == failover.stranded - failover.stranded_unprocessed
    assert failover.lost == 0


def test_case_4_negative_ack():
    counted = case(
        "every: 10ms, count: 3, start: 10ms",
        (
            "acknowledgmentGroupTime: 0ms, negativeAcknowledge: {messages: [web/1]}, "
            "negativeAckRedeliveryDelay: 100ms"
        ),
        "at: 400ms, do: cluster.crash, cluster: a",
        fail_over("400ms"),
    )
    assert counted.subscriptions["billing", "a"].repeated == 1
    assert (counted.failovers[0].redeliveries, counted.failovers[0].lost) == (0, 0)


def test_case_5_update_in_flight():
    counted = case(
        "every: 10ms, count: 200, start: 10ms",
        "acknowledgmentGroupTime: 0ms, processing: 1ms",
        "at: 1900ms, do: link.slow, link: a -> b, latency: 3s",
        fail_over("4s", "planned"),
    )
    failover = counted.failovers[0]
    assert failover.by_cause["update_in_flight"] > 0
    assert {entry.why for entry in failover.duplicates_list if entry.cause == "update_in_flight"} <= {
        "on-the-wire",
        "backlog",
        "already-dispatched",
    }


@pytest.mark.parametrize("position", ["Latest", "Earliest"])
def test_case_6_missing_at_b(position: str):
    counted = case(
        "every: 1ms, count: 100, start: 10ms",
        "processing: 10ms, acknowledgmentGroupTime: 0ms",
        "at: 500ms, do: cluster.crash, cluster: a",
        fail_over("500ms"),
        subscription=f"replicateSubscriptionState: false, initialPosition: {position}",
    )
    failover, acknowledged = counted.failovers[0], counted.subscriptions["billing", "a"].acknowledged
    assert 40 <= acknowledged <= 60
    if position == "Latest":
        assert failover.duplicates == 0 and losses(failover) == {
            "subscription_began_after": 100 - acknowledged
        }
    else:
        assert failover.lost == 0 and causes(failover) == {"subscription_missing": acknowledged}


def test_case_7_skipped_by_an_operator():
    counted = case(
        "every: 10ms, count: 300, start: 10ms",
        "start: 1s, processing: 1ms, acknowledgmentGroupTime: 0ms",
        (
            "at: 900ms, do: subscription.create, subscription: billing, cluster: a, "
            "initialPosition: Earliest, replicated: true"
        ),
        "at: 950ms, do: subscription.skip, subscription: billing, cluster: a, count: 10",
        fail_over("4s", "planned"),
    )
    failover = counted.failovers[0]
    assert (failover.skipped, failover.expired, failover.lost) == (10, 0, 0)


def test_case_2_there_and_back_counts_once_in_each_window():
    back = "at: 6s, do: subscription.fail-over, subscription: billing, from: b, to: a, mode: planned"
    counted = case(
        "every: 10ms, count: 900, start: 10ms",
        "processing: 1ms, acknowledgmentGroupTime: 0ms",
        fail_over("3050ms", "planned"),
        back,
    )
    first, second = counted.failovers
    for failover in (first, second):
        identities = [(entry.producer, entry.sequence_id) for entry in failover.duplicates_list]
        assert len(set(identities)) == len(identities) == failover.duplicates
    assert {entry.acknowledged_in for entry in second.duplicates_list} <= {"b"}
    assert second.lost == first.lost == 0


def test_a_summary_during_the_run_counts_the_rows_so_far():
    world, _ = ran(random_scenario(107))
    world.seek(at_us=6_000_000)
    counted = count_run(world.trace, world.scenario, world.seq)
    assert counted.upto_seq == world.seq
    whole = count_run(world.trace.prefix(world.seq), world.scenario)
    assert [failover_summary(one) for one in counted.failovers] == [
        failover_summary(one) for one in whole.failovers
    ]
