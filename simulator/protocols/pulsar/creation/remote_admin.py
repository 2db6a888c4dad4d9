"""Requests of one cluster's admin service to another's, which take the link's latency.

Rules: errors are only logged. There is one RemoteAdmin per run, the target of the requests' events. A request
over a cut link or to a cluster that is down is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kernel.clock import Handler
from simulator.protocols.pulsar.broker.dispatch import full_topic_name
from simulator.protocols.pulsar.creation import catalogue, enforcement, policies
from simulator.protocols.pulsar.creation.policies import GLOBAL
from simulator.protocols.pulsar.ranks import ADMIN, rank

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
            enforcement.apply(
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
        self.runtime.note("topic.creation-refused", cause, cluster.number, source, base, None, COPIED, why)


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
