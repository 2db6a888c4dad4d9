"""A stretch of the trace as columns, sorted by event type once for all checks.

Rules: rows of one type or several are in the order of their seq. A position is one integer that sorts like
`ledger:entry`. Values are the trace's integers; names are looked up only for texts. Rows of audiences
(docs/pulsar.md) are kept apart: an audience's name represents many subscriptions, so only checks made for
them read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.ma

from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

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
    """Columns of one length, named and typed at the start.

    Rules: a copy costs nothing at any length. It shares the arrays. Of two that share, the second to append
    gets its own arrays, so a fork never sees the rows of its sibling.
    """

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


ENTRY_BITS = 32
"""A position is `ledger << 32 + entry`; entry -1 sorts after every entry of the ledger before."""

PAST_EVERY_LEDGER = 1 << 62
"""A position beyond any entry."""

MANY_NAMES = 1 << 15
"""Name numbers above this are renumbered within the stretch, so that four of them fit one 64-bit integer."""

READ_COLUMNS = (
    "type",
    "at_us",
    "cluster",
    "peer",
    "topic",
    "subscription",
    "producer",
    "sequence_id",
    "ledger",
    "entry",
    "batch_index",
    "to_ledger",
    "to_entry",
    "count",
    "snapshot",
    "marker",
    "reason",
    "detail",
    "client",
    "tenant",
    "evidence_seq",
)


def position(ledger: int, entry: int) -> int:
    """The position as one integer."""
    return (ledger << ENTRY_BITS) + entry


def position_words(key: int) -> str:
    """The position as Pulsar prints it."""
    ledger = (key + 1) >> ENTRY_BITS  # entry -1 would otherwise fall into the ledger before
    return f"{ledger}:{key - (ledger << ENTRY_BITS)}"


class Rows:
    """Some rows of a stretch, in order of seq."""

    __slots__ = ("_stretch", "_index", "seqs")

    def __init__(self, stretch: Stretch, index: np.ndarray) -> None:
        self._stretch = stretch
        self._index = index
        self.seqs = index + stretch.first

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._stretch.values(name, self._index)

    def take(self, chosen: np.ndarray) -> Rows:
        """The rows at these indices (or where the mask is true)."""
        return Rows(self._stretch, self._index[chosen])

    def positions(self) -> np.ndarray:
        """`ledger:entry` as one integer each."""
        return (self["ledger"] << ENTRY_BITS) + self["entry"]

    def records(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Each row as (seq, *values) in plain integers, for the few control rows that are read one by one."""
        if not len(self):
            return iter(())
        return zip(self.seqs.tolist(), *(self[name].tolist() for name in names), strict=True)

    def groups(self, *names: str) -> Iterator[tuple[Any, Rows]]:
        """The rows grouped by their values of `names`.

        Each group is in order of seq, the groups are in order of their values.
        """
        if not len(self):
            return
        columns = [self[name] for name in names]
        if all((column == column[0]).all() for column in columns):
            yield tuple(int(column[0]) for column in columns), self
            return
        combined = _combined(columns)
        order = np.argsort(combined, kind="stable")
        edges = np.flatnonzero(np.diff(combined[order])) + 1
        for members in np.split(order, edges):
            yield tuple(int(column[members[0]]) for column in columns), self.take(members)


def _combined(columns: list[np.ndarray]) -> np.ndarray:
    """One integer per row, different for rows that differ in any column.

    It has the narrowest type: 16 bits sort in linear time.
    """
    combined, distinct = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        codes = np.maximum(column, -1) + 1  # NULL becomes 0
        bound = int(codes.max()) + 1
        if bound > MANY_NAMES:
            codes = np.unique(codes, return_inverse=True)[1]
            bound = int(codes.max()) + 1
        combined, distinct = combined * bound + codes, distinct * bound
    return combined.astype(np.int16) if distinct <= np.iinfo(np.int16).max else combined


class Stretch:
    """Rows `first` <= seq < `last` of a trace."""

    def __init__(self, trace: Trace, first: int, last: int, audiences: tuple[str, ...] = ()) -> None:
        self.first = first
        self.last = last
        self.names = trace.names
        self._code, self._codes = trace.vocabulary.code, len(trace.vocabulary.types)
        self._trace = trace
        self._sealed = trace.whole_block(first, last)
        self._columns = {} if self._sealed is not None else trace.columns(first, last, READ_COLUMNS)
        types = self.values("type").astype(np.int16)
        if audiences:
            numbers = [trace.number(name) for name in audiences]
            apart = np.isin(self.values("subscription"), [number for number in numbers if number is not None])
            types[apart] += self._codes
        self._order = np.argsort(types, kind="stable")
        self._edges: list[int] = np.searchsorted(types[self._order], np.arange(2 * self._codes + 1)).tolist()

    def values(self, name: str, index: np.ndarray | slice = slice(None)) -> np.ndarray:
        """A column at these rows, int64 with NULL.

        Of sealed rows only the requested ones are unpacked.
        """
        return self._columns[name][index] if self._sealed is None else self._sealed.column(name, index)

    def read_more(self, *columns: str) -> None:
        """Read columns that only few runs need."""
        if self._sealed is None:
            self._columns |= self._trace.columns(
                self.first, self.last, [name for name in columns if name not in self._columns]
            )

    def of(self, *types: str) -> Rows:
        """The rows of these event types, without those of audiences."""
        return self._coded([self._code[name] for name in types])

    def of_audiences(self, *types: str) -> Rows:
        """The rows of these event types that are of audiences."""
        return self._coded([self._codes + self._code[name] for name in types])

    def of_all(self, type_: str) -> Rows:
        """The rows of this event type, audiences included."""
        return self._coded([self._code[type_], self._codes + self._code[type_]])

    def _coded(self, codes: list[int]) -> Rows:
        edges = [(self._edges[code], self._edges[code + 1]) for code in codes]
        parts = [self._order[first:last] for first, last in edges if first < last] or [self._order[:0]]
        return Rows(self, parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts)))

    def at_us(self, seq: int) -> int:
        """The instant of a row of this stretch."""
        return self._trace.at_us(seq)

    def name(self, number: int) -> str:
        """The name behind a name column's number."""
        return "nobody" if number == NULL else self.names[number]

    def number(self, name: str) -> int:
        """The number of a name in name columns; NULL while no row has named it."""
        number = self._trace.number(name)
        return NULL if number is None else number

    def message(self, producer: int, sequence_id: int) -> str:
        """A message as text, such as `web/5`."""
        return f"{self.name(producer)}/{sequence_id}"
