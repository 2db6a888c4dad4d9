"""Protocols by role: what creating topics and schemas and blue-green migration need of a client.

Rules: `client.producer.Producer` and `client.consumer.Consumer` play these roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from simulator.protocols.pulsar.scenario.client_model import ConsumerSpec, ProducerSpec


class ClientOfTopic(Protocol):
    """A client that connects to a topic. `refusal` is why the topic could not be created, if so."""

    number: int
    refusal: str | None


class ProducerOfTopic(ClientOfTopic, Protocol):
    """A producer with a schema. `schema_refusal` is (reason, sentence) where the topic refuses it."""

    spec: ProducerSpec
    schema: str | None
    schema_refusal: tuple[str, str] | None
    next_sequence_id: int

    def flush_batches(self, cause: int) -> None:
        """Send the open batches."""


class ConsumerOfTopic(ClientOfTopic, Protocol):
    """A consumer that subscribes to a topic."""

    spec: ConsumerSpec
