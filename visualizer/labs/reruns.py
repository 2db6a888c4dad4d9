"""Runs beside a lab, in the pump's slices.

They are the variants of "what would have helped", and the run that its tour shows.

Rules: variants run one after the other. A study takes turns in the pump like a lab, so it never delays the
real one. It uses only worlds of its own. It is identified by its inputs (branch, commands, end), so later
requests with the same inputs share it. An internal error in it is logged and reported in the answer. The lab
continues.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from typing import Any

from simulator import ROWS_MAX, RuleError, World
from simulator.runs import Runs, Variant
from simulator.tours import tour_answer, tour_run
from simulator.what_if import outcome, variants
from visualizer.labs import clients
from visualizer.labs.pump import Pump
from visualizer.labs.work import SliceSize, in_thread
from visualizer.live.wire import Refused

logger = logging.getLogger(__name__)

ROWS_MOST = 1_000_000
"""Most rows of a run that is run again.

They take about twenty seconds a variant in half of a process's time. The report has the same limit.
"""

RUNNING = 8
"""Labs of a process whose variants run at once.

Each takes as many turns as a lab and holds a world. A further request is refused.
"""

TOUR = "tour"
"""The key of the run that a lab's tour shows."""

STUDIES_KEPT = 4
"""Studies kept per lab, the newest ones. An outcome has a few kilobytes."""


class Study:
    """The runs of one study, variants or strategies. The pump drives it (`visualizer.labs.pump.Turns`)."""

    def __init__(
        self,
        lab_id: str,
        seed: int,
        until_us: int,
        listed: list[Variant],
        ended: Callable[[Study], None],
        outcome_of: Callable[[Variant, World], dict[str, Any]] = outcome,
        compared: str = "cases",
        rows_max: int = ROWS_MAX,
    ) -> None:
        """Prepare the runs of `listed`.

        `outcome_of` computes a run's outcome. The runs are compared by its entry `compared`. A run stops
        before it has more than `rows_max` rows.
        """
        self.lab_id = lab_id
        self._ended = ended
        self.until_us = until_us
        self.commands = listed[0].commands if listed else []  # of the run as it was
        self.of = len(listed)
        self.words = ""
        self.blocked_on: Callable[[], Awaitable[Any]] | None = None
        self.listener = self
        self.asker = ""  # the client address that it counts for
        self._size = SliceSize()
        self._runs = Runs(self._size.take, rows_max)
        inputs = [replace(one, seed=seed, until_us=until_us) for one in listed]
        # without cases, such as failovers, there is nothing to compare
        self._work = self._runs.each(inputs, outcome_of, lambda first: first[compared])
        self._done = False
        self._answer: Any = None
        self._error: Exception | None = None

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """The outcomes so far, in the order of the runs."""
        return self._runs.outcomes

    @property
    def state(self) -> str:
        """The state: running, done, or failed (then `words` says why)."""
        return "failed" if self.words else "done" if self._done else "running"

    @property
    def running(self) -> str:
        """The variant that is being run."""
        return self._runs.variant.name if self.state == "running" and self._runs.variant else ""

    def turn(self, now_s: float) -> bool:
        """One slice of a run. A world is created, and its outcome computed, in a thread."""
        if self.blocked_on is not None or self.state != "running":
            return False
        if self._error is not None:
            raise self._error
        answer, self._answer = self._answer, None
        try:
            long = self._work.send(answer)
        except StopIteration:
            self._done = True
            self._ended(self)
            return True
        self.blocked_on = None if long is None else in_thread(long).begin
        return True

    def due_s(self, now_s: float) -> float | None:
        return None if self.blocked_on is not None or self.state != "running" else now_s

    def took(self, seconds: float) -> None:
        self._size.took(seconds)

    def resumed(self, answer: Any) -> None:
        """Continue with the result of the thread: a variant's world, or the outcome of its run."""
        self.blocked_on, self._answer = None, answer

    def interrupted(self, error: Exception) -> None:
        """Keep the error of the thread, which the next turn raises."""
        self.blocked_on, self._error = None, error

    def failed(self, error: BaseException) -> None:
        """Record an internal error. The pump has already removed the study."""
        if isinstance(error, RuleError):
            self.blocked_on, self.words = None, str(error)[:400]
            return
        logger.error("A run beside a lab stopped on an internal error: %s", self.lab_id, exc_info=error)
        self.blocked_on = None
        name = self._runs.variant.name if self._runs.variant else ""
        self.words = f"Internal error while running {name!r}: {type(error).__name__}: {error}"[:400]

    @property
    def world(self) -> Any:
        """The world of the variant that is being run, None between two variants."""
        return self._runs.world

    def refuse(self, words: str) -> None:
        """Mark the study as not run, with the reason."""
        self.words = words


class Reruns:
    """A lab's studies, newest last."""

    def __init__(self, lab_id: str, pump: Pump, admit: Callable[[str], None] = lambda asker: None) -> None:
        """Studies of one lab; `admit` raises Refused when the address or process may not start another."""
        self._lab_id, self._pump, self._admit = lab_id, pump, admit
        self.asker = ""  # the address of the latest request
        self._studies: dict[str, Study] = {}
        self._numbers = count(1)

    def of(self, world: Any) -> Study:
        """The study of the lab's current branch, started if it is new.

        It runs to the scenario's end, or as far as the branch has run if that is later.
        """
        until_us = max(world.scenario.until_us, world.furthest_us)
        key = repr((world.branch, world.command_log, until_us))
        if key not in self._studies:
            self._begin(key, world, until_us)
        return self._studies[key]

    def finished(self, commands: list[dict[str, Any]], until_us: int) -> list[dict[str, Any]]:
        """The outcomes of what would have helped for these inputs, if this process has them; else none."""
        for key, study in reversed(self._studies.items()):
            same = key != TOUR and study.until_us == until_us and study.commands == commands
            if same and study.state == "done":
                return study.outcomes
        return []

    def of_tour(self, world: Any) -> Study:
        """The run that the lab's tour shows: the scenario as written, started if it is new."""
        if TOUR not in self._studies:
            self._admit(self.asker)
            listed = [tour_run(world.scenario, world.seed)]
            until_us = world.scenario.until_us
            name = f"{self._lab_id}, tour {next(self._numbers)}"
            self._keep(
                TOUR,
                Study(name, world.seed, until_us, listed, self._pump.remove, tour_answer, "steps", ROWS_MOST),
            )
        return self._studies[TOUR]

    def _begin(self, key: str, world: Any, until_us: int) -> None:
        if len(world.trace) <= ROWS_MOST:
            self._admit(self.asker)
        name = f"{self._lab_id}, what would have helped {next(self._numbers)}"
        study = Study(
            name, world.seed, until_us, variants(world.scenario, world.command_log), self._pump.remove
        )
        if len(world.trace) > ROWS_MOST:
            study.refuse(
                f"The run has {len(world.trace):,} rows; runs of more than {ROWS_MOST:,} are not run again "
                "here."
            )
        self._keep(key, study)

    def _keep(self, key: str, study: Study) -> None:
        """Start a study, and drop the oldest beyond `STUDIES_KEPT`."""
        study.asker = self.asker
        self._studies[key] = study
        for old in list(self._studies)[:-STUDIES_KEPT]:
            self._pump.remove(self._studies.pop(old))
        if study.state == "running":
            self._pump.add(study)

    def askers(self) -> list[str]:
        """The client address of each study that is running."""
        return [study.asker for study in self._studies.values() if study.state == "running"]

    def worlds(self) -> list[Any]:
        """The worlds of the kept studies; None for one without a world."""
        return [study.world for study in self._studies.values()]

    def close(self) -> None:
        """Cancel every study: the lab is closed."""
        for study in self._studies.values():
            self._pump.remove(study)
        self._studies.clear()


def check_room(askers: list[str], asker: str) -> None:
    """Raise Refused when one more study of `asker` would exceed a limit.

    `askers` holds the address of each study that is running in the process.
    """
    if len(askers) >= RUNNING:
        raise Refused(
            "too-many",
            f"{RUNNING} labs of this server process are run again already.",
            "Ask again in a minute.",
        )
    clients.check_at_once(askers, clients.RERUNS_PER_CLIENT, 'labs with "What would have helped"', asker)
