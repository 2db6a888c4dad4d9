"""Protocols by role: what a subscription and its dispatcher need of their topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.ack_sync.roles import ReplicatorOfSync, SubscriptionOfSync, TopicOfSync
from simulator.protocols.pulsar.broker.session_roles import TopicOfSession
from simulator.protocols.pulsar.storage.roles import ReplicatorOfLog, SubscriptionOfLog, TopicOfLog

if TYPE_CHECKING:
    from pyroaring import BitMap

    from simulator.protocols.pulsar.broker.hot_settings import HotSettings
    from simulator.protocols.pulsar.runtime import Runtime
    from simulator.protocols.pulsar.shadow.reads import Reads
    from simulator.protocols.pulsar.snapshots.controller import SnapshotController


class ReplicatorOfSubscription(ReplicatorOfSync, ReplicatorOfLog, Protocol):
    """A replicator of the topic (`replication.replicator.Replicator`)."""


class SubscriptionOfTopic(SubscriptionOfSync, SubscriptionOfLog, Protocol):
    """A subscription of the topic (`broker.subscription.Subscription`)."""

    @property
    def topic(self) -> TopicOfSubscription:
        """The topic that it reads."""

    @property
    def runtime(self) -> Runtime:
        """Clock, trace and tables."""


class TopicOfSubscription(TopicOfSync, TopicOfSession, TopicOfLog, Protocol):
    """The topic that a subscription reads (`broker.topic.Topic`)."""

    hot: HotSettings
    active_by_ring: bool
    migrated_to: str | None
    owed_from: dict[str, BitMap]
    """By subscription, the messages that were in the log when it was first opened."""

    @property
    def runtime(self) -> Runtime:
        """Clock, trace and tables."""

    @property
    def replicators(self) -> Mapping[str, ReplicatorOfSubscription]:
        """Its replicators by peer."""

    @property
    def subscriptions(self) -> Mapping[str, SubscriptionOfTopic]:
        """Its subscriptions by name."""

    @property
    def controller(self) -> SnapshotController | None:
        """Its snapshot controller, if one runs."""

    @property
    def reads(self) -> Reads | None:
        """Counts of the reads served by the cache, where they are counted."""

    @property
    def present(self) -> BitMap:
        """Numbers of the messages that were ever in its log."""

    def evaluate_controller(self, cause: int) -> None:
        """Start or stop the snapshot controller."""
