"""Tests of a scenario at a part of its rate: what becomes smaller, and what stays."""

from __future__ import annotations

from dataclasses import replace

from simulator import load_scenario_text
from simulator.experiments import load_of, reduced

TEXT = """
format: 1
name: fast
title: "Many consumers"
family: replicated-subscriptions
until: 4s
settings: {maxUnackedMessagesPerSubscription: 0, maxUnackedMessagesPerConsumer: 3000}
clusters: {a: {}, b: {}}
links: {a <-> b: {latency: 20ms, bandwidth: 80MB/s}}
topics: {orders: {clusters: [a, b]}}
producers: {p: {topic: orders, cluster: a, rate: 2000/s, count: 6000, batch: 40}}
subscriptions: {billing: {topic: orders, type: Shared, replicateSubscriptionState: true}}
consumers:
CONSUMERS
commands:
  - {at: 2s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned}
  - {at: 2500ms, do: client.kill, client: c-50}
expect: {duplicates: 1}
"""


def scenario_of(consumers: int, more: str = "") -> str:
    lines = [
        f"  c-{number}: {{subscription: billing, cluster: a, processing: 12ms{more}}}"
        for number in range(1, consumers + 1)
    ]
    return TEXT.replace("CONSUMERS", "\n".join(lines))


def test_the_rate_the_consumers_and_the_limits_of_a_topic_become_smaller_and_times_stay():
    whole = load_scenario_text(scenario_of(50))
    part = reduced(whole, 4)
    read = load_scenario_text(part.canonical_text)
    assert replace(read, canonical_text=part.canonical_text) == part, "it can be run again from its text"
    assert (part.producers["p"].every_us, part.producers["p"].count, part.producers["p"].batch) == (
        2_000,
        1_500,
        10,
    )
    assert len(part.consumers) == 12 and "c-50" in part.consumers, "the one that a command names stays"
    (one,) = {consumer.processing.value_us for consumer in part.consumers.values()}
    assert one == 11_520, "12 of 50 consumers are 0.96 of a quarter"
    assert round(load_of(part).utilisation, 6) == round(load_of(whole).utilisation, 6)
    assert part.settings["replicationProducerQueueSize"] == 250
    assert part.settings["maxUnackedMessagesPerSubscription"] == 0, "switched off"
    assert part.links["a", "b"].bandwidth_bytes_per_s == whole.links["a", "b"].bandwidth_bytes_per_s // 4
    assert (part.commands, part.links["a", "b"].latency) == (whole.commands, whole.links["a", "b"].latency)
    assert part.expect == {}


def test_few_consumers_cannot_be_divided():
    whole = load_scenario_text(scenario_of(50))
    assert reduced(whole, 8) is not None and reduced(whole, 16) is None
    assert reduced(load_scenario_text(scenario_of(3).replace("c-50", "c-3")), 2) is None


def test_what_has_no_rate_is_not_reduced():
    listed = scenario_of(50, ", hold: {messages: [p/3], for: 1s}")
    assert reduced(load_scenario_text(listed), 2) is None
    instants = scenario_of(50).replace("rate: 2000/s, count: 6000", "at: [1s, 2s]")
    assert reduced(load_scenario_text(instants.replace(", batch: 40", "")), 2) is None
