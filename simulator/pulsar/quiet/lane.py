"""One producer's traffic: who takes part in it, whether it runs evenly now, and how long at most it will.

Rules: a lane is a producer, the log that it publishes to, the one consumer that reads there, if one does, and the replicators
with the logs that they fill. It is quiet when each of its messages takes the plain way: published one by one, stored, sent to
every peer, read by nobody there, handed out and acknowledged in turn. Whoever is in doubt says no: then the event engine runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.pulsar.consumer import RUNNING as TAKING
from simulator.pulsar.dispatch import SingleActiveDispatcher
from simulator.pulsar.quiet.groups import NEVER, Groups
from simulator.pulsar.replicator import STARTED

if TYPE_CHECKING:
    from simulator.pulsar.consumer import Consumer
    from simulator.pulsar.producer import Producer
    from simulator.pulsar.replicator import Replicator
    from simulator.pulsar.session import Session
    from simulator.pulsar.topic import Topic

MESSAGES_AT_ONCE = 1024
"""The most messages in one stretch: some 9,000 rows, a few milliseconds."""


class Lane:
    """A quiet lane. `foresee` says what comes: instants of the next publishes and of the application's work on them."""

    __slots__ = ("producer", "topic", "session", "replicators", "published_us", "begun_us", "done_us", "groups")

    def __init__(self, producer: Producer, topic: Topic, session: Session | None) -> None:
        self.producer = producer
        self.topic = topic
        self.session = session  # of the consumer that reads here
        self.replicators: list[tuple[Replicator, Topic]] = [
            (replicator, producer.runtime.clusters[peer].topics[topic.name]) for peer, replicator in topic.replicators.items()
        ]
        self.published_us = self.begun_us = self.done_us = np.empty(0, dtype=np.int64)
        self.groups: Groups | None = None  # of the consumer's acks

    @property
    def consumer(self) -> Consumer | None:
        return None if self.session is None else self.session.consumer

    def foresee(self, first_us: int, busy_us: int | None, timer_us: int | None, horizon_us: int) -> int:
        """From the publish at `first_us` on, with a consumer that is busy until `busy_us` (None: idle) and whose acks that wait are sent at
        `timer_us`; returns the first instant, at most `horizon_us`, at which something else happens."""
        producer = self.producer
        due = (horizon_us - first_us) // producer.every_us + 1  # at random instants it is a guess, and a stretch may be shorter than it could
        room, horizon_us = self._room(first_us, horizon_us)
        count = min(MESSAGES_AT_ONCE, due, room)
        if count <= 0:
            return first_us
        if producer.intervals is None:
            self.published_us = np.arange(first_us, first_us + (count + 1) * producer.every_us, producer.every_us)
        else:
            gaps_us = producer.intervals.several(producer.scheduled + 1 + np.arange(count))
            self.published_us = np.concatenate(([first_us], first_us + gaps_us.cumsum()))
            twice = (gaps_us == 0).nonzero()[0]
            count = int(twice[0]) if len(twice) else count  # two publishes at one instant are left to the event engine
        if producer.spec.stop_us is not None:  # the publish after the stretch is still one of the plan
            count = min(count, int(self.published_us.searchsorted(producer.spec.stop_us)) - 1)
        horizon_us = min(horizon_us, int(self.published_us[count])) if count > 0 else first_us
        if self.session is not None:
            horizon_us = self._foresee_work(busy_us, timer_us, horizon_us)
        return horizon_us

    def _room(self, now_us: int, horizon_us: int) -> tuple[int, int]:
        """Messages that fit everywhere, and the first instant, at most `horizon_us`, at which that may change; the last message of the plan is
        left to the event engine."""
        producer, size_bytes = self.producer, self.producer.spec.size_bytes
        messages, values = producer.runtime.messages, self.topic.log.records.values
        room, until_us = self.topic.room(now_us, size_bytes)
        if producer.planned is not None:
            room = min(room, producer.planned - producer.scheduled - 1)
        for replicator, peer in self.replicators:
            replicator.settle()
            coming = [record for index, _sent_us, _due_us in replicator.wire if (record := values[index]) >= 0]
            there, until_there_us = peer.room(now_us, size_bytes, sum(messages.size_bytes[record] for record in coming))
            room = min(room, self.topic.hot.replicator_queue_entries - replicator.in_flight, there - len(coming))
            until_us = min(until_us, until_there_us)
        return room, min(horizon_us, until_us)

    def _foresee_work(self, busy_us: int | None, timer_us: int | None, horizon_us: int) -> int:
        """When the application begins and ends its work on each message, and when its acks are sent; returns when something else happens."""
        consumer, arrived_us = self.session.consumer, self.published_us
        spans_us = consumer.processing.several(consumer.runtime.message_count + np.arange(len(arrived_us)))
        if not spans_us.all():
            return int(arrived_us[0])  # without processing time all happens at once
        worked_us = spans_us.cumsum()
        before_us = worked_us - spans_us
        free_us = arrived_us[0] if busy_us is None else busy_us
        self.begun_us = before_us + np.maximum.accumulate(np.maximum(arrived_us, free_us) - before_us)
        self.done_us = self.begun_us + spans_us
        self.groups = Groups(self.session, timer_us, self.done_us if busy_us is None else np.concatenate(([busy_us], self.done_us)))
        return self.groups.foresee(min(horizon_us, self._permitted_us()))

    def _permitted_us(self) -> int:
        """Up to when the consumer has permits, which come back as it takes messages."""
        session, pushed = self.session, len(self.published_us)
        if pushed < session.permits:
            return NEVER
        taken = session.taken + self.begun_us.searchsorted(self.published_us)  # before each publish
        short = (session.permits + taken // session.flow_at * session.flow_at - np.arange(pushed) <= 1).nonzero()[0]
        return int(self.published_us[short[0]]) if len(short) else NEVER


def lane_of(producer: Producer) -> Lane | None:
    """The producer's lane, None while it is not quiet."""
    runtime = producer.runtime
    if not _publishes_evenly(producer) or runtime.windows or runtime.schemas is not None:
        return None
    cluster = runtime.clusters[producer.cluster_name]
    topic = cluster.topics.get(producer.spec.topic)
    if topic is None or not cluster.up or not _stores_only(topic) or not all(_sends_only(replicator) for replicator in topic.replicators.values()):
        return None
    sessions = [session for subscription in topic.subscriptions.values() for session in subscription.dispatcher.sessions]
    if len(sessions) > 1 or not all(_takes_in_turn(session) for session in sessions):
        return None
    return Lane(producer, topic, sessions[0] if sessions else None)


def _publishes_evenly(producer: Producer) -> bool:
    spec, brokers = producer.spec, producer.brokers
    single = spec.batch == 1 and spec.delay is None and not spec.at_us and producer.replicate_to == -1 and producer.every_us
    return bool(single and not producer.pending and not producer.forbidden and brokers.resolver is None and not brokers.told)


def _stores_only(topic: Topic) -> bool:
    """Whether a message that is appended is stored and read, and nothing else."""
    hot = topic.hot
    served = topic.loaded and topic.log.current is not None and topic.source is None and topic.refuses is None and not topic.migrating and topic.broker is None and topic.reads is None
    return bool(served and not hot.deduplicates and not hot.ttl_us and not topic.keeps_sources and not topic.audiences and not topic.shadows.shadows() and not topic.shadows.replicators)


def _sends_only(replicator: Replicator) -> bool:
    """Whether it has read everything, and the peer stores what comes for nobody to read at once."""
    remote = replicator.runtime.clusters[replicator.peer].topics.get(replicator.topic.name)
    if remote is None or not _stores_only(remote) or any(subscription.dispatcher.sessions for subscription in remote.subscriptions.values()):
        return False
    if len(replicator.topic.log.ledgers) > 1 and replicator.topic.log.current.id != replicator.seen_in:
        return False  # the first receipt of the open ledger is still an event to come
    caught_up = replicator.state == STARTED and not replicator.stalled and not replicator.schemas.waiting
    return caught_up and replicator.read_index == replicator.topic.log.length and replicator.link.bandwidth_bytes_per_s is None


def _takes_in_turn(session: Session) -> bool:
    """Whether it is the one active consumer, has read everything, and acknowledges each message when it has worked on it."""
    dispatcher, consumer = session.subscription.dispatcher, session.consumer
    if not isinstance(dispatcher, SingleActiveDispatcher) or dispatcher.active is not session or dispatcher.waiting or dispatcher.busy:
        return False
    spec = consumer.spec
    acks_each = spec.acknowledge == "individual" and consumer.special is None and spec.acknowledgment_group_time_us > 0 and not spec.ack_timeout_us
    idle = consumer.state == TAKING and not consumer.queue and not consumer.taking and len(consumer.sessions) == 1 and spec.receiver_queue_size > 0
    acks_in_time = consumer.flush_due == bool(consumer.ack_pending)
    return acks_each and acks_in_time and idle and dispatcher.read_index == session.topic.log.length and not session.subscription.synced
