"""Requests of one cluster's admin service to another's, which take the link's latency.

Rules: errors are only logged. There is one RemoteAdmin per run, the target of the requests' events. A request
over a cut link or to a cluster that is down is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kernel.clock import Handler
from simulator.protocols.pulsar.broker.dispatch import full_topic_name
from simulator.protocols.pulsar.creation import catalogue, policies
from simulator.protocols.pulsar.creation.policies import GLOBAL
from simulator.protocols.pulsar.ranks import ADMIN, rank
from simulator.scenarios.commands import CommandError

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.pulsar import Pulsar


Request = tuple[str, str, str, int | tuple[str, ...] | None, int]
"""(from, to, topic, partitions or list, seq of the row that caused it)."""
COPIED = "copied-request"


class RemoteAdmin:
    """Sends requests between clusters and handles them at the target."""

    def __init__(self, runtime: Pulsar) -> None:
        self.runtime = runtime
        self.rank = rank(ADMIN, 0)

    def send(
        self,
        handle: Handler,
        source: str,
        target: str,
        base: str,
        what: int | tuple[str, ...] | None,
        cause: int,
    ) -> None:
        """Send a request; `handle` is one of the methods below."""
        link = self.runtime.links[source, target]
        if link.up:
            due_us = self.runtime.now_us + link.latency_us(cause)
            self.runtime.schedule(due_us, self.rank, handle, (source, target, base, what, cause))
        else:
            self._log(
                self.runtime.clusters[target], source, base, cause, f"the link {source} -> {target} is cut"
            )

    def create(self, request: Request) -> None:
        """create-partitioned-topic, copied from the cluster that received the command."""
        source, target, base, partitions, cause = request
        assert isinstance(partitions, int), "the request says how many partitions"
        cluster = self.runtime.clusters[target]
        there = cluster.shape(base)
        if not self._arrives(request):
            return
        nowhere = policies.not_here(cluster, base)
        if nowhere is not None:
            self._log(cluster, source, base, cause, " ".join(nowhere))
        elif there is not None:
            if there != partitions:
                why = other_count(cluster, base, there, partitions)
                self._log(cluster, source, base, cause, f"409 This topic already exists: {why}")
        elif (conflict := catalogue.too_few(cluster, base, partitions)) is not None:
            self._log(cluster, source, base, cause, f"409 {conflict}")
        else:
            catalogue.create(cluster, base, partitions, COPIED, cause, source)

    def grow(self, request: Request) -> None:
        """update-partitioned-topic, copied."""
        source, target, base, partitions, cause = request
        assert isinstance(partitions, int), "the request says how many partitions"
        cluster = self.runtime.clusters[target]
        if not self._arrives(request):
            return
        shape = cluster.shape(base) or 0
        if not 0 < shape <= partitions:
            self._log(
                cluster,
                source,
                base,
                cause,
                f"there is {catalogue.words_of(cluster.shape(base))} here: it "
                f"can not be given {partitions} partitions",
            )
        elif shape < partitions:
            use_new_partitions(
                self.runtime, cluster, base, catalogue.grow(cluster, base, partitions, COPIED, cause, source)
            )

    def set_global_list(self, request: Request) -> None:
        """A global topic policy arrives by `__change_events`."""
        _source, target, base, listed, cause = request
        assert not isinstance(listed, int), "the request has a list, or None"
        if self._arrives(request):
            catalogue.apply(
                self.runtime, policies.change_list(self.runtime, target, base, GLOBAL, listed, cause)
            )

    def _arrives(self, request: Request) -> bool:
        source, target, base, _what, cause = request
        cluster = self.runtime.clusters[target]
        if not cluster.up or not self.runtime.links[source, target].up:
            self._log(cluster, source, base, cause, f"{target} can not be reached from {source}")
            return False
        return True

    def _log(self, cluster: Cluster, source: str, base: str, cause: int, why: str) -> None:
        self.runtime.rows.topic_creation_refused(
            cause, cluster=cluster.number, peer=source, topic=base, client=None, reason=COPIED, detail=why
        )


def other_count(cluster: Cluster, base: str, there: int, partitions: int) -> str:
    """A topic of this name has another shape in a remote cluster (`AdminResource`)."""
    name = full_topic_name(cluster.runtime.scenario.topics[base].namespace, base)
    return (
        f"There is an exists topic {name} with different partitions {there} on the remote cluster "
        f"{cluster.name}, you want to create it with partitions {partitions}"
    )


def why_silent(cluster: Cluster, remote: Cluster) -> str | None:
    """Why a cluster gets no response from another, None when it does."""
    if not remote.up:
        return f"{remote.name} can not be asked: it is {remote.state}"
    if not cluster.runtime.links[cluster.name, remote.name].up:
        return f"{remote.name} can not be asked: the link {cluster.name} -> {remote.name} is cut"
    return None


def use_new_partitions(runtime: Pulsar, cluster: Cluster, base: str, cause: int) -> None:
    """Subscribe the cluster's consumers to added partitions.

    These include the partitions that shadow topics got with them.
    """
    bases = (base, *catalogue.shadows_of(cluster, base))
    for consumer in runtime.consumers.values():
        if (
            consumer.cluster_name == cluster.name
            and consumer.sessions
            and runtime.subscriptions[consumer.spec.subscription].topic in bases
        ):
            consumer.connect(cause)


# --- the checks of a cluster before it sets a namespace's replication clusters
#
# The source is `NamespacesBase.internalSetNamespaceReplicationClusters` and PIP-433. Rules: first the list
# itself is checked. The rest is checked when comparison is requested and this cluster is in the new list,
# for each cluster that is new in it: the namespace exists, the shapes of topics that both clusters have,
# `__change_events` too, and the auto-creation in force. The proposal always compares, also the allow
# switch. Before PIP-433 nothing was compared. Codes and texts are those of Pulsar's NamespacesBase
# (#25170). A broker lists the clusters of a set in the order of their hashes. Here they are sorted.


CHANGE_EVENTS = "__change_events"


def validate(
    runtime: Pulsar, cluster: Cluster, namespace: str, listed: tuple[str, ...], compare: bool
) -> None:
    """Raises CommandError with the status that the cluster would return, for `members` of a list."""
    _only_allowed(runtime, cluster, namespace, listed)
    rule = runtime.option("replicationTopicCreation")
    if rule == "before" or (rule == "implemented" and not compare) or cluster.name not in listed:
        return
    present = policies.namespace_list(cluster.runtime, cluster.name, namespace)
    for name in sorted(listed):
        if name != cluster.name and name not in present:
            _both_sides(cluster, runtime.clusters[name], namespace)


def known_clusters(runtime: Pulsar, listed: tuple[str, ...]) -> None:
    """Raises 403 where a list names an unknown cluster."""
    for name in sorted(listed):
        if name not in runtime.clusters:
            raise CommandError(
                "403", f"Invalid cluster id: {name}", f"clusters are {', '.join(runtime.clusters)}"
            )


def no_peers_together(runtime: Pulsar, listed: tuple[str, ...]) -> None:
    """Raises 409 where a list names peer clusters together (`validatePeerClusterConflictAsync`).

    The source is PulsarWebResource.
    """
    for name in sorted(listed):
        for peer in runtime.scenario.clusters[name].peer_clusters or ():
            if peer in listed:
                raise CommandError(
                    "409",
                    (
                        f"{name}'s peer-clusters [{peer}] can't be part of replication-clusters "
                        f"{policies.words(sorted(listed))}"
                    ),
                    "name only one of them",
                )


def members(runtime: Pulsar, listed: tuple[str, ...]) -> None:
    """Raises 412, 403 or 409 for a list that no namespace can have, which is checked before the namespace."""
    if not listed:
        raise CommandError("412", "ClusterIds should not be null or empty", "name at least one cluster")
    known_clusters(runtime, listed)
    no_peers_together(runtime, listed)


def _only_allowed(runtime: Pulsar, cluster: Cluster, namespace: str, listed: tuple[str, ...]) -> None:
    allowed = policies.existing(runtime, cluster.name, namespace)["allowed_clusters"]
    for name in sorted(listed):
        if allowed and name not in allowed:
            raise CommandError(
                "400",
                f"Cluster [{name}] is not in the list of allowed clusters list for namespace [{namespace}]",
                f"allowed are {', '.join(allowed)}",
            )


def _both_sides(cluster: Cluster, remote: Cluster, namespace: str) -> None:
    runtime = cluster.runtime
    silent = why_silent(cluster, remote)
    if silent is not None:
        raise CommandError("500", silent, "heal or restart what is broken, or do not compare")
    there = policies.of_namespace(runtime, remote.name, namespace)
    if there is None:
        sides = (
            f"namespace '{namespace}' between local cluster and remote cluster '{cluster.name}' -> "
            f"'{remote.name}'"
        )
        raise CommandError(
            "409",
            (
                f"Failed to check auto-topic creation policy for {sides}. Please ensure the namespace exists "
                f"on the remote side."
            ),
            "create it there first",
        )
    if remote.name not in (
        *policies.namespace_list(runtime, remote.name, namespace),
        *(there["allowed_clusters"] or ()),
    ):
        return  # by its own lists the remote does not hold this namespace's topics
    for base in sorted(runtime.scenario.topics):
        if runtime.scenario.topics[base].namespace == namespace:
            _topic(remote, full_topic_name(namespace, base), cluster.shape(base), remote.shape(base))
    here = policies.existing(runtime, cluster.name, namespace)
    _topic(
        remote,
        full_topic_name(namespace, CHANGE_EVENTS),
        here["change_events_partitions"],
        there["change_events_partitions"],
    )
    _auto_creation(cluster, remote, namespace)


def _topic(remote: Cluster, topic: str, local: int | None, far: int | None) -> None:
    """Raises 409 for topics of different shapes.

    Topics that only one cluster has pass. With a partitioned topic in this cluster the counts are compared,
    where a plain one in the remote counts as 0.
    """
    if local is None or far is None or local == far:
        return
    if not local:
        raise CommandError(
            "409",
            f"Topic type mismatch for topic '{topic}': local cluster has a non-partitioned topic, but "
            f"remote cluster '{remote.name}' has a partitioned topic with {far} partitions. "
            "Please ensure topic types are the same before enabling replication.",
            "delete one of them, or create both in one shape",
        )
    kind = f"{CHANGE_EVENTS} system topic" if topic.endswith(f"/{CHANGE_EVENTS}") else "topic"
    raise CommandError(
        "409",
        f"Partition count mismatch for {kind} '{topic}': local cluster has {local} partitions, remote "
        f"cluster '{remote.name}' has {far} partitions. "
        "Please ensure partition counts are the same before enabling replication.",
        ("add partitions where there are fewer, or delete the topic that is not partitioned"),
    )


def _auto_creation(cluster: Cluster, remote: Cluster, namespace: str) -> None:
    names = ("allowAutoTopicCreation", "topicType", "defaultNumPartitions")
    first = 0 if cluster.runtime.option("replicationTopicCreation") == "proposal" else 1
    here, there = (
        policies.auto_creation(cluster, namespace)[first:],
        policies.auto_creation(remote, namespace)[first:],
    )
    if here != there:
        differing = "; ".join(
            f"{name}: local={policies.words(ours)}, remote={policies.words(theirs)}"
            for name, ours, theirs in zip(names[first:], here, there, strict=True)
            if ours != theirs
        )
        raise CommandError(
            "409",
            f"Effective auto-topic creation policy mismatch for namespace '{namespace}' between local "
            f"cluster and remote cluster '{remote.name}': {differing}. Please ensure auto-topic creation "
            "policies are the same before enabling replication.",
            "set one override in both namespaces, or the same broker settings",
        )
