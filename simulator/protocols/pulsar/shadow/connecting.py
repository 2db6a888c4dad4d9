"""The state machine of a shadow replicator's connection (`ShadowReplicator`).

Rules: each method maps one input and the present time to effects. The states are those of
`AbstractReplicator.State`. Once the replicator has been connected, a start that fails is retried after the
backoff. If the very first start fails it ends, because the broker searches for it in the wrong list before it
would retry. `number` counts connections: events of an earlier one are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simulator.kernel.random import draw
from simulator.protocols.pulsar.client import backoff

DISCONNECTED, STARTING, STARTED, TERMINATED = "disconnected", "starting", "started", "terminated"
SHADOW_MOVES: dict[str, dict[str, str]] = {
    DISCONNECTED: {
        STARTING: "it is started, or its backoff is over",
        TERMINATED: "the shadow is removed, or the first start failed",
    },
    STARTING: {
        STARTED: "the shadow's broker serves the shadow",
        DISCONNECTED: "the shadow's broker cannot be reached",
        TERMINATED: "the shadow is removed",
    },
    STARTED: {
        DISCONNECTED: "the shadow's broker is down",
        TERMINATED: "the shadow is removed",
    },
    TERMINATED: {},
}
"""States of a shadow replicator: for each the possible next ones, and the reason for the move."""


# --- effects


class Connect(NamedTuple):
    """Connect to the shadow, which takes a round trip."""


class Begin(NamedTuple):
    """The producer is connected: rewind and read."""


class Stop(NamedTuple):
    """Record that it stopped."""


class Drop(NamedTuple):
    """Drop the entries in flight."""


class Retry(NamedTuple):
    """Start again at this instant."""

    at_us: int


class Unlist(NamedTuple):
    """The first start failed: the source builds a new replicator at its next policy check."""


Effect = Connect | Begin | Stop | Drop | Retry | Unlist


@dataclass(slots=True)
class ShadowConnecting:
    """The connection of one shadow replicator. `stream` is the backoff's random stream."""

    stream: int
    state: str = DISCONNECTED
    number: int = 0
    retries: int = 0
    was_connected: bool = False

    def become(self, state: str) -> None:
        """Change to a permitted state."""
        assert state in SHADOW_MOVES[self.state], (
            f"no move of a shadow replicator from {self.state} to {state}"
        )
        self.state = state

    def start(self) -> list[Effect]:
        """Start it."""
        if self.state != DISCONNECTED:
            return []
        self.become(STARTING)
        return [Connect()]

    def connected(self, number: int, reachable: bool, now_us: int) -> list[Effect]:
        """The round trip is over; `reachable`: the shadow is served now."""
        if number != self.number or self.state != STARTING:
            return []
        if not reachable:
            self.become(DISCONNECTED)
            return [self._retry(now_us)]
        self.become(STARTED)
        self.was_connected, self.retries = True, 0
        return [Begin()]

    def backoff_over(self, number: int, first_failure_ends: bool) -> list[Effect]:
        """The wait after a failed start or a lost connection is over."""
        if number != self.number or self.state != DISCONNECTED:
            return []
        if first_failure_ends and not self.was_connected:
            return [Unlist(), *self.end()]
        return self.start()

    def lost(self, now_us: int) -> list[Effect]:
        """The shadow's broker is down."""
        if self.state not in (STARTED, STARTING):
            return []
        stop: list[Effect] = [Stop()] if self.state == STARTED else []
        self.become(DISCONNECTED)
        return [*stop, *self.interrupted(), self._retry(now_us)]

    def interrupted(self) -> list[Effect]:
        """Entries in flight are lost, or were refused: they will be sent again."""
        self.number += 1
        return [Drop()]

    def end(self) -> list[Effect]:
        """The shadow is removed, or its topic is unloaded."""
        if self.state == TERMINATED:
            return self.interrupted()
        self.become(TERMINATED)
        return [Stop(), *self.interrupted()]

    def _retry(self, now_us: int) -> Retry:
        wait_us = backoff.jittered_wait_us(self.retries, draw(self.stream, now_us))
        self.retries += 1
        return Retry(now_us + wait_us)
