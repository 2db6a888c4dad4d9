"""One open lab: its world, its playback, its frames, and the queue of its jobs.

Rules: everything that touches the world happens in `turn`, one short slice at a time, in the order of the
requests. A job is a generator that yields between slices, or yields a `Wait` when it needs the database.
Instants of the wall clock are passed in as numbers, since only the pump reads it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from visualizer.labs.playback import Playback
from visualizer.labs.waiting import Waiting
from visualizer.labs.work import Job, SliceSize
from visualizer.live.frame_scheduler import CHECK_ROWS, Looking
from visualizer.live.wire import Refused
from visualizer.questions.curve import RiskCurves
from visualizer.questions.queries import Printouts
from visualizer.questions.tiles import TileCache

if TYPE_CHECKING:
    from visualizer.labs.background import Background
    from visualizer.labs.running import Runner

BUSY_AFTER_S = 0.2
"""Seconds after which the page shows that a job is running."""


class Session:
    """One open lab. `world` is None until the rebuilding job has created it."""

    def __init__(self, lab_id: str, first_epoch: int, listener: Runner) -> None:
        self.lab_id = lab_id
        self.listener = listener
        self.world: Any = None
        self.curves: RiskCurves | None = None
        self.tiles = TileCache()
        self.printouts = Printouts()
        # the key under which the rows around the instant were read, and the answer
        self.events_kept: tuple[Any, Any] = (None, None)
        self.background: Background | None = None  # set by the owner of a pump for runs beside the lab
        self.asker = ""  # the client of the latest question
        self.playback = Playback()
        self.looking = Looking(first_epoch, listener, self.playback)
        self.until_us = 0
        self.blocked_on: Callable[[], Awaitable[Any]] | None = None
        self._size = SliceSize()
        self._jobs = Waiting()
        self._within_since_s: float | None = None
        self.out_of_memory: str | None = None  # why no lab of this process may run forward

    # --- called from outside, returns at once

    def submit(self, job: Job) -> None:
        """Queue a job. Raises Refused when the queue is full."""
        self._jobs.add(job)

    def play(self, speed: float | None, until_us: int | None = None) -> None:
        """Play from the instant shown; with `until_us` up to the end of that instant."""
        self.playback.play(speed, until_us)
        self.looking.want()

    def pause(self) -> None:
        self.playback.pause()
        self.looking.want()
        self.listener.position_changed()

    def set_speed(self, speed: float) -> None:
        self.playback.set_speed(speed)
        self.looking.want()

    @property
    def risk_curves(self) -> RiskCurves:
        """The risk curves of the lab's branches, which exist once the world does."""
        assert self.curves is not None
        return self.curves

    def give_up(self, why: Refused) -> None:
        """Close the lab: every pending request is refused with a reason."""
        self.playback.pause()
        self._jobs.give_up(why)

    def start_with(self, world: Any, scenario: Any) -> None:
        """Use the world that the rebuilding job has created. It may still have to run to its position."""
        self.world, self.until_us = world, scenario.until_us
        self.curves = RiskCurves(world, scenario)
        self.looking.begin(world, self.curves)
        self.new_epoch()

    def new_epoch(self) -> None:
        """Begin an epoch after a jump to another instant: pages start from a snapshot."""
        self.looking.new_epoch()
        self.playback.restart()

    def resumed(self, answer: Any) -> None:
        """Pass the first job the result that it waits for."""
        self.blocked_on = None
        self._jobs.resumed(answer)

    def interrupted(self, error: Exception) -> None:
        """Pass the first job an error, which its next turn raises where the job waits."""
        self.blocked_on = None
        self._jobs.interrupted(error)

    # --- turns, called by the pump

    def turn(self, now_s: float) -> bool:
        """Run one slice of the work that is due; False when nothing is due."""
        if self.blocked_on is not None:
            return False
        if not self._jobs.under_way and self._finish_instant(now_s):
            return True
        if self.curves is not None and self.curves.due:  # before anything moves the world
            self.curves.take_one()
            return True
        if self._jobs:
            self.looking.drop()  # a job may move the world, so the frame is built again
            self._job_slice(now_s)
            return True
        if self.world is None:
            return False
        try:
            if self.looking.slice(now_s):
                return True
        except Exception as error:  # the run is not affected, only the frame is missing
            self.looking.frame_failed(error)
            self.playback.pause()
            return True
        return self.playback.playing and self._play_slice(now_s)

    def due_s(self, now_s: float) -> float | None:
        """When the next turn has work to do; None when only a request can change that."""
        if self.blocked_on is not None:
            return None
        points_due = self.curves is not None and bool(self.curves.due)
        if (
            self._jobs
            or self._within_instant
            or points_due
            or self.looking.under_way
            or self.playback.target_us is not None
        ):
            return now_s
        if self.world is not None and (self.playback.playing or self.looking.wanted):
            return self.looking.next_frame_s
        return None

    def took(self, seconds: float) -> None:
        """Record the duration of the last turn, which determines the size of the next slice."""
        self._size.took(seconds)

    def slice_events(self) -> int:
        """How many queue events the current slice may run."""
        return self._size.take()

    def advance(self, until_us: int) -> bool:
        """Run one slice towards an instant, or let the checks read the rows behind it.

        Returns True while more is left.
        """
        world = self.world
        if world.unchecked_rows >= CHECK_ROWS:
            world.check_on(CHECK_ROWS)
            return True
        return self.risk_curves.advance(until_us, self.slice_events())

    @property
    def _within_instant(self) -> bool:
        """Whether the world is in the middle of an instant, so that pages keep the last complete one."""
        return self.world is not None and not self.world.whole

    def _finish_instant(self, now_s: float) -> bool:
        """Run one slice of an incomplete instant; False when it is complete.

        An instant is completed before anything else reads the world.
        """
        if not self._within_instant:
            self._within_since_s = None
            return False
        if self._within_since_s is None:
            self._within_since_s = now_s
        elif now_s - self._within_since_s > BUSY_AFTER_S and now_s >= self.looking.next_frame_s:
            self.looking.next_frame_s = now_s + BUSY_AFTER_S
            self.looking.send_within_instant()
        self.looking.drop()
        self.world.advance(self.world.now_us, self.slice_events())
        if self.world.whole and self.curves is not None:
            self.curves.look()
        return True

    def _job_slice(self, now_s: float) -> None:
        job = self._jobs.first
        if job.doing and self._jobs.busy_for_s(now_s) > BUSY_AFTER_S and now_s >= self.looking.next_frame_s:
            self.looking.next_frame_s = now_s + BUSY_AFTER_S
            self.looking.send_busy(job)
        waiting = self._jobs.slice(now_s, not self._within_instant)
        self.blocked_on = None if waiting is None else waiting.begin

    def _play_slice(self, now_s: float) -> bool:
        """Run towards the instant that the next frame shows; True when the world moved."""
        world, playback = self.world, self.playback
        if playback.target_us is None and now_s < self.looking.next_frame_s:
            return False
        if self.at_limit:
            self.pause()
            return False
        if playback.at_stop(world.now_us):
            self.pause()
            return True
        target_us = playback.aim(now_s, world.now_us, self.until_us)
        assert self.curves is not None
        if world.now_us < target_us or self.curves.due:
            more = self.advance(target_us)
            if self._within_instant:
                return True
            if more and playback.patient(now_s):
                return True
        playback.arrived(now_s, world.now_us)
        self.looking.want()
        if world.now_us == self.until_us or playback.at_stop(world.now_us):
            self.pause()
        return True

    def remind(self) -> None:
        """Show the running job on the page, also while it waits for something outside the engine.

        The runner calls this once a second.
        """
        if self.blocked_on is not None and self._jobs and self._jobs.first.doing:
            self.looking.send_busy(self._jobs.first)

    # --- state to store

    @property
    def settled(self) -> bool:
        """Whether the world is where a request or the playback left it, not in the middle of a job."""
        return self.world is not None and not self._jobs and self.world.whole

    @property
    def has_work(self) -> bool:
        """Whether a job is running or queued."""
        return bool(self._jobs)

    @property
    def at_limit(self) -> str | None:
        """Why the lab cannot run further from here; going back is always possible."""
        if self.out_of_memory:
            return self.out_of_memory
        world = self.world
        return world.limit_reached if world is not None and world.seq == len(world.trace) else None

    def position(self) -> dict[str, Any]:
        """The lab's position, as the database stores it."""
        world = self.world
        return {"branch": world.branch, "position_us": world.now_us, "furthest_us": world.furthest_us}
