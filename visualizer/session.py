"""One lab at work in this process: its world, its playback, and the jobs that wait for the world.

Rules: everything that touches the world happens in `turn`, one short slice at a time, in the order it was asked for; a
job is a generator that yields between slices, or yields a `Wait` when it needs the database. Instants of the wall clock
come in as numbers: the pump is the only one that reads it. Playback decides when a slice runs, never what it writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable
from typing import Any, Protocol

from visualizer.frames import Frame, FrameMaker, Playing
from visualizer.reruns import Reruns
from visualizer.tiles import TileCache
from visualizer.wire import Refused
from visualizer.work import Job

SLICE_S = 0.005
"""Engine work in one turn: what a neighbour's frame waits for at most, per lab."""

AIM_S = 0.8 * SLICE_S
"""What the number of events per slice aims at, so that a slow one still fits."""

FRAME_S = 0.050
"""20 frames a second at most."""

BUSY_AFTER_S = 0.2
"""A job that takes longer says so on the page."""

LONGEST_JUMP_S = 0.15
"""What one frame makes up for at most when the process was held up; playback is late then, but never jumps."""

PATIENCE_S = 0.1
"""How long a frame waits for the engine; then it shows where the engine is, and playback slows down to it."""

FORECAST_EVERY_US = 100_000
"""Simulated time between points of the risk curve while somebody watches."""

CHECK_ROWS = 2_000
"""Rows after which the checks read on, in a slice of their own: the next view would read all of them at once."""

JOBS_WAITING = 100
"""Requests that wait for one lab; more are refused."""

MOST_EVENTS, FIRST_EVENTS = 50_000, 200


class Listener(Protocol):
    """Whoever shows and keeps the lab: the room."""

    def publish(self, frame: Frame, snapshot: Frame | None) -> None: ...

    def watched(self) -> bool: ...

    def position_changed(self) -> None: ...

    def failed(self, error: BaseException) -> None: ...


class Session:
    """`world` is None until the rebuilding job has made it."""

    def __init__(self, lab_id: str, first_epoch: int, listener: Listener) -> None:
        self.lab_id = lab_id
        self.listener = listener
        self.world: Any = None
        self.frames: FrameMaker | None = None
        self.tiles = TileCache()
        self.reruns: Reruns | None = None  # set by whoever has a pump for runs beside the lab
        self.until_us = 0
        self.replicated: list[str] = []  # subscriptions that the risk curve is about
        self.playing = False
        self.speed = 1.0
        self._events = FIRST_EVENTS
        self._sliced = False
        self._checked_seq = 0
        self.blocked_on: Awaitable[Any] | None = None
        self._epoch = first_epoch
        self._jobs: deque[Job] = deque()
        self._answer: Any = None
        self._job_began_s: float | None = None
        self._frame_wanted = False
        self._snapshot_wanted = False
        self._next_frame_s = 0.0
        self._target_us: int | None = None
        self._target_since_s = 0.0
        self._last_due_s = 0.0
        self._anchor: tuple[float, int] | None = None  # (wall second, simulated µs) that playback counts from

    # --- asked from outside, returns at once

    def submit(self, job: Job) -> None:
        """Queue a job. A newer seek makes older ones pointless: scrubbing never piles up."""
        if len(self._jobs) >= JOBS_WAITING:
            raise Refused("too-many", f"{JOBS_WAITING} requests wait for this lab already.", "Wait until it has caught up.")
        if job.replaceable:
            self._drop_replaceable()
        self._jobs.append(job)

    def _drop_replaceable(self) -> None:
        """Let go the seeks at the end of the queue; one that something else waits behind must be done."""
        while self._jobs and self._jobs[-1].replaceable:
            old = self._jobs.pop()
            old.work.close()
            if not self._jobs:  # it was under way: the world is whole, only elsewhere
                self._job_began_s = self._answer = None

    def play(self, speed: float | None) -> None:
        self.speed = speed or self.speed
        self.playing = True
        self._anchor = None
        self._target_us = None
        self._frame_wanted = True

    def pause(self) -> None:
        self.playing = False
        self._target_us = None
        self._frame_wanted = True
        self.listener.position_changed()

    def set_speed(self, speed: float) -> None:
        self.speed = speed
        self._anchor = None
        self._frame_wanted = True

    def want_frame(self, snapshot: bool = False) -> None:
        self._frame_wanted = True
        self._snapshot_wanted |= snapshot

    def give_up(self, why: Refused) -> None:
        """The lab ends here: everyone who waits is told."""
        jobs, self._jobs = self._jobs, deque()
        for job in jobs:
            job.refused(why)

    def start_with(self, world: Any, scenario: Any) -> None:
        """The rebuilding job has made the world; it may still have to run to its position."""
        self.world, self.until_us = world, scenario.until_us
        self.replicated = [name for name, spec in sorted(scenario.subscriptions.items()) if spec.replicate_subscription_state]
        self.frames = FrameMaker(world)
        self.new_epoch()

    def new_epoch(self) -> None:
        """The world stands elsewhere than the last frame said: pages start over."""
        self._epoch += 1
        self._anchor = None
        self._target_us = None
        assert self.frames is not None
        self.frames.begin_epoch(self._epoch)
        self._frame_wanted = True

    def resumed(self, answer: Any) -> None:
        """What the first job waited for has come."""
        self.blocked_on = None
        self._answer = answer

    # --- turns, called by the pump

    def turn(self, now_s: float) -> bool:
        """Do one slice of what is due; False when nothing is."""
        if self.blocked_on is not None:
            return False
        if self._jobs:
            self._job_slice(now_s)
            return True
        if self.world is None:
            return False
        if self._frame_wanted and now_s >= self._next_frame_s:
            self._emit(now_s)
            return True
        return self.playing and self._play_slice(now_s)

    def due_s(self, now_s: float) -> float | None:
        """When the next turn has something to do; None when only a request can change that."""
        if self.blocked_on is not None:
            return None
        if self._jobs or self._target_us is not None:
            return now_s
        if self.world is not None and (self.playing or self._frame_wanted):
            return self._next_frame_s
        return None

    def advance(self, until_us: int) -> bool:
        """One slice of the run towards an instant, or of the checks' reading behind it; True while more is left."""
        world = self.world
        if not 0 <= world.seq - self._checked_seq < CHECK_ROWS:
            self._checked_seq = world.seq
            len(world.violations)
            return True
        return world.advance(until_us, self.slice_events())

    def slice_events(self) -> int:
        """How many queue events the present slice may take."""
        self._sliced = True
        return self._events

    def took(self, seconds: float) -> None:
        """Learn from a slice how many events fit in the next."""
        if not self._sliced:
            return
        self._sliced = False
        factor = min(2.0, max(0.25, AIM_S / max(seconds, 1e-6)))
        self._events = int(min(MOST_EVENTS, max(1, self._events * factor)))

    def _job_slice(self, now_s: float) -> None:
        job = self._jobs[0]
        if self._job_began_s is None:
            self._job_began_s = now_s
        elif job.doing and now_s - self._job_began_s > BUSY_AFTER_S and now_s >= self._next_frame_s:
            self._emit_busy(now_s, job)
        answer, self._answer = self._answer, None
        try:
            waiting = job.work.send(answer)
        except StopIteration as stop:
            self._finish(job)
            job.done(stop.value)
        except Refused as refused:
            self._finish(job)
            job.refused(refused)
        else:
            self.blocked_on = None if waiting is None else waiting.until

    def _finish(self, job: Job) -> None:
        assert self._jobs[0] is job
        self._jobs.popleft()
        self._job_began_s = None

    def _play_slice(self, now_s: float) -> bool:
        """Run towards the instant that the next frame shows; True when the world moved."""
        world = self.world
        if self._target_us is None:
            if now_s < self._next_frame_s:
                return False
            self._target_us, self._target_since_s = self._due_us(now_s), now_s
        if self.at_limit:
            self.pause()
            return False
        if world.now_us < self._target_us:
            hop_us = min(self._target_us, self._next_forecast_us())
            more = self.advance(hop_us)
            if not more and hop_us < self._target_us:
                self.note_forecast()
            if world.now_us < self._target_us and now_s - self._target_since_s < PATIENCE_S:
                return True
        if world.now_us < self._target_us:
            self._anchor = (now_s, world.now_us)
        self._target_us = None
        self._frame_wanted = True
        if world.now_us == self.until_us:
            self.pause()
        return True

    def _next_forecast_us(self) -> int:
        """Where to stop on the way for a point of the risk curve; at most eight points a frame."""
        assert self._target_us is not None
        every_us = max(FORECAST_EVERY_US, (self._target_us - self.world.now_us) // 8)
        return (self.world.now_us // every_us + 1) * every_us if self.listener.watched() else self._target_us

    def note_forecast(self) -> None:
        assert self.frames is not None
        if self.listener.watched():
            self.frames.note_forecast({name: {"to": self.world.forecast(name)} for name in self.replicated})

    def _due_us(self, now_s: float) -> int:
        """The instant that playback has reached by the wall clock. Stops once at the scenario's end; going on is a new play."""
        if self._anchor is None:
            self._anchor = (now_s - FRAME_S, self.world.now_us)
            self._last_due_s = now_s
        held_up_s = now_s - self._last_due_s - LONGEST_JUMP_S
        if held_up_s > 0:
            self._anchor = (self._anchor[0] + held_up_s, self._anchor[1])
        self._last_due_s = now_s
        since_s, from_us = self._anchor
        due_us = from_us + max(1, int((now_s - since_s) * self.speed * 1_000_000))
        return min(due_us, self.until_us) if from_us < self.until_us else due_us

    # --- frames

    def _emit(self, now_s: float) -> None:
        self._frame_wanted = False
        on_beat_s = self._next_frame_s + FRAME_S
        self._next_frame_s = on_beat_s if on_beat_s > now_s else now_s + FRAME_S
        if not self.listener.watched():
            return
        assert self.frames is not None
        wanted, self._snapshot_wanted = self._snapshot_wanted, False
        frame, snapshot = self.frames.next(Playing(self.playing, self.speed), wanted)
        self.listener.publish(frame, snapshot)
        self._frame_wanted |= not self.playing and self.frames.behind

    def _emit_busy(self, now_s: float, job: Job) -> None:
        self._next_frame_s = now_s + BUSY_AFTER_S
        if self.frames is None or self.world is None or not self.listener.watched():
            return
        busy = {"doing": job.doing, "at_us": self.world.now_us, "to_us": job.to_us}
        frame = self.frames.busy(Playing(self.playing, self.speed, busy))
        if frame is not None:
            self.listener.publish(frame, None)

    # --- what is kept

    @property
    def settled(self) -> bool:
        """Whether the world stands where a person or the playback left it, not half-way through a job."""
        return self.world is not None and not self._jobs

    @property
    def at_limit(self) -> str | None:
        """Why the lab cannot run further from here; going back is always possible."""
        world = self.world
        return world.limit_reached if world is not None and world.seq == len(world.trace) else None

    def position(self) -> dict[str, Any]:
        """Where the lab stands, as the database keeps it."""
        world = self.world
        return {"branch": world.branch, "position_us": world.now_us, "furthest_us": world.furthest_us}
