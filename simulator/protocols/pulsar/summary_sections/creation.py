"""`replicators` and `topics` of the summary: the state of every geo-replicator and topic.

A replicator has the error that prevents replication, a topic its shape and schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.admin.stats import oldest_pending_us
from simulator.protocols.pulsar.creation import schemas
from simulator.protocols.pulsar.summary_sections import start_checks

if TYPE_CHECKING:
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.world import World


def replicators(run: World) -> dict[str, dict[str, dict[str, Any]]]:
    """The geo-replicators by source cluster, target cluster and topic.

    Returns {X: {Y: {topic: {state, connected, replication_backlog, delay_s, retries, last_error,
    start_check}}}}. A partitioned topic has its partitions under `partitions` and the totals of pulsar-admin:
    connected when all are, the largest delay, sums. `retries` is the number of retries over the run, after a
    failed start or a lost connection. `last_error` is the error that prevents replication now.
    """
    return {name: _of_cluster(run.runtime, name) for name in run.runtime.cluster_names}


def _of_cluster(runtime: Pulsar, name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for topic in runtime.clusters[name].topics.values():
        for peer, replicator in topic.replicators.items():
            of_peer = found.setdefault(peer, {})
            if topic.partition < 0:
                of_peer[topic.name] = {**figures(replicator), **of_peer.get(topic.name, {})}
            else:
                of_peer.setdefault(topic.base, {}).setdefault("partitions", {})[topic.name] = figures(
                    replicator
                )
    for of_peer in found.values():
        for one in of_peer.values():
            if "state" not in one:
                one.update(together(list(one["partitions"].values())))
    return {peer: found[peer] for peer in sorted(found)}


def figures(replicator: Replicator) -> dict[str, Any]:
    """One log's replicator: its state, and the error that prevents replication."""
    return {
        "state": replicator.state,
        "connected": replicator.connected,
        "replication_backlog": replicator.topic.log.length - 1 - replicator.settled_mark_delete(),
        "delay_s": oldest_pending_us(replicator) // 1_000_000,
        "retries": replicator.failed_starts,
        "last_error": replicator.last_error,
        "start_check": start_checks.of_replicator(replicator),
    }


def together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The totals of partitions, as pulsar-admin computes them.

    They have the first state that is not "started", and the first error with its start check.
    """
    states = [part["state"] for part in parts]
    return {
        "state": next((state for state in states if state != "started"), "started"),
        "connected": all(part["connected"] for part in parts),
        "replication_backlog": sum(part["replication_backlog"] for part in parts),
        "delay_s": max(part["delay_s"] for part in parts),
        "retries": sum(part["retries"] for part in parts),
        "last_error": next((part["last_error"] for part in parts if part["last_error"]), None),
        "start_check": next(
            (part["start_check"] for part in parts if part["last_error"]), parts[0]["start_check"]
        ),
    }


def topics(run: World) -> dict[str, dict[str, Any]]:
    """The topics of each cluster with partitions and schemas.

    Returns {cluster: {topic: {partitions, schemas}}}. 0 partitions is a plain topic. Schemas are oldest
    first, versions from 0 as in Pulsar. A topic that does not exist in a cluster has no entry for it, nor
    does a log that only has a partition's name.
    """
    runtime = run.runtime
    return {
        name: {
            base: _shape(runtime, name, base)
            for base in sorted(runtime.scenario.topics)
            if runtime.clusters[name].shape(base) is not None
        }
        for name in runtime.cluster_names
    }


def _shape(runtime: Pulsar, cluster: str, base: str) -> dict[str, Any]:
    versions = schemas.versions(runtime.clusters[cluster], base)
    listed = [
        {"version": number, "schema": schema.name, "type": schema.type}
        for number, schema in enumerate(versions)
    ]
    return {"partitions": runtime.clusters[cluster].shape(base), "schemas": listed}
