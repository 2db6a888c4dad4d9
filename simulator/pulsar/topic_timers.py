"""What a broker does to a topic by the clock: rollover by age, trimming, message TTL.

Rules: a timer belongs to one load of the topic and is stale after it (`epoch`).
"""

from __future__ import annotations

from simulator.pulsar import upkeep
from simulator.trace.registry import NULL

_SECOND_US, _MINUTE_US = 1_000_000, 60_000_000


class TopicTimers:
    """The timed half of a Topic."""

    def start_timers(self) -> None:
        """Begin the timers of a load; that of the open ledger's age runs already."""
        self._time("trim_timer", self.cluster.setting("retentionCheckIntervalInSeconds", self) * _SECOND_US)
        self._time("expiry_timer", self.cluster.setting("messageExpiryCheckIntervalInMinutes", self) * _MINUTE_US)

    def _time(self, timer: str, after_us: int) -> None:
        self.runtime.schedule(self.runtime.now_us + after_us, self.rank, self, timer, self.epoch)

    def trim_timer(self, epoch: int) -> None:
        """The periodic consumed-ledgers check."""
        if epoch == self.epoch and self.loaded:
            upkeep.trim(self, NULL)
            self._time("trim_timer", self.cluster.setting("retentionCheckIntervalInSeconds", self) * _SECOND_US)

    def expiry_timer(self, epoch: int) -> None:
        """The periodic TTL check."""
        if epoch == self.epoch and self.loaded:
            upkeep.expire(self)
            self._time("expiry_timer", self.cluster.setting("messageExpiryCheckIntervalInMinutes", self) * _MINUTE_US)

    # --- ledgers

    def time_age(self) -> None:
        """The open ledger will be looked at when it is old (`ManagedLedgerImpl.updateLastLedgerCreatedTimeAndScheduleRolloverTask`)."""
        if not self.age_timed:
            self.age_timed = True
            self.runtime.schedule(self._old_at_us(), self.rank, self, "age_timer", self.epoch)

    def _old_at_us(self) -> int:
        minutes = self.cluster.setting("managedLedgerMaxLedgerRolloverTimeMinutes", self)
        return self.log.ledgers[-1].opened_us + minutes * _MINUTE_US

    def age_timer(self, epoch: int) -> None:
        """A ledger has come of age; one that is empty then is looked at no more, and its first entry will be its last (#11116)."""
        if epoch != self.epoch or not self.loaded:
            return
        self.age_timed = False
        if self.runtime.now_us < self._old_at_us():
            self.time_age()  # it was opened after the timer began
        elif self.roll_over_if_full(NULL):
            self.ledger_made((self.epoch, NULL))

    def ledger_made(self, argument: tuple[int, int]) -> None:
        """The ledger after a full one is there: cursors at the end of a closed one move on, and what everybody has passed goes."""
        epoch, cause = argument
        if epoch == self.epoch and self.loaded:
            for subscription in self.subscriptions.values():
                subscription.ledger_opened(cause)
            for replicator in self.replicators.values():
                replicator.ledger_opened()
            for audience in self.audiences.values():
                audience.ledger_opened()
            upkeep.trim(self, cause)
