"""Tables of causes by scenario family, and how a window's duplicates are judged by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from simulator.protocols.pulsar.verdicts import Cause, CountingError, Verdict
from simulator.protocols.pulsar.verdicts.causes import CAUSE_TABLES, CAUSES, Batch, causes_of
from tests.simulator.trace_builder import TraceBuilder

FAMILY = "a-test-mechanism"


@contextmanager
def judged_by(world: TraceBuilder, *causes: Cause) -> Iterator[None]:
    """The world's scenario belongs to a family that has these causes."""
    CAUSE_TABLES[FAMILY] = causes
    world.scenario = replace(world.scenario, family=FAMILY)
    try:
        yield
    finally:
        del CAUSE_TABLES[FAMILY]


def always(name: str) -> Cause:
    return Cause(name, lambda batch: Verdict(batch.message >= 0, "because"))


def never(name: str) -> Cause:
    return Cause(name, lambda batch: Verdict(batch.message < 0))


def duplicated(count: int) -> TraceBuilder:
    """A acknowledged 0..count-1, and B delivers them all again after the failover."""
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish(range(count), "a", to=["b"])
    world.consume(range(count), "a")
    world.wait().fail_over("a", "b", "planned")
    world.deliver(range(count), "b")
    return world


def test_causes_are_an_ordered_table_by_family():
    names = [cause.name for cause in CAUSES]
    assert causes_of("replicated-subscriptions") == CAUSES and len(set(names)) == len(names) == 12
    with pytest.raises(CountingError, match="has no causes"):
        causes_of("no-such-family")


def test_another_mechanism_brings_its_own_causes():
    world = duplicated(1)
    with judged_by(world, always("always")):
        assert world.failover().by_cause == {"always": 1}


def test_the_first_cause_that_holds_counts_and_the_others_are_named_with_0():
    world = duplicated(2)
    with judged_by(world, never("first"), always("second"), always("third")):
        assert world.failover().by_cause == {"first": 0, "second": 2, "third": 0}


def test_without_duplicates_every_cause_is_named_with_0():
    world = duplicated(0)
    with judged_by(world, always("first"), always("second")):
        assert world.failover().by_cause == {"first": 0, "second": 0}


def test_a_table_that_explains_nothing_stops_the_count_and_names_the_first_duplicate():
    world = duplicated(2)
    acknowledged, delivered, started = (
        world.trace.seqs(types=[event])
        for event in ("message.acknowledged", "message.delivered", "failover.started")
    )
    with judged_by(world, never("never")), pytest.raises(CountingError) as raised:
        world.failover()
    assert raised.value.evidence == {
        "delivered": delivered[2],
        "acknowledged": acknowledged[0],
        "failover": started[0],
    }


def two_partitions_acknowledged_in_two_clusters() -> TraceBuilder:
    """Partition 0 holds messages 0 and 1, partition 1 holds 2 and 3.

    A acknowledged the even ones, C the odd ones, and B delivers all four after the failover.
    """
    world = TraceBuilder("a", "b", "c", topic="orders-partition-0")
    world.scenario.topics["orders"] = world.scenario.topics.pop("orders-partition-0")
    object.__setattr__(world.scenario.subscriptions["billing"], "topic", "orders")
    for partition, even in ((0, 0), (1, 2)):
        world.topic = f"orders-partition-{partition}"
        for cluster in world.clusters:
            world.create(cluster)
        world.publish([even, even + 1], "a", to=["b", "c"])
        world.consume([even], "a")
        world.consume([even + 1], "c")
    world.fail_over("a", "b", "planned")
    for partition, even in ((0, 0), (1, 2)):
        world.topic = f"orders-partition-{partition}"
        world.deliver([even, even + 1], "b")
    return world


def test_a_batch_holds_the_duplicates_of_one_partition_acknowledged_in_one_cluster():
    def judge(batch: Batch) -> Verdict:
        topic, x = batch.facts.name(batch.topic), batch.facts.name(batch.x)
        return Verdict(np.ones(len(batch), dtype=bool), evidence={f"{topic} {x}": batch.delivered_seq})

    world = two_partitions_acknowledged_in_two_clusters()
    with judged_by(world, Cause("any", judge)):
        listed = list(world.failover().duplicates_list)
    batches = {entry.sequence_id: set(entry.evidence) - {"delivered", "acknowledged"} for entry in listed}
    assert batches == {
        0: {"orders-partition-0 a"},
        1: {"orders-partition-0 c"},
        2: {"orders-partition-1 a"},
        3: {"orders-partition-1 c"},
    }
