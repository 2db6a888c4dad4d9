"""The history of a group's streams from traces written by hand: lives, leases, progress, chunks."""

import pytest

from simulator.protocols.emqx.protocol import END
from simulator.protocols.emqx.verdicts.group_history import (
    Acknowledgement,
    Delivery,
    Histories,
    Life,
    Step,
    StreamHistory,
)
from simulator.trace.registry import NULL
from simulator.trace.trace import BLOCK_ROWS
from tests.emqx.group_trace import ADA, BEN, STREAM, GroupTrace


def number_of(one, name):
    return one.trace.number(name)


@pytest.mark.parametrize(
    "asked, wanted",
    [("$share/g/t/#", "t/#"), ("$share/g/a/b/c", "a/b/c"), ("$queue/t/#", "t/#"), ("$queue/a/b", "a/b")],
)
def test_the_filter_of_a_group_is_what_follows_its_name(asked, wanted):
    one = GroupTrace()
    one.row("group.declared", subscription="h", duration_us=0, detail=asked)
    groups = Histories(one.trace).groups
    assert groups[number_of(one, "h")].filter == wanted and groups[number_of(one, "h")].name == "h"


def test_a_group_declared_again_has_two_lifetimes_and_its_first_filter():
    one = GroupTrace(start_us=5)
    destroyed = one.row("group.destroyed", subscription="g")
    one.declare(70, "$share/g/other/#")
    group = one.history()
    assert group.lives == [Life(5, destroyed), Life(70, END)] and group.filter == "t/#"


def test_a_group_that_is_destroyed_ends_its_latest_life_only():
    one = GroupTrace()
    first = one.row("group.destroyed", subscription="g")
    one.declare()
    second = one.row("group.destroyed", subscription="g")
    assert [life.until_seq for life in one.history().lives] == [first, second]


@pytest.mark.parametrize(
    "at_us, seq, covered",
    [(99, 10, False), (100, 10, True), (101, 49, True), (101, 50, False), (101, 51, False)],
)
def test_a_life_covers_what_is_stored_from_its_start_and_before_its_last_row(at_us, seq, covered):
    assert Life(100, 50).covers(at_us, seq) is covered


def test_a_group_has_its_sessions_and_leaders_in_order():
    one = GroupTrace()
    for client in (BEN, ADA, BEN):
        one.row("session.subscribed", subscription="g", client=client)
    for leader in (3, 1, 2):
        one.row("leader.elected", subscription="g", count=leader)
    group = one.history()
    assert list(group.sessions) == [number_of(one, BEN), number_of(one, ADA)] and group.leaders == [3, 1, 2]


def test_rows_of_private_subscriptions_are_of_no_group():
    one = GroupTrace()
    one.row("session.subscribed", client=ADA)
    one.row("borrower.changed", client=ADA, count=0, reason="gone")
    chunk = one.row("chunk.fetched", client=ADA, topic=STREAM, entry=0, to_entry=1, reason="fetched")
    one.row("message.delivered", chunk, client=ADA, topic=STREAM, entry=0)
    one.row("message.acknowledged", client=ADA, topic=STREAM, entry=0)
    group = one.history()
    assert not group.sessions and not group.streams


def test_the_messages_of_a_stream_are_in_order_of_storing():
    one = GroupTrace(opened=(STREAM, "0/1/t/b/c"))
    first = one.at(7).store(4, client=9)
    second = one.at(8).store(2, producer="q", client=8)
    histories = Histories(one.trace)
    stored = histories.stored[number_of(one, STREAM)]
    p, q = number_of(one, "p"), number_of(one, "q")
    assert (
        list(stored.messages.items()) == [(0, (p, 4, first, 7)), (1, (q, 2, second, 8))]
        and stored.topic == "t/a"
    )
    assert histories.stored[number_of(one, "0/1/t/b/c")].topic == "t/b/c"
    assert histories.clients == {(p, 4): 9, (q, 2): 8}


def test_deliveries_and_acknowledgements_are_by_offset_with_their_rows():
    one = GroupTrace()
    one.lease(ADA)
    chunk = one.fetch(ADA, 0, 2)
    delivered = one.at(30).deliver(chunk, ADA, 1)
    acknowledged = one.ack(ADA, 1)
    stream, ada = one.stream(), number_of(one, ADA)
    assert stream.delivered == {1: [Delivery(delivered, 30, ada, chunk)]}
    assert stream.acknowledged == {1: [Acknowledgement(acknowledged, ada)]}
    assert stream.taken == [(ada, 0, 2)]


def test_rows_of_every_block_are_read_with_their_numbers():
    one = GroupTrace()
    one.lease(ADA)
    chunk = one.fetch(ADA, 0, 2)
    while len(one.trace) < BLOCK_ROWS - 1:
        one.row("run.started")
    before = one.deliver(chunk, ADA, 0)
    after = one.at(9).deliver(chunk, ADA, 0)
    lease = one.lease(BEN)
    assert (before, after) == (BLOCK_ROWS - 1, BLOCK_ROWS)
    stream = one.stream()
    assert [delivery.seq for delivery in stream.delivered[0]] == [before, after]
    assert [other.seq for other in stream.leases][1:] == [lease]
    assert Histories(one.trace, BLOCK_ROWS).end_us == 0 and Histories(one.trace).end_us == 9
    assert [one.history(upto).streams != {} for upto in (2, 3)] == [False, True]
    assert len(one.history(BLOCK_ROWS).streams[number_of(one, STREAM)].delivered[0]) == 1
    assert len(one.history(BLOCK_ROWS + 1).streams[number_of(one, STREAM)].delivered[0]) == 2


def test_the_history_of_no_rows_ends_at_its_beginning():
    one = GroupTrace()
    one.at(40).found()
    histories = Histories(one.trace, 0)
    assert histories.end_us == 0 and not histories.groups and not histories.stored
    assert Histories(one.trace).end_us == 40 and Histories(one.trace).upto_seq == len(one.trace)


# --- progress


def test_a_stream_that_is_found_begins_at_its_entry_as_if_the_leader_had_saved_that():
    one = GroupTrace()
    seq = one.at(20).found(entry=3, leader=4)
    stream = one.stream()
    assert (stream.found_us, stream.done_us, stream.position) == (20, None, 3)
    assert stream.saved == [Step(seq, 3, 4)]


def test_a_stream_that_is_found_again_starts_over_and_keeps_its_first_instant():
    one = GroupTrace()
    one.at(20).found(entry=3)
    one.at(30).saved(NULL)
    assert one.stream().done_us == 30 and one.stream().position == END
    one.at(40).found(entry=5, leader=2)
    stream = one.stream()
    assert (stream.found_us, stream.done_us, stream.position) == (20, None, 5)
    assert [step.position for step in stream.saved] == [3, END, 5]


def test_a_stream_found_at_the_first_instant_was_found_then():
    one = GroupTrace()
    one.found()
    one.at(20).found()
    assert one.stream().found_us == 0


def test_a_group_that_is_destroyed_ends_the_streams_that_have_not_ended():
    one = GroupTrace(opened=(STREAM, "0/1/t/b"))
    one.found()
    one.found(stream="0/1/t/b")
    one.saved(NULL)
    one.at(60).row("group.destroyed", subscription="g")
    streams = one.history().streams
    assert streams[number_of(one, STREAM)].done_us == 0 and streams[number_of(one, "0/1/t/b")].done_us == 60


def test_saved_reported_and_persisted_progress_is_kept_with_who_recorded_it():
    one = GroupTrace()
    saved = one.saved(6, leader=3)
    reported = one.row("progress.told", subscription="g", client=ADA, topic=STREAM, count=0, entry=5)
    to_the_end = one.row("progress.told", subscription="g", client=BEN, topic=STREAM, count=0)
    persisted = one.row("progress.persisted", subscription="g", topic=STREAM, entry=6, count=3)
    stream = one.stream()
    assert stream.saved == [Step(saved, 6, 3)] and stream.position == 6 and stream.done_us is None
    assert stream.reports == [
        Step(reported, 5, number_of(one, ADA)),
        Step(to_the_end, END, number_of(one, BEN)),
    ]
    assert stream.persisted == [Step(persisted, 6, 3)]


@pytest.mark.parametrize("entry, position", [(4, 4), (0, 0), (NULL, END)])
def test_a_leader_begins_with_the_position_that_it_loaded(entry, position):
    one = GroupTrace()
    one.saved(9)
    one.row("progress.loaded", subscription="g", topic=STREAM, entry=entry, count=2)
    assert one.stream().position == position


# --- leases


def test_a_lease_has_its_reader_its_leader_and_the_latest_decision_to_grant_it():
    one = GroupTrace()
    one.decide(ADA, borrower=2)
    decided = one.decide(ADA, borrower=2)
    one.decide(ADA, "granted", borrower=2)
    one.decide(ADA, borrower=3)
    one.decide(BEN, borrower=2)
    seq = one.at(15).lease(ADA, borrower=2, leader=7)
    (lease,) = one.stream().leases
    assert (lease.seq, lease.at_us, lease.client, lease.borrower) == (seq, 15, number_of(one, ADA), 2)
    assert (lease.leader, lease.position, lease.granted_seq, lease.end_us) == (7, 0, decided, None)


@pytest.mark.parametrize("state", ["granted", "revoking", "revoked", "free"])
def test_only_granting_is_a_decision_to_grant(state):
    one = GroupTrace()
    decided = one.decide(ADA)
    one.decide(ADA, state)
    one.lease(ADA)
    assert one.stream().leases[0].granted_seq == decided


def test_a_lease_without_a_decision_is_of_its_own_row():
    one = GroupTrace()
    seq = one.lease(ADA)
    assert one.stream().leases[0].granted_seq == seq


@pytest.mark.parametrize("state", ["revoking", "absent"])
def test_a_lease_ends_when_its_own_reader_releases_it(state):
    one = GroupTrace()
    for client, borrower in ((ADA, 0), (ADA, 1), (BEN, 0)):
        one.lease(client, borrower=borrower)
    one.at(50).lease(ADA, state, borrower=1)
    one.at(60).lease(ADA, "absent", borrower=1)
    assert [lease.end_us for lease in one.stream().leases] == [None, 50, None]


def test_a_lease_that_ends_at_the_first_instant_is_over():
    one = GroupTrace()
    one.lease(ADA)
    one.lease(ADA, "revoking")
    one.at(50).lease(ADA, "absent")
    assert one.stream().leases[0].end_us == 0


def test_a_release_of_what_was_never_leased_is_nothing():
    one = GroupTrace()
    one.lease(ADA, "absent")
    assert one.stream() == StreamHistory()


@pytest.mark.parametrize("state, end_us", [("gone", 50), ("unsubscribing", 50), ("connecting", None)])
def test_a_borrower_that_is_gone_ends_all_its_own_leases(state, end_us):
    one = GroupTrace(opened=(STREAM, "0/1/t/b"))
    fields = {"subscription": "g", "entry": 0, "reason": "granted", "ledger": 1}
    for client, borrower in ((ADA, 0), (ADA, 1), (BEN, 0)):
        for stream in (STREAM, "0/1/t/b"):
            one.row("lease.changed", client=client, topic=stream, count=borrower, **fields)
    one.at(50).row("borrower.changed", subscription="g", client=ADA, count=1, reason=state)
    ends = [[lease.end_us for lease in stream.leases] for stream in one.history().streams.values()]
    assert ends == [[None, end_us, None]] * 2


def test_a_chunk_belongs_to_the_latest_lease_of_its_reader_unless_it_is_resent():
    one = GroupTrace()
    one.lease(ADA)
    first = one.fetch(ADA, 0, 1)
    one.lease(ADA, "absent")
    one.lease(BEN)
    again = one.fetch(ADA, 0, 1, "again")
    one.lease(ADA)
    second = one.fetch(ADA, 0, 1)
    stream = one.stream()
    assert stream.chunks == {first: stream.leases[0], again: None, second: stream.leases[2]}
