"""The periodic checks of a topic: trimming, message TTL and backlog quotas.

`ledger_rollover` has rollover by age.

Rules: a timer belongs to one load of the topic and is stale after it (`epoch`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.scenario.policies import QUOTA_TYPES
from simulator.protocols.pulsar.storage import backlog_quota, retention
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic

_SECOND_US, _MINUTE_US = 1_000_000, 60_000_000


class RetentionTimers:
    """The periodic checks of a loaded topic."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.checks_quota = NULL  # the load in which the quotas are checked
        self.evictions = dict.fromkeys(QUOTA_TYPES, 0)  # checks since the load that evicted, by type
        self.oldest_ms: int | None = None  # of the last check, see `backlog_quota.oldest_ms`

    def start(self) -> None:
        """Start the timers of a load; that of the open ledger's age runs already."""
        self._time_trim()
        self._time_expiry()
        self.evictions = dict.fromkeys(QUOTA_TYPES, 0)
        self.oldest_ms = None
        self.quota_changed()

    def quota_changed(self) -> None:
        """A quota may be in force now, or none any more: check at the next instant of the broker's timer.

        Without a quota there is no timer, since its check would do nothing.
        """
        topic = self.topic
        topic.blocks_producers = backlog_quota.blocks_producers(topic)
        if topic.loaded and self.checks_quota != topic.epoch and backlog_quota.is_limited(topic):
            self.checks_quota = topic.epoch
            self._time_quota()

    def oldest_age_s(self) -> int | None:
        """The age of the oldest unacknowledged message that the last check found, in whole seconds."""
        now_ms = self.topic.runtime.now_us // 1000
        return None if self.oldest_ms is None else (now_ms - self.oldest_ms) // 1000

    def _time_quota(self) -> None:
        topic = self.topic
        after_us = topic.cluster.setting("backlogQuotaCheckIntervalInSeconds") * _SECOND_US
        since_us = topic.runtime.now_us - topic.loaded_us
        due_us = topic.loaded_us + (since_us // after_us + 1) * after_us
        topic.runtime.schedule(due_us, topic.rank, self.check_quota, topic.epoch)

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

    def check_quota(self, epoch: int) -> None:
        """The periodic check of the backlog quotas."""
        topic = self.topic
        if epoch != topic.epoch or not topic.loaded:
            return
        if not backlog_quota.is_limited(topic):
            self.checks_quota = NULL
            return
        if topic.cluster.setting("backlogQuotaCheckEnabled"):
            topic.runtime.in_portions(backlog_quota.check(topic))
        self._time_quota()
