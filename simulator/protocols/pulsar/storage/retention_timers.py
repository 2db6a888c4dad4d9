"""The periodic checks of a topic: trimming and message TTL.

`ledger_rollover` has rollover by age.

Rules: a timer belongs to one load of the topic and is stale after it (`epoch`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.storage import retention
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.storage.roles import TopicOfLog

_SECOND_US, _MINUTE_US = 1_000_000, 60_000_000


class RetentionTimers:
    """The periodic checks of a loaded topic."""

    def __init__(self, topic: TopicOfLog) -> None:
        self.topic = topic

    def start(self) -> None:
        """Start the timers of a load; that of the open ledger's age runs already."""
        self._time_trim()
        self._time_expiry()

    def _time_trim(self) -> None:
        topic = self.topic
        after_us = topic.cluster.setting("retentionCheckIntervalInSeconds", topic) * _SECOND_US
        topic.runtime.schedule(topic.runtime.now_us + after_us, topic.rank, self.trim, topic.epoch)

    def _time_expiry(self) -> None:
        topic = self.topic
        after_us = topic.cluster.setting("messageExpiryCheckIntervalInMinutes", topic) * _MINUTE_US
        topic.runtime.schedule(topic.runtime.now_us + after_us, topic.rank, self.expire, topic.epoch)

    def trim(self, epoch: int) -> None:
        """The periodic consumed-ledgers check."""
        if epoch == self.topic.epoch and self.topic.loaded:
            self.topic.trim(NULL)
            self._time_trim()

    def expire(self, epoch: int) -> None:
        """The periodic TTL check."""
        if epoch == self.topic.epoch and self.topic.loaded:
            self.topic.runtime.in_portions(retention.expire(self.topic))
            self._time_expiry()
