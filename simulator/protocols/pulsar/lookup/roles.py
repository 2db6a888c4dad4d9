"""Protocols by role: what the connections of a producer need of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.creation.client_roles import ProducerOfTopic

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.runtime import BrokerRuntime


class ProducerOfConnections(ProducerOfTopic, Protocol):
    """A producer that connects to brokers (`client.producer.Producer`)."""

    runtime: BrokerRuntime
    rank: int
    cluster_name: str

    @property
    def alive(self) -> bool:
        """Whether its process runs."""

    def retry(self, _argument: None) -> None:
        """Send the pending messages again."""
