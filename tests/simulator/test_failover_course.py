"""A failover's phases and AutoClusterFailover's probing as state machines.

Every move in their tables, and their invariants.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.failover.failover import (
    AUTO,
    BEGUN,
    CLOSING,
    COURSE_MOVES,
    CRASH,
    DRAIN_POLL_US,
    DRAINED,
    DRAINING,
    MOVED,
    PLANNED,
    PRIMARY,
    PROBING_MOVES,
    SECONDARY,
    Close,
    Course,
    Kill,
    Look,
    Move,
    Probe,
    Probing,
    Redirect,
    StopProducers,
    SwitchTo,
)

LIMIT_US = 250_000
SECOND = 1_000_000


def course(mode, stops_producers=False):
    """A mode is read from a scenario file: equal to the constant, not the same object."""
    return Course("".join(mode), stops_producers, LIMIT_US)


@pytest.mark.parametrize(("mode", "before"), [(CRASH, Kill), (AUTO, Redirect)])
def test_a_crash_failover_moves_at_once(mode, before):
    """Consumers are killed, or those that run are redirected."""
    one = course(mode)
    assert [type(effect) for effect in one.begin(7)] == [before, Move] and one.state == MOVED


def test_a_planned_failover_waits_for_every_consumer():
    one = course(PLANNED)
    assert one.begin(7) == [Close()] and one.state == CLOSING
    assert one.closing(["x", "y"]) == [] and one.closed("y") == [] and one.state == CLOSING
    assert one.closed("x") == [Move()] and one.state == MOVED


def test_a_failover_without_consumers_moves_at_once():
    one = course(PLANNED)
    one.begin(7)
    assert one.closing([]) == [Move()] and one.state == MOVED


@pytest.mark.parametrize("stops_producers", [False, True])
def test_a_drained_failover_polls_until_no_duplicates_are_forecast(stops_producers):
    one = course(DRAINED, stops_producers)
    assert one.begin(7) == [*([StopProducers()] if stops_producers else []), Look(7)]
    assert one.looked(3, 7) == [Look(7 + DRAIN_POLL_US)] and one.state == DRAINING
    assert one.looked(0, 7 + DRAIN_POLL_US) == [Close()] and one.state == CLOSING


def test_a_drained_failover_polls_for_the_last_time_at_its_limit():
    one, begin_us = course(DRAINED), 3_333_333
    one.begin(begin_us)
    looks = [begin_us]
    while (effects := one.looked(1, looks[-1])) != [Close()]:
        looks.append(effects[0].at_us)
    assert looks == [begin_us + after_us for after_us in (0, 100_000, 200_000, 250_000)]


WALKED = {
    (BEGUN, DRAINING): (DRAINED, ()),
    (BEGUN, CLOSING): (PLANNED, ()),
    (BEGUN, MOVED): (CRASH, ()),
    (DRAINING, CLOSING): (DRAINED, ("looked",)),
    (CLOSING, MOVED): (PLANNED, ("closing",)),
}


def test_the_table_has_all_moves_and_no_others():
    assert {(before, after) for before, moves in COURSE_MOVES.items() for after in moves} == set(WALKED)


@pytest.mark.parametrize(("before", "after"), WALKED, ids=[f"{a} to {b}" for a, b in WALKED])
def test_each_move_happens(before, after):
    mode, inputs = WALKED[before, after]
    one = course(mode)
    states = [one.state]
    one.begin(0)
    states.append(one.state)
    for name in inputs:
        one.looked(0, 0) if name == "looked" else one.closing([])
        states.append(one.state)
    assert states[-2:] == [before, after]


@pytest.mark.parametrize("before", COURSE_MOVES)
@pytest.mark.parametrize("after", COURSE_MOVES)
def test_any_other_move_is_an_internal_error(before, after):
    one = Course(PLANNED, False, 0, before)
    if after in COURSE_MOVES[before]:
        one.become(after)
    else:
        with pytest.raises(AssertionError, match="no move of a failover"):
            one.become(after)


# --- AutoClusterFailover


def checked(probing, up, now):
    """A check whose probes take no time; returns the service to move to, None to stay."""
    step = probing.check(now)
    while isinstance(step, Probe):
        step = probing.answered(up[step.service], now)
    return step.service if step is not None else None


def test_a_failure_begins_when_its_probe_ends_and_health_when_its_probe_begins():
    """`failedTimestamp` is taken after the probe of the service in use, `recoverTimestamp` before the one back."""
    probing = Probing(2 * SECOND, 3 * SECOND, True)
    assert probing.check(0) == Probe(PRIMARY) and probing.answered(False, 30 * SECOND) is None
    assert probing.check(30 * SECOND) == Probe(PRIMARY)
    assert probing.answered(False, 60 * SECOND) == Probe(SECONDARY)
    assert probing.answered(True, 61 * SECOND) == SwitchTo(SECONDARY)
    assert probing.check(62 * SECOND) == Probe(SECONDARY)
    assert probing.answered(True, 62 * SECOND) == Probe(PRIMARY)
    assert probing.answered(True, 77 * SECOND) is None and probing.healthy_us == 62 * SECOND


def test_a_secondary_that_does_not_answer_is_followed_by_the_probe_back():
    probing = Probing(2 * SECOND, 3 * SECOND, True, SECONDARY)
    assert probing.check(0) == Probe(SECONDARY)
    assert probing.answered(False, SECOND) == Probe(PRIMARY) and probing.failed_us == SECOND
    assert probing.answered(False, SECOND) is None


def test_probing_fails_over_after_the_delay_and_switches_back_after_the_other():
    probing = Probing(2 * SECOND, 3 * SECOND, True)
    down, both = {PRIMARY: False, SECONDARY: True}, {PRIMARY: True, SECONDARY: True}
    answers = [both, down, down, down, both, both, both, both, both]
    found = [checked(probing, up, at * SECOND) for at, up in enumerate(answers)]
    assert found == [None, None, None, SECONDARY, None, None, None, PRIMARY, None]


@pytest.mark.parametrize(
    ("in_use", "answers", "moves_to"),
    [
        (PRIMARY, {PRIMARY: False, SECONDARY: True}, SECONDARY),
        (SECONDARY, {PRIMARY: True, SECONDARY: True}, PRIMARY),
        (SECONDARY, {PRIMARY: True, SECONDARY: False}, PRIMARY),
    ],
)
def test_each_delay_counts_from_the_first_probe_with_that_answer(in_use, answers, moves_to):
    """PIP-121: `failedTimestamp` and `recoverTimestamp` are the instants of the first such probe."""
    probing = Probing(3 * SECOND, 3 * SECOND, True, in_use)
    assert [checked(probing, answers, at * SECOND) for at in range(1, 5)] == [None, None, None, moves_to]


def test_a_single_success_restarts_the_delay():
    probing = Probing(2 * SECOND, 3 * SECOND, True)
    answers = [False, False, True, False, False, False]
    found = [checked(probing, {PRIMARY: up, SECONDARY: True}, at * SECOND) for at, up in enumerate(answers)]
    assert found == [None, None, None, None, None, SECONDARY]


def test_it_stays_while_neither_service_answers():
    probing = Probing(0, 0, True)
    neither = {PRIMARY: False, SECONDARY: False}
    assert [checked(probing, neither, at) for at in range(4)] == [None] * 4 and probing.in_use == PRIMARY


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40),
    st.integers(0, 4),
    st.integers(0, 4),
    st.booleans(),
)
def test_it_moves_only_to_a_service_that_answers_and_never_before_the_delay(
    answers, failover_delay, switch_back_delay, switches_back
):
    probing = Probing(failover_delay, switch_back_delay, switches_back)
    up_or_down = []
    for now, (primary, secondary) in enumerate(answers):
        up = {PRIMARY: primary, SECONDARY: secondary}
        up_or_down.append(up)
        before = probing.in_use
        to = checked(probing, up, now)
        assert probing.in_use == (to or before)
        if to is None:
            continue
        assert to in PROBING_MOVES[before] and up[to]
        failed = all(not one[before] for one in up_or_down[-1 - failover_delay :])
        healthy = all(one[PRIMARY] for one in up_or_down[-1 - switch_back_delay :])
        assert failed or (to == PRIMARY and switches_back and healthy)
