"""Duplicates, redeliveries and repeats against a slow recount in plain Python, over random histories."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.protocols.pulsar.verdicts import CountingError, count_run
from simulator.protocols.pulsar.verdicts.causes import CAUSE_TABLES, Cause, Verdict
from tests.simulator.trace_builder import TraceBuilder

MESSAGES = 4
STEP = st.one_of(
    st.tuples(
        st.sampled_from(("deliver", "ack", "register")),
        st.sampled_from(("a", "b")),
        st.integers(0, MESSAGES - 1),
    ),
    st.tuples(st.just("move"), st.sampled_from(("a", "b")), st.integers(-1, MESSAGES - 1)),
    st.tuples(st.just("fail-over"), st.sampled_from(("a", "b")), st.just(0)),
)
ANYTHING = "anything-explains"


def written(steps: list[tuple[str, str, int]]) -> TraceBuilder:
    world = TraceBuilder()
    for cluster in ("a", "b"):
        world.create(cluster)
    world.publish(range(MESSAGES), "a", to=["b"])
    for what, cluster, number in steps:
        world.wait()
        if what == "fail-over":
            world.fail_over("a" if cluster == "b" else "b", cluster, "planned")
        elif what == "move":
            world.move(cluster, number)
        else:
            getattr(world, what)([number], cluster)
    return world


def recount(steps: list[tuple[str, str, int]]) -> tuple[list[dict[str, int]], dict[str, int]]:
    """One pass in plain Python: per failover its numbers, per cluster its repeats outside windows."""
    failovers: list[dict[str, int]] = []
    targets: list[str] = []
    judged: list[set[int]] = []
    acknowledged: set[int] = set()
    delivered: set[int] = set()
    here: dict[str, set[int]] = {"a": set(), "b": set()}
    repeated = {"a": 0, "b": 0}
    for what, cluster, number in steps:
        if what == "fail-over":
            failovers.append({"duplicates": 0, "redeliveries": 0, "extra_deliveries": 0})
            targets.append(cluster)
            judged.append(set())
        elif what == "ack":
            acknowledged.add(number)
        elif what == "deliver":
            if targets and targets[-1] == cluster:
                if number in judged[-1]:
                    failovers[-1]["extra_deliveries"] += 1
                elif number in acknowledged:
                    failovers[-1]["duplicates"] += 1
                elif number in delivered:
                    failovers[-1]["redeliveries"] += 1
                judged[-1].add(number)
            elif number in here[cluster]:
                repeated[cluster] += 1
            delivered.add(number)
            here[cluster].add(number)
    return failovers, repeated


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=30))
def test_windows_agree_with_a_slow_recount(steps):
    world = written(steps)
    failovers, repeated = recount(steps)
    # Random cursors contradict each other; which cause applies is not what this test checks.
    CAUSE_TABLES[ANYTHING] = (Cause("anything", lambda batch: Verdict(np.ones(len(batch), dtype=bool))),)
    try:
        object.__setattr__(world.scenario, "family", ANYTHING)
        counted = world.counted()
    finally:
        del CAUSE_TABLES[ANYTHING]
    numbers = [
        {name: getattr(failover, name) for name in ("duplicates", "redeliveries", "extra_deliveries")}
        for failover in counted.failovers
    ]
    assert numbers == failovers
    assert {cluster: counted.subscriptions["billing", cluster].repeated for cluster in ("a", "b")} == repeated


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=30))
def test_causes_add_up_or_the_count_stops(steps):
    world = written(steps)
    try:
        counted = world.counted()
    except CountingError:
        return
    for failover in counted.failovers:
        assert sum(failover.by_cause.values()) == failover.duplicates == len(failover.duplicates_list)
        assert sum(failover.lost_by_cause.values()) == failover.lost == len(failover.lost_list)
        for entry in failover.duplicates_list:
            assert entry.acknowledged_seq < entry.delivered_seq
            assert world.trace.row(entry.delivered_seq)["sequence_id"] == entry.sequence_id
            assert all(0 <= seq < len(world.trace) for seq in entry.evidence.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(STEP, max_size=25), st.integers(0, 60))
def test_counting_up_to_a_row_equals_counting_only_the_rows_before_it(steps, cut):
    world = written(steps)
    upto = min(cut + 10, len(world.trace))
    try:
        whole = count_run(world.trace.prefix(upto), world.scenario)
    except CountingError:
        return
    part = count_run(world.trace, world.scenario, upto)
    assert part.subscriptions == whole.subscriptions
    assert [failover.by_cause for failover in part.failovers] == [
        failover.by_cause for failover in whole.failovers
    ]
    assert [failover.lost_by_cause for failover in part.failovers] == [
        failover.lost_by_cause for failover in whole.failovers
    ]


def test_a_window_ends_with_the_next_failover_of_the_subscription():
    world = TraceBuilder()
    for cluster in ("a", "b"):
        world.create(cluster)
    world.publish([0], "a", to=["b"])
    world.fail_over("a", "b", "planned")
    world.wait().deliver([0, 0], "b")
    world.wait().fail_over("b", "a", "planned")
    world.wait().deliver([0], "b")
    first, second = world.counted().failovers
    assert (first.extra_deliveries, first.redeliveries, second.redeliveries) == (1, 0, 0)
    assert (
        first.first_delivery_us == first.at_us + 1000
        and second.first_delivery_us is None
        and second.outage_us is None
    )


def test_the_outage_begins_with_the_crash_that_persists():
    world = TraceBuilder()
    for cluster in ("a", "b"):
        world.create(cluster)
    world.publish([0], "a", to=["b"])
    world.crash("a")
    world.wait(5000).restart("a")
    world.wait(5000).crash("a")
    world.wait(7000).fail_over("a", "b")
    world.wait(2000).deliver([0], "b")
    assert world.failover().outage_us == 9000


def test_a_partitioned_topic_counts_its_partitions_and_their_sum():
    world = TraceBuilder(topic="orders-partition-0")
    world.scenario.topics["orders"] = world.scenario.topics.pop("orders-partition-0")
    object.__setattr__(world.scenario.subscriptions["billing"], "topic", "orders")
    for number in (0, 1):
        world.topic = f"orders-partition-{number}"
        for cluster in ("a", "b"):
            world.create(cluster)
        world.publish([number], "a", to=["b"])
        world.deliver([number], "a")
    world.fail_over("a", "b", "planned")
    world.deliver([1], "b")
    counted = world.counted()
    assert counted.failovers[0].redeliveries == 1
    assert counted.subscriptions["billing", "a"].delivered == 2
    assert counted.partitions["billing", "a", "orders-partition-1"].delivered == 1
    assert counted.partitions["billing", "b", "orders-partition-0"].delivered == 0
