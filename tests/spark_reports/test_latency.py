"""The report's part about declared brokers.

Spark's figures against the engine's own, and audiences excluded from what counts by subscription.
"""

from __future__ import annotations

import pytest

from spark_reports.protocols.pulsar.html import latency as html
from tests.spark_reports.systems import LATENCY, WITHOUT


@pytest.mark.parametrize("name", LATENCY)
def test_brokers_and_latencies_equal_the_engines(systems, name):
    part, world = systems.told[name]["latency"], systems.worlds[name]
    figures = world.summary()["brokers"]
    assert {one["broker"] for one in part["brokers"]} == {
        broker for broker, one in figures.items() if one["dispatches"]
    }
    for one in part["brokers"]:
        assert {
            key: one[key]
            for key in ("dispatches", "bytes_out", "busy_us", "busy_millionths", "bytes_out_per_s_max")
        } == {
            key: figures[one["broker"]][key]
            for key in ("dispatches", "bytes_out", "busy_us", "busy_millionths", "bytes_out_per_s_max")
        }
    readers = {
        (reader["name"], reader["topic"]): reader["so_far"] for reader in world.broker_load()["readers"]
    }
    assert {
        (one["name"], one["topic"]): {
            key: one[key] for key in ("delivered", "mean_us", "p50_us", "p99_us", "max_us")
        }
        for one in part["readers"]
    } == readers


def test_an_audience_does_not_count_as_a_subscription(systems):
    assert set(systems.told["starved-subscription"]["subscriptions"]) == {"payments"}


def test_a_run_without_brokers_has_no_such_part(systems):
    assert systems.told[WITHOUT]["latency"] is None and html.sections(systems.told[WITHOUT]) == ""


def test_the_page_describes_latency_and_labels_the_fit_as_a_fit(systems):
    page = systems.page(LATENCY)
    assert page.count("<h2>Latency</h2>") == page.count("<h2>Brokers</h2>") == 3
    assert (
        "everybody (300 subscriptions)" in page
        and page.count("are a fit to the one point that PIP-180 measured") == 3
    )
