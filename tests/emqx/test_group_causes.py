"""Every cause of a shared group's duplicates, by hand: what was reported, saved and persisted before a lease.

The duplicate is of the message at offset 5: session ADA acknowledged it in row 10, and leader 1000 decided in
row 100 to grant the lease under which it was delivered again.
"""

import pytest

from simulator.counting import CountingError
from simulator.protocols.emqx.verdicts.group_causes import Case, Known, cause_of
from simulator.protocols.emqx.verdicts.group_history import (
    Acknowledgement,
    Delivery,
    Lease,
    Step,
    StreamHistory,
)

ADA, BEN = 1, 2
OFFSET, ACKNOWLEDGED, DECIDED, LEADER, EARLIER = 5, 10, 100, 1000, 999
LEASE = Lease(
    seq=110, at_us=1, client=BEN, borrower=0, leader=LEADER, position=0, granted_seq=DECIDED, end_us=None
)


def stream_of(reports=(), saved=(), persisted=()):
    """A stream's progress: rows, positions, and who reported or saved them."""
    return StreamHistory(
        reports=[Step(*step) for step in reports],
        saved=[Step(*step) for step in saved],
        persisted=[Step(seq, position, EARLIER) for seq, position in persisted],
    )


def known(reports=(), saved=(), persisted=()):
    return Known(stream_of(reports, saved, persisted), LEASE)


def cause(reports=(), saved=(), persisted=(), acknowledged=ACKNOWLEDGED, offset=OFFSET):
    """The cause of the duplicate after this progress."""
    return cause_of(
        Case(
            offset,
            Delivery(120, 1, BEN, 115),
            Acknowledgement(acknowledged, ADA),
            LEASE,
            known(reports, saved, persisted),
        )
    )


# --- what is known before a decision


def test_without_any_progress_nothing_is_known_to_be_read():
    nothing = known()
    assert nothing.persisted == nothing.saved_elsewhere == 0
    assert nothing.reported_after(0, ADA) == nothing.saved_after(0) == 0
    assert not nothing.passed_and_not_passed_after(0)


def test_only_rows_before_the_decision_count():
    steps = [(98, 3), (99, 4), (100, 5), (101, 6)]
    one = known(
        [(seq, position, ADA) for seq, position in steps],
        [(seq, position, EARLIER) for seq, position in steps],
        steps,
    )
    assert one.persisted == one.saved_elsewhere == 4
    assert one.reported_after(0, ADA) == one.saved_after(0) == 4


def test_the_furthest_position_counts_not_the_latest():
    steps = [(20, 3), (30, 7), (40, 5)]
    one = known(
        [(seq, position, ADA) for seq, position in steps],
        [(seq, position, EARLIER) for seq, position in steps],
        steps,
    )
    assert one.persisted == one.saved_elsewhere == 7
    assert one.reported_after(0, ADA) == one.saved_after(0) == 7


def test_only_rows_after_the_acknowledgement_count_as_reported_or_saved_after_it():
    steps = [(20, 9), (30, 7), (40, 5), (50, 6)]
    one = known([(seq, position, ADA) for seq, position in steps], [(*step, LEADER) for step in steps])
    for seq, furthest in [(19, 9), (20, 7), (29, 7), (30, 6), (40, 6), (49, 6), (50, 0), (51, 0)]:
        assert one.reported_after(seq, ADA) == one.saved_after(seq) == furthest, seq


def test_the_reports_of_other_sessions_do_not_count():
    one = known([(20, 30 - session % 10, session) for session in range(1001, 1004)])
    assert [one.reported_after(0, session) for session in range(1000, 1005)] == [0, 29, 28, 27, 0]
    assert one.reported_after(0, 1001) == 29, "asked again"


def test_what_the_granting_leader_saved_is_not_saved_elsewhere():
    for leader in range(998, 1003):
        one = known(saved=[(20, 7, leader)])
        assert (one.saved_elsewhere, one.saved_after(0)) == (0 if leader == LEADER else 7, 7)


@pytest.mark.parametrize(
    "saved, persisted, rewound",
    [
        ([(20, 4), (30, 8)], [], []),
        ([(20, 8), (30, 8)], [], []),
        ([(20, 8), (30, 4)], [], [4, 5, 6, 7]),
        ([(20, 8), (30, 6), (40, 4), (50, 7)], [], [4, 5, 6, 7]),
        ([(20, 3), (30, 2), (40, 8), (50, 7)], [], [2, 7]),
        ([(30, 4)], [(20, 8)], [4, 5, 6, 7]),
        ([(20, 8)], [(30, 4)], []),
        ([(20, 8), (30, 0)], [], [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_messages_are_rewound_where_a_leader_took_an_older_position_than_known(saved, persisted, rewound):
    one = known(saved=[(*step, EARLIER) for step in saved], persisted=persisted)
    assert [offset for offset in range(10) if one.passed_and_not_passed_after(offset)] == rewound


# --- the causes


@pytest.mark.parametrize("reported, found", [(5, "chunk_repeated"), (6, "progress_unreported")])
def test_reported_by_the_session_but_never_saved(reported, found):
    assert cause(reports=[(20, reported, ADA)]) == found


@pytest.mark.parametrize("saved, unreported", [(0, True), (4, True), (5, True), (6, False), (7, False)])
def test_saved_only_up_to_the_message_is_not_reported_to_a_leader(saved, unreported):
    found = cause(reports=[(20, 6, ADA)], saved=[(30, saved, EARLIER)])
    assert (found == "progress_unreported") is unreported


def test_saved_before_the_acknowledgement_is_no_record_of_it():
    assert cause(reports=[(20, 6, ADA)], saved=[(5, 6, EARLIER)]) == "progress_unreported"


@pytest.mark.parametrize("persisted", [None, 0, 4, 5])
def test_saved_by_an_earlier_leader_but_not_persisted(persisted):
    found = cause(
        reports=[(20, 6, ADA)],
        saved=[(30, 6, EARLIER)],
        persisted=[] if persisted is None else [(40, persisted)],
    )
    assert found == "progress_unpersisted"


def test_a_message_at_the_beginning_of_a_stream_can_be_unpersisted():
    assert cause(saved=[(30, 1, EARLIER)], offset=0) == "progress_unpersisted"
    assert cause(offset=0) == "chunk_repeated"


@pytest.mark.parametrize("saved, found", [(5, "chunk_repeated"), (6, "progress_unpersisted")])
def test_saved_elsewhere_up_to_the_message_only_is_not_unpersisted(saved, found):
    assert cause(saved=[(30, saved, EARLIER)]) == found


def test_acknowledged_after_the_decision_its_owner_was_declared_dead():
    assert cause(acknowledged=99) == "chunk_repeated"
    assert cause(acknowledged=101) == "owner_declared_dead"


def test_a_saved_position_was_rewound_by_a_leader():
    progress = {"reports": [(20, 6, ADA)], "persisted": [(35, 6)]}
    assert cause(saved=[(30, 6, EARLIER), (40, 4, LEADER)], **progress) == "progress_rewound"
    assert cause(saved=[(30, 6, EARLIER), (40, 6, LEADER)], **progress) == "leader_outdated"


def test_a_chunk_that_was_not_wholly_acknowledged_is_repeated():
    assert cause() == cause(reports=[(20, 5, ADA)]) == "chunk_repeated"
    assert cause(reports=[(20, 6, BEN)]) == "chunk_repeated", "not by the session that acknowledged"
    assert cause(reports=[(9, 6, ADA)]) == "chunk_repeated", "not after the acknowledgement"


def test_a_leader_that_does_not_know_what_is_persisted_is_outdated():
    assert cause(reports=[(20, 6, ADA)], saved=[(30, 6, EARLIER)], persisted=[(40, 6)]) == "leader_outdated"


@pytest.mark.parametrize("elsewhere", [4, 5])
def test_no_cause_is_an_error_with_the_rows_as_evidence(elsewhere):
    with pytest.raises(CountingError, match="no cause of a duplicate holds") as error:
        cause(
            reports=[(20, 6, ADA)],
            saved=[(25, elsewhere, EARLIER), (30, 6, LEADER)],
            persisted=[(40, 6)],
        )
    assert error.value.evidence == {"delivered": 120, "acknowledged": 10, "decided": 100}
