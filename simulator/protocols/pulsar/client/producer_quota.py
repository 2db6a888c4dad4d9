"""A producer whose topic has a backlog quota: the broker refuses it while the quota is exceeded.

Rules: while a quota is not exceeded, nothing differs. The client reconnects at most once in RETRY_US, as
after it lost its broker. With the policy producer_request_hold its messages wait until it is accepted. With
producer_exception those that wait fail at each refusal (`ProducerImpl.connectionOpened`,
ProducerBlockedQuotaExceededException).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.scenario.policies import EXCEPTION
from simulator.protocols.pulsar.storage import backlog_quota
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.producer import Producer

RETRY_US = 100_000
"""Least time between two requests of a client to create a producer: the first step of Pulsar's backoff."""


class QuotaOfProducer:
    """The connections of one producer to topics whose quota refuses producers, by the topic's place.

    `accepted` is the load of the topic in which the broker accepted it, `refused_us` when it last refused it.
    """

    __slots__ = ("producer", "accepted", "refused_us")

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.accepted: dict[tuple[str, str], int] = {}
        self.refused_us: dict[tuple[str, str], int] = {}

    def accepts(self, topic: Topic) -> bool:
        """Whether the producer is connected, or the broker accepts it now."""
        place = topic.place
        if not topic.blocks_producers:
            if self.refused_us:
                self._accept(topic)
            return True
        if self.accepted.get(place) == topic.epoch:
            return True
        now_us = self.producer.runtime.now_us
        if place in self.refused_us and now_us < self.refused_us[place] + RETRY_US:
            return False
        policy = backlog_quota.refuses_producers(topic)
        if policy is None:
            self._accept(topic)
            return True
        self._refuse(topic, policy, NULL)
        return False

    def close(self, topic: Topic, cause: int) -> None:
        """The broker closes the connection."""
        self.accepted.pop(topic.place, None)
        policy = backlog_quota.refuses_producers(topic)
        if policy is not None and topic.place not in self.refused_us:
            self._note_blocked(topic, policy, cause)
        self.refused_us[topic.place] = self.producer.runtime.now_us

    def _refuse(self, topic: Topic, policy: str, cause: int) -> None:
        if topic.place not in self.refused_us:
            cause = self._note_blocked(topic, policy, cause)
        self.refused_us[topic.place] = self.producer.runtime.now_us
        if policy == EXCEPTION:
            self.producer.fail_pending(topic, backlog_quota.REASON, cause)

    def _note_blocked(self, topic: Topic, policy: str, cause: int) -> int:
        return self.producer.runtime.note(
            "producer.blocked", cause, topic.cluster.number, topic.number, self.producer.number, policy
        )

    def _accept(self, topic: Topic) -> None:
        if topic.blocks_producers:
            self.accepted[topic.place] = topic.epoch
        if self.refused_us.pop(topic.place, None) is not None:
            self.producer.runtime.note(
                "producer.unblocked", NULL, topic.cluster.number, topic.number, self.producer.number
            )
