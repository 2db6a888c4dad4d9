"""The trace of one branch in memory: an append-only sequence of rows, sealed into packed blocks.

Rules: rows are only ever appended. A world at an earlier instant of the branch that runs forward again
produces the same rows, which are already here, and only counts them (`simulator.system.system`). A new branch
shares the sealed blocks and copies the rest. Names are numbered in order of first use, so the numbers are
part of the run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from struct import pack
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.trace.registry import COLUMNS, FIRST_COLUMNS, NAME_COLUMNS, NULL, Vocabulary

if TYPE_CHECKING:
    from hashlib import _Hash


# --- many rows at once, by column
#
# Rules: a column is an int64 array of the values of all rows, or the one value that all have. A caller that
# passes columns on must not change them afterwards.


Column = np.ndarray | int
Which = np.ndarray | slice | int


class RowColumns(NamedTuple):
    """Rows of one type: their `seqs`, ascending, and a column for each field.

    The fields are `(at_us, cause_seq, *fields)`.
    """

    code: int
    seqs: np.ndarray
    fields: Sequence[Column]

    def between(self, first_seq: int, last_seq: int) -> RowColumns:
        """The rows from `first_seq` to `last_seq - 1`."""
        begin, end = self.seqs.searchsorted((first_seq, last_seq)).tolist()
        here = slice(begin, end)
        return (
            self
            if end - begin == len(self.seqs)
            else RowColumns(self.code, self.seqs[here], [chosen(field, here) for field in self.fields])
        )


def rows_by_column(rows: Iterable[tuple[int, tuple[int, ...]]]) -> list[RowColumns]:
    """Rows by column, from (seq, row) pairs with rows as `Trace.append` takes them."""
    by_type: dict[int, list[tuple[int, ...]]] = {}
    for seq, row in rows:
        by_type.setdefault(row[0], []).append((seq, *row[1:]))
    columns = [(code, np.array(several, dtype=np.int64).T) for code, several in by_type.items()]
    return [RowColumns(code, values[0], list(values[1:])) for code, values in columns]


def alike(values: np.ndarray) -> Column:
    """The values as a column: one integer when all are equal."""
    return int(values[0]) if len(values) and (values == values[0]).all() else values


def chosen(column: Column, which: Which) -> Column:
    """The chosen values of a column."""
    return column[which] if isinstance(column, np.ndarray) else column


def joined(columns: Sequence[Column], counts: Sequence[int]) -> Column:
    """Columns joined one after the other; `counts` has the number of values of each."""
    first = columns[0]
    if len(columns) == 1:
        return first
    if not isinstance(first, np.ndarray) and all(
        not isinstance(column, np.ndarray) and column == first for column in columns
    ):
        return first
    return np.concatenate(
        [
            column if isinstance(column, np.ndarray) else np.full(count, column)
            for column, count in zip(columns, counts)
        ]
    )


FOLD_ROWS = 1024
"""Rows between two folds: unfolded rows take about 100 KiB, which stays in the processor's cache."""

_AT_US = 1


class OpenRows:
    """The rows that are not sealed: `codes[i]` is the type of row i, whose seq is `first_seq + i`.

    Rows by column are in the `parts` of their type, the others, one after another, in `recent`.

    Rules: a row's type code goes to one byte string that keeps the order; the row's integers are appended to
    the list of its type. Every thousand rows the lists are folded, that is, turned into columns of the type
    while they are in the processor's cache. Rows added many at once are columns already and are kept as such.
    """

    __slots__ = ("vocabulary", "first_seq", "codes", "parts", "recent", "_spans", "_recent_from")

    def __init__(self, vocabulary: Vocabulary, first_seq: int = 0) -> None:
        self.vocabulary = vocabulary
        self.first_seq = first_seq
        self.codes = bytearray()
        self.parts: tuple[list[RowColumns], ...] = tuple([] for _ in vocabulary.types)
        self.recent: tuple[list[int], ...] = tuple([] for _ in vocabulary.types)
        self._spans: list[tuple[int, int]] = []  # of recent rows; all from _recent_from on are recent
        self._recent_from = 0

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def recent_count(self) -> int:
        """The number of rows that are not by column."""
        return sum(last - first for first, last in self._recent_spans())

    def _recent_spans(self) -> list[tuple[int, int]]:
        return [*self._spans, (self._recent_from, len(self.codes))]

    def append(self, row: tuple[int, ...]) -> None:
        """Add one row, `(type code, at_us, cause_seq, *fields)`."""
        self.codes.append(row[0])
        self.recent[row[0]].extend(row)

    def append_rows(self, count: int, parts: Sequence[RowColumns]) -> None:
        """Add `count` rows, each in one of the parts."""
        before, codes = len(self.codes), np.empty(count, dtype=np.uint8)
        parts = [part for part in parts if len(part.seqs)]
        places = np.concatenate([part.seqs for part in parts]) - (self.first_seq + before)
        codes[places] = np.repeat(
            np.array([part.code for part in parts], dtype=np.uint8), [len(part.seqs) for part in parts]
        )
        for part in parts:
            self.parts[part.code].append(part)
        if self._recent_from < before:
            self._spans.append((self._recent_from, before))
        self.codes += codes.tobytes()
        self._recent_from = len(self.codes)

    def fold(self) -> None:
        """Turn the recent rows into columns."""
        for part in self._recent_parts(0, len(self.codes)):
            self.parts[part.code].append(part)
            self.recent[part.code].clear()
        self._spans.clear()
        self._recent_from = len(self.codes)

    def _recent_parts(self, first: int, last: int) -> Iterator[RowColumns]:
        """The recent rows among `first` to `last - 1`, by column."""
        places = np.concatenate([np.arange(begin, end) for begin, end in self._recent_spans()])
        codes = np.frombuffer(bytes(self.codes[:last]), dtype=np.uint8)[places[: places.searchsorted(last)]]
        begin = int(places.searchsorted(first))
        for code in np.flatnonzero(np.bincount(codes[begin:])).tolist():
            of_type, width = np.flatnonzero(codes == code), self.vocabulary.row_widths[code]
            before = int(of_type.searchsorted(begin))
            recent = self.recent[code][before * width : len(of_type) * width]
            rows = np.ascontiguousarray(
                np.frombuffer(pack(f"{len(recent)}q", *recent), dtype=np.int64).reshape(-1, width).T
            )
            yield RowColumns(code, places[of_type[before:]] + self.first_seq, list(rows[1:]))

    def clear(self, first_seq: int) -> None:
        """Delete all rows; the next one has seq `first_seq`."""
        self.first_seq = first_seq
        self.codes.clear()
        self._spans.clear()
        self._recent_from = 0
        for parts in self.parts:
            parts.clear()
        for recent in self.recent:
            recent.clear()

    def row(self, index: int) -> tuple[int, ...]:
        """The row as it was added."""
        code, before = self.codes[index], 0
        width = self.vocabulary.row_widths[code]
        for first, last in self._recent_spans():
            if first <= index < last:
                begin = (before + self.codes.count(code, first, index)) * width
                return tuple(self.recent[code][begin : begin + width])
            before += self.codes.count(code, first, last)
        seq = index + self.first_seq
        for part in self.parts[code]:
            if (
                part.seqs[0] <= seq <= part.seqs[-1]
                and part.seqs[here := int(part.seqs.searchsorted(seq))] == seq
            ):
                return code, *(int(chosen(field, here)) for field in part.fields)
        raise AssertionError(f"row {seq} is in no part of its type")

    def at_us(self, index: int) -> int:
        """The instant of a row."""
        return self.row(index)[_AT_US]

    def types(self, first: int, last: int) -> np.ndarray:
        """Type codes of rows `first` to `last - 1`."""
        return np.frombuffer(bytes(self.codes[first:last]), dtype=np.uint8).astype(np.int64)

    def prefix(self, count: int) -> OpenRows:
        """An independent copy of the first `count` rows."""
        copy = OpenRows(self.vocabulary, self.first_seq)
        copy.codes = self.codes[:count]
        for part in self._parts_between(0, count):
            copy.parts[part.code].append(part)
        copy._recent_from = count
        return copy

    def _parts_between(self, first: int, last: int) -> Iterator[RowColumns]:
        """All rows `first` to `last - 1` by column."""
        recent, whole = (
            {part.code: part for part in self._recent_parts(first, last)},
            not first and last == len(self.codes),
        )
        first_seq, last_seq = first + self.first_seq, last + self.first_seq
        for code, several in enumerate(self.parts):
            for part in several:
                if whole or (
                    part.seqs[0] < last_seq
                    and part.seqs[-1] >= first_seq
                    and len((part := part.between(first_seq, last_seq)).seqs)
                ):
                    yield part
            if code in recent:
                yield recent[code]

    def by_field(
        self, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[int, np.ndarray, list[Column]]]:
        """Rows `first` to `last - 1` in groups of one type.

        Yields its code, the places of the rows (counted from `first`), and by field, without the type, a
        column. A field with the same value in all rows of a part is one value in its group.
        """
        lots: dict[tuple[int, tuple[int | None, ...]], list[RowColumns]] = {}
        for part in self._parts_between(first, len(self.codes) if last is None else last):
            alike = tuple(None if isinstance(field, np.ndarray) else field for field in part.fields)
            lots.setdefault((part.code, alike), []).append(part)
        for (code, alike), parts in lots.items():
            where = np.concatenate([part.seqs for part in parts]) - (first + self.first_seq)
            columns = zip(alike, zip(*(part.fields for part in parts)))
            yield code, where, [np.concatenate(several) if one is None else one for one, several in columns]

    def columns(self, first: int = 0, last: int | None = None) -> dict[str, np.ndarray]:
        """Rows `first` to `last - 1` as int64 columns, NULL where a type has no such field.

        Columns that are null throughout are left out.
        """
        last = len(self.codes) if last is None else last
        columns: dict[str, np.ndarray] = {"type": self.types(first, last)}
        for code, where, fields in self.by_field(first, last):
            for name, values in zip(self.vocabulary.row_columns[code][1:], fields):
                if name not in columns:
                    columns[name] = np.full(last - first, NULL, dtype=np.int64)
                columns[name][where] = values
        return {name: columns[name] for name in COLUMNS if name in columns and (columns[name] != NULL).any()}


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
    """Packed columns of consecutive rows.

    Rules: it is immutable, so worlds and branches share it. A column that is null throughout is absent. Every
    other column has the narrowest signed integer type that holds its values; the type's least value is NULL.
    Packing is a pure function of the rows, so the bytes can be hashed.
    """

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


BLOCK_ROWS = 65_536
"""Rows per sealed block; the digest is taken over blocks, and branches share them."""

_NAME_COLUMNS = frozenset(NAME_COLUMNS)


class Trace:
    """The rows of one branch, from seq 0, of a vocabulary's event types.

    `len(trace)` is the number of rows.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._named_at: list[int] = []  # number of rows when each name was first used
        self._blocks: list[Block] = []
        self._sealed_rows = 0
        self._digests = [hashlib.sha256()]  # digests of no sealed block, the first, the first two…
        self.length = 0
        self._write_to(OpenRows(vocabulary))

    def __len__(self) -> int:
        return self.length

    # --- writing (the engine only)

    def intern(self, text: str) -> int:
        """The number of a name; a new name takes the next one."""
        number = self._numbers.get(text)
        if number is None:
            number = len(self.names)
            self.names.append(text)
            self._numbers[text] = number
            self._named_at.append(self.length)
        return number

    def _write_to(self, rows: OpenRows) -> None:
        """Add further rows to `rows`.

        Its methods are kept in attributes, for the writers of rows (`registry.Rows`).
        """
        self._open = rows
        self.add_code = rows.codes.append
        self.add_values = tuple(values.extend for values in rows.recent)
        self._wait()

    def append(self, row: tuple[int, ...]) -> int:
        """Add one row, `(type code, at_us, cause_seq, *fields)`, and return its seq."""
        code = row[0]
        self.add_code(code)
        self.add_values[code](row)
        seq = self.length
        self.length = seq + 1
        if seq == self.folds_after:
            self._fold()
        return seq

    def _fold(self) -> None:
        if self.length - self._sealed_rows == BLOCK_ROWS:
            self._seal()
        else:
            self._open.fold()
            self._wait()

    def _wait(self) -> None:
        """Set after which row the rows are folded or sealed next."""
        self.folds_after = (
            min(self._sealed_rows + BLOCK_ROWS, self.length + FOLD_ROWS - self._open.recent_count) - 1
        )

    def append_rows(self, count: int, parts: Sequence[RowColumns], first: int = 0) -> None:
        """Add `count` rows, with the same result as `append` for each of them.

        Each is in one of the parts. The rows before `first` exist already and are skipped.
        """
        last_seq = self.length - first + count
        if not count:
            return
        if not first and last_seq < self._sealed_rows + BLOCK_ROWS:  # the usual case: all at once
            self._open.append_rows(count, parts)
            self.length = last_seq
            self._wait()
            return
        while self.length < last_seq:
            until = min(last_seq, self._sealed_rows + BLOCK_ROWS)
            self._open.append_rows(until - self.length, [part.between(self.length, until) for part in parts])
            self.length = until
            self._fold()

    def _seal(self) -> None:
        self._open.fold()
        block = Block(self._open)
        self._blocks.append(block)
        self._digests.append(self._digests[-1].copy())
        block.feed(self._digests[-1])
        self._sealed_rows += BLOCK_ROWS
        self._open.clear(self._sealed_rows)
        self._wait()

    def prefix(self, seq: int) -> Trace:
        """An independent trace of the rows before `seq`: sealed blocks shared, the rest copied."""
        copy = Trace(self.vocabulary)
        kept = sum(1 for named_at in self._named_at if named_at < seq or named_at == 0)
        copy.names = self.names[:kept]
        copy._named_at = self._named_at[:kept]
        copy._numbers = {name: number for number, name in enumerate(copy.names)}
        whole = min(seq // BLOCK_ROWS, len(self._blocks))
        copy._blocks = self._blocks[:whole]
        copy._sealed_rows = whole * BLOCK_ROWS
        copy._digests = self._digests[: whole + 1]
        rest = seq - copy._sealed_rows
        copy.length = seq
        copy._write_to(
            self._blocks[whole].opened(copy._sealed_rows, rest)
            if whole < len(self._blocks)
            else self._open.prefix(rest)
        )
        return copy

    def cut(self, seq: int) -> None:
        """Delete the rows from `seq` on, and the names that only they use."""
        vars(self).update(vars(self.prefix(seq)))

    # --- reading

    def number(self, name: str) -> int | None:
        """The number of a name, None when no row has used it."""
        return self._numbers.get(name)

    def row(self, seq: int) -> dict:
        """One row with only its non-null columns, names as strings, and its `seq`."""
        if not 0 <= seq < self.length:
            raise IndexError(f"row {seq} does not exist: the trace has rows 0 to {self.length - 1}")
        return self._as_dict(seq, self.row_tuple(seq))

    def row_tuple(self, seq: int) -> tuple[int, ...]:
        """One row as it was appended."""
        if seq >= self._sealed_rows:
            return self._open.row(seq - self._sealed_rows)
        return self._blocks[seq // BLOCK_ROWS].row_tuple(seq % BLOCK_ROWS)

    def tuples(self, first: int, last: int) -> list[tuple[int, ...]]:
        """Rows `first` <= seq < `last` as they were appended, type by type, for reading many at once."""
        columns = self.columns(first, last)
        rows: list[tuple[int, ...]] = [()] * len(columns["type"])
        for code in np.unique(columns["type"]).tolist():
            places = np.flatnonzero(columns["type"] == code)
            values = (columns[name][places].tolist() for name in self.vocabulary.row_columns[code])
            for place, row in zip(places.tolist(), zip(*values, strict=True), strict=True):
                rows[place] = row
        return rows

    def as_dict(self, seq: int, values: tuple[int, ...]) -> dict:
        """A row as `row` returns it, from the tuple that was appended."""
        return self._as_dict(seq, values)

    def _as_dict(self, seq: int, values: tuple[int, ...]) -> dict:
        event = self.vocabulary.types[values[0]]
        row = {"seq": seq, "at_us": values[1], "type": event.name}
        if values[2] != NULL:
            row["cause_seq"] = values[2]
        for name, value in zip(event.fields, values[3:], strict=True):
            if value != NULL:
                row[name] = self.names[value] if name in _NAME_COLUMNS else value
        return row

    def rows(
        self,
        first: int = 0,
        last: int | None = None,
        types: Iterable[str] | None = None,
        control_only: bool = False,
        limit: int | None = None,
    ) -> list[dict]:
        """Rows `first` <= seq < `last` as dicts, of the given types or planes, at most `limit`."""
        return [
            self._as_dict(seq, self.row_tuple(seq))
            for seq in self.seqs(first, last, types, control_only, limit)
        ]

    def seqs(
        self,
        first: int = 0,
        last: int | None = None,
        types: Iterable[str] | None = None,
        control_only: bool = False,
        limit: int | None = None,
    ) -> list[int]:
        """The seqs of the rows that `rows` would return."""
        last = self.length if last is None else min(last, self.length)
        vocabulary = self.vocabulary
        wanted = None if types is None else vocabulary.mask(vocabulary.code[name] for name in types)
        if wanted is None and control_only:
            wanted = vocabulary.control_mask
        found: list[int] = []
        while first < last and (limit is None or len(found) < limit):
            end = min(last, (first // BLOCK_ROWS + 1) * BLOCK_ROWS)
            if wanted is None:
                found.extend(range(first, end))
            else:
                found.extend((first + np.flatnonzero(wanted[self._types(first, end)])).tolist())
            first = end
        return found[:limit]

    def _types(self, first: int, end: int) -> np.ndarray:
        """Type codes of rows within one block's span."""
        if first >= self._sealed_rows:
            return self._open.types(first - self._sealed_rows, end - self._sealed_rows)
        block = self._blocks[first // BLOCK_ROWS]
        return block.types()[first % BLOCK_ROWS : (end - 1) % BLOCK_ROWS + 1]

    def has_any(self, first: int, last: int, pattern: re.Pattern[bytes]) -> bool:
        """Whether a row `first` <= seq < `last` has one of the types of a pattern made by `pattern_of`."""
        while first < last:
            if first >= self._sealed_rows:
                return (
                    pattern.search(self._open.codes, first - self._sealed_rows, last - self._sealed_rows)
                    is not None
                )
            end = min(last, (first // BLOCK_ROWS + 1) * BLOCK_ROWS)
            if pattern.search(self._types(first, end).astype(np.uint8).tobytes()):
                return True
            first = end
        return False

    def columns(
        self, first: int = 0, last: int | None = None, names: Sequence[str] = COLUMN_NAMES
    ) -> dict[str, np.ndarray]:
        """Columns of rows `first` <= seq < `last` as int64 with NULL; name columns index `self.names`."""
        last = self.length if last is None else min(last, self.length)
        parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
        while first < min(last, self._sealed_rows):
            block = self._blocks[first // BLOCK_ROWS]
            start, stop = first % BLOCK_ROWS, min(last - first + first % BLOCK_ROWS, BLOCK_ROWS)
            for name in names:
                parts[name].append(block.column(name)[start:stop])
            first += stop - start
        if first < last:
            columns = self._open.columns(first - self._sealed_rows, last - self._sealed_rows)
            for name in names:
                values = columns.get(name)
                parts[name].append(np.full(last - first, NULL, dtype=np.int64) if values is None else values)
        empty = np.empty(0, dtype=np.int64)
        return {
            name: arrays[0] if len(arrays) == 1 else np.concatenate(arrays or [empty])
            for name, arrays in parts.items()
        }

    def parts(self, last: int, names: Sequence[str]) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """The rows before `last`, a block at a time: their seqs, and their columns as `columns` gives them.

        There is at least one part.
        """
        for first in range(0, max(last, 1), BLOCK_ROWS):
            until = min(first + BLOCK_ROWS, last)
            yield np.arange(first, until), self.columns(first, until, names=names)

    def whole_block(self, first: int, last: int) -> Block | None:
        """The sealed block of rows `first` <= seq < `last`, None when they are not exactly one block."""
        number, inside = divmod(first, BLOCK_ROWS)
        return (
            self._blocks[number] if not inside and last == first + BLOCK_ROWS <= self._sealed_rows else None
        )

    def digest(self, upto: int | None = None) -> str:
        """The SHA-256 of the rows before `upto` (default all), hexadecimal.

        It does not depend on how the run was cut into slices.
        """
        if upto is not None and upto != self.length:
            return self.prefix(upto).digest()
        digest = self._digests[-1].copy()
        if self._open:
            Block(self._open).feed(digest)
        digest.update("\n".join(self.names).encode())
        return digest.hexdigest()

    def at_us(self, seq: int) -> int:
        """The instant of a row."""
        if seq >= self._sealed_rows:
            return self._open.at_us(seq - self._sealed_rows)
        return self._blocks[seq // BLOCK_ROWS].value("at_us", seq % BLOCK_ROWS)

    def first_after(self, at_us: int, likely: int = 0) -> int:
        """The seq of the first row later than `at_us`; `len(trace)` when there is none.

        A right guess `likely` saves the search.
        """
        if 0 < likely < self.length and self.at_us(likely - 1) <= at_us < self.at_us(likely):
            return likely
        low, high = 0, self.length
        while low < high:
            middle = (low + high) // 2
            if self.at_us(middle) <= at_us:
                low = middle + 1
            else:
                high = middle
        return low

    @property
    def open_bytes(self) -> int:
        """An estimate of 200 bytes per open row."""
        return 200 * len(self._open)

    def block_sizes(self) -> dict[Block, int]:
        """Bytes of each sealed block; branches share blocks."""
        return {block: block.size_bytes for block in self._blocks}

    @property
    def size_bytes(self) -> int:
        """Memory of the sealed blocks, and an estimate of 200 bytes per open row."""
        return sum(block.size_bytes for block in self._blocks) + self.open_bytes
