"""A lab in the middle of a long instant shows the last complete one, and other labs continue.

What is measured is work in one turn of the pump, rows and queue events, not time.
"""

from __future__ import annotations

from typing import Any

import pytest

from simulator import World, load_scenario_text
from simulator.scenarios.limits import PUBLISHED_AT_ONCE_MAX
from visualizer.labs import jobs
from visualizer.labs.session import Session
from visualizer.labs.work import MOST_EVENTS, Job
from visualizer.live.wire import Refused
from visualizer.questions.question import QUESTIONS

ROWS_OF_A_TURN = 8_000
"""A slice of 1,000 queue events, as `took` sets below, writes fewer rows.

The whole instant writes 40 times as many.
"""

BODY = """{{format: 1, name: x, title: x, family: replicated-subscriptions, about: x, until: 20s, clusters: {{a: {{}}}}, topics: {{t: {{clusters: [a]}}}},
producers: {{web: {{topic: t, cluster: a, every: 100ms}}}}, commands: [{commands}]}}"""


def publish(at: str, count: int) -> str:
    return f"{{at: {at}, do: producer.publish, producer: web, count: {count}}}"


class Watching:
    """A viewer: of each frame the instant and rows are kept, and the world must be whole."""

    def __init__(self) -> None:
        self.session: Session
        self.shown: list[tuple[int, int]] = []
        self.busy = 0

    def publish(self, frame: Any, snapshot: Any) -> None:
        if self.session.world.whole:
            self.shown.append((self.session.world.now_us, self.session.world.seq))
        else:
            assert '"doing":"instant"' in frame.text, "only that it is busy"
            self.busy += 1

    def say(self, message: dict[str, Any]) -> None: ...

    def watched(self) -> bool:
        return True

    def position_changed(self) -> None: ...

    def failed(self, error: BaseException) -> None:
        raise error


def a_lab(name: str, *commands: str, rows_max: int = 5_000_000) -> Session:
    scenario = load_scenario_text(BODY.format(commands=", ".join(commands)))
    listener = Watching()
    session = listener.session = Session(name, 0, listener)
    session.start_with(World.from_scenario(scenario, rows_max=rows_max), scenario)
    return session


def turns(session: Session, until: Any, now_s: float = 0.0) -> float:
    """Turns until a condition holds, 5 ms apart, each bounded."""
    for _ in range(20_000):
        if until():
            return now_s
        before = len(session.world.trace)
        session.turn(now_s)
        session.took(0.004)
        now_s += 0.005
        assert len(session.world.trace) - before < ROWS_OF_A_TURN
    raise AssertionError("it does not come about")


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("visualizer.labs.work.MOST_EVENTS", 1_000)
    assert MOST_EVENTS >= 1_000


def test_the_largest_command_does_not_delay_a_second_lab():
    """The busy lab takes many turns for its instant; in between the other continues playing with a frame
    at every interval.
    """
    busy, other = a_lab("busy", publish("1s", PUBLISHED_AT_ONCE_MAX)), a_lab("other")
    for session in (busy, other):
        session.play(1.0)
    now_s, within, frames_within = 0.0, 0, 0
    while busy.world.now_us <= 1_000_000:
        for session in (busy, other):
            before, shown = len(session.world.trace), len(other.listener.shown)
            session.turn(now_s)
            session.took(0.004)
            assert len(session.world.trace) - before < ROWS_OF_A_TURN
            if not busy.world.whole:
                within += session is busy
                frames_within += len(other.listener.shown) - shown
        now_s += 0.01
    assert within > 50 and frames_within > 10 and busy.listener.busy > 0
    assert all(at_us != 1_000_000 or seq > PUBLISHED_AT_ONCE_MAX for at_us, seq in busy.listener.shown)


def test_a_question_and_a_seek_wait_for_the_end_of_the_instant():
    session = a_lab("asked", publish("1s", 20_000))
    session.play(1.0)
    now_s = turns(session, lambda: not session.world.whole)
    found: list[Any] = []
    whole = World.from_scenario(session.world.scenario)
    whole.run(1_000_000)
    session.submit(
        Job(
            QUESTIONS["rows"].answer(session, first=0, last=None, control=True, limit=10),
            lambda answer: found.append(session.world.whole),
            found.append,
        )
    )
    session.submit(
        Job(jobs.seek(session, 500_000, None), found.append, found.append, "seek", replaceable=True)
    )
    assert not session.settled
    turns(session, lambda: len(found) == 2, now_s)
    assert found[0] is True and session.world.now_us == 500_000 and len(session.world.trace) >= whole.seq
    assert not isinstance(found[1], Refused)


def test_a_command_is_executed_in_slices_and_refused_when_it_does_not_fit():
    session = a_lab("commanded", rows_max=50_000)
    results: list[Any] = []

    def apply(count: int) -> Any:
        work = jobs._apply(session, {"do": "producer.publish", "producer": "web", "count": count})
        session.submit(Job(work, results.append, results.append))
        before = len(results)
        turns(session, lambda: len(results) > before)
        return results[-1]

    assert apply(5_000).ok
    rows = len(session.world.trace)
    refused = apply(40_000)
    assert (
        (refused.ok, refused.code) == (False, "limit")
        and len(session.world.trace) == rows
        and session.world.whole
    )
    assert session.at_limit is None


def test_a_playing_lab_pauses_before_the_instant_that_does_not_fit():
    session = a_lab("full", publish("1s", 40_000), rows_max=50_000)
    session.play(None)
    turns(session, lambda: not session.playback.playing)
    assert session.world.now_us == 999_999 and session.world.whole and "1.000000 s" in session.at_limit
    assert session.position()["furthest_us"] == 999_999
