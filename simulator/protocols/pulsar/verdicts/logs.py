"""One topic's log in one cluster, from the trace: its copies of messages, and when they were removed.

Rules: a copy is one stored message (an entry holds a copy of each message of its batch), numbered by its row.
A resend stored a second time is another copy. A copy is gone when its ledger was deleted or its cluster lost
for good.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.verdicts.read import NEVER, History, ledger_of
from simulator.trace.registry import NULL

_MESSAGE_BITS = 28


class Log:
    """Copies of one topic partition in one cluster, a column for each property.

    The columns are `message`, `position`, `seq`, `at_us`, `native` (published in this cluster) and
    `gone_seq`.
    """

    def __init__(self, history: History, cluster: int, topic: int) -> None:
        stored = history.table("message.stored", cluster=cluster, topic=topic)
        self.message, self.position = stored.message, stored.position
        self.seq, self.at_us = stored.seq, stored.at_us
        self.native = stored.peer == -1
        self._number_copies()
        self.gone_seq = self._gone(history, cluster, topic)
        self._number_heads(history, cluster, topic)

    def _number_copies(self) -> None:
        self._entries = np.unique(self.position)
        keys = (np.searchsorted(self._entries, self.position) << _MESSAGE_BITS) | self.message
        self._copy_order = np.argsort(keys, kind="stable")
        self._copy_keys = keys[self._copy_order]
        self.message_order = np.argsort(self.message, kind="stable")
        self.messages_ordered = self.message[self.message_order]

    def copy_of(self, message: np.ndarray, position: np.ndarray) -> np.ndarray:
        """The copy of each message at each position; -1 when the log has none."""
        if not len(self._entries) or not len(message):
            return np.full(len(message), -1, dtype=np.int64)
        rank = np.minimum(np.searchsorted(self._entries, position), len(self._entries) - 1)
        keys = (rank << _MESSAGE_BITS) | message
        places = np.minimum(np.searchsorted(self._copy_keys, keys), len(self._copy_keys) - 1)
        found = (self._entries[rank] == position) & (self._copy_keys[places] == keys)
        return np.where(found, self._copy_order[places], -1)

    def copies(self, message: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All copies of the messages, those of one message in the order of positions.

        Returns two columns: the place in `message`, and the copy.
        """
        start = np.searchsorted(self.messages_ordered, message, side="left")
        counts = np.searchsorted(self.messages_ordered, message, side="right") - start
        which = np.repeat(np.arange(len(message)), counts)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return which, self.message_order[start[which] + offset] if len(which) else which

    def _gone(self, history: History, cluster: int, topic: int) -> np.ndarray:
        trimmed = history.table("ledger.trimmed", cluster=cluster, topic=topic)
        removed = history.table("message.removed", cluster=cluster, topic=topic)
        ledgers = np.concatenate((trimmed.ledger, ledger_of(removed.position)))
        seqs = np.concatenate((trimmed.seq, removed.seq))
        gone = np.full(len(self.seq), NEVER, dtype=np.int64)
        if len(ledgers):
            order = np.lexsort((seqs, ledgers))
            known, first = np.unique(ledgers[order], return_index=True)
            places = np.minimum(np.searchsorted(known, ledger_of(self.position)), len(known) - 1)
            gone = np.where(known[places] == ledger_of(self.position), seqs[order][first][places], NEVER)
        lost = history.table("cluster.lost", cluster=cluster).seq
        self.lost_seq = int(lost[0]) if len(lost) else NEVER
        return np.minimum(gone, self.lost_seq)

    def _number_heads(self, history: History, cluster: int, topic: int) -> None:
        """The last position at each append, markers included."""
        markers = [
            history.table(event, cluster=cluster, topic=topic)
            for event in ("marker.written", "marker.stored")
        ]
        at_us = np.concatenate([self.at_us, *(table.at_us for table in markers)])
        position = np.concatenate([self.position, *(table.position for table in markers)])
        order = np.lexsort((position, at_us))
        self._head_at_us, self._head = at_us[order], np.maximum.accumulate(position[order])

    def last_position(self, at_us: np.ndarray) -> np.ndarray:
        """The position of the last entry when each instant was over; NULL while the log was empty."""
        places = np.searchsorted(self._head_at_us, at_us, side="right") - 1
        if not len(self._head):
            return np.full(len(places), NULL, dtype=np.int64)
        return np.where(places >= 0, self._head[places], NULL)

    def held(self, seq: int) -> np.ndarray:
        """Mask of the copies that the log held at `seq`."""
        return (self.seq <= seq) & (self.gone_seq > seq)
