"""The plan of a run: its own instants, the same for brokers and engine, and the requests to clients."""

from __future__ import annotations

from dataclasses import replace

import pytest

from script.real_brokers.plan import (
    as_played,
    commands_in_order,
    consumer_request,
    first_moved,
    job_text,
    make_run,
    processing_us,
    producer_request,
    runs_at_once,
    shifted,
    with_version,
)
from script.real_brokers.play import with_offset
from simulator import load_scenario, load_scenario_text
from simulator.scenarios.model import Distribution

SCENARIO = """
format: 1
name: orders
title: A failover
family: replicated-subscriptions
until: 8s
clusters: {west: {}, east: {}}
topics:
  orders: {clusters: [west, east]}
  audit: {clusters: [west, east], partitions: 3}
producers:
  shop: {topic: orders, cluster: west, start: 50ms, every: 100ms, count: 40}
  late: {topic: audit, cluster: west, start: 1s, every: 300ms, stop: 2s, keys: 4, batch: 5}
  chance: {topic: orders, cluster: east, rate: 20/s, arrivals: poisson, stop: 5s}
subscriptions:
  billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
consumers:
  billing-1: {subscription: billing, cluster: west, processing: 2ms, hold: {messages: [shop/7], for: 2s}, negativeAcknowledge: {messages: [shop/9]}, negativeAckRedeliveryDelay: 1s}
commands:
  - {at: 1s, do: consumer.pause, consumer: billing-1}
  - {at: 2s, do: link.cut, link: west -> east}
  - {at: 3s, do: subscription.fail-over, subscription: billing, from: west, to: east, mode: crash}
expect:
  violations: []
"""


@pytest.fixture
def scenario():
    return load_scenario(SCENARIO)


@pytest.mark.parametrize(
    ("job", "runs"),
    [
        ("two-regions-10", 20),
        ("two-regions-100", 4),
        ("two-regions-500", 1),
        ("key-shared", 13),
        ("three-regions-planned", 6),
    ],
)
def test_as_many_runs_share_the_clusters_as_messages_and_replicators_allow(job, runs):
    assert runs_at_once(load_scenario_text(job_text(job))) == runs


def test_a_crash_is_that_of_a_process_for_the_engine_too():
    text = SCENARIO.replace("do: link.cut, link: west -> east", "do: cluster.crash, cluster: west")
    run = make_run(load_scenario(text), 1)
    assert run.scenario.commands[1].arguments["fault"] == "process"
    written = load_scenario(run.scenario.canonical_text)
    assert written.commands[1].arguments["fault"] == "process"


def test_a_run_shifts_the_commands_from_the_first_fault_on_by_one_offset(scenario):
    run = make_run(scenario, 17)
    assert first_moved(scenario) == 1
    assert 0 < run.offset_us < 1_000_000
    moved = [spec.at_us - before.at_us for spec, before in zip(run.scenario.commands, scenario.commands)]
    assert moved == [0, run.offset_us, run.offset_us]
    assert run.scenario.until_us == scenario.until_us + run.offset_us


def test_runs_have_different_offsets_phases_and_seeds_and_the_same_run_always_the_same(scenario):
    runs = [make_run(scenario, number) for number in range(1, 30)]
    assert len({run.offset_us for run in runs}) == 29
    assert len({run.scenario.producers["shop"].start_us for run in runs}) > 25
    assert all(50_000 <= run.scenario.producers["shop"].start_us < 150_000 for run in runs)
    assert [run.scenario.seed for run in runs] == [scenario.seed + number for number in range(1, 30)]
    assert make_run(scenario, 5) == runs[4]


def test_a_run_is_a_scenario_file_from_which_the_same_run_loads(scenario):
    run = make_run(scenario, 3)
    assert load_scenario(run.scenario.canonical_text) == run.scenario
    assert run.scenario.expect == {}


def test_poisson_arrivals_become_a_list_of_instants_for_brokers_and_engine(scenario):
    chance = make_run(scenario, 3).scenario.producers["chance"]
    assert chance.at_us and list(chance.at_us) == sorted(chance.at_us)
    assert 50 < len(chance.at_us) < 160
    assert chance.at_us[-1] < 5_000_000
    assert chance.every_us is None


def test_the_played_scenario_has_the_instants_that_happened(scenario):
    run = make_run(scenario, 2)
    played = as_played(run, {1: 2_345_678, 2: 3_500_001}, 9_000_000)
    assert [spec.at_us for spec in played.scenario.commands] == [1_000_000, 2_345_678, 3_500_001]
    assert played.scenario.until_us == 9_000_000
    assert played.scenario.options == run.scenario.options
    assert load_scenario(played.scenario.canonical_text) == played.scenario


def test_the_played_scenario_has_the_times_of_the_run(scenario):
    run = make_run(scenario, 2)
    times = {
        "topicLoadTime": Distribution(value_us=315_000),
        "subscribeTime": Distribution(value_us=45_678),
        "appendTime": Distribution("lognormal", value_us=3_456, sigma_millionths=512_000),
    }
    played = as_played(run, {}, 9_000_000, times).scenario
    assert {name: played.options[name] for name in times} == times
    assert load_scenario(played.canonical_text) == played
    given = replace(run, scenario=replace(run.scenario, options=played.options))
    assert (
        as_played(given, {}, 9_000_000, {"subscribeTime": Distribution(value_us=1_000)}).scenario.options
        == played.options
    )


def test_another_offset_moves_only_the_shifted_commands(scenario):
    run = make_run(scenario, 2)
    other = with_offset(run, 111)
    assert [spec.at_us for spec in other.scenario.commands] == [1_000_000, 2_000_111, 3_000_111]
    assert with_offset(other, run.offset_us).scenario.commands == run.scenario.commands


def test_without_commands_nothing_is_shifted(scenario):
    quiet = replace(scenario, commands=())
    assert make_run(quiet, 4).offset_us == 0
    assert shifted(quiet, 0, 500) == quiet


def test_names_on_the_brokers_contain_the_run(scenario):
    run = make_run(scenario, 17)
    assert run.topic("orders") == "persistent://lab/east-west/orders-r017"
    assert run.topic("audit-partition-2") == "persistent://lab/east-west/audit-r017-partition-2"
    assert run.client("shop") == "r017/shop"
    assert run.shared == [1]
    assert [number for number, _spec in commands_in_order(run)] == [0, 1, 2]


def test_a_producer_that_moves_continues_with_its_next_message(scenario):
    run = make_run(scenario, 1)
    shop = replace(run.scenario.producers["shop"], start_us=60_000)
    first, start_us = producer_request(run, shop, "west")
    assert (first["every_ns"], first["count"], first["first_sequence"], start_us) == (10**8, 40, 0, 60_000)
    moved, start_us = producer_request(run, shop, "east", first_sequence=30, from_us=3_100_000)
    assert (moved["count"], moved["first_sequence"], start_us) == (10, 30, 3_200_000)
    assert moved["cluster"] == "east"


def test_a_producer_with_a_stop_publishes_only_before_it(scenario):
    run = make_run(scenario, 1)
    late = replace(run.scenario.producers["late"], start_us=1_000_000)
    request, _start_us = producer_request(run, late, "west")
    assert request["count"] == 4  # at 1.0, 1.3, 1.6 and 1.9 s
    assert request["batch"]["max_messages"] == 5
    assert request["messages_in_turn"] == 5
    assert len(request["partition_of_key"]) == 4


def test_a_list_of_instants_ends_at_the_stop(scenario):
    run = make_run(scenario, 1)
    listed = replace(run.scenario.producers["shop"], at_us=(10, 20, 30), stop_us=25)
    assert producer_request(run, listed, "west")[0]["instants_ns"] == [10_000, 20_000]
    assert producer_request(run, listed, "west", 1, 22)[0]["instants_ns"] == [22_000]


def test_a_consumer_request_has_the_settings_of_the_scenario(scenario):
    run = make_run(scenario, 8)
    request = consumer_request(run, run.scenario.consumers["billing-1"], "east")
    assert request == {
        "name": "r008/billing-1",
        "cluster": "east",
        "topic": "persistent://lab/east-west/orders-r008",
        "subscription": "billing",
        "type": "Shared",
        "replicated": True,
        "initial": "Earliest",
        "receiver_queue": 1000,
        "ack_group_us": 100_000,
        "processing_us": 2_000,
        "acknowledge": "individual",
        "batch_index_acks": True,
        "holds": [{"messages": ["r008/shop/7"], "for_us": 2_000_000}],
        "negative": [{"messages": ["r008/shop/9"], "for_us": None}],
        "negative_ack_delay_us": 1_000_000,
    }


def test_processing_times_that_vary_are_draws_of_the_distribution():
    draws = processing_us(Distribution("uniform", low_us=10, high_us=20), 1, "billing-1")
    assert isinstance(draws, list) and set(draws) == set(range(10, 21))
    assert processing_us(Distribution(value_us=5), 1, "billing-1") == 5


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("4.2.4", {}),
        ("4.0.7", {"snapshotCacheRule": "oldest-first"}),
    ],
)
def test_the_engine_gets_the_options_of_the_brokers_version(scenario, version, options):
    every = {"initialSnapshotCoversOlder": False, "timing": "measured"}
    assert with_version(scenario, version).options == {**options, **every}
