"""Three countings agree: Spark's, the simulator's own, and a plain recount, over every built-in scenario in one Spark job."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from simulator import World, scenario_names
from simulator.trace.files import write_trace
from spark_reports.counting import Counting
from spark_reports.facts import facts_of
from spark_reports.read import TraceInput, find_traces, trace_rows
from tests.simulator.random_scenarios import random_scenario
from tests.simulator import test_counting_cases, test_counting_causes, trace_builder
from tests.spark_reports.conftest import run_scenario, write_run
from tests.spark_reports.plain_recount import recount

RANDOM_SEEDS = range(40)
"""About a third of them fail over."""

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]


def counted_by_spark(spark: Any, inputs: list[TraceInput], scenarios: list[Any]) -> Counting:
    facts = facts_of(spark, inputs, scenarios)
    return Counting(spark, trace_rows(spark, inputs), facts, max(entry.meta["rows"] for entry in inputs)).run_all()


@pytest.fixture(scope="module")
def worlds() -> dict[str, World]:
    """Every built-in scenario, and random ones, whose people and faults do what no scenario of ours thought of."""
    return {name: run_scenario(name) for name in scenario_names()} | {f"random-{seed}": run_scenario(of_the_counted_family(random_scenario(seed))) for seed in RANDOM_SEEDS}


def of_the_counted_family(text: str) -> str:
    """Reports count replicated subscriptions; runs that synchronise acknowledgements they refuse (`spark_reports.facts`)."""
    return re.sub(r", acknowledgementSync: \w+", "", text).replace("family: tenant-migration", "family: replicated-subscriptions")


@pytest.fixture(scope="module")
def library(spark: Any, worlds: dict[str, World], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[dict]], dict[str, dict]]:
    """Spark's failovers and subscriptions by scenario, from one job; every third trace is a .jsonl."""
    folder = tmp_path_factory.mktemp("traces")
    for number, (name, world) in enumerate(worlds.items()):
        write_run(world, folder / f"{name}{'.jsonl' if number % 3 == 0 else '.parquet'}")
    inputs = find_traces([folder])
    counting = counted_by_spark(spark, inputs, [worlds[entry.path.stem].scenario for entry in inputs])
    figures, subscriptions = counting.figures(), counting.subscription_figures()
    counting.release()
    return {entry.path.stem: figures.get(entry.run, []) for entry in inputs}, {entry.path.stem: subscriptions.get(entry.run, {}) for entry in inputs}


def differences(name: str, theirs: dict, ours: dict, skip: tuple[str, ...] = ()) -> list[str]:
    return [f"{name}: {key} is {ours[key]} in Spark, {value} elsewhere" for key, value in theirs.items() if key not in skip and ours[key] != value]


def test_every_figure_of_every_scenario_is_the_simulators(library: Any, worlds: dict[str, World]) -> None:
    failovers, subscriptions = library
    found = []
    for name, world in worlds.items():
        summary = world.summary()
        assert len(failovers[name]) == len(summary["failovers"])
        for ours, theirs in zip(failovers[name], summary["failovers"], strict=True):
            found += differences(f"{name} at {theirs['at_us']}", theirs, ours, skip=("forecast",))
        for subscription, clusters in summary["subscriptions"].items():
            for cluster, theirs in clusters.items():
                ours = subscriptions[name][subscription][cluster]
                counts = {key: theirs[key] for key in ("delivered", "acknowledged", "repeated", "expired", "skipped")}
                found += differences(f"{name} {subscription} {cluster}", counts, ours)
                for partition, inner in theirs.get("partitions", {}).items():
                    found += differences(f"{name} {partition} {cluster}", {key: inner[key] for key in counts}, ours["partitions"][partition])
    assert not found, "\n".join(found)


def test_the_headline_of_every_scenario_is_the_plain_recounts(library: Any, worlds: dict[str, World]) -> None:
    failovers, _ = library
    found = []
    for name, world in worlds.items():
        for ours, theirs in zip(failovers[name], recount(world.trace.rows()), strict=True):
            dedup_us = theirs.pop("dedup_us")
            found += differences(f"{name} at {ours['at_us']}", theirs, ours)
            assert ours["dedup_window"]["us"] == dedup_us, name
    assert not found, "\n".join(found)
    assert sum(failover["duplicates"] for told in failovers.values() for failover in told) > 100


def worked_cases(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any, Any, list[Any]]]:
    """(name, trace, scenario, failovers) of every worked case: what the counting's own tests count."""
    seen: list[tuple[str, Any, Any, list[Any]]] = []
    count_run = trace_builder.count_run

    def recording(trace: Any, scenario: Any, *more: Any) -> Any:
        counted = count_run(trace, scenario, *more)  # a case about contradictions raises here, and is none for Spark
        if scenario.family == "replicated-subscriptions":
            seen.append((current[0], trace, scenario, counted.failovers))
        return counted

    current = [""]
    monkeypatch.setattr(trace_builder, "count_run", recording)
    for module in (test_counting_cases, test_counting_causes):
        for name, function in vars(module).items():
            if name.startswith("test_") and inspect.isfunction(function) and not inspect.signature(function).parameters and not hasattr(function, "hypothesis"):
                current[0] = name
                function()
    return seen


def test_the_worked_cases_by_hand(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = worked_cases(monkeypatch)
    assert len(cases) > 20
    inputs, scenarios = [], []
    for number, (name, trace, scenario, _) in enumerate(cases):
        path = tmp_path / f"{number:03}-{name}.parquet"
        write_trace(path, trace, {"engine_version": "by hand", "scenario": "", "seed": 0, "commands": [], "until_us": 60_000_000})
        scenarios.append(scenario)
    inputs = find_traces([tmp_path])
    counting = counted_by_spark(spark, inputs, scenarios)
    figures = counting.figures()
    counting.release()
    found = []
    for entry, (name, _, _, failovers) in zip(inputs, cases, strict=True):
        for ours, theirs in zip(figures.get(entry.run, []), failovers, strict=True):
            plain = {key: getattr(theirs, key) for key in ("by_cause", "lost_by_cause", "stranded", "stranded_unprocessed", "stranded_returned", "expired", "skipped",
                                                           "duplicates", "redeliveries", "extra_deliveries", "reordered", "lost_recovered", "outage_us", "caught_up_us")}  # fmt: skip
            plain["dedup_window"] = {"messages": theirs.dedup_window_messages, "us": theirs.dedup_window_us}
            found += differences(f"{name} at {theirs.at_us}", plain, ours)
    assert not found, "\n".join(found)
