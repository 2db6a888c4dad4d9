"""The clients that one broker has yet to connect: single clients, and members of audiences in blocks.

Rules: each client takes `connectTime`, one after another, in a queue separate from that of dispatches. A
waiting client keeps its turn even when one before it disconnects.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.pulsar.broadcast.runs import ConnectingBlock
from simulator.protocols.pulsar.client import connecting

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer


class Ask(NamedTuple):
    """A client that waits to be subscribed: its turn is over at `end_us`."""

    client: Consumer
    topic: Topic
    end_us: int


class Admissions:
    """The queue of one broker: single requests in `asks`, in their order, and members in `blocks`.

    `free_us` is when every client in it will be connected.
    """

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.runtime = broker.runtime
        self.blocks: deque[ConnectingBlock] = deque()
        self.asks: dict[int, Ask] = {}
        self.asked = 0
        self.free_us = 0

    def ask(self, consumer: Consumer, topic: Topic) -> None:
        """A client requests to subscribe; its turn is after those of earlier requests."""
        self.asked += 1
        self.free_us = max(self.runtime.now_us, self.free_us) + self.broker.spec.connect_us
        self.asks[self.asked] = Ask(consumer, topic, self.free_us)
        self.runtime.schedule(self.free_us, self.broker.rank, self.admit, self.asked)

    def admit(self, number: int) -> None:
        """The turn of a client is over: subscribe it, unless it no longer waits."""
        ask = self.asks.pop(number, None)
        if ask is not None:
            connecting.admitted(ask.client, ask.topic)

    def ask_all(self, audience: Audience) -> None:
        """Every member of an audience requests a connection; without `connectTime` all connect at once."""
        connect_us = self.broker.spec.connect_us
        if not connect_us:
            self.runtime.fan_out.connect_at_once(audience)
            return
        block = ConnectingBlock(audience, max(self.runtime.now_us, self.free_us), connect_us)
        self.free_us = block.end_us
        self.blocks.append(block)
        self.runtime.fan_out.wake()

    def admitted(self, count: int) -> None:
        """The next members of the first block are connected."""
        block = self.blocks[0]
        block.done += count
        if block.done == block.client.size:
            self.blocks.popleft()

    def forget_client(self, client: Consumer | Audience) -> None:
        """Remove a client that no longer waits."""
        self._keep(lambda one: one.client is not client)

    def forget_topic(self, topic: Topic) -> None:
        """The topic leaves this broker: clients that wait for it are notified."""
        for ask in self._keep(lambda one: one.topic is not topic):
            connecting.sent_away(ask.client, topic)

    def _keep(self, wanted: Callable[[Ask | ConnectingBlock], bool]) -> list[Ask]:
        """Remove the unwanted waiters and return those with single requests.

        Clients that arrive later need not wait for them.
        """
        gone = {number: ask for number, ask in self.asks.items() if not wanted(ask)}
        blocks = deque(block for block in self.blocks if wanted(block))
        if gone or len(blocks) < len(self.blocks):
            self.asks = {number: ask for number, ask in self.asks.items() if number not in gone}
            self.blocks = blocks
            ends_us = [*(block.end_us for block in blocks), *(ask.end_us for ask in self.asks.values())]
            self.free_us = max([self.runtime.now_us, *ends_us])
        return list(gone.values())
