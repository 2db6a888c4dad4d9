"""`ack_sync` of the summary: figures of acknowledgement-state sync, by subscription and cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.ack_sync.sync import NONE

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.world import World


def ack_sync(run: World) -> dict[str, dict[str, dict[str, Any]]]:
    """The sync figures of subscriptions that synchronise by the scenario or by a migration.

    Returns {subscription: {cluster: {filtered, last_sync_us}}} with the clusters that have them. `filtered`
    are messages that the cluster skipped because a peer had reported them as acknowledged. `last_sync_us` is
    the instant at which it last applied a peer's state (null: never). Partitions are summed, and the latest
    instant counts.
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
