"""A run of which only figures are wanted stops when they are final: the same figures as at its end."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import World
from simulator.protocols.pulsar.what_if import measured as settled
from simulator.protocols.pulsar.what_if.measured import MEASURED
from simulator.runs import Runs, finished
from simulator.scenarios.canonical import Variant
from simulator.scenarios.loader import load_scenario_text
from tests.examples import examples
from tests.simulator.settling_scenarios import scenarios

ALL = [measure.name for measure in MEASURED.measures]
UNORDERED = ["duplicates", "extra_deliveries", "redeliveries", "stranded", "stranded_missing", "lost"]

TEXT = """\
format: 1
name: settling
title: Settling
family: replicated-subscriptions
until: 20s
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [a, b]}}
producers: {web: {topic: orders, cluster: a, start: 50ms, every: 50ms}}
subscriptions: {billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers:
  one: {subscription: billing, cluster: a, processing: 2ms}
commands:
  - {at: 3500ms, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned}
"""
ANOTHER = "commands:\n  - {at: %s, do: %s}\n"


def run_of(text: str, measures: list[str]) -> World:
    """The run up to where it stops."""
    variant = Variant("", "", load_scenario_text(text), [])
    return finished(Runs(figures_only=True).run(variant, measures))


def measured(run: World, measures: list[str]) -> dict[str, int | None]:
    found = MEASURED.of(run)
    return {name: found[name] for name in measures}


def stopped_us(text: str, measures: list[str] = ALL) -> int:
    """Where the run stops; its figures are checked against those of its end."""
    run = run_of(text, measures)
    at_us, found = run.now_us, measured(run, measures)
    run.run(run.scenario.until_us)
    assert measured(run, measures) == found
    return at_us


@examples(40)
@given(scenarios(), st.booleans())
def test_figures_at_the_stop_are_those_of_the_end(scenario: dict, ordered: bool):
    stopped_us(json.dumps(scenario), ALL if ordered else UNORDERED)


def test_a_planned_failover_and_a_crash_settle_within_two_seconds():
    assert stopped_us(TEXT) <= 5_500_000
    crash = ANOTHER % ("3500ms", "cluster.crash, cluster: a") + TEXT.partition("commands:\n")[2]
    moved = TEXT.partition("commands:")[0] + crash.replace("mode: planned", "mode: crash, producers: true")
    assert stopped_us(moved) <= 5_500_000


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("processing: 2ms", "processing: 2ms, negativeAcknowledge: {share: 1%}"),
        ("processing: 2ms", "processing: 2ms, ackTimeout: 10s"),
        ("every: 50ms", "every: 50ms, delay: {share: 10%, for: 100ms}"),
        ("  one:", "  two: {subscription: billing, cluster: a, processing: 2ms}\n  one:"),
        ("clusters: [a, b]}", "clusters: [a, b], partitions: 2}"),
        ("replicateSubscriptionState: true", "acknowledgementSync: periodic"),
        ("commands:\n", ANOTHER % ("15s", "link.heal, link: a -> b")),
        ("commands:\n", ANOTHER % ("3s", "topic.unload, cluster: a, topic: orders")),
        ("commands:\n", ANOTHER % ("3s", "link.slow, link: a -> b, latency: 15s")),
    ],
)
def test_a_run_that_may_still_change_goes_on(old: str, new: str):
    text = TEXT.replace(old, new)
    if "acknowledgementSync" in text:
        text = text.replace("replicated-subscriptions", "tenant-migration")
    assert text != TEXT and stopped_us(text) > 14_000_000


def test_without_reordered_messages_several_consumers_and_partitions_settle():
    text = TEXT.replace("  one:", "  two: {subscription: billing, cluster: a, processing: 2ms}\n  one:")
    assert stopped_us(text, UNORDERED) <= 5_500_000
    assert stopped_us(text.replace("[a, b]}", "[a, b], partitions: 2}"), UNORDERED) <= 5_500_000


SLOW = TEXT.replace("commands:\n", ANOTHER % ("2s", "link.slow, link: a -> b, latency: 3s"))
"""30 messages of 2 s to 3.5 s reach b after the failover, at 5 s to 6.5 s."""


def figure(text: str, measure: str) -> int | None:
    waited = [name for name in ALL if name != "stranded_missing"]  # which waits for arrivals by itself
    return measured(run_of(text, waited), [measure])[measure]


def test_messages_on_a_slow_link_are_waited_for(monkeypatch: pytest.MonkeyPatch):
    """They were acknowledged in a, so they are duplicates when they arrive."""
    assert 6_500_000 <= stopped_us(SLOW) < 9_000_000
    duplicates = figure(SLOW, "duplicates")
    monkeypatch.setattr(settled, "_comes_once", lambda *state: True)
    assert figure(SLOW, "duplicates") <= duplicates - 29


def test_messages_that_a_producer_left_behind_are_waited_for(monkeypatch: pytest.MonkeyPatch):
    """They were not delivered before, but arrive after newer ones of their producer."""
    behind = SLOW.replace("mode: planned", "mode: planned, producers: true")
    behind = behind.replace("processing: 2ms", "processing: 4ms, start: 3400ms")
    assert stopped_us(behind) >= 6_500_000
    assert figure(behind, "reordered") >= 29
    monkeypatch.setattr(settled, "_from_home", lambda *state: True)
    assert figure(behind, "reordered") == 0


def test_runs_with_measured_timing_settle_too():
    """Entries whose append is under way are in their log, and examined there."""
    text = TEXT.replace("until: 20s\n", "until: 20s\noptions: {timing: measured}\n")
    assert stopped_us(text.replace("every: 50ms", "every: 2ms")) <= 5_500_000


@examples(20)
@given(scenarios(), st.booleans())
def test_figures_at_the_stop_are_those_of_the_end_with_measured_timing(scenario: dict, ordered: bool):
    measured = {**scenario, "options": {**scenario.get("options", {}), "timing": "measured"}}
    stopped_us(json.dumps(measured), ALL if ordered else UNORDERED)
