"""Protocols by role: what the batched fast path needs of a producer."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.runtime import BrokerRuntime
    from simulator.protocols.pulsar.lookup.producing import Brokers
    from simulator.protocols.pulsar.scenario.client_model import ProducerSpec


class AttemptsOfProducer(Protocol):
    """When a producer next tries a batched stretch (`fast_path.running.StretchAttempts`)."""

    misses: int

    def missed(self, message: int, until_us: int) -> None:
        """Record that no stretch is possible now, nor before that instant."""


class ProducerOfFastPath(Protocol):
    """The producer whose publishes are computed in columns (`client.producer.Producer`)."""

    runtime: BrokerRuntime
    spec: ProducerSpec
    brokers: Brokers
    number: int
    rank: int
    epoch: int
    cluster_name: str
    every_us: int
    intervals: Any
    """Sampler of the gaps between publishes, None where they are constant."""

    planned: int | None
    scheduled: int
    published: int
    receipted: int
    next_sequence_id: int
    replicate_to: int
    pending: deque[tuple[int, int, str, int]]
    forbidden: str | None

    @property
    def attempts(self) -> AttemptsOfProducer:
        """When to try next."""

    def tick(self, epoch: int) -> int | None:
        """The instant of a planned publish."""
