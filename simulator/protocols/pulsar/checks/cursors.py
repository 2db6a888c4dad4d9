"""The position of every subscription's cursor at every row, read from the trace and shared by checks.

Rules: the latest row of creation, move or recovery sets a cursor's position. A creation also persists it.
Each query names a row, is answered as of just before it, and must be in the stretch read last.
"""

from __future__ import annotations

import numpy as np

from simulator.checks.stretch import ENTRY_BITS, Rows, Stretch
from simulator.protocols.pulsar.events import CODE
from simulator.trace.registry import NULL

Key = tuple[int, int, int]
"""Fields: (cluster, topic, subscription)."""

CREATED, DELETED, MOVED = CODE["subscription.created"], CODE["subscription.deleted"], CODE["cursor.moved"]
PERSISTED, RECOVERED = CODE["cursor.persisted"], CODE["cursor.recovered"]
CURSOR_ROWS = (
    "subscription.created",
    "subscription.deleted",
    "cursor.moved",
    "cursor.persisted",
    "cursor.recovered",
)

NOWHERE = NULL
"""Place of a cursor that does not exist."""

_NONE = np.empty(0, dtype=np.int64)


class Cursor:
    """One cursor: its positions before the stretch, and those set by the stretch's rows."""

    __slots__ = (
        "_before",
        "_persisted_before",
        "stood",
        "places",
        "kinds",
        "reasons",
        "_persisted",
        "_persisted_places",
    )

    def __init__(self) -> None:
        self._before = self._persisted_before = NOWHERE
        self.forget_stretch()

    def copy(self) -> Cursor:
        """An independent cursor; to be taken between stretches."""
        copy = Cursor()
        copy._before = self.place_at(None)
        copy._persisted_before = self.persisted_at(None)
        return copy

    def forget_stretch(self) -> None:
        """Drop the rows of the stretch."""
        self.stood = self.places = self.kinds = self.reasons = self._persisted = self._persisted_places = (
            _NONE
        )

    def settle(self) -> None:
        """The stretch is over: keep the cursor's last position."""
        self._before, self._persisted_before = self.place_at(None), self.persisted_at(None)
        self.forget_stretch()

    def read(self, rows: Rows) -> None:
        """Add the stretch's rows of this cursor."""
        kinds = rows["type"]
        places = np.where(
            kinds == MOVED, (rows["to_ledger"] << ENTRY_BITS) + rows["to_entry"], rows.positions()
        )
        places[kinds == DELETED] = NOWHERE
        present = kinds != PERSISTED
        self.stood, self.places, self.kinds, self.reasons = (
            rows.seqs[present],
            places[present],
            kinds[present],
            rows["reason"][present],
        )
        written = (kinds == PERSISTED) | (kinds == CREATED)
        self._persisted, self._persisted_places = rows.seqs[written], places[written]

    def place_at(self, before_seq: int | None) -> int:
        """Its mark-delete just before that row (None: after the stretch); NOWHERE while it does not exist."""
        return _last(self.stood, self.places, before_seq, self._before)

    def persisted_at(self, before_seq: int | None) -> int:
        """The position to which a crash just before that row would set it back."""
        return _last(self._persisted, self._persisted_places, before_seq, self._persisted_before)

    def places_before(self) -> np.ndarray:
        """For each of `places`, the cursor's previous position."""
        return np.concatenate(([self._before], self.places[:-1]))


def _last(seqs: np.ndarray, places: np.ndarray, before_seq: int | None, otherwise: int) -> int:
    count = len(seqs) if before_seq is None else int(np.searchsorted(seqs, before_seq))
    return int(places[count - 1]) if count else otherwise


class Cursors:
    """All cursors of the run so far."""

    def __init__(self) -> None:
        self._cursors: dict[Key, Cursor] = {}
        self._read: list[Key] = []  # cursors with rows in the stretch

    def copy(self) -> Cursors:
        """Independent cursors at the same positions."""
        copy = Cursors()
        copy._cursors = {key: cursor.copy() for key, cursor in self._cursors.items()}
        return copy

    def read(self, stretch: Stretch) -> None:
        """Add the stretch's cursor rows."""
        for key in self._read:
            self._cursors[key].settle()
        self._read = []
        for key, rows in stretch.of(*CURSOR_ROWS).groups("cluster", "topic", "subscription"):
            self._cursors.setdefault(key, Cursor()).read(rows)
            self._read.append(key)

    def touched(self) -> list[tuple[Key, Cursor]]:
        """Cursors with rows in the stretch."""
        return [(key, self._cursors[key]) for key in self._read]

    def place_at(self, key: Key, before_seq: int) -> int:
        """A cursor's mark-delete just before that row; NOWHERE while it does not exist."""
        cursor = self._cursors.get(key)
        return NOWHERE if cursor is None else cursor.place_at(before_seq)

    def slowest(self, cluster: int, topic: int, before_seq: int) -> tuple[int, int] | None:
        """(place, subscription) of the cursor with the oldest mark-delete; None when there is none."""
        present_positions = [
            (cursor.place_at(before_seq), key[2])
            for key, cursor in self._cursors.items()
            if key[:2] == (cluster, topic)
        ]
        return min((one for one in present_positions if one[0] != NOWHERE), default=None)
