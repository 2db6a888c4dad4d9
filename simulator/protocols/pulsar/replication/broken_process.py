"""What a replicator's connection still carries when the broker process at one of its ends dies.

Rules: kernel and network deliver what a dead process had sent; what is sent to it is lost. Entries on the
wire from a dead process arrive and are stored, and nobody receives their receipts. As long as they are on the
wire, the peer still has the producer of that connection, so a restarted broker cannot connect a new one
(`ServerCnx.handleProducer`: a producer with that name is already connected). Receipts that a dead peer had
sent arrive, too, and after them the end of the connection, which the sender notices only then: the end
travels as long as a receipt.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simulator.protocols.pulsar.replication.connecting import STARTED
from simulator.protocols.pulsar.replication.entry_rules import store_at_peer

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator


class BrokenProcess:
    """The remains of one replicator's connection after a process died.

    `outlived` is the number of the connection whose own broker's process died, None without one, and
    `entries` are (index, sent_us, due_us) that are still on its wire. `closing` is the number of the
    connection whose peer's process died and whose end has not arrived yet.
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
            store_at_peer(self.replicator, index, seq)

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
                topic.note_marker("marker.lost", marker, replicator.peer, index, cause)

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
