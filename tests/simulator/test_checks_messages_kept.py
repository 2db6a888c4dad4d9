"""Every message acknowledged to its producer is in a log, or was released by every cursor that needed it."""

import pytest

from simulator.checks.checks import CLAIMS, Checks
from tests.simulator.written_trace import WrittenTrace, scenario

CLAIM = CLAIMS[5]


@pytest.fixture
def written():
    """web/0 and web/1 in ledger 1 of a, the next ledger open, the subscription at a before them."""
    written = WrittenTrace()
    written.created("a", 1, -1)
    for number in range(2):
        written.stored("a", number, number)
        receipted(written, number)
    closed(written, 1, 2)
    return written


def receipted(written, number, cluster="a"):
    return written.write("message.receipted", cluster=cluster, producer="web", sequence_id=number)


def closed(written, ledger, count):
    return written.write("ledger.closed", cluster="a", ledger=ledger, count=count)


def removed(written, *numbers):
    written.write("ledger.trimmed", cluster="a", ledger=1, count=2)
    return [
        written.write(
            "message.removed", cluster="a", producer="web", sequence_id=number, ledger=1, entry=number
        )
        for number in numbers
    ]


def violations(written):
    return Checks(scenario()).read(written.trace)


def test_a_message_stored_before_its_receipt_has_no_violation(written):
    assert violations(written) == []


def test_a_receipt_without_an_entry_is_a_violation(written):
    seq = receipted(written, 2)
    (broken,) = violations(written)
    assert (broken.claim, broken.seq) == (CLAIM, seq)
    assert broken.reason == "web/2 was receipted at a, whose log never held it"


def test_an_entry_after_the_receipt_does_not_count(written):
    receipted(written, 2)
    written.stored("a", 2, 0, ledger=2)
    assert len(violations(written)) == 1


def test_an_entry_in_another_cluster_does_not_count(written):
    written.stored("b", 2, 0)
    receipted(written, 2)
    assert len(violations(written)) == 1


def test_a_deduplicated_repeat_may_have_a_receipt(written):
    written.write("message.deduplicated", cluster="a", producer="web", sequence_id=1)
    receipted(written, 1)
    assert violations(written) == []


def test_a_position_written_twice_is_a_violation():
    written = WrittenTrace()
    written.stored("a", 0, 0)
    written.stored("a", 1, 1)
    seq = written.stored("a", 2, 1)
    (broken,) = violations(written)
    assert broken.seq == seq
    assert broken.reason == "1:1 of orders at a was written after 1:1"


def test_messages_of_one_batched_entry_share_its_position():
    written = WrittenTrace()
    for index in range(3):
        written.stored("a", index, 0, batch_index=index)
    closed(written, 1, 1)
    assert violations(written) == []


def test_a_ledger_closed_with_fewer_entries_than_were_stored_is_a_violation():
    written = WrittenTrace()
    written.stored("a", 0, 0)
    written.marker("a", 1)
    seq = closed(written, 1, 1)
    (broken,) = violations(written)
    assert broken.seq == seq
    assert broken.reason == "ledger 1 of orders at a counts 1 where 2 were stored"


def test_removal_after_the_cursor_passed_has_no_violation(written):
    written.moved("a", -1, 1)
    removed(written, 0, 1)
    assert violations(written) == []


def test_removal_of_entries_that_a_cursor_still_needs_is_a_violation(written):
    written.moved("a", -1, 0)
    seqs = removed(written, 0, 1)
    (broken,) = violations(written)
    assert broken.seq == seqs[1]
    assert broken.reason == "1:1 of orders at a was removed while billing stood at 1:0"


def test_a_cursor_that_passes_after_the_removal_does_not_count(written):
    removed(written, 0, 1)
    written.moved("a", -1, 1)
    assert len(violations(written)) == 2


def test_a_deleted_subscription_needs_nothing(written):
    written.write("subscription.deleted", cluster="a", subscription="billing")
    removed(written, 0, 1)
    assert violations(written) == []


def replicated_log():
    written = WrittenTrace()
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    written.stored("a", 0, 0)
    written.stored("a", 1, 1)
    return written


def test_removal_before_the_replicator_sent_the_entry_is_a_violation():
    written = replicated_log()
    written.stored("b", 0, 0, peer="a")
    seqs = removed(written, 0, 1)
    (broken,) = violations(written)
    assert broken.seq == seqs[1]
    assert broken.reason == "1:1 of orders at a was removed before the replicator to b had sent it"


def test_removal_of_entries_skipped_by_the_replicator_has_no_violation():
    written = replicated_log()
    written.stored("b", 0, 0, peer="a")
    written.write(
        "message.not-replicated", cluster="a", peer="b", producer="web", sequence_id=1, reason="expired"
    )
    removed(written, 0, 1)
    assert violations(written) == []


def test_a_replicator_removed_from_the_list_needs_nothing():
    written = replicated_log()
    written.write("replicator.removed", cluster="a", peer="b")
    removed(written, 0, 1)
    assert violations(written) == []


def test_a_replication_cursor_opened_at_latest_needs_nothing_older():
    written = WrittenTrace()
    written.stored("a", 0, 0)
    written.stored("a", 1, 1)
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=1)
    removed(written, 0, 1)
    assert violations(written) == []


def test_messages_from_another_cluster_are_not_replicated_and_may_be_removed():
    written = WrittenTrace()
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    written.stored("a", 0, 0, peer="c")
    written.stored("a", 1, 1, peer="c")
    removed(written, 0, 1)
    assert violations(written) == []
