"""Runs in a bitmap against a plain search; limits on how many are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from simulator.log.cursors import (
    count_runs,
    drop_ledgers_over,
    drop_runs_after,
    next_in,
    ranges_text,
    run_end,
    run_starts,
    runs,
    split_at_ledgers,
)
from simulator.log.ledgers import TopicLog

# Indices around 65,536 too: bitmaps are kept in pieces of that size.
pieces = st.lists(
    st.tuples(st.one_of(st.integers(0, 60), st.integers(65_500, 65_560)), st.integers(1, 40)), max_size=8
)


def bitmap(spans):
    return BitMap([index for first, count in spans for index in range(first, first + count)])


def plain_runs(entries):
    found = []
    for index in entries:
        if found and found[-1][1] == index - 1:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return found


def log_of(*ledgers):
    """A log of ledgers (id, number of entries)."""
    log = TopicLog()
    for ledger_id, entries in ledgers:
        log.open_ledger(ledger_id, 0)
        for _ in range(entries):
            log.append(log.length, 1, 0)
    return log


# --- examples


@pytest.mark.parametrize("length", [*range(1, 40), 63, 64, 65, 70_000])
def test_the_end_of_a_run_of_any_length_is_found_from_every_place_in_it(length):
    entries = BitMap([*range(3, 3 + length), 3 + length + 1])
    for first in (3, 3 + length // 2, 3 + length - 1):
        assert run_end(entries, first) == 3 + length - 1


def test_the_end_of_a_long_run_is_found_without_walking_through_it():
    assert run_end(BitMap(range(2_000_000_000)), 0) == 1_999_999_999


def test_the_first_runs_are_found_in_order():
    entries = BitMap([0, 1, 2, 4, 7, 8])
    assert runs(entries) == [(0, 2), (4, 4), (7, 8)]
    assert runs(entries, 2) == [(0, 2), (4, 4)]
    assert runs(entries, 3) == runs(entries, 4) == runs(entries)
    assert runs(entries, 0) == runs(BitMap()) == runs(BitMap(), 3) == []


def test_a_run_is_split_where_a_ledger_ends():
    log = log_of((3, 4), (5, 1), (9, 300))
    assert list(split_at_ledgers([(0, 4)], log)) == [(3, 0, 3), (5, 0, 0)]
    assert list(split_at_ledgers([(1, 1), (3, 6)], log)) == [(3, 1, 1), (3, 3, 3), (5, 0, 0), (9, 0, 1)]
    assert list(split_at_ledgers([(0, 0), (6, 6), (300, 304)], log)) == [(3, 0, 0), (9, 1, 1), (9, 295, 299)]


def test_a_text_gives_each_range_open_closed_by_ledger_and_entry():
    log = log_of((3, 4), (5, 1), (12, 30))
    assert ranges_text(BitMap(), log) == "[]"
    assert ranges_text(BitMap([2]), log) == "[(3:1..3:2]]"
    assert ranges_text(BitMap([1, 3, 4, 5, 15, 16]), log) == (
        "[(3:0..3:1],(3:2..3:3],(5:-1..5:0],(12:-1..12:0],(12:9..12:11]]"
    )


@pytest.mark.parametrize(
    ("limit_chars", "text"),
    [
        (0, "[…]"),
        (13, "[…]"),
        (14, "[(1:0..1:1],…]"),
        (24, "[(1:0..1:1],…]"),
        (25, "[(1:0..1:1],(1:2..1:3],…]"),
        (33, "[(1:0..1:1],(1:2..1:3],…]"),
        (34, "[(1:0..1:1],(1:2..1:3],(1:4..1:5]]"),
        (1_000, "[(1:0..1:1],(1:2..1:3],(1:4..1:5]]"),
    ],
)
def test_a_text_longer_than_the_limit_is_cut_after_the_last_range_that_fits(limit_chars, text):
    assert ranges_text(BitMap([1, 3, 5]), log_of((1, 9)), limit_chars) == text


def test_the_lengths_of_all_ranges_count_for_the_limit():
    log, entries = log_of((1, 20)), BitMap([1, 10])
    assert ranges_text(entries, log, 24) == "[(1:0..1:1],(1:9..1:10]]"
    assert ranges_text(entries, log, 23) == "[(1:0..1:1],…]"


def test_a_limit_leaves_a_text_without_ranges_as_it_is():
    assert ranges_text(BitMap(), log_of((1, 9)), 0) == "[]"


def test_runs_over_the_count_are_dropped():
    entries = BitMap([0, 1, 3, 5, 6])
    for count, kept in ((4, [0, 1, 3, 5, 6]), (3, [0, 1, 3, 5, 6]), (2, [0, 1, 3]), (1, [0, 1]), (0, [])):
        left = entries.copy()
        drop_runs_after(left, count)
        assert list(left) == kept


def test_a_ledger_is_dropped_when_those_kept_before_it_hold_more_than_the_limit():
    log = log_of((1, 4), (2, 2), (5, 4))
    entries = BitMap([0, 3, 4, 5, 6, 9])  # two of each ledger
    for limit, kept in ((0, [0, 3]), (1, [0, 3]), (2, [0, 3, 4, 5]), (3, [0, 3, 4, 5]), (4, list(entries))):
        left = entries.copy()
        drop_ledgers_over(left, log, limit)
        assert list(left) == kept
    left = BitMap([0, 4])
    drop_ledgers_over(left, log, 0)
    assert list(left) == [0]


# --- against plain recounts


@given(pieces, st.integers(0, 5))
def test_runs_agree_with_a_plain_search(spans, limit):
    entries = bitmap(spans)
    expected = plain_runs(entries)
    assert runs(entries) == expected
    assert runs(entries, limit) == expected[:limit]
    assert count_runs(entries) == len(expected)
    assert list(run_starts(entries)) == [first for first, _ in expected]
    assert all(
        run_end(entries, index) == last for first, last in expected for index in range(first, last + 1)
    )


@given(pieces, st.integers(0, 70_000))
def test_next_in_is_the_first_entry_from_an_index_on(spans, index):
    entries = bitmap(spans)
    assert next_in(entries, index) == min((entry for entry in entries if entry >= index), default=None)


@given(pieces, st.integers(0, 5))
def test_over_the_limit_the_first_runs_are_kept(spans, count):
    entries = bitmap(spans)
    expected = plain_runs(entries)[:count]
    drop_runs_after(entries, count)
    assert plain_runs(entries) == expected


@given(st.lists(st.integers(1, 9), min_size=1, max_size=10), st.sets(st.integers(0, 80)), st.integers(0, 12))
def test_ledgers_are_kept_until_those_before_exceed_the_limit(sizes, wanted, limit):
    log = log_of(*((3 * place, entries) for place, entries in enumerate(sizes)))
    present = BitMap([index for index in wanted if index < log.length])
    expected, included = [], 0
    for ledger in log.ledgers:
        inside = [
            index for index in present if ledger.first_index <= index < ledger.first_index + ledger.entries
        ]
        if included <= limit:
            expected += inside
            included += len(inside)
    kept = present.copy()
    drop_ledgers_over(kept, log, limit)
    assert list(kept) == expected
    whole = [
        (ledger, entry)
        for ledger, first, last in split_at_ledgers(runs(present), log)
        for entry in range(first, last + 1)
    ]
    assert whole == [log.position(index) for index in present]
    assert ranges_text(present, log).count("(") == len(list(split_at_ledgers(runs(present), log)))
