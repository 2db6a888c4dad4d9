"""Every act of a cursor in every state of a short log, against a set of the acknowledged entries."""

import pickle
from itertools import combinations

import pytest

from simulator.log.cursors import Cursor

ENTRIES = 6
SUBSETS = [set(chosen) for count in range(ENTRIES + 1) for chosen in combinations(range(ENTRIES), count)]


def persisted(acknowledged, partly=()):
    """A cursor with these entries acknowledged and one of two messages of others, persisted at 1 us."""
    cursor = Cursor()
    for index in sorted(acknowledged):
        assert cursor.acknowledge(index)
    for index in partly:
        cursor.acknowledge_batch(index, 1, 2)
    cursor.persist(1)
    assert state(cursor) == expected(acknowledged)
    return cursor


def state(cursor):
    return (
        cursor.mark_delete,
        list(cursor.acknowledged()),
        cursor.deleted_count,
        cursor.ranges_total,
        cursor.backlog(ENTRIES),
        cursor.last_acknowledged,
        [index for index in range(ENTRIES) if cursor.is_acknowledged(index)],
        [cursor.next_unacknowledged(index) for index in range(ENTRIES)],
    )


def expected(acknowledged):
    """The same of a set."""
    mark_delete = next(index for index in range(ENTRIES + 1) if index not in acknowledged) - 1
    above = sorted(index for index in acknowledged if index > mark_delete)
    return (
        mark_delete,
        above,
        len(above),
        sum(index - 1 not in acknowledged for index in above),
        ENTRIES - len(acknowledged),
        max(acknowledged, default=-1),
        sorted(acknowledged),
        [
            next(later for later in range(index, ENTRIES + 1) if later not in acknowledged)
            for index in range(ENTRIES)
        ],
    )


def test_an_entry_is_acknowledged():
    for acknowledged in SUBSETS:
        for index in range(ENTRIES):
            cursor = persisted(acknowledged)
            new = index not in acknowledged
            assert cursor.acknowledge(index) == cursor.dirty == new
            assert state(cursor) == expected(acknowledged | {index})


def test_everything_up_to_an_entry_is_acknowledged():
    for acknowledged in SUBSETS:
        for index in range(-1, ENTRIES):
            cursor = persisted(acknowledged)
            moved = index > cursor.mark_delete
            assert cursor.mark_delete_to(index) == cursor.dirty == moved
            assert state(cursor) == expected(acknowledged | set(range(index + 1)))


def test_a_range_of_entries_is_acknowledged():
    for acknowledged in SUBSETS:
        mark_delete = expected(acknowledged)[0]
        for first in range(mark_delete + 1, ENTRIES):
            for last in range(first - 1, ENTRIES):
                cursor = persisted(acknowledged)
                cursor.acknowledge_range(first, last)
                after = acknowledged | set(range(first, last + 1))
                assert state(cursor) == expected(after)
                assert cursor.dirty == (after != acknowledged)


def test_entries_that_are_acknowledged_forget_which_of_their_messages_were():
    for partly in SUBSETS:
        for index in range(ENTRIES):
            left = {entry: 0b01 for entry in partly if entry != index}
            cursor = persisted(set(), partly)
            cursor.acknowledge(index)
            assert cursor.partly_acknowledged() == left
            cursor = persisted(set(), partly)
            cursor.mark_delete_to(index)
            assert cursor.partly_acknowledged() == {entry: 0b01 for entry in partly if entry > index}
            assert state(cursor) == expected(set(range(index + 1)))


@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_cumulative_ack_leaves_the_later_messages_of_its_batch(size):
    for before in range(size):
        for batch_index in range(size):
            cursor = persisted({0})
            cursor.acknowledge_batch(3, before, size)
            done = set(range(batch_index + 1)) | {before}
            assert cursor.acknowledge_batch_to(3, batch_index, size) == (len(done) == size)
            assert cursor.batch_remaining(3, size) == sum(1 << one for one in range(size) if one not in done)
            assert cursor.mark_delete == (3 if len(done) == size else 2)


@pytest.mark.parametrize("size", [2, 64])
def test_a_repeated_ack_of_a_message_of_a_batch_leaves_nothing_to_persist(size):
    cursor = Cursor()
    cursor.acknowledge_batch(2, 1, size)
    assert cursor.dirty
    cursor.persist(1)
    assert not cursor.acknowledge_batch(2, 1, size)
    assert not cursor.dirty


def test_a_pickled_cursor_recovers_what_it_had_persisted():
    for acknowledged in SUBSETS:
        for index in range(-1, ENTRIES):
            cursor = persisted(acknowledged)
            cursor.mark_delete_to(index)
            cursor = pickle.loads(pickle.dumps(cursor))
            assert state(cursor) == expected(acknowledged | set(range(index + 1)))
            cursor.recover()
            assert state(cursor) == expected(acknowledged)


def test_a_cursor_is_pickled_again_after_a_reset():
    cursor = pickle.loads(pickle.dumps(persisted({1, 3})))
    cursor.reset(0)
    cursor.acknowledge(2)
    cursor = pickle.loads(pickle.dumps(cursor))
    assert state(cursor) == expected({0, 2})
    cursor.recover()
    assert state(cursor) == expected({1, 3})


def test_copies_and_captures_are_equal_and_do_not_change_with_their_cursor():
    for acknowledged in SUBSETS:
        partly = [index for index in range(ENTRIES) if index not in acknowledged][:1]
        cursor = persisted(acknowledged, partly)
        cursor.acknowledge(ENTRIES - 1)
        before = state(cursor), cursor.partly_acknowledged(), cursor.dirty
        twin, captured, pickled = cursor.copy(), cursor.capture(), pickle.dumps(cursor)
        cursor.mark_delete_to(ENTRIES - 1)
        restored = Cursor()
        restored.restore(captured)
        for other in (twin, restored, pickle.loads(pickled)):
            assert (state(other), other.partly_acknowledged(), other.dirty) == before
            assert other.last_persist_us == 1
            other.recover()
            assert state(other) == expected(acknowledged)
            assert other.partly_acknowledged() == dict.fromkeys(partly, 0b01)


def test_a_new_cursor_recovers_to_where_it_was_created():
    for index in range(-1, ENTRIES - 1):
        cursor = Cursor(index, 5)
        assert (cursor.dirty, cursor.last_persist_us) == (False, 5)
        assert state(cursor) == expected(set(range(index + 1)))
        cursor.acknowledge(ENTRIES - 1)
        cursor.recover()
        assert state(cursor) == expected(set(range(index + 1)))


def test_a_cursor_is_created_before_the_first_entry_at_0_us_by_default():
    assert (Cursor().mark_delete, Cursor().last_persist_us) == (-1, 0)


def test_as_many_partly_acknowledged_entries_are_persisted_as_the_brokers_default():
    cursor = Cursor()
    for index in range(200_001):
        cursor.acknowledge_batch(index, 0, 2)
    cursor.persist(1)
    assert len(cursor.partly_acknowledged()) == 200_001
    cursor.recover()
    assert list(cursor.partly_acknowledged()) == list(range(200_000))


def test_a_cumulative_ack_in_an_acknowledged_entry_changes_nothing():
    cursor = persisted({0, 1, 4})
    assert not cursor.acknowledge_batch_to(1, 0, 2)
    assert not cursor.acknowledge_batch_to(4, 1, 2)
    assert state(cursor) == expected({0, 1, 4})
    assert not cursor.dirty


def test_a_reset_forgets_every_single_ack():
    for acknowledged in SUBSETS:
        for index in range(-1, ENTRIES):
            cursor = persisted(acknowledged, [ENTRIES - 1] if ENTRIES - 1 not in acknowledged else [])
            cursor.reset(index)
            assert state(cursor) == expected(set(range(index + 1)))
            assert cursor.dirty and not cursor.partly_acknowledged()


# --- what else is asked


def test_a_cursor_that_is_set_back_keeps_what_is_individually_acknowledged():
    cursor = persisted({0, 1, 2, 4})
    cursor.set_back(5)
    assert (cursor.mark_delete, cursor.deleted_count) == (2, 1)
    cursor.set_back(0)
    assert (cursor.mark_delete, cursor.deleted_count) == (0, 1)


def test_an_entry_above_the_mark_delete_is_individually_deleted_or_not():
    cursor = persisted({0, 2, 3, 5})
    assert [cursor.deleted_at(index) for index in range(ENTRIES)] == [False, False, True, True, False, True]


def test_the_messages_that_remain_are_those_of_the_callers_own():
    cursor = persisted(set(), [2])
    cursor.partly_acknowledged().clear()
    assert cursor.partly_acknowledged() == {2: 0b01}


@pytest.mark.parametrize(("limit", "left_out", "kept"), [(3, 0, {1, 3, 5}), (2, 1, {1, 3}), (0, 3, set())])
def test_a_limit_below_the_number_of_acknowledged_entries_keeps_the_first_ranges(limit, left_out, kept):
    cursor = persisted({1, 3, 5})
    assert cursor.persist(2, limit) == left_out
    cursor.recover()
    assert state(cursor) == expected(kept)
