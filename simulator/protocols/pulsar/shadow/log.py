"""A shadow topic's view of its source's log: the same entries up to its own last confirmed entry.

Rules: it stores nothing and copies nothing. Positions and indices are the source's, so cursors mean the same
entry in both. Its list of ledgers is what it last read of the source's metadata. Closed ledgers are the
source's own objects. The last one, which may be open, extends to the last announced entry. The last confirmed
entry may move back (`ShadowManagedLedgerImpl`).
"""

from __future__ import annotations

from simulator.log.columns import SharedColumn
from simulator.log.ledgers import BEFORE_FIRST, Ledger, TopicLog


class ShadowLog:
    """A view with the reading side of `TopicLog`.

    `confirmed` is the last confirmed entry as (ledger, entry).
    """

    __slots__ = ("source", "ledgers", "length", "first_kept", "confirmed", "current")

    def __init__(self, source: TopicLog) -> None:
        self.source = source
        self.ledgers: list[Ledger] = []
        self.length = 0
        self.first_kept = 0
        self.confirmed = (BEFORE_FIRST, BEFORE_FIRST)
        self.current: Ledger | None = None  # the source's last ledger, opened for reading only

    @property
    def opened(self) -> Ledger:
        """The source's last ledger, as opened by a loaded shadow."""
        assert self.current is not None, "a shadow is loaded with the ledgers of its source"
        return self.current

    # --- the list of ledgers and the last confirmed entry

    def read_ledgers(self) -> list[Ledger]:
        """Read the source's list of ledgers; returns the removed ones, oldest first.

        A last ledger that is new is opened with no entry confirmed.
        """
        known = self.source.ledgers
        first = known[0]
        gone = [ledger for ledger in self.ledgers if ledger.id < first.id]
        last = known[-1]
        if self.current is None or self.current.id != last.id:
            self.current = Ledger(last.id, last.first_index, last.opened_us)
        self.ledgers = [ledger for ledger in known[:-1] if ledger.entries]
        self.ledgers.append(self.current)
        return gone

    def drop_below(self, index: int) -> None:
        """Entries before `index` are no longer in any ledger of the list."""
        self.first_kept = index
        self.length = max(self.length, index)

    def confirm(self, ledger_id: int, entry: int) -> None:
        """Set the last confirmed entry, which may also move back."""
        self.confirmed = (ledger_id, entry)
        self.length = max(self.source.index_of(ledger_id, entry) + 1, self.first_kept)
        if self.current is not None:
            self.current.entries = max(0, self.length - self.current.first_index)

    def last_of_nonempty(self, entries_of_last: int) -> tuple[int, int]:
        """The last entry of the last nonempty ledger, if the open one has `entries_of_last` entries."""
        if entries_of_last or len(self.ledgers) == 1:
            return self.opened.id, entries_of_last - 1
        ledger = self.ledgers[-2]
        return ledger.id, ledger.entries - 1

    @property
    def last_confirmed(self) -> tuple[int, int]:
        """The last confirmed entry as a topic prints it.

        It is `L:-1` of the newest ledger when its own ledger was deleted.
        """
        if self.ledgers and self.confirmed[0] < self.ledgers[0].id:
            return self.opened.id, BEFORE_FIRST
        return self.confirmed

    # --- positions of the source

    @property
    def records(self) -> SharedColumn:
        """The records of the entries."""
        return self.source.records

    def record(self, index: int) -> int:
        """The record of entry `index`."""
        return self.source.record(index)

    def position(self, index: int) -> tuple[int, int]:
        """See `TopicLog.position`."""
        return self.source.position(index)

    def span(self, index: int) -> tuple[int, int, int]:
        """See `TopicLog.span`."""
        return self.source.span(index)

    def index_of(self, ledger_id: int, entry: int) -> int:
        """See `TopicLog.index_of`."""
        return self.source.index_of(ledger_id, entry)

    def text(self, index: int) -> str:
        """See `TopicLog.text`."""
        return self.source.text(index)

    # --- branches: the source's log handles the columns

    def depart(self) -> None:
        """It has no columns that grow."""

    def share(self, other: ShadowLog) -> None:
        """It has no columns to share."""
