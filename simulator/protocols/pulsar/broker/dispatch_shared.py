"""Dispatch to many consumers: Shared (in turn) and Key_Shared (by key).

Rules: messages to redeliver (consumer gone, negative ack, delay over) are queued in `replay`, lowest position
first, and are sent before new entries. A consumer at maxUnackedMessagesPerConsumer is sent nothing. It
continues when it requests redelivery, or at half the limit, which is checked when an entry sent to it is
acknowledged as a whole (`Consumer.individualAckNormal`). A subscription at its limit reads no new entries
until less than half is left, and sends those of `replay` meanwhile
(`PersistentDispatcherMultipleConsumers.readMoreEntries`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from pyroaring import BitMap

from simulator.kernel.random import draw, stream_key
from simulator.protocols.pulsar.broker.dispatch import DISPATCHED_AT_ONCE, Dispatcher
from simulator.protocols.pulsar.markers.codec import MARKER_PRODUCER
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.subscription import Subscription

KEY_HASHES = 65_536
_ANY_NUMBER = 1 << 62
MARKER_SEQUENCE_ID = 0
POINTS_PER_CONSUMER = 100  # subscriptionKeySharedConsistentHashingReplicaPoints


class SharedDispatcher(Dispatcher):
    """Round robin, at most dispatcherMaxRoundRobinBatchSize entries to one consumer in a turn.

    A marker or a delayed message is an entry of the turn in which it is read, although it is not sent
    (`PersistentDispatcherMultipleConsumers.trySendMessagesToConsumers`). The next turn is the place after the
    last one in the list of consumers (`AbstractDispatcherMultipleConsumers.getNextConsumer`).
    """

    __slots__ = (
        "blocked",
        "delayed",
        "eased",
        "pending",
        "replay",
        "turn",
        "unsent",
    )

    postpones = True

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.replay = BitMap()
        self.pending: dict[int, Session] = {}  # entry -> the session to which it was sent
        self.delayed: list[tuple[int, int]] = []  # (due, index), a heap
        self.turn = 0
        self.blocked = False
        self.unsent = 0  # entries read by the present turn that are not sent
        self.eased: list[Session] = []  # consumers of which an operator passed over messages just now

    # --- consumers connect and disconnect

    def add(self, session: Session, cause: int) -> None:
        """A consumer subscribed; the first one after none starts from the mark-delete."""
        if not self.sessions:
            self.pending.clear()
            self.replay.clear()
            self.rewind()
        super().add(session, cause)
        self.dispatch(cause)

    def remove(self, session: Session, cause: int) -> None:
        """A consumer left: its unacked messages are sent to the others."""
        super().remove(session, cause)
        self.unacked -= session.unacked
        for index in [index for index, holder in self.pending.items() if holder is session]:
            del self.pending[index]
            self.replay.add(index)
        self._unblock(cause)
        self.dispatch(cause)

    def disconnect_all(self, reason: str, cause: int) -> None:
        super().disconnect_all(reason, cause)
        self.pending.clear()
        self.replay.clear()
        self.redeliveries.clear()
        self.delayed.clear()
        self.blocked = False

    def rewind(self) -> None:
        """Move the read position to the first entry after the mark-delete, and clear replays and delays."""
        super().rewind()
        self.replay.clear()
        self.delayed.clear()

    def restart_reading(self, cause: int) -> None:
        for session in self.sessions:
            session.consumer.forget(session)
            session.unacked, session.blocked = 0, False
        self.pending.clear()
        self.unacked, self.blocked = 0, False
        super().restart_reading(cause)

    # --- sending

    def postponed(self, index: int, record: int) -> bool:
        due_us = self.runtime.messages.deliver_at_us[record]
        if due_us <= self.runtime.now_us or not self.topic.hot.delays:
            return False
        self.unsent += 1
        heappush(self.delayed, (due_us, index))
        self.runtime.schedule(due_us, self.topic.rank, self.delay_over)
        return True

    def delay_over(self, _argument: None) -> None:
        """A delayed message is due: it is sent before new entries."""
        while self.delayed and self.delayed[0][0] <= self.runtime.now_us:
            self.replay.add(heappop(self.delayed)[1])
        self.dispatch(NULL)

    @property
    def may_send(self) -> bool:
        """Whether the subscription may send entries: at its limit only those to redeliver."""
        return not self.blocked or bool(self.replay)

    def dispatch(self, cause: int) -> None:
        """Send while a consumer has permits and entries remain."""
        if self.busy or not self.may_send or not self.sessions:
            return
        self.busy = True
        self.tail.end = -1
        turn_entries = self.topic.hot.turn_entries
        session: Session | None = None
        left = sent = 0
        while self.may_send:
            if session is None or left <= 0 or session.blocked or session.permits <= 0:
                if sent >= DISPATCHED_AT_ONCE:
                    self.dispatch_on(cause)
                    break
                session, left = self._next_session(), turn_entries
            if session is None:
                break
            self.unsent = 0
            index = self._next_index(cause) if self.replay else self.next_deliverable(cause)
            while self.unsent >= left + (index is None):  # they filled this turn: the next one begins
                self.unsent -= left
                session, left = self._next_session() or session, turn_entries
            left -= self.unsent
            if index is None:
                if left == turn_entries:
                    self.turn = self.sessions.index(session)  # chosen, nothing to send: it keeps its turn
                break
            self._send(session, index, cause)
            left -= 1
            sent += 1
        self.busy = False

    def _next_session(self) -> Session | None:
        count, first = len(self.sessions), self.next_turn
        for step in range(count):
            place = (first + step) % count
            session = self.sessions[place]
            if session.permits > 0 and not session.blocked:
                self.turn = place + 1
                return session
        return None

    @property
    def next_turn(self) -> int:
        """The place of the consumer whose turn is next, if it has permits."""
        return self.turn if self.turn < len(self.sessions) else 0

    def takes_marker(self, index: int) -> bool:
        self.unsent += 1
        return True

    def _next_index(self, cause: int) -> int | None:
        while self.replay:  # an empty bitmap is false
            index = self.replay.min()
            self.replay.discard(index)
            if self.subscription.cursor.is_acknowledged(index):
                continue
            record = self.topic.log.records[index]
            if record < 0:
                if self.takes_marker(index):
                    self.subscription.filter_marker(index, self.runtime.markers[-record - 1], cause)
                continue
            if self.subscription.filter.reported and self.subscription.filter.takes(index, record, cause):
                continue
            if self.topic.reads is None or self.topic.reads.take(index):
                return index
            self.replay.add(index)  # not readable yet: reading pauses here
            return None
        return None if self.blocked else self.next_deliverable(cause)

    def _send(self, session: Session, index: int, cause: int) -> int:
        self.pending[index] = session
        sent = session.push(index, self.redeliveries.get(index, 0), cause)
        session.unacked += sent
        self.unacked += sent
        hot = self.topic.hot
        limit = hot.unacked_per_consumer
        if limit and session.unacked >= limit and not session.blocked:
            session.blocked = True
            self._note_block("consumer.blocked", session, session.unacked, cause)
        limit = hot.unacked_per_subscription
        if limit and self.unacked >= limit and not self.blocked:
            self.blocked = True
            self._note_block("consumer.blocked", None, self.unacked, cause)
        return sent

    # --- redelivery

    def redeliver(self, session: Session, indices: list[int], cause: int) -> None:
        """The client requested redelivery of these entries (negative ack, ack timeout)."""
        for index in indices:
            if self.pending.get(index) is session:
                del self.pending[index]
                self._take_from(session, index)
                self.redeliveries[index] = self.redeliveries.get(index, 0) + 1
                self.replay.add(index)
        self._unblock(cause, asking=session)
        self.dispatch(cause)

    def release(self, acked: Sequence[int], released: Sequence[int], cause: int) -> None:
        pending, redeliveries = self.pending, self.redeliveries
        eased: list[Session] = []
        for index in acked:
            session = pending.get(index)
            if session is not None:
                session.unacked -= 1
                self.unacked -= 1
                if session.blocked and not session.outstanding(index):  # a batch that an Update passed
                    eased.append(session)
        for index in released:
            session = pending.pop(index, None)
            if session is not None and session.blocked:
                eased.append(session)
            if redeliveries:
                redeliveries.pop(index, None)
        if self._unblock(cause, eased):
            self.dispatch(cause)

    def let_go_up_to(self, index: int) -> None:
        for held in [held for held in self.pending if held <= index]:
            session = self.pending.pop(held)
            self.eased.append(session)
            self._take_from(session, held)
            self.redeliveries.pop(held, None)

    def _take_from(self, session: Session, index: int) -> int:
        """Remove an entry from a consumer; returns how many of its messages were unacked."""
        freed = session.outstanding(index)
        session.unacked -= freed
        self.unacked -= freed
        return freed

    def go_on(self, cause: int) -> None:
        self._unblock(cause, self.eased)
        self.eased = []
        self.dispatch(cause)

    def _unblock(self, cause: int, eased: Sequence[Session] = (), asking: Session | None = None) -> bool:
        """Lift limits that are down to half, and that of a consumer that requested redelivery.

        `eased` are the consumers of which a whole entry was acknowledged or passed over. Acks of single
        messages of a batch do not lift a consumer's limit. True when a limit was lifted.
        """
        lifted = False
        half = self.topic.hot.unacked_per_consumer // 2
        for session in self.sessions:
            if session.blocked and (session is asking or (session.unacked <= half and session in eased)):
                session.blocked = False
                lifted = True
                self._note_block("consumer.unblocked", session, session.unacked, cause)
        if self.blocked and self.unacked < self.topic.hot.unacked_per_subscription // 2:
            self.blocked = False
            lifted = True
            self._note_block("consumer.unblocked", None, self.unacked, cause)
        return lifted

    def _note_block(self, event: str, session: Session | None, count: int, cause: int) -> None:
        client = None if session is None else session.consumer.number
        self.runtime.note(
            event,
            cause,
            self.topic.cluster.number,
            self.topic.number,
            self.subscription.number,
            client,
            count,
        )


class KeySharedDispatcher(SharedDispatcher):
    """Sends all messages of a key to one consumer (consistent hashing).

    A key moves to another consumer only when none of its messages is outstanding. Reading skips entries that
    cannot be sent yet, up to a number of entries (#23231). When that many wait, no new entry is read, for any
    consumer. A marker is filtered for the consumer that its key belongs to
    (`filterAndGroupEntriesForDispatching`). All have the same key, so while that consumer has no permits, all
    markers wait, and the mark-delete does not pass them.
    """

    __slots__ = (
        "held",
        "markers_wait",
        "ring",
        "stuck",
    )

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.ring: list[tuple[int, Session]] = []
        self.held: dict[int, list] = {}  # key -> [session, messages outstanding]
        self.stuck = BitMap()  # in the present dispatch: entries that cannot be sent now
        self.markers_wait = False  # in the present dispatch: one of them is a marker

    def add(self, session: Session, cause: int) -> None:
        points = [
            (draw(stream_key(0, session.consumer.name), point) % KEY_HASHES, session)
            for point in range(POINTS_PER_CONSUMER)
        ]
        self.ring = sorted((*self.ring, *points), key=lambda point: (point[0], point[1].consumer.name))
        super().add(session, cause)

    def remove(self, session: Session, cause: int) -> None:
        self.ring = [point for point in self.ring if point[1] is not session]
        self.held = {key: held for key, held in self.held.items() if held[0] is not session}
        super().remove(session, cause)

    def disconnect_all(self, reason: str, cause: int) -> None:
        super().disconnect_all(reason, cause)
        self.ring, self.held = [], {}

    def restart_reading(self, cause: int) -> None:
        self.held = {}
        super().restart_reading(cause)

    def _sticky_key(self, index: int) -> int:
        """The key by which an entry is assigned: that of its first message.

        Without one it is a separate key below NULL (Pulsar: producer and sequence id).
        """
        record = self.topic.log.records[index]
        key = self.runtime.messages.key[record]
        return key if key != NULL else NULL - 1 - record

    def _owner(self, key: int) -> Session:
        if key >= 0:
            return self._owner_of_hash(draw(stream_key(0, "key"), key))
        message, messages = NULL - 1 - key, self.runtime.messages
        producer = self.runtime.trace.names[messages.producer[message]]
        return self._owner_of_hash(_hash_without_key(producer, messages.sequence_id[message]))

    def _owner_of_hash(self, hashed: int) -> Session:
        place = bisect_left(self.ring, hashed % KEY_HASHES, key=lambda point: point[0])
        return self.ring[place % len(self.ring)][1]

    def takes_marker(self, index: int) -> bool:
        owner = self._owner_of_hash(_hash_without_key(MARKER_PRODUCER, MARKER_SEQUENCE_ID))
        if self.markers_wait or not owner.ready:
            self.markers_wait = True
            self.stuck.add(index)
        return not self.markers_wait

    def dispatch(self, cause: int) -> None:
        """Replays first, in order.

        An entry that cannot be sent blocks its key, and reading continues for the others.
        """
        if self.busy or not self.may_send or not self.sessions:
            return
        self.busy = True
        self.tail.end = -1
        blocked_keys: dict[int, bool] = {}
        self.markers_wait = False
        while self.may_send and any(session.ready for session in self.sessions):
            index = self._next_index(cause)
            if index is None:
                break
            key = self._sticky_key(index)
            session = self._owner(key)
            held = self.held.get(key)
            if key in blocked_keys or not session.ready or (held is not None and held[0] is not session):
                blocked_keys[key] = True
                self.stuck.add(index)
                continue
            if held is None:
                held = self.held[key] = [session, 0]
            held[1] += self._send(session, index, cause)
        self.replay |= self.stuck
        self.stuck = BitMap()
        self.busy = False

    def next_deliverable(self, cause: int) -> int | None:
        return None if len(self.stuck) >= self._look_ahead_max() else super().next_deliverable(cause)

    def _look_ahead_max(self) -> int:
        """Most entries that reading may skip (`getEffectiveLookAheadLimit`).

        Where both look-ahead limits are off, those of unacknowledged messages count. The source is
        PersistentStickyKeyDispatcherMultipleConsumers.
        """
        hot, consumers = self.topic.hot, len(self.sessions)
        limits = [hot.ahead_per_consumer * consumers, hot.ahead_per_subscription]
        if not any(limits):
            limits = [hot.unacked_per_consumer * consumers, hot.unacked_per_subscription]
        return min((limit for limit in limits if limit), default=_ANY_NUMBER)

    def release(self, acked: Sequence[int], released: Sequence[int], cause: int) -> None:
        freed = False
        for index in acked:
            if index in self.pending:
                freed = self._let_go(self._sticky_key(index), 1) or freed
        super().release(acked, released, cause)
        if freed and self.replay:
            self.dispatch(cause)

    def _take_from(self, session: Session, index: int) -> int:
        freed = super()._take_from(session, index)
        self._let_go(self._sticky_key(index), freed)
        return freed

    def _let_go(self, key: int, count: int) -> bool:
        held = self.held.get(key)
        if held is None:
            return False
        held[1] -= count
        if held[1] > 0:
            return False
        del self.held[key]
        return True


def _hash_without_key(producer: str, sequence_id: int) -> int:
    """The hash of an entry without key (`Commands.resolveStickyKey`)."""
    return draw(stream_key(0, producer), sequence_id)
