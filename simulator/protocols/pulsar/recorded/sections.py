"""Sections of the summary of a recorded run; those that its rows cannot fill are empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.summary_sections import together

if TYPE_CHECKING:
    from simulator.protocols.pulsar.recorded.recording import RecordedReplicator, RecordedState
    from simulator.world import World


def nothing(run: World) -> dict[str, Any]:
    """A section that a recording does not have."""
    return {}


def no_migrations(run: World) -> list[dict[str, Any]]:
    """Tenants do not move in a recorded run."""
    return []


def replicators(run: World) -> dict[str, dict[str, dict[str, Any]]]:
    """The geo-replicators by source cluster, target cluster and topic, as in a simulated run."""
    state: RecordedState = run.runtime
    return {name: _of_cluster(state, name) for name in state.cluster_names}


def _of_cluster(state: RecordedState, cluster: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for topic in state.clusters[cluster].topics.values():
        for peer, replicator in topic.replicators.items():
            of_peer = found.setdefault(peer, {})
            if topic.partition < 0:
                of_peer[topic.name] = _figures(state, replicator)
            else:
                parts = of_peer.setdefault(topic.base, {}).setdefault("partitions", {})
                parts[topic.name] = _figures(state, replicator)
    for of_peer in found.values():
        for one in of_peer.values():
            if "partitions" in one:
                one.update(together(list(one["partitions"].values())))
    return {peer: found[peer] for peer in sorted(found)}


def _figures(state: RecordedState, replicator: RecordedReplicator) -> dict[str, Any]:
    """One log's replicator; a recording has no start checks and no retries."""
    oldest = next(iter(replicator.on_the_wire.values()), None)
    pending_us = 0 if oldest is None else state.now_us - state.recording.instants[oldest]
    return {
        "state": replicator.state,
        "connected": replicator.connected,
        "replication_backlog": replicator.backlog,
        "delay_s": pending_us // 1_000_000,
        "retries": 0,
        "last_error": replicator.last_error,
        "start_check": None,
    }


def topics(run: World) -> dict[str, dict[str, Any]]:
    """The topics of each cluster with their partitions; a recording has no schemas."""
    state: RecordedState = run.runtime
    return {
        name: {
            base: {"partitions": spec.partitions, "schemas": []}
            for base, spec in sorted(state.scenario.topics.items())
            if name in spec.clusters
        }
        for name in state.cluster_names
    }
