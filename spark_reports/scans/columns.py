"""Columns of a task's rows as NumPy arrays, and a share's rows as counting reads a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.trace.registry import NULL
from spark_reports.transforms import LEDGER_STEP

Batches = Iterable[pa.RecordBatch]
NONE = -1
"""No such row."""
KEYS_MOST = 1 << 62
"""Different keys that one integer can hold."""


def column_of(rows: pa.Table, name: str) -> pa.Array:
    """A column of a table in one chunk."""
    column = rows.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def numbers(rows: pa.Table, name: str) -> np.ndarray:
    """A column of integers that has no nulls."""
    return column_of(rows, name).to_numpy()


def codes(rows: pa.Table, name: str) -> np.ndarray:
    """The places of a column's texts in its dictionary, -1 for a null."""
    return column_of(rows, name).indices.fill_null(NONE).to_numpy().astype(np.int64)


def code_of(rows: pa.Table, name: str, text: str | None) -> int:
    """The code of one text in a column: -2 if no row has it."""
    found = column_of(rows, name).dictionary.index(text).as_py()
    return found if found >= 0 else NONE - 1


def is_text(rows: pa.Table, name: str, text: str) -> np.ndarray:
    """Whether each row has the text in a column."""
    return codes(rows, name) == code_of(rows, name, text)


def chosen(batch: pa.RecordBatch, name: str, wanted: Callable[[str], bool]) -> np.ndarray:
    """Whether the text of each row in a column is wanted. A null is not."""
    column = batch.column(name)
    known = [wanted(text) for text in column.dictionary.to_pylist()]
    return np.array([*known, False])[column.indices.fill_null(-1).to_numpy()]


def places(rows: pa.Table) -> pa.Array:
    """The position of each row as one integer; null where there is none."""
    ledger, entry = column_of(rows, "ledger"), column_of(rows, "entry")
    absent = ledger.is_null().to_numpy(zero_copy_only=False) | entry.is_null().to_numpy(zero_copy_only=False)
    whole = ledger.fill_null(0).to_numpy() * LEDGER_STEP + entry.fill_null(0).to_numpy()
    return pa.array(whole, mask=absent)


def order_by(*keys: np.ndarray) -> np.ndarray:
    """The order of rows by integer keys, the most significant one first. Equal rows stay in their order."""
    if not len(keys[0]):
        return np.arange(0)
    whole, different = np.zeros(len(keys[0]), np.int64), 1
    for key in keys:
        least = int(key.min())
        values = int(key.max()) - least + 1
        different *= values
        if different >= KEYS_MOST:
            return np.lexsort(keys[::-1])
        whole = whole * values + (key - least)
    return np.argsort(whole, kind="stable")


def changes(*keys: np.ndarray) -> np.ndarray:
    """Whether any key of a sorted row differs from the row before."""
    changed = np.zeros(len(keys[0]), bool)
    changed[:1] = True
    for key in keys:
        changed[1:] |= key[1:] != key[:-1]
    return changed


class ShareRows:
    """The rows of a share as counting reads a trace: one pass over batches of rows.

    The run has `rows`. `schema` is that of the batches, `codes` has the number of each event type.
    """

    def __init__(self, rows: int, batches: Batches, schema: pa.Schema, codes: Mapping[str, int]) -> None:
        self._rows, self._batches, self._schema, self._codes = rows, batches, schema, codes
        self._messages = [code for name, code in codes.items() if name.startswith("message.")]
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._seen: list[tuple[np.ndarray, np.ndarray]] = []
        self._control: list[pa.RecordBatch] = []

    def __len__(self) -> int:
        return self._rows

    def number(self, name: str) -> int | None:
        """The number of a name, None when no row had it."""
        return self._numbers.get(name)

    def parts(self, _last: int, names: Sequence[str]) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """The rows, a batch at a time: their seqs, and their columns by name."""
        for batch in chain([pa.RecordBatch.from_pylist([], self._schema)], self._batches):
            seqs = batch.column("seq").to_numpy()
            columns = {
                name: _numbered(batch.column(name), self._codes.__getitem__)
                if name == "type"
                else _numbered(batch.column(name), self._named)
                if pa.types.is_dictionary(batch.column(name).type)
                else batch.column(name).fill_null(NULL).to_numpy()
                for name in names
            }
            self._seen.append((seqs, columns["at_us"]))
            control = np.flatnonzero(~np.isin(columns["type"], self._messages))
            self._control.append(batch.select(["seq", "type", "reason", "detail"]).take(pa.array(control)))
            yield seqs, columns

    def _named(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    @cached_property
    def _instants(self) -> tuple[np.ndarray, np.ndarray]:
        seqs, at_us = (np.concatenate(columns) for columns in zip(*self._seen, strict=True))
        order = np.argsort(seqs, kind="stable")
        return seqs[order], at_us[order]

    def at_us(self, seq: int) -> int:
        """The instant of a row."""
        seqs, at_us = self._instants
        return int(at_us[np.searchsorted(seqs, seq)])

    @cached_property
    def _by_seq(self) -> dict[int, dict[str, Any]]:
        table = pa.Table.from_batches(self._control)
        return {row["seq"]: row for row in table.to_pylist()}

    def row(self, seq: int) -> dict[str, Any]:
        """Type, reason and detail of a row of the control plane."""
        return self._by_seq[seq]


def _numbered(column: pa.DictionaryArray, number: Callable[[str], int]) -> np.ndarray:
    """The texts of a column as numbers, NULL for none."""
    known = np.array([*map(number, column.dictionary.to_pylist()), NULL], dtype=np.int64)
    return known[column.indices.fill_null(NONE).to_numpy()]
