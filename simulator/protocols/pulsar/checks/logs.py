"""The content of every log, read from the trace and shared by several checks.

Rules: rows are in order of seq and are never withdrawn, so "as of seq" is a prefix of the table. A marker is
a row without a producer. There is one table per (cluster, topic), each row one message or marker at its
position. Positions only grow. A row that was written below the highest is recorded in `overwritten` and kept
at the highest, so that searching remains exact.
"""

from __future__ import annotations

import numpy as np

from simulator.checks.stretch import ENTRY_BITS, Rows, Stretch
from simulator.checks.table import Table
from simulator.protocols.pulsar.events import CODE
from simulator.trace.registry import NULL

MARKER = -1
"""Producer of a marker's row."""

HERE = -1
"""Origin of entries published or written in the log's own cluster."""

MARKER_WRITTEN = CODE["marker.written"]

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
        written = rows["type"] == MARKER_WRITTEN
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
