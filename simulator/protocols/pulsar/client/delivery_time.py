"""Messages on their way from the broker to a consumer: the option `deliveryTime`.

Rules: a message arrives in the receiver queue `deliveryTime` after the broker has sent it, or together with
the one before it if that arrives later: a connection is first in, first out. The messages of an entry arrive
together. A draw is keyed by consumer, entry and redelivery count. What is on its way when the connection ends
or the broker reads again is dropped like the receiver queue.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import ReceivedMessage, Session
    from simulator.protocols.pulsar.client.consumer import Consumer


class Sent(NamedTuple):
    """A message that arrives at `due_us`; `serial` numbers the consumer's messages."""

    serial: int
    due_us: int
    received: ReceivedMessage


class MessagesInDelivery:
    """The messages that the broker has sent to a consumer and that have not arrived, oldest first.

    `takes_time`: whether there can be any.
    """

    __slots__ = ("_consumer", "_serial", "_time", "pending", "takes_time")

    def __init__(self, consumer: Consumer) -> None:
        runtime = consumer.runtime
        self._consumer = consumer
        self._time = Sampler(
            runtime.option("deliveryTime"), stream_key(runtime.seed, f"delivery/{consumer.name}")
        )
        self._serial = 0
        self.takes_time = self._time.constant != 0
        self.pending: deque[Sent] = deque()

    def send(self, received: ReceivedMessage) -> None:
        """The broker has sent a message."""
        consumer, pending = self._consumer, self.pending
        entry = received.message - max(received.batch_index, 0)  # its first message
        due_us = consumer.runtime.now_us + self._time.at(entry + (received.redelivery << 40))
        if pending:
            due_us = max(due_us, pending[-1].due_us)
        self._serial += 1
        pending.append(Sent(self._serial, due_us, received))
        consumer.runtime.schedule(due_us, consumer.rank, self.arrive, self._serial)

    def arrive(self, serial: int) -> None:
        """A message arrives, unless it was dropped."""
        if self.pending and self.pending[0].serial == serial:
            self._consumer.arrived(self.pending.popleft().received)

    def drop(self, session: Session) -> int:
        """Drop the messages of a session; returns their number."""
        kept = deque(sent for sent in self.pending if sent.received.session is not session)
        dropped = len(self.pending) - len(kept)
        self.pending = kept
        return dropped

    def clear(self) -> None:
        """The client's process ended."""
        self.pending.clear()
