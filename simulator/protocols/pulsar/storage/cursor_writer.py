"""When a subscription's cursor is persisted, which determines what a crash loses.

Rules: writes are limited in rate, so a crash loses recent acks. A timer bounds how long the cursor differs
from its persisted state (`ManagedCursorImpl`, `managedLedgerDefaultMarkDeleteRateLimit`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.broker.subscription import Subscription

_SECOND_US = 1_000_000


class CursorWriter:
    """Writes one subscription's cursor.

    `ledger` is that of the cursor, -1 before its first write. `flush_due` is whether the timer runs.
    """

    __slots__ = (
        "flush_due",
        "ledger",
        "runtime",
        "subscription",
        "topic",
    )

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        self.ledger = -1
        self.flush_due = False

    def write_if_due(self, cause: int) -> None:
        """Write the cursor when the rate limit allows, else schedule a flush."""
        cursor, now_us = self.subscription.cursor, self.runtime.now_us
        if not cursor.dirty:
            return
        if now_us - cursor.last_persist_us >= self.topic.hot.persist_interval_us:
            self.write(cause)
        elif not self.flush_due:
            self.flush_due = True
            self.runtime.schedule(self.flush_us(now_us, cursor), self.topic.rank, self.flush)

    def flush_us(self, now_us: int, cursor: Cursor) -> int:
        """When a cursor in this state at this instant is written at the latest."""
        seconds = self.topic.cluster.setting("managedLedgerCursorPositionFlushSeconds", self.topic)
        return max(now_us, cursor.last_persist_us + seconds * _SECOND_US)

    def write(self, cause: int) -> None:
        """Persist the present state."""
        topic, subscription, cursor = self.topic, self.subscription, self.subscription.cursor
        if cursor.last_persist_us < 0:
            self.ledger = topic.cluster.take_ledger()  # created at its first write
        kept = topic.cluster.setting("managedLedgerMaxUnackedRangesToPersist", topic)
        cursor.persist(self.runtime.now_us, kept, topic.log)
        subscription.border.persist()
        self.runtime.rows.cursor_persisted(
            cause,
            **subscription.names,
            at=subscription.border.position(cursor.mark_delete),
            count=cursor.deleted_count,
        )

    def flush(self, _argument: None) -> None:
        """Write the cursor at the timer."""
        self.flush_due = False
        subscription = self.subscription
        if (
            subscription.cursor.dirty
            and self.topic.loaded
            and self.topic.subscriptions.get(subscription.name) is subscription
        ):
            self.write(NULL)
