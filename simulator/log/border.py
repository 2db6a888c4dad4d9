"""A cursor's position at a ledger border: after the last entry of one, or `L:-1` of the next.

Rules: both positions have the same mark-delete index. A cursor that has all of a closed ledger moves to the
next one's `L:-1` when that is opened (Pulsar's `maybeUpdateCursorBeforeTrimmingConsumedLedger`, #25087). So
does a cursor before an empty ledger that a topic load dropped. A cursor that is set, or moved by trimming,
before the first kept entry is at that ledger's `L:-1`, too. This holds until the mark-delete moves.
"""

from __future__ import annotations

from simulator.log.ledgers import BEFORE_FIRST, TopicLog


class Border:
    """The ledger at whose `L:-1` a cursor is, as long as its mark-delete index does not change."""

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
