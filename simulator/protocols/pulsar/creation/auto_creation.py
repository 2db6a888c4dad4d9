"""Auto-creation of topics: a client connects to a missing topic (`BrokerService`, #25312)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.creation import catalogue, policies

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster

PARTITIONED = "partitioned"


def ask(cluster: Cluster, base: str, client: int, cause: int) -> str | None:
    """A client connects: create the topic if the rules allow it.

    Returns None when it exists now, else why it does not. The caller may write a row for a refusal. It is not
    always written, because clients retry often.
    """
    if cluster.shape(base) is not None:
        return None
    why = refusal(cluster, base)
    if why is not None:
        return why
    adopted, peer = _remote_shape(cluster, base)
    catalogue.create(
        cluster,
        base,
        auto_partitions(cluster, base) if adopted is None else adopted,
        "client",
        cause,
        peer,
        client,
    )
    return None


def refusal(cluster: Cluster, base: str) -> str | None:
    """Why a client may not create the topic here, None when it may."""
    namespace = cluster.runtime.scenario.topics[base].namespace
    if cluster.runtime.scenario.topics[base].shadow_of is not None:
        return f"Topic {namespace}/{base} does not exist; a shadow topic is created by command only"
    nowhere = policies.not_here(cluster, base)
    if nowhere is not None:
        return nowhere[1]
    if not policies.auto_creation(cluster, namespace)[0]:
        return f"Topic {namespace}/{base} does not exist, and creating it by connecting is not allowed"
    return None


def auto_partitions(cluster: Cluster, base: str) -> int:
    """Partitions of a topic that a client creates here by the policies in force; 0 is a plain topic."""
    _allowed, kind, partitions = policies.auto_creation(
        cluster, cluster.runtime.scenario.topics[base].namespace
    )
    return partitions if kind == PARTITIONED else 0


def _remote_shape(cluster: Cluster, base: str) -> tuple[int | None, str | None]:
    """The shape that a remote cluster has, and its name; queried in sorted order since #25312.

    Only the namespace's list counts, and PIP-370's switch (`BrokerService`,
    getRemotePartitionedTopicMetadataForAutoCreation).
    """
    runtime = cluster.runtime
    if runtime.option("replicationTopicCreation") == "implemented" and cluster.creates_remotely:
        for peer in policies.namespace_remotes(runtime, cluster.name, base):
            remote = runtime.clusters[peer]
            if remote.up and runtime.links[cluster.name, peer].up and remote.shape(base) is not None:
                return remote.shape(base), peer
    return None, None
