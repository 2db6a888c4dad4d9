"""The receipts of a replicator's entries, and the cursor that they move.

Rules: a receipt needs no event of its own: its instant is known when the entry is stored, and `settle`
applies those that are due. Cursor writes are limited to one per second
(`managedLedgerDefaultMarkDeleteRateLimit`), and a write includes every receipt that has arrived by then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from simulator.log.cursors import Cursor
from simulator.protocols.pulsar.markers.entries import SOURCE_POSITION
from simulator.protocols.pulsar.storage import retention
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator


PERSIST_INTERVAL_US = 1_000_000


class Receipts:
    """Entries that are stored at the peer, whose receipts have not been applied.

    `pending` are (index, instant of the receipt), in order. `last_us` is the instant of the last one on this
    connection.
    """

    __slots__ = (
        "cursor",
        "last_us",
        "pending",
        "runtime",
    )

    def __init__(self, cursor: Cursor, runtime: Pulsar) -> None:
        self.cursor = cursor
        self.runtime = runtime
        self.pending: deque[tuple[int, int]] = deque()
        self.last_us = 0

    @property
    def due(self) -> int:
        """Number of receipts that have arrived and are not applied yet; they arrive in order."""
        return bisect_right(self.pending, self.runtime.now_us, key=lambda receipt: receipt[1])

    def acknowledge(self, index: int) -> None:
        """Move the replication cursor past an entry (receipt, or nothing to send)."""
        cursor = self.cursor
        cursor.acknowledge(index)
        if self.runtime.now_us - cursor.last_persist_us >= PERSIST_INTERVAL_US:
            self.settle(self.runtime.now_us)  # a write includes every receipt that has arrived
            self.persist_if_due(self.runtime.now_us)

    def persist_if_due(self, now_us: int) -> None:
        """Write the cursor, unless it was written less than a second ago."""
        if now_us - self.cursor.last_persist_us >= PERSIST_INTERVAL_US:
            self.cursor.persist(now_us)

    def settle(self, now_us: int) -> None:
        """Apply the receipts that are due by then."""
        pending, cursor = self.pending, self.cursor
        while pending and pending[0][1] <= now_us:
            index, at_us = pending.popleft()
            if index != cursor.mark_delete + 1:
                cursor.acknowledge(index)
            else:  # consecutive ones are one step, up to the one with which the cursor is written
                write_us = cursor.last_persist_us + PERSIST_INTERVAL_US
                while at_us < write_us and pending and pending[0][0] == index + 1 and pending[0][1] <= now_us:
                    index, at_us = pending.popleft()
                cursor.mark_delete_to(index)
            if at_us - cursor.last_persist_us >= PERSIST_INTERVAL_US:
                cursor.persist(at_us)

    def settled_cursor(self) -> Cursor:
        """A copy of the cursor with the due receipts applied; the cursor itself is not changed."""
        cursor = self.cursor.copy()
        for index, at_us in self.pending:
            if at_us > self.runtime.now_us:
                break
            cursor.acknowledge(index)
        return cursor

    def settled_mark_delete(self) -> int:
        """The mark-delete with the due receipts applied; the cursor itself is not changed."""
        last = self.cursor.mark_delete
        for index, at_us in self.pending:
            if at_us > self.runtime.now_us:
                break
            if self.cursor.next_unacknowledged(last + 1) == index:
                last = self.cursor.next_unacknowledged(index + 1) - 1
        return last


class LedgerReceipts:
    """`ledger` is the ledger of the last receipts, NULL while only one is kept.

    The first receipt of each ledger: from then on the replicator needs no earlier ledger.

    Rules: a receipt has no event of its own, except the first one of a ledger while an earlier ledger is
    kept, because the earlier ones may be deleted then (`ManagedLedgerImpl.internalTrimLedgers`).
    """

    __slots__ = ("replicator", "ledger")

    def __init__(self, replicator: Replicator) -> None:
        self.replicator = replicator
        self.ledger = NULL

    def expect(self, index: int, receipt_us: int) -> None:
        """The receipt of entry `index` arrives at this instant; several ledgers are kept."""
        replicator = self.replicator
        log = replicator.topic.log
        if index < log.ledgers[1].first_index:
            return
        ledger = log.position(index)[0]
        if ledger != self.ledger:
            self.ledger = ledger
            replicator.runtime.schedule(
                receipt_us, replicator.rank, self.first_arrived, (replicator.connection, index)
            )

    def first_arrived(self, argument: tuple[int, int]) -> None:
        """The first receipt of a ledger has arrived."""
        connection, index = argument
        if connection == self.replicator.connection:
            retention.passed_border(self.replicator.topic, index, NULL)


_POWERS_OF_TEN = 10 ** np.arange(1, 19, dtype=np.int64)
_LONGEST = 2 * 19
"""Digits of two Java longs."""


class CopySize:
    """The bytes that the replicators of one cluster add.

    Bytes that a replicator adds to an entry: the metadata of the copy names where it came from.

    Source: `GeoPersistentReplicator.replicateEntries` sets `replicated_from` to its cluster and adds the
    property MSG_PROP_REPL_SOURCE_POSITION with "ledger:entry" of the original, to messages and markers alike,
    whether or not the peer deduplicates (since #23697). Rules: sizes are those of the protobuf encoding;
    nothing is encoded for each entry. A test compares them with encoded metadata.
    """

    __slots__ = ("fixed",)

    def __init__(self, cluster: str) -> None:
        value_begin = 2 + _field(len(SOURCE_POSITION))  # tag and length of the property, its key
        self.fixed = _field(len(cluster.encode())) + value_begin + 2 + len(":")

    def of(self, ledger: int, entry: int) -> int:
        """Bytes added to the copy of the entry at this position."""
        return self.fixed + len(f"{ledger}{entry}")

    @property
    def most(self) -> int:
        """The most bytes that are added to any entry."""
        return self.fixed + _LONGEST


def _field(length: int) -> int:
    """Bytes of a string field of a message: a tag of one byte, the length as a varint, the text."""
    return 1 + (1 if length < 128 else 2) + length
