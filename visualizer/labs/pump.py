"""The pump: gives engine time to the labs of this process. Only this module reads the wall clock.

Rules: a turn is one slice of at most 5 ms (the session sizes it); labs take turns in order. After each turn
everything else in this process, sockets above all, may use as long as the turn took. The labs get the time
that it does not need. A lab whose turn raises is stopped and shows the error; the others continue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

LONGEST_IDLE_S = 1.0
"""Even when nothing is due the pump looks again after this."""

SHORTEST_REST_S = 0.0002
"""After a turn of almost nothing the sockets still get this long, if they need it."""

QUIET_S = 0.0001
"""A round of the event loop in which nothing was ready takes some 20 us; a longer one did other work."""

QUIET_ROUNDS = 3
"""So many in a row end the rest: what a socket brings is read in one round, handled in the next and
answered in the third.
"""


class Turns(Protocol):
    """What the pump drives: `visualizer.labs.session.Session`."""

    lab_id: str
    blocked_on: Awaitable[Any] | None

    def turn(self, now_s: float) -> bool: ...

    def due_s(self, now_s: float) -> float | None: ...

    def took(self, seconds: float) -> None: ...

    def resumed(self, answer: Any) -> None: ...

    def interrupted(self, error: Exception) -> None: ...


class Pump:
    """`failed(session, error)` is called on an internal error; `clock` and `sleep` are parameters for
    tests.
    """

    def __init__(
        self,
        failed: Callable[[Any, BaseException], None],
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._failed = failed
        self._clock = clock
        self._sleep = sleep
        self._sessions: dict[str, Turns] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._wake = asyncio.Event()

    def add(self, session: Turns) -> None:
        self._sessions[session.lab_id] = session
        self._wake.set()

    def remove(self, session: Turns) -> None:
        """Take the lab out; what it waits for in the database is cancelled."""
        if self._sessions.get(session.lab_id) is session:
            del self._sessions[session.lab_id]
            waiting = self._waiting.pop(session.lab_id, None)
            if waiting is not None:
                waiting.cancel()

    def wake(self) -> None:
        """Wake the pump: a request has arrived."""
        self._wake.set()

    async def run(self) -> None:
        """Runs until the process ends; the hub supervises this task."""
        while True:
            self._wake.clear()
            if not await self.round():
                await self._idle()

    async def round(self) -> bool:
        """One turn for every lab that has something due; False when none had."""
        worked = False
        for lab_id in list(self._sessions):
            session = self._sessions.get(lab_id)
            if session is not None and lab_id not in self._waiting:
                worked |= await self._turn(session)
        return worked

    async def _turn(self, session: Turns) -> bool:
        began_s = self._clock()
        try:
            worked = session.turn(began_s)
        except Exception as error:  # an internal error in this lab: it stops, loudly, and the others go on
            self.remove(session)
            self._failed(session, error)
            return True
        took_s = self._clock() - began_s
        if worked:
            session.took(took_s)
            if session.blocked_on is not None:
                self._waiting[session.lab_id] = asyncio.ensure_future(
                    self._wait_for(session, session.blocked_on)
                )
            await self._rest(max(took_s, SHORTEST_REST_S))
        return worked

    async def _rest(self, longest_s: float) -> None:
        """Let everything else in this process run until it has nothing more to do, at most so long."""
        began_s = round_s = self._clock()
        quiet = 0
        while quiet < QUIET_ROUNDS and round_s - began_s < longest_s:
            await self._sleep(0)
            now_s = self._clock()
            quiet = quiet + 1 if now_s - round_s < QUIET_S else 0
            round_s = now_s

    async def _wait_for(self, session: Turns, until: Awaitable[Any]) -> None:
        """What a job waits for outside the engine; an error in it is raised where the job waits, in its
        next turn.
        """
        try:
            answer = await until
        except Exception as error:
            self._waiting.pop(session.lab_id, None)
            session.interrupted(error)
        else:
            self._waiting.pop(session.lab_id, None)
            session.resumed(answer)
        self._wake.set()

    async def _idle(self) -> None:
        """Until something is due or asked for."""
        now_s = self._clock()
        due = [at_s for session in self._sessions.values() if (at_s := session.due_s(now_s)) is not None]
        pause_s = min([LONGEST_IDLE_S, *(at_s - now_s for at_s in due)])
        if pause_s <= 0:
            await self._sleep(0)
            return
        try:
            async with asyncio.timeout(pause_s):
                await self._wake.wait()
        except TimeoutError:
            return
