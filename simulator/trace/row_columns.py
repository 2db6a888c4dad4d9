"""Many rows at once, by column.

Rules: a column is an int64 array of the values of all rows, or the one value that all have. A caller that
passes columns on must not change them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

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
