"""The pending snapshots of one topic's controller: each input and the time give effects.

The source is `ReplicatedSubscriptionsController` and `ReplicatedSubscriptionsSnapshotBuilder`.

Rules: it writes no marker and has no reference to its topic. The tick's tests are in the broker's order, and
"now" is in milliseconds in them, as in the broker. A builder needs one round for one remote, two for more,
and keeps the first response of each remote. Responses carry no round. A terminated topic accepts no marker,
which the broker only writes to its own log file. So a requested snapshot stays pending until it times out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.protocols.pulsar.markers.entries import Position
from simulator.protocols.pulsar.snapshots.rules import PRESENT, Facts, Rule, reason_of
from simulator.scenarios.rule_files import ask, ask_copy

FIRST_ROUND, SECOND_ROUND, COMPLETED = "first-round", "second-round", "completed"
TIMED_OUT, ABANDONED = "timed-out", "abandoned"
BUILDER_MOVES: dict[str, dict[str, str]] = {
    FIRST_ROUND: {
        SECOND_ROUND: "all remotes have answered, and there are several",
        COMPLETED: "the only remote has answered, or it is finished with the answers at hand",
        TIMED_OUT: "replicatedSubscriptionsSnapshotTimeoutSeconds have passed",
        ABANDONED: "the controller is closed",
    },
    SECOND_ROUND: {
        COMPLETED: "all remotes have answered again, or it is finished with the answers at hand",
        TIMED_OUT: "replicatedSubscriptionsSnapshotTimeoutSeconds have passed",
        ABANDONED: "the controller is closed",
    },
    COMPLETED: {},
    TIMED_OUT: {},
    ABANDONED: {},
}
"""States of a builder: for each the possible next ones, and the reason for the move."""

FULL, PARTIAL = "full", "partial"

# --- effects


class Request(NamedTuple):
    """Request the positions of all remotes."""

    snapshot: int
    round: int


class Refuse(NamedTuple):
    """The tick requests no snapshot."""

    reason: str


class TimeOut(NamedTuple):
    """The snapshot is no longer pending: responses were missing for too long."""

    snapshot: int


class Abandon(NamedTuple):
    """The snapshot is no longer pending: neither completed nor timed out."""

    snapshot: int


class Ignore(NamedTuple):
    """The response is of no pending snapshot."""


class Answered(NamedTuple):
    """The response is of a pending snapshot."""

    snapshot: int
    round: int


class Complete(NamedTuple):
    """Write the snapshot; `answers`: (cluster, ledger, entry), sorted; `how`: FULL or PARTIAL."""

    snapshot: int
    started_us: int
    answers: tuple[tuple[str, int, int], ...]
    how: str


Effect = Request | Refuse | TimeOut | Abandon | Ignore | Answered | Complete


@dataclass(slots=True)
class Builder:
    """One pending snapshot; `missing` are the remotes without a response in this round."""

    snapshot: int
    started_us: int
    remotes: tuple[str, ...]
    missing: list[str]
    state: str = FIRST_ROUND
    answers: dict[str, Position] = field(default_factory=dict)

    @property
    def round(self) -> int:
        """1 or 2."""
        return 2 if self.state == SECOND_ROUND else 1

    @property
    def two_rounds(self) -> bool:
        """Whether it needs two rounds, which is with two remotes or more.

        A message of one remote may be in another and not in this cluster yet.
        """
        return len(self.remotes) > 1

    def become(self, state: str) -> None:
        """Change to a permitted state."""
        assert state in BUILDER_MOVES[self.state], f"no move of a builder from {self.state} to {state}"
        self.state = state

    def answer(self, cluster: str, position: Position) -> bool:
        """Add a response; returns whether it was the last one of the last round."""
        self.answers.setdefault(cluster, position)
        if cluster in self.missing:
            self.missing.remove(cluster)
        if self.missing:
            return False
        if self.two_rounds and self.state == FIRST_ROUND:
            self.become(SECOND_ROUND)
            self.missing = list(self.remotes)
            return False
        return True


class Building:
    """The pending snapshots by number.

    `last_completed_ms` is when the newest completed one was requested, 0: none yet.
    """

    __slots__ = ("timeout_ms", "partial_after_us", "rule", "pending", "last_completed_ms")

    def __init__(self, timeout_ms: int, partial_after_us: int, rule: Rule = PRESENT) -> None:
        self.timeout_ms = timeout_ms
        self.rule = rule
        self.partial_after_us = partial_after_us
        self.pending: dict[int, Builder] = {}
        self.last_completed_ms = 0

    def tick(self, facts: Facts, number: int, now_us: int) -> list[Effect]:
        """Handle the end of a period; `number` is the next snapshot's."""
        effects: list[Effect] = [self._time_out(builder) for builder in self._overdue(now_us)]
        if self.partial_after_us and not facts.terminated:
            old = [one for one in self.pending.values() if now_us - one.started_us >= self.partial_after_us]
            effects += [self._complete(builder, PARTIAL) for builder in old if builder.answers]
        reason = ask(self.rule, "snapshot_refused", self._known(facts))
        if reason is not None:
            return [*effects, Refuse(reason_of(self.rule, "snapshot_refused", reason))]
        self.pending[number] = Builder(number, now_us, facts.remotes, list(facts.remotes))
        return [*effects, Request(number, 1)]

    def answer(
        self, snapshot: int, cluster: str, position: Position, terminated: bool
    ) -> list[Ignore | Answered | Request | Complete]:
        """A remote has responded to a request."""
        builder = self.pending.get(snapshot)
        if builder is None:
            return [Ignore()]
        answered = Answered(snapshot, builder.round)
        if builder.answer(cluster, position):
            return [answered] if terminated else [answered, self._complete(builder, FULL)]
        begun = builder.round > answered.round
        return [answered, Request(snapshot, builder.round)] if begun else [answered]

    def finish_partial(self, snapshot: int, terminated: bool) -> list[Complete]:
        """UNSAFE: complete the snapshot with its present responses, if any (future work in PIP-33)."""
        builder = self.pending[snapshot]
        return [] if terminated or not builder.answers else [self._complete(builder, PARTIAL)]

    def close(self) -> list[Abandon]:
        """Abandon all pending snapshots."""
        builders = list(self.pending.values())
        self.pending.clear()
        for builder in builders:
            builder.become(ABANDONED)
        return [Abandon(builder.snapshot) for builder in builders]

    def refusal(self, facts: Facts) -> str | None:
        """Which of the tick's rules would prevent a snapshot now, None if none would."""
        return ask_copy(self.rule, "snapshot_refused", self._known(facts))

    def _known(self, facts: Facts) -> Facts:
        return facts._replace(
            pending=len(self.pending),
            last_completed_ms=self.last_completed_ms,
            partial=bool(self.partial_after_us),
        )

    def _overdue(self, now_us: int) -> list[Builder]:
        return [
            builder
            for builder in self.pending.values()
            if builder.started_us // 1000 + self.timeout_ms < now_us // 1000
        ]

    def _time_out(self, builder: Builder) -> TimeOut:
        builder.become(TIMED_OUT)
        del self.pending[builder.snapshot]
        return TimeOut(builder.snapshot)

    def _complete(self, builder: Builder, how: str) -> Complete:
        builder.become(COMPLETED)
        del self.pending[builder.snapshot]
        self.last_completed_ms = max(
            1, builder.started_us // 1000
        )  # 0 means "never": a broker's clock never has that value
        answers = tuple((name, *builder.answers[name]) for name in sorted(builder.answers))
        return Complete(builder.snapshot, builder.started_us, answers, how)
