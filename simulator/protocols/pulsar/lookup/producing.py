"""The connections of a producer by partition: to its own cluster, or to the one that the lookup named.

Rules: a producer with a fixed cluster keeps it. One without queries the LookupService, and again with backoff
(100 ms, doubled up to 60 s) when a broker leaves. Both follow a topic that was migrated (PIP-188). Messages
published meanwhile are pending, in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.creation import clients
from simulator.protocols.pulsar.lookup.service import resolver_for
from simulator.protocols.pulsar.migration.blue_green import in_green
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.producer import Producer


class Brokers:
    """The connections of one producer.

    `located` is, by partition, the cluster that a lookup or a redirect named.
    """

    __slots__ = (
        "base",
        "due",
        "known",
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
        self.known = 0  # number of partitions in the last response

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
        self.known = self.known if shape is None else shape
        return self.known

    def _ask_for(self, cluster: Cluster, cause: int) -> int:
        """Create a missing topic or record the refusal, in green where the cluster is migrated."""
        instead = self.runtime.blue_green.instead(cluster, self.producer, self.base, cause)
        self.producer.cluster_name = instead.name
        return clients.find_topic(self.producer, instead, self.base, cause)

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
        for topic in self.runtime.clusters[cluster].client_parts(self.base):
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
            self.runtime.schedule(self.runtime.now_us + backoff.wait_us(self.retries), self.rank, self.again)
            self.retries += 1

    def again(self, _argument: None) -> None:
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
        self.runtime.note("producer.connected", cause, topic.cluster.number, topic.number, self.number)

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
        seq = self.runtime.note(
            "client.redirected", cause, topic.cluster.number, there.cluster.number, topic.number, self.number
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
        self.runtime.note(
            "producer.disconnected", cause, topic.cluster.number, topic.number, self.number, reason
        )
        if self.producer.alive:
            self.not_found()

    def leave(self, reason: str, cause: int) -> None:
        """The client has closed."""
        located, self.located = self.located, {}
        self.retries = 0
        if self.resolver is not None:
            self.resolver.forget()
            for name, cluster in located.items():
                self.runtime.note("producer.disconnected", cause, cluster, name, self.number, reason)
