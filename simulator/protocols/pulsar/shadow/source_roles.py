"""Protocols by role: what a shadow replicator and its source need of topics.

Rules: `broker.topic.Topic`, `shadow.topic.ShadowTopic` and `broker.cluster.Cluster` play these roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, cast

from simulator.protocols.pulsar.storage.roles import ClusterOfLog, TopicInCluster

if TYPE_CHECKING:
    from simulator.log.columns import SharedColumn
    from simulator.protocols.pulsar.broker.hot_settings import HotSettings
    from simulator.protocols.pulsar.runtime import Runtime
    from simulator.protocols.pulsar.shadow.reads import Reads
    from simulator.protocols.pulsar.shadow.replicator import ShadowReplicator
    from simulator.protocols.pulsar.shadow.source import ShadowSource


class ClusterOfSource(ClusterOfLog, Protocol):
    """The cluster of a source and its shadows."""

    @property
    def topics(self) -> Mapping[str, TopicOfSource]:
        """Its topics by name."""


class ShadowOfSource(Protocol):
    """A shadow of the topic (`shadow.topic.ShadowTopic`).

    `waits_for_source`: whether it could not be loaded, because its source was missing.
    """

    rank: int
    epoch: int
    loaded: bool
    waits_for_source: bool

    def load(self, cause: int) -> None:
        """A broker takes the topic."""

    def hear_of_ledgers(self, argument: tuple[int, int]) -> None:
        """The source's list of ledgers has changed."""

    def add(self, position: tuple[int, int], cause: int, who: tuple[ShadowReplicator, int] | None) -> str:
        """An entry's position arrived."""


def as_shadow(topic: TopicOfSource) -> ShadowOfSource | None:
    """The topic as a shadow, None for an ordinary one: only shadows have a source."""
    return None if topic.source is None else cast("ShadowOfSource", topic)


class TopicOfSource(TopicInCluster, Protocol):
    """A topic that has shadows, or is one."""

    base: str
    partition: int
    hot: HotSettings
    marker_written: tuple[int, int]

    @property
    def cluster(self) -> ClusterOfSource:
        """The cluster that it is in."""

    @property
    def runtime(self) -> Runtime:
        """Clock, trace and tables."""

    @property
    def source(self) -> TopicOfSource | None:
        """The topic whose ledgers a shadow reads, else None."""

    @property
    def shadows(self) -> ShadowSource:
        """The part of it that its shadows use."""

    @property
    def reads(self) -> Reads | None:
        """Counts of the reads served by the cache, where they are counted."""

    @property
    def stored_seqs(self) -> SharedColumn:
        """The rows that stored the entries, by index in its log."""
