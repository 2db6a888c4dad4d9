"""Ledger rollover of a topic: when a full or old ledger is followed by the next (`ManagedLedgerImpl`).

It also moves the cursors that follow.

Rules: the entry that reaches a limit is the last of its ledger. A timer belongs to one load of the topic and
is stale after it (`epoch`).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic


_MINUTE_US = 60_000_000
_ANY_NUMBER = 1 << 62


class LedgerRollover:
    """The part of a topic that opens ledgers.

    `limits` are those of the open ledger: entries, bytes, its greatest and its least age.
    """

    __slots__ = (
        "age_timed",
        "limits",
        "topic",
    )

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.age_timed = False  # whether the timer that rolls an old ledger over runs
        self.limits: tuple[int, int, int, int]  # set when a ledger is opened

    def open_next(self, cause: int) -> None:
        """Close the open ledger and open the next, unless the topic is terminated."""
        topic = self.topic
        if topic.terminated:
            return
        runtime, log = topic.runtime, topic.log
        if log.ledgers:
            closed = log.ledgers[-1]
            if closed.closed_us is None:
                log.close_ledger(runtime.now_us)
                runtime.rows.ledger_closed(cause, **topic.names, ledger=closed.id, count=closed.entries)
        ledger = topic.cluster.take_ledger()
        log.open_ledger(ledger, runtime.now_us)
        runtime.rows.ledger_opened(cause, **topic.names, ledger=ledger)
        setting = topic.cluster.setting
        self.limits = (
            setting("managedLedgerMaxEntriesPerLedger", topic),
            setting("managedLedgerMaxSizePerLedgerMbytes", topic) << 20,
            setting("managedLedgerMaxLedgerRolloverTimeMinutes", topic) * _MINUTE_US,
            setting("managedLedgerMinLedgerRolloverTimeMinutes", topic) * _MINUTE_US,
        )
        self.time_age()
        topic.shadows.ledgers_changed(cause)

    def roll_if_full(self, cause: int) -> bool:
        """Close the ledger when this entry reaches a limit, and open the next at once.

        Returns whether it was the last of its ledger.
        """
        topic = self.topic
        if topic.terminated:
            return False
        ledger, now_us = topic.log.ledgers[-1], topic.runtime.now_us
        most_entries, most_bytes, oldest_us, _youngest_us = self.limits
        if (
            ledger.entries < most_entries
            and ledger.size_bytes < most_bytes
            and now_us - ledger.opened_us < oldest_us
        ):
            return False
        if not topic.log.full(now_us, *self.limits):
            return False
        self.open_next(cause)
        # a consumer that processes the last entry in no time is first
        topic.runtime.schedule(now_us, topic.rank, self.ledger_made, (topic.epoch, cause))
        return True

    def room(self, now_us: int, size_bytes: int, coming_bytes: int = 0) -> tuple[int, int]:
        """Entries of this size that certainly fit in the open ledger before an instant, and the instant.

        Other entries of `coming_bytes` may be appended meanwhile. Until the instant the ledger stays open.
        """
        most_entries, most_bytes, oldest_us, youngest_us = self.limits
        ledger = self.topic.log.ledgers[-1]
        # too young to be rolled over, even when full
        if youngest_us and now_us - ledger.opened_us <= youngest_us:
            return _ANY_NUMBER, ledger.opened_us + youngest_us + 1
        room = most_entries - 1 - ledger.entries
        if size_bytes:
            room = min(room, (most_bytes - 1 - ledger.size_bytes - coming_bytes) // size_bytes)
        return room, ledger.opened_us + oldest_us

    # --- age

    def time_age(self) -> None:
        """Schedule the check of the open ledger's greatest age.

        The source is `ManagedLedgerImpl.updateLastLedgerCreatedTimeAndScheduleRolloverTask`.
        """
        if not self.age_timed:
            self.age_timed = True
            topic = self.topic
            topic.runtime.schedule(self._old_at_us(), topic.rank, self.age_timer, topic.epoch)

    def _old_at_us(self) -> int:
        topic = self.topic
        minutes = topic.cluster.setting("managedLedgerMaxLedgerRolloverTimeMinutes", topic)
        return topic.log.ledgers[-1].opened_us + minutes * _MINUTE_US

    def age_timer(self, epoch: int) -> None:
        """A ledger has reached its greatest age: roll it over.

        An empty one is not checked again, and its first entry will be its last (#11116).
        """
        topic = self.topic
        if epoch != topic.epoch or not topic.loaded:
            return
        self.age_timed = False
        if topic.runtime.now_us < self._old_at_us():
            self.time_age()  # it was opened after the timer began
        elif self.roll_if_full(NULL):
            self.ledger_made((topic.epoch, NULL))

    def ledger_made(self, argument: tuple[int, int]) -> None:
        """The ledger after a full one is open: cursors at the end of a closed one move on.

        Ledgers that every cursor has passed are deleted.
        """
        epoch, cause = argument
        if epoch == self.topic.epoch and self.topic.loaded:
            self.move_cursors_on(cause)
            self.topic.trim(cause)

    def move_cursors_on(self, cause: int) -> None:
        """A ledger was opened: cursors at the end of a closed one move to it."""
        for subscription in self.topic.subscriptions.values():
            subscription.ledger_opened(cause)
        for replicator in self.topic.replicators.values():
            replicator.ledger_opened()
        for audience in self.topic.audiences.values():
            audience.ledger_opened()


class Appends:
    """The appends to one log that are under way, each of which takes a draw of `time`.

    `pending` are (instant of completion, index, row that stored the entry), oldest first.

    Entries whose append is not complete: the option `appendTime`.

    Rules: an entry has its position from the beginning of its append, and can be read from the end of it on,
    when the waiting readers are notified (`OpAddEntry.run`, `ManagedLedgerImpl.notifyCursors`). The last
    confirmed entry is the last one whose append is complete. Appends complete in order, so one that takes
    long holds back the ones after it. A draw is keyed by topic, cluster and index. A topic that is loaded has
    no append under way. Audiences and shadows read entries at once.
    """

    __slots__ = ("_time", "_topic", "pending")

    def __init__(self, topic: Topic, time: Sampler) -> None:
        self._topic = topic
        self._time = time
        self.pending: deque[tuple[int, int, int]] = deque()

    @classmethod
    def of(cls, topic: Topic, place: str) -> Appends | None:
        """The appends to the log at `place` (cluster/topic), or None where they take no time."""
        runtime = topic.runtime
        time = Sampler(runtime.option("appendTime"), stream_key(runtime.seed, f"append/{place}"))
        return None if time.constant == 0 else cls(topic, time)

    def begin(self, index: int, seq: int) -> None:
        """The append of an entry began."""
        runtime = self._topic.runtime
        due_us = runtime.now_us + self._time.at(index)
        if self.pending:
            due_us = max(due_us, self.pending[-1][0])
        self.pending.append((due_us, index, seq))
        runtime.schedule(due_us, self._topic.rank, self.complete)

    def complete(self, _argument: None = None) -> None:
        """The append of the oldest entry is complete, unless the topic was unloaded meanwhile."""
        pending, now_us, seq = self.pending, self._topic.runtime.now_us, NULL
        while pending and pending[0][0] <= now_us:
            seq = pending.popleft()[2]
        if seq == NULL:
            return
        for replicator in self._topic.replicators.values():
            replicator.read()
        self._topic.wake_dispatchers(seq)

    @property
    def readable_length(self) -> int:
        """The index after the last entry that can be read."""
        return self.pending[0][1] if self.pending else self._topic.log.length

    @property
    def last_confirmed(self) -> tuple[int, int]:
        """Position of the last entry whose append is complete."""
        log = self._topic.log
        return log.position(self.pending[0][1] - 1) if self.pending else log.last_confirmed
