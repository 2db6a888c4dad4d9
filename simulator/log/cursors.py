"""A subscription's cursor on one log: what is acknowledged, what of it would survive a crash, and how Pulsar prints it.

Rules: everything counts in log indices. `mark_delete` is the last index up to which all is acknowledged, -1 for none;
entries acknowledged above it are a compressed bitmap, never a list of ranges, so that an ack costs the same with a
million holes as with none. Bitmaps are copied on write, container by container: a checkpoint shares what does not
change. The persisted side is what a recovery after a crash finds; a clean close persists first.
"""

from __future__ import annotations

import numpy as np
from pyroaring import BitMap

from simulator.log.ledgers import TopicLog

MAX_BATCH_INDEXES_TO_PERSIST = 200_000
"""Entries whose single-message acks survive a close or crash (`managedLedgerMaxBatchDeletedIndexToPersist` in broker.conf)."""

CUT = ",…]"
"""How a text ends that was cut at a number of characters."""

_NO_ENTRIES = BitMap(copy_on_write=True)


def _copy(entries: BitMap) -> BitMap:
    # `optimize` would run through all containers and unshare every one: 30 us and 128 KiB instead of 0.3 us.
    return BitMap(entries, optimize=False)


def _copied_on_write(entries: BitMap) -> BitMap:
    # Bytes do not carry that a bitmap is copied on write, and the library mixes the two kinds in no operation.
    return BitMap(entries.to_array(), copy_on_write=True, optimize=False)


class Cursor:
    """`dirty` says that the persisted side is behind; `last_persist_us` when it last was not."""

    __slots__ = ("mark_delete", "dirty", "last_persist_us", "_deleted", "_deleted_count", "_batches", "_persisted", "_ranges_total")

    def __init__(self, mark_delete: int = -1, now_us: int = 0) -> None:
        """A new cursor is persisted where it is created."""
        self.mark_delete = mark_delete
        self.dirty = False
        self.last_persist_us = now_us
        self._deleted = _copy(_NO_ENTRIES)  # indices above mark_delete; mark_delete + 1 is never among them
        self._deleted_count = 0
        self._batches: dict[int, int] = {}  # partly acknowledged entry: bit set of the batch indexes that remain
        self._persisted: tuple[int, BitMap, int, dict[int, int]] = (mark_delete, _NO_ENTRIES, 0, {})
        self._ranges_total = 0  # -1 when it must be counted again

    # --- acknowledging

    def acknowledge(self, index: int) -> bool:
        """Acknowledges one entry; False when it already was."""
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

    def mark_delete_to(self, index: int) -> bool:
        """Acknowledges everything up to `index`; False, and nothing changed, when the cursor is there or beyond."""
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
        """Acknowledges one message of an entry that holds `size`; True when with it the whole entry became acknowledged."""
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
        """Puts the cursor on `index`, back or forth, and forgets every single acknowledgement."""
        self.mark_delete = index
        self._deleted = _copy(_NO_ENTRIES)
        self._deleted_count = 0
        self._batches = {}
        self._ranges_total = 0
        self.dirty = True

    def _absorb_after(self, index: int) -> None:
        """Moves mark_delete to `index` and over what adjoins it; drops from the bitmap what is passed."""
        deleted = self._deleted
        if index > self.mark_delete + 1:
            self._deleted_count -= deleted.range_cardinality(self.mark_delete + 1, index + 1)
            self._ranges_total = -1
        end = index
        if index + 1 in deleted:
            end = self._run_end(index + 1)
            self._deleted_count -= end - index
            self._ranges_total = -1
        if end > self.mark_delete + 1:
            deleted.remove_range(self.mark_delete + 1, end + 1)
        self.mark_delete = end

    def _run_end(self, first: int) -> int:
        """The last index of the run of individually deleted entries that contains `first`, in logarithmic time."""
        contains_range = self._deleted.contains_range
        end, stride = first, 1
        while contains_range(end + 1, end + 1 + stride):
            end += stride
            stride *= 2
        while stride > 1:
            stride //= 2
            if contains_range(end + 1, end + 1 + stride):
                end += stride
        return end

    def _forget_batches(self, index: int, passed: int) -> None:
        """Drops bit sets up to `index`, by the shorter way: the entries passed, or the bit sets held."""
        batches = self._batches
        if passed < len(batches):
            for entry in range(index - passed + 1, index + 1):
                batches.pop(entry, None)
        else:
            self._batches = {entry: remaining for entry, remaining in batches.items() if entry > index}

    # --- asking

    def is_acknowledged(self, index: int) -> bool:
        """Whether the whole entry is acknowledged."""
        return index <= self.mark_delete or index in self._deleted

    def batch_remaining(self, index: int, size: int) -> int:
        """Bit set of the messages of an entry that are not acknowledged; 0 when all are."""
        if self.is_acknowledged(index):
            return 0
        return self._batches.get(index, (1 << size) - 1)

    def next_unacknowledged(self, index: int) -> int:
        """The first index, from `index` on, that is not acknowledged."""
        if index <= self.mark_delete:
            return self.mark_delete + 1
        if index not in self._deleted:
            return index
        return self._run_end(index) + 1

    @property
    def deleted_count(self) -> int:
        """Entries above mark_delete that are individually acknowledged."""
        return self._deleted_count

    def backlog(self, length: int) -> int:
        """Backlog of a log of `length` entries as Pulsar counts it, markers included."""
        return length - 1 - self.mark_delete - self._deleted_count

    def acknowledged(self) -> BitMap:
        """The individually acknowledged indices above mark_delete: an ordinary bitmap of the caller's own."""
        # By way of bytes (12 us for a million holes): one that is copied on write refuses to meet ordinary ones.
        return BitMap.deserialize(self._deleted.serialize())

    @property
    def ranges_total(self) -> int:
        """How many runs of indices are individually acknowledged, ledger borders aside."""
        if self._ranges_total < 0:
            self._ranges_total = self._deleted.difference_cardinality(self._deleted.shift(1))
        return self._ranges_total

    def _run_starts(self) -> BitMap:
        # A run begins where an index is in and the one before it is not.
        return self._deleted - self._deleted.shift(1)

    def ranges(self, limit: int | None = None) -> list[tuple[int, int]]:
        """(first, last) of the individually acknowledged runs in order, the first `limit` of them."""
        if limit is None:
            return self._all_ranges()
        found: list[tuple[int, int]] = []
        first = self._deleted.next_set_bit(self.mark_delete + 1) if self._deleted_count else None
        while first is not None and len(found) < limit:
            last = self._run_end(first)
            found.append((first, last))
            first = self._next_deleted(last + 1)
        return found

    def _next_deleted(self, index: int) -> int | None:
        return self._deleted.next_set_bit(index) if index <= self._deleted.max() else None

    def _all_ranges(self) -> list[tuple[int, int]]:
        if not self._deleted_count:
            return []
        indices = np.frombuffer(self._deleted.to_array(), dtype=np.uint32).astype(np.int64)
        breaks = np.flatnonzero(np.diff(indices) != 1)
        firsts = indices[np.concatenate(([0], breaks + 1))]
        lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
        return list(zip(firsts.tolist(), lasts.tolist()))

    def text(self, log: TopicLog, limit_chars: int | None = None) -> str:
        """The individually deleted messages as `stats-internal` prints them, `[(1:5..1:6],(1:8..1:9]]`.

        Ranges are open-closed and never cross a ledger. With a limit the text is cut after a whole range, ends in
        `,…]`, and costs no more than what is shown.
        """
        most = None if limit_chars is None else limit_chars // len("(0:0..0:0]") + 1
        parts: list[str] = []
        used = len("[]")
        for ledger_id, first_entry, last_entry in self._ledger_ranges(log, most):
            part = f"({ledger_id}:{first_entry - 1}..{ledger_id}:{last_entry}]"
            used += len(part) + (1 if parts else 0)
            if limit_chars is not None and used > limit_chars:
                return self._cut(parts, limit_chars)
            parts.append(part)
        return "[" + ",".join(parts) + "]"

    @staticmethod
    def _cut(parts: list[str], limit_chars: int) -> str:
        while parts and len("[") + sum(map(len, parts)) + len(parts) - 1 + len(CUT) > limit_chars:
            parts.pop()
        return "[" + ",".join(parts) + CUT if parts else "[…]"

    def _ledger_ranges(self, log: TopicLog, limit: int | None):
        """(ledger, first entry, last entry) of the runs, split at ledger borders; of the first `limit` runs."""
        start = end = ledger_id = 0  # no ledger: the first index is never below 0
        for first, last in self.ranges(limit):
            while first <= last:
                if not start <= first < end:
                    ledger_id, start, end = log.span(first)
                piece_end = min(last, end - 1)
                yield ledger_id, first - start, piece_end - start
                first = piece_end + 1

    # --- surviving a crash

    def persist(self, now_us: int, max_ranges: int | None = None, log: TopicLog | None = None) -> int:
        """Makes the persisted side equal to the present one, within limits; returns the acks that it leaves out.

        `max_ranges` is `managedLedgerMaxUnackedRangesToPersist`. Given the log, the limit works as Pulsar's bitmaps do
        (the default): ledger by ledger, one is left out when those included before it already hold more acknowledged
        entries than the limit. Without, it is the number of ranges kept.
        """
        kept, count = _copy(self._deleted), self._deleted_count
        if max_ranges is not None and count:
            if log is not None and count > max_ranges:
                kept = self._within_ledgers(log, max_ranges)
            elif log is None and count > max_ranges and self.ranges_total > max_ranges:
                kept.remove_range(self._run_starts()[max_ranges], kept.max() + 1)
            count = len(kept)
        batches = self._batches
        if len(batches) > MAX_BATCH_INDEXES_TO_PERSIST:
            batches = {index: batches[index] for index in sorted(batches)[:MAX_BATCH_INDEXES_TO_PERSIST]}
        self._persisted = (self.mark_delete, kept, count, dict(batches))
        self.dirty = False
        self.last_persist_us = now_us
        return self._deleted_count - count

    def _within_ledgers(self, log: TopicLog, max_entries: int) -> BitMap:
        kept = _copy(self._deleted)
        included = 0
        first = self._deleted.min()
        while first is not None:
            _, start, end = log.span(first)
            if included > max_entries:
                kept.remove_range(start, end)
            else:
                included += self._deleted.range_cardinality(start, end)
            first = self._next_deleted(end)
        return kept

    def recover(self) -> None:
        """Goes back to the persisted side: what a broker finds after a crash."""
        self.mark_delete, kept, self._deleted_count, batches = self._persisted
        self._deleted = _copy(kept)
        self._batches = dict(batches)
        self._ranges_total = -1
        self.dirty = False

    @property
    def persisted_mark_delete(self) -> int:
        """The mark-delete index that a recovery would find."""
        return self._persisted[0]

    # --- checkpoints

    def capture(self) -> tuple:
        """The whole state as plain data that nothing changes any more; bitmaps are shared until written."""
        batches = dict(self._batches) if self._batches else None
        return self.mark_delete, _copy(self._deleted), self._deleted_count, batches, self._persisted, self.dirty, self.last_persist_us

    def restore(self, captured: tuple) -> None:
        """Goes back to a captured state."""
        self.mark_delete, deleted, self._deleted_count, batches, self._persisted, self.dirty, self.last_persist_us = captured
        self._deleted = _copy(deleted)
        self._batches = dict(batches) if batches else {}
        self._ranges_total = -1

    def __getstate__(self) -> tuple:
        # The persisted bitmap goes as its difference from the present one: what changed since the last flush, not 128 KiB again.
        *present, (mark_delete, kept, count, batches), dirty, last_persist_us = self.capture()
        return *present, (mark_delete, self._deleted ^ kept, count, batches), dirty, last_persist_us

    def __setstate__(self, state: tuple) -> None:
        mark_delete, plain, count, own_batches, (persisted, difference, kept, batches), dirty, last_persist_us = state
        deleted, difference = _copied_on_write(plain), _copied_on_write(difference)
        self.restore((mark_delete, deleted, count, own_batches, (persisted, deleted ^ difference, kept, batches), dirty, last_persist_us))
