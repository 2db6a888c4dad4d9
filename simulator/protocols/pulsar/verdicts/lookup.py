"""Vectorised look-ups in rows: the latest before an instant, the first of each, numbers of rows.

Rules: arrays in, arrays out, -1 for "none". Messages are below 2^28, seqs below 2^34.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.verdicts.read import NEVER

_SEQ_BITS = 34
"""Bits of a seq in a combined key: 17 thousand million rows, thousands of times the bound of a lab."""


class LatestBefore:
    """An index of rows by (thing, seq), to find the latest row of a thing before an instant.

    A thing is a message or a copy.
    """

    def __init__(self, thing: np.ndarray, seq: np.ndarray) -> None:
        self.order = np.lexsort((seq, thing))
        self._keys = (thing[self.order] << _SEQ_BITS) | seq[self.order]

    def place(self, thing: np.ndarray, before_seq: np.ndarray | int) -> np.ndarray:
        """Places in `order` of the latest row of each thing before the given seq; -1 when there is none."""
        if not len(self._keys):
            return np.full(len(thing), -1, dtype=np.int64)
        places = np.searchsorted(self._keys, (thing << _SEQ_BITS) | before_seq, side="left") - 1
        return np.where((places >= 0) & (self._keys[places] >> _SEQ_BITS == thing), places, -1)

    def row(self, thing: np.ndarray, before_seq: np.ndarray | int) -> np.ndarray:
        """Row numbers of the latest row of each thing before the given seq; -1 when there is none."""
        places = self.place(thing, before_seq)
        return np.where(places >= 0, self.order[places], -1) if len(self.order) else places


def first_seq(message: np.ndarray, seq: np.ndarray, message_count: int) -> np.ndarray:
    """By message number the seq of its first row, NEVER when it has none."""
    first = np.full(message_count, NEVER, dtype=np.int64)
    first[message[::-1]] = seq[::-1]
    return first


def last_seq(message: np.ndarray, seq: np.ndarray, message_count: int) -> np.ndarray:
    """By message number the seq of its last row, -1 when it has none."""
    last = np.full(message_count, -1, dtype=np.int64)
    last[message] = seq
    return last


def first_reaching(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each wanted value the index of the first of `values` that is at least as large; -1 when none is."""
    if not len(values):
        return np.full(len(wanted), -1, dtype=np.int64)
    places = np.searchsorted(np.maximum.accumulate(values), wanted, side="left")
    return np.where(places < len(values), places, -1)


def within_groups_before(group: np.ndarray, value: np.ndarray) -> np.ndarray:
    """For each row the highest `value` of the earlier rows of its group; -1 for the first row.

    Values are 0 or more.
    """
    if not len(group):
        return np.empty(0, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    rank = np.cumsum(np.concatenate(([0], np.diff(group[order]) != 0)))
    step = int(value.max()) + 2
    running = np.maximum.accumulate(rank * step + value[order] + 1)
    before = np.concatenate(([0], running[:-1])) - rank * step - 1
    highest = np.empty(len(group), dtype=np.int64)
    highest[order] = np.maximum(before, -1)
    return highest


def count_later_and_smaller(values: np.ndarray, first: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """For each query how many of `values[first:]` are below `limit`: a wavelet matrix, one pass per bit."""
    total = len(values)
    if not total or not len(first):
        return np.zeros(len(first), dtype=np.int64)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    below = np.searchsorted(np.sort(values), limit, side="left")
    low, high = first.astype(np.int64), np.full(len(first), total, dtype=np.int64)
    found = np.zeros(len(first), dtype=np.int64)
    for bit in range(int(total).bit_length() - 1, -1, -1):
        ones = (ranks >> bit) & 1
        zeros_before = np.concatenate(([0], np.cumsum(1 - ones)))
        zeros = int(zeros_before[-1])
        low_zeros, high_zeros = zeros_before[low], zeros_before[high]
        upper = ((below >> bit) & 1).astype(bool)
        found += np.where(upper, high_zeros - low_zeros, 0)
        low = np.where(upper, zeros + low - low_zeros, low_zeros)
        high = np.where(upper, zeros + high - high_zeros, high_zeros)
        ranks = np.concatenate((ranks[ones == 0], ranks[ones == 1]))
    return found
