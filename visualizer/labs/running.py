"""The part of a room that runs the lab here: turns messages into jobs, sends frames, stores positions.

Rules: every method returns at once. The session does the work when the pump gives it a turn. Other processes
that show the lab are `watchers`. They get each frame as one message, as long as they report viewers every
second.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from django import db

from simulator import ENGINE_VERSION, RuleError
from simulator.recordings import RecordingError
from visualizer.labs import jobs, saving
from visualizer.labs.clients import client
from visualizer.labs.definitions import scenario_of
from visualizer.labs.presentation import Pages, Presenting
from visualizer.labs.rooms import Reply, Room
from visualizer.labs.saving import AWAY, bad_value, is_bad_value
from visualizer.labs.session import Session
from visualizer.labs.work import Job
from visualizer.live.frames import Frame
from visualizer.live.wire import Refused
from visualizer.pages.pictures import picture_at
from visualizer.questions.queries import answer
from visualizer.questions.question import QUESTIONS

if TYPE_CHECKING:
    from visualizer.labs.hub import Hub

logger = logging.getLogger(__name__)

EPOCHS_PER_RUN = 1_000_000
"""Epoch numbers per run of a lab.

Epochs grow from run to run, so a frame of an earlier process is never taken for a new one.
"""

FORWARD = frozenset({"play", "seek", "step", "command"})
"""Requests that may need more memory."""

WATCHER_TICKS = 4
"""Seconds without a report after which another process no longer counts as a watcher."""

FRAME_FAILED = "frame-failed"
"""Code of the notice that a frame could not be made."""

POSITION_S = 1.0
"""How long a request for the lab's position waits for it to be stored."""


class Runner:
    """Runs a lab for its room, and listens to its session (`visualizer.labs.session.Listener`)."""

    def __init__(self, hub: Hub, room: Room, stored: saving.StoredLab) -> None:
        self.hub, self.room, self.stored = hub, room, stored
        self.session = Session(stored.lab_id, stored.run_number * EPOCHS_PER_RUN, self)
        self.session.background = hub.background
        # channel: [(viewers, followers, whether the presenter's page is among them), ticks left]
        self._watchers: dict[str, list[Any]] = {}
        self._position_due = False
        self._kept: dict[str, Any] | None = None
        self._next_number = 1 + max((given["number"] for given in stored.commands), default=0)
        self._taken = False  # another process runs the lab, as a write has detected
        self._notice: str | None = None
        self._frame_notice: dict[str, Any] | None = None  # that the last frame could not be made
        self._notice_ticks = 0  # ticks for which the end of the notice is repeated to other processes
        self._viewers_sent = 0
        self.presenting = Presenting(self._show_presentation, stored.presentation, room.presentation)
        if room.failure is None:
            work = jobs.rebuild(self.session, stored, lambda: scenario_of(stored.scenario_text, stored.seed))
            self.session.submit(Job(work, self._rebuilt, self._not_rebuilt, "rebuild", stored.position_us))
            hub.pump.add(self.session)

    def _rebuilt(self, _: Any) -> None:
        self.session.looking.want(snapshot=True)
        # the outcome of a command was not stored before the process ended
        if any(given["ok"] is None for given in self.stored.commands):
            self._put(
                partial(
                    saving.keep_position,
                    self.stored,
                    {"command_log": [dict(entry) for entry in self.session.world.command_log]},
                )
            )
        self.position_changed()

    def _not_rebuilt(self, refused: Refused) -> None:
        """Nothing to do: the room was closed before the lab was rebuilt, so no page is connected."""

    # --- listening to the session

    def publish(self, frame: Frame, snapshot: Frame | None) -> None:
        self.room.deliver(frame, snapshot)
        if self._watchers and self.hub.exchange is not None:
            self.hub.exchange.send_frame(self.stored.lab_id, frame, snapshot)

    def watched(self) -> bool:
        return bool(self.room.viewers) or bool(self._watchers)

    @property
    def evictable(self) -> bool:
        """Whether the lab could be closed now: it is paused and no request is pending."""
        return self.session.settled and not self.session.playback.playing

    def position_changed(self) -> None:
        self._position_due = True
        self.hub.soon(self.keep_position(), "keeping a position")

    def frame_failed(self, error: Exception | None) -> None:
        """Show that a frame could not be made (`error`), or that one was made again (None).

        The run goes on from its inputs and is not marked as failed.
        """
        words = None
        if error is not None:
            at_s = self.session.world.now_us / 1e6
            logger.error(
                "Internal error while drawing lab %s (seed %s) at %.6f s",
                self.stored.lab_id,
                self.stored.seed,
                at_s,
                exc_info=error,
            )
            words = (
                f"Internal error while drawing this lab at {at_s:.6f} s (seed {self.stored.seed}). The run "
                f"is unharmed and everything given to it is kept: go to another instant, or reload the "
                f"page. Please report it with the link."
            )
            if isinstance(error, RuleError):
                words = f"This lab's own rule failed while it was drawn at {at_s:.6f} s: {error}"
            self.position_changed()
        self._frame_notice = {
            "type": "notice",
            "code": FRAME_FAILED,
            "words": words,
            "replay": f"/labs/{self.stored.lab_id}/replay/",
        }
        self.room.tell(FRAME_FAILED, words, self._frame_notice["replay"])
        self._notify(self._frame_notice)

    # --- requests of viewers, here or in another process

    def handle(self, message: dict[str, Any], reply: Reply) -> None:
        session = self.session
        kind = message["type"]
        self.room.used_tick = self.hub.ticks
        if session.out_of_memory and kind in FORWARD:
            raise Refused(
                "memory",
                session.out_of_memory,
                "Try again in a minute, or copy the lab's link and come back later.",
            )
        if kind == "play":
            self._play(message.get("speed"), message.get("until_us"))
        elif kind == "pause":
            session.pause()
        elif kind == "speed":
            session.set_speed(message["speed"])
        elif kind == "presentation":  # from `visualizer.presenting.views`; no page can send it
            self.presenting.set(message["facts"])
        elif kind == "present":
            self.presenting.show(message["by"], message["shown"])
        elif kind == "predict":
            pages = Pages(message["address"], message["pages"], tuple(message["here"]))
            self.presenting.predict(message["by"], message["step"], message["guess"], pages)
        else:
            session.submit(self._job(message, reply))
        self.hub.pump.wake()

    def _play(self, speed: float | None, until_us: int | None) -> None:
        limit = self.session.at_limit
        if limit:
            raise Refused("limit", limit, "Go back, or open the scenario again.")
        self.session.play(speed, until_us)

    def _job(self, message: dict[str, Any], reply: Reply) -> Job:
        session, kind = self.session, message["type"]

        def refused(why: Refused) -> None:
            reply(why.answer())

        if kind == "seek":
            work = jobs.seek(session, message.get("at_us"), message.get("seq"))
            if "id" not in message:
                return Job(work, _nothing, refused, "seek", message.get("at_us"), replaceable=True)
            return Job(work, lambda _: reply(self._arrived(message["id"])), refused, "seek")
        if kind in ("step", "step-back"):
            work = jobs.step(session, kind == "step-back", message.get("filter", "control"))
            return Job(work, _nothing, refused, "step")
        if kind == "branch":
            return Job(jobs.switch_branch(session, message["number"]), _nothing, refused, "seek")
        return self._command_job(message, reply)

    def _command_job(self, message: dict[str, Any], reply: Reply) -> Job:
        identifier = message.get("id")
        writes: list[saving.Write] = []  # the write that stores the command, once it has begun

        def answer(result: Any, ok: bool = False) -> None:
            reply(
                {
                    "type": "result",
                    "id": identifier,
                    "ok": ok,
                    "code": result.code,
                    "error": result.error,
                    "hint": result.hint,
                    **self._place(),
                }
            )

        def done(result: Any) -> None:
            answer(result, bool(result.ok))

        def refused(why: Refused) -> None:
            if not writes:
                answer(why)
            elif writes[0].stored:  # the next process that runs the lab applies it
                answer(saving.no_answer() if why.code == "moved" else why)
            elif (undone := self.hub.saver.take_back(self.stored.lab_id, writes[0])) is None:
                answer(why)
            else:
                reply({"type": "notice", "code": saving.UNDECIDED, "words": saving.UNDECIDED_NOTICE})
                undone.add_done_callback(partial(decided, why))

        def decided(why: Refused, undone: asyncio.Future[Any]) -> None:
            reply({"type": "notice", "code": saving.UNDECIDED, "words": None})
            answer(why if not undone.cancelled() and undone.exception() is None else saving.no_answer())

        work = jobs.carry_out(
            self.session,
            message["command"],
            message.get("apart", False),
            partial(self._keep_command, writes),
            self._command_took_effect,
            message.get("at_us"),
        )
        return Job(work, done, refused)

    def _arrived(self, identifier: Any) -> dict[str, Any]:
        """The result of a seek that asked for one."""
        done = {"ok": True, "code": None, "error": None, "hint": None}
        return {"type": "result", "id": identifier, **done, **self._place()}

    def _place(self) -> dict[str, Any]:
        """Instant and branch that the lab shows, for a result; empty before its world exists."""
        world = self.session.world
        return {} if world is None else {"at_us": world.now_us, "branch": world.branch}

    async def _keep_command(self, writes: list[saving.Write], **given: Any) -> int | Refused:
        """The command's number once it is stored, or the reason why it is not."""
        number, self._next_number = self._next_number, self._next_number + 1
        saver, lab_id = self.hub.saver, self.stored.lab_id

        def work(write: saving.Write) -> None:
            saving.keep_command(self.stored, number, write.may_commit, **given)

        writes.append(saver.begin(lab_id, work, undo=partial(saving.forget_command, self.stored, number)))
        try:
            await saver.wait(lab_id, writes[0])
        except Refused as refused:
            return refused
        except Exception as error:
            if is_bad_value(error):
                return bad_value()
            raise
        return number

    def _command_took_effect(self, **outcome: Any) -> None:
        self._kept = None  # this write stores the position too
        self._put(partial(saving.command_took_effect, self.stored, **outcome))

    async def ask(self, what: str, arguments: dict[str, Any]) -> str:
        """Answer a question about the lab (`visualizer.questions.queries`), in its turn.

        Raises Refused, also for an internal error in the answer.
        """
        if self.room.failure is not None:
            raise Refused("engine-bug", self.room.failure["error"], self.room.failure["hint"])
        self.room.idle_ticks = 0
        # a request through another process counts for the client that opened the lab here
        self.session.asker = client.get() or self.room.client
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def done(text: str) -> None:
            if not future.done():
                future.set_result(text)

        def refused(why: Refused) -> None:
            if not future.done():
                future.set_exception(why)

        def broken(error: Exception) -> None:
            logger.error(
                "Internal error while answering %r about lab %s (seed %s)",
                what,
                self.stored.lab_id,
                self.stored.seed,
                exc_info=error,
            )
            words = (
                f"Internal error: the question {what!r} about lab {self.stored.lab_id} (seed "
                f"{self.stored.seed}) could not be answered."
            )
            if isinstance(error, RuleError):
                refused(Refused("rule-failed", f"The rule of this lab: {error}"[:600], "Correct the file."))
                return
            refused(
                Refused(
                    "internal-error",
                    words,
                    (
                        "The lab continues. Please report this with the lab's id and seed; the server's log "
                        "has the details."
                    ),
                )
            )

        self.session.submit(
            Job(
                answer(self.session, what, arguments),
                done,
                refused,
                "count" if what in QUESTIONS and QUESTIONS[what].counts else "",
                broken=broken,
            )
        )
        self.hub.pump.wake()
        return await future

    def want_snapshot(self) -> None:
        self.session.looking.want(snapshot=True)
        self.hub.pump.wake()

    # --- other processes

    def watch(self, channel: str, counts: tuple[int, int, bool], snapshot: bool) -> None:
        """Record how many viewers and followers another process has for this lab, and the presenter."""
        if counts[0]:
            self._watchers[channel] = [counts, WATCHER_TICKS]
        else:
            self._watchers.pop(channel, None)
        if snapshot:
            self.want_snapshot()
            self._notify(self.presenting.message)
            if self.room.failure is not None:
                self._notify(self.room.failure, failure=True)
            if self._frame_notice is not None:
                self._notify(self._frame_notice)
        self.viewers_changed()

    def viewers_changed(self) -> None:
        there = [counts for counts, _ in self._watchers.values()]
        self.presenting.count(
            self.room.followers + sum(followers for _, followers, _ in there),
            self.room.presenter_here or any(presenter for *_, presenter in there),
        )
        count = len(self.room.viewers) + sum(viewers for viewers, *_ in there)
        if count != self._viewers_sent:
            self._viewers_sent = count
            self.say({"type": "viewers", "count": count})

    def _show_presentation(self, message: dict[str, Any]) -> None:
        self.room.show_presentation(message)
        self._notify(message)

    def say(self, message: dict[str, Any]) -> None:
        """Send a message to every page, here and in other processes."""
        self.room.send_to_all(message)
        self._notify(message)

    def _notify(self, message: dict[str, Any], failure: bool = False) -> None:
        """Send a message to pages in other processes."""
        if self._watchers and self.hub.exchange is not None:
            self.hub.exchange.send_notice(self.stored.lab_id, message, failure)

    # --- once a second

    async def tick(self) -> None:
        for channel, watcher in list(self._watchers.items()):
            watcher[1] -= 1
            if watcher[1] <= 0:
                del self._watchers[channel]
        self.viewers_changed()
        self.presenting.second_passed()
        self.session.remind()
        busy = self.watched() or self.session.has_work or self.hub.saver.pending(self.stored.lab_id)
        self.room.idle_ticks = 0 if busy else self.room.idle_ticks + 1
        self._position_due |= self.session.playback.playing
        self._put_position()
        self._show_trouble()
        if self._taken:  # repeated, in case the database could not be reached at the first attempt
            self.hub.lost(self.room)

    def _show_trouble(self) -> None:
        """Show on every page, here and in other processes, whether the lab cannot be saved."""
        words = saving.NOTICE if self.hub.saver.in_trouble(self.stored.lab_id) else None
        if words != self._notice:
            self._notice, self._notice_ticks = words, WATCHER_TICKS
            self.room.tell(saving.NOT_SAVED, words)
        if words or self._notice_ticks > 0:
            self._notice_ticks -= 1
            self._notify({"type": "notice", "code": saving.NOT_SAVED, "words": words})

    async def keep_position(self) -> None:
        """Store the lab's position. Returns when it is stored, or soon when that is not possible now."""
        self._put_position()
        await self.hub.saver.flushed(self.stored.lab_id, POSITION_S)

    def _put_position(self) -> None:
        """Queue the lab's position to be stored, when it differs from the last stored one."""
        if not self._position_due or not self.session.settled:
            return
        self._position_due = False
        position = self.session.position()
        if position == self._kept:
            return
        # During playback the picture would be outdated at once, so it is drawn when the lab is paused.
        picture = {} if self.session.playback.playing else self._picture()
        self._kept = position
        # A report is about the branch shown, so its commands are stored with its number.
        log = {"command_log": [dict(entry) for entry in self.session.world.command_log]}
        self._put(
            partial(saving.keep_position, self.stored, {**position, **picture, **log}), replaceable=True
        )

    def _picture(self) -> dict[str, Any]:
        """The picture for the list of labs, as a field to store.

        An internal error in it loses only the picture, not the position.
        """
        try:
            return {"picture": picture_at(self.session.world)}
        except Exception:
            logger.exception(
                "Internal error in the picture of lab %s (seed %s)", self.stored.lab_id, self.stored.seed
            )
            return {}

    def _put(self, work: Any, replaceable: bool = False) -> None:
        self.hub.saver.put(self.stored.lab_id, work, replaceable).add_done_callback(self._put_ended)

    def _put_ended(self, done: asyncio.Future[Any]) -> None:
        error = None if done.cancelled() else done.exception()
        if isinstance(error, saving.LabTaken):
            self._taken = True
            self.hub.lost(self.room)
        elif error is not None:
            logger.error("Something of lab %s could not be stored", self.stored.lab_id, exc_info=error)

    def close(self) -> None:
        self.presenting.close()
        self.hub.pump.remove(self.session)
        self.hub.background.close(self.stored.lab_id)
        self.session.give_up(
            Refused("moved", "The lab is moving to another server process.", "Try again in a few seconds.")
        )

    # --- internal errors

    def failed(self, error: BaseException) -> None:
        """Stop this lab after an internal error and keep what is needed to reproduce it."""
        if isinstance(error, saving.LabTaken):
            self.hub.lost(self.room)
            return
        if isinstance(error, db.Error):
            logger.error("Lab %s ended here because of the database", self.stored.lab_id, exc_info=error)
            self.hub.soon(self.hub.put_away(self.room, AWAY, keep_position=False), "putting a lab away")
            return
        world = self.session.world
        blamed = isinstance(error, RuleError)
        logger.error(
            "Lab %s (seed %s) stopped on an internal error" if not blamed else "The rule of lab %s (seed %s)",
            self.stored.lab_id,
            self.stored.seed,
            exc_info=error,
        )
        hint = (
            "Nothing that you did is wrong. The replay link makes a new lab that runs to the same "
            "instant; please report it."
        )
        words = f"Internal error, this lab has stopped: {type(error).__name__}: {error}"[:600]
        if isinstance(error, RecordingError):
            words, hint = str(error)[:600], error.hint
        if blamed:
            words = f"The rule of this lab stopped it: {error}"[:600]
            hint = "Other labs continue. Start the server again with the corrected file, and make a new lab."
        failure = {
            "type": "error",
            "code": "engine-bug",
            "error": words,
            "hint": hint,
            "seed": self.stored.seed,
            "at_us": None if world is None else world.now_us,
            "engine_version": ENGINE_VERSION,
            "replay": f"/labs/{self.stored.lab_id}/replay/",
        }
        self.room.fail(failure)
        self._notify(failure, failure=True)
        self.session.give_up(Refused("engine-bug", words, hint))
        if not isinstance(error, RecordingError):  # it can be opened again once its file is back
            self._put(partial(saving.keep_failure, self.stored, failure))


def _nothing(_: Any) -> None:
    """Do nothing: the next frame shows the effect of the job."""
