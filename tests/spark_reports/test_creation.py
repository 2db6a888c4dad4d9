"""The report's part about topic creation.

Spark's figures against a plain recount and the engine's own, and the texts of the page.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from spark_reports.flows import BINS_MOST
from spark_reports.protocols.pulsar import creation
from spark_reports.protocols.pulsar.creation import _replicators
from spark_reports.protocols.pulsar.html import creation as html
from tests.spark_reports.systems import CREATION, WITHOUT


def rows(world, *types):
    return world.trace.rows(0, world.seq, types=types)


def recount(world, source, target, base, at_us):
    """Messages of `source` stored by an instant that are not in the target's log by then."""
    stored = [
        row
        for row in rows(world, "message.stored")
        if row["at_us"] <= at_us and row["topic"].startswith(base)
    ]
    opened = {
        row["topic"]: row["seq"]
        for row in reversed(rows(world, "replicator.created"))
        if (row["cluster"], row["peer"]) == (source, target)
    }
    here = {
        (row["topic"], row["producer"], row["sequence_id"])
        for row in stored
        if row["cluster"] == source and "peer" not in row and row["seq"] > opened.get(row["topic"], world.seq)
    }
    there = {
        (row["topic"], row["producer"], row["sequence_id"])
        for row in stored
        if row["cluster"] == target and row.get("peer") == source
    }
    return len(here - there)


@pytest.mark.parametrize("name", CREATION)
def test_starts_and_delays_agree_with_the_rows_and_the_engine(systems, name):
    run, world = systems.told[name], systems.worlds[name]
    for one in run["creation"]["replicators"]:
        link = (one["from"], one["to"])
        refused = [
            row["at_us"]
            for row in rows(world, "replicator.start-refused", "replicator.stopped")
            if (row["cluster"], row["peer"]) == link
        ]
        assert one["refused"] == len(refused) and one["refused_at_us"] == sorted(refused)
        summary = world.summary()["replicators"][one["from"]][one["to"]][one["topic"]]
        assert (
            one["waiting"]
            == summary["replication_backlog"]
            == recount(world, *link, one["topic"], world.now_us)
        )
        assert (one["end"] == "replicates") == (summary["connected"] and summary["last_error"] is None)
        assert len(one["curve"]["at_us"]) <= BINS_MOST + 2
        for at_us, waiting in list(zip(one["curve"]["at_us"], one["curve"]["messages"], strict=True))[5::20]:
            assert waiting == recount(
                world, *link, one["topic"], at_us - 1 if at_us < world.now_us else at_us
            )


@pytest.mark.parametrize("name", ["drifted-partitions", "schema-refused"])
def test_the_delay_curve_agrees_with_the_stats_at_each_instant(systems, name):
    world = systems.worlds[name].fork()
    for one in systems.told[name]["creation"]["replicators"]:
        points = list(zip(one["curve"]["at_us"], one["curve"]["delay_us"], strict=True))
        for at_us, delay_us in [*points[3::12], points[-1]]:
            world.seek(at_us=at_us)
            assert (
                delay_us // 1_000_000
                == world.summary()["replicators"][one["from"]][one["to"]][one["topic"]]["delay_s"]
            ), at_us
    highest_us = max(
        us for one in systems.told[name]["creation"]["replicators"] for us in one["curve"]["delay_us"]
    )
    assert (highest_us > 1_000_000) == (name == "schema-refused"), (
        "a replicator that does not start has nothing on the wire; one that its schema stopped has"
    )


def test_created_topics_and_refusals_are_listed_in_order(systems):
    happened = systems.told["created-apart"]["creation"]["happened"]
    assert [row["type"] for row in happened] == ["topic.created", "topic.created", "topic.creation-refused"]
    assert [row["seq"] for row in happened] == sorted(row["seq"] for row in happened)


def test_a_run_without_topic_creation_has_no_such_part(systems):
    assert (
        systems.told[WITHOUT]["creation"] is None
        and html.sections(systems.told[WITHOUT], "x") == ""
        and html.sentence(systems.told[WITHOUT]) is None
    )


def test_the_summary_sentence_of_a_run_without_a_failover(systems):
    assert (
        'us does not replicate orders to eu: <span class="harm">70 messages are waiting</span>.'
        in html.sentence(systems.told["clients-created-it-before"])
    )
    assert "Every replicator is running at the end, after 28 refusals." in html.sentence(
        systems.told["drifted-partitions"]
    )


def test_the_page_describes_every_run(systems):
    page = systems.page(CREATION)
    assert page.count("<h2>Replicators</h2>") == 4 and page.count('id="creation-') == 4
    assert (
        "Can not start replicator because the partitions between local and remote cluster are different. "
        "local: 4, remote: 2"
    ) in page
    figure = html.figure(systems.told["drifted-partitions"])
    assert [trace["y"][-1] for trace in figure["data"]] == [28, 0, 0]


def test_replicators_of_a_region_that_is_down_are_listed_as_down_with_it():
    started = [
        SimpleNamespace(
            run=0,
            cluster=source,
            peer=peer,
            topic="orders",
            base="orders",
            refused=0,
            last="replicator.disconnected",
            first_refused_us=None,
            words=None,
        )
        for source, peer in (("eu", "us"), ("us", "eu"))
    ]
    ends = [
        one["end"] for one in _replicators(started, {}, {}, [], 1_000_000, 9_000_000, [(0, "us"), (1, "eu")])
    ]
    assert ends == ["not connected", "down with its region"]


def test_regions_whose_last_row_is_a_crash_or_loss_are_down(spark):
    rows = [
        (0, 1, "us", "cluster.crashed"),
        (0, 2, "us", "cluster.restarted"),
        (0, 3, "eu", "cluster.crashed"),
        (1, 4, "us", "cluster.lost"),
    ]
    control = spark.createDataFrame(rows, "run int, seq long, cluster string, type string")
    assert sorted(map(tuple, creation.regions_down(control).collect())) == [(0, "eu"), (1, "us")]
