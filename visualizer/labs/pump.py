"""The pump: gives engine time to the labs of this process. Only this module reads the wall clock.

Rules: a turn is one slice of at most 5 ms (the session sizes it), and labs take turns in order. After each
turn everything else in this process, mainly the sockets, may use as long as the turn took. The labs use the
time that the rest does not need. A lab whose turn raises is stopped and shows the error. The others continue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

LONGEST_IDLE_S = 1.0
"""Longest pause of the pump when nothing is due."""

SHORTEST_REST_S = 0.0002
"""Shortest time that the sockets get after a turn, if they need it."""

QUIET_S = 0.0001
"""Longest round of the event loop that counts as idle.

A round in which nothing was ready takes about 20 µs. A longer one did other work.
"""

QUIET_ROUNDS = 3
"""Consecutive idle rounds that end the rest.

A socket's message is read in one round, handled in the next and answered in the third.
"""


class Turns(Protocol):
    """What the pump drives: `visualizer.labs.session.Session`."""

    lab_id: str
    blocked_on: Callable[[], Awaitable[Any]] | None

    def turn(self, now_s: float) -> bool: ...

    def due_s(self, now_s: float) -> float | None: ...

    def took(self, seconds: float) -> None: ...

    def resumed(self, answer: Any) -> None: ...

    def interrupted(self, error: Exception) -> None: ...


class Pump:
    """The pump of one process.

    `failed(session, error)` is called on an internal error. Tests pass their own `clock` and `sleep`.
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
        """Remove a lab, and cancel the database work that it awaits."""
        if self._sessions.get(session.lab_id) is session:
            del self._sessions[session.lab_id]
            waiting = self._waiting.pop(session.lab_id, None)
            if waiting is not None:
                waiting.cancel()

    def wake(self) -> None:
        """Wake the pump: a request has arrived."""
        self._wake.set()

    async def run(self) -> None:
        """Give turns until the process ends. The hub supervises this task."""
        while True:
            self._wake.clear()
            if not await self.round():
                await self._idle()

    async def round(self) -> bool:
        """One turn for every lab that has work due; False when none had."""
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
        except Exception as error:  # an internal error in this lab: it stops, and the others continue
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
        """Let everything else in this process run until it is idle, for at most `longest_s`."""
        began_s = round_s = self._clock()
        quiet = 0
        while quiet < QUIET_ROUNDS and round_s - began_s < longest_s:
            await self._sleep(0)
            now_s = self._clock()
            quiet = quiet + 1 if now_s - round_s < QUIET_S else 0
            round_s = now_s

    async def _wait_for(self, session: Turns, begin: Callable[[], Awaitable[Any]]) -> None:
        """Await what a job needs from outside the engine, and pass the result or the error to its session.

        An error is raised in the job's next turn, at the point where it waits.
        """
        try:
            answer = await begin()
        except Exception as error:
            self._waiting.pop(session.lab_id, None)
            session.interrupted(error)
        else:
            self._waiting.pop(session.lab_id, None)
            session.resumed(answer)
        self._wake.set()

    async def _idle(self) -> None:
        """Wait until a lab has work due or a request arrives."""
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
