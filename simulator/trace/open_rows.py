"""Rows of the trace that are not sealed yet, kept so that writing and sealing them is cheap.

Rules: a row goes, flat, to the list of its type, and its type code to one byte string that keeps the order. Row `i` is then
the n-th of its type, n the number of equal codes before it. Every thousand rows the lists are folded: packed as 64-bit integers,
while the processor still has them at hand (0.16 us a row instead of 0.32; a row is then written in 0.2 us instead of 0.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct, pack

import numpy as np

from simulator.trace.registry import COLUMNS, EVENT_TYPES, NULL

ROW_COLUMNS: tuple[tuple[str, ...], ...] = tuple(("type", "at_us", "cause_seq", *event.fields) for event in EVENT_TYPES)
"""By type code: the column of each integer of a row."""

FOLD_ROWS = 1024
"""Rows between two folds: what is not packed yet takes some 100 KiB, which stays in the processor's cache."""

_WIDTH = tuple(len(columns) for columns in ROW_COLUMNS)
_ROW = tuple(Struct(f"{width}q") for width in _WIDTH)
_INTEGER_BYTES = 8
_AT_US = 1


class OpenRows:
    """`codes[i]` is the type of row i; the integers of the rows of a type stand one after another in `packed`, then in `recent`."""

    __slots__ = ("codes", "packed", "recent")

    def __init__(self) -> None:
        self.codes = bytearray()
        self.packed: tuple[bytearray, ...] = tuple(bytearray() for _ in EVENT_TYPES)
        self.recent: tuple[list[int], ...] = tuple([] for _ in EVENT_TYPES)

    def __len__(self) -> int:
        return len(self.codes)

    def append(self, row: tuple[int, ...]) -> None:
        """Add one row, `(type code, at_us, cause_seq, *fields)`."""
        self.codes.append(row[0])
        self.recent[row[0]].extend(row)

    def fold(self) -> None:
        """Pack what is not packed yet."""
        for packed, recent in zip(self.packed, self.recent):
            if recent:
                packed += pack(f"{len(recent)}q", *recent)
                recent.clear()

    def append_rows(self, codes: np.ndarray, by_type: dict[int, np.ndarray]) -> None:
        """Add many rows: their codes in order (uint8), and of each type the rows, one a line (int64)."""
        self.fold()
        self.codes += codes.tobytes()
        for code, rows in by_type.items():
            self.packed[code].extend(rows.tobytes())

    def _bytes(self, code: int, first: int, last: int) -> bytes:
        """Integers `first` to `last - 1` of a type's rows, packed."""
        packed, recent = self.packed[code], self.recent[code]
        border = len(packed) // _INTEGER_BYTES
        found = bytes(packed[_INTEGER_BYTES * first : _INTEGER_BYTES * min(last, border)])
        if last > border:
            tail = recent[max(first - border, 0) : last - border]
            found += pack(f"{len(tail)}q", *tail)
        return found

    def row(self, index: int) -> tuple[int, ...]:
        """The row as it was added."""
        code = self.codes[index]
        first = self.codes.count(code, 0, index) * _WIDTH[code]
        return _ROW[code].unpack(self._bytes(code, first, first + _WIDTH[code]))

    def at_us(self, index: int) -> int:
        """The instant of a row."""
        return self.row(index)[_AT_US]

    def types(self, first: int, last: int) -> np.ndarray:
        """Type codes of rows `first` to `last - 1`."""
        return np.frombuffer(bytes(self.codes[first:last]), dtype=np.uint8).astype(np.int64)

    def prefix(self, count: int) -> OpenRows:
        """An independent copy of the first `count` rows."""
        copy = OpenRows()
        copy.codes = self.codes[:count]
        copy.packed = tuple(bytearray(self._bytes(code, 0, copy.codes.count(code) * width)) for code, width in enumerate(_WIDTH))
        return copy

    def by_field(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each type among rows `first` to `last - 1`: its code, where its rows are (from `first`), and their values, one field a line."""
        codes = np.frombuffer(bytes(self.codes[first:last]), dtype=np.uint8)
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            where, width = np.flatnonzero(codes == code), _WIDTH[code]
            start = self.codes.count(code, 0, first) * width
            # copied once, and not kept in view: what is packed could not grow meanwhile
            yield code, where, self._values(code, start, len(where) * width).reshape(-1, width).T.copy()

    def _values(self, code: int, first: int, count: int) -> np.ndarray:
        """`count` integers of a type's rows, from `first` on; where they are packed already, as they lie there."""
        if not self.recent[code]:
            return np.frombuffer(self.packed[code], dtype=np.int64, count=count, offset=first * _INTEGER_BYTES)
        return np.frombuffer(self._bytes(code, first, first + count), dtype=np.int64)

    def columns(self, first: int = 0, last: int | None = None) -> dict[str, np.ndarray]:
        """Rows `first` to `last - 1` as int64 columns, NULL where a type has no such field; those null throughout are left out."""
        last = len(self.codes) if last is None else last
        columns: dict[str, np.ndarray] = {}
        for code, where, fields in self.by_field(first, last):
            for name, values in zip(ROW_COLUMNS[code], fields):
                if name not in columns:
                    columns[name] = np.full(last - first, NULL, dtype=np.int64)
                columns[name][where] = values
        return {name: columns[name] for name in COLUMNS if name in columns and (columns[name] != NULL).any()}
