"""Answers to "when did it become inevitable": re-runs of a lab's run, in the pump's slices.

Rules: a study is identified by its inputs, so visitors who ask the same share it; the number of duplicates
that is asked for is none of them. Results are sent as they arrive. Nobody asks for a study any more: it ends.
The newest `KEPT` are kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import closing
from itertools import count
from typing import Any

from simulator import ENGINE_VERSION, RuleError, Wrong
from simulator.inevitable import Asked, Reruns, curve, decided, same_in_all, typical
from simulator.runs import Runs
from visualizer.comparisons.running import rerun_name
from visualizer.labs import clients
from visualizer.labs.pump import Pump
from visualizer.labs.work import SlicedTask, Work, in_thread
from visualizer.live.wire import Refused

logger = logging.getLogger(__name__)

RUNNING = 3
"""Studies that run at once in a process. Each takes turns with the labs, for up to some minutes."""

KEPT = 20
"""Studies kept, running or done. Each has up to 2,000 outcomes, some hundred kilobytes."""

UNASKED_S = 20.0
"""Seconds after the last request for its progress at which a running study ends: its page was closed."""


class Study(SlicedTask):
    """The re-runs of one question. The pump drives it."""

    def __init__(self, name: str, asked: Asked, ended: Callable[[Study], None]) -> None:
        super().__init__(name)
        self.reruns = Reruns(asked)
        self.state, self.words, self.hint = "running", "", ""
        self.requested = True  # since the last turn
        self._requested_s: float | None = None
        self._ended = ended
        self._runs = Runs(self.size.take, figures_only=True)
        self.begin(_with_threads(self.reruns.work(self._runs)))

    # --- turns, called by the pump

    def turn(self, now_s: float) -> bool:
        """One slice of a re-run."""
        if not self.ready or self._unasked(now_s):
            return False
        try:
            self.step()
        except StopIteration:
            self._end("done")
        except Wrong as wrong:
            self._end("refused", f"{wrong.what}.", str(wrong.right))
        return True

    def failed(self, error: BaseException) -> None:
        """Record an internal error. The pump has already removed the study."""
        if isinstance(error, RuleError):
            self._end("failed", str(error)[:400])
            return
        logger.error("Re-runs with fresh draws stopped on an internal error", exc_info=error)
        self._end("failed", f"Internal error: {type(error).__name__}: {error}"[:400])

    def cancel(self) -> None:
        """Stop; the outcomes so far stay."""
        if self.state == "running":
            self._end("cancelled", "Cancelled.")

    def _unasked(self, now_s: float) -> bool:
        if self.requested or self._requested_s is None:
            self.requested, self._requested_s = False, now_s
        elif now_s - self._requested_s > UNASKED_S:
            self.cancel()
            return True
        return False

    def _end(self, state: str, words: str = "", hint: str = "") -> None:
        self.state, self.words, self.hint = state, words, hint
        self.close()
        self._runs.world = None
        self._ended(self)

    @property
    def world(self) -> Any:
        """The run under way, None between two."""
        return self._runs.world


def _with_threads(work: Generator[Callable[[], Any] | None, Any, None]) -> Work:
    """The work, whose functions that cannot be cut into slices run in threads."""
    answer = None
    with closing(work):
        while True:
            try:
                long = work.send(answer)
            except StopIteration:
                return
            answer = yield None if long is None else in_thread(long)


class Inevitables:
    """This process's studies, the newest last."""

    def __init__(self, pump: Pump, admit: Callable[[], None] = lambda: None) -> None:
        """Use this pump; `admit` raises Refused when there is no memory for another study."""
        self._pump, self._admit = pump, admit
        self._studies: OrderedDict[str, Study] = OrderedDict()
        self._askers: dict[str, str] = {}  # the client that began each study
        self._numbers = count(1)

    def worlds(self) -> list[Any]:
        """The runs under way."""
        return [study.world for study in self._studies.values()]

    def of(self, asked: Asked) -> Study:
        """The study of these inputs, started if it is new or was cancelled. Raises Refused."""
        key = key_of(asked)
        study = self._studies.get(key)
        if study is None or study.state == "cancelled":
            study = self._begin(key, asked)
        study.requested = True
        self._studies.move_to_end(key)
        return study

    def cancel(self, asked: Asked) -> bool:
        """Cancel the study of these inputs for the client that began it; whether there was one."""
        key = key_of(asked)
        study = self._studies.get(key)
        if study is None or study.state != "running":
            return False
        if self._askers[key] != clients.client.get():
            raise Refused(
                "not-yours",
                "Another visitor began these re-runs, and watches them.",
                "Leave this panel: they end when nobody asks for them.",
            )
        study.cancel()
        return True

    def _begin(self, key: str, asked: Asked) -> Study:
        self._admit()
        running = [self._askers[one] for one, study in self._studies.items() if study.state == "running"]
        if len(running) >= RUNNING:
            raise Refused(
                "too-many",
                f"{RUNNING} runs are run again from many instants already.",
                "Try again in a minute.",
            )
        clients.check_at_once(running, clients.INEVITABLES_PER_CLIENT, "sets of re-runs")
        study = Study(f"inevitable {next(self._numbers)}", asked, self._pump.remove)
        self._studies[key], self._askers[key] = study, clients.client.get()
        while len(self._studies) > KEPT:
            old, oldest = self._studies.popitem(last=False)
            del self._askers[old]
            oldest.cancel()
        self._pump.add(study)
        return study


def key_of(asked: Asked) -> str:
    """Identifies a question by its inputs."""
    numbers = [asked.until_us, asked.failure, asked.instants, asked.reruns, asked.periods]
    draws = [asked.draws.spread_millionths, asked.draws.arrivals]
    run = [asked.scenario.canonical_text, asked.seed, asked.commands]
    return json.dumps([ENGINE_VERSION, run, numbers, draws])


def id_of(asked: Asked) -> str:
    """A short name of a question, by which a page notices that the run has changed."""
    return hashlib.sha256(key_of(asked).encode()).hexdigest()[:16]


def answer_of(study: Study, branch: int, more_than: int | None) -> dict[str, Any]:
    """Progress, and the curve of the re-runs so far; `more_than` None is their typical number.

    Each point has the `key` under which its worst re-run can be opened.
    """
    reruns, draws = study.reruns, study.reruns.asked.draws
    limit = typical(reruns.points, reruns.asked.reruns) if more_than is None else more_than
    found = curve(reruns.points, limit)
    actual, done = reruns.actual, study.state == "done"
    return {
        "id": id_of(reruns.asked),
        "state": study.state,
        "words": study.words,
        "hint": study.hint,
        "done": reruns.done,
        "of": reruns.of,
        "reruns": reruns.asked.reruns,
        "failures": [{"at_us": one.at_us, "label": one.label} for one in reruns.failures],
        "actual": None if actual is None else {"duplicates": actual.duplicates, "lost": actual.lost},
        "more_than": limit,
        "points": [
            {**one, "key": rerun_name(branch, one["at_us"], one["worst"]["number"], draws)} for one in found
        ],
        "decided": {name: decided(found, name) for name in ("more", "loss")} if done else None,
        "same": done and same_in_all(reruns.points),
    }
