"""The facts of every published message, by message number (its ordinal in the run).

Rules: written once, when published, and shared by all worlds of a branch. A world that runs a stretch again
finds them in the table. `count` is in the run's state (`Pulsar.message_count`), so this table is never part
of a checkpoint.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

if TYPE_CHECKING:
    pass

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
            producer,
            sequence_id,
            published_us,
            size_bytes,
            key,
            batch,
            deliver_at_us,
            origin,
            replicate_to,
        ) = self._appends
        producer(values[0])
        sequence_id(values[1])
        published_us(values[2])
        size_bytes(values[3])
        key(values[4])
        batch(values[5])
        deliver_at_us(values[6])
        origin(values[7])
        replicate_to(values[8])

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
