"""Protocols by role: what messages in delivery need of their consumer.

Rule: `client.consumer.Consumer` plays this role.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.runtime import BrokerRuntime
    from simulator.protocols.pulsar.broker.session import ReceivedMessage


class ConsumerOfDelivery(Protocol):
    """The client that receives the messages."""

    name: str
    rank: int
    runtime: BrokerRuntime

    def arrived(self, received: ReceivedMessage) -> None:
        """A message arrived in the receiver queue."""
