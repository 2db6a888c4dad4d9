"""The processing of messages by a flow's consumers, in columns over the arrivals.

Rules: an arrival is a message that is published, or one to redeliver (negatively acknowledged earlier). The
dispatcher assigns them in turn, so that with n consumers each gets every n-th. It processes them one after
another, and then acknowledges, holds or negatively acks each. The effects of a hold or a negative ack are
later: the first of them ends the stretch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.kernel.random import Shares
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.fast_path.survey import HOLD_OVER, PROCESSED, REDELIVERY_REQUESTED
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.delivery import Delivery
    from simulator.protocols.pulsar.fast_path.flow import Flow
    from simulator.protocols.pulsar.fast_path.survey import Survey

NEVER = 1 << 62
"""No index and no instant."""
ACKNOWLEDGED = CODE["message.acknowledged"]
HELD, NEGATIVE = CODE["message.held"], CODE["message.negatively-acknowledged"]


_NONE = np.empty(0, dtype=np.int64)


class Outcome(NamedTuple):
    """A consumer's result for a message whose processing ends at a pending event.

    `event` is the event's place in the survey. It holds the row's type, and for how long the message is held
    (NULL: until an operator releases it, or not at all).
    """

    at_us: int
    event: int
    turn: int
    delivery: Delivery
    kind: int
    held_us: int


class Work:
    """Columns over arrivals in order: instants, message numbers, indices and the result for each.

    `arrived_us`, `begun_us`, `done_us`, message numbers, indices, redelivery counts, and `kinds`, the type of
    row that ends its processing (empty where no choice is made). `published_places` are the places of
    messages that are published, `redelivered_places` those of redelivered messages. `aside` are the places of
    those that are not acknowledged at once, `held_us` for how long, as in an outcome. `outcomes` are those of
    pending events.
    """

    __slots__ = (
        "flow",
        "survey",
        "arrived_us",
        "begun_us",
        "done_us",
        "messages",
        "indices",
        "redeliveries",
        "kinds",
        "held_us",
        "aside",
        "published_places",
        "redelivered_places",
        "outcomes",
    )

    def __init__(self, flow: Flow, survey: Survey, published_us: np.ndarray) -> None:
        self.flow = flow
        self.survey = survey
        self._assign(published_us)
        self._choose()

    def __len__(self) -> int:
        return len(self.arrived_us)

    @property
    def plain(self) -> bool:
        """Whether every arrival is acknowledged after processing."""
        return not self.aside

    def places(self, turn: int) -> slice:
        """The places of a consumer's arrivals."""
        return slice(turn, None, len(self.flow.sessions))

    def _assign(self, published_us: np.ndarray) -> None:
        runtime, topic, ordinals = self.flow.producer.runtime, self.flow.topic, np.arange(len(published_us))
        self.redelivered_places, self.published_places = _NONE, ordinals
        self.arrived_us, self.messages, self.indices = (
            published_us,
            runtime.message_count + ordinals,
            topic.log.length + ordinals,
        )
        self.redeliveries = np.zeros_like(ordinals)
        returned = [event for event in self.survey.own if event.method == REDELIVERY_REQUESTED]
        if returned:
            back = [event.argument[1] for event in returned]
            # at one instant, consumers precede producers
            at = published_us.searchsorted([event.at_us for event in returned])
            self.redelivered_places, self.published_places = (
                at + np.arange(len(back)),
                ordinals + at.searchsorted(ordinals, side="right"),
            )
            self.arrived_us = np.insert(self.arrived_us, at, [event.at_us for event in returned])
            self.messages = np.insert(self.messages, at, [delivery.received.message for delivery in back])
            self.indices = np.insert(self.indices, at, [delivery.key.index for delivery in back])
            self.redeliveries = np.insert(
                self.redeliveries,
                at,
                [self.flow.dispatcher.redeliveries.get(delivery.key.index, 0) + 1 for delivery in back],
            )

    def plan(self, horizon_us: int) -> int:
        """Compute when the processing of each arrival begins and ends.

        Returns the first instant, at most `horizon_us`, of an effect outside the stretch.
        """
        draws = self.messages + (self.redeliveries << 40) if len(self.redelivered_places) else self.messages
        self.begun_us, self.done_us = np.empty((2, len(self)), dtype=np.int64)
        for turn, consumer in enumerate(self.flow.consumers):
            mine, busy_us = self.places(turn), self.survey.busy_us[turn]
            spans_us, arrived_us = consumer.processing.several(draws[mine]), self.arrived_us[mine]
            if not spans_us.all():
                return int(self.arrived_us[0])  # without processing time the results are at the same instant
            worked_us = spans_us.cumsum()
            before_us = worked_us - spans_us
            self.begun_us[mine] = before_us + np.maximum.accumulate(
                (arrived_us if busy_us is None else np.maximum(arrived_us, busy_us)) - before_us
            )
            self.done_us[mine] = self.begun_us[mine] + spans_us
        horizon_us = min(horizon_us, *(self._permitted_us(turn) for turn in range(len(self.flow.sessions))))
        return min([horizon_us, *self._later_us()])

    def _permitted_us(self, turn: int) -> int:
        """Until when a consumer has permits, which are granted again as it takes messages."""
        session, mine = self.flow.sessions[turn], self.places(turn)
        arrived_us = self.arrived_us[mine]
        if len(arrived_us) < session.permits:
            return NEVER
        taken = session.taken + self.begun_us[mine].searchsorted(arrived_us)  # before each arrival
        short = (
            session.permits + taken // session.flow_at * session.flow_at - np.arange(len(arrived_us)) <= 1
        ).nonzero()[0]
        return int(arrived_us[short[0]]) if len(short) else NEVER

    def _choose(self) -> None:
        """Choose the result for each processed message."""
        consumers = self.flow.consumers
        chosen = [
            (turn, consumer, consumer.selections.candidates)
            for turn, consumer in enumerate(consumers)
            if isinstance(consumer.selections.candidates, Shares)
        ]
        self.aside, self.kinds, self.held_us = [], _NONE, _NONE
        if chosen:
            self.kinds, self.held_us = np.full(len(self), ACKNOWLEDGED), np.full(len(self), NULL)
            for turn, consumer, shares in chosen:
                among = shares.among(self.messages[self.places(turn)])
                for place in (turn + among * len(consumers)).tolist():
                    self.kinds[place], self.held_us[place] = consumer.selections.choice(
                        int(self.messages[place])
                    )
            self.aside = (self.kinds != ACKNOWLEDGED).nonzero()[0].tolist()
        self.outcomes: list[Outcome] = []
        for place, (at_us, _rank, _order, turn, method, argument) in enumerate(self.survey.own):
            consumer = consumers[turn]
            if method == PROCESSED and (current := consumer.current) is not None:
                choice = consumer.selections.choice(current.received.message)
                self.outcomes.append(Outcome(at_us, place, turn, current, *choice))
            elif method == HOLD_OVER:
                self.outcomes.append(
                    Outcome(at_us, place, turn, consumer.unacked[argument[1]], ACKNOWLEDGED, NULL)
                )

    def _later_us(self) -> list[int]:
        """When held messages are acknowledged, and redelivery of negatively acked ones is requested."""
        later_us = [
            self.until_us(outcome.turn, outcome.at_us, outcome.kind, outcome.held_us)
            for outcome in self.outcomes
            if outcome.kind != ACKNOWLEDGED
        ]
        for place in self.aside:
            later_us.append(
                self.until_us(
                    place % len(self.flow.sessions),
                    *(int(values[place]) for values in (self.done_us, self.kinds, self.held_us)),
                )
            )
        return later_us

    def until_us(self, turn: int, at_us: int, kind: int, held_us: int) -> int:
        """Until when a message is pending that a consumer holds or negatively acks at an instant.

        NEVER when that is not determined. Of negative acks it is right for a consumer's first one, which is
        requested before the others.
        """
        if kind == NEGATIVE:
            return self.flow.consumers[turn].redelivery.single_us(self.flow.topic.place, at_us)[1]
        return NEVER if held_us == NULL else at_us + held_us
