"""The read of a cursor that has reached the end of its log: when it sees a new entry.

Rules: with `managedLedgerNewEntriesCheckDelayInMillis` above 0 such a cursor looks again after that delay,
and is notified of appends only from then on (`ManagedCursorImpl.asyncReadEntriesWithSkipOrWait` and
`checkForNewEntries`, `ManagedLedgerImpl.addWaitingCursor` and `notifyCursors`). An entry that is appended
during the delay is read at its end, a later one at once. A read ends with the entries that the log had when
it began, so a marker that is written because of a read is appended during the next delay. An entry that is
appended at the very end of the delay is read at once. With 0 every entry is read at once. A look may be later
than the delay, because of the read before it and of the timer: `newEntriesCheckLateness`, drawn by reader and
instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.shadow.replicator import ShadowReplicator


class TailRead:
    """The state of one cursor's read.

    `check_us`: when a read that waits looks again; from then on it is notified. None while no read waits: the
    reader is not connected, has no permits or no room, or has not reached the end. `check_due`: entries were
    appended during the delay, and the check is an event. `to_skip`: the same where all of them are messages
    of other clusters, which a replicator skips, so no event is needed. `end`: where the read under way ends,
    NULL before it is known.
    """

    __slots__ = ("_lateness", "check_us", "check_due", "to_skip", "end")

    def __init__(self, lateness: Sampler) -> None:
        self._lateness = lateness
        self.check_us: int | None = None
        self.check_due = self.to_skip = False
        self.end = -1

    def cancel(self) -> None:
        """Cancel the read that waits (`ManagedCursorImpl.cancelPendingReadRequest`)."""
        self.check_us = None
        self.check_due = self.to_skip = False

    def wait(self, now_us: int, delay_us: int) -> None:
        """The end is reached: a read waits from now on, unless one does already."""
        if self.check_us is None:
            self.check_us = self._next_us(now_us, delay_us)

    def read_at(self, at_us: int, delay_us: int) -> None:
        """Everything was read at that instant, and the next read waits."""
        self.check_us = self._next_us(at_us, delay_us)
        self.check_due = self.to_skip = False

    def _next_us(self, at_us: int, delay_us: int) -> int:
        """When a read that waits from this instant on looks again."""
        late_us = self._lateness.constant
        if late_us is None:
            late_us = self._lateness.at(at_us // 1_000)
        return at_us + delay_us + late_us

    def waits(self, now_us: int, delay_us: int) -> bool:
        """Whether a read waits whose delay is not over."""
        if self.check_us is None:
            return False
        if self.to_skip and self.check_us < now_us:  # at its check it skipped them, and waits again
            self.check_us = self._next_us(self.check_us, delay_us)
            self.to_skip = False
        return now_us < self.check_us

    def begin(self, topic: Topic, read_index: int, now_us: int, delay_us: int) -> bool:
        """Begin or continue a read of `end` entries from `read_index` on; False while one waits.

        A marker that was written at this instant is stored after the entries that precede it were read.
        """
        if self.waits(now_us, delay_us):
            return False
        length = topic.readable_length
        if read_index < length:
            self.cancel()
        if self.end < 0:
            written_us, written = topic.marker_written
            self.end = written if written_us == now_us and read_index < written < length else length
        return True

    def skip(self, at_us: Iterable[int], delay_us: int) -> None:
        """Messages of other clusters are appended at these instants, which a replicator will skip."""
        if self.check_us is None or self.check_due:
            return  # no read waits, or the check reads them, too
        for instant_us in at_us:
            if self.waits(instant_us, delay_us):
                self.to_skip = True
            else:
                self.read_at(instant_us, delay_us)


def lateness_of(runtime: Pulsar, reader: str) -> Sampler:
    """By how much the looks of a reader, which is named uniquely, are late."""
    return Sampler(
        runtime.option("newEntriesCheckLateness"), stream_key(runtime.seed, f"new-entries/{reader}")
    )


def begin(reader: Replicator | ShadowReplicator, delay_us: int) -> bool:
    """Begin a read up to `tail.end`; False while the delay lasts, at whose end the entries are read."""
    tail = reader.tail
    tail.end = -1
    if tail.begin(reader.topic, reader.read_index, reader.runtime.now_us, delay_us):
        return True
    if reader.read_index < reader.topic.readable_length:
        _check_later(reader)
    return False


def wait(reader: Replicator | ShadowReplicator, delay_us: int) -> None:
    """A read reached its end: the next one waits."""
    reader.tail.wait(reader.runtime.now_us, delay_us)
    if reader.read_index < reader.topic.readable_length:
        _check_later(reader)


def _check_later(reader: Replicator | ShadowReplicator) -> None:
    tail = reader.tail
    if not tail.check_due and tail.check_us is not None:
        tail.check_due, tail.to_skip = True, False
        reader.runtime.schedule(tail.check_us, reader.rank, reader.check_for_new_entries, tail.check_us)
