"""The wire of one replicator in a batched stretch: messages in flight before, and sent in it.

Rules: a connection is first in, first out, so arrivals before the horizon are at the front. Markers among
them are run by the event engine (`peer_events`), each when all earlier ones have been stored at the peer
(`store`).
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.replication.replicator import Replicator


class Wire:
    """Columns of the entries on the wire before the horizon, then of the messages sent.

    The columns are index, record, seq of the sending row, due instant. The first entries, with instants
    `arrivals_us`, are stored at the peer within the stretch, as `entries` of its log and with `rows` rows
    each. The first `before` were on the wire when it began. The peer has stored the first `stored` of them so
    far.
    """

    __slots__ = (
        "replicator",
        "peer",
        "before",
        "indices",
        "records",
        "copied_bytes",
        "seqs",
        "due_us",
        "arrivals_us",
        "entries",
        "rows",
        "stored",
    )

    def __init__(self, replicator: Replicator, peer: Topic, seqs: dict[int, int], horizon_us: int) -> None:
        """`seqs` are the rows that sent the entries on the wire, by index."""
        values = replicator.topic.log.records.values
        front = list(takewhile(lambda sent: sent[2] < horizon_us, replicator.wire))
        self.replicator = replicator
        self.peer = peer
        self.before = len(front)
        self.stored = 0
        self.indices = np.array([index for index, _sent_us, _due_us in front], dtype=np.int64)
        self.records = np.array([values[index] for index, _sent_us, _due_us in front], dtype=np.int64)
        self.copied_bytes = _copied_bytes(replicator, self.indices)
        self.seqs = np.array([seqs[index] for index, _sent_us, _due_us in front], dtype=np.int64)
        self.due_us = np.array([due_us for _index, _sent_us, due_us in front], dtype=np.int64)

    def send(self, indices: np.ndarray, records: np.ndarray, sent_us: np.ndarray, horizon_us: int) -> None:
        """Add messages sent at these instants."""
        replicator = self.replicator
        due_us = sent_us + replicator.link.latencies_us(replicator.draw_base + indices)
        due_us = np.maximum.accumulate(np.maximum(due_us, replicator.last_arrival_us))
        self.indices = np.concatenate((self.indices, indices))
        self.records = np.concatenate((self.records, records))
        ledger = replicator.topic.log.ledgers[-1]  # all of them fit in it
        copied_bytes = replicator.copy_size.of_many(ledger.id, indices - ledger.first_index)
        self.copied_bytes = np.concatenate((self.copied_bytes, copied_bytes))
        self.due_us = np.concatenate((self.due_us, due_us))
        self.entries = np.empty_like(self.indices)
        self.rows = (self.records >= 0).astype(np.int64)
        self._arrive_before(horizon_us)

    def sent_by(self, seqs: np.ndarray) -> None:
        """Set the rows with which they are sent."""
        self.seqs = np.concatenate((self.seqs, seqs))

    def _arrive_before(self, horizon_us: int) -> None:
        self.arrivals_us = self.due_us[: int(self.due_us.searchsorted(horizon_us))]

    def cut(self, horizon_us: int, sent: int) -> None:
        """End the stretch earlier: only the first `sent` of its messages are sent."""
        before = int(self.due_us[: self.before].searchsorted(horizon_us))
        kept = np.concatenate((np.arange(before), np.arange(self.before, self.before + sent)))
        for name in ("indices", "records", "copied_bytes", "due_us", "entries", "rows"):
            setattr(self, name, getattr(self, name)[kept])
        self.seqs, self.before = self.seqs[:before], before
        self._arrive_before(horizon_us)

    @property
    def messages(self) -> np.ndarray | slice:
        """Selects the messages among the arrivals."""
        records = self.records[: len(self.arrivals_us)]
        return (
            slice(0, len(records))
            if not self.before or (records[: self.before] >= 0).all()
            else (records >= 0).nonzero()[0]
        )

    def size_bytes(self, chosen: slice | np.ndarray) -> np.ndarray:
        """Sizes of the copies of these entries, all messages."""
        messages = self.replicator.runtime.messages
        return messages.values("size_bytes", self.records[chosen]) + self.copied_bytes[chosen]

    def store(self, upto: int, seqs: np.ndarray, size_bytes: int, now_us: int) -> None:
        """Store at the peer the arrivals up to this one, all messages, and send their receipts back.

        `seqs` are their rows, `size_bytes` is their total size.
        """
        replicator, stored, log = self.replicator, slice(self.stored, upto), self.peer.log
        for _ in range(min(upto, self.before) - min(self.stored, self.before)):
            replicator.wire.popleft()
        if upto > self.stored:
            self.peer.append_many(self.records[stored], seqs, size_bytes, int(self.arrivals_us[upto - 1]))
            if delay_us := self.peer.hot.new_entries_check_delay_us:
                for reader in self.peer.replicators.values():
                    reader.tail.skip(self.arrivals_us[stored].tolist(), delay_us)
            self.entries[stored] = np.arange(log.ledgers[-1].entries - len(seqs), log.ledgers[-1].entries)
            replicator.take_receipts(self.indices[stored], self.arrivals_us[stored], now_us)
            self.stored = upto


def _copied_bytes(replicator: Replicator, indices: np.ndarray) -> np.ndarray:
    """Bytes that the replicator adds to the copies of these entries, which are in ascending order."""
    log, copy_size = replicator.topic.log, replicator.copy_size
    if not len(indices):
        return indices
    ledger, first_index, end = log.span(int(indices[0]))
    if indices[-1] < end:
        return copy_size.of_many(ledger, indices - first_index)
    return np.array([copy_size.of(*log.position(int(index))) for index in indices], dtype=np.int64)
