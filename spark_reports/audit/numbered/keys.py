"""The keys of one group: how many rows, which keys, and which of them more than once.

Rules: dense keys are bitmaps, where a million takes 128 KiB or less. Sparse ones, such as ids that contain a
time, are sorted numbers of 8 bytes, each at most twice. A set is sparse as soon as a part of it is.
"""

from __future__ import annotations

import array

import numpy as np
from pyroaring import BitMap64

DENSE_MOST = 64
"""A part is dense if its keys are at most so many times as far apart as they are many."""
FEW = 64
"""A part with fewer keys is taken for dense: it costs little either way."""


class KeySet:
    """The keys of one group. `held` are the parts of a sparse set that are not sorted yet."""

    def __init__(self) -> None:
        self.lines = 0
        self.once, self.again = BitMap64(), BitMap64()
        self.held: list[np.ndarray] = []

    def add(self, keys: np.ndarray) -> None:
        """Add the keys of rows, in any order, as unsigned numbers."""
        self.lines += len(keys)
        if len(keys) >= FEW and int(keys.max()) - int(keys.min()) > DENSE_MOST * len(keys):
            self.held.append(_at_most_twice(np.sort(keys)))
            return
        once = _bitmap(keys)
        again = BitMap64()
        if len(once) < len(keys):
            ordered = np.sort(keys)
            again = _bitmap(ordered[1:][ordered[1:] == ordered[:-1]])
        self.join(0, once, again)

    def join(self, lines: int, once: BitMap64, again: BitMap64) -> None:
        """Add a dense part."""
        self.lines += lines
        both = self.once & once
        if both:
            again |= both
        if again:
            self.again |= again
        self.once |= once

    def hold(self, lines: int, keys: np.ndarray) -> None:
        """Add a sparse part."""
        self.lines += lines
        self.held.append(keys)

    @property
    def sparse(self) -> bool:
        return bool(self.held)

    def numbers(self) -> np.ndarray:
        """The keys in order, those of several rows twice."""
        parts = [*self.held, _numbers(self.once), _numbers(self.again)]
        self.held = [_at_most_twice(np.sort(np.concatenate(parts)))]
        self.once, self.again = BitMap64(), BitMap64()
        return self.held[0]

    def counted(self) -> tuple[int, np.ndarray]:
        """The number of different keys, and those of several rows in order."""
        if not self.sparse:
            return len(self.once), _numbers(self.again)
        keys = self.numbers()
        again = keys[1:][keys[1:] == keys[:-1]]
        return len(keys) - len(again), again


def _at_most_twice(ordered: np.ndarray) -> np.ndarray:
    third = ordered[2:] == ordered[:-2]
    return ordered[np.concatenate((np.ones(min(2, len(ordered)), bool), ~third))] if third.any() else ordered


def _bitmap(keys: np.ndarray) -> BitMap64:
    return BitMap64(array.array("Q", keys.tobytes()))


def _numbers(keys: BitMap64) -> np.ndarray:
    return np.array(keys.to_array(), np.uint64)
