"""How one client queries the LookupService: partition metadata and schema once, then lookups.

Rules: metadata is requested when the client starts, the schema if it has one, and the lookup again after
every broken connection. Requests are sequential, each takes `lookupLatency`. `number` counts requests: a
response to an older one is stale. After a response the client connects, after a refusal it requests again
with backoff.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kernel.clock import Handler
from simulator.protocols.pulsar.lookup.service import LOOKUP, PARTITION_METADATA, SCHEMA

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.lookup.producing import Brokers


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
