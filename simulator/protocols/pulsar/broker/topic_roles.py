"""What a topic needs of its audiences and of the declared broker that serves it, as protocols by role.

Rules: `broadcast.audience.Audience`, `broadcast.broker.Broker` and `broadcast.admissions.Admissions` play
these roles.
"""

from __future__ import annotations

from typing import Any, Protocol

from simulator.protocols.pulsar.broker.cluster_roles import AudienceOfCluster, BrokerOfCluster
from simulator.protocols.pulsar.broker.session_roles import BrokerOfSession
from simulator.protocols.pulsar.storage.roles import AudienceOfLog


class AudienceOfTopic(AudienceOfLog, AudienceOfCluster, Protocol):
    """Many alike subscriptions of the topic, each with one consumer."""

    connected: int
    """Members that are connected."""

    def read(self, cause: int) -> None:
        """Read on."""

    def topic_loaded(self) -> None:
        """A broker serves the topic again."""

    def topic_unloaded(self, reason: str, cause: int) -> None:
        """The topic left its broker."""

    def topic_deleted(self) -> None:
        """The subscriptions were deleted with the topic."""

    def ledger_opened(self) -> None:
        """A new ledger was opened."""

    def pushed(self, first_index: int) -> None:
        """The ledgers below an entry were deleted."""


class AdmissionsOfTopic(Protocol):
    """The queue of clients that wait to be connected."""

    def ask(self, consumer: Any, topic: Any) -> None:
        """A client requests to subscribe."""

    def ask_all(self, audience: Any) -> None:
        """Every member of an audience requests to be connected."""


class BrokerOfTopic(BrokerOfCluster, BrokerOfSession, Protocol):
    """The declared broker that serves a topic."""

    @property
    def admissions(self) -> AdmissionsOfTopic:
        """Its queue of clients."""

    def service_us(self, size_bytes: int) -> int:
        """How long a dispatch of that many bytes keeps the broker busy."""

    def fan_out(self, run: Any, asked_us: int | None = None) -> None:
        """Take the dispatches of an audience."""

    def forget_audience(self, audience: Any) -> None:
        """The clients of an audience have closed."""

    def forget_topic(self, topic: Any) -> None:
        """The topic leaves the broker."""
