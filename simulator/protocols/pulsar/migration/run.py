"""A migration as a state machine without input or output: its state, legal moves and next effects.

Rules: `take` is the only way to change it: it maps one input and the instant to effects. The legal moves are
the two tables. `ACTIONS` has the function of each input. Steps are in order. A step that a forced switch
skipped is resumed after it. Once clean-up has begun there is no roll-back. It does not depend on topics:
`migration.Migration` performs the effects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

METADATA, TOPIC_DATA, PROGRESS, SWITCH, CLEAN_UP = STEPS = (
    "metadata",
    "topic-data",
    "consumption-progress",
    "switch",
    "clean-up",
)
ACKNOWLEDGEMENT_SYNC, SNAPSHOTS, NONE, BLUE_GREEN = STRATEGIES = (
    "acknowledgement-sync",
    "snapshots",
    "none",
    "blue-green",
)
SKIPPED_STEPS = {NONE: (PROGRESS,), BLUE_GREEN: (TOPIC_DATA, PROGRESS)}
"""Steps that are empty in a strategy."""

WAITING, RUNNING, PAUSED, FAILED, ROLLING_BACK, ROLLED_BACK, FINISHED = (
    "waiting",
    "running",
    "paused",
    "failed",
    "rolling-back",
    "rolled-back",
    "finished",
)
DONE, SKIPPED, UNDOING, UNDONE = "done", "skipped", "undoing", "undone"

RUN_MOVES: dict[tuple[str, str], str] = {
    # (state, input): next state; "resume" of a paused run whose step had begun is "go-on"
    (WAITING, "begin"): RUNNING,
    (WAITING, "pause"): PAUSED,
    (WAITING, "roll-back"): ROLLING_BACK,
    (RUNNING, "done"): WAITING,
    (RUNNING, "last-done"): FINISHED,
    (RUNNING, "fail"): FAILED,
    (RUNNING, "pause"): PAUSED,
    (RUNNING, "roll-back"): ROLLING_BACK,
    (PAUSED, "resume"): WAITING,
    (PAUSED, "go-on"): RUNNING,
    (PAUSED, "roll-back"): ROLLING_BACK,
    (FAILED, "go-on"): RUNNING,
    (FAILED, "roll-back"): ROLLING_BACK,
    **{(state, "hurry"): RUNNING for state in (WAITING, RUNNING, PAUSED, FAILED)},
    (ROLLING_BACK, "undo"): ROLLING_BACK,
    (ROLLING_BACK, "undone"): ROLLING_BACK,
    (ROLLING_BACK, "last-undone"): ROLLED_BACK,
}

STEP_MOVES: dict[tuple[str, str], str] = {
    (WAITING, "begin"): RUNNING,
    (WAITING, "skip"): SKIPPED,
    (RUNNING, "done"): DONE,
    (RUNNING, "fail"): FAILED,
    (RUNNING, "pause"): PAUSED,
    (FAILED, "begin"): RUNNING,
    (PAUSED, "begin"): RUNNING,
    **{(state, "undo"): UNDOING for state in (RUNNING, DONE, FAILED, PAUSED)},
    (UNDOING, "undone"): UNDONE,
}

ENDED = (ROLLED_BACK, FINISHED)


class IllegalMove(Exception):
    """An input that is not legal in this state."""


# --- effects


class Work(NamedTuple):
    """Begin or continue a step."""

    step: str


class Rest(NamedTuple):
    """Stop working on a step: paused, failed, skipped by a forced switch, or rolled back."""

    step: str


class End(NamedTuple):
    """The migration is finished or rolled back."""


Effect = Work | Rest | End


@dataclass(slots=True)
class Step:
    """One of the five steps. `error` is the reason of its last failure."""

    name: str
    state: str = WAITING
    attempts: int = 0
    started_us: int | None = None
    finished_us: int | None = None
    error: str | None = None

    def take(self, given: str, now_us: int) -> None:
        """Change the state by the table."""
        if (self.state, given) not in STEP_MOVES:
            raise IllegalMove(f"step {self.name} is {self.state}: {given} is not a move from there")
        before, self.state = self.state, STEP_MOVES[self.state, given]
        if given == "begin":
            self.attempts += before != PAUSED
            self.started_us = now_us if self.started_us is None else self.started_us
            self.error = None
        elif given in ("done", "skip", "undone"):
            self.finished_us = now_us


class Run:
    """One migration. `through` is the last step that begins automatically."""

    def __init__(self, tenant: str, source: str, target: str, strategy: str, through: str) -> None:
        self.tenant, self.source, self.target = tenant, source, target
        self.strategy = strategy
        self.through = through
        self.state = WAITING
        self.steps = [Step(name) for name in STEPS]
        self.at = 0  # the present step, or the next one to begin
        self.switched_at_us: int | None = None

    @property
    def step(self) -> Step:
        """The present step, or the next one to begin; in a roll-back, the one that is undone."""
        return self.steps[self.at]

    @property
    def automatic(self) -> bool:
        """Whether the next step begins automatically as soon as its precondition holds."""
        return self.at <= STEPS.index(self.through)

    @property
    def rolled_back(self) -> bool:
        return self.state == ROLLED_BACK

    def may(self, given: str) -> bool:
        """Whether an operator's input is a legal move now."""
        if given == "roll-back" and (
            self.steps[-1].attempts or not any(self._to_undo(step) for step in self.steps)
        ):
            return False
        if given == "hurry" and (self.at >= STEPS.index(SWITCH) or self.steps[STEPS.index(SWITCH)].attempts):
            return False
        return (self.state, self._meant(given)) in RUN_MOVES

    def _meant(self, given: str) -> str:
        begun = self.step.state in (PAUSED, FAILED)
        return "go-on" if given == "resume" and begun else given

    def take(self, given: str, now_us: int, words: str | None = None) -> list[Effect]:
        """One input: begin, done, fail (with words), pause, resume, hurry, roll-back, undo, undone.

        Raises IllegalMove.
        """
        meant = self._meant(given)
        if given in ("done", "undone") and self._last(given):
            meant = f"last-{given}"
        if (self.state, meant) not in RUN_MOVES or (given in ("roll-back", "hurry") and not self.may(given)):
            raise IllegalMove(
                f"the migration of {self.tenant} is {self.state}: {given} is not a move from there"
            )
        effects = ACTIONS[meant](self, now_us, words)
        self.state = RUN_MOVES[self.state, meant]
        return effects

    def _last(self, given: str) -> bool:
        if given == "done":
            return self.at == len(STEPS) - 1  # clean-up begins only after all the others
        return not any(self._to_undo(step) for step in self.steps[: self.at])

    @staticmethod
    def _to_undo(step: Step) -> bool:
        return step.state in (RUNNING, DONE, FAILED, PAUSED)

    # --- moves

    def _begin(self, now_us: int, _words: str | None) -> list[Effect]:
        self.step.take("begin", now_us)
        return [Work(self.step.name)]

    def _done(self, now_us: int, _words: str | None) -> list[Effect]:
        self.step.take("done", now_us)
        for step in self.steps:
            if step.state == WAITING and step.name in SKIPPED_STEPS.get(self.strategy, ()):
                step.take("skip", now_us)
        self.at = next(number for number, step in enumerate(self.steps) if step.state not in (DONE, SKIPPED))
        return []

    def _last_done(self, now_us: int, _words: str | None) -> list[Effect]:
        self.step.take("done", now_us)
        return [End()]

    def _fail(self, now_us: int, words: str | None) -> list[Effect]:
        self.step.take("fail", now_us)
        self.step.error = words
        return [Rest(self.step.name)]

    def _pause(self, now_us: int, _words: str | None) -> list[Effect]:
        if self.step.state == RUNNING:
            self.step.take("pause", now_us)
            return [Rest(self.step.name)]
        return []

    def _resume(self, _now_us: int, _words: str | None) -> list[Effect]:
        return []

    def _hurry(self, now_us: int, _words: str | None) -> list[Effect]:
        """Force the switch: earlier incomplete steps are resumed afterwards."""
        left = self.step
        if left.state == RUNNING:
            left.take("pause", now_us)
        self.at = STEPS.index(SWITCH)
        return [Rest(left.name), *self._begin(now_us, None)]

    def _roll_back(self, now_us: int, _words: str | None) -> list[Effect]:
        """The roll-back.

        After a switch that was forced past steps, the target has state that only those steps can copy back:
        they are resumed now.
        """
        effects: list[Effect] = [Rest(self.step.name)]
        switch = STEPS.index(SWITCH)
        for step in self.steps[:switch] if self.steps[switch].attempts else ():
            if step.state == WAITING and step.name not in SKIPPED_STEPS.get(self.strategy, ()):
                step.take("begin", now_us)
                step.take("pause", now_us)
                effects.append(Work(step.name))
        self.at = max(number for number, step in enumerate(self.steps) if self._to_undo(step))
        return effects

    def _undo(self, now_us: int, _words: str | None) -> list[Effect]:
        """Begin the step's undo, whose conditions hold."""
        self.step.take("undo", now_us)
        return []

    def _undone(self, now_us: int, _words: str | None) -> list[Effect]:
        self.step.take("undone", now_us)
        while not self._to_undo(self.step):
            self.at -= 1
        return []

    def _last_undone(self, now_us: int, _words: str | None) -> list[Effect]:
        self.step.take("undone", now_us)
        return [End()]


Action = Callable[[Run, int, str | None], list[Effect]]
ACTIONS: dict[str, Action] = {
    "begin": Run._begin,
    "go-on": Run._begin,
    "done": Run._done,
    "last-done": Run._last_done,
    "fail": Run._fail,
    "pause": Run._pause,
    "resume": Run._resume,
    "hurry": Run._hurry,
    "roll-back": Run._roll_back,
    "undo": Run._undo,
    "undone": Run._undone,
    "last-undone": Run._last_undone,
}
"""The function of each input; it changes the steps and returns the effects, from every legal state."""
