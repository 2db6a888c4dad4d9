"""The part of a room that runs the lab here: messages become jobs, frames go out, positions and failures are kept.

Rules: everything returns at once; the session does the work when the pump gives it a turn. Other processes that show the
lab are `watchers`: they get each frame as one message, as long as they say every second that somebody watches there.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from simulator import ENGINE_VERSION
from visualizer import jobs, store
from visualizer.definitions import scenario_of
from visualizer.frames import Frame
from visualizer.pictures import picture_at
from visualizer.queries import COUNTED, answer
from visualizer.reruns import Reruns
from visualizer.rooms import Reply, Room
from visualizer.session import Session
from visualizer.wire import Refused
from visualizer.work import Job

if TYPE_CHECKING:
    from visualizer.hub import Hub

logger = logging.getLogger(__name__)

EPOCHS_PER_RUN = 1_000_000
"""Epochs grow from run to run, so a frame of an earlier process is never taken for a new one."""

WATCHER_TICKS = 4
"""Seconds without a word after which another process no longer watches."""


class Runner:
    """Listens to its session (`visualizer.session.Listener`) and is its room's part."""

    def __init__(self, hub: Hub, room: Room, stored: store.StoredLab) -> None:
        self.hub, self.room, self.stored = hub, room, stored
        self.session = Session(stored.lab_id, stored.run_number * EPOCHS_PER_RUN, self)
        self.session.reruns = self.reruns = Reruns(stored.lab_id, hub.pump)
        self._watchers: dict[str, list[int]] = {}  # channel: [viewers there, ticks left]
        self._position_due = False
        self._keeping = asyncio.Lock()
        self._kept: dict[str, Any] | None = None
        self._viewers_told = 0
        if room.failure is None:
            work = jobs.rebuild(self.session, stored, lambda: scenario_of(stored.scenario_text, stored.seed))
            self.session.submit(Job(work, self._rebuilt, self._not_rebuilt, "rebuild", stored.position_us))
            hub.pump.add(self.session)

    def _rebuilt(self, _: Any) -> None:
        self.session.looking.want(snapshot=True)
        self.position_changed()

    def _not_rebuilt(self, refused: Refused) -> None:
        """The room was closed before the lab stood: there is nobody to tell."""

    # --- listening to the session

    def publish(self, frame: Frame, snapshot: Frame | None) -> None:
        self.room.deliver(frame, snapshot)
        if self._watchers and self.hub.exchange is not None:
            self.hub.exchange.send_frame(self.stored.lab_id, frame, snapshot)

    def watched(self) -> bool:
        return bool(self.room.viewers) or bool(self._watchers)

    def position_changed(self) -> None:
        self._position_due = True
        self.hub.soon(self.keep_position(), "keeping a position")

    # --- asked by viewers, here or there

    def handle(self, message: dict[str, Any], reply: Reply) -> None:
        session = self.session
        kind = message["type"]
        if kind == "play":
            self._play(message.get("speed"))
        elif kind == "pause":
            session.pause()
        elif kind == "speed":
            session.set_speed(message["speed"])
        else:
            session.submit(self._job(message, reply))
        self.hub.pump.wake()

    def _play(self, speed: float | None) -> None:
        limit = self.session.at_limit
        if limit:
            raise Refused("limit", limit, "Go back, or open the scenario anew.")
        self.session.play(speed)

    def _job(self, message: dict[str, Any], reply: Reply) -> Job:
        session, kind = self.session, message["type"]

        def refused(why: Refused) -> None:
            reply(why.answer())

        if kind == "seek":
            work = jobs.seek(session, message.get("at_us"), message.get("seq"))
            return Job(work, _nothing, refused, "seek", message.get("at_us"), replaceable=True)
        if kind in ("step", "step-back"):
            work = jobs.step(session, kind == "step-back", message.get("filter", "control"))
            return Job(work, _nothing, refused, "step")
        if kind == "branch":
            return Job(jobs.switch_branch(session, message["number"]), _nothing, refused, "seek")
        return self._command_job(message, reply)

    def _command_job(self, message: dict[str, Any], reply: Reply) -> Job:
        stored = self.stored
        identifier = message.get("id")

        def keep(**given: Any) -> Any:
            return store.keep_command(stored, **given)

        def kept(**given: Any) -> Any:
            return store.command_took_effect(stored, **given)

        def done(result: Any) -> None:
            reply({"type": "result", "id": identifier, "ok": bool(result.ok), "code": result.code, "error": result.error, "hint": result.hint})

        def refused(why: Refused) -> None:
            reply({"type": "result", "id": identifier, "ok": False, "code": why.code, "error": why.error, "hint": why.hint})

        return Job(jobs.carry_out(self.session, message["command"], message.get("apart", False), keep, kept), done, refused)

    async def ask(self, what: str, arguments: dict[str, Any]) -> str:
        """Answer a question about the lab (`visualizer.queries`), in its turn. Raises `Refused`, also for an internal error in the answer."""
        if self.room.failure is not None:
            raise Refused("engine-bug", self.room.failure["error"], self.room.failure["hint"])
        self.room.idle_ticks = 0
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def done(text: str) -> None:
            if not future.done():
                future.set_result(text)

        def refused(why: Refused) -> None:
            if not future.done():
                future.set_exception(why)

        def broken(error: Exception) -> None:
            logger.error("Internal error while answering %r about lab %s (seed %s)", what, self.stored.lab_id, self.stored.seed, exc_info=error)
            words = f"Internal error: the question {what!r} about lab {self.stored.lab_id} (seed {self.stored.seed}) could not be answered."
            refused(Refused("internal-error", words, "The lab goes on. Please report this with the lab's id and seed; the server's log has the details."))

        self.session.submit(Job(answer(self.session, what, arguments), done, refused, "count" if what in COUNTED else "", broken=broken))
        self.hub.pump.wake()
        return await future

    def want_snapshot(self) -> None:
        self.session.looking.want(snapshot=True)
        self.hub.pump.wake()

    # --- other processes

    def watch(self, channel: str, viewers: int, snapshot: bool) -> None:
        """Another process shows this lab to so many viewers."""
        if viewers:
            self._watchers[channel] = [viewers, WATCHER_TICKS]
        else:
            self._watchers.pop(channel, None)
        if snapshot:
            self.want_snapshot()
            if self.room.failure is not None:
                self._notify(self.room.failure, failure=True)
        self.viewers_changed()

    def viewers_changed(self) -> None:
        count = len(self.room.viewers) + sum(viewers for viewers, _ in self._watchers.values())
        if count != self._viewers_told:
            self._viewers_told = count
            self.say({"type": "viewers", "count": count})

    def say(self, message: dict[str, Any]) -> None:
        """To every page, here and in other processes."""
        self.room.say_to_all(message)
        self._notify(message)

    def _notify(self, message: dict[str, Any], failure: bool = False) -> None:
        """Pages in other processes."""
        if self._watchers and self.hub.exchange is not None:
            self.hub.exchange.send_notice(self.stored.lab_id, message, failure)

    # --- once a second

    async def tick(self) -> None:
        for channel, watcher in list(self._watchers.items()):
            watcher[1] -= 1
            if watcher[1] <= 0:
                del self._watchers[channel]
        self.viewers_changed()
        self.session.remind()
        self.room.idle_ticks = 0 if self.watched() or self.session.has_work else self.room.idle_ticks + 1
        self._position_due |= self.session.playback.playing
        await self.keep_position()

    async def keep_position(self) -> None:
        """Store where the lab stands, when that is not what was stored last; returns when that, or what was being stored already, is done."""
        async with self._keeping:
            await self._keep_position()

    async def _keep_position(self) -> None:
        if not self._position_due or not self.session.settled:
            return
        self._position_due = False
        position = self.session.position()
        if position == self._kept:
            return
        # While it plays the picture would be old in a moment; it is drawn when the lab stands still.
        picture = {} if self.session.playback.playing else {"picture": picture_at(self.session.world)}
        try:
            await store.keep_position(self.stored, {**position, **picture})
        except store.LabTaken:
            self.hub.lost(self.room)
        else:
            self._kept = position

    def close(self) -> None:
        self.hub.pump.remove(self.session)
        self.reruns.close()
        self.session.give_up(Refused("moved", "The lab is moving to another server process.", "Try again in a few seconds."))

    # --- our own bugs

    def failed(self, error: BaseException) -> None:
        """The engine, or the code here, broke: stop this lab, loudly, with what is needed to see it again."""
        if isinstance(error, store.LabTaken):
            self.hub.lost(self.room)
            return
        world = self.session.world
        logger.error("Lab %s (seed %s) stopped by our own bug", self.stored.lab_id, self.stored.seed, exc_info=error)
        failure = {
            "type": "error",
            "code": "engine-bug",
            "error": f"Our own code broke, so this lab has stopped: {type(error).__name__}: {error}"[:600],
            "hint": "Nothing that you did is wrong. The replay link makes a new lab that runs to the same instant; please report it.",
            "seed": self.stored.seed,
            "at_us": None if world is None else world.now_us,
            "engine_version": ENGINE_VERSION,
            "replay": f"/labs/{self.stored.lab_id}/replay/",
        }
        self.room.fail(failure)
        self._notify(failure, failure=True)
        self.session.give_up(Refused("engine-bug", failure["error"], failure["hint"]))
        self.hub.soon(store.keep_failure(self.stored, failure), "keeping a failure")


def _nothing(_: Any) -> None:
    """A job whose effect the next frame shows."""
