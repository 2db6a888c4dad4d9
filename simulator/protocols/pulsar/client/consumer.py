"""A consumer: the client library (receiver queue, ack grouping, negative acks) and its application.

Rules: *delivered* is when the application gets a message, *acknowledged* when it calls ack, *registered* when
the broker has the ack. The application works on one message at a time for `processing`. A held message is set
aside and acknowledged later. `epoch` counts starts: an event of an earlier start is stale.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from pyroaring import BitMap

from simulator.kernel.distributions import Sampler
from simulator.kernel.named_tuples import new_tuple
from simulator.kernel.random import Shares, stream_key
from simulator.protocols.pulsar.broker.session import ReceivedMessage, Session
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.client.ack_group import AckGroup
from simulator.protocols.pulsar.client.deliveries import Delivery, MessageKey, MessagesInDelivery
from simulator.protocols.pulsar.creation import catalogue
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.lookup import first_cluster, resolver_for
from simulator.protocols.pulsar.markers.entries import EPOCH_MS
from simulator.protocols.pulsar.migration.blue_green import clear_cumulative_ack, sent_on
from simulator.protocols.pulsar.ranks import CONSUMER, rank
from simulator.protocols.pulsar.shadow.source import CONSUME, refusal
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.deliveries import Place
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.model import ConsumerSpec, SubscriptionSpec


class HeldMessages:
    """The held messages of one consumer.

    `serials`: by message the serial number of its hold. A timer of an earlier hold is ignored.

    The messages that an application holds: processed, acknowledged later by a timer or an operator.
    """

    __slots__ = ("_consumer", "count", "serials")

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.serials: dict[MessageKey, int] = {}
        self.count = 0  # holds begun so far

    def hold(self, delivery: Delivery, held_us: int) -> None:
        """Hold a processed message for a time; NULL: until an operator releases it."""
        consumer, (_received, cause, key, about) = self._consumer, delivery
        runtime = consumer.runtime
        self.count += 1
        # of several copies the first one's time counts: its ack covers all
        self.serials.setdefault(key, self.count)
        consumer.last_seq = runtime.rows.message_held(cause, about=about, duration_us=held_us)
        if held_us != NULL:
            runtime.schedule(
                runtime.now_us + held_us, consumer.rank, self.hold_over, (consumer.epoch, key, self.count)
            )

    def hold_over(self, argument: tuple[int, MessageKey, int]) -> None:
        """The held message is acknowledged now."""
        epoch, key, serial = argument
        if epoch == self._consumer.epoch and self.serials.get(key) == serial:
            self.release(key)
            self._consumer.close_if_done()

    def release(self, key: MessageKey) -> None:
        """Acknowledge a held message now, even if its redelivery has been requested meanwhile.

        A message that a cumulative ack has covered meanwhile is ignored.
        """
        delivery = self._consumer.unacked.get(key) or self._consumer.redelivery.requested.get(key)
        if self.serials.pop(key, None) is not None and delivery is not None:
            self._consumer.acknowledge(delivery)

    def messages(self) -> dict[MessageKey, int]:
        """The number of each message that the application holds."""
        consumer = self._consumer
        return {
            key: (consumer.unacked.get(key) or consumer.redelivery.requested[key]).received.message
            for key in self.serials
        }


# --- selections of the messages that an application holds or negatively acks: by name, or by a share


ACKNOWLEDGED = CODE["message.acknowledged"]
HELD, NEGATIVE = CODE["message.held"], CODE["message.negatively-acknowledged"]
EVERY_MESSAGE = range(1 << 62)
"""Every message is a candidate when messages are selected by name."""


class Selected(NamedTuple):
    """Messages to hold or to negatively ack: by name (producer, sequence id), and by a share of all.

    `for_us`: how long they are held (None: until released). `times`: how often one is negatively acked.
    """

    named: frozenset[tuple[str, int]]
    shares: Shares
    for_us: int | None
    times: int = 1


class Selections:
    """The messages that a consumer's application does not acknowledge at once.

    `candidates`: the messages that a selection may contain, for one look-up each. None: there is no
    selection.
    """

    __slots__ = ("candidates", "_negatively_acknowledged", "_runtime", "_spec", "holds", "negatives")

    def __init__(self, runtime: Pulsar, spec: ConsumerSpec, negatively_acknowledged: dict[int, int]) -> None:
        """`negatively_acknowledged`: how often each message was, kept up to date by its owner."""
        self._runtime = runtime
        self._spec = spec
        self._negatively_acknowledged = negatively_acknowledged
        self.candidates: Shares | range | None = None
        self.holds: list[Selected] = []
        self.negatives: list[Selected] = []
        if spec.hold:
            self.hold(spec.hold.messages, spec.hold.share_millionths, spec.hold.for_us)
        if spec.negative_acknowledge:
            chosen = spec.negative_acknowledge
            selected = self._selected("negative", chosen.messages, chosen.share_millionths, None)
            self.negatives.append(selected._replace(times=chosen.times))
            self._note_candidates()

    def hold(self, messages: Iterable[tuple[str, int]], share_millionths: int, for_us: int | None) -> None:
        """From now on hold these messages, and a share of all, for a time (None: until released)."""
        self.holds.append(self._selected("hold", messages, share_millionths, for_us))
        self._note_candidates()

    def hold_no_more(self) -> None:
        """Hold no further messages."""
        self.holds = []
        self._note_candidates()

    def choice(self, message: int) -> tuple[int, int]:
        """How a processed message is treated: the type of its row, and for how long it is held.

        NULL: until an operator releases it, or not at all.
        """
        if self.candidates is not None and message in self.candidates:
            nack = self._first(self.negatives, message)
            if nack and self._negatively_acknowledged.get(message, 0) < nack.times:
                return NEGATIVE, NULL
            if hold := self._first(self.holds, message):
                return HELD, NULL if hold.for_us is None else hold.for_us
        return ACKNOWLEDGED, NULL

    def _selected(
        self, stream: str, messages: Iterable[tuple[str, int]], share_millionths: int, for_us: int | None
    ) -> Selected:
        key = stream_key(self._runtime.seed, f"{stream}/{self._spec.subscription}")
        return Selected(frozenset(messages), Shares((key, share_millionths)), for_us)

    def _first(self, selections: list[Selected], message: int) -> Selected | None:
        """The first selection that the message is in, by its own draw or by name."""
        runtime = self._runtime
        for selection in selections:
            if message in selection.shares:
                return selection
            if selection.named:
                messages = runtime.messages
                producer = runtime.trace.names[messages.producer[message]]
                if (producer, messages.sequence_id[message]) in selection.named:
                    return selection
        return None

    def _note_candidates(self) -> None:
        selections = [*self.negatives, *self.holds]
        if not selections:
            self.candidates = None
        elif any(selection.named for selection in selections):
            self.candidates = EVERY_MESSAGE
        else:
            self.candidates = Shares.any_of(selection.shares for selection in selections)


# --- how a consumer requests redelivery: negative acks and ack timeouts, and when requests are sent
#
# Rules: in Shared and Key_Shared, single messages are requested. Otherwise a request covers everything
# unacknowledged, so the number of requests matters. Earlier deliveries do not time out after it, because
# everything is redelivered (UnAckedMessageTracker.clear). An ack timeout is requested at its instant.
#
# When the client sends these requests depends on its release (option `negativeAckTracker`). Since PIP-393 a
# negative ack is due after the delay, and its due time in epoch milliseconds loses its lowest
# `negativeAckPrecisionBitCnt` bits. The client's timer runs out a delay after the first negative ack, then
# at the earliest due time, and each time sends one request for all that is due (`NegativeAcksTracker.add`,
# `triggerRedelivery`). A later negative ack with a shorter delay, which `negativeAckRedeliveryBackoff` can
# give it, does not set the timer forward. Before PIP-393 the timer ran out three times in a delay, of a
# backoff in its first one, until it found nothing pending.


_ROUNDS_IN_A_DELAY = 3
BITMAP, ROUNDS = "bitmap", "rounds"
"""The client's tracker: since PIP-393, and before."""
_ONE_BY_ONE = ("Shared", "Key_Shared")


class RedeliveryRequests:
    """The redelivery requests of one consumer.

    `requested`: redelivery requested, not yet received. A cumulative ack or the end of a hold covers such a
    message, too. `negatively_acknowledged`: by number of a message, how often. `_pending`: negative acks by
    topic, each with its due time; a topic's timer runs while it has an entry. With `rounds` an entry has
    one due time, that of its last negative ack. `_rounds`: by topic, when the first began, and the last.
    """

    __slots__ = (
        "_consumer",
        "_pending",
        "_rounds",
        "_tracker",
        "_untimed",
        "negatively_acknowledged",
        "requested",
    )

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.requested: dict[MessageKey, Delivery] = {}
        self.negatively_acknowledged: dict[int, int] = {}
        self._untimed: dict[Place, int] = {}  # deliveries before this row no longer time out
        self._tracker = consumer.runtime.option("negativeAckTracker")
        self._pending: dict[Place, dict[tuple, tuple[int, Delivery, int]]] = {}
        self._rounds: dict[Place, tuple[int, int]] = {}

    def clear(self) -> None:
        """The process was killed."""
        self.requested.clear()
        self._pending.clear()
        self._rounds.clear()

    def expect_ack(self, key: MessageKey, seq: int) -> None:
        """The application received the message by row `seq`: check later whether it was acknowledged."""
        consumer = self._consumer
        due_us = consumer.runtime.now_us + consumer.spec.ack_timeout_us
        consumer.runtime.schedule(due_us, consumer.rank, self.ack_timed_out, (consumer.epoch, key, seq))

    def ack_timed_out(self, argument: tuple[int, MessageKey, int]) -> None:
        """ackTimeout passed: request redelivery, if it is still unacknowledged."""
        epoch, key, seq = argument
        delivery = self._consumer.unacked.get(key)
        if (
            epoch == self._consumer.epoch
            and delivery is not None
            and delivery.seq == seq
            and seq >= self._untimed.get(key.place, 0)
        ):
            self._request(delivery, seq)
            self._consumer.close_if_done()

    def negatively_acknowledge(self, delivery: Delivery, cause: int) -> None:
        """The application negatively acks the message; the client requests it when its delay is over."""
        consumer, (received, _delivered_seq, key, about) = self._consumer, delivery
        runtime, message = consumer.runtime, received.message
        seq = consumer.last_seq = runtime.rows.message_negatively_acknowledged(cause, about=about)
        self.negatively_acknowledged[message] = self.negatively_acknowledged.get(message, 0) + 1
        self._note_requested(key)
        delay_us, place = consumer.spec.redelivery_delay_us(received.redelivery), key.place
        starts, due_us = place not in self._pending, runtime.now_us + delay_us
        pending = self._pending.setdefault(place, {})
        if self._tracker == ROUNDS:
            pending.pop((key.index,), None)
            pending[(key.index,)] = (due_us, delivery, seq)
        else:
            pending[(self._cut_us(due_us), key)] = (self._cut_us(due_us), delivery, seq)
        if starts and self._tracker == ROUNDS:
            self._rounds[place] = (runtime.now_us, 0)
            self._next_round(place)
        elif starts:
            runtime.schedule(due_us, consumer.rank, self.timer_over, (consumer.epoch, place))

    def _cut_us(self, due_us: int) -> int:
        """The due time without the lowest bits of its epoch milliseconds."""
        bits = self._consumer.spec.negative_ack_precision_bits
        return (((EPOCH_MS + due_us // 1000) >> bits << bits) - EPOCH_MS) * 1000

    def _next_round(self, place: Place) -> None:
        consumer, (begun_us, number) = self._consumer, self._rounds[place]
        self._rounds[place] = (begun_us, number + 1)
        consumer.runtime.schedule(
            begun_us - (-consumer.spec.rounds_delay_us * (number + 1) // _ROUNDS_IN_A_DELAY),
            consumer.rank,
            self.timer_over,
            (consumer.epoch, place),
        )

    def timer_over(self, argument: tuple[int, Place]) -> None:
        """Send one request for all that is due, and start the timer again."""
        epoch, place = argument
        consumer = self._consumer
        if epoch != consumer.epoch:
            return
        pending, now_us = self._pending[place], consumer.runtime.now_us
        over = sorted(
            ((due_us, key) for key, (due_us, _delivery, _seq) in pending.items() if due_us <= now_us),
            key=itemgetter(0),
        )
        requests = [pending.pop(key) for _due_us, key in over]
        if self._tracker == ROUNDS and (pending or requests):
            self._next_round(place)
        elif pending:
            next_us = min(due_us for due_us, _delivery, _seq in pending.values())
            consumer.runtime.schedule(next_us + now_us % 1000, consumer.rank, self.timer_over, argument)
        else:
            del self._pending[place]
        if requests and requests[0][1].received.session.subscription.type not in _ONE_BY_ONE:
            del requests[:-1]
        for _due_us, delivery, seq in requests:
            self._request(delivery, seq)

    def _note_requested(self, key: MessageKey) -> None:
        consumer = self._consumer
        delivery = consumer.unacked.pop(key, None)
        if delivery is not None and (
            consumer.spec.acknowledge == "cumulative" or key in consumer.held.serials
        ):
            self.requested[key] = delivery

    def _request(self, delivery: Delivery, cause: int) -> None:
        key = delivery.key
        session = self._consumer.sessions.get(key.place)
        if session is not None:
            self._note_requested(key)
            if session.subscription.type not in _ONE_BY_ONE:
                self._untimed[key.place] = self._consumer.runtime.seq
            session.subscription.dispatcher.redeliver(session, [key.index], cause)


WAITING, RUNNING, PAUSED, CLOSING, CLOSED, KILLED, DOWN = (
    "waiting",
    "running",
    "paused",
    "closing",
    "closed",
    "killed",
    "down",
)
ALIVE = (RUNNING, PAUSED, CLOSING)


class Consumer:
    """One consumer of a subscription.

    On a partitioned topic it has a session per partition and one application.
    """

    __slots__ = (
        "acks",
        "asking",
        "cluster_name",
        "cumulative",
        "current",
        "epoch",
        "forbidden",
        "held",
        "in_delivery",
        "individual",
        "last_seq",
        "leaves_held",
        "name",
        "number",
        "on_closed",
        "overhead_us",
        "processing",
        "queue",
        "rank",
        "redelivery",
        "refusal",
        "resolver",
        "retries",
        "retry_due_in",
        "runtime",
        "selections",
        "sessions",
        "spec",
        "state",
        "subscribe_time",
        "subscribes",
        "subscription_number",
        "taking",
        "unacked",
    )

    def __init__(self, runtime: Pulsar, spec: ConsumerSpec) -> None:
        self.runtime = runtime
        self.spec = spec
        self.name = spec.name
        self.number = runtime.name(spec.name)
        self.subscription_number = runtime.name(spec.subscription)
        self.resolver = resolver_for(
            self, spec.cluster, runtime.subscriptions[spec.subscription].topic, spec.schema
        )
        self.cluster_name = first_cluster(self.resolver, spec.cluster)
        self.rank = rank(CONSUMER, sorted(runtime.scenario.consumers).index(spec.name))
        self.state = WAITING
        # why its role may not consume this topic, if so
        self.forbidden = refusal(
            runtime.scenario, spec.role, CONSUME, runtime.subscriptions[spec.subscription].topic
        )
        self.sessions: dict[tuple[str, str], Session] = {}  # by place: (cluster, topic)
        self.asking: dict[str, Broker] = {}  # by topic the broker whose queue it waits in
        self.queue: deque[ReceivedMessage] = deque()
        self.in_delivery = MessagesInDelivery(self)
        self.current: Delivery | None = None
        self.taking = False
        self.epoch = 0
        self.retries = 0
        self.retry_due_in = -1  # the epoch in which a retry is scheduled
        self.last_seq = NULL
        self.processing = Sampler(spec.processing, stream_key(runtime.seed, f"processing/{spec.name}"))
        self.overhead_us: int = runtime.option("processingOverhead")
        self.subscribe_time = Sampler(
            runtime.option("subscribeTime"), stream_key(runtime.seed, f"subscribe/{spec.name}")
        )
        self.subscribes = 0  # so far, where that takes time
        self.refusal: str | None = None  # why the last request could not create its topic
        self.on_closed: Callable[[Consumer], None] | None = None  # of the failover that waits for the close
        self.leaves_held = False  # while closing: close without waiting for held messages
        self.individual, self.cumulative = runtime.name("individual"), runtime.name("cumulative")
        self.unacked: dict[MessageKey, Delivery] = {}  # by key, delivered and not acked
        self.acks = AckGroup(self)
        self.redelivery = RedeliveryRequests(self)
        self.held = HeldMessages(self)
        self.selections = Selections(runtime, spec, self.redelivery.negatively_acknowledged)

    def connected_to(self, topic: str) -> bool:
        """Whether it has a session on this topic or partition, in any cluster."""
        return any(place[1] == topic for place in self.sessions)

    # --- lifecycle

    def start(self, _argument: None = None) -> None:
        """Subscribe, for the first time or again."""
        if self.state not in ALIVE:
            self.state = PAUSED if self.spec.paused and self.state == WAITING else RUNNING
            self.epoch += 1
            self.leaves_held = False
            self.acks.client_started()
            self.connect(NULL)

    def stop_as_planned(self, _argument: None) -> None:
        """The scenario's `stop`: finish the current message and close; held messages are redelivered."""
        if self.state in ALIVE:
            self.leaves_held = True
            self.close_when_done(self.on_closed)
        elif self.state == DOWN:  # it does not restart with its region
            self.close(NULL)

    def pause(self, cause: int) -> None:
        """The application takes no more messages; the client stays connected."""
        self.state = PAUSED
        self._note(cause, "paused")

    def resume(self, cause: int) -> None:
        """The application continues."""
        self.state = RUNNING
        self.process_queue(self._note(cause, "resumed"))

    def kill(self, cause: int, reason: str = "killed") -> None:
        """The process is killed: acks that were not sent and delivered messages are lost."""
        if self.state in (CLOSED, KILLED, WAITING) and reason != "crash":
            return
        was_alive = self.state in ALIVE
        self._drop_client_state()
        self.state = DOWN if reason == "crash" else KILLED
        if was_alive:
            self._leave(reason, self._note(cause, reason))
        self._notify_failover()

    def close(self, cause: int) -> None:
        """A clean close: pending acks are sent, sessions end, unprocessed messages are redelivered."""
        self.acks.send()
        self._drop_client_state()
        was_alive = self.state in ALIVE
        self.state = CLOSED
        if was_alive:
            self._leave("closed", self._note(cause, "closed"))
        self._notify_failover()

    def _notify_failover(self) -> None:
        """Notify a failover that waits for this client to close, or to have no more messages."""
        if self.on_closed is not None:
            then, self.on_closed = self.on_closed, None
            then(self)

    def close_when_done(self, then: Callable[[Consumer], None] | None) -> None:
        """Finish the messages of the application, then close, and call `then`."""
        self.on_closed = then
        self.state = CLOSING
        self.close_if_done()

    def close_if_done(self) -> None:
        """Close once the application holds no message, or none that the close waits for."""
        if self.state == CLOSING and self.current is None and (self.leaves_held or not self.unacked):
            self.close(self.last_seq)

    def _drop_client_state(self) -> None:
        self.epoch += 1
        self.retries = 0
        self.queue.clear()
        self.in_delivery.clear()
        for broker in self.asking.values():
            broker.admissions.forget_client(self)
        self.asking.clear()
        self.current = None
        self.unacked.clear()
        self.held.serials.clear()
        self.acks.clear()
        self.redelivery.clear()
        if self.resolver is not None:
            self.resolver.forget()

    def _note(self, cause: int, reason: str) -> int:
        return self.runtime.rows.client_changed(
            cause, cluster=self.cluster_name, client=self.number, reason=reason
        )

    # --- connecting
    #
    # A subscription that does not exist is created at the consumer's initial position. Subscribing with
    # replicateSubscriptionState turns replication on, never off (`PersistentTopic.subscribe`). Retries wait
    # 100 ms, doubled up to 60 s. A declared broker with `connectTime` subscribes one client after another.
    # With the option `subscribeTime` the broker has the consumer that long after the client subscribed,
    # except at the beginning of a run, which begins connected.

    def connect(self, cause: int) -> None:
        """Subscribe in the consumer's cluster, or first look up which cluster that is."""
        if self.resolver is not None:
            self.resolver.ask(cause)
        else:
            self.connect_there(cause)

    def connect_there(self, cause: int) -> None:
        """Subscribe to every partition of the topic in the consumer's cluster."""
        runtime = self.runtime
        if self.subscribe_time.constant == 0 or runtime.now_us == 0:
            self.subscribe(cause)
            return
        self.subscribes += 1
        at_us = runtime.now_us + self.subscribe_time.at(self.subscribes)
        runtime.schedule(at_us, self.rank, self.subscribed, (self.epoch, cause))

    def subscribe(self, cause: int) -> None:
        """The requests to subscribe reached the brokers; unreachable partitions are retried."""
        runtime = self.runtime
        cause = max(cause, self.last_seq)
        if not self.sessions:
            self.acks.client_connects()
        spec = runtime.subscriptions[self.spec.subscription]
        cluster = runtime.clusters[self.cluster_name]
        complete = cluster.up
        if cluster.up:
            if self.resolver is None:
                here, cluster = cluster, runtime.blue_green.instead(cluster, self, spec.topic, cause)
                if cluster is not here:
                    for name in tuple(self.acks.acknowledged_to):
                        clear_cumulative_ack(runtime, self, name)
                catalogue.find_topic(self, cluster, spec.topic, cause)
            complete = cluster.shape(spec.topic) is not None
        for topic in cluster.client_logs_of(spec.topic) if cluster.up else ():
            if not self.connected_to(topic.name):
                complete = self._ask_broker(topic, spec, cause) and complete
        if complete:
            self.retries = 0
            self.acks.client_connected()
        else:
            self._retry_later()

    def _ask_broker(self, topic: Topic, spec: SubscriptionSpec, cause: int) -> bool:
        """Subscribe at once or queue at the broker, which then calls `admitted`.

        Returns False when the broker cannot subscribe it now.
        """
        broker = topic.broker
        if broker is None or not broker.spec.connect_us or not topic.loaded:
            return self._subscribe_in(topic, spec, cause)
        if topic.name not in self.asking:
            self.asking[topic.name] = broker
            broker.admissions.ask(self, topic)
        return True

    def admitted(self, topic: Topic) -> None:
        """The client's turn at the broker is over."""
        self.asking.pop(topic.name)
        spec = topic.runtime.subscriptions[self.spec.subscription]
        if not self._subscribe_in(topic, spec, self.last_seq):
            self._retry_later()
        elif not self.asking:
            self.retries = 0
            self.acks.client_connected()

    def sent_away(self, topic: Topic) -> None:
        """The topic left its broker before the client's turn: it retries like connected clients."""
        self.asking.pop(topic.name)
        self._retry_later()

    def _subscribe_in(self, topic: Topic, spec: SubscriptionSpec, cause: int) -> bool:
        """Subscribe to one partition; False when the broker cannot do that now."""
        if topic.migrated_to is not None:
            there, cause = sent_on(self.runtime, self, topic, cause)
            if there is None:
                return False
            if there is not topic:
                clear_cumulative_ack(self.runtime, self, topic.name)
            topic = there
        if not topic.loaded:
            return False
        if self.forbidden:
            topic.runtime.rows.client_changed(
                cause, cluster=topic.cluster.number, client=self.number, reason="refused-not-authorised"
            )
            return True  # permanent: such a client does not retry
        subscription = topic.subscriptions.get(spec.name)
        if subscription is not None and subscription.type == "Exclusive" and subscription.dispatcher.sessions:
            topic.runtime.rows.client_changed(
                cause, cluster=topic.cluster.number, client=self.number, reason="refused-exclusive"
            )
            return False
        schema = self.spec.schema
        if schema is not None and catalogue.refuses_reader(self, topic, schema, cause) is not None:
            return False
        wanted = spec.replicate_subscription_state and topic.cluster.setting(
            "enableReplicatedSubscriptions", topic
        )
        if subscription is None:
            mark_delete = (
                topic.log.length - 1 if spec.initial_position == "Latest" else topic.log.first_kept - 1
            )
            subscription = topic.add_subscription(
                spec.name, spec.type, mark_delete, bool(wanted), "consumer", cause
            )
        elif subscription.type != spec.type and not subscription.dispatcher.sessions:
            subscription.change_type(spec.type)
        seq = topic.runtime.rows.consumer_connected(cause, **subscription.names, client=self.number)
        self.last_seq = max(self.last_seq, seq)
        session = Session(self, subscription)
        self.sessions[topic.place] = session
        if len(self.sessions) >= len(topic.cluster.client_logs_of(topic.base)) and all(
            place[0] == topic.place[0] for place in self.sessions
        ):
            self.cluster_name = topic.cluster.name  # a broker may have redirected it
        if wanted and not subscription.replicated:
            subscription.switch_replication(True, seq)
        topic.evaluate_controller(seq)
        subscription.dispatcher.add(session, seq)
        if session.size == 0:
            self.ask_for_one(seq)
        return True

    def _leave(self, reason: str, cause: int) -> None:
        """End the consumer's sessions; their unacked messages are redelivered to others."""
        sessions, self.sessions = self.sessions, {}
        for session in sessions.values():
            session.recall()
            seq = _note_disconnected(session, reason, cause)
            session.subscription.dispatcher.remove(session, seq)

    def _retry_later(self) -> None:
        """Subscribe again after the backoff, to every partition that is missing then.

        A consumer that already waits keeps its time.
        """
        runtime = self.runtime
        if self.retry_due_in == self.epoch:
            return
        self.retry_due_in = self.epoch
        runtime.schedule(
            runtime.now_us + backoff.wait_us(self.retries),
            self.rank,
            self.reconnect,
            self.epoch,
        )
        self.retries += 1

    def subscribed(self, argument: tuple[int, int]) -> None:
        """The time to subscribe is over."""
        epoch, cause = argument
        if epoch == self.epoch and self.state in ALIVE:
            self.subscribe(cause)

    def topic_loaded(self, cluster: str, topic: str, cause: int) -> None:
        """A topic was loaded: if it waits for it, its request to subscribe is answered now."""
        wanted = (self.cluster_name, self.runtime.subscriptions[self.spec.subscription].topic)
        if wanted == (cluster, topic) and self.state in ALIVE and self.retry_due_in == self.epoch:
            self.subscribe(cause)

    # --- responses of the LookupService

    def found(self, cluster: str, cause: int) -> None:
        """Its topic is in this cluster."""
        self.cluster_name = cluster
        self.connect_there(cause)

    def not_found(self) -> None:
        """The request failed."""
        self._retry_later()

    # --- actions of the broker on a session

    def receive(self, received: ReceivedMessage) -> None:
        """The broker has sent a message."""
        if self.in_delivery.takes_time:
            self.in_delivery.send(received)
        else:
            self.arrived(received)

    def arrived(self, received: ReceivedMessage) -> None:
        """A message arrived in the receiver queue."""
        acks = self.acks
        if (acks.waiting or acks.acknowledged_to) and acks.drops(received):
            received.session.take(1, received.cause)
            return
        batch_index = received.batch_index
        if batch_index != NULL and received.session.size == 0:
            self._refuse_batch(received.cause)
            return
        if batch_index == 0:
            acks.forget_incomplete(received)
        self.queue.append(received)
        if self.current is None and not self.taking:
            self.process_queue(received.cause)

    def _refuse_batch(self, cause: int) -> None:
        """Close the client on a batch: without a receiver queue it accepts none (ZeroQueueConsumerImpl)."""
        self.last_seq = max(self.last_seq, cause)
        self.runtime.schedule(self.runtime.now_us, self.rank, self.close_for_batch, self.epoch)

    def close_for_batch(self, epoch: int) -> None:
        """The client closes itself; its application gets the reason."""
        if epoch == self.epoch and self.state in ALIVE:
            self.close(self._note(self.last_seq, "refused-batch"))

    def forget(self, session: Session) -> None:
        """The broker rewinds: drop the session's queued messages and grant their permits again.

        The same goes for those on their way to the queue. Messages queued in the broker stay there. Messages
        delivered to the application will be redelivered, and a later ack of the earlier delivery still
        counts.
        """
        session.recall()
        self.acks.forget_dropped(session.topic.place)
        kept = deque(received for received in self.queue if received.session is not session)
        dropped = len(self.queue) - len(kept) + self.in_delivery.drop(session)
        self.queue = kept
        session.queued -= dropped
        session.permits += dropped

    def flush_and_clean(self, topic: str) -> None:
        """The client seeks or is redirected: it forgets its last cumulative ack of the topic."""
        self.acks.flush_and_clean(topic)

    def disconnected(self, session: Session, reason: str, cause: int) -> None:
        """The broker disconnected the session; the client, if it runs, retries."""
        self.sessions.pop(session.topic.place, None)
        _note_disconnected(session, reason, cause)
        self.forget(session)
        if self.state in ALIVE:
            self._retry_later()

    def change_cluster(self, cluster: str, cause: int) -> None:
        """The service URL is another cluster's: its connections close, and it retries there.

        The client stays the same, with its last cumulative acks. One that waits for a retry keeps its time.
        """
        self.cluster_name = cluster
        self.last_seq = max(self.last_seq, cause)
        for broker in self.asking.values():
            broker.admissions.forget_client(self)
        self.asking.clear()
        for session in tuple(self.sessions.values()):
            session.subscription.dispatcher.remove(session, cause)
            self.disconnected(session, "switched", cause)

    def reconnect(self, epoch: int) -> None:
        """The timer of `_retry_later`."""
        if epoch == self.epoch:
            self.retry_due_in = -1
            if self.state in ALIVE:
                self.connect(NULL)

    # --- the application

    def process_queue(self, cause: int) -> None:
        """Take messages until one needs processing time or the queue is empty."""
        if self.taking:
            return
        self.taking = True
        processing = self.processing
        while self.queue and self.current is None and self.state == RUNNING:
            received = self.queue.popleft()
            delivery = self._deliver(received)
            duration_us = processing.constant
            if duration_us is None:
                duration_us = processing.at(received.message + (received.redelivery << 40))
            duration_us += self.overhead_us
            if duration_us:
                self.current = delivery
                self.runtime.schedule(
                    self.runtime.now_us + duration_us, self.rank, self.processed, self.epoch
                )
            else:
                self.settle(delivery)
            received.session.take(1, delivery.seq)
        self.taking = False
        if self.spec.receiver_queue_size == 0:
            self.ask_for_one(cause)

    def ask_for_one(self, cause: int) -> None:
        """Without a receiver queue the client grants a single permit whenever the application is idle."""
        waits = self.queue or self.current is not None or self.in_delivery.pending
        if waits or self.state != RUNNING:
            return
        for session in tuple(self.sessions.values()):
            if session.permits <= 0 and self.current is None:
                session.permits = 1
                session.subscription.dispatcher.dispatch(cause)

    def _deliver(self, received: ReceivedMessage) -> Delivery:
        session, index, message, batch_index, redelivery, cause = received
        runtime, topic, subscription = self.runtime, session.topic, session.subscription
        about = session.about(index, message, batch_index)
        seq = self.last_seq = runtime.rows.message_delivered(
            cause if cause > self.last_seq else self.last_seq,
            about=about,
            count=redelivery,
            evidence_seq=topic.stored_seqs.values[index],
        )
        if runtime.windows:
            window = runtime.windows.get(subscription.name)
            if window is not None and window.target == topic.cluster.name:
                window.delivered(message, topic.name, index)
        runtime.delivered[subscription.name].add(message)
        if runtime.dropped:
            runtime.delivered_after_drop(subscription.name, topic.cluster.name, topic.name, message)
        key = new_tuple(MessageKey, (topic.place, index, batch_index))
        delivery = self.unacked[key] = new_tuple(Delivery, (received, seq, key, about))
        if self.redelivery.requested:
            self.redelivery.requested.pop(key, None)
        if self.spec.ack_timeout_us:
            self.redelivery.expect_ack(key, seq)
        return delivery

    def processed(self, epoch: int) -> None:
        """The application has processed the current message."""
        if epoch != self.epoch or self.current is None:
            return
        delivery, self.current = self.current, None
        self.settle(delivery)
        if self.state == CLOSING:
            self.close_if_done()
        elif self.queue or self.spec.receiver_queue_size == 0:
            self.process_queue(self.last_seq)

    def settle(self, delivery: Delivery) -> None:
        """Hold, negatively acknowledge or acknowledge a processed message."""
        if self.spec.acknowledge == "never":
            return
        candidates = self.selections.candidates
        if candidates is None or (message := delivery.received.message) not in candidates:
            self.acknowledge(delivery)
            return
        kind, held_us = self.selections.choice(message)
        if kind == NEGATIVE:
            self.redelivery.negatively_acknowledge(delivery, delivery.seq)
        elif kind == HELD:
            self.held.hold(delivery, held_us)
        else:
            self.acknowledge(delivery)

    def acknowledge(self, delivery: Delivery) -> None:
        """The application calls ack: individually, or cumulatively for all it received up to this message.

        A cumulative ack is one row per message that it covers, negatively acked messages included.
        """
        if self.spec.acknowledge == "cumulative":
            upto, requested = delivery.key, self.redelivery.requested
            deliveries = {**self.unacked, **requested} if requested else self.unacked
            for key in sorted(key for key in deliveries if key.place == upto.place and key <= upto):
                self._acknowledge_one(deliveries[key], self.cumulative)
            self.acks.acknowledged_up_to(delivery, self.last_seq)
        else:
            self._acknowledge_one(delivery, self.individual)
        self.acks.send_or_wait()

    def _acknowledge_one(self, delivery: Delivery, kind: int) -> None:
        runtime, ((session, index, message, batch_index, _redelivery, _cause), delivered_seq, key, about) = (
            self.runtime,
            delivery,
        )
        self.unacked.pop(key, None)
        if self.redelivery.requested:
            self.redelivery.requested.pop(key, None)
        if self.held.serials:
            self.held.serials.pop(key, None)
        seq = self.last_seq = runtime.rows.message_acknowledged(delivered_seq, about=about, reason=kind)
        name = session.subscription.name
        runtime.acknowledged[name].add(message)
        if runtime.windows and name in runtime.windows:
            runtime.windows[name].settled(message)
        self.acks.add(key, session, (index, batch_index, seq, message, about))


def _note_disconnected(session: Session, reason: str, cause: int) -> int:
    """The `consumer.disconnected` row."""
    topic = session.topic
    return topic.runtime.rows.consumer_disconnected(
        cause, **session.subscription.names, client=session.consumer.number, reason=reason
    )


def new_delivered_sets(runtime: Pulsar) -> None:
    """Create the sets of message numbers delivered, acknowledged and settled, by subscription."""
    for name in sorted(runtime.subscriptions):
        runtime.delivered[name] = BitMap()
        runtime.acknowledged[name] = BitMap()
        runtime.settled[name] = BitMap()
