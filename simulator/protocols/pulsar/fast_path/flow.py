"""One producer's steady-state flow: its participants, whether it is steady now, and for how long.

Rules: a flow is a producer, the log that it publishes to, the consumers of the log's one active subscription,
if any, and the replicators with their target logs. It is steady when each of its messages takes the ordinary
path: published one by one, stored, sent to every peer, not read by any consumer there, dispatched in turn and
acknowledged by the consumer that received it. In every doubtful case the event engine runs.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, cast

import numpy as np

from simulator.kernel.random import Shares
from simulator.protocols.pulsar.client.consumer import RUNNING as TAKING
from simulator.protocols.pulsar.fast_path.groups import Groups
from simulator.protocols.pulsar.fast_path.peer_events import ENTRIES_MAX, ENTRY_BYTES_MAX
from simulator.protocols.pulsar.fast_path.work import NEVER, Work
from simulator.protocols.pulsar.replication.connecting import STARTED
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.dispatch import Dispatcher
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.fast_path.survey import Survey
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.storage.tail_read import TailRead

_INDEX = itemgetter(0)  # of an entry on the wire

MESSAGES_AT_ONCE = 1024
"""The most messages in one stretch: some 9,000 rows, a few milliseconds."""

DELETED_MAX = 8
"""Most individually deleted entries that may be markers just before the mark-delete passes them.

With more, the next group may be one behind a hole.
"""


class Flow:
    """A steady flow.

    `sessions` are those of its consumers in the order of dispatch. `plan` computes the instants of the next
    publishes, the consumers' work on them, and the groups of their acks.
    """

    __slots__ = (
        "producer",
        "topic",
        "sessions",
        "consumers",
        "subscription",
        "replicators",
        "published_us",
        "work",
        "groups",
    )

    def __init__(self, producer: Producer, topic: Topic, subscription: Subscription | None = None) -> None:
        self.producer = producer
        self.topic = topic
        self.subscription: Subscription  # of the consumers, if any
        self.sessions: list[Session] = []
        if subscription is not None:
            self.subscription = subscription
            self.sessions = subscription.dispatcher.in_turn()
        self.consumers = [_consumer_of(session) for session in self.sessions]
        self.replicators: list[tuple[Replicator, Topic]] = [
            (replicator, producer.runtime.clusters[peer].topics[topic.name])
            for peer, replicator in topic.replicators.items()
        ]
        self.published_us = np.empty(0, dtype=np.int64)
        self.work: Work  # of the consumers, if any
        self.groups: Groups  # of their acks

    @property
    def dispatcher(self) -> Dispatcher:
        """The dispatcher whose order the sessions follow."""
        return self.subscription.dispatcher

    def plan(self, survey: Survey) -> int:
        """Compute the flow from the publish that is due now on.

        Returns the first instant, at most the survey's horizon, of an event outside the flow.
        """
        producer, first_us, horizon_us = (
            self.producer,
            self.producer.runtime.now_us,
            min(survey.horizon_us, self._update_us(survey)),
        )
        # at random instants this is an estimate, and a stretch may be shorter than it could
        due = (horizon_us - first_us) // producer.every_us + 1
        room, horizon_us = self._room(first_us, horizon_us, len(survey.own))
        count = min(MESSAGES_AT_ONCE, due, room)
        if count <= 0:
            return first_us
        if producer.intervals is None:
            self.published_us = np.arange(
                first_us, first_us + (count + 1) * producer.every_us, producer.every_us
            )
        else:
            gaps_us = producer.intervals.several(producer.scheduled + 1 + np.arange(count))
            self.published_us = np.concatenate(([first_us], first_us + gaps_us.cumsum()))
            same_instant = (gaps_us == 0).nonzero()[0]
            # two publishes at one instant are left to the event engine
            count = int(same_instant[0]) if len(same_instant) else count
        count = min(count, self._read_at_once(first_us))
        if producer.spec.stop_us is not None:  # the publish after the stretch must be in the plan, too
            count = min(count, int(self.published_us.searchsorted(producer.spec.stop_us)) - 1)
        if count <= 0:
            return first_us
        horizon_us = min(horizon_us, int(self.published_us[count]))
        if self.sessions:
            self.work = Work(self, survey, self.published_us)
            horizon_us = self.work.plan(horizon_us)
        if self.sessions and horizon_us > first_us:
            self.groups = Groups(self.work)
            horizon_us = self.groups.plan(horizon_us)
        return horizon_us

    def _read_at_once(self, first_us: int) -> int:
        """How many of the next messages find every reader notified (`storage.tail_read`)."""
        delay_us = self.topic.hot.new_entries_check_delay_us
        if not delay_us:
            return MESSAGES_AT_ONCE
        if any(tail.waits(first_us, delay_us) for tail in self.tails):
            return 0
        close = (self.published_us[1:] - self.published_us[:-1] < delay_us).nonzero()[0]
        return int(close[0]) + 1 if len(close) else MESSAGES_AT_ONCE

    @property
    def tails(self) -> list[TailRead]:
        """The reads of its log."""
        tails = [replicator.tail for replicator, _peer in self.replicators]
        return [*tails, self.dispatcher.tail] if self.sessions else tails

    def _update_us(self, survey: Survey) -> int:
        """When the pending acks are sent, if an Update almost certainly follows; else never.

        A survey beyond that instant would be wasted.
        """
        if len(self.sessions) != 1 or not self.subscription.snapshots.kept:
            return NEVER
        consumer, timer_us = self.consumers[0], survey.timer_us[0]
        if consumer.selections.candidates is not None or self.subscription.cursor.deleted_count > DELETED_MAX:
            return NEVER
        return consumer.acks.ends_us(self.producer.runtime.now_us) if timer_us is None else timer_us

    def _room(self, now_us: int, horizon_us: int, own: int) -> tuple[int, int]:
        """Messages that fit in all logs, queues and limits, and the first instant at which that may change.

        The instant is at most `horizon_us`. The last message of the plan is left to the event engine. Up to
        `own` of the consumers' events may dispatch messages, too.
        """
        producer, size_bytes = self.producer, self.producer.spec.size_bytes
        messages, values = producer.runtime.messages, self.topic.log.records.values
        room, until_us = self.topic.rollover.room(now_us, size_bytes)
        if producer.planned is not None:
            room = min(room, producer.planned - producer.scheduled - 1)
        if self.sessions:
            room = min(room, self.dispatcher.room - own)
        for replicator, peer in self.replicators:
            replicator.settle()
            records = map(values.__getitem__, map(_INDEX, replicator.wire))
            in_flight = [record for record in records if record >= 0]
            # appended by arriving markers and a tick
            more = ENTRIES_MAX * (len(replicator.wire) - len(in_flight) + 1)
            copied_bytes = replicator.copy_size.most
            there, until_there_us = peer.rollover.room(
                now_us,
                size_bytes + copied_bytes,
                sum(map(messages.size_bytes.__getitem__, in_flight))
                + copied_bytes * len(in_flight)
                + more * ENTRY_BYTES_MAX,
            )
            room = min(
                room,
                self.topic.hot.replicator_queue_entries - replicator.in_flight,
                there - len(in_flight) - more,
            )
            until_us = min(until_us, until_there_us)
        return room, min(horizon_us, until_us)


def flow_of(producer: Producer) -> Flow | None:
    """The producer's flow, None while it is not steady."""
    runtime = producer.runtime
    if not _publishes_evenly(producer) or runtime.windows or runtime.schemas is not None:
        return None
    cluster = runtime.clusters[producer.cluster_name]
    topic = cluster.topics.get(producer.spec.topic)
    if (
        topic is None
        or not cluster.up
        or topic.appends is not None
        or not stores_only(topic)
        or (producer.intervals is None and producer.every_us < topic.hot.new_entries_check_delay_us)
        or topic.hot.checks_late
        or not all(
            _sends_only(replicator, runtime.clusters[peer].topics.get(topic.name))
            for peer, replicator in topic.replicators.items()
        )
    ):
        return None
    read = [subscription for subscription in topic.subscriptions.values() if subscription.dispatcher.sessions]
    if not read:
        return Flow(producer, topic)
    sessions = read[0].dispatcher.in_turn()
    if (
        len(read) > 1
        or not sessions
        or not _dispatches_in_turn(read[0])
        or not all(_takes_in_turn(_consumer_of(session), read[0]) for session in sessions)
    ):
        return None
    return Flow(producer, topic, read[0])


def _consumer_of(session: Session) -> Consumer:
    """The session's consumer, cast to its class: no other class plays that role."""
    return cast("Consumer", session.consumer)


def _publishes_evenly(producer: Producer) -> bool:
    spec, brokers = producer.spec, producer.brokers
    single = (
        spec.batch == 1
        and spec.delay is None
        and not spec.at_us
        and producer.replicate_to == -1
        and producer.every_us
    )
    return bool(
        single
        and not producer.pending
        and not producer.forbidden
        and brokers.resolver is None
        and not brokers.located
    )


def stores_only(topic: Topic) -> bool:
    """Whether appending a message has no effect other than storing and reading it."""
    hot = topic.hot
    served = (
        topic.loaded
        and topic.log.current is not None
        and topic.source is None
        and topic.refuses is None
        and not topic.blocks_producers
        and not topic.migrating
        and topic.broker is None
        and topic.reads is None
    )
    return bool(
        served
        and not hot.deduplicates
        and not hot.ttl_us
        and not topic.keeps_sources
        and not topic.audiences
        and not topic.shadows.shadows()
        and not topic.shadows.replicators
    )


def _sends_only(replicator: Replicator, remote: Topic | None) -> bool:
    """Whether it has read all entries, and no consumer at the peer reads arrivals at once."""
    if (
        remote is None
        or not stores_only(remote)
        or any(subscription.dispatcher.sessions for subscription in remote.subscriptions.values())
    ):
        return False
    if (
        len(replicator.topic.log.ledgers) > 1
        and replicator.topic.log.ledgers[-1].id != replicator.ledger_receipts.ledger
    ):
        return False  # the first receipt of the open ledger is still a pending event
    if replicator.broken.is_closing or replicator.held.active:
        return False  # entries on the wire or receipts do not arrive when they are due
    caught_up = replicator.state == STARTED and not replicator.stalled and not replicator.schemas.waiting
    return (
        caught_up
        and replicator.read_index == replicator.topic.log.length
        and replicator.link.bandwidth_bytes_per_s is None
    )


def _dispatches_in_turn(subscription: Subscription) -> bool:
    """Whether it has read all entries, and no acks synced from peers filter the new ones."""
    dispatcher = subscription.dispatcher
    return (
        not dispatcher.busy
        and dispatcher.read_index == subscription.topic.log.length
        and not subscription.filter.reported
    )


def _takes_in_turn(consumer: Consumer, subscription: Subscription) -> bool:
    """Whether it takes dispatched messages at once and processes one after the other.

    It must acknowledge, hold or negatively ack each by its own draw after processing.
    """
    spec, current = consumer.spec, consumer.current
    by_draw = consumer.selections.candidates is None or (
        isinstance(consumer.selections.candidates, Shares)
        and (subscription.dispatcher.postpones or not consumer.selections.negatives)
    )
    acks_each = (
        spec.acknowledge == "individual"
        and by_draw
        and spec.acknowledgment_group_time_us > 0
        and not spec.ack_timeout_us
    )
    single = current is None or (
        current.key.place == subscription.topic.place
        and current.key.batch_index == NULL
        and current.key not in consumer.acks.waiting
    )
    not_held = current is None or current.key not in consumer.held.serials
    idle = (
        consumer.state == TAKING
        and not consumer.queue
        and not consumer.taking
        and len(consumer.sessions) == 1
        and spec.receiver_queue_size > 0
        and not consumer.in_delivery.takes_time
        and not consumer.overhead_us
    )
    return acks_each and single and not_held and idle and consumer.acks.timed == bool(consumer.acks.waiting)
