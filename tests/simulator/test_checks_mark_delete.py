"""Mark-delete goes back only by a reset or by recovery to its persisted value."""

import pytest

from simulator.checks.checks import CLAIMS, Checks
from tests.simulator.written_trace import WrittenTrace, scenario

CLAIM = CLAIMS[1]


@pytest.fixture
def written():
    written = WrittenTrace()
    written.created("a", 1, -1)
    written.moved("a", -1, 5)
    return written


def violations(written):
    return Checks(scenario()).read(written.trace)


def recovered(written, entry):
    return written.write(
        "cursor.recovered", cluster="a", subscription="billing", ledger=1, entry=entry, count=0
    )


def persisted(written, entry):
    return written.write(
        "cursor.persisted", cluster="a", subscription="billing", ledger=1, entry=entry, count=0
    )


def test_forward_moves_have_no_violations(written):
    written.moved("a", 5, 9, reason="update")
    written.moved("a", 9, 12, reason="expiry")
    assert violations(written) == []


def test_a_reset_may_move_mark_delete_back(written):
    written.moved("a", 5, 1, reason="reset")
    written.moved("a", 1, 2)
    assert violations(written) == []


@pytest.mark.parametrize("reason", ["acknowledgement", "update", "skip", "expiry", "rollover"])
def test_any_other_move_back_is_a_violation(written, reason):
    seq = written.moved("a", 5, 3, reason=reason)
    (broken,) = violations(written)
    assert (broken.claim, broken.seq) == (CLAIM, seq)
    assert broken.reason == f"billing of orders at a: mark-delete went back from 1:5 to 1:3 by {reason}"


def test_a_move_back_is_detected_whatever_start_position_its_row_has(written):
    written.moved("a", 2, 3)
    assert len(violations(written)) == 1


def test_recovery_to_the_persisted_value_may_move_mark_delete_back(written):
    persisted(written, 5)
    written.moved("a", 5, 9)
    recovered(written, 5)
    written.moved("a", 9, 5, reason="recovery")
    assert violations(written) == []


def test_recovery_below_the_persisted_value_is_a_violation(written):
    persisted(written, 5)
    recovered(written, 4)
    (broken,) = violations(written)
    assert broken.reason.endswith("went from 1:5 to 1:4 by recovery, but what had been persisted was 1:5")


def test_recovery_above_the_persisted_value_is_a_violation(written):
    persisted(written, 2)
    recovered(written, 4)
    assert len(violations(written)) == 1


def test_recovery_that_keeps_unpersisted_acks_is_a_violation(written):
    persisted(written, 2)
    recovered(written, 5)
    assert len(violations(written)) == 1


def test_the_position_before_the_first_entry_may_be_in_another_ledger(written):
    written.created("b", 1, -1)
    written.write("cursor.recovered", cluster="b", subscription="billing", ledger=3, entry=-1, count=0)
    assert violations(written) == []


def test_a_cursor_never_persisted_recovers_at_its_creation_position(written):
    recovered(written, -1)
    assert violations(written) == []


def test_a_subscription_deleted_and_created_again_starts_over(written):
    written.write("subscription.deleted", cluster="a", subscription="billing")
    written.created("a", 1, 2)
    written.moved("a", 2, 3)
    recovered(written, 2)
    assert violations(written) == []


def test_cursors_of_different_clusters_are_independent(written):
    written.created("b", 1, -1)
    written.moved("b", -1, 2)
    assert violations(written) == []
