"""The events of a batched stretch in the event queue's order, and the seqs of their rows.

Rules: events are ordered by (instant, rank of the component). Events equal in both keep the order of adding.
"""

from __future__ import annotations

import numpy as np

Whole = list[int] | np.ndarray


class Agenda:
    """Events by number, in the order of adding.

    `rows` is the number of rows that each writes. Once sorted, `place` is each event's position in the order.
    """

    def __init__(self, ranks: list[int]) -> None:
        """`ranks` are those of all components."""
        self._rank_places = {rank: place for place, rank in enumerate(sorted(set(ranks)))}
        self._parts: list[tuple[np.ndarray, list[int] | int, Whole | int]] = []
        self._count = 0

    def add(self, instants_us: Whole, ranks: list[int] | int, rows: Whole | int) -> np.ndarray:
        """Events at these instants, by one component or one each; returns their numbers."""
        places = (
            self._rank_places[ranks]
            if isinstance(ranks, int)
            else [self._rank_places[rank] for rank in ranks]
        )
        self._parts.append((np.asarray(instants_us, dtype=np.int64), places, rows))
        first = self._count
        self._count += len(instants_us)
        return np.arange(first, self._count)

    def sort(self) -> None:
        """Sort the events after the last one was added."""
        keys, self.rows = np.empty((2, self._count), dtype=np.int64)
        first = 0
        for instants_us, places, rows in self._parts:
            last = first + len(instants_us)
            keys[first:last] = instants_us * len(self._rank_places) + places
            self.rows[first:last] = rows
            first = last
        self._order = keys.argsort(kind="stable")
        self.place = np.empty_like(self._order)
        self.place[self._order] = np.arange(self._count)
        self.last_us = int(keys[self._order[-1]]) // len(self._rank_places)

    def seqs(self, first_seq: int) -> tuple[np.ndarray, int]:
        """By event the seq of its first row, when rows begin with `first_seq`, and the number of rows."""
        rows = self.rows[self._order]
        ends, seqs = rows.cumsum(), np.empty_like(rows)
        seqs[self._order] = first_seq + ends - rows
        return seqs, int(ends[-1])
