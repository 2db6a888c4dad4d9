"""Rows of the trace that are not sealed yet, kept so that sealing them is cheap.

Rules: a row goes, flat, to the list of its type, and its type code to one byte string that keeps the order. Row `i` is then
the n-th of its type, n the number of equal codes before it. A list of integers becomes a column four times as fast as a
list of tuples (0.3 beside 1.1 us a row), and rows are written far more often than single open ones are read.
"""

from __future__ import annotations

from array import array

import numpy as np

from simulator.trace.registry import COLUMNS, EVENT_TYPES, NULL

ROW_COLUMNS: tuple[tuple[str, ...], ...] = tuple(("type", "at_us", "cause_seq", *event.fields) for event in EVENT_TYPES)
"""By type code: the column of each integer of a row."""

_WIDTH = tuple(len(columns) for columns in ROW_COLUMNS)
_AT_US = 1


class OpenRows:
    """`codes[i]` is the type of row i, `by_type[code]` the integers of that type's rows one after another."""

    __slots__ = ("codes", "by_type")

    def __init__(self) -> None:
        self.codes = bytearray()
        self.by_type: tuple[list[int], ...] = tuple([] for _ in EVENT_TYPES)

    def __len__(self) -> int:
        return len(self.codes)

    def append(self, row: tuple[int, ...]) -> None:
        """Add one row, `(type code, at_us, cause_seq, *fields)`."""
        self.codes.append(row[0])
        self.by_type[row[0]].extend(row)

    def row(self, index: int) -> tuple[int, ...]:
        """The row as it was added."""
        code = self.codes[index]
        first = self.codes.count(code, 0, index) * _WIDTH[code]
        return tuple(self.by_type[code][first : first + _WIDTH[code]])

    def at_us(self, index: int) -> int:
        """The instant of a row."""
        code = self.codes[index]
        return self.by_type[code][self.codes.count(code, 0, index) * _WIDTH[code] + _AT_US]

    def types(self, first: int, last: int) -> np.ndarray:
        """Type codes of rows `first` to `last - 1`."""
        return np.frombuffer(bytes(self.codes[first:last]), dtype=np.uint8).astype(np.int64)

    def prefix(self, count: int) -> OpenRows:
        """An independent copy of the first `count` rows."""
        copy = OpenRows()
        copy.codes = self.codes[:count]
        copy.by_type = tuple(values[: copy.codes.count(code) * _WIDTH[code]] for code, values in enumerate(self.by_type))
        return copy

    def columns(self, first: int = 0, last: int | None = None) -> dict[str, np.ndarray]:
        """Rows `first` to `last - 1` as int64 columns, NULL where a type has no such field; those null throughout are left out."""
        last = len(self.codes) if last is None else last
        types = self.types(first, last)
        columns: dict[str, np.ndarray] = {}
        for code in np.unique(types).tolist():
            where = np.flatnonzero(types == code)
            width = _WIDTH[code]
            start = self.codes.count(code, 0, first) * width
            values = np.frombuffer(array("q", self.by_type[code][start : start + len(where) * width]), dtype=np.int64).reshape(-1, width)
            for field, name in enumerate(ROW_COLUMNS[code]):
                if name not in columns:
                    columns[name] = np.full(last - first, NULL, dtype=np.int64)
                columns[name][where] = values[:, field]
        return {name: columns[name] for name in COLUMNS if name in columns and (columns[name] != NULL).any()}
