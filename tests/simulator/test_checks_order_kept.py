"""First occurrences of each producer's messages keep their order in every log."""

from hypothesis import given
from hypothesis import strategies as st

from simulator.checks.checks import CLAIMS, Checks
from simulator.trace.registry import NULL
from tests.simulator.written_trace import WrittenTrace, scenario


def log_of(numbers, cluster="b", peer="a"):
    written = WrittenTrace()
    for entry, number in enumerate(numbers):
        written.stored(cluster, number, entry, peer=peer)
    return written


def violations(written):
    return Checks(scenario()).read(written.trace)


def test_order_with_gaps_has_no_violations():
    assert violations(log_of([0, 2, 5, 9])) == []


def test_a_repeated_sequence_has_no_violations():
    assert violations(log_of([0, 1, 2, 3, 1, 2, 3, 4])) == []


def test_a_first_occurrence_after_a_later_message_is_a_violation():
    (broken,) = violations(log_of([0, 2, 1, 3]))
    assert (broken.claim, broken.seq) == (CLAIMS[3], 2)
    assert broken.reason == "web/1 is first in the log of orders at b after web/2"


def test_a_late_message_is_reported_once():
    assert len(violations(log_of([0, 2, 1, 3, 1]))) == 1


def test_producers_are_checked_independently():
    written = WrittenTrace()
    written.stored("a", 5, 0, producer="web")
    written.stored("a", 1, 1, producer="api")
    assert violations(written) == []


def test_messages_left_behind_by_a_moved_producer_may_arrive_later():
    """web/3 and web/4 stayed in a when it crashed; web continued in b; a restarted."""
    written = WrittenTrace()
    for entry, (number, peer) in enumerate([(2, "a"), (5, NULL), (6, NULL), (3, "a"), (4, "a")]):
        written.stored("b", number, entry, peer=peer)
    assert violations(written) == []


def test_a_new_replication_cursor_may_send_what_the_old_one_skipped():
    written = log_of([0, 5])
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    for entry, number in enumerate([0, 1, 5], start=2):
        written.stored("b", number, entry, peer="a")
    assert violations(written) == []


@given(st.lists(st.integers(0, 8), max_size=12))
def test_violations_agree_with_a_plain_search_for_first_occurrences(numbers):
    firsts = list(dict.fromkeys(numbers))
    late = [number for place, number in enumerate(firsts) if number < max(firsts[:place], default=-1)]
    assert [numbers.index(number) for number in late] == [
        broken.seq for broken in violations(log_of(numbers))
    ]
