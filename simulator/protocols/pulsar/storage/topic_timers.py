"""What a broker does to a topic by the clock: trimming, message TTL; `topic_ledgers` has rollover by age.

Rules: a timer belongs to one load of the topic and is stale after it (`epoch`).
"""

from __future__ import annotations

from simulator.kernel.clock import Handler
from simulator.protocols.pulsar.storage import retention as upkeep
from simulator.trace.registry import NULL

_SECOND_US, _MINUTE_US = 1_000_000, 60_000_000


class TopicTimers:
    """The timed half of a Topic."""

    def start_timers(self) -> None:
        """Begin the timers of a load; that of the open ledger's age runs already."""
        self._time(
            self.trim_timer, self.cluster.setting("retentionCheckIntervalInSeconds", self) * _SECOND_US
        )
        self._time(
            self.expiry_timer, self.cluster.setting("messageExpiryCheckIntervalInMinutes", self) * _MINUTE_US
        )

    def _time(self, timer: Handler, after_us: int) -> None:
        self.runtime.schedule(self.runtime.now_us + after_us, self.rank, timer, self.epoch)

    def trim_timer(self, epoch: int) -> None:
        """The periodic consumed-ledgers check."""
        if epoch == self.epoch and self.loaded:
            upkeep.trim(self, NULL)
            self._time(
                self.trim_timer, self.cluster.setting("retentionCheckIntervalInSeconds", self) * _SECOND_US
            )

    def expiry_timer(self, epoch: int) -> None:
        """The periodic TTL check."""
        if epoch == self.epoch and self.loaded:
            self.runtime.in_portions(upkeep.expire(self))
            self._time(
                self.expiry_timer,
                self.cluster.setting("messageExpiryCheckIntervalInMinutes", self) * _MINUTE_US,
            )
