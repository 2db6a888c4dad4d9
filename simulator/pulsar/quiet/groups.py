"""The groups of acks that are sent in a quiet stretch, and what each of them does to the cursor.

Rules: acks go in the order in which the application made them: those that waited when the stretch began, that of the message that
was in hand, then those of the stretch's messages. A group is part of a stretch while nothing but rows and a cursor follows from it:
where a snapshot can be used, a ledger may go, or the cursor is written for the first time, the stretch ends before it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.pulsar.acknowledging import ACK_GROUP_SIZE_MAX
from simulator.pulsar.upkeep import switches_ledger
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.pulsar.acknowledging import Ack
    from simulator.pulsar.session import Session

REASON = "acknowledgement"
NEVER = 1 << 62
"""No index and no instant."""


class Group(NamedTuple):
    """Acks up to `last` (excluded) are registered at `at_us`. `persisted`, if the cursor is written: its position and entries deleted one by
    one; `moved`, if the mark-delete moves: its positions before and after."""

    at_us: int
    last: int
    persisted: tuple[int, int, int] | None
    moved: tuple[int, int, int, int] | None


class Groups:
    """Groups in order, `sent`; `waiting` are the acks of the first that were made before the stretch. `sent_us` says of every ack when it goes,
    `cursor` how the cursor stands after the last group, `flush_us` when it is written at the latest, if that is asked for in the stretch."""

    __slots__ = ("session", "waiting", "sent", "sent_us", "cursor", "flush_us", "_first_us", "_acks_us", "_indices", "_breaks", "_usable_from")

    def __init__(self, session: Session, timer_us: int | None, acks_us: np.ndarray) -> None:
        """`timer_us`: when the acks that wait now are sent, if any do; `acks_us`: when others come, that of the message in hand first."""
        self.session = session
        self.waiting: list[Ack] = []
        self.sent: list[Group] = []
        self.sent_us = acks_us[:0]
        self.cursor = session.subscription.cursor
        self.flush_us: int | None = None
        self._first_us = session.consumer.group_ends_us(int(acks_us[0])) if timer_us is None else timer_us
        self._acks_us = acks_us

    def _gather(self) -> None:
        """All acks, and when each is sent."""
        consumer, topic, cache, first_us = self.session.consumer, self.session.topic, self.session.subscription.cache, self._first_us
        self.waiting = list(consumer.ack_pending.values())
        sent_us = np.where(self._acks_us < first_us, first_us, consumer.group_ends_us(self._acks_us))
        self.sent_us = np.concatenate((np.full(len(self.waiting), first_us), sent_us))
        before = [ack[0] for ack in self.waiting] + ([consumer.current[0][1]] if consumer.current is not None else [])
        self._indices = np.concatenate((np.array(before, dtype=np.int64), topic.log.length + np.arange(len(self.sent_us) - len(before))))
        self._breaks = [at for at, (left, right) in enumerate(pairwise(self._indices[: len(before) + 1].tolist()), 1) if right != left + 1]
        self._usable_from = NEVER if cache is None else min((snapshot.index for snapshot in cache.snapshots), default=NEVER)

    @property
    def next_us(self) -> int:
        """When the acks that are left are sent."""
        return int(self.sent_us[self.registered]) if self.sent else self._first_us

    @property
    def registered(self) -> int:
        """How many acks are sent."""
        return self.sent[-1].last if self.sent else 0

    @property
    def persisted_us(self) -> np.ndarray:
        """When the cursor is written."""
        return np.array([group.at_us for group in self.sent if group.persisted], dtype=np.int64)

    @property
    def moved_us(self) -> np.ndarray:
        """When the mark-delete moves."""
        return np.array([group.at_us for group in self.sent if group.moved], dtype=np.int64)

    def foresee(self, horizon_us: int) -> int:
        """Find the groups that are sent before `horizon_us`; returns the first instant, at most that, at which more follows than they say."""
        if self._first_us >= horizon_us and len(self.session.consumer.ack_pending) + len(self._acks_us) < ACK_GROUP_SIZE_MAX:
            return horizon_us
        self._gather()
        first, plain = 0, self._plain()
        edges = (self.sent_us[1:] != self.sent_us[:-1]).nonzero()[0] + 1
        for last in (*edges.tolist(), len(self.sent_us)):
            at_us = int(self.sent_us[first])
            if last - first >= ACK_GROUP_SIZE_MAX:  # it does not wait for its time
                horizon_us = min(horizon_us, int(self._acks_us[first + ACK_GROUP_SIZE_MAX - 1 - len(self.waiting)]))
            if at_us >= horizon_us:
                break
            if not plain or not self._send(at_us, first, last):
                return at_us
            horizon_us = min(horizon_us, self.flush_us or horizon_us)
            first = last
        return horizon_us

    def _plain(self) -> bool:
        """Whether the acks that wait are of single messages that the broker counts as sent, and the cursor has a ledger to be written to."""
        session, waiting = self.session, self.session.consumer.ack_pending
        alike = all(place == session.topic.place and batch_index == NULL for place, _index, batch_index in waiting)
        counted = session.subscription.dispatcher.unacked >= len(waiting) + (session.consumer.current is not None)
        return alike and counted and self.cursor.last_persist_us >= 0 and session.runtime.trace.number(REASON) is not None

    def _send(self, at_us: int, first: int, last: int) -> bool:
        """Register acks `first` to `last - 1`, as `Subscription.acknowledge` does; False, and nothing changed, when more follows."""
        subscription, topic, cursor = self.session.subscription, self.session.topic, self.cursor.copy()
        before, persisted, flush_us = cursor.mark_delete, None, self.flush_us
        for begin, end in pairwise((first, *(at for at in self._breaks if first < at < last), last)):  # runs of indices that follow each other
            cursor.acknowledge_range(int(self._indices[begin]), int(self._indices[end - 1]))
        after = cursor.mark_delete
        if after >= self._usable_from or switches_ledger(topic, self._position(before)[0], after):
            return False
        if cursor.dirty and at_us - cursor.last_persist_us >= topic.hot.persist_interval_us:
            if cursor.deleted_count > topic.cluster.setting("managedLedgerMaxUnackedRangesToPersist", topic):
                return False
            cursor.persist(at_us)
            persisted = (*self._position(after), cursor.deleted_count)
        elif cursor.dirty and flush_us is None and not subscription.flush_due:
            flush_us = subscription.flush_due_us(at_us, cursor)
            if flush_us <= at_us:
                return False
        self.cursor, self.flush_us = cursor, flush_us
        self.sent.append(Group(at_us, last, persisted, (*self._position(before), *self._position(after)) if after != before else None))
        return True

    def _position(self, index: int) -> tuple[int, int]:
        """The position of a mark-delete, which may be on an entry that is yet to be appended."""
        log = self.session.topic.log
        if index < log.length:
            return self.session.subscription.position_of(index)
        return log.current.id, index - log.current.first_index

    # --- what comes of them

    def settle(self) -> list[tuple]:
        """The groups have been sent: the broker's side of it; returns the timer of the cursor's write, if it begins."""
        subscription, events = self.session.subscription, []
        if not self.sent:
            return events
        subscription.cursor.restore(self.cursor.capture())
        subscription.dispatcher.unacked -= self.registered
        if any(group.persisted for group in self.sent):
            subscription.persisted_rolled_to = subscription.rolled_to
        if self.flush_us is not None:
            subscription.flush_due = True
            events.append((self.flush_us, subscription.topic.rank, subscription, "flush", None))
        return events
