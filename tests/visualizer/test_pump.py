"""Tests of the pump.

Turns in order, half of the time for sockets that need it, one lab's internal error stops that lab only.
"""

from __future__ import annotations

import asyncio

import pytest

from visualizer.labs.pump import QUIET_ROUNDS, QUIET_S, Pump
from visualizer.labs.work import SLICE_S


class Clock:
    """A wall clock that only work advances: the labs' work and, while the pump rests, that of the sockets,
    `sockets_s` in each round.
    """

    def __init__(self, sockets_s: float = 0.0) -> None:
        self.now_s = 100.0
        self.sockets_s = sockets_s
        self.rounds = 0
        self.spans: list[tuple[float, float]] = []  # (begin, end) of work

    def __call__(self) -> float:
        return self.now_s

    def work(self, seconds: float) -> None:
        self.spans.append((self.now_s, self.now_s + seconds))
        self.now_s += seconds

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds + self.sockets_s
        self.rounds += 1
        await asyncio.sleep(0)

    def worked_s(self, begin_s: float, end_s: float) -> float:
        return sum(max(0.0, min(end, end_s) - max(begin, begin_s)) for begin, end in self.spans)


class Worker:
    """A session that has `turns` slices to do."""

    def __init__(
        self, lab_id: str, clock: Clock, turns: int, seconds: float = SLICE_S, error: Exception | None = None
    ) -> None:
        self.lab_id, self.clock, self.turns, self.seconds, self.error = lab_id, clock, turns, seconds, error
        self.blocked_on = None
        self.done: list[float] = []

    def turn(self, now_s: float) -> bool:
        if not self.turns:
            return False
        if self.error is not None:
            raise self.error
        self.turns -= 1
        self.clock.work(self.seconds)
        self.done.append(now_s)
        return True

    def due_s(self, now_s: float) -> float | None:
        return now_s if self.turns else None

    def took(self, seconds: float) -> None:
        assert seconds == pytest.approx(self.seconds)

    def resumed(self, answer: object) -> None:
        self.blocked_on = None

    def interrupted(self, error: Exception) -> None:
        self.blocked_on, self.error = None, error


def pump_of(clock: Clock, *sessions: Worker, failed=lambda session, error: None) -> Pump:
    pump = Pump(failed, clock, clock.sleep)
    for session in sessions:
        pump.add(session)
    return pump


async def test_labs_take_turns():
    clock = Clock()
    sessions = [Worker(name, clock, 10) for name in "abc"]
    pump = pump_of(clock, *sessions)
    while await pump.round():
        pass
    order = sorted((at_s, session.lab_id) for session in sessions for at_s in session.done)
    assert "".join(name for _, name in order) == "abc" * 10


@pytest.mark.parametrize("seconds", [0.0001, 0.001, 0.005])
async def test_beside_busy_sockets_labs_use_at_most_half_of_any_fifty_milliseconds(seconds):
    clock = Clock(sockets_s=0.0002)
    pump = pump_of(clock, *(Worker(str(number), clock, 40, seconds) for number in range(5)))
    while await pump.round():
        pass
    for begin, _ in clock.spans:
        # A span that barely fits whole slices may hold one more of them than of rests.
        assert clock.worked_s(begin, begin + 0.050) <= 0.025 + 1e-9


async def test_labs_have_all_the_time_that_sockets_do_not_need():
    clock = Clock(sockets_s=QUIET_S / 10)
    pump = pump_of(clock, *(Worker(str(number), clock, 40) for number in range(5)))
    while await pump.round():
        pass
    assert clock.rounds == 200 * QUIET_ROUNDS, "each turn is followed by a few rounds of the event loop"
    assert clock.worked_s(100.0, clock.now_s) > 0.99 * (clock.now_s - 100.0)


async def test_a_rest_lasts_while_sockets_are_served():
    """A request is read in one round, handled in the next, answered in the third: the rest covers all
    three.
    """
    clock, served = Clock(), []
    pump = pump_of(clock, Worker("a", clock, 1))

    async def request() -> None:
        for step in ("read", "handled", "answered"):
            await asyncio.sleep(0)
            clock.now_s += 0.0003
            served.append(step)

    asking = asyncio.ensure_future(request())
    await pump.round()
    assert served == ["read", "handled", "answered"] and asking.done()


async def test_an_internal_error_in_one_lab_stops_that_lab_only():
    clock = Clock()
    broken = Worker("broken", clock, 5, error=ZeroDivisionError("ours"))
    healthy = Worker("healthy", clock, 5)
    told = []
    pump = pump_of(clock, broken, healthy, failed=lambda session, error: told.append((session.lab_id, error)))
    while await pump.round():
        pass
    assert [(name, str(error)) for name, error in told] == [("broken", "ours")]
    assert not healthy.turns


async def test_a_lab_that_waits_for_the_database_does_not_delay_others():
    clock = Clock()
    waiting, other = Worker("waiting", clock, 2), Worker("other", clock, 3)
    future = asyncio.get_running_loop().create_future()
    waiting.blocked_on = lambda: future
    pump = pump_of(clock, waiting, other)
    while await pump.round():
        pass
    assert not other.turns and waiting.turns == 1
    future.set_result(7)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    while await pump.round():
        pass
    assert not waiting.turns


async def test_an_error_while_a_lab_waits_is_that_labs_failure():
    clock = Clock()
    waiting = Worker("waiting", clock, 2)
    future = asyncio.get_running_loop().create_future()
    waiting.blocked_on = lambda: future
    told = []
    pump = pump_of(clock, waiting, failed=lambda session, error: told.append(str(error)))
    await pump.round()
    future.set_exception(OSError("disk full"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert told == [] and waiting.blocked_on is None, (
        "it is raised where the lab waits, which may know what to do"
    )
    await pump.round()
    assert told == ["disk full"]
    assert not await pump.round()
