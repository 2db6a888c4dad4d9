"""The LookupService, and how clients find their brokers through it (docs/pulsar.md)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from simulator.kernel.clock import Handler
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.creation import catalogue
from simulator.protocols.pulsar.migration.blue_green import in_green
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.pulsar import Pulsar


# --- the LookupService: one map from tenants to physical clusters, queried before clients connect
#
# Rules (the vendor's article on tenant migration): lookup, partition metadata and schema requests use it,
# data does not. A request is processed half of `lookupLatency` after it was sent, with the map at that
# instant, by the cluster named there. The response takes the other half. While the service is down it
# processes no requests, and connected clients stay connected.


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
        self.moved_seq[tenant] = self.runtime.rows.tenant_mapped(
            cause, tenant=tenant, cluster=cluster, peer=before
        )
        return self.moved_seq[tenant]

    def set_up(self, up: bool, cause: int) -> int:
        """Stop or start the service."""
        self.up = up
        rows = self.runtime.rows
        return rows.lookup_started(cause) if up else rows.lookup_stopped(cause)


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
            runtime.rows.lookup_failed(
                cause, topic=self.base, client=client.number, reason=reason, count=client.retries + 1
            )
            self._later(back_us, self.no_answer, (number,))
            return
        service.answered[requests[0]] += 1
        cause = max(cause, service.moved_seq[service.tenant_of(self.base)])
        seq = runtime.rows.lookup_answered(
            cause,
            cluster=service.cluster_of(self.base),
            topic=self.base,
            client=client.number,
            reason=requests[0],
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


class Brokers:
    """The connections of one producer.

    `located` is, by partition, the cluster that a lookup or a redirect named.

    Rules: a producer with a fixed cluster keeps it. One without queries the LookupService, and again with
    backoff (100 ms, doubled up to 60 s) when a broker leaves. Both follow a topic that was migrated
    (PIP-188). Messages published meanwhile are pending, in order.
    """

    __slots__ = (
        "base",
        "due",
        "last_partitions",
        "located",
        "producer",
        "resolver",
        "retries",
        "runtime",
    )

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.runtime = producer.runtime
        self.base = producer.spec.topic
        self.resolver = resolver_for(self, producer.spec.cluster, self.base, producer.spec.schema)
        self.located: dict[str, str] = {}
        self.retries = 0
        self.due = False
        self.last_partitions = 0  # number of partitions in the last response

    # --- the topic's shape

    def shape(self) -> int | None:
        """Number of partitions in the producer's cluster, 0 for a plain topic, None for a missing one."""
        return self.runtime.clusters[self.producer.cluster_name].shape(self.base)

    def partitions(self, cause: int) -> int:
        """The number of partitions that messages are sent to, 0 for a plain topic.

        A producer with a fixed cluster may create the topic. One that uses the LookupService keeps the last
        response.
        """
        if self.resolver is None:
            cluster = self.runtime.clusters[self.producer.cluster_name]
            found = cluster.partitioned.get(self.base, 0)
            return found if found or self.base in cluster.topics else self._ask_for(cluster, cause)
        shape = self.shape()
        self.last_partitions = self.last_partitions if shape is None else shape
        return self.last_partitions

    def _ask_for(self, cluster: Cluster, cause: int) -> int:
        """Create a missing topic or record the refusal, in green where the cluster is migrated."""
        instead = self.runtime.blue_green.instead(cluster, self.producer, self.base, cause)
        self.producer.cluster_name = instead.name
        return catalogue.find_topic(self.producer, instead, self.base, cause)

    # --- interface to the resolver

    @property
    def number(self) -> int:
        return self.producer.number

    @property
    def rank(self) -> int:
        return self.producer.rank

    def found(self, cluster: str, cause: int) -> None:
        """Connect the missing partitions; retry those that no broker serves now."""
        complete = True
        self.producer.cluster_name = cluster
        for topic in self.runtime.clusters[cluster].client_logs_of(self.base):
            if topic.name not in self.located:
                complete = self._connect(topic, cause) and complete
        if complete and self._complete():
            self.retries = 0
        else:
            self.not_found()
        self.producer.retry(None)

    def not_found(self) -> None:
        """Retry after the backoff."""
        if not self.due:
            self.due = True
            self.runtime.schedule(self.runtime.now_us + backoff.wait_us(self.retries), self.rank, self.retry)
            self.retries += 1

    def retry(self, _argument: None) -> None:
        """Look up again after the backoff."""
        self.due = False
        self.look_up(NULL)

    # --- connecting

    def begin(self) -> None:
        """The client starts with the producer's plan."""
        if self.resolver is not None:
            first_us = (
                self.producer.spec.at_us[0] if self.producer.spec.at_us else self.producer.spec.start_us
            )
            # an operator's send may have looked up before, and be in backoff
            self.runtime.schedule(first_us, self.rank, self.look_up, NULL)

    def look_up(self, cause: int) -> None:
        """Look up the topic while a partition is not connected."""
        if self.resolver is not None and self.producer.alive and not self.due and not self._complete():
            self.resolver.ask(cause)

    def _complete(self) -> bool:
        return len(self.located) >= max(1, self.shape() or 0)

    def _connect(self, topic: Topic, cause: int) -> bool:
        if not topic.cluster.up or not topic.loaded:
            return False
        if topic.migrating:
            return self.beyond(topic) is not None
        self._connected(topic, cause)
        return True

    def _connected(self, topic: Topic, cause: int) -> None:
        self.located[topic.name] = topic.cluster.name
        self.runtime.rows.producer_connected(cause, **topic.names, client=self.number)

    def beyond(self, topic: Topic) -> Topic | None:
        """The topic in green to which a migrated topic redirects its producers, None while there is none.

        It must exist, and clients must be redirected already.
        """
        there = None if topic.migrated_to is None else in_green(self.runtime, topic, self.producer, NULL)
        if there is None or not there.loaded:
            return None
        self.redirect(topic, there, NULL)
        return there

    def redirect(self, topic: Topic, there: Topic, cause: int) -> None:
        """The broker redirects: the topic is in another cluster."""
        seq = self.runtime.rows.client_redirected(
            cause, **topic.names, peer=there.cluster.number, client=self.number
        )
        self._connected(there, seq)

    # --- leaving

    def cluster_of(self, name: str) -> Cluster | None:
        """The cluster that messages for this topic or partition go to, None before a lookup response."""
        if self.located and name in self.located:
            return self.runtime.clusters[self.located[name]]
        if self.resolver is None:
            return self.runtime.clusters[self.producer.cluster_name]
        self.look_up(NULL)
        return None

    def connected_in(self, cluster: str) -> bool:
        """Whether any of its connections is to that cluster."""
        if self.resolver is None and not self.located:
            return self.producer.alive and self.producer.cluster_name == cluster
        return cluster in self.located.values()

    def connected_to(self, topic: Topic) -> bool:
        """Whether it sends messages for this topic to this cluster."""
        if self.resolver is None:
            return self.located.get(topic.name, self.producer.cluster_name) == topic.cluster.name
        return self.located.get(topic.name) == topic.cluster.name

    def left(self, topic: Topic, reason: str, cause: int) -> None:
        """A topic left its broker: a producer that looked it up does so again.

        A redirected producer finds it in the other cluster.
        """
        if self.resolver is None or self.located.get(topic.name) != topic.cluster.name:
            return
        del self.located[topic.name]
        self.runtime.rows.producer_disconnected(cause, **topic.names, client=self.number, reason=reason)
        if self.producer.alive:
            self.not_found()

    def leave(self, reason: str, cause: int) -> None:
        """The client has closed."""
        located, self.located = self.located, {}
        self.retries = 0
        if self.resolver is not None:
            self.resolver.forget()
            for name, cluster in located.items():
                self.runtime.rows.producer_disconnected(
                    cause, cluster=cluster, topic=name, client=self.number, reason=reason
                )
