"""The closed form of a failover's duplicates equals what runs measure, and is silent about other scenarios."""

from __future__ import annotations

import pytest

from simulator import World
from simulator.experiments import batches, expected, read_experiment_text, run_batch
from simulator.protocols.pulsar.what_if import closed_form
from simulator.scenarios.loader import load_scenario_text

TEXT = """\
format: 1
name: regular
title: Regular traffic
family: replicated-subscriptions
until: 9s
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [a, b]}}
producers: {web: {topic: orders, cluster: a, start: 13ms, every: 10ms}}
subscriptions: {billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers: {one: {subscription: billing, cluster: a, processing: 2ms}}
commands:
  - {at: 5s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned}
"""

GRID = """\
measures: [duplicates]
phases: 3
grid:
  producers.web.every: [5ms, 20ms]
  settings.replicatedSubscriptionsSnapshotFrequencyMillis: [300, 1000]
  links: ["{default: {latency: 1ms}}", "{a -> b: {latency: 33ms}, b -> a: {latency: 300ms}}"]
  consumers.one.acknowledgmentGroupTime: [0s, 100ms]
  commands[0].mode: [planned, crash]
"""


def test_measured_duplicates_are_those_of_the_closed_form():
    block = "".join(f"  {line}\n" for line in TEXT.splitlines())
    experiment = read_experiment_text(f"{GRID}scenario: |\n{block}")
    rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
    bounds = [expected(experiment, row)["duplicates"] for row in rows]
    differing = [
        (experiment.points[row["point"]].values, row["phase_us"], row["duplicates"], pair)
        for row, pair in zip(rows, bounds, strict=True)
        if not pair[0] <= row["duplicates"] <= pair[1]
    ]
    assert differing == []
    assert sum(low == high for low, high in bounds) >= 0.95 * len(rows) == 0.95 * 96
    assert len({row["duplicates"] for row in rows}) > 20  # the figures differ, so equality says something


def test_a_known_value_is_derived_by_hand():
    """Messages of 13 ms, 23 ms, …; failover at 5 s, snapshots each second.

    The snapshot of 4 s is stored in a at 4.08 s; the message of 4.073 s is acked with the group of 4.1 s, and the
    update reaches b at 4.14 s. Published by 5 s: 499, by 4 s: 399.
    """
    assert closed_form.expected(load_scenario_text(TEXT)) == {"duplicates": (100, 100)}


def test_an_ack_that_is_due_at_the_end_of_its_group_gives_a_range():
    """The message of 4.07 s is processed at 4.1 s, the end of a group.

    With this group the update of the snapshot of 4 s reaches b at 4.14 s, with the next one at 4.24 s, after the
    failover at 4.2 s; then the snapshot of 3 s counts. Published by 4.2 s: 105, by 4 s: 100, by 3 s: 75.
    """
    text = TEXT.replace("start: 13ms, every: 10ms", "start: 30ms, every: 40ms")
    text = text.replace("processing: 2ms", "processing: 30ms").replace("at: 5s", "at: 4200ms")
    scenario = load_scenario_text(text)
    assert closed_form.expected(scenario) == {"duplicates": (5, 30)}
    run = World.from_scenario(scenario)
    run.run()
    assert run.protocol.measured.of(run)["duplicates"] in (5, 30)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("every: 10ms", "every: 10ms, arrivals: poisson"),
        ("every: 10ms", "every: 10ms, count: 400"),
        ("every: 10ms", "every: 10ms, batch: 3"),
        ("processing: 2ms", "processing: 11ms"),
        ("processing: 2ms", "processing: 2ms, hold: {share: 1%, for: 1s}"),
        ("processing: 2ms", "processing: {distribution: lognormal, median: 2ms, sigma: 0.5}"),
        ("consumers: {", "consumers: {two: {subscription: billing, cluster: a}, "),
        ("latency: 40ms", "latency: {distribution: uniform, low: 1ms, high: 40ms}"),
        ("replicateSubscriptionState: true, ", ""),
        ("clusters: [a, b]}", "clusters: [a, b], partitions: 2}"),
        ("mode: planned", "mode: drained"),
        ("mode: planned", "mode: planned, producers: true"),
        ("commands:\n", "commands:\n  - {at: 1s, do: link.cut, link: a -> b}\n"),
        ("commands:", "options: {timing: measured}\ncommands:"),
        ("at: 5s", "at: 900ms"),
        ("until: 9s", "until: 5200ms"),
    ],
)
def test_a_scenario_outside_the_assumptions_has_no_closed_form(old: str, new: str):
    assert TEXT.replace(old, new) != TEXT
    assert closed_form.expected(load_scenario_text(TEXT.replace(old, new))) is None
