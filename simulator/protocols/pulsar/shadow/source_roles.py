"""Protocols by role: what a shadow replicator and its source need of topics.

Rules: `broker.topic.Topic`, `shadow.topic.ShadowTopic` and `broker.cluster.Cluster` play these roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic


def as_shadow(topic: Topic) -> ShadowTopic | None:
    """The topic as a shadow, None for an ordinary one: only shadows have a source."""
    return None if topic.source is None else cast("ShadowTopic", topic)
