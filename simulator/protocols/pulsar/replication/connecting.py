"""How a geo-replicator comes to its connection: one input and now in, effects out (`AbstractReplicator`).

Rules: it has no reference to its topic, the link or the peer. The states are `AbstractReplicator.State`,
where disconnecting takes no time and a removed replicator is terminated. A start does nothing unless it is
disconnected (`startProducer`). A failed one is tried again after the backoff, without limit. `number` counts
connections: what an earlier one carried is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simulator.kernel.random import draw
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.creation.start_check import CREATE, START, Verdict

DISCONNECTED, STARTING, STARTED, REMOVED = "disconnected", "starting", "started", "removed"
CONNECTION_MOVES: dict[str, dict[str, str]] = {
    DISCONNECTED: {
        STARTING: "it is started, or its backoff is over, and the peer can be reached",
        REMOVED: "the peer is taken off the replication list",
    },
    STARTING: {
        STARTED: "the start check passed",
        DISCONNECTED: "the peer cannot be reached, or the start check refused, or the topic is unloaded",
        REMOVED: "the peer is taken off the replication list",
    },
    STARTED: {
        DISCONNECTED: "the connection is lost, or the topic is unloaded",
        REMOVED: "the peer is taken off the replication list",
    },
    REMOVED: {},
}
"""States of a replicator: by state those that may follow, each with what brings it about."""


# --- effects


class Connect(NamedTuple):
    """Connect to the peer: a round trip."""


class Check(NamedTuple):
    """Run the start check; its verdict is the next input."""


class Order(NamedTuple):
    """Request the peer to create the topic in this shape."""

    shape: int


class Begin(NamedTuple):
    """The producer works: rewind and read."""


class Break(NamedTuple):
    """A producer worked: what was on the wire is lost."""


class Retry(NamedTuple):
    """Start again at this instant; `why` keeps it from replicating until then."""

    at_us: int
    why: str


class Refuse(NamedTuple):
    """Record that the start check refused the start."""

    reason: str
    why: str
    wait_us: int


Effect = Connect | Check | Order | Begin | Break | Retry | Refuse


@dataclass(slots=True)
class Connecting:
    """The connection of one replicator. `stream` is the backoff's random stream."""

    stream: int
    state: str = DISCONNECTED
    number: int = 0
    retries: int = 0

    def become(self, state: str) -> None:
        """A legal move."""
        assert state in CONNECTION_MOVES[self.state], f"no move of a replicator from {self.state} to {state}"
        self.state = state

    def start(self, obstacle: str | None, now_us: int) -> list[Effect]:
        """It is started; `obstacle` is why the peer cannot be reached, None if it can."""
        if self.state != DISCONNECTED:
            return []
        if obstacle is not None:
            return [self._retry(obstacle, now_us)]
        self.become(STARTING)
        return [Connect()]

    def connected(self, number: int, obstacle: str | None, now_us: int) -> list[Effect]:
        """The round trip of connecting, or of creating the topic, is over."""
        if number != self.number or self.state != STARTING:
            return []
        if obstacle is None:
            return [Check()]
        self.become(DISCONNECTED)
        return [self._retry(obstacle, now_us)]

    def checked(self, verdict: Verdict, now_us: int) -> list[Effect]:
        """The start check came to this."""
        if verdict.action == START:
            self.become(STARTED)
            self.retries = 0
            return [Begin()]
        if verdict.action == CREATE:
            return [Order(verdict.shape)]
        return self.refused(verdict.reason, verdict.words, now_us)

    def refused(self, reason: str, why: str, now_us: int) -> list[Effect]:
        """The start check refused, or the peer did not create the topic."""
        self.become(DISCONNECTED)
        retry = self._retry(why, now_us)
        return [retry, Refuse(reason, why, retry.at_us - now_us)]

    def lost(self, reason: str, loaded: bool, now_us: int) -> list[Effect]:
        """The link, the peer or its topic went; `loaded`: this topic is served here."""
        if self.state in (DISCONNECTED, REMOVED):
            return []
        effects = self._end(DISCONNECTED)
        return [*effects, self._retry(f"disconnected: {reason}", now_us)] if loaded else effects

    def close(self) -> list[Effect]:
        """The topic leaves its broker: a load makes a new replicator, whose backoff begins anew."""
        self.retries = 0
        return self._end(DISCONNECTED)

    def remove(self) -> list[Effect]:
        """The peer is taken off the replication list."""
        return self._end(REMOVED)

    def _end(self, state: str) -> list[Effect]:
        started = self.state == STARTED
        if self.state != state:
            self.become(state)
        self.number += 1
        return [Break()] if started else []

    def _retry(self, why: str, now_us: int) -> Retry:
        wait_us = backoff.jittered_wait_us(self.retries, draw(self.stream, now_us))
        self.retries += 1
        return Retry(now_us + wait_us, why)
