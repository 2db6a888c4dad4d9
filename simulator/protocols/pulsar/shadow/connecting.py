"""How a shadow replicator comes to its connection: one input and now in, effects out (`ShadowReplicator`).

Rules: the states are those of `AbstractReplicator.State`. A start that fails is tried again after the backoff
once the replicator has been connected. The very first start that fails ends it, because the broker looks for
it in the wrong list before it would retry. `number` counts connections: what an earlier one carried is
ignored.
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
"""States of a shadow replicator: by state those that may follow, each with what brings it about."""


# --- effects


class Connect(NamedTuple):
    """Connect to the shadow: a round trip."""


class Begin(NamedTuple):
    """The producer works: rewind and read."""


class Stop(NamedTuple):
    """Record that it stopped."""


class Drop(NamedTuple):
    """Forget what is in flight."""


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
        """A legal move."""
        assert state in SHADOW_MOVES[self.state], (
            f"no move of a shadow replicator from {self.state} to {state}"
        )
        self.state = state

    def start(self) -> list[Effect]:
        """It is started."""
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
        """What is in flight is lost, or was refused: it will be sent again."""
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
