"""What a cluster needs of its topics and brokers, as protocols by role.

Rules: `broker.topic.Topic`, `shadow.topic.ShadowTopic`, `broadcast.broker.Broker` and
`broadcast.audience.Audience` play these roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from simulator.protocols.pulsar.runtime_roles import TopicOfRuntime

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.hot_settings import HotSettings
    from simulator.protocols.pulsar.scenario.model import BrokerSpec


class BrokerOfCluster(Protocol):
    """A declared broker."""

    name: str
    number: int
    spec: BrokerSpec
    topics: list[str]


class AudienceOfCluster(Protocol):
    """Many clients of one topic."""

    def region_down(self) -> None:
        """The cluster crashed, and the clients with it."""


class TopicOfCluster(TopicOfRuntime, Protocol):
    """A topic, or one partition of it, in a cluster."""

    partition: int
    terminated: bool
    refuses: str | None
    migrating: bool
    migrated_to: str | None
    policies: dict[str, Any]
    hot: HotSettings

    @property
    def cluster(self) -> Any:
        """The cluster that it is in."""

    @property
    def audiences(self) -> Mapping[str, AudienceOfCluster]:
        """Its audiences by name."""

    def take_broker(self, broker: BrokerOfCluster | None) -> None:
        """Be served by a broker."""

    def load(self, cause: int) -> None:
        """A broker takes the topic."""

    def unload(self, reason: str, cause: int, clean: bool = True) -> None:
        """Leave the broker."""
