"""A replicator's connection over a partitioned link: TCP holds what was sent until the link is healed.

Source: `PulsarHandler.handleKeepAliveTimeout`: each keepAliveIntervalSeconds of a connection a ping is sent,
and the connection is closed if the previous one was not answered. Rules: entries are held while the way to
the peer is partitioned, receipts while the way back is. When the link is healed they arrive one latency
later, in order, and the connection lives on. A partition that lasts until the second ping after its begin
breaks the connection; what is held is lost then, and the reconnect sends it again. Retransmissions wait for
no timer of TCP here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.replication.connecting import STARTED
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator

NEVER_US = 1 << 62
"""The instant of a receipt that is held."""

SECOND_US = 1_000_000


class HeldConnection:
    """What a partition holds of one replicator's connection.

    `there` and `back` are whether the ways to the peer and back are partitioned, `entries` the arguments of
    the arrivals that are held. Before `released_us` no entry arrives. `partitions` numbers the partitions.
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
