"""`ack_sync` of the summary: what acknowledgement-state sync did, by subscription and cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.ack_sync.sync import NONE

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.system.run_view import RunView


def ack_sync(run: RunView) -> dict[str, dict[str, dict[str, Any]]]:
    """{subscription: {cluster: {filtered, last_sync_us}}} of the subscriptions that synchronise, by the
    scenario or by a migration, and the clusters that have them.

    `filtered` are messages that the cluster passed over because a peer had said so, `last_sync_us` is the
    instant at which it last took in what a peer says (null: never); partitions are summed, and the latest
    counts.
    """
    runtime = run.runtime
    shown: dict[str, dict[str, dict[str, Any]]] = {}
    for name in sorted(runtime.subscriptions):
        found = {
            cluster: [
                topic.subscriptions[name]
                for topic in runtime.clusters[cluster].topics.values()
                if name in topic.subscriptions
            ]
            for cluster in runtime.cluster_names
        }
        asked = runtime.subscriptions[name].acknowledgement_sync != NONE
        if not asked and all(
            one.sender is None and one.filter.received_us is None for here in found.values() for one in here
        ):
            continue
        shown[name] = {cluster: _here(here) for cluster, here in found.items() if here}
    return shown


def _here(partitions: list[Subscription]) -> dict[str, Any]:
    instants = [one.filter.received_us for one in partitions if one.filter.received_us is not None]
    return {
        "filtered": sum(one.filter.filtered for one in partitions),
        "last_sync_us": max(instants, default=None),
    }
