"""Dispatchers: the reading side of a subscription, by subscription type.

Rules: reading needs a consumer with permits. A marker that is read is filtered and acked
(`AbstractBaseDispatcher.filterEntriesForConsumer`). Entries acked meanwhile are skipped. `busy` stops a
dispatcher that is called while it dispatches (an Update written by an ack wakes it): its loop continues
anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.kernel.clock import CONTINUES_RANK
from simulator.protocols.pulsar.broker.hash_ring import chosen_on_ring, full_topic_name
from simulator.protocols.pulsar.storage.tail_read import TailRead, lateness_of

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.subscription import Subscription


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

        None at the end, and while a read waits there (`storage.tail_read`).
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
    def reading(self) -> list[Session]:
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
        seq = self.runtime.note(
            "consumer.activated",
            cause,
            self.topic.cluster.number,
            self.topic.number,
            self.subscription.number,
            chosen.consumer.number,
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
    def reading(self) -> list[Session]:
        return [] if self.active is None else [self.active]

    def release(self, acked: Sequence[int], released: Sequence[int], cause: int) -> None:
        self.unacked = max(0, self.unacked - len(acked))
