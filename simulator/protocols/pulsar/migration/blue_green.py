"""Pulsar's blue-green migration (PIP-188): blue's topics are terminated, their clients redirected.

Rules: nothing is copied. The migrated flag is set in blue's cluster policies with green's address, or on a
namespace, which uses that address. Each clusterMigrationCheckDurationSeconds (0: never) every topic is
checked. Without the flag nothing happens. With replication backlog the topic is only terminated. Otherwise,
with auto-creation, tenant, namespace, topic and subscriptions at earliest are created in green, then the
topic is terminated and migrated: producers are redirected at once, and so are consumers whose subscription
has no backlog. Drained replicators are closed, subscriptions without backlog and consumers are deleted.
Between checks the ack that drains a subscription redirects its consumers
(`PersistentSubscription.acknowledgeMessage`), and a client that looks up a missing topic in blue is
redirected to green instead of creating it (`BrokerService.checkTopicAlreadyMigrated`). In green a client may
create a missing plain topic, like any other client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.creation import catalogue, policies
from simulator.protocols.pulsar.migration.resources import NAMESPACE, TENANT, delete_subscription
from simulator.protocols.pulsar.ranks import MIGRATION, rank
from simulator.protocols.pulsar.storage import retention
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.pulsar import Pulsar

PERIOD, AUTO_CREATION = "clusterMigrationCheckDurationSeconds", "clusterMigrationAutoResourceCreation"
_CHECKS = 1 << 8  # ranks after those of tenants
_SECOND_US = 1_000_000


class BlueGreen:
    """The migrated flags and addresses of all clusters, and the periodic check.

    `green` is, by blue cluster, the address in its policies. `clusters` and `namespaces` are marked migrated.
    """

    def __init__(self, runtime: Pulsar) -> None:
        self.runtime = runtime
        self.green: dict[str, str] = {}
        self.clusters: dict[str, bool] = {}
        self.namespaces: dict[tuple[str, str], bool] = {}

    # --- flags

    def mark_cluster(self, blue: str, green: str | None, migrated: bool, cause: int) -> int:
        """Set the flag in the cluster's policies, and green's address when given."""
        if green is not None:
            self.green[blue] = green
        self.clusters[blue] = migrated
        return self.runtime.rows.cluster_migration_marked(
            cause, cluster=blue, peer=self.green.get(blue), detail=None, count=int(migrated)
        )

    def mark_namespace(self, blue: str, namespace: str, migrated: bool, cause: int) -> int:
        """Set a namespace's flag in blue's local policies."""
        self.namespaces[blue, namespace] = migrated
        return self.runtime.rows.cluster_migration_marked(
            cause, cluster=blue, peer=self.green.get(blue), detail=namespace, count=int(migrated)
        )

    def address(self, topic: Topic) -> str | None:
        """Green's address when the topic's flag is on, else None."""
        return self._marked(topic.cluster.name, topic.base)

    def _marked(self, blue: str, base: str) -> str | None:
        marked = self.clusters.get(blue) or self.namespaces.get(
            (blue, self.runtime.scenario.topics[base].namespace)
        )
        return self.green.get(blue) if marked else None

    def instead(self, cluster: Cluster, client: Producer | Consumer, base: str, cause: int) -> Cluster:
        """The cluster in which a client connects that looks up a topic in `cluster`.

        It is green when the topic does not exist and would be migrated if it did.
        """
        green = self._marked(cluster.name, base) if cluster.up and cluster.shape(base) is None else None
        if green is None or green == cluster.name or not self.runtime.clusters[green].up:
            return cluster
        self.runtime.rows.client_redirected(
            cause, cluster=cluster.number, peer=green, topic=base, client=client.number
        )
        return self.runtime.clusters[green]

    # --- the periodic check

    def start(self) -> None:
        """Start every cluster's timer, where it is on."""
        for cluster in self.runtime.clusters.values():
            self._retry(cluster)

    def _retry(self, cluster: Cluster) -> None:
        period_us = cluster.setting(PERIOD) * _SECOND_US
        if period_us:
            self.runtime.schedule(
                self.runtime.now_us + period_us,
                rank(MIGRATION, _CHECKS, cluster.index),
                self.check,
                cluster.name,
            )

    def check(self, name: str) -> None:
        """Check every topic of a cluster."""
        cluster = self.runtime.clusters[name]
        for topic in tuple(cluster.topics.values()) if cluster.up else ():
            if topic.loaded:
                self.check_topic(topic)
        self._retry(cluster)

    def check_topic(self, topic: Topic) -> None:
        """Apply the rules to one topic; of a shadow topic only the source can be terminated."""
        green = self.address(topic)
        if green is None or topic.source is not None:
            return
        seq = self._terminate(topic)
        if any(topic.log.length - 1 - one.settled_mark_delete() > 0 for one in topic.replicators.values()):
            return
        if topic.cluster.setting(AUTO_CREATION) and self.runtime.clusters[green].up:
            self._create_in_green(topic, self.runtime.clusters[green], seq)
        if topic.migrated_to is None:
            topic.migrated_to = green
            seq = self.runtime.rows.topic_migrated(seq, **topic.names, peer=green)
        self._redirect(topic, seq)
        for peer in tuple(topic.replicators):
            topic.replicators.pop(peer).remove(seq)
            retention.cursor_deleted(topic, seq)
        for name in tuple(topic.subscriptions):
            if not topic.subscriptions[name].backlog and not topic.subscriptions[name].dispatcher.sessions:
                delete_subscription(topic, name, seq)

    def _terminate(self, topic: Topic) -> int:
        if topic.migrating:
            return NULL
        topic.migrating = True
        return NULL if topic.terminated else topic.terminate(NULL)

    def _create_in_green(self, topic: Topic, green: Cluster, cause: int) -> None:
        runtime, spec, blue = self.runtime, self.runtime.scenario.topics[topic.base], topic.cluster.name
        directory = runtime.directory[green.name]
        if (TENANT, spec.tenant) not in directory:
            directory[TENANT, spec.tenant] = None
            cause = runtime.rows.resource_created(
                cause,
                tenant=spec.tenant,
                cluster=green.name,
                peer=blue,
                topic=None,
                subscription=None,
                reason=TENANT,
                detail=spec.tenant,
            )
        if policies.of_namespace(runtime, green.name, spec.namespace) is None:
            policies.copy_namespace(runtime, blue, green.name, spec.namespace)
            cause = runtime.rows.resource_created(
                cause,
                tenant=spec.tenant,
                cluster=green.name,
                peer=blue,
                topic=None,
                subscription=None,
                reason=NAMESPACE,
                detail=spec.namespace,
            )
        if green.shape(topic.base) is None:
            catalogue.create(
                green, topic.base, topic.cluster.shape(topic.base) or 0, "migration", cause, blue
            )
        there = green.topics[topic.name]
        for name, subscription in topic.subscriptions.items():
            if name not in there.subscriptions:
                there.add_subscription(
                    name, subscription.type, there.log.first_kept - 1, False, "migration", cause
                )

    # --- redirecting

    def _redirect(self, topic: Topic, cause: int) -> None:
        for producer in self.runtime.producers.values():
            here = producer.is_open or producer.pending or producer.brokers.resolver is not None
            if (
                here
                and producer.spec.topic == topic.base
                and producer.alive
                and producer.brokers.connected_to(topic)
            ):
                there = in_green(self.runtime, topic, producer, cause)
                if there is not None and there.loaded:
                    producer.brokers.redirect(topic, there, cause)
                    producer.retry(None)
        for subscription in tuple(topic.subscriptions.values()):
            if drained(subscription):
                for session in tuple(subscription.dispatcher.sessions):
                    self._send_on(session, cause)

    def drained_by_ack(self, subscription: Subscription, cause: int) -> None:
        """An ack left no backlog in blue: its consumers are redirected once the ack's group is processed."""
        topic = subscription.topic
        self.runtime.schedule(
            self.runtime.now_us,
            topic.rank,
            self.send_on_drained,
            (topic.cluster.name, topic.name, subscription.name, cause),
        )

    def send_on_drained(self, argument: tuple[str, str, str, int]) -> None:
        """Redirect a subscription's consumers, if it is still drained."""
        cluster, name, subscription_name, cause = argument
        topic = self.runtime.clusters[cluster].topics.get(name)
        subscription = (
            None
            if topic is None or not topic.loaded or topic.migrated_to is None
            else topic.subscriptions.get(subscription_name)
        )
        if subscription is not None and drained(subscription):
            for session in tuple(subscription.dispatcher.sessions):
                self._send_on(session, cause)

    def _send_on(self, session: Session, cause: int) -> None:
        """Disconnect a consumer whose subscription is drained; it will connect to the topic in green."""
        clear_cumulative_ack(self.runtime, session.consumer, session.topic.name)
        for migration in self.runtime.migrations:
            migration.redirected(session.topic, session.subscription.name, cause)
        seq = self.runtime.rows.client_redirected(
            cause, **session.topic.names, peer=session.topic.migrated_to, client=session.consumer.number
        )
        session.subscription.dispatcher.remove(session, seq)
        session.consumer.disconnected(session, "migrated", seq)


def clear_cumulative_ack(runtime: Pulsar, consumer: Consumer, topic: str) -> None:
    """A consumer is redirected: newer clients forget their last cumulative ack.

    The source is `ConsumerImpl.setRedirectedClusterURI`.
    """
    if runtime.option("redirectClearsCumulativeAck"):
        consumer.flush_and_clean(topic)


def drained(subscription: Subscription | None) -> bool:
    """Whether a consumer that subscribes in blue is redirected to green."""
    return subscription is None or not subscription.backlog


def in_green(runtime: Pulsar, topic: Topic, client: Producer | Consumer, cause: int) -> Topic | None:
    """A migrated topic in green, where the client may create a plain one; None while it is missing.

    A partition is looked up by its own name, and refused when it does not exist (PIP-414).
    """
    assert topic.migrated_to is not None, "the topic is migrated"
    green = runtime.clusters[topic.migrated_to]
    if green.up and topic.partition < 0:
        catalogue.find_topic(client, green, topic.base, cause)
    return green.topics.get(topic.name) if green.up else None


def sent_on(runtime: Pulsar, consumer: Consumer, topic: Topic, cause: int) -> tuple[Topic | None, int]:
    """The topic to which a consumer of a migrated topic connects, and the row that redirects it.

    It is the topic itself until its subscription is drained, then green's. It is None while green does not
    have it.
    """
    if not drained(topic.subscriptions.get(consumer.spec.subscription)):
        return topic, cause
    assert topic.migrated_to is not None, "the topic is migrated"
    green = runtime.clusters[topic.migrated_to]
    there = in_green(runtime, topic, consumer, cause)
    return there, runtime.rows.client_redirected(
        cause, **topic.names, peer=green.number, client=consumer.number
    )
