"""Rows of the trace that are not sealed yet, kept so that writing and sealing them is cheap.

Rules: a row's type code goes to one byte string that keeps the order; the row's integers are appended to the
list of its type. Every thousand rows the lists are folded, that is, turned into columns of the type while
they are in the processor's cache. Rows added many at once are columns already and are kept as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import pack

import numpy as np

from simulator.trace.registry import COLUMNS, NULL, Vocabulary
from simulator.trace.row_columns import Column, RowColumns, chosen

FOLD_ROWS = 1024
"""Rows between two folds: unfolded rows take about 100 KiB, which stays in the processor's cache."""

_AT_US = 1


class OpenRows:
    """The rows that are not sealed: `codes[i]` is the type of row i, whose seq is `first_seq + i`.

    Rows by column are in the `parts` of their type, the others, one after another, in `recent`.
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
