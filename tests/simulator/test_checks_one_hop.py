"""No message is forwarded by a second replicator, and a repeat on a link follows a rewind."""

import pytest

from simulator.checks.checks import CLAIMS, Checks
from simulator.trace.registry import NULL
from tests.simulator.written_trace import WrittenTrace, scenario

CLAIM = CLAIMS[4]


@pytest.fixture
def written():
    """a's log: web/0, a marker of a, api/0 from b, a marker from b, web/1."""
    written = WrittenTrace()
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    written.stored("a", 0, 0)
    written.marker("a", 1)
    written.stored("a", 0, 2, peer="b", producer="api")
    written.marker("a", 3, peer="b")
    written.stored("a", 1, 4)
    return written


def sent(written, entry, number=0, producer="web", batch_index=NULL):
    return written.write(
        "message.replicated",
        cluster="a",
        peer="b",
        producer=producer,
        sequence_id=number,
        ledger=1,
        entry=entry,
        batch_index=batch_index,
    )


def marker_sent(written, entry):
    return written.write(
        "marker.sent", cluster="a", peer="b", marker=1, reason="snapshot_request", ledger=1, entry=entry
    )


def rewound(written, entry):
    written.write("replicator.rewound", cluster="a", peer="b", ledger=1, entry=entry)


def violations(written):
    return Checks(scenario()).read(written.trace)


def test_own_entries_in_order_have_no_violations(written):
    sent(written, 0)
    marker_sent(written, 1)
    sent(written, 4, 1)
    assert violations(written) == []


def test_a_forwarded_message_is_a_violation(written):
    seq = sent(written, 2, producer="api")
    (broken,) = violations(written)
    assert (broken.claim, broken.seq) == (CLAIM, seq)
    assert broken.reason == "the replicator a -> b of orders forwarded 1:2, which was replicated from b"


def test_a_forwarded_marker_is_a_violation(written):
    marker_sent(written, 3)
    assert len(violations(written)) == 1


def test_a_repeat_without_rewind_is_a_violation(written):
    sent(written, 0)
    sent(written, 4, 1)
    seq = sent(written, 0)
    (broken,) = violations(written)
    assert broken.seq == seq
    assert broken.reason == "the replicator a -> b of orders sent 1:0 after 1:4 without a rewind between"


def test_sending_the_same_entry_twice_in_a_row_is_a_violation(written):
    sent(written, 0)
    sent(written, 0)
    assert len(violations(written)) == 1


def test_a_repeat_after_a_rewind_has_no_violation(written):
    sent(written, 0)
    marker_sent(written, 1)
    sent(written, 4, 1)
    rewound(written, 0)
    marker_sent(written, 1)
    sent(written, 4, 1)
    assert violations(written) == []


def test_a_repeat_from_before_the_rewind_position_is_a_violation(written):
    sent(written, 0)
    sent(written, 4, 1)
    rewound(written, 1)
    sent(written, 0)
    assert len(violations(written)) == 1


def test_a_reopened_cursor_may_start_over(written):
    sent(written, 4, 1)
    written.write("replicator.removed", cluster="a", peer="b")
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    sent(written, 0)
    assert violations(written) == []


def test_messages_of_one_batched_entry_count_as_one_entry():
    written = WrittenTrace()
    for index in range(3):
        written.stored("a", index, 0, batch_index=index)
    for index in range(3):
        sent(written, 0, index, batch_index=index)
    assert violations(written) == []
    sent(written, 0, 1, batch_index=1)
    assert len(violations(written)) == 1
