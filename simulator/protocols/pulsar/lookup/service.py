"""The LookupService: one map from tenants to physical clusters, queried before clients connect.

Rules (the vendor's article on tenant migration): lookup, partition metadata and schema requests use it, data
does not. A request is processed half of `lookupLatency` after it was sent, with the map at that instant, by
the cluster named there. The response takes the other half. While the service is down it processes no
requests, and connected clients stay connected.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from simulator.kernel.clock import Handler
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.lookup.producing import Brokers
    from simulator.protocols.pulsar.pulsar import Pulsar


PARTITION_METADATA, LOOKUP, SCHEMA = "partition-metadata", "lookup", "schema"
REQUESTS = (PARTITION_METADATA, SCHEMA, LOOKUP)
"""The kinds of requests, in the order in which a client sends them."""


class LookupService:
    """The service: `tenants` is the map, `moved_seq` by tenant the row that last changed it."""

    def __init__(self, runtime: Pulsar) -> None:
        self.runtime = runtime
        self.up = True
        self.tenants = {name: spec.cluster for name, spec in sorted(runtime.scenario.tenants.items())}
        self.moved_seq = dict.fromkeys(self.tenants, NULL)
        self.answered = dict.fromkeys(REQUESTS, 0)
        self.failed = 0

    @property
    def latency_us(self) -> int:
        """The round trip."""
        return self.runtime.option("lookupLatency")

    def tenant_of(self, base: str) -> str:
        """The tenant of a topic."""
        return self.runtime.scenario.topics[base].tenant

    def cluster_of(self, base: str) -> str:
        """The cluster that the map names for a topic."""
        return self.tenants[self.tenant_of(base)]

    def refusal(self, base: str) -> str | None:
        """Why a request about this topic cannot be answered now; None when it can."""
        if not self.up:
            return "service-down"
        cluster = self.runtime.clusters[self.cluster_of(base)]
        if not cluster.up:
            return "cluster-down"
        return None if any(topic.base == base for topic in cluster.topics.values()) else "no-topic"

    def switch(self, tenant: str, cluster: str, cause: int) -> int:
        """Map the tenant's clients to another cluster from now on; returns the row's seq."""
        before, self.tenants[tenant] = self.tenants[tenant], cluster
        self.moved_seq[tenant] = self.runtime.note("tenant.mapped", cause, tenant, cluster, before)
        return self.moved_seq[tenant]

    def set_up(self, up: bool, cause: int) -> int:
        """Stop or start the service."""
        self.up = up
        return self.runtime.note("lookup.started" if up else "lookup.stopped", cause)


# --- how one client queries the LookupService: partition metadata and schema once, then lookups
#
# Rules: metadata is requested when the client starts, the schema if it has one, and the lookup again after
# every broken connection. Requests are sequential, each takes `lookupLatency`. `number` counts requests: a
# response to an older one is stale. After a response the client connects, after a refusal it requests again
# with backoff.


class Resolver:
    """The requests of a client without a fixed cluster."""

    def __init__(self, client: Consumer | Brokers, base: str, with_schema: bool) -> None:
        self.client = client
        self.base = base
        self.first_requests = (PARTITION_METADATA, SCHEMA) if with_schema else (PARTITION_METADATA,)
        self.number = 0
        self.asking = False
        self.knows_partitions = False
        self.failed_requests = 0  # requests that failed since the last response

    @property
    def mapped(self) -> str:
        """The cluster that the map names now."""
        return self.client.runtime.lookup.cluster_of(self.base)

    def forget(self) -> None:
        """The client has ended: responses on their way are ignored."""
        self.number += 1
        self.asking = self.knows_partitions = False
        self.failed_requests = 0

    def ask(self, cause: int) -> None:
        """Begin the requests, unless one is in progress."""
        if self.asking:
            return
        self.asking = True
        self.number += 1
        self._send((LOOKUP,) if self.knows_partitions else (*self.first_requests, LOOKUP), cause)

    def _send(self, requests: tuple[str, ...], cause: int) -> None:
        self._later(
            self.client.runtime.lookup.latency_us // 2, self.at_service, (self.number, requests, cause)
        )

    def _later(self, after_us: int, handler: Handler, argument: tuple) -> None:
        runtime = self.client.runtime
        runtime.schedule(runtime.now_us + after_us, self.client.rank, handler, argument)

    def at_service(self, argument: tuple) -> None:
        """The request reached the LookupService."""
        number, requests, cause = argument
        if number != self.number:
            return
        runtime, client = self.client.runtime, self.client
        service, back_us = runtime.lookup, runtime.lookup.latency_us - runtime.lookup.latency_us // 2
        reason = service.refusal(self.base)
        if reason is not None:
            service.failed += 1
            runtime.note("lookup.failed", cause, self.base, client.number, reason, client.retries + 1)
            self._later(back_us, self.no_answer, (number,))
            return
        service.answered[requests[0]] += 1
        cause = max(cause, service.moved_seq[service.tenant_of(self.base)])
        seq = runtime.note(
            "lookup.answered", cause, service.cluster_of(self.base), self.base, client.number, requests[0]
        )
        self._later(back_us, self.answered, (number, requests[1:], service.cluster_of(self.base), seq))

    def answered(self, argument: tuple) -> None:
        """The response reached the client."""
        number, requests, cluster, seq = argument
        if number != self.number:
            return
        if requests:
            self._send(requests, seq)
        else:
            self.asking, self.knows_partitions = False, True
            self.failed_requests = 0
            self.client.found(cluster, seq)

    def no_answer(self, argument: tuple) -> None:
        """The failure reached the client."""
        if argument[0] == self.number:
            self.asking = False
            self.failed_requests += 1
            self.client.not_found()


def first_cluster(resolver: Resolver | None, own: str | None) -> str:
    """The first cluster of a client: its own, or the one that the map names."""
    if resolver is not None:
        return resolver.mapped
    assert own is not None, "a client without a cluster of its own has a resolver"
    return own


def resolver_for(
    client: Consumer | Brokers, cluster: str | None, base: str, schema: str | None
) -> Resolver | None:
    """A resolver for a client without a fixed cluster, else None."""
    return Resolver(client, base, schema is not None) if cluster is None else None


# --- where the clients of some topics are connected, and which of them follow the LookupService
#
# Reads, never writes. Names are sorted.


LIVING = ("running", "paused", "closing")


def bases_of(runtime: Pulsar, tenant: str) -> list[str]:
    """The tenant's topics."""
    return [name for name, topic in sorted(runtime.scenario.topics.items()) if topic.tenant == tenant]


def clients_in(runtime: Pulsar, bases: Collection[str], cluster: str) -> list[str]:
    """Producers and consumers of the topics that are connected in a cluster."""
    producers = [
        name
        for name, one in runtime.producers.items()
        if one.spec.topic in bases and one.alive and one.brokers.connected_in(cluster)
    ]
    consumers = [
        name
        for name, one in runtime.consumers.items()
        if runtime.subscriptions[one.spec.subscription].topic in bases
        and any(place[0] == cluster for place in one.sessions)
    ]
    return sorted(producers + consumers)


def followers(runtime: Pulsar, bases: Collection[str]) -> list[str]:
    """Running clients of the topics that name no cluster and follow the LookupService."""
    producers = [
        name
        for name, one in runtime.producers.items()
        if one.spec.cluster is None and one.spec.topic in bases and one.alive
    ]
    consumers = [
        name
        for name, one in runtime.consumers.items()
        if one.spec.cluster is None
        and runtime.subscriptions[one.spec.subscription].topic in bases
        and one.state in LIVING
    ]
    return sorted(producers + consumers)


def failed_requests(runtime: Pulsar, client: str) -> int:
    """Failed requests, since its last response, of a client without a fixed cluster."""
    producer = runtime.producers.get(client)
    resolver = producer.brokers.resolver if producer is not None else runtime.consumers[client].resolver
    return 0 if resolver is None else resolver.failed_requests
