"""The ledgers of a topic: when one is full or old and the next is opened, and which cursors move on then
(`ManagedLedgerImpl`).

Rules: the entry that reaches a limit is the last of its ledger. A timer belongs to one load of the topic and
is stale after it (`epoch`).
"""

from __future__ import annotations

from simulator.protocols.pulsar.storage import retention as upkeep
from simulator.trace.registry import NULL

_MINUTE_US = 60_000_000
_ANY_NUMBER = 1 << 62


class TopicLedgers:
    """The half of a Topic that opens ledgers."""

    def open_ledger(self, cause: int) -> None:
        """Open the next ledger, where the topic is not terminated; the one that is open is closed."""
        if self.terminated:
            return
        runtime, now_us = self.runtime, self.runtime.now_us
        if self.log.ledgers:
            closed = self.log.ledgers[-1]
            if closed.closed_us is None:
                self.log.close_ledger(now_us)
                runtime.note(
                    "ledger.closed", cause, self.cluster.number, self.number, closed.id, closed.entries
                )
        ledger = self.cluster.take_ledger()
        self.log.open_ledger(ledger, now_us)
        runtime.note("ledger.opened", cause, self.cluster.number, self.number, ledger)
        setting = self.cluster.setting
        self._full = (
            setting("managedLedgerMaxEntriesPerLedger", self),
            setting("managedLedgerMaxSizePerLedgerMbytes", self) << 20,
            setting("managedLedgerMaxLedgerRolloverTimeMinutes", self) * _MINUTE_US,
            setting("managedLedgerMinLedgerRolloverTimeMinutes", self) * _MINUTE_US,
        )
        self.time_age()
        self.shadows.ledgers_changed(cause)

    def roll_over_if_full(self, cause: int) -> bool:
        """Close the ledger when this entry reaches a limit, and open the next at once.

        Returns whether it was the last of its ledger.
        """
        if self.terminated:
            return False
        ledger, now_us = self.log.ledgers[-1], self.runtime.now_us
        if (
            ledger.entries < self._full[0]
            and ledger.size_bytes < self._full[1]
            and now_us - ledger.opened_us < self._full[2]
        ):
            return False
        if not self.log.full(now_us, *self._full):
            return False
        self.open_ledger(cause)
        # a consumer that takes no time for the last entry is first
        self.runtime.schedule(now_us, self.rank, self.ledger_made, (self.epoch, cause))
        return True

    def room(self, now_us: int, size_bytes: int, coming_bytes: int = 0) -> tuple[int, int]:
        """Entries of this size that can be appended for sure, when so many bytes come beside them, before
        some instant, and that instant: until then the open ledger stays open.
        """
        most_entries, most_bytes, oldest_us, youngest_us = self._full
        ledger = self.log.current
        # full or not, it is too young to be rolled over
        if youngest_us and now_us - ledger.opened_us <= youngest_us:
            return _ANY_NUMBER, ledger.opened_us + youngest_us + 1
        room = most_entries - 1 - ledger.entries
        if size_bytes:
            room = min(room, (most_bytes - 1 - ledger.size_bytes - coming_bytes) // size_bytes)
        return room, ledger.opened_us + oldest_us

    # --- age

    def time_age(self) -> None:
        """The open ledger will be looked at when it is old
        (`ManagedLedgerImpl.updateLastLedgerCreatedTimeAndScheduleRolloverTask`).
        """
        if not self.age_timed:
            self.age_timed = True
            self.runtime.schedule(self._old_at_us(), self.rank, self.age_timer, self.epoch)

    def _old_at_us(self) -> int:
        minutes = self.cluster.setting("managedLedgerMaxLedgerRolloverTimeMinutes", self)
        return self.log.ledgers[-1].opened_us + minutes * _MINUTE_US

    def age_timer(self, epoch: int) -> None:
        """A ledger has come of age; one that is empty then is looked at no more, and its first entry will
        be its last (#11116).
        """
        if epoch != self.epoch or not self.loaded:
            return
        self.age_timed = False
        if self.runtime.now_us < self._old_at_us():
            self.time_age()  # it was opened after the timer began
        elif self.roll_over_if_full(NULL):
            self.ledger_made((self.epoch, NULL))

    def ledger_made(self, argument: tuple[int, int]) -> None:
        """The ledger after a full one is open: cursors at the end of a closed one move on.

        What every cursor has passed is deleted.
        """
        epoch, cause = argument
        if epoch == self.epoch and self.loaded:
            self.move_cursors_on(cause)
            upkeep.trim(self, cause)

    def move_cursors_on(self, cause: int) -> None:
        """A ledger was opened: cursors at the end of a closed one move to it."""
        for subscription in self.subscriptions.values():
            subscription.ledger_opened(cause)
        for replicator in self.replicators.values():
            replicator.ledger_opened()
        for audience in self.audiences.values():
            audience.ledger_opened()
