"""First occurrences of each producer's messages keep their order in every log.

Order is kept per cluster of publishing. A producer that moved to another cluster has two streams, and
messages of the first may arrive in the second cluster after later ones were published there ("reordered"
counts these). A replication cursor that was opened again begins a new stream from its cluster: with
`replicationStartAt: earliest` it sends messages that it had passed before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.logs import HERE
from simulator.protocols.pulsar.checks.recorded_messages import RecordedMessages
from simulator.scenarios.model import Scenario
from simulator.trace.registry import NULL

Stream = tuple[int, ...]
"""(log's cluster, cluster of publishing, number of the replication cursor between them, topic)."""


class OrderKept(Check):
    """Keeps the highest sequence id of each producer in each stream, and the set of its ids."""

    claim = "First occurrences of each producer's messages keep their order in every log."

    def begin(self, scenario: Scenario) -> None:
        self.highest: dict[tuple[int, ...], int] = {}
        self.seen = RecordedMessages()
        # (log's cluster, origin, topic) -> number of replication cursors opened so far
        self.lives: dict[tuple[int, int, int], int] = {}

    def copy_into(self, copy: Self) -> None:
        copy.highest, copy.seen, copy.lives = dict(self.highest), self.seen.copy(), dict(self.lives)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Messages that occur first after a later one of their stream."""
        opened: dict[tuple[int, int, int], list[int]] = {}
        for seq, source, target, topic in stretch.of("replicator.created").records(
            "cluster", "peer", "topic"
        ):
            opened.setdefault((target, source, topic), []).append(seq)
        broken: list[tuple[int, str]] = []
        for (cluster, peer, topic), rows in stretch.of("message.stored").groups("cluster", "peer", "topic"):
            place = (cluster, HERE if peer == NULL else peer, topic)
            starts = opened.get(place, [])
            edges = [0, *np.searchsorted(rows.seqs, starts).tolist(), len(rows)]
            for number, (first, last) in enumerate(zip(edges, edges[1:])):
                stream = (*place, self.lives.get(place, 0) + number)
                broken += self._read_stream(stretch, stream, rows.take(np.arange(first, last)))
        for place, starts in opened.items():
            self.lives[place] = self.lives.get(place, 0) + len(starts)
        return broken

    def _read_stream(self, stretch: Stretch, stream: Stream, rows: Rows) -> list[tuple[int, str]]:
        broken: list[tuple[int, str]] = []
        for (producer,), group in rows.groups("producer"):
            key = (*stream, producer)
            ids = group["sequence_id"]
            before = np.maximum.accumulate(np.concatenate(([self.highest.get(key, -1)], ids)))
            late = ids < before[:-1]
            if late.any():
                broken += self._first_and_late(stretch, key, group, late, before)
            self.highest[key] = int(before[-1])
            self.seen.add(key, ids)
        return broken

    def _first_and_late(
        self, stretch: Stretch, key: tuple[int, ...], group: Rows, late: np.ndarray, before: np.ndarray
    ) -> list[tuple[int, str]]:
        """Of the ids below the highest one before them, those that the stream did not have."""
        ids = group["sequence_id"]
        first_here = np.zeros(len(ids), dtype=bool)
        first_here[np.unique(ids, return_index=True)[1]] = True
        new = np.flatnonzero(late & first_here & self.seen.unseen(key, ids, 0))

        def describe(number: int) -> str:
            at = int(new[number])
            message = stretch.message(key[-1], int(ids[at]))
            log = f"the log of {stretch.name(key[2])} at {stretch.name(key[0])}"
            return f"{message} is first in {log} after {stretch.message(key[-1], int(before[at]))}"

        return first_broken(group.seqs[new], describe)
