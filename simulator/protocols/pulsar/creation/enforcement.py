"""Applies a changed policy: deletes topics that are not allowed, and starts and stops replicators.

The source is `PersistentTopic.checkReplication`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.creation import catalogue, policies
from simulator.protocols.pulsar.storage import retention

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar


def apply(runtime: Pulsar, cause: int) -> None:
    """Apply the lists in force in all clusters, as brokers do upon a policy event."""
    for base in sorted(runtime.scenario.topics):
        for cluster in runtime.clusters.values():
            if cluster.shape(base) is not None and policies.kept_out(runtime, cluster.name, base):
                catalogue.delete(cluster, base, "kept-out", cause)
        wanted = policies.pairs(runtime, base)
        if wanted == runtime.replication[base]:
            continue
        runtime.replication[base] = wanted
        for cluster in runtime.clusters.values():
            for topic in tuple(cluster.topics.values()):
                if topic.base == base:
                    follow_list(topic, cause)


def follow_list(topic: Topic, cause: int) -> None:
    """Remove one topic's replicators that are off the list, and add the missing ones.

    Cursors are removed with their replicators. New ones begin at replicationStartAt.
    """
    wanted = topic.remote_clusters()
    gone = [peer for peer in topic.replicators if peer not in wanted]
    for peer in gone:
        topic.replicators.pop(peer).remove(cause)
    if gone:
        retention.cursor_deleted(topic, cause)
    if topic.loaded:
        for peer in wanted:
            if peer not in topic.replicators:
                topic.add_replicator(peer, cause).start(cause)
    topic.evaluate_controller(cause)
