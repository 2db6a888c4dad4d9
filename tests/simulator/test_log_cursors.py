"""Cursors: acks, ranges as Pulsar prints them, what survives a crash (`ManagedCursorImpl`)."""

import pytest

from simulator.log import cursors
from simulator.log.cursors import Cursor
from simulator.log.ledgers import TopicLog


def log_of(*ledgers):
    log = TopicLog()
    for ledger_id, entries in ledgers:
        log.open_ledger(ledger_id, 0)
        for _ in range(entries):
            log.append(log.length, 100, 0)
    return log


def cursor_with(*acknowledged):
    cursor = Cursor()
    for index in acknowledged:
        assert cursor.acknowledge(index)
    return cursor


# --- acks


def test_acks_in_order_move_the_mark_delete():
    cursor = cursor_with(0, 1, 2)
    assert (cursor.mark_delete, cursor.ranges(), cursor.backlog(10)) == (2, [], 7)


def test_the_first_adjoining_range_is_absorbed():
    cursor = cursor_with(1, 2, 4)
    assert (cursor.mark_delete, cursor.backlog(10)) == (-1, 7)
    cursor.acknowledge(0)
    assert (cursor.mark_delete, cursor.ranges(), cursor.backlog(10)) == (2, [(4, 4)], 6)


def test_a_repeated_ack_changes_nothing():
    cursor = cursor_with(0, 2)
    cursor.persist(5)
    assert not cursor.acknowledge(0) and not cursor.acknowledge(2)
    assert not cursor.dirty


def test_a_cumulative_ack_absorbs_ranges_and_never_moves_back():
    cursor = cursor_with(2, 4, 5, 6, 9)
    assert cursor.mark_delete_to(3)
    assert (cursor.mark_delete, cursor.ranges(), cursor.backlog(10)) == (6, [(9, 9)], 2)
    assert not cursor.mark_delete_to(6) and not cursor.mark_delete_to(1)
    assert cursor.mark_delete == 6


def test_a_cumulative_ack_onto_an_acked_entry_extends_to_the_end_of_its_range():
    cursor = cursor_with(4, 5, 6)
    assert cursor.mark_delete_to(5)
    assert (cursor.mark_delete, cursor.ranges_total) == (6, 0)


def test_next_unacknowledged_skips_ranges():
    cursor = cursor_with(0, 3, 4, 5, 8)
    assert [cursor.next_unacknowledged(index) for index in (-1, 0, 1, 3, 5, 6, 8, 20)] == [
        1,
        1,
        1,
        6,
        6,
        6,
        9,
        20,
    ]


def test_a_reset_moves_back_or_forward_and_clears_ranges():
    cursor = cursor_with(0, 1, 5)
    cursor.acknowledge_batch(3, 0, 2)
    cursor.persist(1)
    cursor.reset(-1)
    assert (cursor.mark_delete, cursor.ranges(), cursor.batch_remaining(3, 2), cursor.dirty) == (
        -1,
        [],
        3,
        True,
    )
    cursor.reset(7)
    assert (cursor.mark_delete, cursor.backlog(10)) == (7, 2)


# --- batches


def test_an_entry_is_acknowledged_with_the_last_of_its_messages():
    cursor = Cursor()
    assert not cursor.acknowledge_batch(0, 1, 3)
    assert not cursor.acknowledge_batch(0, 1, 3)
    assert cursor.batch_remaining(0, 3) == 0b101
    assert not cursor.acknowledge_batch(0, 0, 3)
    assert cursor.acknowledge_batch(0, 2, 3)
    assert (cursor.mark_delete, cursor.batch_remaining(0, 3)) == (0, 0)
    assert not cursor.acknowledge_batch(0, 2, 3)


def test_a_cumulative_ack_inside_a_batch_stops_before_the_entry_and_never_moves_back():
    cursor = Cursor()
    assert not cursor.acknowledge_batch_to(2, 1, 4)
    assert (cursor.mark_delete, cursor.batch_remaining(2, 4)) == (1, 0b1100)
    assert not cursor.acknowledge_batch_to(2, 0, 4)
    assert cursor.batch_remaining(2, 4) == 0b1100
    assert cursor.acknowledge_batch_to(2, 3, 4)
    assert cursor.mark_delete == 2


def test_acknowledging_the_whole_entry_drops_its_bit_set():
    cursor = Cursor()
    for index in (1, 4, 5, 6):
        cursor.acknowledge_batch(index, 0, 2)
    cursor.acknowledge(1)
    cursor.mark_delete_to(4)  # passes more entries than there are bit sets
    cursor.mark_delete_to(5)  # passes fewer
    assert cursor.capture()[3] == {6: 0b10}
    assert [cursor.batch_remaining(index, 2) for index in (1, 4, 5, 6, 7)] == [0, 0, 0, 0b10, 0b11]


# --- how ranges print


def test_ranges_print_as_pulsar_prints_them():
    log = log_of((1, 12))
    cursor = cursor_with(0, 1, 2, 3, 4, 6, 9)
    assert log.text(cursor.mark_delete) == "1:4"
    assert cursor.text(log) == "[(1:5..1:6],(1:8..1:9]]"
    assert Cursor().text(log) == "[]"


def test_ranges_never_cross_ledgers():
    log = log_of((1, 100), (3, 1), (7, 2))
    cursor = cursor_with(*range(11, 103))
    assert cursor.text(log) == "[(1:10..1:99],(3:-1..3:0],(7:-1..7:1]]"
    assert (cursor.ranges(), cursor.ranges_total) == ([(11, 102)], 1)


def test_a_text_is_truncated_after_a_whole_range():
    log = log_of((1, 100))
    cursor = cursor_with(*range(1, 99, 2))
    whole = cursor.text(log)
    assert cursor.text(log, len(whole)) == whole
    assert cursor.text(log, 14) == "[(1:0..1:1],…]"
    for limit in range(14, len(whole)):
        cut = cursor.text(log, limit)
        assert len(cut) <= limit and cut.endswith("],…]") and whole.startswith(cut[: -len(",…]")])
    assert cursor.text(log, 13) == "[…]"


def test_only_the_requested_number_of_ranges_is_listed():
    cursor = cursor_with(*range(1, 99, 2))
    assert cursor.ranges(3) == [(1, 1), (3, 3), (5, 5)]
    assert cursor.ranges(0) == []
    assert cursor.ranges_total == len(cursor.ranges()) == len(cursor.ranges(1_000)) == 49


# --- surviving a crash


def test_a_crash_forgets_acks_since_the_last_flush():
    cursor = cursor_with(0, 1, 5)
    cursor.acknowledge_batch(3, 0, 2)
    assert cursor.dirty
    assert cursor.persist(7_000) == 0
    assert (cursor.dirty, cursor.last_persist_us, cursor.persisted_mark_delete) == (False, 7_000, 1)
    cursor.mark_delete_to(9)
    cursor.acknowledge(12)
    assert cursor.dirty and cursor.persisted_mark_delete == 1
    cursor.recover()
    assert (cursor.mark_delete, cursor.ranges(), cursor.batch_remaining(3, 2), cursor.dirty) == (
        1,
        [(5, 5)],
        0b10,
        False,
    )
    assert cursor.backlog(13) == 10


def test_a_new_cursor_is_persisted_at_its_creation_position():
    cursor = Cursor(41, 9)
    cursor.acknowledge(42)
    cursor.recover()
    assert (cursor.mark_delete, cursor.last_persist_us) == (41, 9)


def test_after_a_clean_close_nothing_is_forgotten():
    cursor = cursor_with(0, 2, 4)
    cursor.persist(1, 200_000, log_of((1, 9)))
    cursor.recover()
    assert (cursor.mark_delete, cursor.ranges()) == (0, [(2, 2), (4, 4)])


def test_over_the_limit_whole_ledgers_are_not_persisted():
    """As bitmaps a ledger is included while those before it hold at most the limit: 3 entries, then 3
    more, then none.
    """
    log = log_of((1, 8), (2, 8), (5, 8), (6, 8))
    cursor = cursor_with(1, 3, 5, 9, 11, 13, 17, 25, 26)
    assert cursor.persist(1, 3, log) == 3
    cursor.recover()
    assert cursor.ranges() == [(1, 1), (3, 3), (5, 5), (9, 9), (11, 11), (13, 13)]
    cursor = cursor_with(1, 3, 5, 9, 11, 13, 17, 25, 26)
    assert cursor.persist(1, 2, log) == 6
    cursor.recover()
    assert cursor.text(log) == "[(1:0..1:1],(1:2..1:3],(1:4..1:5]]"


def test_without_ledgers_the_first_ranges_are_persisted():
    cursor = cursor_with(1, 2, 4, 6, 7, 9)
    assert cursor.persist(1, 2) == 3
    assert cursor.ranges_total == 4  # the live side keeps all
    cursor.recover()
    assert (cursor.ranges(), cursor.backlog(10)) == ([(1, 2), (4, 4)], 7)
    assert cursor.persist(1, 2) == 0


def test_batch_bit_sets_over_the_limit_are_not_persisted(monkeypatch):
    monkeypatch.setattr(cursors, "MAX_BATCH_INDEXES_TO_PERSIST", 2)
    cursor = Cursor()
    for index in (7, 3, 5):
        cursor.acknowledge_batch(index, 0, 2)
    cursor.persist(1)
    cursor.recover()
    assert [cursor.batch_remaining(index, 2) for index in (3, 5, 7)] == [0b10, 0b10, 0b11]


@pytest.mark.parametrize("hole", [0, 65_535, 65_536, 131_071])
def test_runs_are_found_across_the_bitmaps_internal_borders(hole):
    """Bitmaps are kept in pieces of 65,536."""
    cursor = Cursor()
    for index in range(200_000):
        if index != hole:
            cursor.acknowledge(index)
    assert cursor.next_unacknowledged(hole + 1) == 200_000
    assert cursor.ranges() == cursor.ranges(5) == [(hole + 1, 199_999)]
    assert cursor.acknowledge(hole)
    assert (cursor.mark_delete, cursor.backlog(200_000), cursor.ranges_total) == (199_999, 0, 0)
