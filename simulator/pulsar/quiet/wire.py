"""What one replicator carries in a quiet stretch: messages that were on their way, and those that are sent in it.

Rules: a connection is first in, first out, so what arrives before the horizon stands at the front. Markers on the wire are no part
of it: the first of them to arrive ends the stretch.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simulator.pulsar.replicator import Replicator
    from simulator.pulsar.topic import Topic


class Wire:
    """Columns of what was on the wire before the horizon, then of what is sent: index, record, seq of the sending row, due instant.

    The first `arrivals_us` of them are stored at the peer within the stretch, the first `before` were on the wire when it began."""

    __slots__ = ("replicator", "peer", "before", "indices", "records", "seqs", "due_us", "arrivals_us")

    def __init__(self, replicator: Replicator, peer: Topic, seqs: dict[int, int], horizon_us: int) -> None:
        """`seqs` are the rows that sent what is on the wire, by index."""
        values = replicator.topic.log.records.values
        front = list(takewhile(lambda sent: sent[2] < horizon_us, replicator.wire))
        self.replicator = replicator
        self.peer = peer
        self.before = len(front)
        self.indices = np.array([index for index, _sent_us, _due_us in front], dtype=np.int64)
        self.records = np.array([values[index] for index, _sent_us, _due_us in front], dtype=np.int64)
        self.seqs = np.array([seqs[index] for index, _sent_us, _due_us in front], dtype=np.int64)
        self.due_us = np.array([due_us for _index, _sent_us, due_us in front], dtype=np.int64)

    def send(self, indices: np.ndarray, records: np.ndarray, sent_us: np.ndarray, horizon_us: int) -> None:
        """These are sent at these instants."""
        replicator = self.replicator
        due_us = sent_us + replicator.link.latencies_us(replicator.draw_base + indices)
        due_us = np.maximum.accumulate(np.maximum(due_us, replicator.last_arrival_us))
        self.indices = np.concatenate((self.indices, indices))
        self.records = np.concatenate((self.records, records))
        self.due_us = np.concatenate((self.due_us, due_us))
        self.arrivals_us = self.due_us[: int(self.due_us.searchsorted(horizon_us))]
