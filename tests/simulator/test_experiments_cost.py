"""The estimated cost of an experiment: compared with its runs, on a clock that counts simulated rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from simulator import load_scenario, load_scenario_text
from simulator.experiments import (
    batches,
    cost_of,
    late_measures,
    measures_of,
    read_experiment_text,
    run_batch,
)
from simulator.runs import Runs, finished
from simulator.scenarios.canonical import Variant
from simulator.set_ups import completed, composed
from simulator.world import World

TWO_CONSUMERS = """\
format: 1
name: two-consumers
title: Two consumers
family: replicated-subscriptions
until: 20s
clusters: {us-west: {}, us-east: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [us-west, us-east], partitions: PARTITIONS}}
producers:
  shop: {topic: orders, cluster: us-east, rate: 20/s, arrivals: poisson}
subscriptions:
  billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
consumers:
  billing-1: {subscription: billing, cluster: us-west, processing: 2ms}
  billing-2: {subscription: billing, cluster: us-west, processing: 2ms}
commands:
  - {at: 5s, do: subscription.fail-over, subscription: billing, from: us-west, to: us-east, mode: planned}
"""


class Rows:
    """A clock that shows how many rows were simulated, 10,000 in a second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        advance = World.advance

        def counted(one: World, *given: Any) -> bool:
            before = one.seq
            try:
                return advance(one, *given)
            finally:
                self.count += one.seq - before

        monkeypatch.setattr(World, "advance", counted)

    def __call__(self) -> float:
        return self.count / 10_000

    @contextmanager
    def measuring(self) -> Iterator[list[float]]:
        before, found = self(), []
        yield found
        found.append(self() - before)


def text(scenario: str, more: str = "") -> str:
    block = "".join(f"  {line}\n" for line in scenario.splitlines())
    grid = "grid: {settings.replicatedSubscriptionsSnapshotFrequencyMillis: [250, 500, 1000]}"
    return f"scenario: |\n{block}{grid}\nphases: 6\nseeds: 2\n{more}"


QUICK = "measures: [duplicates, redeliveries]\n"


@pytest.mark.parametrize("more", ["", QUICK], ids=["to their end", "that stop early"])
def test_the_estimate_is_near_what_the_runs_cost(monkeypatch: pytest.MonkeyPatch, more: str) -> None:
    clock = Rows(monkeypatch)
    experiment = read_experiment_text(text(TWO_CONSUMERS.replace("PARTITIONS", "0"), more))
    estimated_s = cost_of(experiment, clock, 1_000.0).core_s
    with clock.measuring() as actual_s:
        for batch in batches(experiment):
            assert all(row["status"] == "finished" for row in run_batch(experiment, batch))
    assert 0.85 < estimated_s / actual_s[0] < 1.15


def test_runs_that_stop_early_are_estimated_as_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, scenario = Rows(monkeypatch), TWO_CONSUMERS.replace("PARTITIONS", "0")
    whole, quick = (
        cost_of(read_experiment_text(text(scenario, more)), clock, 1_000.0).core_s for more in ("", QUICK)
    )
    assert quick < whole / 3


def test_measuring_is_bounded_and_a_long_run_is_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Rows(monkeypatch)
    scenario = TWO_CONSUMERS.replace("PARTITIONS", "0").replace("until: 20s", "until: 9000s")
    experiment = read_experiment_text(text(scenario))
    with clock.measuring() as spent_s:
        estimated_s = cost_of(experiment, clock, 2.0).core_s
    assert spent_s[0] < 4.0
    short = World(load_scenario_text(TWO_CONSUMERS.replace("PARTITIONS", "0")))
    short.run(20_000_000)
    run_s = short.seq / 10_000 * 9_000 / 20
    assert 0.7 < estimated_s / (run_s * experiment.runs) < 1.4


@pytest.mark.parametrize("remote", ["", "reachable"])
def test_an_overloaded_group_is_estimated_also_after_it_reads_again(
    monkeypatch: pytest.MonkeyPatch, remote: str
) -> None:
    """After the crash nobody reads for a while, and then more is done than before it."""
    values = completed({"system": "emqx", "rate": "1000/s", "remote": remote})
    block = "".join(f"  {line.text}\n" for line in composed(values))
    experiment = read_experiment_text(f"scenario: |\n{block}phases: by-seed\nseeds: 1\n")
    estimated = cost_of(experiment, Rows(monkeypatch), 16.0).rows
    [batch] = batches(experiment)
    [row] = run_batch(experiment, batch)
    assert 0.75 < estimated / row["rows"] < 1.25


def test_counting_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Rows(monkeypatch)
    scenario = TWO_CONSUMERS.replace("PARTITIONS", "0").replace("until: 20s", "until: 9000s")
    experiment = read_experiment_text(text(scenario))
    without_s, counted = cost_of(experiment, clock, 2.0).core_s, World.counted

    def slowly(one: World) -> Any:
        clock.count += one.seq  # as long as the run itself
        return counted(one)

    monkeypatch.setattr(World, "counted", slowly)
    assert 1.8 < cost_of(experiment, clock, 2.0).core_s / without_s < 2.2


@pytest.mark.parametrize(
    ("partitions", "consumers", "late"),
    [("0", 2, ("reordered",)), ("2", 1, ("reordered",)), ("0", 1, ()), ("1", 1, ())],
)
def test_late_measures_are_those_that_keep_a_run_from_stopping(
    partitions: str, consumers: int, late: tuple[str, ...]
) -> None:
    lines = TWO_CONSUMERS.replace("PARTITIONS", partitions).splitlines()
    kept = [line for line in lines if consumers == 2 or "billing-2" not in line]
    scenario: Any = load_scenario_text("\n".join([*kept, ""]))
    assert late_measures(scenario) == late
    names = [one.name for one in measures_of(scenario)]
    variant = Variant("", "", scenario, [])
    without = finished(Runs(figures_only=True).run(variant, [name for name in names if name not in late]))
    assert without.now_us < scenario.until_us / 2
    if late:
        with_them = finished(Runs(figures_only=True).run(variant, names))
        assert with_them.now_us == scenario.until_us


def test_runs_of_groups_have_no_late_measures() -> None:
    assert late_measures(load_scenario("groups-killed")) == ()
