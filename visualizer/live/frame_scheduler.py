"""Schedules a lab's frames, and builds them in slices.

Rules: building a frame never moves the world, and the world does not move meanwhile. It is cut into slices,
so that other labs need not wait, and restarted when a job takes precedence. An internal error in a frame
loses only that frame. The next one requested is built from scratch, in a new epoch. Instants of the wall
clock are passed in as numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from visualizer.labs.playback import FRAME_S, Playback
from visualizer.live.frames import FrameMaker, Playing

if TYPE_CHECKING:
    from visualizer.labs.running import Runner
    from visualizer.labs.work import Job, Work
    from visualizer.questions.curve import RiskCurves

CHECK_ROWS = 2_000
"""Rows that the checks read in one slice.

Otherwise the next view would read all remaining rows at once.
"""


class Looking:
    """The frame schedule of one lab. `frames` is None until the world exists."""

    def __init__(self, first_epoch: int, listener: Runner, playback: Playback) -> None:
        self.frames: FrameMaker | None = None
        self.next_frame_s = 0.0
        self.wanted = False  # a frame is requested
        self._listener = listener
        self._playback = playback
        self._epoch = first_epoch
        self._snapshot_wanted = False
        self._making: Work | None = None  # the frame being built
        self._failed = False  # the last frame could not be built

    def begin(self, world: Any, curves: RiskCurves) -> None:
        """Start making frames of this world."""
        self.frames = FrameMaker(world, curves)

    def new_epoch(self) -> None:
        """Begin an epoch after a jump to another instant: pages start from a snapshot."""
        assert self.frames is not None
        self._epoch += 1
        self.frames.begin_epoch(self._epoch)
        self.wanted = True

    def want(self, snapshot: bool = False) -> None:
        """Request a frame at the next frame time, and optionally a snapshot with it."""
        self.wanted = True
        self._snapshot_wanted |= snapshot

    # --- slices

    @property
    def under_way(self) -> bool:
        """Whether a frame is being built, so that the world must not move."""
        return self._making is not None

    def drop(self) -> None:
        """Drop the frame that is being built, so that the world may move."""
        self._making = None

    def frame_failed(self, error: Exception) -> None:
        """Handle an internal error in the current frame. Nothing is shown until the next one is requested."""
        self.drop()
        self.wanted, self._failed = False, True
        self._listener.frame_failed(error)

    def slice(self, now_s: float) -> bool:
        """Run one slice of the frame that is being built or due; False when there is none."""
        if self._making is None and self.wanted and now_s >= self.next_frame_s:
            self._making = self._frame(now_s)
        if self._making is None:
            return False
        if next(self._making, self) is self:
            self._making = None
        return True

    def _frame(self, now_s: float) -> Work:
        """Build and publish the next frame, in slices.

        The forecasts are computed here one by one. The world keeps them at its instant, so the view reuses
        them.
        """
        self.wanted = False
        on_schedule_s = self.next_frame_s + FRAME_S
        self.next_frame_s = on_schedule_s if on_schedule_s > now_s else now_s + FRAME_S
        if not self._listener.watched():
            return
        assert self.frames is not None
        if self._failed:  # the state left by earlier frames may be wrong
            self.begin(self.frames.world, self.frames.curves)
            self.new_epoch()
        world = self.frames.world
        self.wanted = True  # until it is published, since a job may take precedence
        while world.unchecked_rows >= CHECK_ROWS:
            world.check_on(CHECK_ROWS)
            yield None
        for name in world.subscriptions[:-1]:
            world.forecast(name)
            yield None
        yield from self.frames.prepare()
        with_snapshot, self._snapshot_wanted, self.wanted = self._snapshot_wanted, False, False
        frame, snapshot = self.frames.next(self._playing(), with_snapshot)
        self._listener.publish(frame, snapshot)
        if self._failed:
            self._failed = False
            self._listener.frame_failed(None)
        self.wanted |= not self._playback.playing and self.frames.behind

    # --- long jobs

    def send_within_instant(self) -> None:
        """Notify pages that a long instant is being run. They keep the last complete one."""
        self._send_busy("instant", None)

    def send_busy(self, job: Job) -> None:
        """Show which job is running, and how far the world is."""
        self._send_busy(job.doing, job.to_us)

    def _send_busy(self, doing: str, to_us: int | None) -> None:
        if self.frames is None or not self._listener.watched():
            return
        busy = {"doing": doing, "at_us": self.frames.world.now_us, "to_us": to_us}
        frame = self.frames.busy(self._playing(busy))
        if frame is None:  # a page waits for its first frame
            self._listener.say({"type": "busy", **busy})
        else:
            self._listener.publish(frame, None)
        self.wanted = True  # the next frame shows when the job is over

    def _playing(self, busy: dict[str, Any] | None = None) -> Playing:
        return Playing(self._playback.playing, self._playback.speed, busy, self._playback.reached)
