"""The state machine of a geo-replicator's connection (`AbstractReplicator`).

Rules: each method maps one input and the present time to effects. It has no reference to its topic, the link
or the peer. The states are `AbstractReplicator.State`, where disconnecting takes no time and a removed
replicator is terminated. A start is ignored unless it is disconnected (`startProducer`). A failed one is
retried after the backoff, without limit, but a reconnection may end for good. A producer that was created
(`created`) reconnects by itself, as any client does. `number` counts connections: events of an earlier one
are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simulator.kernel.random import draw
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.creation.replicator_start import CREATE, START, Verdict

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
"""States of a replicator: for each the possible next ones, and the reason for the move."""


# --- effects


class Connect(NamedTuple):
    """Connect to the peer, which takes a round trip."""


class Check(NamedTuple):
    """Run the start check; its verdict is the next input."""


class Order(NamedTuple):
    """Request the peer to create the topic in this shape."""

    shape: int


class Begin(NamedTuple):
    """The producer is connected: rewind and read."""


class Break(NamedTuple):
    """The producer is disconnected: entries on the wire are lost."""


class Retry(NamedTuple):
    """Start again at this instant; `why` is the error until then."""

    at_us: int
    why: str


class Refuse(NamedTuple):
    """Record that the start check refused the start; `wait_us` is None if it is not tried again."""

    reason: str
    why: str
    wait_us: int | None


Effect = Connect | Check | Order | Begin | Break | Retry | Refuse


@dataclass(slots=True)
class Connecting:
    """The connection of one replicator. `stream` is the backoff's random stream."""

    stream: int
    state: str = DISCONNECTED
    number: int = 0
    retries: int = 0
    created: bool = False  # the producer, since this topic was loaded

    def become(self, state: str) -> None:
        """Change to a permitted state."""
        assert state in CONNECTION_MOVES[self.state], f"no move of a replicator from {self.state} to {state}"
        self.state = state

    def start(self, obstacle: str | None, now_us: int) -> list[Effect]:
        """Start it; `obstacle` is why the peer cannot be reached, None if it can."""
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
        """The start check has ended with this verdict."""
        if verdict.action == START:
            self.become(STARTED)
            self.retries, self.created = 0, True
            return [Begin()]
        if verdict.action == CREATE:
            return [Order(verdict.shape)]
        if verdict.final:
            self.become(DISCONNECTED)
            return [Refuse(verdict.reason, verdict.words, None)]
        return self.refused(verdict.reason, verdict.words, now_us)

    def refused(self, reason: str, why: str, now_us: int) -> list[Effect]:
        """The start check refused, or the peer did not create the topic."""
        self.become(DISCONNECTED)
        retry = self._retry(why, now_us)
        return [retry, Refuse(reason, why, retry.at_us - now_us)]

    def lost(self, reason: str, loaded: bool, now_us: int) -> list[Effect]:
        """The link, the peer or its topic failed; `loaded`: this topic is served in its cluster."""
        if self.state in (DISCONNECTED, REMOVED):
            return []
        effects = self._end(DISCONNECTED)
        return [*effects, self._retry(f"disconnected: {reason}", now_us)] if loaded else effects

    def close(self) -> list[Effect]:
        """The topic leaves its broker: a load makes a new replicator with a new backoff."""
        self.retries, self.created = 0, False
        return self._end(DISCONNECTED)

    def remove(self) -> list[Effect]:
        """The peer was removed from the replication list."""
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
