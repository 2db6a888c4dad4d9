"""What a subscription and its dispatcher need of their topic, as a protocol by role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.ack_sync.roles import TopicOfSync
from simulator.protocols.pulsar.broker.session_roles import TopicOfSession
from simulator.protocols.pulsar.storage.roles import TopicOfLog

if TYPE_CHECKING:
    from pyroaring import BitMap

    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.hot_settings import HotSettings
    from simulator.protocols.pulsar.runtime import Runtime
    from simulator.protocols.pulsar.shadow.reads import Reads


class TopicOfSubscription(TopicOfSync, TopicOfSession, TopicOfLog, Protocol):
    """The topic that a subscription reads (`broker.topic.Topic`)."""

    hot: HotSettings
    active_by_ring: bool
    migrated_to: str | None
    owed_from: dict[str, BitMap]
    """By subscription the messages that were here when it was opened first."""

    @property
    def cluster(self) -> Cluster:
        """The cluster that it is in."""

    @property
    def runtime(self) -> Runtime:
        """Clock, trace and tables."""

    @property
    def reads(self) -> Reads | None:
        """Counts which reads the cache serves, where that is counted."""

    @property
    def present(self) -> BitMap:
        """Numbers of the messages that were ever in its log."""

    def evaluate_controller(self, cause: int) -> None:
        """Start or stop the snapshot controller."""
