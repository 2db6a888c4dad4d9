"""The LookupService: one map from tenants to physical clusters, queried before clients connect.

Rules (the vendor's article on tenant migration): lookup, partition metadata and schema requests use it, data
does not. A request is processed half of `lookupLatency` after it was sent, with the map at that instant, by
the cluster named there. The response takes the other half. While the service is down it processes no
requests, and connected clients stay connected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.trace.registry import NULL

if TYPE_CHECKING:
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
