"""Which snapshots one topic's controller has pending: one input and now in, effects out
(`ReplicatedSubscriptionsController`, `ReplicatedSubscriptionsSnapshotBuilder`).

Rules: it writes no marker and has no reference to its topic. The tick's tests come in the broker's order;
"now" is milliseconds there, as in the broker. A builder needs one round for one remote, two for more, and
keeps the first answer of each remote; answers carry no round. A terminated topic takes no marker, which the
broker only writes to its own log file: what was requested stays pending until it times out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.protocols.pulsar.markers.entries import Position

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
"""States of a builder: by state those that may follow, each with what brings it about."""

FULL, PARTIAL = "full", "partial"
PENDING, NO_NEW_DATA, DISCONNECTED = "pending", "no-new-data", "replicator-disconnected"
"""Why a tick requests no snapshot."""


class Facts(NamedTuple):
    """What a tick looks at: the topic's remotes, whether each is connected, the time of its last message
    (0: none yet), and whether it is terminated.
    """

    remotes: tuple[str, ...]
    all_connected: bool
    data_timestamp_ms: int
    terminated: bool


# --- effects


class Request(NamedTuple):
    """Request the positions of all remotes."""

    snapshot: int
    round: int


class Refuse(NamedTuple):
    """The tick requests nothing."""

    reason: str


class TimeOut(NamedTuple):
    """The snapshot is not pending any more: answers were missing for too long."""

    snapshot: int


class Abandon(NamedTuple):
    """The snapshot is not pending any more: neither completed nor timed out."""

    snapshot: int


class Ignore(NamedTuple):
    """The answer is of no pending snapshot."""


class Answered(NamedTuple):
    """The answer belongs to a pending snapshot."""

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
    """One pending snapshot; `missing` are the remotes without an answer in this round."""

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
        """With two remotes or more, something from one may be in the other and not here yet."""
        return len(self.remotes) > 1

    def become(self, state: str) -> None:
        """A legal move."""
        assert state in BUILDER_MOVES[self.state], f"no move of a builder from {self.state} to {state}"
        self.state = state

    def answer(self, cluster: str, position: Position) -> bool:
        """Take an answer; returns whether it was the last one of the last round."""
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

    __slots__ = ("timeout_ms", "partial_after_us", "pending", "last_completed_ms")

    def __init__(self, timeout_ms: int, partial_after_us: int) -> None:
        self.timeout_ms = timeout_ms
        self.partial_after_us = partial_after_us
        self.pending: dict[int, Builder] = {}
        self.last_completed_ms = 0

    def tick(self, facts: Facts, number: int, now_us: int) -> list[Effect]:
        """A period is over; `number` is the next snapshot's."""
        effects: list[Effect] = [self._time_out(builder) for builder in self._overdue(now_us)]
        if self.partial_after_us and not facts.terminated:
            old = [one for one in self.pending.values() if now_us - one.started_us >= self.partial_after_us]
            effects += [self._complete(builder, PARTIAL) for builder in old if builder.answers]
        reason = self.refusal(facts)
        if reason is not None:
            return [*effects, Refuse(reason)]
        self.pending[number] = Builder(number, now_us, facts.remotes, list(facts.remotes))
        return [*effects, Request(number, 1)]

    def answer(
        self, snapshot: int, cluster: str, position: Position, terminated: bool
    ) -> list[Ignore | Answered | Request | Complete]:
        """A remote has answered a request."""
        builder = self.pending.get(snapshot)
        if builder is None:
            return [Ignore()]
        answered = Answered(snapshot, builder.round)
        if builder.answer(cluster, position):
            return [answered] if terminated else [answered, self._complete(builder, FULL)]
        begun = builder.round > answered.round
        return [answered, Request(snapshot, builder.round)] if begun else [answered]

    def finish_partial(self, snapshot: int, terminated: bool) -> list[Complete]:
        """UNSAFE: write the snapshot with the answers at hand (PIP-33 leaves this for later), if there are
        any.
        """
        builder = self.pending[snapshot]
        return [] if terminated or not builder.answers else [self._complete(builder, PARTIAL)]

    def close(self) -> list[Abandon]:
        """Nothing is pending any more."""
        builders = list(self.pending.values())
        self.pending.clear()
        for builder in builders:
            builder.become(ABANDONED)
        return [Abandon(builder.snapshot) for builder in builders]

    def refusal(self, facts: Facts) -> str | None:
        """Which of the tick's rules stops a snapshot now, None if none does."""
        if not self.last_completed_ms and self.pending:
            return PENDING
        if facts.data_timestamp_ms == 0 or facts.data_timestamp_ms < self.last_completed_ms:
            return NO_NEW_DATA
        if not facts.remotes or not (self.partial_after_us or facts.all_connected):
            return DISCONNECTED
        return None

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
        )  # 0 is "never"; a broker's clock is never there
        answers = tuple((name, *builder.answers[name]) for name in sorted(builder.answers))
        return Complete(builder.snapshot, builder.started_us, answers, how)
