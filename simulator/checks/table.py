"""Append-only typed columns that copies share.

Rules: a copy costs nothing at any length. It shares the arrays. Of two that share, the second to append gets
its own arrays, so a fork never sees the rows of its sibling.
"""

from __future__ import annotations

import numpy as np

FIRST_CAPACITY_ROWS = 1024
"""Rows that fit at first; the capacity doubles from there."""


class _Arrays:
    """The storage that copies share; `used` is the length of the longest of them."""

    __slots__ = ("by_name", "capacity", "used")

    def __init__(self, types: dict[str, type], capacity: int) -> None:
        self.by_name: dict[str, np.ndarray] = {
            name: np.empty(capacity, dtype=kind) for name, kind in types.items()
        }
        self.capacity = capacity
        self.used = 0


class Table:
    """Columns of one length, named and typed at the start."""

    __slots__ = ("_arrays", "_types", "length")

    def __init__(self, types: dict[str, type]) -> None:
        self._types = types
        self._arrays = _Arrays(types, FIRST_CAPACITY_ROWS)
        self.length = 0

    def copy(self) -> Table:
        """An independent table with the same rows."""
        copy = Table.__new__(Table)
        copy._types, copy._arrays, copy.length = self._types, self._arrays, self.length
        return copy

    def column(self, name: str) -> np.ndarray:
        """All values of one column: a view, to be read before the next `append`."""
        return self._arrays.by_name[name][: self.length]

    def append(self, columns: dict[str, np.ndarray]) -> None:
        """Add rows; every column is given, all of one length."""
        count = len(next(iter(columns.values())))
        needed = self.length + count
        if self._arrays.used != self.length or needed > self._arrays.capacity:
            self._own(max(needed, FIRST_CAPACITY_ROWS, 2 * self.length))
        for name, array in self._arrays.by_name.items():
            array[self.length : needed] = columns[name]
        self.length = self._arrays.used = needed

    def _own(self, capacity: int) -> None:
        arrays = _Arrays(self._types, capacity)
        for name, array in arrays.by_name.items():
            array[: self.length] = self.column(name)
        arrays.used = self.length
        self._arrays = arrays
