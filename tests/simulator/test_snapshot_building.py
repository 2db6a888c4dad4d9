"""The pending snapshots of a controller as a state machine.

Every move in its table, and its invariants.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.snapshots.controller import (
    ABANDONED,
    ANSWERING,
    BUILDER_MOVES,
    CLOSED,
    COMPLETED,
    CONTROLLER_MOVES,
    FIRST_ROUND,
    PARTIAL,
    SECOND_ROUND,
    TICKING,
    TIMED_OUT,
    Abandon,
    Answered,
    Builder,
    Building,
    Complete,
    Ignore,
    Refuse,
    Request,
    TimeOut,
)
from simulator.protocols.pulsar.snapshots.rules import DISCONNECTED, NO_NEW_DATA, PENDING, Facts
from tests.simulator.engine_runs import run
from tests.simulator.test_engine_snapshots import body

ENDED = (COMPLETED, TIMED_OUT, ABANDONED)
READY = Facts(("b", "c"), True, 1, False)
TIMEOUT_MS = 30_000


def pending(*remotes):
    building = Building(TIMEOUT_MS, 0)
    building.tick(READY._replace(remotes=remotes), 1, 0)
    return building, building.pending[1]


def answered_by_all(building):
    for cluster in "bc":
        building.answer(1, cluster, (1, 1), False)


WAYS = {
    (FIRST_ROUND, SECOND_ROUND): answered_by_all,
    (FIRST_ROUND, COMPLETED): lambda one: (one.answer(1, "b", (1, 1), False), one.finish_partial(1, False)),
    (FIRST_ROUND, TIMED_OUT): lambda one: one.tick(READY, 2, (TIMEOUT_MS + 1) * 1000),
    (FIRST_ROUND, ABANDONED): lambda one: one.close(),
    (SECOND_ROUND, COMPLETED): answered_by_all,
    (SECOND_ROUND, TIMED_OUT): lambda one: one.tick(READY, 2, (TIMEOUT_MS + 1) * 1000),
    (SECOND_ROUND, ABANDONED): lambda one: one.close(),
}


def test_the_table_has_all_moves_and_no_others():
    assert {(before, after) for before, moves in BUILDER_MOVES.items() for after in moves} == set(WAYS)
    assert all(BUILDER_MOVES[state] == {} for state in ENDED)


@pytest.mark.parametrize(("before", "after"), WAYS, ids=[f"{a} to {b}" for a, b in WAYS])
def test_each_move_happens(before, after):
    building, builder = pending("b", "c")
    if before == SECOND_ROUND:
        WAYS[FIRST_ROUND, SECOND_ROUND](building)
    assert builder.state == before
    WAYS[before, after](building)
    assert builder.state == after
    assert (1 in building.pending) == (after not in ENDED)


@pytest.mark.parametrize("before", BUILDER_MOVES)
@pytest.mark.parametrize("after", BUILDER_MOVES)
def test_any_other_move_is_an_internal_error(before, after):
    builder = Builder(1, 0, ("b", "c"), ["b", "c"], before)
    if after in BUILDER_MOVES[before]:
        builder.become(after)
    else:
        with pytest.raises(AssertionError, match="no move of a builder"):
            builder.become(after)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (READY._replace(data_timestamp_ms=0), NO_NEW_DATA),
        (READY._replace(remotes=()), DISCONNECTED),
        (READY._replace(all_connected=False), DISCONNECTED),
        (READY._replace(data_timestamp_ms=0, all_connected=False), NO_NEW_DATA),
    ],
)
def test_a_tick_without_a_request_has_a_reason(facts, reason):
    building = Building(TIMEOUT_MS, 0)
    assert building.tick(facts, 1, 0) == [Refuse(reason)] and building.pending == {}


def test_no_second_snapshot_is_requested_until_one_is_completed():
    building, _builder = pending("b")
    assert building.tick(READY, 2, 1_000_000) == [Refuse(PENDING)]
    building.answer(1, "b", (1, 1), False)
    assert building.tick(READY, 2, 2_000_000) == [Request(2, 1)]
    assert building.tick(READY, 3, 3_000_000) == [Request(3, 1)]


def begun_at(at_us, partial_after_us=0):
    """A snapshot of one remote that was requested at this instant, as number 1."""
    building = Building(TIMEOUT_MS, partial_after_us)
    building.tick(READY._replace(remotes=("b",), data_timestamp_ms=at_us // 1000), 1, at_us)
    return building


def test_the_second_round_begins_with_the_last_answer_of_the_first():
    building, builder = pending("b", "c")
    assert building.answer(1, "b", (1, 1), False) == [Answered(1, 1)] and builder.round == 1
    assert building.answer(1, "c", (1, 1), False) == [Answered(1, 1), Request(1, 2)] and builder.round == 2
    assert building.answer(1, "c", (1, 2), False) == [Answered(1, 2)]


def test_a_snapshot_times_out_in_the_first_whole_millisecond_after_the_timeout():
    building = begun_at(2_500_999)
    assert building.tick(READY, 2, 32_500_999) == [Refuse(PENDING)]
    assert building.tick(READY, 2, 32_501_000) == [TimeOut(1), Request(2, 1)]


def test_a_completed_snapshot_counts_from_the_millisecond_of_its_request():
    building = begun_at(2_500_999)
    building.answer(1, "b", (1, 1), False)
    assert building.last_completed_ms == 2_500
    assert building.refusal(READY._replace(data_timestamp_ms=2_499)) == NO_NEW_DATA
    assert building.refusal(READY._replace(data_timestamp_ms=2_500)) is None


def test_a_partial_snapshot_is_written_after_its_time_and_not_before():
    building = begun_at(1_000_000, partial_after_us=2_000_000)
    building.answer(1, "c", (7, 7), False)
    assert building.tick(READY, 2, 2_999_999) == [Refuse(PENDING)]
    assert building.tick(READY._replace(terminated=True), 2, 3_000_000) == [Refuse(PENDING)]
    assert building.tick(READY, 2, 3_000_000)[0] == Complete(1, 1_000_000, (("c", 7, 7),), PARTIAL)


def test_an_old_snapshot_without_an_answer_is_not_written():
    building = begun_at(3_000_000, partial_after_us=2_000_000)
    assert building.tick(READY, 2, 9_000_000) == [Refuse(PENDING)]


def test_without_the_option_an_old_snapshot_stays_pending():
    building, _builder = pending("b", "c")
    building.answer(1, "b", (1, 1), False)
    assert building.tick(READY, 2, 9_000_000) == [Refuse(PENDING)]


def test_only_the_option_for_partial_snapshots_lets_a_tick_pass_with_a_lost_connection():
    assert Building(TIMEOUT_MS, 2_000_000).refusal(READY._replace(all_connected=False)) is None


def test_a_terminated_topic_completes_nothing():
    building, builder = pending("b")
    assert building.answer(1, "b", (1, 1), True) == [Answered(1, 1)]
    assert building.finish_partial(1, True) == [] and builder.state == FIRST_ROUND


INPUTS = st.one_of(
    st.tuples(st.just("tick"), st.booleans(), st.integers(0, 40_000)),
    st.tuples(st.just("answer"), st.integers(1, 4), st.sampled_from("bcd")),
    st.tuples(st.just("finish"), st.integers(1, 4)),
    st.just(("close",)),
)


@given(st.lists(INPUTS, max_size=40), st.integers(1, 3), st.sampled_from([0, 2_000_000]))
def test_each_snapshot_ends_once_and_completes_only_with_answers(inputs, remote_count, partial_after_us):
    remotes = tuple("bcd"[:remote_count])
    building, now_us, number, ended, answers = Building(TIMEOUT_MS, partial_after_us), 0, 1, {}, {}
    for entry, (kind, *rest) in enumerate(inputs):
        if kind == "tick":
            connected, after_ms = rest
            now_us += after_ms * 1000
            effects = building.tick(Facts(remotes, connected, now_us // 1000 + 1, False), number, now_us)
            number += any(isinstance(effect, Request) for effect in effects)
        elif kind == "answer" and rest[1] in remotes:
            effects = building.answer(rest[0], rest[1], (now_us, entry), False)
            if not any(isinstance(effect, Ignore) for effect in effects):
                answers.setdefault(rest[0], {}).setdefault(rest[1], []).append((now_us, entry))
        elif kind == "finish" and rest[0] in building.pending:
            effects = building.finish_partial(rest[0], False)
        else:
            effects = building.close() if kind == "close" else []
        for effect in effects:
            if isinstance(effect, (TimeOut, Abandon, Complete)):
                assert effect.snapshot not in ended, "a snapshot ended twice"
                ended[effect.snapshot] = effect
    for effect in ended.values():
        if isinstance(effect, Complete):
            given_answers = answers[effect.snapshot]
            assert effect.answers == tuple((name, *given_answers[name][0]) for name in sorted(given_answers))
            if effect.how == "full":
                rounds = 2 if remote_count > 1 else 1
                assert sorted(given_answers) == list(remotes)
                assert all(len(several) >= rounds for several in given_answers.values())
    assert set(building.pending).isdisjoint(ended)


def test_a_controller_moves_as_its_table_says():
    assert CONTROLLER_MOVES.keys() == {ANSWERING, TICKING, CLOSED}
    world = run(body())
    controller = world.runtime.clusters["a"].topics["t"].controller
    assert controller.state == TICKING
    with pytest.raises(AssertionError, match="no move of a controller"):
        controller.start("again", 0)
    controller.close("not-needed", 0)
    assert controller.state == CLOSED and controller.pending == {}
    with pytest.raises(AssertionError, match="no move of a controller"):
        controller.close("again", 0)
