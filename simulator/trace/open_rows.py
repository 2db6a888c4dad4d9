"""Rows of the trace that are not sealed yet, kept so that writing and sealing them is cheap.

Rules: a row goes, flat, to the list of its type, and its type code to one byte string that keeps the order. Row `i` is then
the n-th of its type, n the number of equal codes before it. Every thousand rows the lists are folded: packed as 64-bit integers,
while the processor still has them at hand (0.16 us a row instead of 0.32; a row is then written in 0.2 us instead of 0.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import pack

import numpy as np

from simulator.trace.registry import COLUMNS, EVENT_TYPES, NULL

ROW_COLUMNS: tuple[tuple[str, ...], ...] = tuple(("type", "at_us", "cause_seq", *event.fields) for event in EVENT_TYPES)
"""By type code: the column of each integer of a row."""

FOLD_ROWS = 1024
"""Rows between two folds: what is not packed yet takes some 100 KiB, which stays in the processor's cache."""

_WIDTH = tuple(len(columns) for columns in ROW_COLUMNS)
_AT_US = 1


class _Integers:
    """A growing row of 64-bit integers. Emptied, it keeps its memory: fresh memory takes longer to get than a row to write."""

    __slots__ = ("values", "count")

    def __init__(self) -> None:
        self.values = np.empty(0, dtype=np.int64)
        self.count = 0

    def extend(self, values: np.ndarray) -> None:
        count = self.count + len(values)
        if count > len(self.values):
            grown = np.empty(count + count // 2, dtype=np.int64)
            grown[: self.count] = self.values[: self.count]
            self.values = grown
        self.values[self.count : count] = values
        self.count = count


class OpenRows:
    """`codes[i]` is the type of row i; the integers of the rows of a type stand one after another in `packed`, then in `recent`."""

    __slots__ = ("codes", "packed", "recent", "_turned")

    def __init__(self) -> None:
        self.codes = bytearray()
        self.packed: tuple[_Integers, ...] = tuple(_Integers() for _ in EVENT_TYPES)
        self.recent: tuple[list[int], ...] = tuple([] for _ in EVENT_TYPES)
        self._turned = np.empty(0, dtype=np.int64)  # memory for `by_field`

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
                packed.extend(np.frombuffer(pack(f"{len(recent)}q", *recent), dtype=np.int64))
                recent.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.codes.clear()
        for packed, recent in zip(self.packed, self.recent):
            packed.count = 0
            recent.clear()

    def append_rows(self, codes: np.ndarray, by_type: dict[int, np.ndarray]) -> None:
        """Add many rows: their codes in order (uint8), and of each type the rows, one a line (int64)."""
        self.fold()
        self.codes += codes.tobytes()
        for code, rows in by_type.items():
            self.packed[code].extend(rows.reshape(-1))

    def _integers(self, code: int, first: int, last: int) -> np.ndarray:
        """Integers `first` to `last - 1` of a type's rows, to be copied before the next row is written."""
        packed, recent = self.packed[code], self.recent[code]
        found, border = packed.values[first : min(last, packed.count)], packed.count
        if last <= border:
            return found
        return np.concatenate((found[: max(border - first, 0)], np.array(recent[max(first - border, 0) : last - border], dtype=np.int64)))

    def row(self, index: int) -> tuple[int, ...]:
        """The row as it was added."""
        code = self.codes[index]
        first = self.codes.count(code, 0, index) * _WIDTH[code]
        return tuple(self._integers(code, first, first + _WIDTH[code]).tolist())

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
        for code, width in enumerate(_WIDTH):
            copy.packed[code].extend(self._integers(code, 0, copy.codes.count(code) * width))
        return copy

    def by_field(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each type among rows `first` to `last - 1`: its code, where its rows are (from `first`), and their values, one field a line, which
        last until the next type is asked for: all use the same memory."""
        codes = np.frombuffer(bytes(self.codes[first:last]), dtype=np.uint8)
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            where, width = np.flatnonzero(codes == code), _WIDTH[code]
            start = self.codes.count(code, 0, first) * width
            values = self._integers(code, start, start + len(where) * width)
            if len(values) > len(self._turned):
                self._turned = np.empty(len(values) * 5 // 4, dtype=np.int64)
            turned = self._turned[: len(values)].reshape(width, -1)
            turned[:] = values.reshape(-1, width).T
            yield code, where, turned

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
