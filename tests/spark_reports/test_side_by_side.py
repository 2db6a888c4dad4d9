"""Works that are done at the same time: where, with which job group, and what happens to their errors."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from spark_reports import tuning
from spark_reports.progress import Cancelled, NullProgress, Watch
from spark_reports.side_by_side import side_by_side

LIMIT_S = 60.0


class Listener(NullProgress):
    """Keeps the steps; `cancelled` cancels."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, str]] = []
        self.cancelled = False

    def step(self, number: int, of: int, name: str) -> None:
        self.steps.append((number, of, name))

    def cancel_wanted(self) -> bool:
        return self.cancelled


def short(spark: Any) -> Any:
    """The settings of a short trace."""
    return tuning.tuned(spark, 1)


def test_works_of_a_long_trace_are_done_one_after_the_other_in_this_thread() -> None:
    spark = SimpleNamespace(conf=SimpleNamespace(get=lambda _name, default: default))
    done: list[tuple[int, int]] = []
    side_by_side(
        spark, [lambda number=number: done.append((number, threading.get_ident())) for number in range(3)]
    )
    assert done == [(number, threading.get_ident()) for number in range(3)]


def test_works_of_a_short_trace_run_at_the_same_time(spark: Any) -> None:
    both = threading.Barrier(2, timeout=LIMIT_S)  # each work waits for the other one
    with short(spark):
        side_by_side(spark, [both.wait, both.wait])


def test_the_jobs_of_every_work_have_the_group_of_the_report(spark: Any) -> None:
    with short(spark), Watch(spark, Listener(), "both-lanes") as watch:
        watch.run(
            [[[("one", lambda: spark.range(3).collect())], [("two", lambda: spark.range(4).collect())]]]
        )
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("both-lanes")) == 2


def test_the_error_of_any_work_is_raised_after_all_have_ended(spark: Any) -> None:
    ended = threading.Event()

    def fail() -> None:
        raise KeyError("this one")

    with short(spark):
        with pytest.raises(KeyError, match="this one"):
            side_by_side(spark, [ended.set, fail])
        assert ended.is_set()
        ended.clear()
        with pytest.raises(KeyError, match="this one"):
            side_by_side(spark, [fail, ended.set])
        assert ended.is_set()


def test_steps_of_lanes_are_numbered_as_they_begin_and_stop_after_an_error(spark: Any) -> None:
    listener, other_began = Listener(), threading.Event()

    def fail() -> None:
        assert other_began.wait(LIMIT_S)
        raise KeyError("this one")

    with short(spark), pytest.raises(KeyError), Watch(spark, listener, "lanes") as watch:

        def wait() -> None:
            other_began.set()
            assert watch._failed.wait(LIMIT_S)

        watch.run(
            [
                ("first", lambda: None),
                [
                    [("fails", fail), ("never", lambda: None)],
                    [("waits", wait), ("never either", lambda: None)],
                ],
                ("nor this", lambda: None),
            ]
        )
    assert [(number, of) for number, of, _name in listener.steps] == [(1, 6), (2, 6), (3, 6)]
    assert {name for _number, _of, name in listener.steps} == {"first", "fails", "waits"}


def test_a_cancel_ends_every_lane(spark: Any) -> None:
    listener = Listener()

    def cancel() -> None:
        listener.cancelled = True

    with short(spark), pytest.raises(Cancelled), Watch(spark, listener, "cancelled") as watch:
        watch.run(
            [
                [[("cancels", cancel), ("never", lambda: None)], [("other", lambda: None)]],
                ("nor this", lambda: None),
            ]
        )
    assert not {"never", "nor this"} & {name for _number, _of, name in listener.steps}
