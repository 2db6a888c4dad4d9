"""The messages that an application holds: processed, acknowledged later by a timer or an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.client.selections import HELD
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.delivery import Delivery
    from simulator.protocols.pulsar.client.message_keys import MessageKey


class HeldMessages:
    """The held messages of one consumer.

    `serials`: by message the serial number of its hold. A timer of an earlier hold is ignored.
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
        consumer.last_seq = runtime.emit((HELD, runtime.now_us, cause, *about, held_us))
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
