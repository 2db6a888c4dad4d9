"""The state machine of a geo-replicator's connection (`AbstractReplicator`).

Rules: each method maps one input and the present time to effects. It has no reference to its topic, the link
or the peer. The states are `AbstractReplicator.State`, where disconnecting takes no time and a removed
replicator is terminated. A start is ignored unless it is disconnected (`startProducer`). A failed one is
retried after the backoff, without limit, but a reconnection may end for good. A producer that was created
(`created`) reconnects by itself, as any client does. `number` counts connections: events of an earlier one
are ignored.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from simulator.kernel.random import draw
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.creation.replicator_start import CREATE, START, Verdict
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator


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


class BrokenProcess:
    """The remains of one replicator's connection after a process died.

    `outlived` is the number of the connection whose own broker's process died, None without one, and
    `entries` are (index, sent_us, due_us) that are still on its wire. `closing` is the number of the
    connection whose peer's process died and whose end has not arrived yet.

    What a replicator's connection still carries when the broker process at one of its ends dies.

    Rules: kernel and network deliver what a dead process had sent; what is sent to it is lost. Entries on the
    wire from a dead process arrive and are stored, and nobody receives their receipts. As long as they are on
    the wire, the peer still has the producer of that connection, so a restarted broker cannot connect a new
    one (`ServerCnx.handleProducer`: a producer with that name is already connected). Receipts that a dead
    peer had sent arrive, too, and after them the end of the connection, which the sender notices only then:
    the end travels as long as a receipt.
    """

    __slots__ = ("replicator", "outlived", "entries", "closing")

    def __init__(self, replicator: Replicator) -> None:
        self.replicator = replicator
        self.outlived: int | None = None
        self.entries: deque[tuple[int, int, int]] = deque()
        self.closing: int | None = None

    # --- the own broker's process dies

    def dies(self) -> None:
        """The process of the replicator's own broker dies: entries on the wire travel on."""
        replicator = self.replicator
        if replicator.state != STARTED or self.is_closing:
            return
        self.outlived, self.entries = replicator.connection, replicator.wire
        replicator.wire = deque()

    def carries(self, connection: int) -> bool:
        """Whether what was sent on this connection arrives, although the process that sent it is dead."""
        return connection == self.outlived and self.replicator.peer_serves()

    def arrive(self, connection: int, index: int, seq: int) -> None:
        """An entry's instant of arrival on a connection that is not the present one."""
        if connection != self.outlived or not self.entries:
            return
        self.entries.popleft()
        if self.replicator.peer_serves():
            self.replicator.store_at_peer(index, seq)

    def lose(self, cause: int) -> None:
        """Link, peer or cursor is gone: what is on the wire is lost."""
        self.outlived = None
        self.note_lost(self.entries, cause)
        self.entries = deque()

    def note_lost(self, entries: deque[tuple[int, int, int]], cause: int) -> None:
        """Record the markers among entries that were on the wire and will not arrive."""
        replicator, topic = self.replicator, self.replicator.topic
        for index, _sent_us, _due_us in entries:
            record = topic.log.records[index]
            if record < 0:
                marker = replicator.runtime.markers[-record - 1]
                about = topic.about_marker(marker, replicator.peer, index)
                replicator.runtime.rows.marker_lost(cause, about=about)

    # --- the peer's process dies

    @property
    def is_closing(self) -> bool:
        """Whether the peer's process is dead and the sender has not noticed."""
        return self.closing is not None and self.closing == self.replicator.connection

    def peer_dies(self, reason: str, cause: int) -> None:
        """The peer's process dies: its receipts arrive, then the end of the connection."""
        replicator = self.replicator
        if self.is_closing:
            return
        self.lose(cause)
        self.closing = replicator.connection
        end_us = replicator.runtime.now_us + replicator.back.latency_us(replicator.draw_base)
        replicator.runtime.schedule(
            max(end_us, replicator.receipts.last_us),
            replicator.rank,
            self.end_arrives,
            (replicator.connection, reason, cause),
        )

    def end_arrives(self, argument: tuple[int, str, int]) -> None:
        """The sender notices that the connection was closed."""
        connection, reason, cause = argument
        if connection == self.replicator.connection:
            self.replicator.disconnect(reason, cause)


NEVER_US = 1 << 62
"""The instant of a receipt that is held."""

SECOND_US = 1_000_000


class HeldConnection:
    """What a partition holds of one replicator's connection.

    `there` and `back` are whether the ways to the peer and back are partitioned, `entries` the arguments of
    the arrivals that are held. Before `released_us` no entry arrives. `partitions` numbers the partitions.

    A replicator's connection over a partitioned link: TCP holds what was sent until the link is healed.

    Source: `PulsarHandler.handleKeepAliveTimeout`: each keepAliveIntervalSeconds of a connection a ping is
    sent, and the connection is closed if the previous one was not answered. Rules: entries are held while the
    way to the peer is partitioned, receipts while the way back is. When the link is healed they arrive one
    latency later, in order, and the connection lives on. A partition that lasts until the second ping after
    its begin breaks the connection; what is held is lost then, and the reconnect sends it again.
    Retransmissions wait for no timer of TCP here.
    """

    __slots__ = ("replicator", "there", "back", "entries", "released_us", "partitions")

    def __init__(self, replicator: Replicator) -> None:
        self.replicator = replicator
        self.there = self.back = False
        self.entries: list[tuple[int, int, int]] = []
        self.released_us = 0
        self.partitions = 0

    @property
    def active(self) -> bool:
        """Whether entries or receipts are held, or are on their way after a partition."""
        return self.there or self.back or self.replicator.runtime.now_us < self.released_us

    # --- the partition

    def begin(self, cause: int, back: bool) -> None:
        """The way to the peer, or back, is partitioned."""
        first = not (self.there or self.back)
        if back:
            self.back = True
            self._hold_receipts()
        else:
            self.there = True
        if first:
            self.partitions += 1
            self._expect_ping(cause)

    def end(self, back: bool) -> None:
        """The way to the peer, or back, is healed: what is held arrives one latency later."""
        if back and self.back:
            self.back = False
            self._release_receipts()
        elif self.there and not back:
            self.there = False
            self._release_entries()

    def _expect_ping(self, cause: int) -> None:
        replicator, runtime = self.replicator, self.replicator.runtime
        if replicator.state != STARTED:
            return
        topic = replicator.topic
        interval_us = topic.cluster.setting("keepAliveIntervalSeconds", topic) * SECOND_US
        pings = (runtime.now_us - replicator.started_us) // interval_us + 1
        runtime.schedule(
            replicator.started_us + (pings + 1) * interval_us,
            replicator.rank,
            self.unanswered,
            (replicator.connection, self.partitions, cause),
        )

    def unanswered(self, argument: tuple[int, int, int]) -> None:
        """A ping is due and the previous one was not answered."""
        connection, partition, cause = argument
        if (connection, partition) == (self.replicator.connection, self.partitions) and (
            self.there or self.back
        ):
            self.replicator.disconnect("keep-alive", cause)

    # --- entries

    def arrives(self, argument: tuple[int, int, int]) -> bool:
        """Whether an entry arrives now; one that is held arrives later."""
        if self.there:
            self.entries.append(argument)
            return False
        if self.replicator.runtime.now_us < self.released_us:
            self._arrive_later(argument)
            return False
        return True

    def _arrive_later(self, argument: tuple[int, int, int]) -> None:
        replicator = self.replicator
        replicator.runtime.schedule(self.released_us, replicator.rank, replicator.arrive, argument)

    def _release_entries(self) -> None:
        replicator = self.replicator
        self.released_us = replicator.runtime.now_us + replicator.link.latency_us(replicator.draw_base)
        # entries that are on the wire now are put behind those that are held, and before later ones
        replicator.last_arrival_us = max(replicator.last_arrival_us, self.released_us + 1)
        for argument in self.entries:
            self._arrive_later(argument)
        self.entries = []

    # --- receipts

    def _hold_receipts(self) -> None:
        replicator = self.replicator
        replicator.settle()
        pending = replicator.receipts.pending
        for place, (index, _due_us) in enumerate(pending):
            pending[place] = index, NEVER_US
        if pending:
            replicator.receipts.last_us = NEVER_US

    def _release_receipts(self) -> None:
        replicator, receipts = self.replicator, self.replicator.receipts
        due_us = replicator.runtime.now_us + replicator.back.latency_us(replicator.draw_base)
        replicator.ledger_receipts.ledger = NULL
        held = [index for index, _never_us in receipts.pending]
        receipts.pending.clear()
        receipts.last_us = due_us if held else 0
        for index in held:
            receipts.pending.append((index, due_us))
            if len(replicator.topic.log.ledgers) > 1:
                replicator.ledger_receipts.expect(index, due_us)
        if held and replicator.stalled:
            replicator.runtime.schedule(due_us, replicator.rank, replicator.room, replicator.connection)
