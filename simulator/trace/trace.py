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

import numpy as np

from simulator.trace.block import COLUMN_NAMES, Block
from simulator.trace.open_rows import FOLD_ROWS, OpenRows
from simulator.trace.registry import NAME_COLUMNS, NULL, Vocabulary
from simulator.trace.row_columns import RowColumns

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

        Its methods are kept in attributes: nothing in a run is called more often.
        """
        self._open = rows
        self._add_code = rows.codes.append
        self._add_values = tuple(values.extend for values in rows.recent)
        self._wait()

    def append(self, row: tuple[int, ...]) -> int:
        """Add one row, `(type code, at_us, cause_seq, *fields)`, and return its seq."""
        code = row[0]
        self._add_code(code)
        self._add_values[code](row)
        seq = self.length
        self.length = seq + 1
        if seq == self._folds_after:
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
        self._folds_after = (
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
