"""Which batches of a sweep are missing, and how they are cut into rounds and tasks."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.experiments import read_experiment_text
from spark_reports.experiments.store import PHASES_MOST, TASKS_MOST, Pace, Plan, batches_of
from tests.spark_reports.sweeps import small


def test_rounds_grow_within_bounds_and_a_tasks_batches_last_half_a_second() -> None:
    pace = Pace()
    assert pace.batches(8) == 8 and pace.chunks(list(range(8)), 8) == [[number] for number in range(8)]
    pace.measured(8, 1.0, 8)
    assert pace.batch_s == 1.0
    assert pace.batches(8) == 32, "no more than four times as many as before"
    pace.measured(32, 0.4, 8)
    assert pace.batch_s == pytest.approx(0.1)
    assert pace.batches(8) == 128
    chunks = pace.chunks(list(range(128)), 8)
    assert {len(chunk) for chunk in chunks} <= {4, 5} and sorted(sum(chunks, [])) == list(range(128))
    pace.measured(128, 16 * 0.3, 8)
    assert pace.batch_s == pytest.approx(0.2), "the average of 0.1 and 0.3"
    assert pace.left_s(80, 8) == pytest.approx(2.0) and pace.left_s(3, 8) == pytest.approx(0.2)
    pace.measured(8, 10_000.0, 8)
    assert pace.batches(8) == 8, "at least one for each core"


def test_rounds_of_a_long_sweep_last_a_minute() -> None:
    pace = Pace()
    for _ in range(50):
        pace.measured(8_000, 100.0, 8)
    assert pace.batches(8) == 4_800


def test_an_estimate_outlives_the_slow_first_round() -> None:
    pace = Pace(0.5)
    assert pace.left_s(100, 2) == 25.0 and pace.batches(2) == 2
    pace.measured(2, 8.0, 2)
    assert pace.batch_s == 0.5
    pace.measured(8, 8.0, 2)
    assert pace.batch_s == 2.0


def test_a_batch_of_many_phases_is_cut_and_each_run_is_in_one_part() -> None:
    experiment = read_experiment_text(
        f"format: 1\nname: phases\nscenario: region-down\nseeds: [3, 8]\nphases: {2 * PHASES_MOST + 1}\n"
    )
    plan = Plan(experiment)
    assert [len(batch.phases) for batch in plan.batches] == [67, 67, 67] * 2
    assert list(plan.first_runs) == [0, 67, 134, 201, 268, 335] and plan.sizes.sum() == experiment.runs
    finished = np.zeros(experiment.runs, np.bool_)
    finished[:134] = True
    assert plan.missing(finished) == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("chunks", "cores", "sizes"),
    [
        ([[0], [1]], 2, [[3], [3]]),
        ([[0, 1], [2]], 2, [[3, 3], [3]]),
        ([[0, 1]], 2, [[3, 3]]),
        ([[0]], 2, [[1], [2]]),
        ([[0], [1]], 3, [[1], [2], [1], [2]]),
        ([[2]], 16, [[1], [1], [1]]),
    ],
)
def test_phases_are_spread_over_cores_that_would_be_idle(
    chunks: list[list[int]], cores: int, sizes: list[list[int]]
) -> None:
    plan = Plan(small())
    tasks = batches_of(plan, chunks, cores)
    assert [[len(batch.phases) for batch in task] for task in tasks] == sizes
    runs = [batch.first_run + phase for task in tasks for batch in task for phase in batch.phases]
    assert runs == [run for chunk in chunks for number in chunk for run in range(3 * number, 3 * number + 3)]


def test_a_batch_is_missing_unless_all_its_runs_are_finished() -> None:
    plan = Plan(small())
    finished = np.ones(12, np.bool_)
    assert plan.missing(finished) == []
    finished[[5, 7]] = False
    assert plan.missing(finished) == [2, 1], "seed by seed"
    assert plan.limited([0, 2, 1, 3], 4) == [0, 2] and plan.limited([0, 2], 99) == [0, 2]
    assert plan.runs_of([0, 2]) == 6


def test_a_round_lasts_a_twentieth_of_the_time_since_the_start() -> None:
    pace = Pace()
    pace.measured(219, 219.0, 1)
    assert pace.batch_s == 1.0 and pace.batches(1) == 10, "10.95 s"


def test_a_round_has_whole_batches_for_each_core() -> None:
    pace = Pace()
    pace.measured(30, 9.0, 3)
    assert pace.batch_s == pytest.approx(0.9) and pace.batches(3) == 15, "not 16"
    instant = Pace()
    instant.measured(2, 0.0, 2)
    assert instant.batches(2) == 8, "four times as many, whatever a clock says"


def test_before_the_first_measurement_each_batch_is_a_task_up_to_the_most() -> None:
    pace = Pace()
    assert pace.left_s(3, 2) is None
    assert pace.chunks([4, 5, 6, 7, 8], 2) == [[4], [5], [6], [7], [8]]
    assert TASKS_MOST == 10_000 and len(pace.chunks(range(TASKS_MOST + 1), 2)) == TASKS_MOST


def test_tasks_are_no_more_than_their_batches_need() -> None:
    assert Pace(0.25).chunks([0, 1, 2, 3], 1) == [[0, 2], [1, 3]]
    assert Pace(0.25).chunks([0, 1, 2, 3, 4], 1) == [[0, 3], [1, 4], [2]]
    assert Pace(2.0).chunks([0, 1, 2], 1) == [[0], [1], [2]], "a batch is not cut here"


def test_the_last_batches_take_the_time_of_one_and_then_nothing_is_left() -> None:
    assert Pace(0.5).left_s(1, 8) == 0.5
    assert Pace(0.5).left_s(0, 2) == 0.0
