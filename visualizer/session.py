"""One lab at work in this process: its world, its playback, its frames, and the jobs that wait for the world.

Rules: everything that touches the world happens in `turn`, one short slice at a time, in the order it was asked for; a
job is a generator that yields between slices, or yields a `Wait` when it needs the database. While a frame or a point of the
risk curve is made, the world stands still. Instants of the wall clock come in as numbers: the pump is the only one that reads it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import Any, Protocol

from visualizer.frames import Frame, FrameMaker, Playing
from visualizer.playback import FRAME_S, Playback
from visualizer.reruns import Reruns
from visualizer.slices import SliceSize
from visualizer.printouts import Printouts
from visualizer.tiles import TileCache
from visualizer.waiting import Waiting
from visualizer.wire import Refused
from visualizer.work import Job, Work

BUSY_AFTER_S = 0.2
"""A job that takes longer says so on the page."""

FORECAST_EVERY_US = 100_000
"""Simulated time between points of the risk curve while somebody watches."""

POINTS_PER_FRAME = 8
"""Points of the risk curve that one frame brings at most."""

CHECK_ROWS = 2_000
"""Rows that the checks read in a slice of their own: the next view would read all that are left at once."""


class Listener(Protocol):
    """Whoever shows and keeps the lab: the room."""

    def publish(self, frame: Frame, snapshot: Frame | None) -> None: ...

    def say(self, message: dict[str, Any]) -> None: ...

    def watched(self) -> bool: ...

    def position_changed(self) -> None: ...

    def failed(self, error: BaseException) -> None: ...


class Session:
    """`world` and `frames` are None until the rebuilding job has made them."""

    def __init__(self, lab_id: str, first_epoch: int, listener: Listener) -> None:
        self.lab_id = lab_id
        self.listener = listener
        self.world: Any = None
        self.frames: FrameMaker | None = None
        self.tiles = TileCache()
        self.printouts = Printouts()
        self.reruns: Reruns | None = None  # set by whoever has a pump for runs beside the lab
        self.playback = Playback()
        self.until_us = 0
        self.replicated: list[str] = []  # subscriptions that the risk curve is about
        self.blocked_on: Awaitable[Any] | None = None
        self._size = SliceSize()
        self._jobs = Waiting()
        self._looking: Iterator[None] | None = None  # a frame, or a point of the curve, that is being made
        self._epoch = first_epoch
        self._frame_wanted = False
        self._snapshot_wanted = False
        self._next_frame_s = 0.0

    # --- asked from outside, returns at once

    def submit(self, job: Job) -> None:
        """Queue a job. Raises Refused when too many wait."""
        self._jobs.add(job)

    def play(self, speed: float | None) -> None:
        self.playback.play(speed)
        self._frame_wanted = True

    def pause(self) -> None:
        self.playback.pause()
        self._frame_wanted = True
        self.listener.position_changed()

    def set_speed(self, speed: float) -> None:
        self.playback.set_speed(speed)
        self._frame_wanted = True

    def want_frame(self, snapshot: bool = False) -> None:
        self._frame_wanted = True
        self._snapshot_wanted |= snapshot

    def give_up(self, why: Refused) -> None:
        """The lab ends here: everyone who waits is told."""
        self.playback.pause()
        self._jobs.give_up(why)

    def start_with(self, world: Any, scenario: Any) -> None:
        """The rebuilding job has made the world; it may still have to run to its position."""
        self.world, self.until_us = world, scenario.until_us
        self.replicated = [name for name, spec in sorted(scenario.subscriptions.items()) if spec.replicate_subscription_state]
        self.frames = FrameMaker(world)
        self.new_epoch()

    def new_epoch(self) -> None:
        """The world stands elsewhere than the last frame said: pages start over."""
        assert self.frames is not None
        self._epoch += 1
        self.frames.begin_epoch(self._epoch)
        self.playback.restart()
        self._frame_wanted = True

    def resumed(self, answer: Any) -> None:
        """What the first job waited for has come."""
        self.blocked_on = None
        self._jobs.resumed(answer)

    # --- turns, called by the pump

    def turn(self, now_s: float) -> bool:
        """Do one slice of what is due; False when nothing is."""
        if self.blocked_on is not None:
            return False
        if self._jobs:
            self._looking = None  # a job may move the world: the frame is made anew
            self._job_slice(now_s)
            return True
        if self.world is None:
            return False
        if self._looking is None and self._frame_wanted and now_s >= self._next_frame_s:
            self._looking = self._frame(now_s)
        if self._looking is not None:
            if next(self._looking, self) is self:
                self._looking = None
            return True
        return self.playback.playing and self._play_slice(now_s)

    def due_s(self, now_s: float) -> float | None:
        """When the next turn has something to do; None when only a request can change that."""
        if self.blocked_on is not None:
            return None
        if self._jobs or self._looking is not None or self.playback.target_us is not None:
            return now_s
        if self.world is not None and (self.playback.playing or self._frame_wanted):
            return self._next_frame_s
        return None

    def took(self, seconds: float) -> None:
        """What the last turn took; teaches the size of the next."""
        self._size.took(seconds)

    def slice_events(self) -> int:
        """How many queue events the present slice may take."""
        return self._size.take()

    def advance(self, until_us: int) -> bool:
        """One slice of the run towards an instant, or of the checks' reading behind it; True while more is left."""
        world = self.world
        if world.unchecked_rows >= CHECK_ROWS:
            world.check_on(CHECK_ROWS)
            return True
        return world.advance(until_us, self.slice_events())

    def _job_slice(self, now_s: float) -> None:
        job = self._jobs.first
        if job.doing and self._jobs.busy_for_s(now_s) > BUSY_AFTER_S and now_s >= self._next_frame_s:
            self._next_frame_s = now_s + BUSY_AFTER_S
            self._say_busy(job)
        waiting = self._jobs.slice(now_s)
        self.blocked_on = None if waiting is None else waiting.until

    def _play_slice(self, now_s: float) -> bool:
        """Run towards the instant that the next frame shows; True when the world moved."""
        world, playback = self.world, self.playback
        if playback.target_us is None and now_s < self._next_frame_s:
            return False
        if self.at_limit:
            self.pause()
            return False
        target_us = playback.aim(now_s, world.now_us, self.until_us)
        if world.now_us < target_us:
            hop_us = min(target_us, self._next_point_us(target_us))
            more = self.advance(hop_us)
            if not more and hop_us < target_us and self.listener.watched():
                self._looking = self.point()
            if world.now_us < target_us and playback.patient(now_s):
                return True
        playback.arrived(now_s, world.now_us)
        self._frame_wanted = True
        if world.now_us == self.until_us:
            self.pause()
        return True

    # --- looking, while the world stands still

    def _next_point_us(self, target_us: int) -> int:
        """Where to stop on the way for a point of the risk curve."""
        every_us = max(FORECAST_EVERY_US, (target_us - self.world.now_us) // POINTS_PER_FRAME)
        return (self.world.now_us // every_us + 1) * every_us if self.listener.watched() else target_us

    def point(self) -> Work:
        """A point of the risk curve, one subscription in a slice."""
        assert self.frames is not None
        forecasts = {}
        for name in self.replicated if self.listener.watched() else ():
            yield None
            forecasts[name] = {"to": self.world.forecast(name), "lag_us": self.world.sync_lag(name)}
        if forecasts:
            self.frames.note_forecast(forecasts)

    def _frame(self, now_s: float) -> Iterator[None]:
        """The next frame. The world keeps a forecast while it stands, so the view finds them made."""
        self._frame_wanted = False
        on_beat_s = self._next_frame_s + FRAME_S
        self._next_frame_s = on_beat_s if on_beat_s > now_s else now_s + FRAME_S
        if not self.listener.watched():
            return
        assert self.frames is not None
        self._frame_wanted = True  # until it is out: a job may come first
        while self.world.unchecked_rows >= CHECK_ROWS:
            self.world.check_on(CHECK_ROWS)
            yield None
        for name in self.world.subscriptions[:-1]:
            self.world.forecast(name)
            yield None
        wanted, self._snapshot_wanted, self._frame_wanted = self._snapshot_wanted, False, False
        frame, snapshot = self.frames.next(self._playing(), wanted)
        self.listener.publish(frame, snapshot)
        self._frame_wanted |= not self.playback.playing and self.frames.behind

    def remind(self) -> None:
        """Once a second: a job that waits for something outside the engine says so too."""
        if self.blocked_on is not None and self._jobs and self._jobs.first.doing:
            self._say_busy(self._jobs.first)

    def _say_busy(self, job: Job) -> None:
        if self.frames is None or self.world is None or not self.listener.watched():
            return
        busy = {"doing": job.doing, "at_us": self.world.now_us, "to_us": job.to_us}
        frame = self.frames.busy(self._playing(busy))
        if frame is None:  # a page that waits for its first picture
            self.listener.say({"type": "busy", **busy})
        else:
            self.listener.publish(frame, None)
        self._frame_wanted = True  # says when it is over

    def _playing(self, busy: dict[str, Any] | None = None) -> Playing:
        return Playing(self.playback.playing, self.playback.speed, busy, self.playback.reached)

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
