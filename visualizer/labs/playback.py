"""Playback: which instant a playing lab shows by the wall clock, and the speed it reaches.

Rules: wall seconds are passed in as numbers. Playback decides when a slice runs, never what it writes. A
delayed process makes playback late and skips nothing. An engine that is too slow slows playback down to its
own speed.
"""

from __future__ import annotations

from collections import deque

FRAME_S = 0.050
"""Shortest time between two frames: 20 frames a second."""

LONGEST_JUMP_S = 0.5
"""Most wall time that one frame makes up for when the process was delayed.

With many labs at once frames are few, but each lab keeps its speed.
"""

PATIENCE_S = 0.1
"""How long a frame waits for the engine.

After that it shows where the engine is, and playback slows down to the engine's speed.
"""

REACHED_OVER_S = 1.0
"""Wall time over which the reached speed is measured."""


class Playback:
    """The playback of one lab. `target_us` is the instant that the next frame shows, None between frames."""

    def __init__(self) -> None:
        self.playing = False
        self.speed = 1.0
        self.target_us: int | None = None
        self.stop_us: int | None = None  # where the request to play ends, None for the scenario's end
        self._target_since_s = 0.0
        self._last_due_s = 0.0
        self._anchor: tuple[float, int] | None = None  # (wall second, simulated µs) that playback counts from
        self._shown: deque[tuple[float, int]] = deque()  # the same pair for each frame of the last second

    def play(self, speed: float | None, stop_us: int | None = None) -> None:
        self.speed = speed or self.speed
        self.playing = True
        self.stop_us = stop_us
        self.restart()

    def pause(self) -> None:
        self.playing = False
        self.target_us = self.stop_us = None
        self._shown.clear()

    def set_speed(self, speed: float) -> None:
        self.speed = speed
        self._anchor = None
        self._shown.clear()

    def restart(self) -> None:
        """Count from here: the world has moved to another instant."""
        self._anchor = self.target_us = None
        self._shown.clear()

    def at_stop(self, world_us: int) -> bool:
        """Whether the instant to which it should play has been reached."""
        return self.stop_us is not None and world_us >= self.stop_us

    def aim(self, now_s: float, world_us: int, until_us: int) -> int:
        """The instant that the next frame shows, unchanged until `arrived`.

        Playback stops once at the scenario's end. Playing on is a new request.
        """
        if self.target_us is None:
            self.target_us, self._target_since_s = self._due_us(now_s, world_us, until_us), now_s
        return self.target_us

    def _due_us(self, now_s: float, world_us: int, until_us: int) -> int:
        if self._anchor is None:
            self._anchor = (now_s - FRAME_S, world_us)
            self._last_due_s = now_s
        held_up_s = now_s - self._last_due_s - LONGEST_JUMP_S
        if held_up_s > 0:
            self._anchor = (self._anchor[0] + held_up_s, self._anchor[1])
        self._last_due_s = now_s
        since_s, from_us = self._anchor
        due_us = from_us + max(1, int((now_s - since_s) * self.speed * 1_000_000))
        if self.stop_us is not None:
            due_us = min(due_us, self.stop_us)
        return min(due_us, until_us) if from_us < until_us else due_us

    def patient(self, now_s: float) -> bool:
        """Whether the frame still waits for the engine."""
        return now_s - self._target_since_s < PATIENCE_S

    def arrived(self, now_s: float, world_us: int) -> None:
        """Show the instant of the engine, which is at the target or was too slow."""
        assert self.target_us is not None
        if world_us < self.target_us:
            self._anchor = (now_s, world_us)
        self.target_us = None
        self._shown.append((now_s, world_us))
        while now_s - self._shown[0][0] > REACHED_OVER_S:
            self._shown.popleft()

    @property
    def reached(self) -> float | None:
        """Simulated seconds per wall second over the last second.

        None while nothing plays, or when fewer than `REACHED_OVER_S / 4` seconds have been measured.
        """
        if len(self._shown) < 2:
            return None
        (first_s, first_us), (last_s, last_us) = self._shown[0], self._shown[-1]
        return (
            round((last_us - first_us) / 1e6 / (last_s - first_s), 4)
            if last_s - first_s >= REACHED_OVER_S / 4
            else None
        )
