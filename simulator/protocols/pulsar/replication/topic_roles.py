"""Protocols by role: what a replicator needs of the topic that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.creation.roles import ClusterOfCreation, TopicOfCreation
from simulator.protocols.pulsar.replication.roles import ClusterOfEntries, TopicOfEntries
from simulator.protocols.pulsar.storage.roles import ReplicatorOfLog, TopicOfLog

if TYPE_CHECKING:
    from simulator.protocols.pulsar.runtime import Runtime


class ClusterOfReplicator(ClusterOfCreation, ClusterOfEntries, Protocol):
    """The cluster of the topic. `index` is its ordinal: the origin of the entries published there."""

    index: int

    @property
    def topics(self) -> Mapping[str, TopicOfEntries]:
        """Its topics by name."""


class TopicOfReplicator(TopicOfCreation, TopicOfEntries, TopicOfLog, Protocol):
    """The topic that a replicator reads (`broker.topic.Topic`)."""

    @property
    def cluster(self) -> ClusterOfReplicator:
        """The cluster that it is in."""

    @property
    def runtime(self) -> Runtime:
        """Clock, trace and tables."""

    @property
    def replicators(self) -> Mapping[str, ReplicatorOfLog]:
        """Its replicators by peer."""
