"""Where each message was recorded: compressed sets of sequence ids, exact also inside a stretch.

Rules: each query names a row and is answered as of just before it, so the answer does not depend on how the
trace was cut into stretches. Sets are copied on write: a copy of the whole costs the number of keys, not of
messages.
"""

from __future__ import annotations

from array import array

import numpy as np
from pyroaring import BitMap

from simulator.checks.stretch import Rows

Key = tuple[int, ...]
"""The key of a set; the last part is the producer of its sequence ids."""


def _bitmap(sequence_ids: np.ndarray) -> BitMap:
    # Through array.array: 26 us for 7,000 ids. From the numpy array it takes 200 us.
    return BitMap(array("I", sequence_ids.astype(np.uint32).tobytes()), copy_on_write=True, optimize=False)


_NEVER = np.iinfo(np.int64).max
SPARSE = 8
"""Most places of a table per id of a stretch.

Ids of a stretch are mostly consecutive, so a table indexed by id is kept while it is this dense.
"""


class _Firsts:
    """The seq at which each of some sequence ids was first recorded."""

    def __init__(self, ids: np.ndarray, seqs: np.ndarray) -> None:
        latest_first = seqs.argsort()[::-1]  # of several with one id the last written is kept
        ids, seqs = ids[latest_first], seqs[latest_first]
        self._low, span = int(ids.min()), int(ids.max() - ids.min()) + 1
        self._known = None if span <= SPARSE * len(ids) else np.unique(ids)
        self._seqs = np.full((span if self._known is None else len(self._known)) + 1, _NEVER)
        self._seqs[self._places(ids)] = seqs

    def _places(self, ids: np.ndarray) -> np.ndarray:
        """The places of these ids in the table; absent ids have the last place, which is empty."""
        if self._known is None:
            places = ids - self._low
            return np.where((places < 0) | (places >= len(self._seqs)), len(self._seqs) - 1, places)
        places = self._known.searchsorted(ids)
        return np.where(
            self._known[np.minimum(places, len(self._known) - 1)] == ids, places, len(self._known)
        )

    def of(self, ids: np.ndarray) -> np.ndarray:
        """The first seq of each id; `_NEVER` for absent ones."""
        return self._seqs[self._places(ids)]


class RecordedMessages:
    """Sets of messages by key, growing only."""

    def __init__(self) -> None:
        self._seen: dict[Key, BitMap] = {}
        self._unread: dict[Key, list[Rows]] = {}  # rows of the stretch being read, not yet in `_seen`
        self._first: dict[Key, _Firsts] = {}  # first seqs in those rows

    def copy(self) -> RecordedMessages:
        """An independent copy; to be taken between stretches."""
        copy = RecordedMessages()
        copy._seen = {key: BitMap(seen, optimize=False) for key, seen in self._seen.items()}
        return copy

    def read(self, rows: Rows, *names: str) -> None:
        """Add the stretch's rows, keyed by `names` and producer; each counts from its own seq on."""
        for key, group in rows.groups(*names, "producer"):
            self._unread.setdefault(key, []).append(group)

    def finish(self) -> None:
        """The stretch is over: everything read counts."""
        for key, groups in self._unread.items():
            for group in groups:
                self.add(key, group["sequence_id"])
        self._unread, self._first = {}, {}

    def add(self, key: Key, sequence_ids: np.ndarray) -> None:
        """Count these from now on, for every query."""
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = _bitmap(sequence_ids)
        else:
            seen |= _bitmap(sequence_ids)

    def unseen(self, key: Key, sequence_ids: np.ndarray, before_seq: int | np.ndarray) -> np.ndarray:
        """Mask of the ids without a row before `before_seq` (one for all, or one each)."""
        mask = np.ones(len(sequence_ids), dtype=bool)
        seen = self._seen.get(key)
        if seen is not None:
            left = _bitmap(sequence_ids) - seen
            mask = (
                np.isin(sequence_ids, np.frombuffer(left.to_array(), dtype=np.uint32))
                if left
                else np.zeros_like(mask)
            )
        if key in self._unread and mask.any():
            mask &= ~self._shown_in_stretch(key, sequence_ids, before_seq)
        return mask

    def _shown_in_stretch(
        self, key: Key, sequence_ids: np.ndarray, before_seq: int | np.ndarray
    ) -> np.ndarray:
        if key not in self._first:
            groups = self._unread[key]
            self._first[key] = _Firsts(
                np.concatenate([group["sequence_id"] for group in groups]),
                np.concatenate([group.seqs for group in groups]),
            )
        return self._first[key].of(sequence_ids) < before_seq
