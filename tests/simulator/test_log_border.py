"""The position of a cursor at a ledger's border (`ManagedLedgerImpl`, #25087)."""

import pytest

from simulator.log.cursors import Border
from simulator.log.ledgers import TopicLog


@pytest.fixture
def log() -> TopicLog:
    """Entries 0 to 2 in ledger 5, which is full."""
    log = TopicLog()
    log.open_ledger(5, 0)
    for index in range(3):
        log.append(index, 100, 0)
    return log


def test_a_cursor_that_has_acked_a_closed_ledger_moves_to_the_next_and_others_stay(log):
    caught_up, behind = Border(log), Border(log)
    log.open_ledger(9, 1)
    assert (caught_up.next_ledger(2), behind.next_ledger(1)) == (9, None)
    caught_up.move(2, 9)
    assert (caught_up.position(2), behind.position(2)) == ((9, -1), (5, 2))
    assert caught_up.next_ledger(2) is None  # the cursor is there
    log.append(3, 100, 1)
    assert caught_up.position(3) == (9, 0)


def test_a_cursor_moves_on_from_an_empty_ledger_dropped_at_a_load(log):
    border = Border(log)
    log.open_ledger(9, 1)
    border.move(2, 9)
    assert [ledger.id for ledger in log.trim(3)] == [5]
    log.open_ledger(12, 2)
    assert border.next_ledger(2) == 12
    assert Border(log).next_ledger(2) is None  # nothing is known of a cursor that was not there


def test_a_cursor_reset_before_the_first_kept_entry_is_in_that_entrys_ledger(log):
    border = Border(log)
    log.open_ledger(9, 1)
    log.append(3, 100, 1)
    log.trim(3)
    border.put(2)
    assert border.position(2) == (9, -1)
    border.put(3)
    assert border.position(2) == (5, 2)


def test_without_any_kept_entry_the_cursor_is_at_the_last_confirmed_position(log):
    border = Border(log)
    log.open_ledger(9, 1)
    log.trim(3)
    border.put(2)
    assert border.position(2) == log.last_confirmed == (5, 2)
    log.open_ledger(12, 2)  # opened when no entry was kept: the last confirmed one is before it
    border.put(2)
    assert border.position(2) == log.last_confirmed == (12, -1)


def test_a_crash_puts_the_cursor_back_to_its_persisted_position(log):
    border = Border(log)
    border.persist()
    log.open_ledger(9, 1)
    border.move(2, 9)
    border.recover()
    assert border.position(2) == (5, 2)
    border.move(2, 9)
    border.persist()
    border.put(0)
    border.recover()
    assert border.position(2) == (9, -1)
