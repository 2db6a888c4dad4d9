"""Protocols by role: what creating topics and schemas and blue-green migration need of a client.

Rules: `client.producer.Producer` and `client.consumer.Consumer` play these roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    pass


class ClientOfTopic(Protocol):
    """A client that connects to a topic. `refusal` is why the topic could not be created, if so."""

    number: int
    refusal: str | None
