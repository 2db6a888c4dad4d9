"""`ack_sync` of the summary: what acknowledgement-state sync did, by subscription and cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.pulsar.acknowledgement_sync import NONE

if TYPE_CHECKING:
    from simulator.world import World


def ack_sync(world: World) -> dict[str, dict[str, dict[str, Any]]]:
    """{subscription: {cluster: {filtered, last_sync_us}}} of the subscriptions that synchronise and the clusters that have them.

    `filtered` are messages that the cluster passed over because a peer had said so, `last_sync_us` is the instant at which it
    last took in what a peer says (null: never); partitions are summed, and the latest counts.
    """
    runtime = world.runtime
    told: dict[str, dict[str, dict[str, Any]]] = {}
    for name in sorted(runtime.subscriptions):
        if runtime.subscriptions[name].acknowledgement_sync == NONE:
            continue
        told[name] = {}
        for cluster in runtime.cluster_names:
            here = [topic.subscriptions[name] for topic in runtime.clusters[cluster].topics.values() if name in topic.subscriptions]
            if here:
                instants = [one.synced_at_us for one in here if one.synced_at_us is not None]
                told[name][cluster] = {"filtered": sum(one.filtered for one in here), "last_sync_us": max(instants, default=None)}
    return told
