"""A broker's counters, taken from the trace: rows of each kind between two rows, and the last instant.

Rules: sealed blocks never change, so their counts are kept for as long as the trace lives. The rest is
counted in pieces of PIECE_ROWS. A run of five million rows costs one pass over its 77 blocks the first time,
a few milliseconds each, and after that an addition per block.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from pyroaring import BitMap

from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.storage.retention import bytes_after
from simulator.trace.registry import NULL
from simulator.trace.trace import BLOCK_ROWS

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.trace.trace import Trace


PIECE_ROWS = 4_096
"""Rows of an unsealed block that are counted in one piece: about 5 ms."""

EVENTS = (
    "message.stored",
    "message.replicated",
    "message.delivered",
    "message.registered",
    "message.expired",
    "marker.written",
    "marker.sent",
    "marker.stored",
    "cursor.moved",
    "cursor.persisted",
    "subscription.created",
    "replicator.started",
    "update.written",
    "update.applied",
)
SNAPSHOT_EVENTS = (
    "snapshot.requested",
    "snapshot.completed",
    "snapshot.timed-out",
    "snapshot.abandoned",
    "controller.tick-failed",
    "cluster.restarted",
)
REDELIVERED = "message.redelivered"
"""Counted beside `message.delivered`: the messages among them that the broker had sent before."""

_REDELIVERED_CODE = 1_000
_CODES = {**{name: CODE[name] for name in EVENTS}, REDELIVERED: _REDELIVERED_CODE}
_KEY_COLUMNS = ("type", "cluster", "topic", "peer", "subscription", "client", "producer", "reason")
_COLUMNS = (*_KEY_COLUMNS, "at_us", "batch_index", "size_bytes", "count", "snapshot", "duration_us")
_NARROWING = _KEY_COLUMNS[3:]
_SPAN_MAX = 1 << 62


class Tally(NamedTuple):
    """Rows, whole entries among them, bytes of the rows with a size, and the instant of the last row.

    The instant is -1 when there is no row.
    """

    rows: int = 0
    entries: int = 0
    size_bytes: int = 0
    last_us: int = -1


_NOTHING = Tally()


class SnapshotRow(NamedTuple):
    """A row about a snapshot, or about a restart of a cluster."""

    event: str
    cluster: int
    at_us: int
    snapshot: int
    round: int
    duration_us: int


class Tallies:
    """The counts between two rows."""

    def __init__(self) -> None:
        self.counts: dict[tuple[int, int, int], dict[tuple[int, ...], Tally]] = {}
        self.snapshots: list[SnapshotRow] = []
        # sums by group columns, made when first requested
        self._groups: dict[tuple[Any, ...], dict[tuple[int, ...], Tally]] = {}

    def add(self, other: Tallies) -> None:
        """Add the counts of a later piece."""
        for place, found in other.counts.items():
            mine = self.counts.setdefault(place, {})
            for key, tally in found.items():
                mine[key] = _sum(mine[key], tally) if key in mine else tally
        self.snapshots += other.snapshots
        self._groups.clear()

    def of(self, event: str, cluster: int, topic: int, **wanted: int) -> Tally:
        """The sum over rows of an event at a topic.

        `peer`, `subscription`, `client`, `producer`, `reason` narrow it. Their values are numbers of names.
        """
        place, names = (_CODES[event], cluster, topic), tuple(wanted)
        groups = self._groups.get((place, names))
        if groups is None:
            groups = self._groups[(place, names)] = self._grouped(place, names)
        return groups.get(tuple(wanted.values()), _NOTHING)

    def _grouped(self, place: tuple[int, int, int], names: tuple[str, ...]) -> dict[tuple[int, ...], Tally]:
        columns = [_NARROWING.index(name) for name in names]
        groups: dict[tuple[int, ...], Tally] = {}
        for key, tally in self.counts.get(place, {}).items():
            group = tuple(key[column] for column in columns)
            groups[group] = _sum(groups[group], tally) if group in groups else tally
        return groups


def _sum(one: Tally, other: Tally) -> Tally:
    return Tally(
        one.rows + other.rows,
        one.entries + other.entries,
        one.size_bytes + other.size_bytes,
        max(one.last_us, other.last_us),
    )


_KEPT: WeakKeyDictionary[Trace, dict[int, Tallies]] = WeakKeyDictionary()
"""The counts of each trace's sealed blocks, by block number."""


def count(trace: Trace, first: int, last: int) -> Generator[None, None, Tallies]:
    """Count rows `first` <= seq < `last`; yields between pieces, returns Tallies."""
    kept = _KEPT.setdefault(trace, {})
    total = Tallies()
    while first < last:
        block = first // BLOCK_ROWS
        whole = first % BLOCK_ROWS == 0 and first + BLOCK_ROWS <= last
        if whole and block not in kept:
            kept[block] = count_piece(trace, first, first + BLOCK_ROWS)
        end = first + BLOCK_ROWS if whole else min(last, (block + 1) * BLOCK_ROWS, first + PIECE_ROWS)
        total.add(kept[block] if whole else count_piece(trace, first, end))
        first = end
        yield None
    return total


def count_piece(trace: Trace, first: int, last: int) -> Tallies:
    """Count some rows in one pass."""
    columns = trace.columns(first, last, names=_COLUMNS)
    result = Tallies()
    types = columns["type"]
    counted = np.isin(types, [CODE[name] for name in EVENTS])
    _put_groups(result, {name: values[counted] for name, values in columns.items()})
    again = (types == CODE["message.delivered"]) & (columns["count"] > 0)
    if again.any():
        copies = {name: values[again] for name, values in columns.items()}
        copies["type"] = np.full(len(copies["type"]), _REDELIVERED_CODE)
        _put_groups(result, copies)
    for place in np.flatnonzero(np.isin(types, [CODE[name] for name in SNAPSHOT_EVENTS])).tolist():
        row = trace.row(first + place)
        result.snapshots.append(_snapshot_row(row, trace))
    return result


def _snapshot_row(row: dict[str, Any], trace: Trace) -> SnapshotRow:
    cluster = trace.number(row["cluster"])
    return SnapshotRow(
        row["type"],
        NULL if cluster is None else cluster,
        row["at_us"],
        row.get("snapshot", 0),
        row.get("count", 0),
        row.get("duration_us", 0),
    )


def _group_numbers(columns: list[np.ndarray]) -> np.ndarray:
    """A dense number from 0 for each row; rows that agree in all columns share it.

    The columns are combined as digits of one number.
    """
    group, span = np.zeros(len(columns[0]), dtype=np.int64), 1
    for values in columns:
        digits = np.where(values == NULL, 0, values + 1)
        radix = int(digits.max()) + 1
        if span * radix >= _SPAN_MAX:
            group = np.unique(group, return_inverse=True)[1]
            span = int(group.max()) + 1
        group, span = group * radix + digits, span * radix
    return np.unique(group, return_inverse=True)[1]


def _put_groups(result: Tallies, columns: dict[str, np.ndarray]) -> None:
    """Group rows by their key columns; only rows of moved cursors are grouped by reason."""
    rows = len(columns["type"])
    if not rows:
        return
    columns["reason"] = np.where(columns["type"] == CODE["cursor.moved"], columns["reason"], NULL)
    group = _group_numbers([columns[name] for name in _KEY_COLUMNS])
    count = int(group.max()) + 1
    lasts = np.zeros(count, dtype=np.int64)
    lasts[group] = np.arange(rows)  # the last assignment stays: a group's last row
    sizes = np.where(columns["size_bytes"] == NULL, 0, columns["size_bytes"])
    totals = np.bincount(group, weights=sizes, minlength=count).astype(np.int64)  # exact below 2^53
    batch = columns["batch_index"]
    entries = np.bincount(group, weights=(batch == NULL) | (batch == 0), minlength=count).astype(np.int64)
    counts = np.bincount(group, minlength=count)
    keys = [columns[name][lasts].tolist() for name in _KEY_COLUMNS]
    ends = columns["at_us"][lasts].tolist()
    for key, number, whole, size, last_us in zip(
        zip(*keys, strict=True), counts.tolist(), entries.tolist(), totals.tolist(), ends, strict=True
    ):
        result.counts.setdefault(key[:3], {})[key[3:]] = Tally(number, whole, size, last_us)


# --- the content of a backlog: entries after a cursor's mark-delete that are not individually deleted
#
# Rules: counted in the log itself, PIECE_ENTRIES at a time, so a backlog of a million entries yields
# sixteen times.


PIECE_ENTRIES = 65_536


class Backlog(NamedTuple):
    """Entries by content: messages published in this cluster, messages replicated in, markers.

    `deleted_markers` counts the markers among the individually deleted entries.
    """

    local: int = 0
    remote: int = 0
    markers: int = 0
    deleted_markers: int = 0

    @property
    def entries(self) -> int:
        """The value of msgBacklog."""
        return self.local + self.remote + self.markers


def made_of(topic: Topic, cursor: Cursor) -> Generator[None, None, Backlog]:
    """Count a cursor's backlog; yields between pieces, returns a Backlog."""
    deleted = cursor.acknowledged()
    found = Backlog()
    first, length = max(cursor.mark_delete + 1, topic.log.first_kept), topic.log.length
    while first < length:
        last = min(length, first + PIECE_ENTRIES)
        found = Backlog(
            *(one + more for one, more in zip(found, _piece(topic, deleted, first, last), strict=True))
        )
        first = last
        yield None
    return found


def _piece(topic: Topic, deleted: BitMap, first: int, last: int) -> Backlog:
    records = topic.log.records.view(first, last)
    waits = np.ones(last - first, dtype=bool)
    here = deleted & BitMap(range(first, last))
    waits[np.asarray(here.to_array(), dtype=np.int64) - first] = False
    marker = records < 0
    messages = records[waits & ~marker]
    local = 0
    if len(messages):
        low, high = int(messages.min()), int(messages.max())
        origins = np.frombuffer(topic.runtime.messages.origin[low : high + 1].tobytes(), dtype=np.int64)
        local = int((origins[messages - low] == topic.cluster.index).sum())
    return Backlog(local, len(messages) - local, int((waits & marker).sum()), int((~waits & marker).sum()))


def backlog_bytes(topic: Topic, cursor: Cursor, position: tuple[int, int]) -> int:
    """A subscription's backlogSize: the estimate less the individually deleted entries at average size."""
    total = bytes_after(topic, position)
    entries = topic.log.length - 1 - max(cursor.mark_delete, topic.log.first_kept - 1)
    if not total or entries <= cursor.deleted_count:
        return total
    return total - cursor.deleted_count * (total // entries)
