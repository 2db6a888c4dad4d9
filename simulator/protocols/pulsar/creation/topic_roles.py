"""What creating and deleting topics needs of a topic, as protocols by role.

Rules: `broker.topic.Topic` and `broker.subscription.Subscription` play these roles.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.storage.roles import ReplicatorOfLog, SubscriptionOfLog, TopicOfLog

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.base_cluster import BaseCluster
    from simulator.protocols.pulsar.broker.topic_roles import AudienceOfTopic, BrokerOfTopic
    from simulator.protocols.pulsar.runtime import Runtime


class SubscriptionOfCatalogue(SubscriptionOfLog, Protocol):
    """A subscription that new partitions get, or that is deleted with its topic."""

    type: str
    replicated: bool


class ReplicatorOfCatalogue(ReplicatorOfLog, Protocol):
    """A replicator that is removed with its topic."""

    def remove(self, cause: int) -> None:
        """End the replicator with its cursor."""


class TopicOfCatalogue(TopicOfLog, Protocol):
    """A topic, or one partition of it, that is created or deleted."""

    partition: int
    counts: dict[str, int]
    marker_bytes: int
    producers_seen: dict[str, tuple[int, int]]

    @property
    def cluster(self) -> BaseCluster[TopicOfCatalogue]:
        """The cluster that it is in."""

    @property
    def runtime(self) -> Runtime:
        """Clock, trace and tables."""

    @property
    def subscriptions(self) -> MutableMapping[str, SubscriptionOfCatalogue]:
        """Its subscriptions by name."""

    @property
    def replicators(self) -> MutableMapping[str, ReplicatorOfCatalogue]:
        """Its replicators by peer."""

    @property
    def audiences(self) -> MutableMapping[str, AudienceOfTopic]:
        """Its audiences by name."""

    def load(self, cause: int) -> None:
        """A broker takes the topic."""

    def unload(self, reason: str, cause: int, clean: bool = True) -> None:
        """Leave the broker."""

    def take_broker(self, broker: BrokerOfTopic | None) -> None:
        """Be served by a broker."""

    def evaluate_controller(self, cause: int) -> None:
        """Start or stop the snapshot controller."""

    def add_subscription(
        self, name: str, type_: str, mark_delete: int, replicated: bool, reason: str, cause: int
    ) -> SubscriptionOfCatalogue:
        """Open a cursor with this mark-delete index."""
