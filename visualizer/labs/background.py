"""Runs beside the labs, in the pump's slices: what-if, tours, comparisons, when inevitable.

Rules: a study is identified by its kind, its lab if it has one, and its inputs, so requests with the same
inputs share it. It takes turns in the pump like a lab, so it delays none, and uses worlds of its own. An
internal error in it is logged and reported in its progress. The newest ones are kept, running or ended; a
cancelled one is started again by the next request.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from simulator import ROWS_MAX, RuleError, Wrong
from simulator.runs import Runs, Slices
from visualizer.labs import clients
from visualizer.labs.work import SliceSize, in_thread
from visualizer.live.wire import Refused

if TYPE_CHECKING:
    from visualizer.labs.pump import Pump

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class StudyKind:
    """The bounds of one kind of studies. A further study is refused with `refusal`."""

    name: str
    running: int
    """Studies that run at once in a process. Each takes as many turns as a lab and holds a world."""
    refusal: str
    per_client: int
    per_client_noun: str
    kept: int
    """Studies kept, running or ended: of one lab if they belong to labs, else of the process."""
    unasked_s: float | None = None
    """Seconds after the last request at which a running study ends: its page was closed. None: never."""
    figures_only: bool = False


CHANGED = StudyKind(
    "run beside a lab",
    running=8,
    refusal="labs of this server process are run again already",
    per_client=clients.RERUNS_PER_CLIENT,
    per_client_noun='labs with "What would have helped"',
    kept=4,  # a few kilobytes each
)
"""What would have helped in a lab, and the run that its tour shows."""

COMPARED = StudyKind(
    "comparison",
    running=4,
    refusal="comparisons are being run already",
    per_client=clients.COMPARISONS_PER_CLIENT,
    per_client_noun="comparisons",
    kept=20,  # up to a few megabytes each
)

INEVITABLE = StudyKind(
    "when inevitable",
    running=3,  # for up to some minutes each
    refusal="runs are run again from many instants already",
    per_client=clients.INEVITABLES_PER_CLIENT,
    per_client_noun="sets of re-runs",
    kept=20,  # up to 2,000 outcomes, some hundred kilobytes each
    unasked_s=20.0,
    figures_only=True,
)


class Study:
    """The runs of one question. The pump drives it (`visualizer.labs.pump.Turns`).

    `state` is running, done, failed, refused (there is no answer) or cancelled; `words` and `hint` say why.
    """

    def __init__(
        self,
        kind: StudyKind,
        name: str,
        asker: str,
        pump: Pump,
        work: Callable[[Runs], Slices[Any]],
        found: Any = None,
        rows_max: int = ROWS_MAX,
    ) -> None:
        """Prepare the work. `found` is filled by it, and has `done` and `of`; None: its outcomes are."""
        self.kind, self.asker = kind, asker
        self.lab_id = name  # the name under which the pump keeps it
        self.listener = self  # called on an internal error
        self.blocked_on: Callable[[], Awaitable[Any]] | None = None
        self.state, self.words, self.hint = "running", "", ""
        self.requested = True  # since the last turn
        self._requested_s: float | None = None
        self._pump = pump
        self._size = SliceSize()
        self.runs = Runs(self._size.take, rows_max, kind.figures_only)
        self.found: Any = self.runs if found is None else found
        self._work = work(self.runs)
        self._answer: Any = None
        self._error: Exception | None = None

    def progress(self) -> dict[str, Any]:
        """Progress for the page: `running` names the run under way, `done` of `of` runs have ended."""
        variant = self.runs.variant
        return {
            "state": self.state,
            "words": self.words,
            "hint": self.hint,
            "running": "" if variant is None else variant.name,
            "done": self.found.done,
            "of": self.found.of,
        }

    # --- turns, called by the pump

    def turn(self, now_s: float) -> bool:
        """One slice of a run. What cannot be cut, such as creating a world, runs in a thread."""
        if self.due_s(now_s) is None or self._unasked(now_s):
            return False
        answer, self._answer = self._answer, None
        error, self._error = self._error, None
        try:
            long = self._work.send(answer) if error is None else self._work.throw(error)
        except StopIteration:
            self.end("done")
        except Wrong as wrong:
            self.end("refused", f"{wrong.what}.", str(wrong.right))
        else:
            self.blocked_on = None if long is None else in_thread(long).begin
        return True

    def due_s(self, now_s: float) -> float | None:
        return None if self.blocked_on is not None or self.state != "running" else now_s

    def took(self, seconds: float) -> None:
        self._size.took(seconds)

    def resumed(self, answer: Any) -> None:
        """Continue with the result of the thread."""
        self.blocked_on, self._answer = None, answer

    def interrupted(self, error: Exception) -> None:
        """Continue with the error of the thread, which is raised where the work waits."""
        self.blocked_on, self._error = None, error

    def failed(self, error: BaseException) -> None:
        """Record an internal error."""
        if isinstance(error, RuleError):
            return self.end("failed", str(error)[:400])
        logger.error("A study stopped on an internal error: %s", self.lab_id, exc_info=error)
        name = self.runs.variant.name if self.runs.variant else ""
        where = f" while running {name!r}" if name else ""
        return self.end("failed", f"Internal error{where}: {type(error).__name__}: {error}"[:400])

    def end(self, state: str, words: str = "", hint: str = "") -> None:
        """Stop with this state. The outcomes so far stay."""
        if self.state == "running":
            self.state, self.words, self.hint = state, words, hint
            self.blocked_on = None
            self._work.close()
            self.runs.release()
            self._pump.remove(self)

    def _unasked(self, now_s: float) -> bool:
        """Whether nobody asks for it any more: then it is cancelled."""
        if self.requested or self._requested_s is None:
            self.requested, self._requested_s = False, now_s
        elif self.kind.unasked_s is not None and now_s - self._requested_s > self.kind.unasked_s:
            self.end("cancelled", "Cancelled.")
            return True
        return False


class Background:
    """This process's studies, the newest last."""

    def __init__(self, pump: Pump, admit: Callable[[], None] = lambda: None) -> None:
        """Use this pump; `admit` raises Refused when there is no memory for another study."""
        self._pump, self._admit = pump, admit
        self._studies: OrderedDict[tuple[StudyKind, str, str], Study] = OrderedDict()
        self._numbers = count(1)

    def of(
        self,
        kind: StudyKind,
        key: str,
        work: Callable[[Runs], Slices[Any]],
        found: Any = None,
        *,
        lab_id: str = "",
        asker: str | None = None,
        rows_max: int = ROWS_MAX,
        unfit: str = "",
    ) -> Study:
        """The study of these inputs, started if it is new or was cancelled. Raises Refused.

        `asker` is the client where it is not the current one. `unfit` says why a new study is not run.
        """
        place = (kind, lab_id, key)
        study = self._studies.get(place)
        if study is None or study.state == "cancelled":
            asker = clients.client.get() if asker is None else asker
            if not unfit:
                self._check_room(kind, asker)
            name = f"{lab_id} {kind.name} {next(self._numbers)}".strip()
            study = self._studies[place] = Study(kind, name, asker, self._pump, work, found, rows_max)
            if unfit:
                study.end("failed", unfit)
            else:
                self._pump.add(study)
        study.requested = True
        self._studies.move_to_end(place)
        for old in [one for one in self._studies if one[:2] == place[:2]][: -kind.kept]:
            self._studies.pop(old).end("cancelled", "Cancelled.")
        return study

    def find(self, kind: StudyKind, key: str, lab_id: str = "") -> Study | None:
        return self._studies.get((kind, lab_id, key))

    def cancel(self, kind: StudyKind, key: str) -> bool:
        """Cancel a study for the client that began it; whether it was running. Raises Refused."""
        study = self.find(kind, key)
        if study is None or study.state != "running":
            return False
        if study.asker != clients.client.get():
            raise Refused(
                "not-yours",
                "Another visitor began these re-runs, and watches them.",
                "Leave this panel: they end when nobody asks for them.",
            )
        study.end("cancelled", "Cancelled.")
        return True

    def close(self, lab_id: str) -> None:
        """Cancel and forget every study of a lab: it is closed."""
        for place in [one for one in self._studies if one[1] == lab_id]:
            self._studies.pop(place).end("cancelled", "Cancelled.")

    def worlds(self) -> list[Any]:
        """The worlds of the runs under way."""
        return [study.runs.world for study in self._studies.values() if study.runs.world is not None]

    def _check_room(self, kind: StudyKind, asker: str) -> None:
        """Raise Refused when there is no memory or no room for one more study of this client."""
        self._admit()
        askers = [
            study.asker
            for (its_kind, *_), study in self._studies.items()
            if its_kind is kind and study.state == "running"
        ]
        if len(askers) >= kind.running:
            raise Refused("too-many", f"{kind.running} {kind.refusal}.", "Try again in a minute.")
        clients.check_at_once(askers, kind.per_client, kind.per_client_noun, asker)
