"""A sealed stretch of the trace as packed columns.

Rules: it is immutable, so worlds and branches share it. A column that is null throughout is absent. Every
other column has the narrowest signed integer type that holds its values; the type's least value is NULL.
Packing is a pure function of the rows, so the bytes can be hashed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.trace.open_rows import OpenRows
from simulator.trace.registry import COLUMNS, FIRST_COLUMNS, NULL, Vocabulary
from simulator.trace.row_columns import RowColumns

if TYPE_CHECKING:
    from hashlib import _Hash

COLUMN_NAMES: tuple[str, ...] = tuple(COLUMNS)
_WIDTHS = (np.dtype("<i1"), np.dtype("<i2"), np.dtype("<i4"), np.dtype("<i8"))
_BOUNDS = tuple((width, 1 << 8 * width.itemsize - 1) for width in _WIDTHS[:-1])
_MISSING = {width: int(np.iinfo(width).min) for width in _WIDTHS[:-1]} | {_WIDTHS[-1]: NULL}
"""The value of NULL by width."""


def _width_of(low: int, high: int) -> np.dtype:
    """The narrowest integer type whose range, without its least value, holds `low` to `high`."""
    for width, bound in _BOUNDS:
        if -bound < low and high < bound:
            return width
    return _WIDTHS[-1]


def _narrowed(values: np.ndarray | int, low: int, high: int) -> np.ndarray:
    assert isinstance(values, np.ndarray), "one value for all has no two extremes"
    return values.astype(_width_of(low, high))


def _pack(rows: OpenRows) -> dict[str, np.ndarray]:
    """The columns of all rows, packed.

    Extremes are found and values narrowed type by type, only in the columns that the type has.
    """
    codes = rows.types(0, len(rows))
    extremes: dict[str, tuple[int, int]] = {}
    # (column, places in it, values without NULL, or one for all)
    parts: list[tuple[str, np.ndarray, np.ndarray | int]] = []
    for code, where, fields in rows.by_field():
        for name, values in zip(rows.vocabulary.row_columns[code][1:], fields):
            places = where
            if not isinstance(values, np.ndarray):
                low = high = values
            else:
                low, high = int(values.min()), int(values.max())
            if high == NULL:  # NULL is below every value
                continue
            if low == NULL and isinstance(values, np.ndarray):
                known = values != NULL
                places, values = where[known], values[known]
                low = int(values.min())
            parts.append((name, places, low if low == high else _narrowed(values, low, high)))
            least, most = extremes.get(name, (low, high))
            extremes[name] = min(low, least), max(high, most)
    packed = {"type": codes.astype(_width_of(int(codes.min()), int(codes.max())))}
    for name in COLUMN_NAMES:
        if name in extremes:
            width = _width_of(*extremes[name])
            packed[name] = np.full(len(rows), _MISSING[width], dtype=width)
    for name, places, values in parts:
        packed[name][places] = values
    return packed


def _unpack(packed: np.ndarray) -> np.ndarray:
    values = packed.astype(np.int64)
    if packed.dtype != _WIDTHS[-1] and (missing := packed == _MISSING[packed.dtype]).any():
        values[missing] = NULL
    return values


class Block:
    """Packed columns of consecutive rows."""

    __slots__ = ("vocabulary", "row_count", "_packed")

    def __init__(self, rows: OpenRows) -> None:
        self.vocabulary: Vocabulary = rows.vocabulary
        self.row_count = len(rows)
        self._packed = _pack(rows)

    def column(self, name: str, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The column, or these rows of it, as a new int64 array with NULL."""
        packed = self._packed.get(name)
        if packed is not None:
            return _unpack(packed[rows])
        count = len(range(self.row_count)[rows]) if isinstance(rows, slice) else len(rows)
        return np.full(count, NULL, dtype=np.int64)

    def types(self) -> np.ndarray:
        """The type codes, a read-only narrow array."""
        return self._packed["type"]

    def value(self, name: str, row: int) -> int:
        """One value, NULL when missing."""
        packed = self._packed.get(name)
        if packed is None:
            return NULL
        value = int(packed[row])
        return NULL if value == _MISSING[packed.dtype] else value

    def row_tuple(self, row: int) -> tuple[int, ...]:
        """The row as the tuple that was emitted."""
        columns = self.vocabulary.row_columns[int(self._packed["type"][row])]
        return tuple(self.value(name, row) for name in columns)

    def opened(self, first_seq: int, count: int) -> OpenRows:
        """The first `count` rows, by column, from `first_seq` on, for a branch that starts inside a block."""
        rows, types = OpenRows(self.vocabulary, first_seq), self.types()[:count]
        row_columns = self.vocabulary.row_columns
        if count:
            places = (
                (code, np.flatnonzero(types == code)) for code in np.flatnonzero(np.bincount(types)).tolist()
            )
            rows.append_rows(
                count,
                [
                    RowColumns(
                        code, where + first_seq, [self.column(name, where) for name in row_columns[code][1:]]
                    )
                    for code, where in places
                ],
            )
        return rows

    @property
    def size_bytes(self) -> int:
        """Memory held by the packed columns."""
        return sum(values.nbytes for values in self._packed.values())

    def feed(self, digest: _Hash) -> None:
        """Add the block's bytes to a hashlib digest, in the registry's order."""
        for number, name in enumerate(COLUMN_NAMES):
            packed = self._packed.get(name)
            if number >= FIRST_COLUMNS:
                if packed is None:
                    continue
                digest.update(name.encode())
            digest.update(b"-" if packed is None else packed.dtype.str.encode())
            if packed is not None:
                digest.update(packed.dtype.str.encode())
                digest.update(np.ascontiguousarray(packed).data)
