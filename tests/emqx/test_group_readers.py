"""Handovers, time without a reader and with two, from traces written by hand. Instants are us."""

import pytest

from simulator.protocols.emqx.verdicts.groups import percentiles
from simulator.trace.registry import NULL
from tests.emqx.group_trace import ADA, BEN, CYD, GroupTrace

FOUND, OVER = 100, 500


def readers(*changes, found=True, more=()):
    """A stream found at 100 us in a run of 500 us; changes of leases are (instant, client, state)."""
    one = GroupTrace()
    for number in range(300):
        one.trace.intern(f"name {number}")  # so that the clients have numbers as in a long run
    if found:
        one.at(FOUND).found()
    for at_us, act in sorted(
        [*((change[0], change[1:]) for change in changes), *more], key=lambda two: two[0]
    ):
        one.at(at_us)
        if callable(act):
            act(one)
        else:
            one.lease(*act)
    one.at(OVER).row("run.started")
    return one.counted()


def spans(counted):
    return (
        counted.handovers,
        counted.handover_us["max"],
        counted.unowned_us,
        counted.two_readers,
        counted.two_readers_us,
    )


def test_a_stream_without_a_reader_is_unowned_from_its_first_instant():
    assert spans(readers()) == (0, None, 400, 0, 0)
    assert spans(readers(found=False)) == (0, None, 0, 0, 0)


def test_a_reader_until_the_end_of_the_run_leaves_the_time_before_it():
    assert spans(readers((150, ADA))) == (0, None, 50, 0, 0)


def test_a_hand_over_takes_from_the_end_of_one_lease_to_the_next():
    counted = readers((150, ADA), (300, ADA, "absent"), (340, BEN))
    assert spans(counted) == (1, 40, 50 + 40, 0, 0)


def test_two_readers_at_once_hand_over_without_a_gap():
    assert spans(readers((150, ADA), (250, BEN), (300, ADA, "absent"))) == (1, 0, 50, 1, 50)
    assert spans(readers((150, ADA), (200, BEN))) == (1, 0, 50, 1, 300), "the first lease never ended"


def test_a_stream_read_before_it_was_found_was_never_unowned():
    counted = readers((50, ADA), found=False, more=[(100, lambda one: one.found())])
    assert spans(counted) == (0, None, 0, 0, 0)


def test_a_reader_from_the_first_instant_on_counts_from_there():
    one = GroupTrace()
    one.found()
    one.lease(ADA)
    one.at(3).lease(ADA, "absent")
    one.at(10).row("run.started")
    assert spans(one.counted()) == (0, None, 7, 0, 0)


def test_two_clients_hand_over_and_overlap_in_both_directions():
    there_and_back = readers((100, ADA), (200, ADA, "absent"), (200, BEN), (300, BEN, "absent"), (330, ADA))
    assert spans(there_and_back) == (2, 30, 30, 0, 0)
    overlapping = readers((100, ADA), (120, BEN), (150, ADA, "absent"), (200, ADA, "granted", 1))
    assert spans(overlapping) == (2, 0, 0, 2, 30 + 300)


def test_readers_late_in_a_long_row_overlap_too():
    """Four leases one after the other, then two at once."""
    changes = []
    for number, client in enumerate((ADA, BEN, ADA, BEN)):
        changes += [
            (100 + 50 * number, client, "granted", number),
            (150 + 50 * number, client, "absent", number),
        ]
    counted = readers(*changes, (300, ADA, "granted", 8), (400, BEN, "granted", 9))
    assert spans(counted) == (4 + 1, 0, 0, 1, 100)


def test_a_new_lease_of_the_same_client_is_neither_a_hand_over_nor_a_second_reader():
    assert spans(readers((150, ADA), (200, ADA, "granted", 1))) == (0, None, 50, 0, 0)
    assert spans(readers((150, ADA), (200, ADA, "absent"), (230, ADA, "granted", 1))) == (0, None, 80, 0, 0)


def test_three_readers_are_three_pairs_whose_time_counts_once():
    counted = readers((100, ADA), (200, BEN), (300, CYD), (350, BEN, "absent"), (400, ADA, "absent"))
    assert spans(counted) == (2, 0, 0, 3, 200)


def test_a_reader_that_begins_when_another_ends_is_no_second_one():
    assert spans(readers((100, ADA), (200, ADA, "absent"), (200, BEN))) == (1, 0, 0, 0, 0)


def test_a_lease_that_ends_as_it_begins_is_no_second_reader():
    assert spans(readers((100, ADA), (400, BEN), (400, BEN, "absent"))) == (1, 0, 0, 0, 0)


def test_after_its_end_a_stream_has_no_reader_and_needs_none():
    ended = [(400, lambda one: one.saved(NULL))]
    assert spans(readers((150, ADA), more=ended)) == (0, None, 50, 0, 0)
    assert spans(readers((150, ADA), (200, ADA, "absent"), more=ended)) == (0, None, 250, 0, 0)
    late = readers((150, ADA), (400, BEN), (450, CYD), more=ended)
    assert spans(late) == (2, 0, 50, 0, 0), "leases from its end on do not count as readers"


def test_a_stream_found_again_keeps_its_first_instant():
    again = [(200, lambda one: one.saved(NULL)), (300, lambda one: one.found())]
    assert spans(readers(more=again)) == (0, None, 400, 0, 0)


def test_a_group_that_was_destroyed_needs_no_reader_from_then_on():
    def destroy(one):
        one.row("group.destroyed", subscription="g")

    assert spans(readers(more=[(350, destroy)])) == (0, None, 250, 0, 0)
    ended_before = [(200, lambda one: one.saved(NULL)), (350, destroy)]
    assert spans(readers(more=ended_before)) == (0, None, 100, 0, 0)


@pytest.mark.parametrize("state, ended", [("gone", True), ("unsubscribing", True), ("connected", False)])
def test_a_lease_ends_with_its_borrower(state, ended):
    def change(one):
        one.row("borrower.changed", subscription="g", client=ADA, count=0, reason=state)

    assert spans(readers((100, ADA), more=[(450, change)])) == (0, None, 50 if ended else 0, 0, 0)


def test_a_lease_ends_once():
    changes = [(100, ADA), (200, ADA, "revoking"), (300, ADA, "absent"), (400, BEN)]
    assert spans(readers(*changes)) == (1, 200, 200, 0, 0)


@pytest.mark.parametrize(
    "values, p50, p95, largest",
    [
        ([], None, None, None),
        ([7], 7, 7, 7),
        ([9, 3], 3, 9, 9),
        ([3, 1, 2], 2, 3, 3),
        (list(range(20, 0, -1)), 10, 19, 20),
        (list(range(1, 22)), 11, 20, 21),
        (list(range(1, 101)), 50, 95, 100),
        (list(range(1, 1001)), 500, 950, 1000),
    ],
)
def test_percentiles_are_by_the_nearest_rank(values, p50, p95, largest):
    assert percentiles(values) == {"p50": p50, "p95": p95, "max": largest}
