"""Protocols by role: what a topic needs of its audiences and broker, and a cluster of its topics.

Rules: `broadcast.audience.Audience`, `broadcast.broker.Broker` and `broadcast.admissions.Admissions` play
these roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from simulator.protocols.pulsar.broker.session_roles import BrokerOfSession
from simulator.protocols.pulsar.runtime_roles import TopicOfRuntime
from simulator.protocols.pulsar.storage.roles import AudienceOfLog

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.hot_settings import HotSettings
    from simulator.protocols.pulsar.scenario.model import BrokerSpec
    from simulator.protocols.pulsar.storage.retention_timers import RetentionTimers


class AudienceOfTopic(AudienceOfLog, Protocol):
    """Many similar subscriptions of the topic, each with one consumer."""

    connected: int
    """Members that are connected."""

    def read(self, cause: int) -> None:
        """Send the new entries."""

    def topic_loaded(self) -> None:
        """A broker serves the topic again."""

    def topic_unloaded(self, reason: str, cause: int) -> None:
        """The topic left its broker."""

    def region_down(self) -> None:
        """The cluster crashed, and the clients with it."""

    def topic_deleted(self) -> None:
        """The subscriptions were deleted with the topic."""

    def pushed(self, first_index: int) -> None:
        """The ledgers below an entry were deleted."""


class AdmissionsOfTopic(Protocol):
    """The queue of clients that wait to be connected."""

    def ask(self, consumer: Any, topic: Any) -> None:
        """A client requests to subscribe."""

    def forget_client(self, client: Any) -> None:
        """Remove a client that no longer waits."""

    def ask_all(self, audience: Any) -> None:
        """Every member of an audience requests to be connected."""


class BrokerOfTopic(BrokerOfSession, Protocol):
    """The declared broker that serves a topic."""

    name: str
    number: int
    spec: BrokerSpec
    topics: list[str]

    @property
    def admissions(self) -> AdmissionsOfTopic:
        """Its queue of clients."""

    def service_us(self, size_bytes: int) -> int:
        """How long a dispatch of that many bytes keeps the broker busy."""

    def fan_out(self, run: Any, requested_us: int | None = None) -> None:
        """Queue the dispatches of an audience."""

    def forget_audience(self, audience: Any) -> None:
        """The clients of an audience have closed."""

    def forget_topic(self, topic: Any) -> None:
        """The topic leaves the broker."""


class TopicOfCluster(TopicOfRuntime, Protocol):
    """A topic, or one partition of it, in a cluster."""

    partition: int
    refuses: str | None
    migrating: bool
    migrated_to: str | None
    hot: HotSettings

    @property
    def audiences(self) -> Mapping[str, AudienceOfTopic]:
        """Its audiences by name."""

    @property
    def timers(self) -> RetentionTimers:
        """Its periodic checks."""

    def take_broker(self, broker: BrokerOfTopic | None) -> None:
        """Set the broker that serves it."""

    def load(self, cause: int) -> None:
        """A broker takes the topic."""

    def unload(self, reason: str, cause: int, clean: bool = True, delivered: bool = False) -> None:
        """Leave the broker; `delivered`: what its process had sent still arrives."""
