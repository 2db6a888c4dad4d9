"""Every receipted message is somewhere, or was let go by everyone who needed it."""

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


def test_stored_before_receipted_holds(written):
    assert violations(written) == []


def test_a_receipt_without_an_entry_is_broken(written):
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


def test_a_repeat_that_was_deduplicated_may_be_receipted(written):
    written.write("message.deduplicated", cluster="a", producer="web", sequence_id=1)
    receipted(written, 1)
    assert violations(written) == []


def test_a_position_written_twice_is_broken():
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


def test_a_ledger_closed_with_fewer_entries_than_were_stored_is_broken():
    written = WrittenTrace()
    written.stored("a", 0, 0)
    written.marker("a", 1)
    seq = closed(written, 1, 1)
    (broken,) = violations(written)
    assert broken.seq == seq
    assert broken.reason == "ledger 1 of orders at a counts 1 where 2 were stored"


def test_removal_after_the_cursor_passed_holds(written):
    written.moved("a", -1, 1)
    removed(written, 0, 1)
    assert violations(written) == []


def test_removal_of_what_a_cursor_still_needs_is_broken(written):
    written.moved("a", -1, 0)
    seqs = removed(written, 0, 1)
    (broken,) = violations(written)
    assert broken.seq == seqs[1]
    assert broken.reason == "1:1 of orders at a was removed while billing stood at 1:0"


def test_a_cursor_that_passed_only_afterwards_did_not_pass(written):
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


def test_removal_before_the_replicator_sent_it_is_broken():
    written = replicated_log()
    written.stored("b", 0, 0, peer="a")
    seqs = removed(written, 0, 1)
    (broken,) = violations(written)
    assert broken.seq == seqs[1]
    assert broken.reason == "1:1 of orders at a was removed before the replicator to b had sent it"


def test_removal_of_what_the_replicator_passed_over_holds():
    written = replicated_log()
    written.stored("b", 0, 0, peer="a")
    written.write(
        "message.not-replicated", cluster="a", peer="b", producer="web", sequence_id=1, reason="expired"
    )
    removed(written, 0, 1)
    assert violations(written) == []


def test_a_replicator_taken_off_the_list_needs_nothing():
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


def test_what_came_from_another_cluster_is_not_sent_on_and_may_be_removed():
    written = WrittenTrace()
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    written.stored("a", 0, 0, peer="c")
    written.stored("a", 1, 1, peer="c")
    removed(written, 0, 1)
    assert violations(written) == []
