"""Columns of a task's rows as NumPy arrays, and the order of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from spark_reports.transforms.places import LEDGER_STEP

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
