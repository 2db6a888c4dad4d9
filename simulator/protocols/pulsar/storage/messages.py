"""The facts of every published message, by message number (its ordinal in the run).

Rules: written once, when published, and shared by all worlds of a branch. A world that runs a stretch again
finds them in the table. `count` is in the run's state (`Pulsar.message_count`), so this table is never part
of a checkpoint.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.shadow.source import ShadowReplicator


_COLUMNS = (
    "producer",
    "sequence_id",
    "published_us",
    "size_bytes",
    "key",
    "batch",
    "deliver_at_us",
    "origin",
    "replicate_to",
)

_NO_BATCH, _NO_ORIGIN = 0, -1
_UNSAID = {"batch": _NO_BATCH, "origin": _NO_ORIGIN}
"""Values of a reserved number in the columns that are set later."""


class MessageTable:
    """Columns by message number.

    They are producer (name number), sequence_id, published_us, size_bytes, key (NULL: none), batch (messages
    of the entry that starts with it), deliver_at_us (0: at once), origin (cluster index), replicate_to (bit
    per cluster index, -1: all).
    """

    __slots__ = (*_COLUMNS, "_appends")

    producer: array[int]
    sequence_id: array[int]
    published_us: array[int]
    size_bytes: array[int]
    key: array[int]
    batch: array[int]
    deliver_at_us: array[int]
    origin: array[int]
    replicate_to: array[int]

    def __init__(self) -> None:
        for name in _COLUMNS:
            setattr(self, name, array("q"))
        self._bind()

    def _bind(self) -> None:
        """Cache the columns' append methods: one is called for every column of every message."""
        self._appends = tuple(getattr(self, name).append for name in _COLUMNS)

    def __len__(self) -> int:
        return len(self.producer)

    def put(self, number: int, values: tuple[int, ...]) -> None:
        """Write message `number`; skipped numbers are reserved (an open batch).

        A replay writes the same again, except `batch` and `origin`: their later values are kept for a world
        that continues from a later checkpoint.
        """
        missing = number - len(self.producer)
        if missing < 0:
            self._write_again(number, values)
            return
        if missing > 0:
            for name in _COLUMNS:
                getattr(self, name).extend([_UNSAID.get(name, 0)] * missing)
        (
            add_producer,
            add_sequence_id,
            add_published_us,
            add_size_bytes,
            add_key,
            add_batch,
            add_deliver_at_us,
            add_origin,
            add_replicate_to,
        ) = self._appends
        producer, sequence_id, published_us, size_bytes, key, batch, deliver_at_us, origin, sent_to = values
        add_producer(producer)
        add_sequence_id(sequence_id)
        add_published_us(published_us)
        add_size_bytes(size_bytes)
        add_key(key)
        add_batch(batch)
        add_deliver_at_us(deliver_at_us)
        add_origin(origin)
        add_replicate_to(sent_to)

    def _write_again(self, number: int, values: tuple[int, ...]) -> None:
        """Write a message that a replay reached, or whose number was reserved."""
        (
            self.producer[number],
            self.sequence_id[number],
            self.published_us[number],
            self.size_bytes[number],
            self.key[number],
            batch,
            self.deliver_at_us[number],
            origin,
            self.replicate_to[number],
        ) = values
        if self.batch[number] == _NO_BATCH:
            self.batch[number] = batch
        if self.origin[number] == _NO_ORIGIN:
            self.origin[number] = origin

    def values(self, name: str, numbers: np.ndarray) -> np.ndarray:
        """A column of these messages, a copy."""
        return np.frombuffer(getattr(self, name), dtype=np.int64)[numbers]

    def numbers_in(self, records: np.ndarray) -> BitMap:
        """Numbers of all messages in the entries with these records; markers are skipped."""
        first = records[records >= 0]
        # a numpy array itself takes ten times as long
        numbers = BitMap(array("I", first.astype(np.uint32).tobytes()))
        for record in first[self.values("batch", first) > 1].tolist():
            numbers.add_range(record, record + self.batch[record])
        return numbers

    def set_batch(self, number: int, count: int) -> None:
        """Record that the entry that starts with message `number` holds `count` messages."""
        self.batch[number] = count

    def set_origin(self, number: int, count: int, cluster: int) -> None:
        """Record that these messages' entry was first stored in another cluster than its producer's.

        The producer's cluster is that at the time of publishing.
        """
        for message in range(number, number + count):
            self.origin[message] = cluster

    def prefix(self, count: int) -> MessageTable:
        """An independent table of the first `count` messages, for a new branch."""
        copy = MessageTable()
        for name in _COLUMNS:
            setattr(copy, name, getattr(self, name)[:count])
        copy._bind()
        return copy

    def cut(self, count: int) -> None:
        """Drop the messages from `count` on."""
        for name in _COLUMNS:
            del getattr(self, name)[count:]


# --- the read of a cursor that has reached the end of its log: when it sees a new entry
#
# Rules: with `managedLedgerNewEntriesCheckDelayInMillis` above 0 such a cursor looks again after that
# delay, and is notified of appends only from then on (`ManagedCursorImpl.asyncReadEntriesWithSkipOrWait`
# and `checkForNewEntries`, `ManagedLedgerImpl.addWaitingCursor` and `notifyCursors`). An entry that is
# appended during the delay is read at its end, a later one at once. A read ends with the entries that the
# log had when it began, so a marker that is written because of a read is appended during the next delay. An
# entry that is appended at the very end of the delay is read at once. With 0 every entry is read at once. A
# look may be later than the delay, because of the read before it and of the timer:
# `newEntriesCheckLateness`, drawn by reader and instant.


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
