"""A subscription's cursor on one log: its acks, its persisted acks, and both as Pulsar prints them.

Rules: all places are log indices. `mark_delete` is the last index up to which all is acknowledged, -1 for
none. Entries acknowledged above it are a compressed bitmap, never a list of ranges, so that an ack costs the
same with a million holes as with none. Bitmaps are copied on write, container by container: a checkpoint
shares what does not change. A recovery after a crash restores the persisted side. A clean close persists
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from pyroaring import BitMap

from simulator.log.ledgers import BEFORE_FIRST, TopicLog

# --- runs of indices in a bitmap, and how Pulsar prints them, `[(1:5..1:6],(1:8..1:9]]`
#
# Rules: a run is (first, last), both in it. Nothing here walks entries one by one: runs are found by
# searching the bitmap or by whole-array operations, so with a million holes only the requested part costs.
# Printed ranges are open-closed and never cross a ledger
# (`ManagedCursorImpl.getIndividuallyDeletedMessages`).


CUT = ",…]"
"""How a text ends that was cut at a number of characters."""


def run_end(entries: BitMap, first: int) -> int:
    """The last index of the run that contains `first`, in logarithmic time."""
    contains_range = entries.contains_range
    end, stride = first, 1
    while contains_range(end, end + 1 + stride):
        end += stride
        stride *= 2
    while stride > 1:
        stride //= 2
        if contains_range(end, end + 1 + stride):
            end += stride
    return end


def run_starts(entries: BitMap) -> BitMap:
    """The first index of every run."""
    return entries - entries.shift(1)


def count_runs(entries: BitMap) -> int:
    """How many runs there are."""
    return entries.difference_cardinality(entries.shift(1))


def next_in(entries: BitMap, index: int) -> int | None:
    """The first index in the bitmap from `index` on."""
    return entries.next_set_bit(index) if entries and index <= entries.max() else None


def runs(entries: BitMap, limit: int | None = None) -> list[tuple[int, int]]:
    """The runs in order, or the first `limit` of them."""
    return _all_runs(entries) if limit is None else list(islice(_each_run(entries), limit))


def _each_run(entries: BitMap) -> Iterator[tuple[int, int]]:
    """The runs in order, each found on demand."""
    first = next_in(entries, 0)
    while first is not None:
        last = run_end(entries, first)
        yield first, last
        first = next_in(entries, last + 1)


def _all_runs(entries: BitMap) -> list[tuple[int, int]]:
    if not entries:
        return []
    return runs_in(np.frombuffer(entries.to_array(), dtype=np.uint32).astype(np.int64))


def runs_in(indices: np.ndarray) -> list[tuple[int, int]]:
    """The runs of successive indices in an array that increases and is not empty."""
    breaks = (indices[1:] - indices[:-1] != 1).nonzero()[0]
    if not len(breaks):  # by far the most frequent among acks
        return [(int(indices[0]), int(indices[-1]))]
    firsts = indices[np.concatenate(([0], breaks + 1))]
    lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
    return list(zip(firsts.tolist(), lasts.tolist()))


def split_at_ledgers(found: Iterable[tuple[int, int]], log: TopicLog) -> Iterator[tuple[int, int, int]]:
    """Splits runs, which are in order, at ledger borders.

    Yields (ledger, first entry, last entry).
    """
    start = end = ledger_id = 0  # no ledger yet: every index is past its end
    for first, last in found:
        while first <= last:
            if first >= end:
                ledger_id, start, end = log.span(first)
            piece_end = min(last, end - 1)
            yield ledger_id, first - start, piece_end - start
            first = piece_end + 1


def ranges_text(entries: BitMap, log: TopicLog, limit_chars: int | None = None) -> str:
    """The runs as `stats-internal` prints individually deleted messages.

    With a limit the text is cut after a whole range, ends in `,…]`, and costs no more than what is shown.
    """
    found = _all_runs(entries) if limit_chars is None else _each_run(entries)
    parts: list[str] = []
    used = len("[")
    for ledger_id, first_entry, last_entry in split_at_ledgers(found, log):
        part = f"({ledger_id}:{first_entry - 1}..{ledger_id}:{last_entry}]"
        used += len(part) + len(",")  # the last part has the closing bracket in place of the comma
        if limit_chars is not None and used > limit_chars:
            return _cut(parts, limit_chars)
        parts.append(part)
    return f"[{','.join(parts)}]"


def _cut(parts: list[str], limit_chars: int) -> str:
    """As many of the first parts as fit, with the mark of the cut."""
    while parts:
        text = f"[{','.join(parts)}{CUT}"
        if len(text) <= limit_chars:
            return text
        parts.pop()
    return "[…]"


def drop_runs_after(entries: BitMap, count: int) -> None:
    """Keeps the first `count` runs."""
    starts = run_starts(entries)
    if len(starts) > count:
        entries.remove_range(starts[count], entries.max() + 1)


def drop_ledgers_over(entries: BitMap, log: TopicLog, max_entries: int) -> None:
    """Drops all indices of a ledger when those kept before it hold more than `max_entries`."""
    kept = 0
    first = next_in(entries, 0)
    while first is not None:
        _, start, end = log.span(first)
        if kept > max_entries:
            entries.remove_range(start, end)
        else:
            kept += entries.range_cardinality(start, end)
        first = next_in(entries, end)


class Border:
    """The ledger at whose `L:-1` a cursor is, as long as its mark-delete index does not change.

    A cursor's position at a ledger border: after the last entry of one, or `L:-1` of the next.

    Rules: both positions have the same mark-delete index. A cursor that has all of a closed ledger moves to
    the next one's `L:-1` when that is opened (Pulsar's `maybeUpdateCursorBeforeTrimmingConsumedLedger`,
    #25087). So does a cursor before an empty ledger that a topic load dropped. A cursor that is set, or moved
    by trimming, before the first kept entry is at that ledger's `L:-1`, too. This holds until the mark-delete
    moves.
    """

    __slots__ = ("_log", "_mark_delete", "_ledger", "_persisted")

    def __init__(self, log: TopicLog) -> None:
        self._log = log
        self._mark_delete: int | None = None  # None: the position follows from the index
        self._ledger = BEFORE_FIRST
        self._persisted: tuple[int | None, int] = (None, BEFORE_FIRST)

    def position(self, mark_delete: int) -> tuple[int, int]:
        """The position (ledger, entry) of this mark-delete index."""
        return (
            (self._ledger, BEFORE_FIRST)
            if mark_delete == self._mark_delete
            else self._log.position(mark_delete)
        )

    def put(self, mark_delete: int) -> None:
        """Record that the cursor was created or reset at this mark-delete."""
        self._mark_delete = None
        self.put_before_first(mark_delete)

    def put_before_first(self, mark_delete: int) -> None:
        """Put the cursor before the first kept entry, if no kept entry is before this mark-delete.

        Where none is kept, the cursor is at the last confirmed position, as in ManagedLedgerImpl
        (getFirstPosition, getLastPosition).
        """
        log = self._log
        if (
            0 < log.first_kept == mark_delete + 1
            and log.ledgers
            and (log.first_kept != log.length or log.last_confirmed[1] < 0)
        ):
            self.move(mark_delete, log.ledgers[0].id)

    def move(self, mark_delete: int, ledger: int) -> None:
        """Record that the cursor, at this mark-delete, is before the first entry of that ledger."""
        self._mark_delete, self._ledger = mark_delete, ledger

    def next_ledger(self, mark_delete: int) -> int | None:
        """The ledger to whose `L:-1` a cursor at this mark-delete moves when one is opened, or None."""
        unmoved = mark_delete == self._mark_delete
        ledger = self._log.ledger_after(mark_delete)
        if ledger is None and unmoved:
            ledger = self._log.kept_from(self._ledger)
        return None if unmoved and ledger == self._ledger else ledger

    def persist(self) -> None:
        """Save the position, as the cursor is persisted."""
        self._persisted = self._mark_delete, self._ledger

    def recover(self) -> None:
        """Go back to the persisted position."""
        self._mark_delete, self._ledger = self._persisted


MAX_BATCH_INDEXES_TO_PERSIST = 200_000
"""Entries whose single-message acks survive a close or crash.

The setting is `managedLedgerMaxBatchDeletedIndexToPersist` in broker.conf.
"""

_NO_ENTRIES = BitMap(copy_on_write=True)


def _copy(entries: BitMap) -> BitMap:
    # `optimize` would run through all containers and unshare every one: 30 us and 128 KiB instead of 0.3 us.
    return BitMap(entries, optimize=False)


def _copied_on_write(entries: BitMap) -> BitMap:
    # Serialised bytes do not keep that a bitmap is copied on write, and pyroaring has no operation on a
    # bitmap that is and one that is not.
    return BitMap(entries.to_array(), copy_on_write=True, optimize=False)


class Cursor:
    """`dirty`: the persisted side is behind; `last_persist_us`: when it was last up to date."""

    __slots__ = (
        "mark_delete",
        "dirty",
        "last_persist_us",
        "_deleted",
        "_deleted_count",
        "_batches",
        "_persisted",
        "_ranges_total",
    )

    def __init__(self, mark_delete: int = -1, now_us: int = 0) -> None:
        """A new cursor is persisted where it is created."""
        self.mark_delete = mark_delete
        self.dirty = False
        self.last_persist_us = now_us
        self._deleted = _copy(_NO_ENTRIES)  # indices above mark_delete; mark_delete + 1 is never among them
        self._deleted_count = 0
        # partly acknowledged entry: bit set of the batch indexes that remain
        self._batches: dict[int, int] = {}
        self._persisted: tuple[int, BitMap, int, dict[int, int]] = (mark_delete, _NO_ENTRIES, 0, {})
        self._ranges_total = 0  # -1 when it must be counted again

    # --- acknowledging

    def acknowledge(self, index: int) -> bool:
        """Acknowledges one entry; False when it was acknowledged already."""
        mark_delete = self.mark_delete
        if index == mark_delete + 1:
            if not self._deleted_count or index + 1 not in self._deleted:
                self.mark_delete = index
            elif index + 2 in self._deleted:
                self._absorb_after(index)
            else:  # the common end of a hole: one entry adjoins
                self._deleted.discard(index + 1)
                self._deleted_count -= 1
                self._ranges_total = -1
                self.mark_delete = index + 1
        elif index <= mark_delete or index in self._deleted:
            return False
        else:
            self._deleted.add(index)
            self._deleted_count += 1
            self._ranges_total = -1
        if self._batches:
            self._batches.pop(index, None)
        self.dirty = True
        return True

    def acknowledge_range(self, first: int, last: int) -> None:
        """Acknowledges entries `first` to `last` in one step, however many they are.

        Where the range does not adjoin the mark-delete, no entry of it may be acknowledged in part.
        """
        if first <= self.mark_delete + 1:
            self.mark_delete_to(last)
        elif last >= first:
            before = len(self._deleted)
            self._deleted.add_range(first, last + 1)
            if added := len(self._deleted) - before:
                self._deleted_count += added
                self._ranges_total = -1
                self.dirty = True

    def copy(self) -> Cursor:
        """An equal cursor of its own; bitmaps are shared until written."""
        twin = Cursor()
        twin.restore(self.capture())
        return twin

    def deleted_at(self, index: int) -> bool:
        """Whether an entry above the mark-delete is individually acknowledged."""
        return index in self._deleted

    def mark_delete_to(self, index: int) -> bool:
        """Acknowledges everything up to `index`.

        Returns False, and changes nothing, when the mark-delete is there or beyond.
        """
        passed = index - self.mark_delete
        if passed <= 0:
            return False
        if self._batches:
            self._forget_batches(index, passed)
        if self._deleted_count:
            self._absorb_after(index)
        else:
            self.mark_delete = index
        self.dirty = True
        return True

    def acknowledge_batch(self, index: int, batch_index: int, size: int) -> bool:
        """Acknowledges one message of an entry that holds `size` messages.

        Returns True when with it the whole entry became acknowledged.
        """
        return self._keep_remaining(index, ~(1 << batch_index), size)

    def acknowledge_batch_to(self, index: int, batch_index: int, size: int) -> bool:
        """Cumulative ack inside a batch: everything below the entry, and its messages up to `batch_index`.

        The bit set never goes backwards. True when the whole entry became acknowledged.
        """
        if self.is_acknowledged(index):
            return False
        self.mark_delete_to(index - 1)
        return self._keep_remaining(index, -1 << (batch_index + 1), size)

    def _keep_remaining(self, index: int, mask: int, size: int) -> bool:
        if self.is_acknowledged(index):
            return False
        before = self._batches.get(index, (1 << size) - 1)
        remaining = before & mask
        if remaining == before:
            return False
        if not remaining:
            return self.acknowledge(index)
        self._batches[index] = remaining
        self.dirty = True
        return False

    def reset(self, index: int) -> None:
        """Moves the mark-delete to `index`, back or forth, and clears all individual acks."""
        self.mark_delete = index
        self._deleted = _copy(_NO_ENTRIES)
        self._deleted_count = 0
        self._batches = {}
        self._ranges_total = 0
        self.dirty = True

    def _absorb_after(self, index: int) -> None:
        """Moves mark_delete to `index` and over the run that adjoins it.

        Entries that it passes are removed from the bitmap.
        """
        deleted, first = self._deleted, self.mark_delete + 1
        if index > first:
            self._deleted_count -= deleted.range_cardinality(first, index + 1)
            self._ranges_total = -1
        end = index
        if index + 1 in deleted:
            end = run_end(deleted, index + 1)
            self._deleted_count -= end - index
            self._ranges_total = -1
        if end > first:
            deleted.remove_range(first, end + 1)
        self.mark_delete = end

    def _forget_batches(self, index: int, passed: int) -> None:
        """Drops bit sets up to `index`.

        It walks the entries passed or the bit sets held, whichever are fewer.
        """
        batches = self._batches
        if passed < len(batches):
            for entry in range(index, index - passed, -1):
                batches.pop(entry, None)
        else:
            self._batches = {entry: remaining for entry, remaining in batches.items() if entry > index}

    # --- queries

    def is_acknowledged(self, index: int) -> bool:
        """Whether the whole entry is acknowledged."""
        return index <= self.mark_delete or index in self._deleted

    def batch_remaining(self, index: int, size: int) -> int:
        """Bit set of the messages of an entry that are not acknowledged; 0 when all are."""
        if self.is_acknowledged(index):
            return 0
        return self._batches.get(index, (1 << size) - 1)

    def partly_acknowledged(self) -> dict[int, int]:
        """Entries of which some messages are acknowledged.

        Returns index -> bit set of the batch indexes that are not.
        """
        return dict(self._batches)

    def next_unacknowledged(self, index: int) -> int:
        """The first index, from `index` on, that is not acknowledged."""
        if index <= self.mark_delete:
            return self.mark_delete + 1
        if index not in self._deleted:
            return index
        return run_end(self._deleted, index) + 1

    @property
    def last_acknowledged(self) -> int:
        """The highest index that is acknowledged."""
        return self._deleted.max() if self._deleted_count else self.mark_delete

    @property
    def deleted_count(self) -> int:
        """Entries above mark_delete that are individually acknowledged."""
        return self._deleted_count

    def backlog(self, length: int) -> int:
        """Backlog of a log of `length` entries as Pulsar counts it, markers included."""
        return length - 1 - self.mark_delete - self._deleted_count

    def acknowledged(self) -> BitMap:
        """The individually acknowledged indices above mark_delete: an ordinary bitmap of the caller's own."""
        # By way of bytes (12 us for a million holes): pyroaring rejects operations on a bitmap that is copied
        # on write and an ordinary one.
        return BitMap.deserialize(self._deleted.serialize())

    @property
    def ranges_total(self) -> int:
        """How many runs of indices are individually acknowledged, ledger borders aside."""
        if self._ranges_total < 0:
            self._ranges_total = count_runs(self._deleted)
        return self._ranges_total

    def ranges(self, limit: int | None = None) -> list[tuple[int, int]]:
        """(first, last) of the individually acknowledged runs in order, the first `limit` of them."""
        return runs(self._deleted, limit)

    def text(self, log: TopicLog, limit_chars: int | None = None) -> str:
        """The individually deleted messages as `stats-internal` prints them; see `ranges_text`."""
        return ranges_text(self._deleted, log, limit_chars)

    # --- surviving a crash

    def persist(self, now_us: int, max_ranges: int | None = None, log: TopicLog | None = None) -> int:
        """Persists the present state, within limits; returns the number of acks that it leaves out.

        `max_ranges` is `managedLedgerMaxUnackedRangesToPersist`. Given the log, the limit works as Pulsar's
        bitmaps do (the default), ledger by ledger: one is left out when those included before it already hold
        more acknowledged entries than the limit. Without the log, it is the number of ranges kept.
        """
        kept, count = _copy(self._deleted), self._deleted_count
        if max_ranges is not None and count > max_ranges:
            if log is not None:
                drop_ledgers_over(kept, log, max_ranges)
            else:
                drop_runs_after(kept, max_ranges)
            count = len(kept)
        batches = self._batches
        if len(batches) > MAX_BATCH_INDEXES_TO_PERSIST:
            batches = {index: batches[index] for index in sorted(batches)[:MAX_BATCH_INDEXES_TO_PERSIST]}
        self._persisted = (self.mark_delete, kept, count, dict(batches))
        self.dirty = False
        self.last_persist_us = now_us
        return self._deleted_count - count

    def recover(self) -> None:
        """Restores the persisted side, as a broker does after a crash."""
        self.mark_delete, kept, self._deleted_count, batches = self._persisted
        self._deleted = _copy(kept)
        self._batches = dict(batches)
        self._ranges_total = -1
        self.dirty = False

    def set_back(self, index: int) -> None:
        """Moves a mark-delete that is above `index` back to it; individual acks stay."""
        self.mark_delete = min(self.mark_delete, index)

    @property
    def persisted_mark_delete(self) -> int:
        """The mark-delete index that a recovery would find."""
        return self._persisted[0]

    # --- checkpoints

    def capture(self) -> tuple:
        """The whole state as data that later acks do not change; bitmaps are shared until written."""
        batches = dict(self._batches) if self._batches else None
        return (
            self.mark_delete,
            _copy(self._deleted),
            self._deleted_count,
            batches,
            self._persisted,
            self.dirty,
            self.last_persist_us,
        )

    def restore(self, captured: tuple) -> None:
        """Restores a captured state."""
        (
            self.mark_delete,
            deleted,
            self._deleted_count,
            batches,
            self._persisted,
            self.dirty,
            self.last_persist_us,
        ) = captured
        self._deleted = _copy(deleted)
        self._batches = dict(batches) if batches else {}
        self._ranges_total = -1

    def __getstate__(self) -> tuple:
        # The persisted bitmap is pickled as its difference from the present one: what changed since the last
        # flush, not another 128 KiB.
        *present, (mark_delete, kept, count, batches), dirty, last_persist_us = self.capture()
        return *present, (mark_delete, self._deleted ^ kept, count, batches), dirty, last_persist_us

    def __setstate__(self, state: tuple) -> None:
        (
            mark_delete,
            plain,
            count,
            own_batches,
            (persisted, difference, kept, batches),
            dirty,
            last_persist_us,
        ) = state
        deleted, difference = _copied_on_write(plain), _copied_on_write(difference)
        self.restore(
            (
                mark_delete,
                deleted,
                count,
                own_batches,
                (persisted, deleted ^ difference, kept, batches),
                dirty,
                last_persist_us,
            )
        )
