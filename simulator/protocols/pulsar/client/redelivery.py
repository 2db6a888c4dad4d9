"""How a consumer requests redelivery: negative acks and ack timeouts, and when requests are sent.

Rules: in Shared and Key_Shared, single messages are requested, each at its instant. Otherwise a request
covers everything unacknowledged, so the number of requests matters. The client then works in rounds, three in
a delay, and sends one request for all that is due (NegativeAcksTracker). No earlier delivery times out after
it, because everything is redelivered (UnAckedMessageTracker.clear).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyroaring import BitMap

from simulator.protocols.pulsar.events import CODE

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.runtime import BrokerRuntime
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.client.acknowledging import Delivery
    from simulator.protocols.pulsar.client.deliveries import MessageKey, Place
    from simulator.protocols.pulsar.scenario.client_model import ConsumerSpec

_NEGATIVE = CODE["message.negatively-acknowledged"]
_ROUNDS_IN_A_DELAY = 3
_ONE_BY_ONE = ("Shared", "Key_Shared")


class GivesBack:
    """The part of a Consumer that requests redelivery."""

    runtime: BrokerRuntime
    spec: ConsumerSpec
    rank: int
    epoch: int
    last_seq: int
    sessions: dict[Place, Session]
    in_hand: dict[MessageKey, Delivery]
    held: dict[MessageKey, int]

    def close_if_done(self) -> None:
        """Close once the application holds no message, or none that the close waits for."""

    def init_giving_back(self) -> None:
        """Empty state; called once by the consumer."""
        # redelivery requested, not yet received: what a cumulative ack covers, or the end of a hold, all the
        # same
        self.given_back: dict[MessageKey, Delivery] = {}
        self.negatively_acknowledged = BitMap()
        self.untimed: dict[Place, int] = {}  # what was delivered before this row does not time out any more
        # (begun_us, how many, entry -> due_us, message, row)
        self.rounds: dict[Place, tuple[int, int, dict[int, tuple[int, Delivery, int]]]] = {}

    def drop_given_back(self) -> None:
        """The process died."""
        self.given_back.clear()
        self.rounds.clear()

    def expect_ack(self, key: MessageKey, seq: int) -> None:
        """The application received the message by row `seq`: check whether it acknowledges in time."""
        due_us = self.runtime.now_us + self.spec.ack_timeout_us
        self.runtime.schedule(due_us, self.rank, self.ack_timed_out, (self.epoch, key, seq))

    def ack_timed_out(self, argument: tuple[int, MessageKey, int]) -> None:
        """ackTimeout passed: request redelivery, if it is still unacknowledged."""
        epoch, key, seq = argument
        held = self.in_hand.get(key)
        if (
            epoch == self.epoch
            and held is not None
            and held.seq == seq
            and seq >= self.untimed.get(key.place, 0)
        ):
            self._ask_again(held, seq)
            self.close_if_done()

    def negatively_acknowledge(self, delivery: Delivery, cause: int) -> None:
        """The application negatively acks it; the client requests it after negativeAckRedeliveryDelay."""
        runtime, (received, _delivered_seq, key, about) = self.runtime, delivery
        seq = self.last_seq = runtime.emit((_NEGATIVE, runtime.now_us, cause, *about))
        self.negatively_acknowledged.add(received.message)
        self._give_back(key)
        due_us = runtime.now_us + self.spec.redelivery_delay_us
        if received.session.subscription.type in _ONE_BY_ONE:
            runtime.schedule(due_us, self.rank, self.nack_over, (self.epoch, delivery, seq))
        else:
            self._ask_with_others(delivery, seq, due_us)

    def nack_over(self, argument: tuple[int, Delivery, int]) -> None:
        """Request redelivery of a negatively acknowledged message."""
        epoch, delivery, seq = argument
        if epoch == self.epoch:
            self._ask_again(delivery, seq)

    def _ask_with_others(self, delivery: Delivery, seq: int, due_us: int) -> None:
        """It waits for the first round in which it is due; rounds go on from the first negative ack until
        none waits.
        """
        place, index, _batch_index = delivery.key
        begun_us, rounds, waiting = self.rounds.get(place) or (self.runtime.now_us, 0, {})
        self.rounds[place] = (begun_us, rounds, waiting)
        waiting[index] = (due_us, delivery, seq)
        if len(waiting) == 1 and not rounds:
            self._next_round(place)

    def _next_round(self, place: Place) -> None:
        begun_us, rounds, waiting = self.rounds[place]
        self.rounds[place] = (begun_us, rounds + 1, waiting)
        self.runtime.schedule(
            begun_us - (-self.spec.redelivery_delay_us * (rounds + 1) // _ROUNDS_IN_A_DELAY),
            self.rank,
            self.nack_round,
            (self.epoch, place),
        )

    def nack_round(self, argument: tuple[int, Place]) -> None:
        """One request for all that is due by now."""
        epoch, place = argument
        if epoch != self.epoch:
            return
        waiting = self.rounds[place][2]
        due = [index for index, (due_us, _handed, _seq) in waiting.items() if due_us <= self.runtime.now_us]
        asked = [waiting.pop(index) for index in due]
        if waiting:
            self._next_round(place)
        else:
            del self.rounds[place]
        if asked:
            _due_us, delivery, seq = asked[-1]
            self._ask_again(delivery, seq)

    def _give_back(self, key: MessageKey) -> None:
        delivery = self.in_hand.pop(key, None)
        if delivery is not None and (self.spec.acknowledge == "cumulative" or key in self.held):
            self.given_back[key] = delivery

    def _ask_again(self, delivery: Delivery, cause: int) -> None:
        key = delivery.key
        session = self.sessions.get(key.place)
        if session is not None:
            self._give_back(key)
            if session.subscription.type not in _ONE_BY_ONE:
                self.untimed[key.place] = self.runtime.seq
            session.subscription.dispatcher.redeliver(session, [key.index], cause)
