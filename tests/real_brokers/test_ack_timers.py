"""Phase and drift of the timers of ack groups, taken from the acks that a broker handled."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from script.real_brokers.times_of_run import drift_us, groups_us, phases_us, with_ack_timers
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios.loader import load_scenario_text

ZERO_NS = 7_000_000_000
TEXT = """\
format: 1
name: phases
title: Phases of ack groups
family: replicated-subscriptions
clusters: {a: {}, b: {}}
topics: {t: {clusters: [a, b]}}
producers: {p: {topic: t, cluster: a, every: 10ms}}
subscriptions: {s: {topic: t, type: Shared}}
consumers:
  c: {subscription: s, cluster: a}
  d: {subscription: s, cluster: a}
until: 5s
"""


def scenario() -> PulsarScenario:
    return cast(PulsarScenario, load_scenario_text(TEXT, "phases.yaml"))


def ack(at_us: int, consumer: str = "c", cluster: str = "a") -> dict:
    return {"e": "ack", "t": ZERO_NS + at_us * 1000, "consumer": consumer, "cluster": cluster}


def acks(first_us: int, period_us: int, count: int, consumer: str = "c", jitter=(0,)) -> list[dict]:
    """Groups of two acks each."""
    found = []
    for number in range(count):
        at_us = first_us + number * period_us + jitter[number % len(jitter)]
        found += [ack(at_us, consumer), ack(at_us + 40, consumer)]
    return found


PERIODS = {"c": 100_000}


def test_a_group_begins_with_an_ack_long_after_the_one_before():
    groups = groups_us(acks(98_000, 100_090, 6), ZERO_NS, PERIODS)
    assert groups == {"c": [98_000 + number * 100_090 for number in range(6)]}


def test_only_the_first_connection_up_to_the_first_command_counts():
    begun = acks(98_000, 100_000, 5)
    early = [ack(-50_000)]
    moved = [ack(600_000, cluster="b")]
    assert groups_us([*early, *begun, *moved], ZERO_NS, PERIODS) == groups_us(begun, ZERO_NS, PERIODS)
    command = {"e": "command", "t": ZERO_NS + 500_000_000}
    assert groups_us([*begun, command, ack(598_000)], ZERO_NS, PERIODS) == groups_us(begun, ZERO_NS, PERIODS)
    assert groups_us(begun[:8], ZERO_NS, PERIODS) == {}, "four groups show no phase"
    assert groups_us(begun, ZERO_NS, {"c": 0}) == {}, "a client without groups has no timer"


def test_the_drift_is_what_a_period_is_longer_than_configured():
    assert drift_us({"c": [98_000 + number * 100_090 for number in range(30)]}, PERIODS) == 90
    gaps = [98_000 + number * 100_090 for number in range(60) if number % 7]  # groups without acks
    assert drift_us({"c": gaps}, PERIODS) == 90
    assert drift_us({}, PERIODS) is None


def test_the_phase_is_that_of_most_groups():
    at_us = [3_000, 97_500 + 100_090, *(97_500 + number * 100_090 for number in range(2, 20))]
    assert phases_us({"c": at_us}, PERIODS, 90) == {"c": 97_500}


def test_the_scenario_has_the_phases_of_its_run():
    events = acks(98_000, 100_090, 20, "r007/c") + acks(3_000, 100_090, 20, "r007/d", jitter=(0, 60, 20))
    events.sort(key=lambda event: event["t"])
    found = with_ack_timers(scenario(), events, ZERO_NS, "r007/")
    assert found.options["ackGroupDrift"] == pytest.approx(90, abs=5)
    phases = {name: spec.acknowledgment_group_phase_us for name, spec in found.consumers.items()}
    assert phases["c"] == pytest.approx(98_000, abs=100) and phases["d"] == pytest.approx(3_000, abs=100)
    again = cast(PulsarScenario, load_scenario_text(found.canonical_text, "phases.yaml"))
    assert again.consumers == found.consumers and again.options == found.options


def test_what_the_scenario_gives_itself_stays():
    own = scenario()
    consumers = {**own.consumers, "c": replace(own.consumers["c"], acknowledgment_group_phase_us=5)}
    own = replace(own, consumers=consumers, options={"ackGroupDrift": 7})
    events = acks(98_000, 100_090, 20, "c") + acks(3_000, 100_090, 20, "d")
    found = with_ack_timers(own, sorted(events, key=lambda event: event["t"]), ZERO_NS)
    assert found.options["ackGroupDrift"] == 7
    assert found.consumers["c"].acknowledgment_group_phase_us == 5
    assert found.consumers["d"].acknowledgment_group_phase_us is not None
    assert with_ack_timers(own, [], ZERO_NS).consumers == own.consumers
