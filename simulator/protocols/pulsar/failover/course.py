"""The state machine of a failover, and when an automatic one is due.

Rules: each method maps one input and the present time to effects. Neither class uses clients, clusters or the
clock. The mode determines the sequence of states. Probing follows the client's `AutoClusterFailover`
(PIP-121).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

CRASH, PLANNED, DRAINED, AUTO = "crash", "planned", "drained", "auto"
"""Modes of a failover."""

DRAIN_POLL_US = 100_000
"""Interval at which a drained failover checks whether the target has caught up."""

BEGUN, DRAINING, CLOSING, MOVED = "begun", "draining", "closing", "moved"
COURSE_MOVES: dict[str, dict[str, str]] = {
    BEGUN: {
        DRAINING: "drained",
        CLOSING: "planned",
        MOVED: "crash: the consumers are killed; auto: those that run are redirected",
    },
    DRAINING: {CLOSING: "the target covers everything acknowledged, or the limit has passed"},
    CLOSING: {MOVED: "the last consumer has closed; or another failover kills it, and this one stays here"},
    MOVED: {},
}
"""States of a failover: for each the possible next ones, and the reason for the move."""


# --- effects


class Kill(NamedTuple):
    """The consumers are killed and lose acks that they have not sent."""


class Redirect(NamedTuple):
    """The consumers that run close their connections, and connect to the target when they retry."""


class StopProducers(NamedTuple):
    """The producers stop until the move."""


class Look(NamedTuple):
    """Count, at this instant, the duplicates that a failover would cause."""

    at_us: int


class Close(NamedTuple):
    """The consumers finish the messages of the application, and close."""


class Move(NamedTuple):
    """The consumers that are still at the source start at the target, and so do the producers that move."""


Effect = Kill | Redirect | StopProducers | Look | Close | Move


@dataclass(slots=True)
class Course:
    """The state of one failover. `waiting`: names of the consumers that have not closed yet."""

    mode: str
    stops_producers: bool
    limit_us: int
    state: str = BEGUN
    waiting: list[str] = field(default_factory=list)
    deadline_us: int = 0

    def become(self, state: str) -> None:
        """Change to a permitted state."""
        assert state in COURSE_MOVES[self.state], f"no move of a failover from {self.state} to {state}"
        self.state = state

    def begin(self, now_us: int) -> list[Effect]:
        """The failover starts."""
        if self.mode in (CRASH, AUTO):
            self.become(MOVED)
            return [Kill() if self.mode == CRASH else Redirect(), Move()]
        if self.mode == PLANNED:
            self.become(CLOSING)
            return [Close()]
        self.become(DRAINING)
        self.deadline_us = now_us + self.limit_us
        return [StopProducers(), Look(now_us)] if self.stops_producers else [Look(now_us)]

    def looked(self, duplicates: int, now_us: int) -> list[Effect]:
        """The duplicates that a failover would cause now were counted."""
        if duplicates and now_us < self.deadline_us:
            return [Look(min(now_us + DRAIN_POLL_US, self.deadline_us))]
        self.become(CLOSING)
        return [Close()]

    def closing(self, consumers: Iterable[str]) -> list[Effect]:
        """These consumers were requested to close."""
        self.waiting = list(consumers)
        return self._moved_if_all_closed()

    def closed(self, consumer: str) -> list[Effect]:
        """One of them has closed."""
        self.waiting.remove(consumer)
        return self._moved_if_all_closed()

    def _moved_if_all_closed(self) -> list[Effect]:
        if self.waiting:
            return []
        self.become(MOVED)
        return [Move()]


PRIMARY, SECONDARY = "primary", "secondary"
PROBING_MOVES: dict[str, dict[str, str]] = {
    PRIMARY: {SECONDARY: "the primary has not answered for failoverDelay, and the secondary does"},
    SECONDARY: {
        PRIMARY: "the secondary has not answered for failoverDelay, or the primary has for switchBackDelay"
    },
}
"""The service that the clients use: for each the possible next one, and the reason for the move."""


IN_USE, OTHER, BACK = "in use", "other", "back"
"""The probes of one check, in order: the service in use, the one to move to, the primary."""


class Probe(NamedTuple):
    """Connect to a service."""

    service: str


class SwitchTo(NamedTuple):
    """The clients move to a service."""

    service: str


@dataclass(slots=True)
class Probing:
    """The decisions of AutoClusterFailover, one check each `probeInterval`, one probe after the other.

    A probe takes time: the instant that counts is the one after the probe of the service in use, and the one
    before the probe for switching back (`probeAndUpdateServiceUrl`, `probeAndCheckSwitchBack`). `failed_us`:
    since when the service in use does not respond (failedTimestamp). `healthy_us`: since when the primary
    responds again (recoverTimestamp). `asked`: the probe that runs, None between checks.
    """

    failover_delay_us: int
    switch_back_delay_us: int
    switches_back: bool
    in_use: str = PRIMARY
    failed_us: int | None = None
    healthy_us: int | None = None
    asked: str | None = None
    asked_us: int = 0

    def check(self, now_us: int) -> Probe:
        """A check begins."""
        return self._ask(IN_USE, self.in_use, now_us)

    def answered(self, up: bool, now_us: int) -> Probe | SwitchTo | None:
        """The result of the probe that runs; returns the next probe, a move, or None: the check is over."""
        asked, self.asked = self.asked, None
        other = next(iter(PROBING_MOVES[self.in_use]))
        if asked == IN_USE and self._failed_too_long(up, now_us):
            return self._ask(OTHER, other, now_us)
        if asked == OTHER and up:
            self.failed_us = None
            return self._switch_to(other)
        if asked == BACK:
            return self._switch_to(PRIMARY) if self._primary_is_healthy(up) else None
        if self.in_use == SECONDARY and self.switches_back:
            return self._ask(BACK, PRIMARY, now_us)
        return None

    def _ask(self, asked: str, service: str, now_us: int) -> Probe:
        self.asked, self.asked_us = asked, now_us
        return Probe(service)

    def _switch_to(self, service: str) -> SwitchTo:
        self.in_use = service
        return SwitchTo(service)

    def _failed_too_long(self, up: bool, now_us: int) -> bool:
        if up:
            self.failed_us = None
        elif self.failed_us is None:
            self.failed_us = now_us
        else:
            return now_us - self.failed_us >= self.failover_delay_us
        return False

    def _primary_is_healthy(self, up: bool) -> bool:
        if not up:
            self.healthy_us = None
        elif self.healthy_us is None:
            self.healthy_us = self.asked_us
        elif self.asked_us - self.healthy_us >= self.switch_back_delay_us:
            self.healthy_us = None
            return True
        return False
