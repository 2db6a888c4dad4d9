"""Where the clients of some topics are connected, and which of them follow the LookupService.

Reads, never writes. Names are sorted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.protocols.pulsar.pulsar import Pulsar

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
