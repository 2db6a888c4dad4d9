"""Rows that every page of a lab holds, whatever it has watched: the newest of each class.

They depend on branch and instant alone. Rules: a class is a set of event types and a number of rows, declared
by the lab's protocol. `welcome` sends the page the same table, and the page cuts its lists to the same
length. So a page that received every frame since the first holds what a snapshot frame contains (a test
compares them).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.protocols.registry import CODE
from simulator.system.live_rows import Kept
from visualizer.labs.work import Work
from visualizer.questions.reading import SEARCHED_ROWS, rows_at

LOOKED_BACK_ROWS = 1_000_000
"""Rows before the instant in which the newest of a class are searched.

Reading their columns takes about 10 ms in all.
"""


class KeptRows:
    """The newest rows of each class before one row of a trace."""

    def __init__(self, classes: Kept) -> None:
        self._classes = classes
        self._class_of = {one: name for name, (types, _most) in classes.items() for one in types}
        self._lists: dict[str, list[dict[str, Any]]] = {name: [] for name in classes}

    def all(self) -> list[dict[str, Any]]:
        """The rows of every class in the order of the trace."""
        return sorted((row for rows in self._lists.values() for row in rows), key=lambda row: row["seq"])

    def add(self, trace: Any, first: int, last: int) -> list[dict[str, Any]]:
        """Add the rows `first` <= seq < `last`, which follow those already added.

        Returns the new rows that are kept, in order.
        """
        found: dict[str, list[dict[str, Any]]] = {}
        for seq in trace.seqs(first, last, types=self._class_of):
            row = trace.row(seq)
            found.setdefault(self._class_of[row["type"]], []).append(row)
        for name, rows in found.items():
            most = self._classes[name][1]
            self._lists[name] = (self._lists[name] + rows)[-most:]
            del rows[:-most]
        return sorted((row for rows in found.values() for row in rows), key=lambda row: row["seq"])

    def look_back(self, trace: Any, end: int) -> Work:
        """Find the newest rows of each class before row `end`, from the newest backwards, in slices."""
        found: dict[str, list[int]] = {name: [] for name in self._classes}
        codes = {
            name: np.array([CODE[one] for one in types]) for name, (types, _most) in self._classes.items()
        }
        first, oldest = end, max(0, end - LOOKED_BACK_ROWS)
        while first > oldest and any(
            len(found[name]) < most for name, (_types, most) in self._classes.items()
        ):
            first, last = max(oldest, first - SEARCHED_ROWS), first
            types_here = trace.columns(first, last, names=("type",))["type"]
            for name, (_types, most) in self._classes.items():
                if len(found[name]) < most:
                    found[name] = (
                        (first + np.flatnonzero(np.isin(types_here, codes[name]))).tolist() + found[name]
                    )[-most:]
            yield None
        for name, seqs in found.items():
            self._lists[name] = yield from rows_at(trace, seqs)
