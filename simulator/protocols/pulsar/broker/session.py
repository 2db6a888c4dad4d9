"""One consumer's subscription to one topic partition: the broker's permits, the client's queue count.

Rules: the client grants `receiverQueueSize` permits when it subscribes. Later it grants as many as it took,
whenever they are half the queue. A batched entry costs as many permits as it has messages, so permits may be
negative. On a declared broker, pushed messages are queued in the broker (`in_broker` messages) and arrive
when they have left it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.kernel.named_tuples import new_tuple, reduce_tuple
from simulator.trace.registry import NULL, About

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.broker import Broker, Dispatch
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.shadow.source import ShadowReplicator


# --- the replicators that write to a topic: of other clusters, and of sources that it is a shadow of


def disconnect(topic: Topic, reason: str, cause: int, delivered: bool = False) -> None:
    """The replicators of other clusters lose their producers here.

    `delivered`: the process died, and the receipts that it had sent arrive before its end is noticed.
    """
    for other in topic.runtime.clusters.values():
        remote = other.topics.get(topic.name)
        replicator = remote.replicators.get(topic.cluster.name) if remote is not None else None
        if replicator is not None:
            replicator.disconnect("remote-" + reason, cause, delivered)


def disconnect_sources(topic: Topic, reason: str, cause: int) -> None:
    """The shadow replicators that name the topic lose their producers.

    They connect to any topic, so it need not be a shadow.
    """
    for replicator in shadow_replicators(topic):
        replicator.disconnect("shadow-" + reason, cause)


def shadow_replicators(topic: Topic) -> list[ShadowReplicator]:
    """The shadow replicators of topics that list this one among their shadows, even if it is none."""
    return [
        source.shadows.replicators[topic.name]
        for source in topic.cluster.topics.values()
        if topic.name in source.shadows.replicators
    ]


class ReceivedMessage(NamedTuple):
    """A message in a client's receiver queue.

    `index`: of its entry in the log. `message`: its number. `batch_index`: NULL where the entry is not a
    batch. `redelivery`: the redelivery count. `cause`: seq of the row that made the broker send it.
    """

    session: Session
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not used
    message: int
    batch_index: int
    redelivery: int
    cause: int

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_tuple(self)


class Session:
    """A connected consumer of one topic partition."""

    __slots__ = (
        "consumer",
        "subscription",
        "topic",
        "runtime",
        "permits",
        "taken",
        "size",
        "flow_at",
        "unacked",
        "blocked",
        "queued",
        "in_broker",
        "connected_us",
        "sent_messages",
        "sent_bytes",
        "sent_entries",
    )

    def __init__(self, consumer: Consumer, subscription: Subscription) -> None:
        self.consumer = consumer
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        size = consumer.spec.receiver_queue_size
        self.size = size
        self.permits = size
        self.taken = 0
        self.flow_at = max(1, size // 2)
        self.unacked = 0
        self.blocked = False
        self.queued = 0  # messages in the client's receiver queue, or in delivery to it
        self.in_broker = 0  # messages pushed that have not left the topic's broker
        self.connected_us = subscription.runtime.now_us
        # msgOutCounter and bytesOutCounter of pulsar-admin
        self.sent_messages = self.sent_bytes = self.sent_entries = 0

    @property
    def ready(self) -> bool:
        """Whether the broker may send to it now."""
        return self.permits > 0 and not self.blocked

    def outstanding(self, index: int) -> int:
        """Messages of the entry that are not acknowledged."""
        count = self.runtime.messages.batch[self.topic.log.records[index]]
        return 1 if count == 1 else self.subscription.cursor.batch_remaining(index, count).bit_count()

    def about(self, index: int, message: int, batch_index: int) -> About:
        """The fields that every row about the delivery of this message has."""
        topic, messages = self.topic, self.runtime.messages
        ledger, entry = topic.log.position(index)
        return (
            topic.cluster.number,
            topic.number,
            self.subscription.number,
            self.consumer.number,
            messages.producer[message],
            messages.sequence_id[message],
            ledger,
            entry,
            batch_index,
        )

    def push(self, index: int, redelivery: int, cause: int) -> int:
        """The broker sends an entry; returns its number of messages."""
        topic, messages = self.topic, self.runtime.messages
        first = topic.log.records.values[index]
        count = messages.batch[first]
        self.sent_entries += 1
        if topic.broker is not None:
            return self._queue_in_broker(topic.broker, index, first, count, redelivery, cause)
        if count == 1:
            self.permits -= 1
            self.queued += 1
            self.sent_messages += 1
            self.sent_bytes += messages.size_bytes[first]
            self.consumer.receive(new_tuple(ReceivedMessage, (self, index, first, NULL, redelivery, cause)))
            return 1
        remaining = self.subscription.cursor.batch_remaining(index, count)
        sent = remaining.bit_count()
        self.permits -= sent
        self.queued += sent
        self.sent_messages += sent
        self.sent_bytes += sent * messages.size_bytes[first]
        for batch_index in range(count):
            if remaining >> batch_index & 1:
                self.consumer.receive(
                    ReceivedMessage(self, index, first + batch_index, batch_index, redelivery, cause)
                )
        return sent

    def _queue_in_broker(
        self, broker: Broker, index: int, first: int, count: int, redelivery: int, cause: int
    ) -> int:
        """Queue the entry in the broker; returns its number of messages."""
        remaining = 1 if count == 1 else self.subscription.cursor.batch_remaining(index, count)
        sent = remaining.bit_count()
        size_bytes = sent * self.runtime.messages.size_bytes[first]
        self.permits -= sent
        self.in_broker += sent
        self.sent_messages += sent
        self.sent_bytes += size_bytes
        broker.send(self, size_bytes, (index, first, remaining, redelivery, cause))
        return sent

    def arrive(self, dispatch: Dispatch) -> None:
        """An entry has left the broker: a row for each of its messages, then they are in the client."""
        index, first, remaining, redelivery, cause = dispatch.sent
        runtime, topic, messages = self.runtime, self.topic, self.runtime.messages
        ledger, entry = topic.log.position(index)
        single = messages.batch[first] == 1
        arrived: list[ReceivedMessage] = []
        for batch_index in range(remaining.bit_length()):
            if remaining >> batch_index & 1:
                message = first + batch_index
                size_bytes, service_us = (0, 0) if arrived else (dispatch.size_bytes, dispatch.service_us)
                about = self.about(index, message, NULL if single else batch_index)
                seq = runtime.rows.message_dispatched(
                    cause, about=about, size_bytes=size_bytes, duration_us=service_us
                )
                arrived.append(
                    ReceivedMessage(self, index, message, NULL if single else batch_index, redelivery, seq)
                )
        self.in_broker -= len(arrived)
        self.queued += len(arrived)
        for received in arrived:
            self.consumer.receive(received)

    def recall(self) -> None:
        """Cancel the messages still queued in the broker and restore their permits."""
        if self.topic.broker is not None and self.in_broker:
            self.permits += self.topic.broker.recall(self)

    def take(self, count: int, cause: int) -> None:
        """The application or the client took messages from the receiver queue.

        Permits are granted again once half the queue has been taken.
        """
        self.queued -= count
        self.taken += count
        if self.size and self.taken >= self.flow_at:
            self.permits += self.taken
            self.taken = 0
            self.subscription.dispatcher.dispatch(cause)
