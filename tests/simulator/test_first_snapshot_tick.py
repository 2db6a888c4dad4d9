"""Tests of the option firstSnapshotTickFails: a race in the constructor of the snapshot controller.

Source: `ReplicatedSubscriptionsController` of 4.0.7 and 4.2.4. The constructor schedules the timer without
delay before it assigns `stats`; `startNewSnapshot` increases the gauge and then uses `stats`. Clusters a and
b, 40 ms each way, messages in a from 50 ms on: a's request of 1 s starts b's controller at 1,040 ms, when b
has data.
"""

import pytest

from tests.simulator.admin_runs import note
from tests.simulator.engine_runs import SECOND, at_ms, do, open_world, rows, run
from tests.simulator.test_admin_metrics import metric
from tests.simulator.test_engine_snapshots import body, requested

GAUGE = "pulsar_replicated_subscriptions_pending_snapshots"
STREAM = "p: {topic: t, cluster: a, start: 50ms, every: 100ms}"


def scenario(fails, partitions=0, every="100ms"):
    more = f", partitions: {partitions}" if partitions else ""
    return body(
        producers=STREAM.replace("100ms", every), options=f"firstSnapshotTickFails: {fails}", topic_more=more
    )


def failed(world, cluster="b"):
    return at_ms(rows(world, "controller.tick-failed", cluster=cluster))


def test_the_first_snapshot_comes_one_period_later():
    assert requested(run(scenario("never"), until="3s"), "b") == [1040, 2040]
    world = run(scenario("always"), until="3s")
    assert failed(world) == [1040] and requested(world, "b") == [2040]


def test_a_first_tick_without_data_returns_before_the_race():
    # a's controller starts at 0 with its subscription: there is no message, and its second tick cannot fail.
    world = run(scenario("always"), until="3s")
    assert failed(world, "a") == [] and requested(world, "a") == [1000, 2000, 3000]


def test_the_gauge_is_one_too_high_until_the_brokers_restart():
    # 2.9 s: S of 2,040 ms has completed; nothing is pending.
    world = open_world(scenario("always"), until="9s")
    world.run(2900_000)
    assert world.view()["clusters"]["b"]["topics"]["t"]["controller"]["pending"] == []
    assert metric(world, GAUGE, "b") == "1.0" and metric(world, GAUGE, "a") == "0.0"
    assert "1 was never requested" in note(world, "metrics", GAUGE + "{", cluster="b")
    do(world, "cluster.crash", cluster="b", clients=False)
    world.run(3 * SECOND)
    do(world, "cluster.restart", cluster="b")
    assert metric(world, GAUGE, "b") == "0.0"


def test_each_start_is_drawn_by_cluster_and_topic_with_the_measured_share():
    # 100 partitions, each with data at 1 s: 25 expected, standard deviation 4.3.
    world = run(scenario("drawn", partitions=100, every="5ms"), until="3s")
    found = rows(world, "controller.tick-failed", cluster="b")
    assert 12 <= len(found) <= 38 and {row["at_us"] for row in found} == {1_040_000}
    assert len({row["topic"] for row in found}) == len(found)


@pytest.mark.parametrize("fails", ["never", "drawn"])
def test_without_the_race_no_row_of_it_is_written(fails):
    world = run(scenario(fails), seed=1, until="3s")
    assert (failed(world) == []) == (requested(world, "b")[0] == 1040)
    if fails == "never":
        assert failed(world) == []
