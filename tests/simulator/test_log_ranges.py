"""Runs in a bitmap against a plain search; limits on how many are kept."""

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from simulator.log.ledgers import TopicLog
from simulator.log.ranges import (
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
    log = TopicLog()
    for ledger_id, entries in enumerate(sizes):
        log.open_ledger(3 * ledger_id, 0)
        for _ in range(entries):
            log.append(log.length, 1, 0)
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
