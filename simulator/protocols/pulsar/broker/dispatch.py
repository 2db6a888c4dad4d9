"""How a subscription's messages are dispatched to its consumers, by its type."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from pyroaring import BitMap

from simulator.kernel.clock import CONTINUES_RANK
from simulator.kernel.random import draw, stream_key
from simulator.protocols.pulsar.markers.entries import MARKER_PRODUCER
from simulator.protocols.pulsar.storage.messages import TailRead, lateness_of
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.subscription import Subscription


# --- the ring on which a broker places consumers by name, and Pulsar's 32-bit Murmur3 hash for it
#
# Pulsar's AbstractDispatcherSingleActiveConsumer chooses the active consumer of a topic without partitions
# like this (#19502), and that of a partition under activeConsumerFailoverConsistentHashing (PIP-392): 100
# points for each consumer, `name + number` hashed. The hash of the topic's full name selects the next
# point. Pulsar's code comment and documentation describe the order of subscribing, but the code does not
# use it (#24747).


POINTS_PER_CONSUMER = 100
_MASK = 0xFFFFFFFF


def murmur3(data: bytes) -> int:
    """Pulsar's makeHash of `data`: Murmur3_32 with seed 0, without its sign bit, 0..2**31-1.

    The algorithm is Appleby's, in the public domain.
    """
    hashed, whole = 0, len(data) // 4 * 4
    for place in range(0, whole, 4):
        hashed ^= _mixed(int.from_bytes(data[place : place + 4], "little"))
        hashed = (hashed << 13 | hashed >> 19) & _MASK
        hashed = (hashed * 5 + 0xE6546B64) & _MASK
    if whole < len(data):
        hashed ^= _mixed(int.from_bytes(data[whole:], "little"))
    hashed ^= len(data)
    hashed = ((hashed ^ hashed >> 16) * 0x85EBCA6B) & _MASK
    hashed = ((hashed ^ hashed >> 13) * 0xC2B2AE35) & _MASK
    return (hashed ^ hashed >> 16) & 0x7FFFFFFF


def _mixed(word: int) -> int:
    word = (word * 0xCC9E2D51) & _MASK
    word = (word << 15 | word >> 17) & _MASK
    return (word * 0x1B873593) & _MASK


def full_topic_name(namespace: str, name: str) -> str:
    """The name that a broker uses for a topic or partition.

    `namespace` is `tenant/namespace`, `name` has the partition's suffix.
    """
    return f"persistent://{namespace}/{name}"


def chosen_on_ring(full_name: str, consumers: list[str]) -> int:
    """Index of the consumer, of names in sorted order, that is active for the topic with this full name."""
    ring: dict[int, int] = {}
    for index, name in enumerate(consumers):
        for point in range(POINTS_PER_CONSUMER):
            ring[murmur3(f"{name}{point}".encode())] = index  # of two at one point the later is kept
    points = sorted(ring)
    place = bisect_left(points, murmur3(full_name.encode()))
    return ring[points[place % len(points)]]


# --- dispatchers: the reading side of a subscription, by subscription type
#
# Rules: reading needs a consumer with permits. A marker that is read is filtered and acked
# (`AbstractBaseDispatcher.filterEntriesForConsumer`). Entries acked meanwhile are skipped. `busy` stops a
# dispatcher that is called while it dispatches (an Update written by an ack wakes it): its loop continues
# anyway.


DISPATCHED_AT_ONCE = 1_000
"""Entries that one event dispatches at most.

It is a receiver queue of the default size and takes two or three milliseconds.
"""


class Dispatcher:
    """The part shared by all types: consumers' sessions and the read position."""

    __slots__ = (
        "busy",
        "check_below",
        "read_index",
        "redeliveries",
        "runtime",
        "sessions",
        "subscription",
        "tail",
        "topic",
        "unacked",
    )

    # whether entries may have to wait (delayed delivery); only Shared and Key_Shared postpone
    postpones = False

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        self.sessions: list[Session] = []
        self.read_index = subscription.cursor.mark_delete + 1
        # entries below may be individually deleted: check before sending
        self.check_below = self.topic.log.length
        self.busy = False
        reader = f"dispatcher/{self.topic.cluster.name}/{self.topic.name}/{subscription.name}"
        self.tail = TailRead(lateness_of(self.runtime, reader))
        self.unacked = 0  # messages with consumers, of the whole subscription
        self.redeliveries: dict[int, int] = {}  # by entry, for consumers that request single entries

    def dispatch(self, cause: int) -> None:
        """Send while consumers have permits and entries remain."""

    def add(self, session: Session, cause: int) -> None:
        """A consumer subscribed."""
        self.sessions.append(session)

    def remove(self, session: Session, cause: int) -> None:
        """A consumer left."""
        self.sessions = [other for other in self.sessions if other is not session]
        self.subscription.session_ended(session)

    def redeliver(self, session: Session, indices: list[int], cause: int) -> None:
        """A consumer requests redelivery of entries."""

    def skip_to(self, mark_delete: int) -> None:
        """The mark-delete was moved by the broker: the read position follows if it was behind."""
        if self.read_index <= mark_delete:
            self.read_index = mark_delete + 1

    def restart_reading(self, cause: int) -> None:
        """Read again from the mark-delete; queued and sent entries are sent again."""
        self.rewind()
        self.dispatch(cause)

    def rewind(self) -> None:
        """Move the read position to the first entry after the mark-delete."""
        # a shadow may have fewer entries than were acked
        self.check_below = max(
            self.check_below, self.topic.log.length, self.subscription.cursor.last_acknowledged + 1
        )
        self.read_index = max(self.subscription.cursor.mark_delete + 1, self.topic.log.first_kept)
        self.tail.cancel()

    def disconnect_all(self, reason: str, cause: int) -> None:
        """The broker failed: every session ends."""
        for session in tuple(self.sessions):
            session.consumer.disconnected(session, reason, cause)
        self.sessions = []
        self.unacked = 0

    def next_deliverable(self, cause: int) -> int | None:
        """The next entry to send, from the read position; markers before it are filtered.

        None at the end, and while a read waits there (`storage.messages`).
        """
        log, reads = self.topic.log, self.topic.reads
        limited = self.topic.appends is not None
        end = self.topic.readable_length if limited else log.length
        if delay_us := self.topic.hot.new_entries_check_delay_us:
            if not self.tail.begin(self.topic, self.read_index, self.runtime.now_us, delay_us):
                self._wait_for_entries(delay_us, cause)
                return None
            end, limited = self.tail.end, True
        if self.read_index >= end and reads is None:
            if delay_us:
                self._wait_for_entries(delay_us, cause)
            return None
        cursor, reported = self.subscription.cursor, self.subscription.filter.reported
        while (index := self.read_index) < (end if limited else log.length):
            self.read_index = index + 1
            if index < self.check_below and cursor.is_acknowledged(index):
                continue
            if reads is not None and not reads.take(index):
                self.read_index = index  # not readable yet: reading pauses here
                return None
            record = log.records.values[index]
            if record < 0:
                if self.takes_marker(index):
                    self.subscription.filter_marker(index, self.runtime.markers[-record - 1], cause)
            elif reported and self.subscription.filter.takes(index, record, cause):
                continue
            elif (
                not self.postpones
                or not self.runtime.messages.deliver_at_us[record]
                or not self.postponed(index, record)
            ):
                return index
        if delay_us:
            self._wait_for_entries(delay_us, cause)
        if reads is not None:
            reads.reached_end()
        return None

    def _wait_for_entries(self, delay_us: int, cause: int) -> None:
        """The end is reached: entries that were appended meanwhile are read after the delay."""
        tail, runtime = self.tail, self.runtime
        tail.wait(runtime.now_us, delay_us)
        assert tail.check_us is not None
        if self.read_index < self.topic.readable_length and not tail.check_due:
            tail.check_due = True
            argument = (tail.check_us, cause)
            runtime.schedule(tail.check_us, self.topic.rank, self.check_for_new_entries, argument)

    def check_for_new_entries(self, argument: tuple[int, int]) -> None:
        """The delay is over, and entries were appended in it."""
        check_us, cause = argument
        if self.tail.check_due and self.tail.check_us == check_us:
            self.tail.check_due = False
            self.dispatch(cause)

    def takes_marker(self, index: int) -> bool:
        """Whether a marker that was read is filtered now; only a Key_Shared subscription may have to wait."""
        return True

    def postponed(self, index: int, record: int) -> bool:
        """Whether the entry must be sent later; called only on a dispatcher that postpones."""
        return False

    def release(self, acked: Sequence[int], released: Sequence[int], cause: int) -> None:
        """Free the limits that acks of these entries, one message each, occupied.

        In `released` are the entries of which every message is acknowledged.
        """

    def let_go_up_to(self, index: int) -> None:
        """The mark-delete is about to be moved here by an operator.

        Messages up to it no longer count as unacked.
        """

    def go_on(self, cause: int) -> None:
        """An operator moved the mark-delete: continue with consumers blocked by unacked messages."""

    def dispatch_on(self, cause: int) -> None:
        """The event's dispatch limit is reached: continue at this instant, before any other event."""
        self.runtime.schedule(self.runtime.now_us, CONTINUES_RANK, self.dispatch, cause)

    @property
    def reading_sessions(self) -> list[Session]:
        """The sessions that a reset disconnects (`disconnectActiveConsumers`)."""
        return list(self.sessions)


class SingleActiveDispatcher(Dispatcher):
    """Exclusive and Failover: one consumer at a time reads, and the others are standbys.

    Rules: a new active consumer of a Failover subscription, also the first one, reads only after
    activeConsumerFailoverDelayTimeMillis, so that the previous one may finish the messages it was sent. It
    keeps them, and its acks count.
    """

    __slots__ = (
        "active",
        "delays",
        "waiting",
    )

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.active: Session | None = None
        self.delays = 0  # number of delays so far: a timer of an earlier one is stale
        self.waiting = False

    def add(self, session: Session, cause: int) -> None:
        super().add(session, cause)
        self._choose(cause)

    def remove(self, session: Session, cause: int) -> None:
        """A consumer left; its unacked messages are read again by the next active one.

        A standby that leaves may move a partition to another consumer.
        """
        super().remove(session, cause)
        if self.active is session:
            self.active = None
            self.unacked = 0
        self._choose(cause)

    def disconnect_all(self, reason: str, cause: int) -> None:
        super().disconnect_all(reason, cause)
        self.active = None
        self.waiting = False

    def _choose(self, cause: int) -> None:
        """Choose the active consumer by name.

        Partitions are assigned in turn. A topic without partitions uses the hash ring, and with the setting
        all do.
        """
        if not self.sessions:
            return
        ordered = sorted(self.sessions, key=lambda session: session.consumer.name)
        topic = self.topic
        if topic.partition >= 0 and not topic.active_by_ring:
            chosen = ordered[topic.partition % len(ordered)]
        else:
            full_name = full_topic_name(self.runtime.scenario.topics[topic.base].namespace, topic.name)
            chosen = ordered[chosen_on_ring(full_name, [session.consumer.name for session in ordered])]
        if chosen is self.active:
            return
        self.active = chosen
        self.unacked = 0
        seq = self.runtime.rows.consumer_activated(
            cause, **self.subscription.names, client=chosen.consumer.number
        )
        delay_ms = self.topic.cluster.setting("activeConsumerFailoverDelayTimeMillis", self.topic)
        if self.subscription.type != "Failover" or not delay_ms:
            self.rewind()
            self.dispatch(seq)
        elif not self.waiting:  # else the delay that runs covers this consumer, too
            self.waiting = True
            self.delays += 1
            self.runtime.schedule(
                self.runtime.now_us + delay_ms * 1000, self.topic.rank, self.delay_over, (self.delays, seq)
            )

    def delay_over(self, argument: tuple[int, int]) -> None:
        """The active consumer may read, from the first entry that is not acknowledged by now."""
        number, cause = argument
        if self.waiting and number == self.delays:
            self.waiting = False
            self.rewind()
            self.dispatch(cause)

    def dispatch(self, cause: int) -> None:
        """Send to the active consumer while it has permits."""
        session = self.active
        if self.busy or self.waiting or session is None or session.permits <= 0:
            return
        self.busy = True
        self.tail.end = -1
        left = DISPATCHED_AT_ONCE
        while session.permits > 0 and session is self.active:
            if not left:
                self.dispatch_on(cause)
                break
            index = self.next_deliverable(cause)
            if index is None:
                break
            self.unacked += session.push(index, 0, cause)
            left -= 1
        self.busy = False

    def redeliver(self, session: Session, indices: list[int], cause: int) -> None:
        """Redelivery of single messages is not possible for these types.

        The client drops its queued messages. For the active consumer everything unacknowledged is read again.
        """
        session.consumer.forget(session)
        if session is self.active and not self.waiting:
            self.unacked = 0
            self.rewind()
            self.dispatch(cause)

    def restart_reading(self, cause: int) -> None:
        if self.active is not None:  # a former active consumer finishes the messages it was sent
            self.active.consumer.forget(self.active)
        self.unacked = 0
        super().restart_reading(cause)

    @property
    def reading_sessions(self) -> list[Session]:
        return [] if self.active is None else [self.active]

    def release(self, acked: Sequence[int], released: Sequence[int], cause: int) -> None:
        self.unacked = max(0, self.unacked - len(acked))


# --- dispatch to many consumers: Shared (in turn) and Key_Shared (by key)
#
# Rules: messages to redeliver (consumer gone, negative ack, delay over) are queued in `replay`, lowest
# position first, and are sent before new entries. A consumer at maxUnackedMessagesPerConsumer is sent
# nothing. It continues when it requests redelivery, or at half the limit, which is checked when an entry
# sent to it is acknowledged as a whole (`Consumer.individualAckNormal`). A subscription at its limit reads
# no new entries until less than half is left, and sends those of `replay` meanwhile
# (`PersistentDispatcherMultipleConsumers.readMoreEntries`).


KEY_HASHES = 65_536
_ANY_NUMBER = 1 << 62
MARKER_SEQUENCE_ID = 0


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
            self._note_block(True, session, session.unacked, cause)
        limit = hot.unacked_per_subscription
        if limit and self.unacked >= limit and not self.blocked:
            self.blocked = True
            self._note_block(True, None, self.unacked, cause)
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
                self._note_block(False, session, session.unacked, cause)
        if self.blocked and self.unacked < self.topic.hot.unacked_per_subscription // 2:
            self.blocked = False
            lifted = True
            self._note_block(False, None, self.unacked, cause)
        return lifted

    def _note_block(self, blocked: bool, session: Session | None, count: int, cause: int) -> None:
        rows = self.runtime.rows
        write = rows.consumer_blocked if blocked else rows.consumer_unblocked
        write(
            cause,
            **self.subscription.names,
            client=None if session is None else session.consumer.number,
            count=count,
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


def dispatcher_for(subscription: Subscription) -> Dispatcher:
    """The dispatcher of the subscription's type.

    Chooses a subscription's dispatcher by its type.
    """
    if subscription.type == "Shared":
        return SharedDispatcher(subscription)
    if subscription.type == "Key_Shared":
        return KeySharedDispatcher(subscription)
    return SingleActiveDispatcher(subscription)
