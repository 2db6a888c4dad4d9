"""The Pulsar part of a scenario: one frozen object for each name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from simulator.protocols.pulsar.scenario.policies import BacklogQuota
from simulator.scenarios.model import Distribution, Scenario, Selection

# --- the name of the protocol in scenario files, and its families of scenarios


PULSAR = "pulsar"

TENANT_MIGRATION = "tenant-migration"
"""The family whose causes of a duplicate include those of every strategy of a tenant's move."""

FAMILIES = ("replicated-subscriptions", TENANT_MIGRATION, "topic-creation", "shadow-topics")

MECHANISMS = {
    "replicated-subscriptions": (
        "A snapshot maps a position in one region's log to positions in the others. The standby's "
        "cursor advances when the active one has passed it (PIP-33)."
    ),
    TENANT_MIGRATION: (
        "A tenant moves to another cluster: its data is replicated, its acknowledgements are synced by "
        "the messages' positions in the old cluster, and its clients are redirected."
    ),
    "topic-creation": (
        "Each cluster has its own topics, policies and schemas. A replicator checks the remote topic "
        "before it starts, and retries as long as the check fails (PIP-433)."
    ),
    "shadow-topics": (
        "A shadow topic has its own subscriptions on the ledgers of another topic. It copies and writes "
        "nothing, and another broker can serve it (PIP-180)."
    ),
}
"""What each family demonstrates, for the gallery."""


__all__ = [
    "AudienceSpec",
    "BrokerSpec",
    "ClusterSpec",
    "ConsumerSpec",
    "NamespaceSpec",
    "ProducerSpec",
    "PulsarScenario",
    "RoleSpec",
    "SchemaSpec",
    "SubscriptionSpec",
    "TenantSpec",
    "TopicSpec",
]


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    name: str
    settings: dict[str, Any] = field(default_factory=dict)  # broker settings that differ from the scenario's
    # number of the first ledger opened in this cluster; None: the engine chooses
    first_ledger: int | None = None
    # Pulsar's peer clusters: none of them may be with it in a replication list
    peer_clusters: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class NamespaceSpec:
    """A namespace with its policies at the start of the run, which belong to each cluster.

    A policy of None means the broker's setting. `clusters` are those where it exists (None: all). `overrides`
    has the differences by cluster: {cluster: {field: value}}.
    """

    name: str
    clusters: tuple[str, ...] | None = None
    replication_clusters: tuple[str, ...] | None = None  # None: only the cluster itself
    allowed_clusters: tuple[str, ...] | None = None
    allow_auto_topic_creation: bool | None = None
    allow_auto_topic_creation_type: str | None = None  # partitioned | non-partitioned
    default_num_partitions: int | None = None
    schema_compatibility_strategy: str | None = None
    is_allow_auto_update_schema: bool | None = None
    is_allow_auto_update_schema_with_replicator: bool = True
    schema_validation_enforced: bool | None = None
    backlog_quotas: dict[str, BacklogQuota] | None = None  # by type
    # of the system topic __change_events: 0 is a plain topic, None: it does not exist yet
    change_events_partitions: int | None = None
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SchemaSpec:
    """A message schema: Pulsar's `type`, and the Avro schema's canonical JSON text as `definition`.

    Only AVRO and JSON have a definition.
    """

    name: str
    type: str
    definition: str | None = None


@dataclass(frozen=True, slots=True)
class BrokerSpec:
    """One broker of a cluster, with limits.

    `dispatch_us` is its time for each entry that it sends to a consumer, `connect_us` for each client that
    subscribes. `bandwidth_bytes_per_s` limits the bytes sent (None: unlimited). `topics` are those it serves
    at the start.
    """

    name: str
    cluster: str
    topics: tuple[str, ...] = ()
    dispatch_us: int = 0
    bandwidth_bytes_per_s: int | None = None
    connect_us: int = 0


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic: `clusters` is the replication list, `partitions` 0 is a plain topic.

    `replication` lists the ordered pairs that replicate. None is all of them. `namespace` is
    `tenant/namespace` as in Pulsar. In a namespace that the scenario declares, `clusters` are those where the
    topic may exist, and the namespace's policies determine replication, unless `replication` is given.
    `exists` lists (cluster, partitions) where the topic exists at the start of the run. None: in all its
    clusters, with `partitions`.
    """

    name: str
    clusters: tuple[str, ...]
    partitions: int = 0
    replication: tuple[tuple[str, str], ...] | None = None  # YAML `replication: [a -> b, b <-> c]`
    # topic policies under broker setting names (ttl, retention)
    settings: dict[str, Any] = field(default_factory=dict)
    namespace: str = "public/default"
    exists: tuple[tuple[str, int], ...] | None = None
    shadow_of: str | None = None  # the topic whose ledgers it reads: a shadow topic (PIP-180)
    # a shadow's: whether its source's list of shadow topics has it at the start; None: it does
    shadow_replication: bool | None = None

    @property
    def tenant(self) -> str:
        """The part of the namespace before the slash."""
        return self.namespace.partition("/")[0]

    @property
    def shapes(self) -> dict[str, int]:
        """By cluster the partitions (0: plain) with which it exists at the start of the run."""
        return dict.fromkeys(self.clusters, self.partitions) if self.exists is None else dict(self.exists)


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """A role's permissions, topic by topic.

    A scenario with roles has authorisation on. `shadow_topic_policy` is WRITE on the policy SHADOW_TOPIC of
    these topics.
    """

    name: str
    superuser: bool = False
    produce: tuple[str, ...] = ()
    consume: tuple[str, ...] = ()
    shadow_topic_policy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TenantSpec:
    """The cluster of a tenant in the LookupService's map at the start of the run.

    `roles` are those with permissions on its namespaces.
    """

    name: str
    cluster: str
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PulsarScenario(Scenario):
    """A scenario of Pulsar: its sections by name."""

    protocol: ClassVar[str] = PULSAR

    clusters: dict[str, ClusterSpec] = field(default_factory=dict)
    brokers: dict[str, BrokerSpec] = field(default_factory=dict)
    namespaces: dict[str, NamespaceSpec] = field(default_factory=dict)
    schemas: dict[str, SchemaSpec] = field(default_factory=dict)
    topics: dict[str, TopicSpec] = field(default_factory=dict)
    roles: dict[str, RoleSpec] = field(default_factory=dict)
    producers: dict[str, ProducerSpec] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionSpec] = field(default_factory=dict)
    consumers: dict[str, ConsumerSpec] = field(default_factory=dict)
    audiences: dict[str, AudienceSpec] = field(default_factory=dict)
    tenants: dict[str, TenantSpec] = field(default_factory=dict)


# --- the clients of a Pulsar scenario: one frozen object for each name


SHORTEST_REDELIVERY_DELAY_US = 100_000


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """A producer, which publishes `count` messages (None: until `stop_us`).

    It publishes one each `every_us`, or at Poisson instants with that mean. `at_us`, when given, lists the
    instants instead. With `cluster` None it uses the LookupService. An entry holds `batch` messages.
    `send_timeout_us` 0 is never. `replicate_to` None is every cluster. `delay` is delayed delivery: message
    numbers and the time.
    """

    name: str
    topic: str
    cluster: str | None = None
    start_us: int = 0
    stop_us: int | None = None
    every_us: int | None = None
    arrivals: str = "regular"  # regular | poisson
    at_us: tuple[int, ...] | None = None
    count: int | None = None
    size_bytes: int = 1000
    keys: int | None = None  # number of keys, used in turn; None is no key
    batch: int = 1
    send_timeout_us: int = 30_000_000
    replicate_to: tuple[str, ...] | None = None
    delay: Selection | None = None
    paused: bool = False
    schema: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionSpec:
    name: str
    topic: str
    type: str = "Exclusive"  # Exclusive | Failover | Shared | Key_Shared
    replicate_subscription_state: bool = False
    initial_position: str = "Latest"  # Latest | Earliest
    acknowledgement_sync: str = "none"  # none | once (on command) | periodic
    ack_sync_period_us: int = 1_000_000


@dataclass(frozen=True, slots=True)
class RedeliveryBackoff:
    """MultiplierRedeliveryBackoff of the Java client: delays that grow with a message's redelivery count."""

    min_delay_ms: int = 10_000
    max_delay_ms: int = 600_000
    multiplier_millionths: int = 2_000_000

    def next_us(self, redelivery_count: int) -> int:
        """The delay of a message with this redelivery count, in whole milliseconds."""
        high, low = self.min_delay_ms, 1
        for _ in range(redelivery_count if high else 0):
            high, low = high * self.multiplier_millionths, low * 1_000_000
            if high >= self.max_delay_ms * low:
                return self.max_delay_ms * 1000
        return high // low * 1000


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """A consumer; with `cluster` None it uses the LookupService.

    `acknowledge`: individual | cumulative | never. `hold` delays the ack of some messages,
    `negative_acknowledge` nacks some on their first deliveries. `acknowledgment_group_time_us` 0 sends every
    ack at once. `acknowledgment_group_phase_us` is an instant at which its first process sends groups; with
    None the option `ackGroupPhase` decides. `ack_timeout_us` 0 is off.
    """

    name: str
    subscription: str
    cluster: str | None = None
    start_us: int = 0
    stop_us: int | None = None
    receiver_queue_size: int = 1000
    processing: Distribution = Distribution()
    acknowledge: str = "individual"
    acknowledgment_group_time_us: int = 100_000
    acknowledgment_group_phase_us: int | None = None
    negative_ack_redelivery_delay_us: int = 60_000_000
    negative_ack_redelivery_backoff: RedeliveryBackoff | None = None
    negative_ack_precision_bits: int = 8
    ack_timeout_us: int = 0
    hold: Selection | None = None
    negative_acknowledge: Selection | None = None
    batch_index_acknowledgment: bool = True
    paused: bool = False
    schema: str | None = None
    role: str | None = None

    def redelivery_delay_us(self, redelivery_count: int) -> int:
        """Time from a negative ack to when the message is due.

        The Java client waits at least 100 ms (NegativeAcksTracker.MIN_NACK_DELAY), except for a backoff.
        """
        backoff = self.negative_ack_redelivery_backoff
        if backoff is not None:
            return backoff.next_us(redelivery_count)
        return max(self.negative_ack_redelivery_delay_us, SHORTEST_REDELIVERY_DELAY_US)

    @property
    def rounds_delay_us(self) -> int:
        """The delay that has three rounds, before PIP-393: 100 ms at least, of a backoff too."""
        return max(self.redelivery_delay_us(0), SHORTEST_REDELIVERY_DELAY_US)


@dataclass(frozen=True, slots=True)
class AudienceSpec:
    """Many similar Exclusive subscriptions of a topic in one cluster.

    There are `subscriptions` of them, each with one consumer that receives and acknowledges at once.
    """

    name: str
    topic: str
    cluster: str
    subscriptions: int
    initial_position: str = "Latest"  # Latest | Earliest
    start_us: int = 0
    stop_us: int | None = None
