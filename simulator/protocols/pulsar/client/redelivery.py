"""How a consumer requests redelivery: negative acks and ack timeouts, and when requests are sent.

Rules: in Shared and Key_Shared, single messages are requested. Otherwise a request covers everything
unacknowledged, so the number of requests matters. Earlier deliveries do not time out after it, because
everything is redelivered (UnAckedMessageTracker.clear). An ack timeout is requested at its instant.

When the client sends these requests depends on its release (option `negativeAckTracker`). Since PIP-393 a
negative ack is due after the delay, and its due time in epoch milliseconds loses its lowest
`negativeAckPrecisionBitCnt` bits. The client's timer runs out a delay after the first negative ack, then at
the earliest due time, and each time sends one request for all that is due (`NegativeAcksTracker.add`,
`triggerRedelivery`). Before, the client worked in rounds, three in a delay. In Shared and Key_Shared the
instant of each message's request follows from the first negative ack since none was pending.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyroaring import BitMap

from simulator.protocols.pulsar.client.selections import NEGATIVE
from simulator.protocols.pulsar.markers.entries import EPOCH_MS
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.delivery import Delivery
    from simulator.protocols.pulsar.client.message_keys import MessageKey, Place

_ROUNDS_IN_A_DELAY = 3
BITMAP, ROUNDS = "bitmap", "rounds"
"""The client's tracker: since PIP-393, and before."""
_ONE_BY_ONE = ("Shared", "Key_Shared")


class Rounds(NamedTuple):
    """The rounds of one topic since the first pending negative ack.

    `number`: of the last one. `waiting`: by entry when its redelivery is due, its delivery, and the row of
    the negative ack.
    """

    begun_us: int
    number: int
    waiting: dict[int, tuple[int, Delivery, int]]


class RedeliveryRequests:
    """The redelivery requests of one consumer.

    `requested`: redelivery requested, not yet received. A cumulative ack or the end of a hold covers such a
    message, too. `negatively_acknowledged`: numbers of messages.
    """

    __slots__ = (
        "_consumer",
        "_due",
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
        self.negatively_acknowledged = BitMap()
        self._untimed: dict[Place, int] = {}  # deliveries before this row no longer time out
        self._rounds: dict[Place, Rounds] = {}
        self._tracker = consumer.runtime.option("negativeAckTracker")
        # by topic, and by due time in epoch ms, the newest negative ack; a timer runs while any is due
        self._due: dict[Place, dict[int, tuple[Delivery, int]]] = {}
        # of Shared and Key_Shared: the first negative ack since none was pending, and the last request
        self._pending: dict[Place, tuple[int, int]] = {}

    def clear(self) -> None:
        """The process was killed."""
        self.requested.clear()
        self._rounds.clear()
        self._due.clear()
        self._pending.clear()

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
        """The application negatively acks it; the client requests it after negativeAckRedeliveryDelay."""
        consumer, (received, _delivered_seq, key, about) = self._consumer, delivery
        runtime = consumer.runtime
        seq = consumer.last_seq = runtime.emit((NEGATIVE, runtime.now_us, cause, *about))
        self.negatively_acknowledged.add(received.message)
        self._note_requested(key)
        due_us = runtime.now_us + consumer.spec.redelivery_delay_us
        if received.session.subscription.type in _ONE_BY_ONE:
            at_us = self.take_single(key.place, runtime.now_us)
            runtime.schedule(at_us, consumer.rank, self.delay_over, (consumer.epoch, delivery, seq))
        elif self._tracker == BITMAP:
            self._request_when_due(delivery, seq, due_us)
        else:
            self._request_in_round(delivery, seq, due_us)

    def single_us(self, place: Place, at_us: int) -> tuple[int, int]:
        """When a message of Shared or Key_Shared is requested that is negatively acked at an instant.

        Returns the instant of the first negative ack since none was pending, and that of the request. Later
        negative acks are not requested earlier.
        """
        delay_us = self._consumer.spec.redelivery_delay_us
        begun_us, last_us = self._pending.get(place, (at_us, NULL))
        if last_us <= at_us:
            begun_us = at_us
        if self._tracker == ROUNDS:
            number = -(-(at_us + delay_us - begun_us) * _ROUNDS_IN_A_DELAY // delay_us)
            return begun_us, begun_us - (-delay_us * number // _ROUNDS_IN_A_DELAY)
        first_us = begun_us + delay_us
        later_ms = self._due_ms(at_us + delay_us) - EPOCH_MS - first_us // 1000
        return begun_us, first_us + max(0, later_ms) * 1000

    def take_single(self, place: Place, at_us: int) -> int:
        """Record a negative ack of Shared or Key_Shared, and return when the message is requested."""
        self._pending[place] = begun_us, requested_us = self.single_us(place, at_us)
        return requested_us

    def _due_ms(self, due_us: int) -> int:
        """The due time in epoch ms without its lowest bits."""
        bits = self._consumer.spec.negative_ack_precision_bits
        return (EPOCH_MS + due_us // 1000) >> bits << bits

    def delay_over(self, argument: tuple[int, Delivery, int]) -> None:
        """Request redelivery of a negatively acknowledged message."""
        epoch, delivery, seq = argument
        if epoch == self._consumer.epoch:
            self._request(delivery, seq)

    def _request_when_due(self, delivery: Delivery, seq: int, due_us: int) -> None:
        """Add a negative ack at its due time, and start the topic's timer if it does not run."""
        consumer, place = self._consumer, delivery.key.place
        due_ms = self._due_ms(due_us)
        starts = place not in self._due
        self._due.setdefault(place, {})[due_ms] = (delivery, seq)
        if starts:
            consumer.runtime.schedule(due_us, consumer.rank, self.timer_over, (consumer.epoch, place))

    def timer_over(self, argument: tuple[int, Place]) -> None:
        """Send one request for all that is due, and start the timer for the next due time."""
        epoch, place = argument
        consumer = self._consumer
        if epoch != consumer.epoch:
            return
        pending, now_us = self._due[place], consumer.runtime.now_us
        now_ms = EPOCH_MS + now_us // 1000
        over = sorted(due_ms for due_ms in pending if due_ms <= now_ms)
        requests = [pending.pop(due_ms) for due_ms in over]
        if pending:
            next_us = now_us + (min(pending) - now_ms) * 1000
            consumer.runtime.schedule(next_us, consumer.rank, self.timer_over, argument)
        else:
            del self._due[place]
        if requests:
            self._request(*requests[-1])

    def _request_in_round(self, delivery: Delivery, seq: int, due_us: int) -> None:
        """Add a delivery to the first round in which it is due.

        Rounds run from the first negative ack until none is pending.
        """
        place, index, _batch_index = delivery.key
        rounds = self._rounds.setdefault(place, Rounds(self._consumer.runtime.now_us, 0, {}))
        rounds.waiting[index] = (due_us, delivery, seq)
        if len(rounds.waiting) == 1 and not rounds.number:
            self._next_round(place)

    def _next_round(self, place: Place) -> None:
        consumer, (begun_us, number, waiting) = self._consumer, self._rounds[place]
        self._rounds[place] = Rounds(begun_us, number + 1, waiting)
        consumer.runtime.schedule(
            begun_us - (-consumer.spec.redelivery_delay_us * (number + 1) // _ROUNDS_IN_A_DELAY),
            consumer.rank,
            self.round_due,
            (consumer.epoch, place),
        )

    def round_due(self, argument: tuple[int, Place]) -> None:
        """Send one request for all deliveries that are due by now."""
        epoch, place = argument
        if epoch != self._consumer.epoch:
            return
        waiting, now_us = self._rounds[place].waiting, self._consumer.runtime.now_us
        due = [index for index, (due_us, _delivery, _seq) in waiting.items() if due_us <= now_us]
        requests = [waiting.pop(index) for index in due]
        if waiting:
            self._next_round(place)
        else:
            del self._rounds[place]
        if requests:
            _due_us, delivery, seq = requests[-1]
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
