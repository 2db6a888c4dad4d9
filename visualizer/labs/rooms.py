"""A lab as this process shows it: its viewers, and the recent frames they may still need.

The room's `part` runs the lab. Rules: viewers cannot see which process runs their lab. A frame is sent to
each viewer here as one text. Viewers that wait for a snapshot get the snapshot of the same number instead. A
part is a `Runner` (the world is here) or a `Relay` (it is in another process). The hub exchanges one for the
other when a lease moves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulator import ENGINE_VERSION
from visualizer.labs.presentation import NOBODY
from visualizer.live.frames import Frame
from visualizer.live.viewers import Viewer
from visualizer.live.welcome import welcome
from visualizer.live.wire import CONTROLS, Refused, encode
from visualizer.models import Lab

if TYPE_CHECKING:
    from visualizer.labs.relaying import Relay
    from visualizer.labs.running import Runner

RECENT_FRAMES = 60
"""Frames kept for pages that reconnect after a short loss: three seconds."""

VIEWERS_PER_ROOM = 500
"""Open pages of one lab in one process. A further page is refused with a reason."""

Reply = Callable[[dict[str, Any]], None]


class Room:
    """One lab in this process. `part` is set by the hub right after the room is made."""

    part: Runner | Relay

    def __init__(self, lab: Lab, client: str = "") -> None:
        self.lab = lab
        self.client = client  # the client that opened it, whose quota counts it
        self.viewers: dict[int, Viewer] = {}
        self.recent: deque[Frame] = deque(maxlen=RECENT_FRAMES)
        # A failure of another engine version is dropped, since this version may have fixed it.
        self.failure: dict[str, Any] | None = (
            lab.failure if lab.failure and lab.failure["engine_version"] == ENGINE_VERSION else None
        )
        self.idle_ticks = 0
        self.used_tick = 0  # hub tick of the latest request
        # the last message about a presentation of the lab to a class (`visualizer.labs.presentation`)
        self.presentation: dict[str, Any] = NOBODY
        # current notices that every page gets, by code
        self._lasting: dict[str, dict[str, Any]] = {}

    # --- viewers

    def enter(self, viewer: Viewer, hello: dict[str, Any]) -> None:
        """Add a page that has sent hello: send it welcome, then frames.

        It continues from the last frame it has seen when the later ones are still kept, else from a snapshot.
        """
        if len(self.viewers) >= VIEWERS_PER_ROOM:
            viewer.close(f"{VIEWERS_PER_ROOM} pages show this lab already. Try again later.")
            return
        token = hello.get("token")
        viewer.is_owner = self.lab.is_owner(token)
        self.viewers[viewer.number] = viewer
        self.idle_ticks = 0
        viewer.say({**welcome(self.lab, viewer.is_owner), "failed": self.failure})
        if token and not viewer.is_owner:
            viewer.say(
                Refused(
                    "not-owner",
                    "The token is not this lab's.",
                    "Watching works without one; the owner has the right one.",
                ).answer()
            )
        if self.presentation is not NOBODY:
            viewer.say(self.presentation)
        for notice in self._lasting.values():
            viewer.say(notice)
        missing = self._frames_after(hello.get("epoch", -1), hello.get("number", -1))
        if missing is not None:
            viewer.resume(missing)
        else:
            self.part.want_snapshot()
        self.part.viewers_changed()

    def leave(self, viewer: Viewer) -> None:
        if self.viewers.pop(viewer.number, None) is not None:
            self.part.viewers_changed()

    def handle_message(self, viewer: Viewer, message: dict[str, Any]) -> None:
        """Handle a checked message of a page.

        It returns at once. Answers are sent with `viewer.say`.
        """
        if message["type"] == "seen":
            viewer.saw(message["epoch"], message["number"])
            if viewer.wants_snapshot:
                self.part.want_snapshot()
            return
        if message["type"] in CONTROLS and not viewer.is_owner:
            raise Refused(
                "not-owner",
                "Only the lab's owner may do that.",
                "Open a lab of your own from the gallery: it takes the same scenario and seed.",
            )
        if message["type"] == "predict":
            viewer.predicts_as = viewer.predicts_as or message["by"]
            if viewer.predicts_as != message["by"]:  # one page has one prediction for each step
                raise Refused(
                    "bad-message",
                    "This page has predicted under another name.",
                    "Send each prediction of a page under the same name.",
                )
            neighbours = [one for one in self.viewers.values() if one.address == viewer.address]
            here = [one.predicts_as for one in neighbours if one.predicts_as]
            message = {**message, "pages": len(neighbours), "here": here, "address": viewer.address}
        if message["type"] == "present" and viewer.presents_as != message["by"]:
            viewer.presents_as = message["by"]
            self.part.viewers_changed()
        if self.failure is not None:
            viewer.say(self.failure)
            return
        self.part.handle(message, viewer.say)

    def _frames_after(self, epoch: int, number: int) -> list[Frame] | None:
        """The frames after the one a returning page has seen; None when not all of them are kept."""
        if not self.recent or self.recent[-1].epoch != epoch or number > self.recent[-1].number:
            return None
        newer = [frame for frame in self.recent if frame.epoch == epoch and frame.number > number]
        whole = len(newer) == self.recent[-1].number - number
        return newer if whole else None

    def second_passed(self) -> None:
        """Called once a second: checks that each page has answered its frames."""
        for viewer in list(self.viewers.values()):
            viewer.second_passed()

    # --- called by the part

    def deliver(self, frame: Frame, snapshot: Frame | None) -> None:
        """Send the next frame to every viewer here, or its snapshot to those that start from one."""
        self.recent.append(frame)
        for viewer in list(self.viewers.values()):
            viewer.offer(snapshot if snapshot is not None and viewer.wants_snapshot else frame)

    def send_to_all(self, message: dict[str, Any]) -> None:
        text = encode(message)
        for viewer in list(self.viewers.values()):
            viewer.send_text(text)

    def tell(self, code: str, words: str | None, replay: str | None = None) -> None:
        """Show a lasting notice on every page, now and later; `words` None ends it.

        `replay` is a link beside the words.
        """
        notice = {"type": "notice", "code": code, "words": words, **({"replay": replay} if replay else {})}
        if self._lasting.get(code, {}).get("words") == words:
            return
        if words is None:
            del self._lasting[code]
        else:
            self._lasting[code] = notice
        self.send_to_all(notice)

    def show_presentation(self, message: dict[str, Any]) -> None:
        """Send the state of the lab's presentation to every page, now and later, if it has changed."""
        if message["code"] is None:
            message = NOBODY
        if message == self.presentation:
            return
        self.presentation = message
        self.send_to_all(message)
        self.part.viewers_changed()  # another page may be the presenter's now

    @property
    def followers(self) -> int:
        """Pages here that cannot control the lab."""
        return sum(not viewer.is_owner for viewer in self.viewers.values())

    @property
    def presenter_here(self) -> bool:
        """Whether the page that presents the lab is connected to this process."""
        by = self.presentation.get("by")
        return by is not None and any(viewer.presents_as == by for viewer in self.viewers.values())

    def start_over(self) -> None:
        """Make every viewer wait for a snapshot, since frames now come from another process."""
        self.recent.clear()
        for viewer in self.viewers.values():
            viewer.needs_snapshot = True

    def fail(self, failure: dict[str, Any]) -> None:
        """Show an internal error on every page. The lab stops."""
        self.failure = failure
        self.send_to_all(failure)

    @property
    def anyone_wants_snapshot(self) -> bool:
        return any(viewer.wants_snapshot for viewer in self.viewers.values())
