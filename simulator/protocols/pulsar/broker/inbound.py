"""The replicators that write to a topic: of other clusters, and of sources that it is a shadow of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.shadow.replicator import ShadowReplicator


def disconnect(topic: Topic, reason: str, cause: int, delivered: bool = False) -> None:
    """The replicators of other clusters lose their producers here.

    `delivered`: the process died, and the receipts that it had sent arrive before its end is noticed.
    """
    for other in topic.runtime.clusters.values():
        remote = other.topics.get(topic.name)
        replicator = remote.replicators.get(topic.cluster.name) if remote is not None else None
        if replicator is not None:
            replicator.disconnect("remote-" + reason, cause, delivered)


def disconnect_sources(topic: Topic, reason: str, cause: int) -> None:
    """The shadow replicators that name the topic lose their producers.

    They connect to any topic, so it need not be a shadow.
    """
    for replicator in shadow_replicators(topic):
        replicator.disconnect("shadow-" + reason, cause)


def shadow_replicators(topic: Topic) -> list[ShadowReplicator]:
    """The shadow replicators of topics that list this one among their shadows, even if it is none."""
    return [
        source.shadows.replicators[topic.name]
        for source in topic.cluster.topics.values()
        if topic.name in source.shadows.replicators
    ]
