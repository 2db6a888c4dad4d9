"""Protocols by role: what the runtime needs of the clusters, topics and services that it holds.

Rules: the runtime imports none of the modules that use it. `broker.cluster.Cluster`, `broker.topic.Topic`,
`replication.replicator.Replicator`, `broadcast.fan_out.FanOut` and `migration.blue_green.BlueGreen` play
these roles. `system.build` creates them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from simulator.protocols.pulsar.ack_sync.roles import ClusterOfSync, ReplicatorOfSync, TopicOfSync
from simulator.protocols.pulsar.creation.client_roles import ProducerOfTopic
from simulator.protocols.pulsar.replication.roles import ClusterOfEntries, TopicOfEntries

if TYPE_CHECKING:
    from simulator.log.columns import SharedColumn
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.scenario.client_model import ConsumerSpec
    from simulator.protocols.pulsar.storage.tail_read import TailRead


class ConnectionsOfProducer(Protocol):
    """The connections through which a producer publishes (`lookup.producing.Brokers`)."""

    @property
    def resolver(self) -> object | None:
        """The lookup service that resolves its cluster, None for a producer with a fixed cluster."""

    def connected_to(self, topic: Any) -> bool:
        """Whether it publishes to this topic or partition in its cluster."""

    def redirect(self, topic: Any, there: Any, cause: int) -> None:
        """Publish to another cluster from now on."""


class ProducerOfRuntime(ProducerOfTopic, Protocol):
    """A producer (`client.producer.Producer`)."""

    name: str
    cluster_name: str
    pending: deque[tuple[int, int, str, int]]

    def publish_at_random(self) -> None:
        """Draw the intervals from now on, with the same mean."""

    def closed_by_quota(self, topic: Topic, cause: int) -> None:
        """The broker closes its connection to a topic whose backlog quota is exceeded."""

    @property
    def brokers(self) -> ConnectionsOfProducer:
        """Its connections to brokers."""

    @property
    def is_open(self) -> bool:
        """Whether the client has its producer open."""

    @property
    def alive(self) -> bool:
        """Whether its process runs."""

    def retry(self, _argument: None) -> None:
        """Send the waiting messages again."""

    def broker_left(self, topic: Any, reason: str, cause: int) -> None:
        """A topic that it publishes to left its broker."""


class ConsumerOfRuntime(Protocol):
    """A consumer (`client.consumer.Consumer`)."""

    name: str
    spec: ConsumerSpec
    cluster_name: str
    last_seq: int

    def topic_loaded(self, cluster: str, topic: str, cause: int) -> None:
        """A topic was loaded, for which it may wait."""


class HeldConnectionOfRuntime(Protocol):
    """What a partition holds of a connection (`replication.held_connection.HeldConnection`)."""

    def begin(self, cause: int, back: bool) -> None:
        """The way to the peer, or back, is partitioned."""

    def end(self, back: bool) -> None:
        """The way to the peer, or back, is healed."""


class ReplicatorOfRuntime(ReplicatorOfSync, Protocol):
    """A replicator whose connection breaks with its link."""

    tail: TailRead

    @property
    def held(self) -> HeldConnectionOfRuntime:
        """What a partition holds of its connection."""

    def disconnect(self, reason: str, cause: int, delivered: bool = False) -> None:
        """The connection broke; `delivered`: the peer's process died, what it had sent arrives."""

    @property
    def connected(self) -> bool:
        """Whether its producer is connected."""


class TopicOfRuntime(TopicOfSync, TopicOfEntries, Protocol):
    """A topic as its peers see it; its columns grow with the run."""

    terminated: bool
    stored_seqs: SharedColumn
    keeps_sources: bool

    @property
    def replicators(self) -> Mapping[str, ReplicatorOfRuntime]:
        """Its replicators by peer."""


class ClusterOfRuntime(ClusterOfSync, ClusterOfEntries, Protocol):
    """A cluster as its peers see it, with its present and past topics."""

    state: str

    @property
    def up(self) -> bool:
        """Whether its brokers run."""

    @property
    def topics(self) -> Mapping[str, TopicOfRuntime]:
        """Its topics by name."""

    def every_log(self) -> tuple[TopicOfRuntime, ...]:
        """Present and past topics."""

    def shape(self, base: str) -> int | None:
        """How many partitions a topic has here, 0 for a plain one, None where it does not exist."""


class FanOutOfRuntime(Protocol):
    """Lets brokers serve audiences."""

    def add(self, audience: Any) -> None:
        """Serve one more audience."""

    def wake(self) -> None:
        """Schedule the event of the next dispatch or connection."""

    def connect_at_once(self, audience: Any) -> None:
        """Connect every member of an audience now."""


class BlueGreenOfRuntime(Protocol):
    """Pulsar's blue-green migration (PIP-188)."""

    def instead(self, cluster: Any, client: Any, base: str, cause: int) -> Any:
        """The cluster to which a client that requests a topic from `cluster` is redirected."""

    def drained_by_ack(self, subscription: Any, cause: int) -> None:
        """The backlog of a subscription of a migrated topic was acknowledged."""
