"""Queued jobs: order, bounds, and seeks of which only the newest is worth executing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from visualizer.labs.waiting import GRACE_S, JOBS_WAITING, Waiting
from visualizer.labs.work import Job
from visualizer.live.wire import Refused

SLICE_S = 0.01


class Line:
    """Jobs of so many slices each; records which ended and which were cancelled."""

    def __init__(self) -> None:
        self.waiting, self.now_s = Waiting(), 100.0
        self.ended: list[str] = []
        self.given_up: list[str] = []

    def add(self, name: str, slices: int, replaceable: bool = False) -> None:
        def work() -> Iterator[None]:
            try:
                for _ in range(slices):
                    yield None
            except GeneratorExit:
                self.given_up.append(name)
                raise

        self.waiting.add(
            Job(
                work(),
                lambda _: self.ended.append(name),
                lambda why: self.ended.append(why.code),
                replaceable=replaceable,
            )
        )

    def run(self, slices: int = 10_000) -> None:
        while self.waiting and slices:
            self.waiting.slice(self.now_s)
            self.now_s += SLICE_S
            slices -= 1


def test_jobs_are_done_in_order():
    line = Line()
    for name in "abc":
        line.add(name, 3)
    line.run()
    assert line.ended == ["a", "b", "c"]


def test_of_queued_seeks_only_the_newest_is_executed():
    line = Line()
    for number in range(50):
        line.add(f"seek {number}", 3, replaceable=True)
    line.run()
    assert line.ended == ["seek 49"]


def test_a_seek_followed_by_another_job_is_executed():
    line = Line()
    line.add("seek", 3, replaceable=True)
    line.add("command", 1)
    line.add("later", 3, replaceable=True)
    line.add("last", 3, replaceable=True)
    line.run()
    assert line.ended == ["seek", "command", "last"]


def test_dragging_shows_instants_in_between_when_seeks_are_fast():
    """Every 30 ms a newer one, each takes 100 ms: those being executed are finished, those between are
    dropped.
    """
    line = Line()
    for number in range(40):
        line.add(f"seek {number}", 10, replaceable=True)
        line.run(3)
    line.run()
    assert line.ended[-1] == "seek 39" and len(line.ended) >= 10


def test_a_long_seek_is_cancelled_for_the_newest_one():
    line = Line()
    line.add("far", 10_000, replaceable=True)
    line.run(5)
    line.add("near", 3, replaceable=True)
    line.run(int(GRACE_S / SLICE_S) + 10)
    assert line.given_up == ["far"] and line.ended == ["near"]


def test_too_many_jobs_are_refused_and_all_are_notified_when_the_lab_ends():
    line = Line()
    for number in range(JOBS_WAITING):
        line.add(str(number), 1)
    with pytest.raises(Refused, match="requests wait"):
        line.add("one more", 1)
    line.waiting.give_up(Refused("moved", "It moves.", "Try again."))
    assert line.ended == ["moved"] * JOBS_WAITING and not line.waiting
