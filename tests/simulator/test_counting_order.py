"""Reordered deliveries and the dedup window, by hand and against slow recounts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.verdicts.facts import (
    count_later_and_smaller,
    first_reaching,
    within_groups_before,
)
from tests.examples import examples
from tests.simulator.trace_builder import TraceBuilder


def moved(count: int, keys: int | None = None) -> TraceBuilder:
    world = TraceBuilder()
    world.create("a")
    world.create("b")
    world.publish(range(count), "a", to=["b"], keys=keys)
    return world


def test_reordered_within_the_producer_when_there_are_no_keys():
    world = moved(5)
    world.fail_over("a", "b", "planned")
    world.deliver([1, 0, 3, 2, 4, 4, 3], "b")
    assert world.failover().reordered == 3


def test_reordered_within_a_key():
    world = moved(6, keys=2)
    world.fail_over("a", "b", "planned")
    world.deliver([1, 0, 3, 4, 2], "b")
    assert world.failover().reordered == 1


def test_deliveries_before_the_window_or_elsewhere_do_not_count():
    world = moved(3)
    world.deliver([2], "b")
    world.deliver([2], "a")
    world.fail_over("a", "b", "planned")
    world.deliver([0, 1], "b")
    assert world.failover().reordered == 0


def test_other_producers_have_their_own_order():
    world = moved(2)
    world.publish([0], "a", to=["b"], producer="api")
    world.fail_over("a", "b", "planned")
    world.deliver([1], "b")
    world.deliver([0], "b", producer="api")
    assert world.failover().reordered == 0


@pytest.mark.parametrize(("producers", "keys"), [(12, 4), (4, 64)])
def test_each_key_of_each_producer_has_its_own_order(producers, keys):
    world = moved(0)
    names = [f"p{number}" for number in range(producers)]
    for name in names:
        world.publish(range(2 * keys), "a", to=["b"], producer=name, keys=keys)
    world.fail_over("a", "b", "planned")
    # Two groups taken for one would be out of order: the second of each comes before the first of the next.
    for name in names:
        for key in range(keys):
            world.deliver([key, key + keys], "b", producer=name)
    assert world.failover().reordered == 0
    world.deliver([0], "b", producer=names[-1])
    assert world.failover().reordered == 1


def test_dedup_window_of_one_duplicate_is_the_time_since_its_acknowledgement():
    world = moved(1)
    world.at(3000).consume([0], "a")
    world.move("a", 0)
    world.at(8000).fail_over("a", "b")
    world.at(9000).deliver([0], "b")
    assert (world.failover().dedup_window_messages, world.failover().dedup_window_us) == (1, 6000)


def test_dedup_window_spans_back_to_the_oldest_last_acknowledgement():
    world = moved(6)
    for number in range(5):
        world.wait(1000).consume([number], "a")
    world.move("a", 4)
    world.wait(1000).fail_over("a", "b")
    world.wait(1000).consume([3], "b")
    world.wait(1000).consume([5, 4], "b")
    failover = world.failover()
    # 3 is delivered when 3 and 4 are the most recent; 4 is delivered when 4, 3 and 5 are.
    assert (failover.dedup_window_messages, failover.dedup_window_us) == (3, 3000)


def test_without_duplicates_the_dedup_window_is_zero():
    world = moved(1)
    world.fail_over("a", "b", "planned")
    assert (world.failover().dedup_window_messages, world.failover().dedup_window_us) == (0, 0)
    assert world.failover().reordered == 0, "nothing was delivered"


@examples(60)
@given(st.lists(st.integers(0, 5), max_size=20), st.lists(st.integers(0, 5), max_size=12))
def test_dedup_window_lets_no_duplicate_through_and_is_the_smallest(before, after):
    world = moved(6)
    world.consume(before, "a")
    world.register(range(6), "a")
    world.move("a", 5)
    world.fail_over("a", "b", "planned")
    for number in after:
        world.wait().consume([number], "b")
    counted = world.failover()

    def passed(size: int) -> int:
        """Duplicates that get through to a consumer that remembers the `size` last ids."""
        recent: list[int] = list(dict.fromkeys(reversed(before)))[::-1]
        through, judged = 0, set()
        for number in after:
            if (
                number in before and number not in judged and number not in recent[-size:]
                if size
                else number in before and number not in judged
            ):
                through += 1
            judged.add(number)
            recent = [other for other in recent if other != number] + [number]
        return through

    size = counted.dedup_window_messages
    assert passed(size) == 0
    assert size == 0 or passed(size - 1) > 0


@examples(60)
@given(
    st.lists(st.integers(0, 30), max_size=20),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 32)), max_size=10),
)
def test_count_later_and_smaller_agrees_with_a_plain_count(values, queries):
    queries = [(min(first, len(values)), limit) for first, limit in queries]
    found = count_later_and_smaller(
        np.array(values, dtype=np.int64),
        np.array([q[0] for q in queries], dtype=np.int64),
        np.array([q[1] for q in queries], dtype=np.int64),
    )
    assert found.tolist() == [sum(value < limit for value in values[first:]) for first, limit in queries]


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=20))
def test_within_groups_before_agrees_with_a_plain_count(rows):
    group, value = (np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1))
    slow = [
        max((other[1] for other in rows[:place] if other[0] == row[0]), default=-1)
        for place, row in enumerate(rows)
    ]
    assert within_groups_before(group, value).tolist() == slow


@examples(60)
@given(st.lists(st.integers(0, 9), max_size=10), st.lists(st.integers(0, 12), max_size=6))
def test_first_reaching_agrees_with_a_plain_search(values, wanted):
    slow = [next((place for place, value in enumerate(values) if value >= want), -1) for want in wanted]
    assert first_reaching(np.array(values, dtype=np.int64), np.array(wanted, dtype=np.int64)).tolist() == slow
