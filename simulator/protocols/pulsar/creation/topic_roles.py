"""Protocols by role: what creating and deleting topics needs of a topic.

Rules: `broker.topic.Topic` and `broker.subscription.Subscription` play these roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.broker.subscription_roles import SubscriptionOfTopic
from simulator.protocols.pulsar.broker.topic_roles import AudienceOfTopic, TopicOfCluster
from simulator.protocols.pulsar.runtime_roles import ClusterOfRuntime, ReplicatorOfRuntime
from simulator.protocols.pulsar.storage.roles import ReplicatorOfLog, TopicOfLog

if TYPE_CHECKING:
    from simulator.protocols.pulsar.runtime import Runtime


class SubscriptionOfCatalogue(SubscriptionOfTopic, Protocol):
    """A subscription that new partitions get, or that is deleted with its topic."""

    replicated: bool


class ReplicatorOfCatalogue(ReplicatorOfRuntime, ReplicatorOfLog, Protocol):
    """A replicator that is removed with its topic."""

    @property
    def topic(self) -> TopicOfLog:
        """The topic that it reads."""

    @property
    def runtime(self) -> Runtime:
        """Clock, trace and tables."""


class TopicOfCatalogue(TopicOfCluster, TopicOfLog, Protocol):
    """A topic, or one partition of it, that is created or deleted."""

    @property
    def cluster(self) -> ClusterOfRuntime:
        """The cluster that it is in."""

    @property
    def runtime(self) -> Runtime:
        """Clock, trace and tables."""

    @property
    def audiences(self) -> Mapping[str, AudienceOfTopic]:
        """Its audiences by name."""

    @property
    def replicators(self) -> Mapping[str, ReplicatorOfCatalogue]:
        """Its replicators by peer."""

    @property
    def subscriptions(self) -> Mapping[str, SubscriptionOfCatalogue]:
        """Its subscriptions by name."""

    def evaluate_controller(self, cause: int) -> None:
        """Start or stop the snapshot controller."""

    def add_subscription(
        self, name: str, type_: str, mark_delete: int, replicated: bool, reason: str, cause: int
    ) -> SubscriptionOfCatalogue:
        """Open a cursor with this mark-delete index."""

    def empty(self, cause: int) -> None:
        """The topic is deleted: remove its cursors, then its ledgers."""
