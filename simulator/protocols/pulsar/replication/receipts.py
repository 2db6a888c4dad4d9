"""What comes back to a replicator: receipts, and with them room in its queue and the way of its cursor.

Rules: a receipt needs no event of its own: its instant is known when the entry is stored, and `settle` takes
those that are due. Cursor writes are limited to one per second (`managedLedgerDefaultMarkDeleteRateLimit`),
and a write carries every receipt that has come by then.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from simulator.log.cursors import Cursor
from simulator.protocols.pulsar.storage import retention as upkeep
from simulator.trace.registry import NULL

PERSIST_INTERVAL_US = 1_000_000


class ReceiptTaker:
    """The receiving half of a Replicator."""

    @property
    def in_flight(self) -> int:
        """Entries sent without receipt."""
        return len(self.wire) + len(self.receipts)

    @property
    def unreceipted(self) -> int:
        """Entries sent whose receipt has not come by now; for looking, so nothing is settled.

        Receipts come in order.
        """
        due = bisect_right(self.receipts, self.runtime.now_us, key=lambda receipt: receipt[1])
        return len(self.wire) + len(self.receipts) - due

    # --- the cursor

    def acknowledge(self, index: int) -> None:
        """The replication cursor passes an entry (receipt, or nothing to send)."""
        cursor = self.cursor
        cursor.acknowledge(index)
        if self.runtime.now_us - cursor.last_persist_us >= PERSIST_INTERVAL_US:
            self.settle()  # a write carries every receipt that has come by now
            self._persist_if_due(self.runtime.now_us)

    def _persist_if_due(self, now_us: int) -> None:
        if now_us - self.cursor.last_persist_us >= PERSIST_INTERVAL_US:
            self.cursor.persist(now_us)

    def ledger_opened(self) -> None:
        """A new ledger was opened, to which the cursor moves where it stands at the border."""
        self.catch_up()
        ledger = self.border.next_ledger(self.cursor.mark_delete)
        if ledger is not None:
            self.border.move(self.cursor.mark_delete, ledger)

    def see_border(self, index: int, receipt_us: int) -> None:
        """The first receipt of a ledger, unlike others, is an event: those before it may go then."""
        ledger = self.topic.log.position(index)[0]
        if ledger == self.seen_in:
            return
        self.seen_in = ledger
        self.runtime.schedule(receipt_us, self.rank, self.passed_border, (self.connection, index))

    def passed_border(self, argument: tuple[int, int]) -> None:
        """It came."""
        connection, index = argument
        if connection == self.connection:
            upkeep.passed_border(self.topic, index, NULL)

    def take_receipts(self, indices: np.ndarray, arrivals_us: np.ndarray, now_us: int) -> None:
        """Entries arrived at these instants, up to now: their receipts are on the way back; those that are
        due now are taken.
        """
        receipts_us = arrivals_us + self.back.latencies_us(self.draw_base + indices)
        receipts_us = np.maximum.accumulate(np.maximum(receipts_us, self.last_receipt_us))
        self.last_receipt_us = int(receipts_us[-1])
        self.settle(now_us)
        taken = 0
        if (
            not self.receipts
            and indices[0] == self.cursor.mark_delete + 1
            and indices[-1] - indices[0] == len(indices) - 1
        ):
            due = int(np.searchsorted(receipts_us, now_us, side="right"))
            while taken < due:  # in steps, each up to the one with which the cursor is written
                write_us = self.cursor.last_persist_us + PERSIST_INTERVAL_US
                taken = min(due, max(taken, int(np.searchsorted(receipts_us, write_us))) + 1)
                self.cursor.mark_delete_to(int(indices[taken - 1]))
                self._persist_if_due(int(receipts_us[taken - 1]))
        self.receipts.extend(zip(indices[taken:].tolist(), receipts_us[taken:].tolist()))

    def catch_up(self) -> None:
        """Bring the cursor to where it stands now: entries passed over since the last read, and receipts
        that are due.
        """
        if not self.stalled:
            self.read()
        self.settle()

    def settle(self, now_us: int | None = None) -> None:
        """Take the receipts that are due by now, which is the present instant unless said."""
        receipts, cursor, now_us = (
            self.receipts,
            self.cursor,
            self.runtime.now_us if now_us is None else now_us,
        )
        while receipts and receipts[0][1] <= now_us:
            index, at_us = receipts.popleft()
            if index != cursor.mark_delete + 1:
                cursor.acknowledge(index)
            else:  # those that follow each other are one step, up to the one with which the cursor is written
                write_us = cursor.last_persist_us + PERSIST_INTERVAL_US
                while (
                    at_us < write_us and receipts and receipts[0][0] == index + 1 and receipts[0][1] <= now_us
                ):
                    index, at_us = receipts.popleft()
                cursor.mark_delete_to(index)
            self._persist_if_due(at_us)

    def cursor_now(self) -> Cursor:
        """A copy of the cursor as it stands now: receipts that are due taken, entries from elsewhere
        passed over. For looking.
        """
        cursor = self.cursor.copy()
        for index, at_us in self.receipts:
            if at_us > self.runtime.now_us:
                break
            cursor.acknowledge(index)
        if self.reads_on:
            cursor.acknowledge_range(self.read_index, self.topic.log.length - 1)
        return cursor

    def settled_mark_delete(self) -> int:
        """Where the cursor stands now, receipts that are due included; for looking, so nothing is changed."""
        last = self.cursor.mark_delete
        for index, at_us in self.receipts:
            if at_us > self.runtime.now_us:
                break
            if self.cursor.next_unacknowledged(last + 1) == index:
                last = self.cursor.next_unacknowledged(index + 1) - 1
        caught_up = last == self.read_index - 1 and self.reads_on
        # what is unread came from elsewhere, to be passed over
        return self.topic.log.length - 1 if caught_up else last

    @property
    def backlog(self) -> int:
        """replicationBacklog: entries behind the cursor, those that will be passed over included."""
        return self.cursor.backlog(self.topic.log.length)

    # --- room in the queue

    def _stall(self, size_max: int) -> None:
        """The queue is full: read on when receipts have brought it below nine tenths."""
        self.stalled = True
        # a queue of one is below when it is empty
        needed = min(self.in_flight - size_max * 9 // 10, self.in_flight - 1)
        if 0 <= needed < len(self.receipts):
            self.runtime.schedule(self.receipts[needed][1], self.rank, self.room, self.connection)

    def room(self, connection: int) -> None:
        """A receipt arrived while stalled."""
        if connection != self.connection or not self.stalled:
            return
        self.settle()
        if self.in_flight < self.topic.hot.replicator_queue_entries * 9 // 10 or not self.in_flight:
            self.stalled = False
            self.read()
