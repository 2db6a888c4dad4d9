"""Acks of a consumer before they reach the broker: grouped, and sent together.

Rules (PersistentAcknowledgmentsGroupingTracker): acks are grouped for `acknowledgmentGroupTime`. A group of
1,000 entries acknowledged individually is sent at once. Acks not yet sent are lost with the client, and
without grouping an ack without a connection fails.

The client drops what it receives at or below its last grouped cumulative ack, and grants its permit again
(`ConsumerImpl.messageReceived`, `isDuplicate`). That ack is a ledger and an entry without a cluster, one for
each topic or partition, and survives every reconnect. A client that connects to another cluster therefore
drops messages there that nobody has acknowledged, while the ledgers of that cluster are not higher
(apache/pulsar#25291). Only a seek of the client itself clears it, and a redirect of a blue-green migration
(`flushAndClean`). A dropped message stays in the broker's backlog until a later cumulative ack covers it.

The timer has a grid of instants. Under `ackGroupPhase: aligned` it starts when the client connects. Under
`drawn` it is that of the Java client: its constructor starts the timer before the subscribe reaches the
broker, and nothing starts it again before the client ends. The time between the two is drawn within one
period. A consumer's own `acknowledgmentGroupPhase` gives an instant of the grid of its first process, which
nothing starts again either. The timer works with a fixed delay, so each period begins when the flush before
it has ended: `ackGroupDrift` later than the grid of a fixed rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.kernel.random import draw, stream_key
from simulator.protocols.pulsar.client.deliveries import Ack, Delivery, MessageKey, Place
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import ReceivedMessage, Session
    from simulator.protocols.pulsar.client.consumer import Consumer

ACK_GROUP_SIZE_MAX = 1000  # entries: the Java client's maxAcknowledgmentGroupSize
_WHOLE_ENTRY = 1 << 62  # greater than every batch index


class LastCumulativeAck(NamedTuple):
    """A client's last grouped cumulative ack of a topic, as the client remembers it.

    `position`: (ledger, entry, batch_index or `_WHOLE_ENTRY`). `cluster`: number of the cluster where it was
    given, which the client does not keep.
    """

    position: tuple[int, int, int]
    cluster: int


class AckGroup:
    """The pending acks of one consumer, and the last cumulative acks.

    `timed`: whether the timer runs that sends the pending acks. `acknowledged_to`: by topic or partition the
    last cumulative ack.
    """

    __slots__ = (
        "_batched",
        "_batches",
        "_begun_us",
        "_consumer",
        "_drawn",
        "_dropped",
        "_incomplete",
        "_keeps_timer",
        "_period_us",
        "_phases",
        "acknowledged_to",
        "timed",
        "waiting",
    )

    def __init__(self, consumer: Consumer) -> None:
        runtime = consumer.runtime
        self._consumer = consumer
        self._drawn = runtime.option("ackGroupPhase") == "drawn"
        self._phases = stream_key(runtime.seed, f"ack-group/{consumer.name}")
        self._period_us = consumer.spec.acknowledgment_group_time_us + runtime.option("ackGroupDrift")
        self._begun_us = 0  # when the timer was started
        self._keeps_timer = self._drawn  # a connect does not start it again
        self.waiting: dict[MessageKey, Ack] = {}
        self.acknowledged_to: dict[str, LastCumulativeAck] = {}
        self.timed = False
        self._batches: dict[tuple[Place, int], bool] = {}  # pending entries of several messages
        self._batched = 0  # number of their messages
        # redelivered at or below the last cumulative ack; acknowledged with the next one
        self._dropped: dict[MessageKey, ReceivedMessage] = {}
        # by entry the acks that are kept until the whole batch is acked
        self._incomplete: dict[tuple[Place, int], dict[MessageKey, Ack]] = {}

    def clear(self) -> None:
        """The process stopped without closing."""
        self._clear_waiting()
        self.acknowledged_to.clear()
        self._dropped.clear()
        self._incomplete.clear()
        self.timed = False

    # --- the timer

    def client_started(self) -> None:
        """The client's process subscribes, for the first time or after it ended."""
        consumer, period_us = self._consumer, self._period_us
        phase_us = consumer.spec.acknowledgment_group_phase_us
        first = phase_us is not None and consumer.epoch == 1
        self._keeps_timer = self._drawn or first
        if first:
            self._begun_us = phase_us or 0
        elif self._drawn and period_us:
            self._begun_us = consumer.runtime.now_us - draw(self._phases, consumer.epoch) % period_us

    def client_connects(self) -> None:
        """The client, which has no session, is about to subscribe."""
        if not self._keeps_timer:
            self._begun_us = self._consumer.runtime.now_us

    def client_connected(self) -> None:
        """The client has a session for every partition: send the acks that waited for one.

        A timer that went on meanwhile sends them at its next instant.
        """
        if self._keeps_timer:
            self.send_or_wait()
        else:
            self.send()

    # --- acks

    def add(self, key: MessageKey, session: Session, ack: Ack) -> None:
        """Add a pending ack."""
        if key.batch_index == NULL:
            self.waiting[key] = ack
        elif self._acks_in_batches(session):
            self._add_of_batch(key, ack)
        else:
            self._wait_for_entry(key, ack)

    def _acks_in_batches(self, session: Session) -> bool:
        """Whether acks of single messages of a batch are sent to the broker and stored there."""
        return self._consumer.spec.batch_index_acknowledgment and session.topic.cluster.setting(
            "acknowledgmentAtBatchIndexLevelEnabled", session.topic
        )

    def _wait_for_entry(self, key: MessageKey, ack: Ack) -> None:
        """Without batch-index acks an entry is acknowledged when all its messages are."""
        waiting = self._incomplete.setdefault(key[:2], {})
        waiting[key] = ack
        _index, batch_index, _seq, message, _about = ack
        if len(waiting) == self._consumer.runtime.messages.batch[message - batch_index]:
            for part, waited in self._incomplete.pop(key[:2]).items():
                self._add_of_batch(part, waited)

    def _add_of_batch(self, key: MessageKey, ack: Ack) -> None:
        self._batched += key not in self.waiting
        self._batches[key[:2]] = True
        self.waiting[key] = ack

    def _clear_waiting(self) -> None:
        self.waiting.clear()
        self._batches, self._batched = {}, 0

    # --- coverage of a cumulative ack

    def acknowledged_up_to(self, delivery: Delivery, seq: int) -> None:
        """The application acknowledged cumulatively up to this message; the last row is `seq`."""
        if self._consumer.spec.acknowledgment_group_time_us:
            self._note_cumulative(delivery)
        if self._dropped:
            self._acknowledge_dropped(delivery.key, seq)

    def _note_cumulative(self, delivery: Delivery) -> None:
        """Record that messages received at or below this position are duplicates for the client.

        It only rises (`LastCumulativeAck.update`). Without batch-index acks it is the entry before, until all
        messages of the entry are acknowledged.
        """
        place, index, batch_index = delivery.key
        cluster, (ledger, entry) = delivery.about[0], delivery.about[6:8]
        received = delivery.received
        if batch_index == NULL or self._is_last_of_batch(received.message, batch_index):
            upto = (ledger, entry, _WHOLE_ENTRY)
        elif self._consumer.spec.batch_index_acknowledgment:
            upto = (ledger, entry, batch_index)
        else:
            upto = (ledger, entry - int((place, index) in self._incomplete), _WHOLE_ENTRY)
        last = self.acknowledged_to.get(place[1])
        if last is None or upto > last.position:
            self.acknowledged_to[place[1]] = LastCumulativeAck(upto, cluster)

    def _is_last_of_batch(self, message: int, batch_index: int) -> bool:
        return batch_index + 1 == self._consumer.runtime.messages.batch[message - batch_index]

    def _acknowledge_dropped(self, upto: MessageKey, seq: int) -> None:
        """Acknowledge dropped messages: a cumulative ack is a position and covers those below it."""
        for key in sorted(key for key in self._dropped if key.place == upto.place and key <= upto):
            received = self._dropped.pop(key)
            session = received.session
            about = session.about(received.index, received.message, received.batch_index)
            self.add(key, session, (received.index, received.batch_index, seq, received.message, about))

    def drops(self, received: ReceivedMessage) -> bool:
        """Whether the client drops this message when it receives it.

        It does when its ack is pending or a cumulative ack covered it (isDuplicate).
        """
        session, index, _message, batch_index, _redelivery, _cause = received
        key = (session.topic.place, index, batch_index)  # equal to a MessageKey
        if key in self.waiting:
            return True
        last = self.acknowledged_to.get(session.topic.name)
        if last is None:
            return False
        part = _WHOLE_ENTRY if batch_index == NULL else batch_index
        if (*session.topic.log.position(index), part) > last.position:
            return False
        self._dropped[MessageKey(*key)] = received
        self._note_dropped(received, last)
        return True

    def _note_dropped(self, received: ReceivedMessage, last: LastCumulativeAck) -> None:
        session, index, message, batch_index, _redelivery, cause = received
        runtime, subscription = self._consumer.runtime, session.subscription
        about = session.about(index, message, batch_index)
        runtime.rows.message_dropped(cause, about=about, peer=last.cluster, to=last.position[:2])
        if last.cluster != session.topic.cluster.number:
            runtime.dropped_by_client(subscription.name, session.topic.cluster.name, message)

    def flush_and_clean(self, topic: str) -> None:
        """A seek of the client, or a redirect by blue-green migration.

        Pending acks of the topic are sent, or lost without a connection, and its last cumulative ack is
        forgotten.
        """
        self.send()
        if self.waiting:
            kept = {key: ack for key, ack in self.waiting.items() if key.place[1] != topic}
            self._clear_waiting()
            self._put_back(kept)
        self.acknowledged_to.pop(topic, None)
        self._dropped = {key: one for key, one in self._dropped.items() if key.place[1] != topic}

    def _put_back(self, acks: dict[MessageKey, Ack]) -> None:
        for key, ack in acks.items():
            if key.batch_index == NULL:
                self.waiting[key] = ack
            else:
                self._add_of_batch(key, ack)

    def forget_dropped(self, place: Place) -> None:
        """The broker reads that topic again: dropped messages are redelivered."""
        if self._dropped:
            self._dropped = {key: received for key, received in self._dropped.items() if key.place != place}

    def forget_incomplete(self, received: ReceivedMessage) -> None:
        """The entry is redelivered: acks of its earlier delivery no longer count."""
        if self._incomplete:
            self._incomplete.pop((received.session.topic.place, received.index), None)

    # --- sending

    def send_or_wait(self) -> None:
        """Send urgent acks at once, and start the timer for the others."""
        if self.timed and len(self.waiting) < ACK_GROUP_SIZE_MAX:
            return
        consumer = self._consumer
        waiting, group_us = len(self.waiting), consumer.spec.acknowledgment_group_time_us
        if group_us == 0 or (waiting >= ACK_GROUP_SIZE_MAX and self._is_full()):
            self.send()
        elif waiting and not self.timed:
            self.timed = True
            runtime = consumer.runtime
            runtime.schedule(self.ends_us(runtime.now_us), consumer.rank, self.time_over, consumer.epoch)

    def _is_full(self) -> bool:
        """Whether a thousand entries are pending.

        A cumulative ack is one position, however much it covers, and is sent only by the timer.
        """
        if self._consumer.spec.acknowledge == "cumulative":
            return False
        return len(self.waiting) - self._batched + len(self._batches) >= ACK_GROUP_SIZE_MAX

    def ends_us(self, at_us: int) -> int:
        """When acks that become pending at an instant are sent."""
        begun_us, period_us = self._begun_us, self._period_us
        return begun_us + ((at_us - begun_us) // period_us + 1) * period_us

    def time_over(self, epoch: int) -> None:
        """The grouping interval is over."""
        if epoch == self._consumer.epoch:
            self.timed = False
            self.send()

    def send(self) -> None:
        """Send the pending acks, one group per topic.

        Those of a topic that is not connected stay pending, with two exceptions. Without grouping such an ack
        fails. Where the topic is now connected in another cluster the client drops them, because its
        positions are different.
        """
        if not self.waiting:
            return
        sessions = self._consumer.sessions
        groups: dict[Place, list[Ack]] = {}
        waiting: dict[MessageKey, Ack] = {}
        for key, ack in self.waiting.items():
            place = key.place
            if place in groups:
                groups[place].append(ack)
            elif place in sessions:
                groups[place] = [ack]
            elif self._consumer.spec.acknowledgment_group_time_us and not self._consumer.connected_to(
                place[1]
            ):
                waiting[key] = ack
        self._clear_waiting()
        self._put_back(waiting)
        for place, acks in groups.items():
            sessions[place].subscription.acknowledge(acks)
