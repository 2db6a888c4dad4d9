"""The forecast: what a failover from A to one remote B would cost if A crashed at this instant.

Rules: a pure function of the present state, for one topic partition (sums for partitioned topics). It counts
what `count_run` would count if A crashed now, nothing more left A (what is on the wire is lost), and the
subscription moved to B at once. The cost depends on the entries above B's mark-delete and on set operations
on bitmaps, never on the length of the log.
"""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass

import numpy as np
from pyroaring import BitMap


@dataclass(frozen=True, slots=True)
class RemoteCursor:
    """B's cursor by index in B's log: everything up to `mark_delete`, and `deleted` above it.

    `deleted_messages` are the messages of partly acknowledged batches that the cursor holds.
    """

    mark_delete: int
    deleted: BitMap
    deleted_messages: BitMap = BitMap()


@dataclass(frozen=True, slots=True)
class Flags:
    """Message numbers, as bitmaps.

    `settled`: expired, skipped, or never owed to the subscription.
    """

    receipted: BitMap
    acknowledged: BitMap
    delivered: BitMap
    settled: BitMap


@dataclass(frozen=True, slots=True)
class Places:
    """Message numbers, as bitmaps, by where their copies are.

    `in_source`: in A's log now. `in_target`: ever appended to B's log. `passed_over`: will not be replicated
    to B, because its origin's replication cursor to B passed it over or is gone. `coming`: on the way from
    clusters other than A, or still to be sent by them. `again`: in B's log, and another cluster sends it, or
    will send it, again after a broken connection.
    """

    in_source: BitMap
    in_target: BitMap
    passed_over: BitMap
    coming: BitMap = BitMap()
    again: BitMap = BitMap()


@dataclass(frozen=True, slots=True)
class Forecast:
    """The counts that a failover would have."""

    duplicates: int
    redeliveries: int
    lost: int
    stranded: int
    stranded_unprocessed: int

    def __add__(self, other: Forecast) -> Forecast:
        mine, theirs = asdict(self), asdict(other)
        return Forecast(**{name: mine[name] + theirs[name] for name in mine})


def forecast(
    log: np.ndarray,
    cursor: RemoteCursor | None,
    flags: Flags,
    places: Places,
    *,
    log_from: int = 0,
    first_kept: int = 0,
    entry: np.ndarray | None = None,
    earliest: bool = False,
) -> Forecast:
    """Forecast one failover.

    `log` holds the first message of each entry of B's log from index `log_from` on (negative: a marker). It
    must reach from the mark-delete, or from `first_kept` when there is no cursor. When entries hold batches,
    `log` has an element for each message and `entry` (same length) is its index. `cursor` None: the
    subscription does not exist at B and consumers open it at `first_kept` (`earliest`) or behind the last
    entry.
    """
    coming = _deliverable(log, cursor, log_from, first_kept, entry, earliest)
    coming |= places.again
    kept_in_log = coming.copy()
    coming |= places.coming - places.in_target
    unfinished = flags.receipted - flags.acknowledged - flags.settled
    stranded = (flags.receipted & places.in_source) - places.in_target
    return Forecast(
        duplicates=coming.intersection_cardinality(flags.acknowledged),
        redeliveries=(coming & flags.delivered).difference_cardinality(flags.acknowledged),
        lost=len((unfinished & places.in_target) - kept_in_log)
        + len((unfinished & places.passed_over) - places.in_target),
        stranded=len(stranded),
        stranded_unprocessed=stranded.difference_cardinality(flags.acknowledged),
    )


def duplicate_entries(
    log: np.ndarray,
    cursor: RemoteCursor | None,
    acknowledged: BitMap,
    *,
    log_from: int = 0,
    first_kept: int = 0,
    entry: np.ndarray | None = None,
    earliest: bool = False,
) -> tuple[BitMap, int]:
    """The entries of B's log with duplicates of the forecast, and how many messages those are.

    The forecast's other duplicates are not in B's log yet, or will be appended once more.
    Arguments as for `forecast`.
    """
    found = _deliverable(log, cursor, log_from, first_kept, entry, earliest) & acknowledged
    if not found:
        return BitMap(), 0
    wanted = np.zeros(int(found.max()) + 1, dtype=bool)
    wanted[np.array(found.to_array(), dtype=np.int64)] = True
    inside = (log >= 0) & (log < len(wanted))
    inside[inside] = wanted[log[inside]]
    first = first_kept if cursor is None else max(cursor.mark_delete + 1, first_kept)
    index = np.arange(log_from, log_from + len(log)) if entry is None else entry
    chosen = index[inside & (index >= first)]
    if cursor is not None and cursor.deleted:
        return BitMap(array("I", chosen.astype(np.uint32).tobytes())) - cursor.deleted, len(found)
    return BitMap(array("I", chosen.astype(np.uint32).tobytes())), len(found)


def _deliverable(
    log: np.ndarray,
    cursor: RemoteCursor | None,
    log_from: int,
    first_kept: int,
    entry: np.ndarray | None,
    earliest: bool,
) -> BitMap:
    """The messages that B's dispatcher would deliver."""
    if cursor is None and not earliest:
        return BitMap()
    first = first_kept if cursor is None else max(cursor.mark_delete + 1, first_kept)
    if first < log_from:
        raise ValueError(
            f"the log's messages begin at index {log_from}, but the forecast needs them from {first}"
        )
    start = first - log_from if entry is None else int(np.searchsorted(entry, first))
    window = log[start:]
    keep = window >= 0
    if cursor is not None and cursor.deleted and len(window):
        last = first + len(window) - 1 if entry is None else int(entry[-1])
        deleted = np.zeros(last - first + 1, dtype=bool)
        deleted[
            np.array((cursor.deleted & BitMap(range(first, last + 1))).to_array(), dtype=np.int64) - first
        ] = True
        keep &= ~(deleted if entry is None else deleted[entry[start:] - first])
    # BitMap reads an `array` as a whole, a numpy array number by number
    messages = BitMap(array("I", window[keep].astype(np.uint32).tobytes()))
    return messages - cursor.deleted_messages if cursor is not None else messages
