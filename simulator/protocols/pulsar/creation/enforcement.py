"""What brokers do when a policy changed: topics not allowed here are deleted, replicators follow the lists.

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
    """Let replicators follow the lists in force: what a broker does upon a policy event."""
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
    """Replicators of one topic: those off the list go with their cursors, new ones begin at
    replicationStartAt.
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
