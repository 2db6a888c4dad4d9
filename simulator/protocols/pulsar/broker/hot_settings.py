"""The broker settings that the data plane reads for every message, looked up once per topic.

Rules: looked up again when a topic is loaded and when a setting changes. Units are the engine's
(microseconds), not Pulsar's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class HotSettings:
    """Settings in force for one topic in one cluster; 0 means off where it does in Pulsar."""

    ttl_us: int
    deduplicates: bool
    replicator_queue_entries: int
    turn_entries: int
    unacked_per_consumer: int
    unacked_per_subscription: int
    ahead_per_consumer: int
    ahead_per_subscription: int
    delays: bool
    persist_interval_us: int
    new_entries_check_delay_us: int
    checks_late: bool

    @classmethod
    def of(cls, topic: Topic) -> HotSettings:
        """Read a topic's settings."""

        def setting(name: str) -> Any:
            return topic.cluster.setting(name, topic)

        rate = setting("managedLedgerDefaultMarkDeleteRateLimit")
        check_delay_us = setting("managedLedgerNewEntriesCheckDelayInMillis") * 1000
        late_us = topic.runtime.option("newEntriesCheckLateness").nominal_us
        return cls(
            ttl_us=setting("ttlDurationDefaultInSeconds") * _SECOND_US,
            deduplicates=setting("brokerDeduplicationEnabled"),
            replicator_queue_entries=setting("replicationProducerQueueSize"),
            turn_entries=setting("dispatcherMaxRoundRobinBatchSize"),
            unacked_per_consumer=setting("maxUnackedMessagesPerConsumer"),
            unacked_per_subscription=setting("maxUnackedMessagesPerSubscription"),
            ahead_per_consumer=setting("keySharedLookAheadMsgInReplayThresholdPerConsumer"),
            ahead_per_subscription=setting("keySharedLookAheadMsgInReplayThresholdPerSubscription"),
            delays=setting("delayedDeliveryEnabled"),
            persist_interval_us=_SECOND_US // rate if rate else 0,
            new_entries_check_delay_us=check_delay_us,
            checks_late=check_delay_us > 0 and late_us > 0,
        )
