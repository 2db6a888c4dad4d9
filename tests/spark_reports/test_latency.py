"""The report's part about declared brokers: Spark's figures against the engine's own, and audiences kept out of what counts by subscription."""

from __future__ import annotations

import json

import pytest

from simulator import World
from spark_reports.html import latency as html
from tests.spark_reports.conftest import run_scenario, write_run

NAMES = ("starved-subscription", "broadcast", "two-regions")
MOVED = """
format: 1
name: moved
title: Moved
family: tenant-migration
until: 3s
clusters: {a: {}}
topics: {t: {clusters: [a]}}
brokers: {x: {cluster: a, dispatchTime: 3ms, topics: [t]}, y: {cluster: a, bandwidth: 500KB/s}}
producers: {p: {topic: t, cluster: a, start: 100ms, every: 7ms, count: 200, batch: 4}}
subscriptions: {s: {topic: t}}
consumers: {c: {subscription: s, cluster: a}}
commands: [{at: 700ms, do: topic.unload, cluster: a, topic: t, broker: y}]
"""


@pytest.fixture(scope="module")
def worlds():
    moved = World.open(MOVED)
    moved.run()
    return {**{name: run_scenario(name) for name in NAMES}, "moved": moved}


@pytest.fixture(scope="module")
def told(spark, worlds, tmp_path_factory):
    """One job over all traces: the runs of its report by scenario, and its page."""
    from spark_reports.jobs.failover import FailoverReport

    folder = tmp_path_factory.mktemp("latency")
    paths = [write_run(world, folder / f"{name}.parquet") for name, world in worlds.items()]
    FailoverReport(spark, paths, folder / "report").make()
    report = json.loads((folder / "report" / "report.json").read_text())
    return {run["scenario"]: run for run in report["runs"]}, (folder / "report" / "report.html").read_text()


@pytest.mark.parametrize("name", ["starved-subscription", "broadcast", "moved"])
def test_brokers_and_latencies_are_the_engines(told, worlds, name):
    part, world = told[0][name]["latency"], worlds[name]
    figures = world.summary()["brokers"]
    assert {one["broker"] for one in part["brokers"]} == {broker for broker, one in figures.items() if one["dispatches"]}
    for one in part["brokers"]:
        assert {key: one[key] for key in ("dispatches", "bytes_out", "busy_us", "busy_millionths", "bytes_out_per_s_max")} == {
            key: figures[one["broker"]][key] for key in ("dispatches", "bytes_out", "busy_us", "busy_millionths", "bytes_out_per_s_max")
        }
    readers = {(reader["name"], reader["topic"]): reader["so_far"] for reader in world.broker_load()["readers"]}
    assert {(one["name"], one["topic"]): {key: one[key] for key in ("delivered", "mean_us", "p50_us", "p99_us", "max_us")} for one in part["readers"]} == readers


def test_an_audience_is_no_subscription(told):
    assert set(told[0]["starved-subscription"]["subscriptions"]) == {"payments"}


def test_a_run_without_brokers_has_no_such_part(told):
    assert told[0]["two-regions"]["latency"] is None and html.sections(told[0]["two-regions"]) == ""


def test_the_page_tells_it_and_calls_the_fit_a_fit(told):
    page = told[1]
    assert page.count("<h2>Latency</h2>") == page.count("<h2>Brokers</h2>") == 3
    assert "everybody (300 subscriptions)" in page and page.count("are a fit to the one point that PIP-180 measured") == 3
