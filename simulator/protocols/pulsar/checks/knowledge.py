"""What the checks know from the rows so far: cursors, logs, messages, settings and planned commands.

Rules: everything is read from rows and the scenario, never from the engine.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from pyroaring import BitMap

from simulator.checks.stretch import ENTRY_BITS, Rows, Stretch, Table
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import SETTINGS
from simulator.trace.registry import NULL

_CURSOR_MOVED = CODE["cursor.moved"]
_CURSOR_PERSISTED = CODE["cursor.persisted"]
_MARKER_WRITTEN = CODE["marker.written"]
_SUBSCRIPTION_CREATED = CODE["subscription.created"]
_SUBSCRIPTION_DELETED = CODE["subscription.deleted"]


class Knowledge:
    """Reads a stretch once for all checks.

    State shared by all checks: every log and every cursor, as of the stretch being read.
    """

    __slots__ = ("logs", "cursors")

    def __init__(self) -> None:
        self.logs = Logs()
        self.cursors = Cursors()

    def copy(self) -> Knowledge:
        """An independent copy at the same row."""
        copy = Knowledge()
        copy.logs, copy.cursors = self.logs.copy(), self.cursors.copy()
        return copy

    def read(self, stretch: Stretch) -> None:
        """Add the stretch's rows."""
        self.logs.read(stretch)
        self.cursors.read(stretch)


# --- the position of every subscription's cursor at every row, read from the trace and shared by checks
#
# Rules: the latest row of creation, move or recovery sets a cursor's position. A creation also persists it.
# Each query names a row, is answered as of just before it, and must be in the stretch read last.


Key = tuple[int, int, int]
"""Fields: (cluster, topic, subscription)."""

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
            kinds == _CURSOR_MOVED, (rows["to_ledger"] << ENTRY_BITS) + rows["to_entry"], rows.positions()
        )
        places[kinds == _SUBSCRIPTION_DELETED] = NOWHERE
        present = kinds != _CURSOR_PERSISTED
        self.stood, self.places, self.kinds, self.reasons = (
            rows.seqs[present],
            places[present],
            kinds[present],
            rows["reason"][present],
        )
        written = (kinds == _CURSOR_PERSISTED) | (kinds == _SUBSCRIPTION_CREATED)
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


# --- the content of every log, read from the trace and shared by several checks
#
# Rules: rows are in order of seq and are never withdrawn, so "as of seq" is a prefix of the table. A marker
# is a row without a producer. There is one table per (cluster, topic), each row one message or marker at
# its position. Positions only grow. A row that was written below the highest is recorded in `overwritten`
# and kept at the highest, so that searching remains exact.


MARKER = -1
"""Producer of a marker's row."""

HERE = -1
"""Origin of entries published or written in the log's own cluster."""


COLUMN_TYPES = {
    "position": np.int64,
    "seq": np.int32,  # a run holds at most 5,000,000 rows
    "producer": np.int32,
    "sequence_id": np.int64,
    "origin": np.int32,
    "starts_entry": np.bool_,  # false for the second and later messages of a batched entry
}


class Log:
    """One cluster's log of one topic, in order of its rows."""

    __slots__ = ("table", "overwritten")

    def __init__(self) -> None:
        self.table = Table(COLUMN_TYPES)
        # of the stretch being read: (seq, position, highest before)
        self.overwritten: list[tuple[int, int, int]] = []

    def copy(self) -> Log:
        """An independent log with the same rows; to be taken between stretches."""
        copy = Log()
        copy.table = self.table.copy()
        return copy

    def append(self, rows: Rows) -> None:
        """Add `message.stored`, `marker.written` and `marker.stored` rows of this log."""
        message = rows["producer"] != NULL
        peer, starts_entry = rows["peer"], rows["batch_index"] <= 0
        # marker.written has its addressee in `peer`; only marker.stored and message.stored have an origin
        # in that column.
        written = rows["type"] == _MARKER_WRITTEN
        positions = rows.positions()
        highest_before = self.table.column("position")[-1:] if self.table.length else positions[:1] - 1
        highest = np.maximum.accumulate(np.concatenate((highest_before, positions)))
        below = np.where(starts_entry, positions <= highest[:-1], positions != highest[:-1])
        for row in np.flatnonzero(below).tolist():
            self.overwritten.append((int(rows.seqs[row]), int(positions[row]), int(highest[row])))
        self.table.append(
            {
                "position": highest[1:],
                "seq": rows.seqs,
                "producer": np.where(message, rows["producer"], MARKER),
                "sequence_id": np.where(message, rows["sequence_id"], rows["marker"]),
                "origin": np.where(written | (peer == NULL), HERE, peer),
                "starts_entry": starts_entry,
            }
        )

    def rows_before(self, seq: int) -> int:
        """How many rows the log had when row `seq` of the trace was written."""
        return int(np.searchsorted(self.table.column("seq"), seq))

    def between(self, after: int, upto: int, before_seq: int) -> slice:
        """Rows at positions after < position <= upto, as of `before_seq`."""
        positions = self.table.column("position")[: self.rows_before(before_seq)]
        first, last = np.searchsorted(positions, (after, upto), side="right").tolist()
        return slice(first, max(first, last))

    def ledger_entries(self, ledger: int, before_seq: int) -> int:
        """Entries that this ledger held as of `before_seq`."""
        chosen = self.between((ledger << ENTRY_BITS) - 1, ((ledger + 1) << ENTRY_BITS) - 2, before_seq)
        return int(np.count_nonzero(self.table.column("starts_entry")[chosen]))

    def messages(self, chosen: slice) -> list[tuple[int, np.ndarray]]:
        """(producer, sequence ids) of the messages in these rows, markers left out."""
        producers, ids = self.table.column("producer")[chosen], self.table.column("sequence_id")[chosen]
        return [
            (producer, ids[producers == producer])
            for producer in np.unique(producers[producers != MARKER]).tolist()
        ]

    def find(self, positions: np.ndarray, before_seqs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First row of the log at each position, and whether it existed before that row of the trace."""
        known = self.table.column("position")
        if not len(known):
            return np.zeros(len(positions), dtype=np.int64), np.zeros(len(positions), dtype=bool)
        index = np.minimum(np.searchsorted(known, positions), len(known) - 1)
        return index, (known[index] == positions) & (self.table.column("seq")[index] < before_seqs)

    def values(self, column: str, index: np.ndarray) -> np.ndarray:
        """A column's values at rows that `find` gave; zeros while the log is empty."""
        return (
            self.table.column(column)[index]
            if self.table.length
            else np.zeros(len(index), dtype=COLUMN_TYPES[column])
        )


class Logs:
    """All logs of the run so far."""

    def __init__(self) -> None:
        self._logs: dict[tuple[int, int], Log] = {}

    def copy(self) -> Logs:
        """Independent logs with the same rows."""
        copy = Logs()
        copy._logs = {key: log.copy() for key, log in self._logs.items()}
        return copy

    def of(self, cluster: int, topic: int) -> Log:
        """The log of a topic in a cluster; an empty one when nothing was stored there yet."""
        log = self._logs.get((cluster, topic))
        if log is None:
            log = self._logs[cluster, topic] = Log()
        return log

    def known(self) -> list[tuple[tuple[int, int], Log]]:
        """((cluster, topic), log) of every log that was queried or written to."""
        return list(self._logs.items())

    def read(self, stretch: Stretch) -> None:
        """Add the entries that the stretch appended."""
        for log in self._logs.values():
            log.overwritten = []
        appended = stretch.of("message.stored", "marker.written", "marker.stored")
        for (cluster, topic), rows in appended.groups("cluster", "topic"):
            self.of(cluster, topic).append(rows)


ProducerInLog = tuple[int, ...]
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
    """Sets of messages by key, growing only.

    Where each message was recorded: compressed sets of sequence ids, exact also inside a stretch.

    Rules: each query names a row and is answered as of just before it, so the answer does not depend on how
    the trace was cut into stretches. Sets are copied on write: a copy of the whole costs the number of keys,
    not of messages.
    """

    def __init__(self) -> None:
        self._seen: dict[ProducerInLog, BitMap] = {}
        self._unread: dict[
            ProducerInLog, list[Rows]
        ] = {}  # rows of the stretch being read, not yet in `_seen`
        self._first: dict[ProducerInLog, _Firsts] = {}  # first seqs in those rows

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

    def add(self, key: ProducerInLog, sequence_ids: np.ndarray) -> None:
        """Count these from now on, for every query."""
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = _bitmap(sequence_ids)
        else:
            seen |= _bitmap(sequence_ids)

    def unseen(
        self, key: ProducerInLog, sequence_ids: np.ndarray, before_seq: int | np.ndarray
    ) -> np.ndarray:
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
        self, key: ProducerInLog, sequence_ids: np.ndarray, before_seq: int | np.ndarray
    ) -> np.ndarray:
        if key not in self._first:
            groups = self._unread[key]
            self._first[key] = _Firsts(
                np.concatenate([group["sequence_id"] for group in groups]),
                np.concatenate([group.seqs for group in groups]),
            )
        return self._first[key].of(sequence_ids) < before_seq


class SettingsInForce:
    """One setting, a number or a word, of every cluster and topic.

    It is the first of: the topic's policy, the cluster's setting, the scenario's setting, the default.

    Broker settings in each cluster: those of the scenario, changed by `setting.changed` rows.
    """

    def __init__(self, scenario: Scenario, name: str) -> None:
        self._name = name
        self._of_topics = {
            base: topic.settings[name] for base, topic in scenario.topics.items() if name in topic.settings
        }
        otherwise = scenario.settings.get(name, SETTINGS[name].default_under(scenario.options))
        self._of_clusters = {
            cluster: spec.settings.get(name, otherwise) for cluster, spec in scenario.clusters.items()
        }

    def copy(self) -> SettingsInForce:
        """An independent copy."""
        copy = object.__new__(SettingsInForce)
        copy._name, copy._of_topics, copy._of_clusters = self._name, self._of_topics, dict(self._of_clusters)
        return copy

    def follow(self, stretch: Stretch, cluster: int, reason: int, detail: int) -> None:
        """Apply one `setting.changed` row."""
        if stretch.name(reason) == self._name:
            text = stretch.name(detail)
            self._of_clusters[stretch.name(cluster)] = int(text) if text.lstrip("-").isdigit() else text

    def value(self, cluster: str, base: str) -> Any:
        """The value in force for a topic."""
        return self._of_topics.get(base, self._of_clusters[cluster])


def planned_arguments(scenario: Scenario) -> dict[tuple[int, str], dict[str, Any] | None]:
    """(instant, command) -> its arguments; None where two of a kind are planned for one instant.

    The requests in the scenario's commands.

    The row of a refusal holds only the reason. The request is in the plan, unless two commands of a kind
    share an instant.
    """
    planned: dict[tuple[int, str], dict[str, Any] | None] = {}
    for command in scenario.commands:
        key = command.at_us, command.do
        planned[key] = None if key in planned else command.arguments
    return planned
