"""An append-only column of integers that several worlds share.

Rules: worlds at different instants of one branch hold the same column, each with its own length. What an
earlier world writes again in a replay must equal what is there. A new branch takes its own `prefix`. No world
reads past its own length.
"""

from __future__ import annotations

from array import array

import numpy as np


class SharedColumn:
    """A column of int64 values, indexed from 0."""

    __slots__ = ("values",)

    def __init__(self, values: array | None = None) -> None:
        self.values = array("q") if values is None else values

    def __len__(self) -> int:
        """The length that the furthest world has written; a world's own length may be less."""
        return len(self.values)

    def __getitem__(self, index: int) -> int:
        return self.values[index]

    def append_at(self, length: int, value: int) -> None:
        """Write at index `length`: append, or confirm what a replay writes again.

        Raises AssertionError, an internal error, when the value differs or a gap would be left.
        """
        values = self.values
        written = len(values)
        if length == written:
            values.append(value)
        elif length > written:
            raise AssertionError(
                f"column holds {written} values, so index {length} would leave a gap; write index "
                f"{written} first"
            )
        elif values[length] != value:
            raise AssertionError(
                f"a replay writes {value} at index {length} where this branch has {values[length]}; "
                "the run is not deterministic, or a new branch did not take its own prefix"
            )

    def prefix(self, length: int) -> SharedColumn:
        """An independent copy of the first `length` values, for a new branch."""
        if not 0 <= length <= len(self.values):
            raise AssertionError(f"a prefix of {length} values was asked of a column of {len(self.values)}")
        return SharedColumn(self.values[:length])

    def cut(self, length: int) -> None:
        """Delete the values from `length` on, for every world that holds the column."""
        del self.values[length:]

    def view(self, first: int, last: int) -> np.ndarray:
        """Values `first` to `last - 1` as a read-only int64 copy.

        An export of the buffer would forbid appending.
        """
        return np.frombuffer(self.values[first:last].tobytes(), dtype=np.int64)
