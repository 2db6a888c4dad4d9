"""Ledgers: rollover, trimming and positions as in `ManagedLedgerImpl`."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.log.ledgers import TopicLog

MINUTE_US = 60_000_000
LIMITS = {
    "max_entries": 3,
    "max_size_bytes": 1_000,
    "max_age_us": 240 * MINUTE_US,
    "min_age_us": 10 * MINUTE_US,
}


def log_of(*ledgers, trim=None):
    """A log whose ledgers are given as (id, entries); the last stays open."""
    log = TopicLog()
    for ledger_id, entries in ledgers:
        log.open_ledger(ledger_id, 0)
        for _ in range(entries):
            log.append(log.length, 100, 0)
    if trim is not None:
        log.trim(trim)
    return log


def test_entry_indices_continue_over_ledgers():
    log = log_of((5, 3), (9, 2))
    assert [log.text(index) for index in range(-1, 5)] == ["5:-1", "5:0", "5:1", "5:2", "9:0", "9:1"]
    assert [log.record(index) for index in range(5)] == [0, 1, 2, 3, 4]
    assert [(ledger.id, ledger.first_index, ledger.entries, ledger.size_bytes) for ledger in log.ledgers] == [
        (5, 0, 3, 300),
        (9, 3, 2, 200),
    ]


def test_negative_records_are_markers():
    log = log_of((5, 0))
    assert log.append(-7, 120, 0) == 0
    assert log.record(0) == -7


def test_empty_previous_ledgers_are_dropped():
    log = log_of((5, 2), (6, 0), (7, 0), (8, 1))
    assert [ledger.id for ledger in log.ledgers] == [5, 8]
    assert log.text(2) == "8:0"


def test_a_load_opens_a_new_ledger_and_never_appends_to_an_old_one():
    log = log_of((5, 2))
    log.close_ledger(7)
    assert log.current is None and log.ledgers[-1].closed_us == 7
    with pytest.raises(AssertionError, match="no ledger is open; load the topic first"):
        log.append(1, 1, 8)
    log.open_ledger(6, 9)
    assert log.append(1, 1, 9) == 2
    assert log.text(2) == "6:0"


def test_ledger_ids_must_grow():
    with pytest.raises(AssertionError, match="ledger 5 was opened after ledger 5; ids must grow"):
        log_of((5, 1), (5, 1))
    log = log_of((5, 1), (6, 0), trim=1)
    log.close_ledger(0)
    log.trim(1)
    assert not log.ledgers
    with pytest.raises(AssertionError, match="ids must grow"):
        log.open_ledger(4, 0)


def test_last_confirmed_skips_back_over_empty_ledgers():
    assert log_of((5, 0)).last_confirmed == (5, -1)
    assert log_of((5, 0), (6, 0)).last_confirmed == (6, -1)
    assert log_of((5, 3)).last_confirmed == (5, 2)
    assert log_of((5, 3), (9, 0)).last_confirmed == (5, 2)
    trimmed = log_of((5, 3), (9, 0), trim=3)
    assert trimmed.last_confirmed == (5, 2), "trimming leaves it (doDeleteLedgers)"
    trimmed.open_ledger(12, 0)
    assert trimmed.last_confirmed == (12, -1), "a load that finds no entry does not"
    assert TopicLog().last_confirmed == (-1, -1)


@pytest.mark.parametrize(
    ("entries", "size_bytes", "age_minutes", "due"),
    [
        (0, 0, 300, False),  # age alone needs at least one entry
        (1, 1, 239, False),
        (1, 1, 240, True),
        (3, 1, 5, False),  # full, but too young
        (3, 1, 10, False),  # must be older than the minimum age, not equally old
        (3, 1, 11, True),
        (2, 1, 11, False),
        (1, 1_000, 11, True),
        (1, 999, 11, False),
    ],
)
def test_a_ledger_is_full_by_entries_size_or_age_once_it_is_old_enough(entries, size_bytes, age_minutes, due):
    log = log_of((5, 0))
    for entry in range(entries):
        log.append(entry, size_bytes, 0)
    assert log.full(age_minutes * MINUTE_US, **LIMITS) is due


def test_without_a_minimum_age_a_full_ledger_rolls_over_at_once():
    assert log_of((5, 3)).full(0, **LIMITS | {"min_age_us": 0})


def test_nothing_is_full_while_no_ledger_is_open():
    log = log_of((5, 3))
    log.close_ledger(0)
    assert not log.full(10**12, **LIMITS)


def test_trimming_takes_whole_closed_ledgers_only():
    log = log_of((5, 3), (6, 3), (7, 3))
    assert log.trim(2) == []
    assert [ledger.id for ledger in log.trim(5)] == [5]
    assert log.first_kept == 3
    assert [ledger.id for ledger in log.trim(9)] == [6]  # the open one stays
    assert (log.first_kept, log.length, [ledger.id for ledger in log.ledgers]) == (6, 9, [7])


def test_a_trimmed_entry_keeps_its_position():
    log = log_of((5, 3), (6, 3), (7, 1), trim=6)
    assert [log.text(index) for index in (-1, 2, 5, 6)] == ["5:-1", "5:2", "6:2", "7:0"]
    assert log.index_of(5, 1) == 1


def test_index_of_finds_the_entry_or_the_last_one_before():
    log = log_of((5, 3), (9, 2), (12, 0))
    assert log.index_of(5, -1) == -1
    assert log.index_of(5, 2) == 2
    assert log.index_of(5, 80) == 2
    assert log.index_of(9, -1) == 2
    assert log.index_of(4, 7) == -1
    assert log.index_of(7, 0) == 2
    assert log.index_of(12, -1) == 4
    assert log.index_of(99, 0) == 4
    assert TopicLog().index_of(1, 0) == -1
    assert log.position_before(9) == (9, -1)


def test_positions_do_not_depend_on_previous_queries():
    log = log_of((5, 3), (9, 2), (12, 0))
    fresh = [log_of((5, 3), (9, 2), (12, 0)).position(index) for index in range(-1, 7)]
    log.position(4)
    assert [log.position(index) for index in range(-1, 7)] == fresh
    assert [log.position(index) for index in reversed(range(-1, 7))] == fresh[::-1]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(0, 40))
def test_positions_and_indices_are_inverse(sizes, trim_before):
    log = log_of(*((7 * number, entries) for number, entries in enumerate(sizes)))
    expected = [(7 * number, entry) for number, entries in enumerate(sizes) for entry in range(entries)]
    log.trim(trim_before)
    assert [log.position(index) for index in range(log.length)] == expected
    assert [log.index_of(*position) for position in expected] == list(range(log.length))
    assert all(ledger.first_index >= log.first_kept for ledger in log.ledgers)
    for index in range(log.length):
        ledger_id, first, end = log.span(index)
        assert first <= index < end and log.position(first) == (ledger_id, 0)


def state(log):
    ledgers = [
        (ledger.id, ledger.first_index, ledger.entries, ledger.opened_us, ledger.closed_us, ledger.size_bytes)
        for ledger in log.ledgers
    ]
    return (
        log.length,
        log.first_kept,
        ledgers,
        [log.text(index) for index in range(-1, log.length)],
        log.last_confirmed,
    )


acts = st.one_of(
    st.just("append"), st.just("roll"), st.just("close"), st.tuples(st.just("trim"), st.integers(0, 30))
)


def play(log, act, step):
    if act == "append" and log.current is not None:
        log.append(step, step, step)
    elif act in ("roll", "append"):
        log.open_ledger(10 + step, step)
    elif act == "close":
        log.close_ledger(step)
    else:
        log.trim(act[1])


@given(st.lists(acts, max_size=40), st.data())
def test_a_restored_log_replays_to_the_same_state(script, data):
    log = TopicLog()
    captures, states = [log.capture()], [state(log)]
    for step, act in enumerate(script):
        play(log, act, step)
        captures.append(log.capture())
        states.append(state(log))
    start = data.draw(st.integers(0, len(script)))
    log.restore(captures[start])
    assert state(log) == states[start]
    for step in range(start, len(script)):
        play(log, script[step], step)
        assert state(log) == states[step + 1]


@given(st.lists(acts, max_size=25), st.lists(acts, max_size=25), st.data())
def test_a_branch_does_not_change_its_parent(script, other, data):
    log = TopicLog()
    captures = [log.capture()]
    for step, act in enumerate(script):
        play(log, act, step)
        captures.append(log.capture())
    before = state(log)
    branch = TopicLog()
    branch.share(log)
    branch.restore(captures[data.draw(st.integers(0, len(script)))])
    branch.depart()
    for step, act in enumerate(other):
        play(branch, act, 1_000 + step)
    assert state(log) == before


def test_a_checkpoint_copies_the_ledgers_and_not_the_entries():
    log = log_of((5, 2_000), (6, 2_000))
    _, _, _, closed, open_copy = log.capture()
    assert closed == (log.ledgers[0],) and open_copy is not log.ledgers[1]
    log.append(1, 1, 0)
    assert open_copy.entries == 2_000


def test_a_pickled_log_is_independent():
    log = log_of((5, 3), (6, 2))
    revived = pickle.loads(pickle.dumps(log))
    assert state(revived) == state(log)
    revived.append(1, 1, 0)
    assert revived.current is revived.ledgers[-1] and revived.ledgers[-1].entries == 3
    assert (log.length, log.ledgers[-1].entries) == (5, 2)
