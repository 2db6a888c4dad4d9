"""The state machine of a migration: every input in every state, and every move of a step."""

from __future__ import annotations

from collections import deque
from copy import copy

import pytest

from simulator.protocols.pulsar.migration.run import (
    ACTIONS,
    CLEAN_UP,
    ENDED,
    RUN_MOVES,
    STEP_MOVES,
    STEPS,
    STRATEGIES,
    End,
    IllegalMove,
    Rest,
    Run,
    Step,
    Work,
)

INPUTS = ("begin", "done", "fail", "pause", "resume", "hurry", "roll-back", "undo", "undone")


def standing(run):
    return run.state, run.at, tuple((step.state, bool(step.attempts)) for step in run.steps)


def every_move(strategy):
    """(run before, input, run after, effects) of every legal move; effects and run after None if illegal."""
    first = Run("acme", "blue", "green", strategy, CLEAN_UP)
    known, left = {standing(first)}, deque([first])
    while left:
        before = left.popleft()
        for given in INPUTS:
            after = copy(before)
            after.steps = [copy(step) for step in before.steps]
            try:
                effects = after.take(given, 1, "a reason")
            except IllegalMove:
                assert standing(after) == standing(before)
                yield before, given, None, None
                continue
            yield before, given, after, effects
            if standing(after) not in known:
                known.add(standing(after))
                left.append(after)


@pytest.fixture(scope="module", params=STRATEGIES)
def moves(request):
    return list(every_move(request.param))


def test_each_input_of_the_table_has_one_function():
    assert {given for _state, given in RUN_MOVES} == set(ACTIONS)


def test_runs_take_every_move_of_both_tables_and_no_other(moves):
    taken = {(before.state, after.state) for before, _given, after, _effects in moves if after is not None}
    assert taken == {(before, after) for (before, _given), after in RUN_MOVES.items()}
    steps = {
        (one.state, other.state)
        for before, _given, after, _effects in moves
        if after is not None
        for one, other in zip(before.steps, after.steps, strict=True)
        if one.state != other.state
    }
    # a step that is begun and paused in one move, when rolling back a forced switch
    in_one_move = {("waiting", "paused")}
    possible = {(before, after) for (before, _given), after in STEP_MOVES.items()}
    assert steps <= possible | in_one_move


def test_a_finished_migration_takes_no_input(moves):
    assert not [given for before, given, after, _effects in moves if before.state in ENDED and after]


def test_a_run_ends_once_and_does_not_work_on_a_paused_step(moves):
    for before, given, after, effects in moves:
        if after is None:
            continue
        assert (effects.count(End()) == 1) == (after.state in ENDED)
        for effect in effects:
            assert isinstance(effect, End) or effect.step in STEPS
        if given in ("fail", "hurry", "roll-back"):
            assert effects[0] == Rest(before.step.name)
        if after.state == "running" and given != "done":
            assert effects[-1] == Work(after.step.name) and after.step.state == "running"


@pytest.mark.parametrize("state", sorted({state for state, _given in STEP_MOVES} | {"skipped", "undone"}))
@pytest.mark.parametrize("given", sorted({given for _state, given in STEP_MOVES}))
def test_a_step_moves_as_its_table_says(state, given):
    step = Step("switch", state)
    if (state, given) in STEP_MOVES:
        step.take(given, 1)
        assert step.state == STEP_MOVES[state, given]
    else:
        with pytest.raises(IllegalMove, match=f"step switch is {state}: {given} is not a move"):
            step.take(given, 1)
        assert step.state == state


def run_through(last_done, strategy="acknowledgement-sync"):
    """A migration whose steps up to this one are done, and the steps that it worked on, in order."""
    run, worked = Run("acme", "blue", "green", strategy, CLEAN_UP), []
    while last_done not in worked:
        worked += [effect.step for effect in run.take("begin", 1)]
        run.take("done", 2)
    return run, worked


def undone_steps(run):
    """The steps that a roll-back undoes, in order."""
    run.take("roll-back", 3)
    undone = []
    while run.state not in ENDED:
        undone.append(run.step.name)
        run.take("undo", 4)
        run.take("undone", 5)
    return undone


def test_the_steps_are_worked_on_in_order():
    run, worked = run_through(CLEAN_UP)
    assert tuple(worked) == STEPS and run.state == "finished"


@pytest.mark.parametrize("last", range(len(STEPS) - 1))
def test_a_roll_back_undoes_the_steps_in_reverse_order(last):
    run, _worked = run_through(STEPS[last])
    assert undone_steps(run) == list(reversed(STEPS[: last + 1])) and run.rolled_back


def test_a_roll_back_skips_the_steps_that_the_strategy_skipped():
    run, _worked = run_through("switch", "blue-green")
    assert undone_steps(run) == ["switch", "metadata"]


def test_once_clean_up_has_begun_there_is_no_roll_back():
    run, _worked = run_through("switch")
    assert run.may("roll-back")
    run.take("begin", 3)
    assert run.step.name == CLEAN_UP and not run.may("roll-back")


def test_a_step_resumed_after_a_pause_makes_no_new_attempt():
    step, attempts = Step("topic-data"), []
    for at_us, given in enumerate(("begin", "pause", "begin", "fail", "begin", "done"), start=10):
        step.error = "a reason" if given == "fail" else step.error
        step.take(given, at_us)
        attempts.append(step.attempts)
    assert attempts == [1, 1, 1, 1, 2, 2]
    assert (step.started_us, step.finished_us, step.error) == (10, 15, None)


def test_a_pause_affects_only_a_running_step():
    run, _worked = run_through("metadata")
    assert run.take("pause", 3) == [] and run.take("resume", 4) == []
    run.take("begin", 5)
    assert run.take("pause", 6) == [Rest("topic-data")] and run.step.state == "paused"
    assert run.take("resume", 7) == [Work("topic-data")]


def test_a_forced_switch_pauses_the_step_before_and_a_roll_back_finishes_the_skipped_steps():
    run, _worked = run_through("metadata")
    run.take("begin", 3)
    assert run.take("hurry", 4) == [Rest("topic-data"), Work("switch")]
    assert [step.state for step in run.steps] == ["done", "paused", "waiting", "running", "waiting"]
    assert run.take("roll-back", 5) == [Rest("switch"), Work("consumption-progress")]


def test_a_roll_back_before_the_switch_finishes_no_skipped_steps():
    run, _worked = run_through("metadata")
    assert run.take("roll-back", 3) == [Rest("topic-data")]


def test_steps_begin_automatically_up_to_the_last_step_given():
    run, automatic = Run("acme", "blue", "green", "acknowledgement-sync", "topic-data"), []
    for _step in STEPS:
        automatic.append(run.automatic)
        run.take("begin", 1)
        run.take("done", 2)
    assert automatic == [True, True, False, False, False]
