"""Messages that a consumer has received: their keys, and the time that a delivery takes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.kernel.distributions import Sampler
from simulator.kernel.named_tuples import reduce_tuple
from simulator.kernel.random import stream_key
from simulator.trace.registry import About

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import ReceivedMessage, Session
    from simulator.protocols.pulsar.client.consumer import Consumer


Place = tuple[str, str]
"""(cluster, topic): a client with a lookup service may hold a topic's messages of two clusters."""


class MessageKey(NamedTuple):
    """A client's key of a message; `batch_index` is NULL where the entry is not a batch.

    Keys of delivered messages and their acks, between client and broker.
    """

    place: Place
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not used
    batch_index: int

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_tuple(self)


Ack = tuple[int, int, int, int, About]
"""The fields of an ack on its way to the broker.

They are (index, batch_index or NULL, seq of the ack's row, message number, columns that its rows share).
"""


class Delivery(NamedTuple):
    """A message delivered to the application.

    `seq` is the seq of its `message.delivered` row. `about` has the columns that all rows about it share.

    A message that an application has received.
    """

    received: ReceivedMessage
    seq: int
    key: MessageKey
    about: About

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_tuple(self)


# --- messages on their way from the broker to a consumer: the option `deliveryTime`
#
# Rules: a message arrives in the receiver queue `deliveryTime` after the broker has sent it, or together
# with the one before it if that arrives later: a connection is first in, first out. The messages of an
# entry arrive together. A draw is keyed by consumer, entry and redelivery count. What is on its way when
# the connection ends or the broker reads again is dropped like the receiver queue.


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
