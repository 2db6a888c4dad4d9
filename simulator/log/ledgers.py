"""One cluster's log of one topic partition: entries in ledgers, with rollover and trimming.

Rules: inside the lab an entry is identified by its index, an ordinal from 0 that is never reused.
`ledger:entry` is for display and for messages between clusters. Entries are never changed. Trimming moves the
first-kept mark and drops ledgers, but their ids are kept, because a cursor may still be at a trimmed entry.
Records and ledger names are shared columns: a checkpoint holds lengths and marks, never the records.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

import numpy as np


class SharedColumn:
    """A column of int64 values, indexed from 0.

    An append-only column of integers that several worlds share.

    Rules: worlds at different instants of one branch hold the same column, each with its own length. What an
    earlier world writes again in a replay must equal what is there. A new branch takes its own `prefix`. No
    world reads past its own length.
    """

    __slots__ = ("values",)

    def __init__(self, values: array | None = None) -> None:
        self.values = array("q") if values is None else values

    def __len__(self) -> int:
        """The length that the furthest world has written; a world's own length may be less."""
        return len(self.values)

    def __getitem__(self, index: int) -> int:
        return self.values[index]

    def append_at(self, length: int, value: int) -> None:
        """Write at index `length`: append, or confirm what a replay writes again.

        Raises AssertionError, an internal error, when the value differs or a gap would be left.
        """
        values = self.values
        written = len(values)
        if length == written:
            values.append(value)
        elif length > written:
            raise AssertionError(
                f"column holds {written} values, so index {length} would leave a gap; write index "
                f"{written} first"
            )
        elif values[length] != value:
            raise AssertionError(
                f"a replay writes {value} at index {length} where this branch has {values[length]}; "
                "the run is not deterministic, or a new branch did not take its own prefix"
            )

    def prefix(self, length: int) -> SharedColumn:
        """An independent copy of the first `length` values, for a new branch."""
        if not 0 <= length <= len(self.values):
            raise AssertionError(f"a prefix of {length} values was asked of a column of {len(self.values)}")
        return SharedColumn(self.values[:length])

    def cut(self, length: int) -> None:
        """Delete the values from `length` on, for every world that holds the column."""
        del self.values[length:]

    def view(self, first: int, last: int) -> np.ndarray:
        """Values `first` to `last - 1` as a read-only int64 copy.

        An export of the buffer would forbid appending.
        """
        return np.frombuffer(self.values[first:last].tobytes(), dtype=np.int64)


BEFORE_FIRST = -1
"""The entry number before a ledger's first entry."""

_NOWHERE = 1 << 62  # above every index: there is no such ledger yet


class Ledger:
    """One ledger of a topic.

    `closed_us` is None while it is open. `alone` means that the topic kept no entry when it was opened. A
    closed ledger never changes, so checkpoints may refer to it without a copy.
    """

    __slots__ = ("id", "first_index", "entries", "opened_us", "closed_us", "size_bytes", "alone")

    def __init__(self, ledger_id: int, first_index: int, opened_us: int, alone: bool = False) -> None:
        self.id = ledger_id
        self.first_index = first_index
        self.entries = 0
        self.opened_us = opened_us
        self.closed_us: int | None = None
        self.size_bytes = 0
        self.alone = alone

    def copy(self) -> Ledger:
        """An independent copy."""
        twin = Ledger(self.id, self.first_index, self.opened_us, self.alone)
        twin.entries, twin.closed_us, twin.size_bytes = self.entries, self.closed_us, self.size_bytes
        return twin

    def __repr__(self) -> str:
        return (
            f"Ledger({self.id}, first_index={self.first_index}, entries={self.entries}, "
            f"closed_us={self.closed_us})"
        )


class TopicLog:
    """The log of one topic partition in one cluster.

    `records[index]` is the number of the entry's first message, or minus the number of the marker that it
    holds. `ledgers` are those kept, in order; the last may be open and is then `current`. `length` counts
    every entry ever appended.
    """

    __slots__ = (
        "records",
        "length",
        "first_kept",
        "ledgers",
        "current",
        "_named_ids",
        "_named_firsts",
        "_named",
        "_near_id",
        "_near_first",
        "_near_end",
    )

    def __init__(self) -> None:
        self.records = SharedColumn()
        self.length = 0
        self.first_kept = 0
        self.ledgers: list[Ledger] = []
        self.current: Ledger | None = None
        # Id and first index of every ledger that ever held an entry.
        self._named_ids = SharedColumn()
        self._named_firsts = SharedColumn()
        self._named = 0
        # The ledger that was looked up last. _near_end is the index after its last entry, _NOWHERE while
        # it is the last ledger.
        self._near_id = BEFORE_FIRST
        self._near_first = _NOWHERE
        self._near_end = _NOWHERE

    # --- writing

    def open_ledger(self, ledger_id: int, now_us: int) -> None:
        """Open a new ledger for appends; an open one is closed first, and dropped when it is empty.

        Raises AssertionError, an internal error, when ids do not grow.
        """
        if self.current is not None:
            self.close_ledger(now_us)
        newest = (
            self.ledgers[-1].id
            if self.ledgers
            else self._named_ids[self._named - 1]
            if self._named
            else BEFORE_FIRST
        )
        if ledger_id <= newest:
            raise AssertionError(f"ledger {ledger_id} was opened after ledger {newest}; ids must grow")
        if self.ledgers and not self.ledgers[-1].entries:
            self.ledgers.pop()
        self.current = Ledger(ledger_id, self.length, now_us, alone=self.length == self.first_kept)
        self.ledgers.append(self.current)

    def close_ledger(self, now_us: int) -> None:
        """Close the open ledger, if any; an empty one is kept until the next is opened."""
        if self.current is not None:
            self.current.closed_us = now_us
            self.current = None

    def append(self, record: int, size_bytes: int, now_us: int) -> int:
        """Add an entry to the open ledger and return its index."""
        ledger = self.current
        if ledger is None:
            raise AssertionError(
                f"an entry was appended at {now_us} us while no ledger is open; load the topic first"
            )
        index = self.length
        if not ledger.entries:
            self._name(ledger)
        values = self.records.values
        if index == len(values):
            values.append(record)
        else:
            self.records.append_at(index, record)
        ledger.entries += 1
        ledger.size_bytes += size_bytes
        self.length = index + 1
        return index

    def _name(self, ledger: Ledger) -> None:
        self._named_ids.append_at(self._named, ledger.id)
        self._named_firsts.append_at(self._named, ledger.first_index)
        self._named += 1
        self._near_first = _NOWHERE

    def full(
        self, now_us: int, max_entries: int, max_size_bytes: int, max_age_us: int, min_age_us: int
    ) -> bool:
        """Whether the open ledger is due for rollover: a limit is reached and the minimum age is exceeded.

        Age alone rolls over only a ledger that holds an entry. A minimum age of 0 means none.
        """
        ledger = self.current
        if ledger is None:
            return False
        if ledger.entries < max_entries and ledger.size_bytes < max_size_bytes:
            if now_us - ledger.opened_us < max_age_us or not ledger.entries:
                return False
        age_us = now_us - ledger.opened_us
        # a broker's timer of the greatest age is a little late
        return not min_age_us or age_us > min_age_us or age_us == min_age_us == max_age_us

    def trim(self, before_index: int, keep_last: bool = False) -> list[Ledger]:
        """Drop closed ledgers below `before_index`, optionally not the last; returns them, oldest first."""
        count = 0
        for ledger in self.ledgers[:-1] if keep_last else self.ledgers:
            if ledger.closed_us is None or ledger.first_index + ledger.entries > before_index:
                break
            count += 1
        trimmed = self.ledgers[:count]
        if trimmed:
            del self.ledgers[:count]
            self.first_kept = trimmed[-1].first_index + trimmed[-1].entries
        return trimmed

    # --- positions

    def record(self, index: int) -> int:
        """The record of entry `index`."""
        return self.records.values[index]

    def position(self, index: int) -> tuple[int, int]:
        """The position (ledger, entry) of an index, trimmed ones included.

        Index -1 is before the first entry of the first ledger.
        """
        if self._near_first <= index < self._near_end:
            return self._near_id, index - self._near_first
        if index < 0 or not self._named:
            return self._first_ledger_id(), index
        ledger_id, first, _ = self.span(index)
        return ledger_id, index - first

    def span(self, index: int) -> tuple[int, int, int]:
        """The ledger that holds entry `index` (from 0).

        Returns (ledger, its first index, index after its last entry). An index past the end belongs to the
        last ledger with entries.
        """
        firsts = self._named_firsts.values
        place = bisect_right(firsts, index, 0, self._named) - 1
        last = place == self._named - 1
        self._near_id = self._named_ids.values[place]
        self._near_first = firsts[place]
        self._near_end = _NOWHERE if last else firsts[place + 1]
        return self._near_id, self._near_first, self.length if last else self._near_end

    def ledger_after(self, index: int) -> int | None:
        """Id of the kept ledger that follows the one whose last entry is `index`.

        None when `index` is not the last entry of a kept ledger, or when no kept ledger follows.
        """
        place = bisect_right(self.ledgers, index, key=lambda ledger: ledger.first_index)
        if not 0 < place < len(self.ledgers):
            return None
        ledger = self.ledgers[place - 1]
        return self.ledgers[place].id if ledger.first_index + ledger.entries - 1 == index else None

    def kept_from(self, ledger_id: int) -> int | None:
        """Id of the first kept ledger at or after this one; None when there is none."""
        return next((ledger.id for ledger in self.ledgers if ledger.id >= ledger_id), None)

    @staticmethod
    def position_before(ledger_id: int) -> tuple[int, int]:
        """The position before a ledger's first entry, `L:-1`."""
        return ledger_id, BEFORE_FIRST

    def _first_ledger_id(self) -> int:
        if self._named:
            return self._named_ids[0]
        return self.ledgers[-1].id if self.ledgers else BEFORE_FIRST

    def index_of(self, ledger_id: int, entry: int) -> int:
        """The index at a position, or the last one before it.

        `L:-1`, unknown ledgers and entries past a ledger's end give the entry below; -1 when there is none
        below.
        """
        place = bisect_right(self._named_ids.values, ledger_id, 0, self._named) - 1
        if place < 0:
            return -1
        end = self._named_firsts[place + 1] if place + 1 < self._named else self.length
        if self._named_ids[place] != ledger_id:
            return end - 1
        return min(self._named_firsts[place] + entry, end - 1)

    def text(self, index: int) -> str:
        """The position of an index as text, `ledger:entry`."""
        ledger_id, entry = self.position(index)
        return f"{ledger_id}:{entry}"

    @property
    def last_confirmed(self) -> tuple[int, int]:
        """Position of the last entry, empty ledgers skipped.

        It is `L:-1` of a ledger that was opened when no entry was kept. Trimming does not move it: until the
        next load it may name an entry that was trimmed (Pulsar: `doDeleteLedgers`).
        """
        if self.length == self.first_kept and self.ledgers and self.ledgers[-1].alone:
            return self.position_before(self.ledgers[-1].id)
        return self.position(self.length - 1)

    # --- checkpoints

    def capture(self) -> tuple:
        """Lengths, marks and the list of ledgers, as plain data.

        Only the open ledger is copied.
        """
        open_copy = None if self.current is None else self.current.copy()
        closed = tuple(self.ledgers) if open_copy is None else tuple(self.ledgers[:-1])
        return self.length, self.first_kept, self._named, closed, open_copy

    def restore(self, captured: tuple) -> None:
        """Go back to a captured state of the same branch; the records are shared and do not change."""
        self.length, self.first_kept, self._named, closed, open_copy = captured
        self.ledgers = list(closed)
        self.current = None
        if open_copy is not None:
            self.current = open_copy.copy()
            self.ledgers.append(self.current)
        self._near_first = _NOWHERE

    def depart(self) -> None:
        """Take separate columns up to the present length, as a new branch must before it writes."""
        self.records = self.records.prefix(self.length)
        self._named_ids = self._named_ids.prefix(self._named)
        self._named_firsts = self._named_firsts.prefix(self._named)

    def cut_back(self) -> None:
        """Delete what other worlds of the branch wrote beyond the present length."""
        self.records.cut(self.length)
        self._named_ids.cut(self._named)
        self._named_firsts.cut(self._named)

    def share(self, other: TopicLog) -> None:
        """Use the columns of another world of the same branch; missing values will be written there."""
        self.records = other.records
        self._named_ids = other._named_ids
        self._named_firsts = other._named_firsts
