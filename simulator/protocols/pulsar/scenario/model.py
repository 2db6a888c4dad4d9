"""The Pulsar part of a scenario: one frozen object for each name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from simulator.protocols.pulsar.scenario.policies import (
    PARTITIONS_MOST,
    SCHEMA_STRATEGIES,
    SCHEMA_TYPES,
    TOPIC_TYPES,
    BacklogQuota,
)
from simulator.scenarios.declarations import (
    Arrivals,
    Count,
    Every,
    Instants,
    Key,
    SizeBytes,
    Start,
    Stop,
    keys_of,
)
from simulator.scenarios.limits import LONGEST_US
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
    settings: Annotated[
        dict[str, Any], Key("settings", "settings", "broker settings that differ from the scenario's")
    ] = field(default_factory=dict)
    first_ledger: Annotated[
        int | None,
        Key(
            "firstLedger",
            "integer",
            "number of the first ledger opened here; without it the lab chooses",
            minimum=0,
            maximum=1_000_000_000,
        ),
    ] = None
    peer_clusters: Annotated[
        tuple[str, ...] | None,
        Key(
            "peerClusters",
            "clusters",
            "clusters that must not be in the same replication list of a namespace",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class NamespaceSpec:
    """A namespace with its policies at the start of the run, which belong to each cluster.

    A policy of None means the broker's setting. `clusters` are those where it exists (None: all). `overrides`
    has the differences by cluster: {cluster: {field: value}}.
    """

    name: str
    clusters: Annotated[
        tuple[str, ...] | None, Key("clusters", "clusters", "where it exists; without it everywhere")
    ] = None
    replication_clusters: Annotated[
        tuple[str, ...] | None,
        Key(
            "replicationClusters",
            "clusters",
            "clusters that get what is published here; without it only itself",
        ),
    ] = None
    allowed_clusters: Annotated[
        tuple[str, ...] | None,
        Key(
            "allowedClusters", "clusters", "clusters where its topics may live without replication (PIP-321)"
        ),
    ] = None
    allow_auto_topic_creation: Annotated[
        bool | None,
        Key("allowAutoTopicCreation", "boolean", "a client that connects to a missing topic creates it"),
    ] = None
    allow_auto_topic_creation_type: Annotated[
        str | None, Key("allowAutoTopicCreationType", "choice", "what it creates", choices=TOPIC_TYPES)
    ] = None
    default_num_partitions: Annotated[
        int | None,
        Key(
            "defaultNumPartitions",
            "integer",
            "with how many partitions, where that is partitioned",
            minimum=0,
            maximum=PARTITIONS_MOST,
        ),
    ] = None
    schema_compatibility_strategy: Annotated[
        str | None,
        Key(
            "schemaCompatibilityStrategy",
            "choice",
            "what a new schema must be to those before",
            choices=SCHEMA_STRATEGIES,
        ),
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None, Key("isAllowAutoUpdateSchema", "boolean", "clients may register schemas")
    ] = None
    is_allow_auto_update_schema_with_replicator: Annotated[
        bool,
        Key(
            "isAllowAutoUpdateSchemaWithReplicator",
            "boolean",
            "replicators may, also where clients may not (PIP-433)",
        ),
    ] = True
    schema_validation_enforced: Annotated[
        bool | None,
        Key(
            "schemaValidationEnforced",
            "boolean",
            "producers without a schema are refused where the topic has one",
        ),
    ] = None
    backlog_quotas: Annotated[
        dict[str, BacklogQuota] | None,
        Key(
            "backlogQuotas",
            "backlog-quotas",
            "limits of each topic's backlog, by type; without one the broker's default",
        ),
    ] = None
    change_events_partitions: Annotated[
        int | None,
        Key(
            "changeEventsPartitions",
            "integer",
            "the system topic `__change_events` exists with so many partitions, 0 as a plain topic; without "
            "it not yet",
            minimum=0,
            maximum=PARTITIONS_MOST,
        ),
    ] = None
    overrides: Annotated[
        dict[str, dict[str, Any]], Key("overrides", "policies-by-cluster", "what is different in one cluster")
    ] = field(default_factory=dict)


POLICIES = tuple(key for key in keys_of(NamespaceSpec) if key.name not in ("clusters", "overrides"))
"""Policies of a namespace in one cluster."""


@dataclass(frozen=True, slots=True)
class SchemaSpec:
    """A message schema: Pulsar's `type`, and the Avro schema's canonical JSON text as `definition`.

    Only AVRO and JSON have a definition.
    """

    name: str
    type: Annotated[str, Key("type", "choice", "Pulsar's schema type", choices=SCHEMA_TYPES)]
    definition: Annotated[
        str | None,
        Key(
            "definition",
            "avro",
            "the Avro schema, for AVRO and JSON: {type: record, name: Order, fields: [{name: id, type: "
            "long}]}",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class BrokerSpec:
    """One broker of a cluster, with limits.

    `dispatch_us` is its time for each entry that it sends to a consumer, `connect_us` for each client that
    subscribes. `bandwidth_bytes_per_s` limits the bytes sent (None: unlimited). `topics` are those it serves
    at the start.
    """

    name: str
    cluster: Annotated[str, Key("cluster", "cluster", "where it is")]
    topics: Annotated[
        tuple[str, ...],
        Key(
            "topics",
            "topics-or-partitions",
            "topics that it serves at the start; the others go, in order of their names, to the broker "
            "of their cluster with the fewest topics, the first by name among equals",
        ),
    ] = ()
    dispatch_us: Annotated[
        int,
        Key(
            "dispatchTime",
            "duration",
            "its time for each entry that it hands to one consumer, one after another",
        ),
    ] = 0
    bandwidth_bytes_per_s: Annotated[
        int | None,
        Key("bandwidth", "bandwidth", "bytes a second going out to consumers; without it unlimited"),
    ] = None
    connect_us: Annotated[
        int, Key("connectTime", "duration", "its time for each consumer that subscribes, one after another")
    ] = 0


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
    clusters: Annotated[tuple[str, ...], Key("clusters", "clusters", "the replication list")]
    partitions: Annotated[
        int,
        Key(
            "partitions",
            "integer",
            "number of partitions; 0 is a plain topic",
            minimum=0,
            maximum=PARTITIONS_MOST,
        ),
    ] = 0
    replication: Annotated[
        tuple[tuple[str, str], ...] | None,
        Key(
            "replication",
            "pairs",
            "the pairs that replicate, such as [a -> b]; without it all of them, both ways",
        ),
    ] = None
    settings: Annotated[
        dict[str, Any],
        Key("settings", "settings", "topic policies under broker setting names (time to live, retention…)"),
    ] = field(default_factory=dict)
    namespace: Annotated[
        str, Key("namespace", "namespace", "tenant/namespace that holds it, such as acme/orders")
    ] = "public/default"
    exists: Annotated[
        tuple[tuple[str, int], ...] | None,
        Key(
            "exists",
            "partitions-by-cluster",
            "where it is when the run begins, with how many partitions: {a: 2, b: 0}, 0 is a plain "
            "topic, {} is nowhere; without it in all its clusters",
        ),
    ] = None
    shadow_of: Annotated[
        str | None,
        Key(
            "shadowOf",
            "topic",
            "makes it a shadow topic of that topic: other subscriptions on the same ledgers, in one "
            "cluster of the source's",
        ),
    ] = None
    shadow_replication: Annotated[
        bool | None,
        Key(
            "shadowReplication",
            "boolean",
            "a shadow's: its source's list of shadow topics names it when the run begins (without it: yes)",
        ),
    ] = None

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
    superuser: Annotated[bool, Key("superuser", "boolean", "may do everything")] = False
    produce: Annotated[tuple[str, ...], Key("produce", "topics", "topics to which it may produce")] = ()
    consume: Annotated[
        tuple[str, ...],
        Key(
            "consume",
            "topics",
            "topics from which it may consume; a topic and its shadows are different topics",
        ),
    ] = ()
    shadow_topic_policy: Annotated[
        tuple[str, ...],
        Key(
            "shadowTopicPolicy",
            "topics",
            "topics whose list of shadow topics it may set: WRITE on the policy SHADOW_TOPIC",
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class TenantSpec:
    """The cluster of a tenant in the LookupService's map at the start of the run.

    `roles` are those with permissions on its namespaces.
    """

    name: str
    cluster: Annotated[
        str, Key("cluster", "cluster", "the physical cluster of the tenant when the run begins")
    ]
    roles: Annotated[tuple[str, ...], Key("roles", "names", "roles with permissions on its namespaces")] = ()


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
_LONGEST_MS = LONGEST_US // 1000


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """A producer, which publishes `count` messages (None: until `stop_us`).

    It publishes one each `every_us`, or at Poisson instants with that mean. `at_us`, when given, lists the
    instants instead. With `cluster` None it uses the LookupService. An entry holds `batch` messages.
    `send_timeout_us` 0 is never. `replicate_to` None is every cluster. `delay` is delayed delivery: message
    numbers and the time.
    """

    name: str
    topic: Annotated[str, Key("topic", "topic", "where it publishes")]
    cluster: Annotated[
        str | None,
        Key("cluster", "cluster", "cluster that it connects to; default: what the LookupService returns"),
    ] = None
    start_us: Start = 0
    stop_us: Stop = None
    every_us: Every = None
    arrivals: Arrivals = "regular"
    at_us: Instants = None
    count: Count = None
    size_bytes: SizeBytes = 1000
    keys: Annotated[
        int | None,
        Key(
            "keys",
            "integer",
            "number of keys, taken in turn; without it messages have no key",
            minimum=1,
            maximum=1_000_000,
        ),
    ] = None
    batch: Annotated[
        int, Key("batch", "integer", "messages that travel in one entry", minimum=1, maximum=1000)
    ] = 1
    send_timeout_us: Annotated[
        int, Key("sendTimeout", "duration", "after which it gives a message up; 0s is never")
    ] = 30_000_000
    replicate_to: Annotated[
        tuple[str, ...] | None,
        Key("replicateTo", "clusters", "clusters that get its messages; [] is none, without it everyone"),
    ] = None
    delay: Annotated[
        Selection | None, Key("delay", "delay", "delayed delivery: which messages, and for how long")
    ] = None
    paused: Annotated[bool, Key("paused", "boolean", "begins paused")] = False
    schema: Annotated[str | None, Key("schema", "schema", "schema of its messages; without it bytes")] = None
    role: Annotated[
        str | None, Key("role", "role", "role that it connects with, where the scenario has roles")
    ] = None


@dataclass(frozen=True, slots=True)
class SubscriptionSpec:
    name: str
    topic: Annotated[str, Key("topic", "topic", "what it subscribes to")]
    type: Annotated[
        str,
        Key("type", "choice", "subscription type", choices=("Exclusive", "Failover", "Shared", "Key_Shared")),
    ] = "Exclusive"
    replicate_subscription_state: Annotated[
        bool, Key("replicateSubscriptionState", "boolean", "its consumers ask for a replicated subscription")
    ] = False
    initial_position: Annotated[
        str,
        Key(
            "initialPosition",
            "choice",
            "where its consumers begin when it does not exist yet",
            choices=("Latest", "Earliest"),
        ),
    ] = "Latest"
    acknowledgement_sync: Annotated[
        str,
        Key(
            "acknowledgementSync",
            "choice",
            "whether clusters tell each other what is acknowledged, message by message: never, on "
            "command, or again and again",
            choices=("none", "once", "periodic"),
        ),
    ] = "none"
    ack_sync_period_us: Annotated[
        int, Key("ackSyncPeriod", "duration", "time between two such messages, when periodic", minimum=1000)
    ] = 1_000_000


@dataclass(frozen=True, slots=True)
class RedeliveryBackoff:
    """MultiplierRedeliveryBackoff of the Java client: delays that grow with a message's redelivery count."""

    min_delay_ms: Annotated[
        int,
        Key(
            "minDelayMs",
            "integer",
            "delay of a first delivery, in milliseconds; without it 10000",
            minimum=0,
            maximum=_LONGEST_MS,
        ),
    ] = 10_000
    max_delay_ms: Annotated[
        int,
        Key(
            "maxDelayMs",
            "integer",
            "longest delay, in milliseconds; without it 600000",
            minimum=0,
            maximum=_LONGEST_MS,
        ),
    ] = 600_000
    multiplier_millionths: Annotated[
        int,
        Key("multiplier", "decimal", "factor of each redelivery, above 1; without it 2", minimum=1_000_001),
    ] = 2_000_000

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
    subscription: Annotated[str, Key("subscription", "subscription", "which subscription it consumes")]
    cluster: Annotated[
        str | None,
        Key("cluster", "cluster", "cluster that it connects to; default: what the LookupService returns"),
    ] = None
    start_us: Annotated[int, Key("start", "duration", "instant at which it subscribes")] = 0
    stop_us: Annotated[
        int | None,
        Key(
            "stop",
            "duration",
            "instant at which it closes, once done with the message at work; what it holds goes back; "
            "without it never",
        ),
    ] = None
    receiver_queue_size: Annotated[
        int,
        Key(
            "receiverQueueSize",
            "integer",
            "messages it lets the broker push ahead; 0 is none: one message is fetched at a time, "
            "partitions are refused, and a batch closes it",
            minimum=0,
            maximum=1_000_000,
        ),
    ] = 1000
    processing: Annotated[
        Distribution,
        Key("processing", "distribution", "from delivery to acknowledgement; one message at a time"),
    ] = Distribution()
    acknowledge: Annotated[
        str,
        Key("acknowledge", "choice", "how it acknowledges", choices=("individual", "cumulative", "never")),
    ] = "individual"
    acknowledgment_group_time_us: Annotated[
        int, Key("acknowledgmentGroupTime", "duration", "acks are sent together after this; 0s is at once")
    ] = 100_000
    acknowledgment_group_phase_us: Annotated[
        int | None,
        Key(
            "acknowledgmentGroupPhase",
            "duration",
            "an instant at which its first process sends a group; the others are a whole number of "
            "periods before and after it; without it the option ackGroupPhase decides",
        ),
    ] = None
    negative_ack_redelivery_delay_us: Annotated[
        int,
        Key(
            "negativeAckRedeliveryDelay",
            "duration",
            "from a negative ack to the request for redelivery, 100ms at least",
        ),
    ] = 60_000_000
    negative_ack_redelivery_backoff: Annotated[
        RedeliveryBackoff | None,
        Key(
            "negativeAckRedeliveryBackoff",
            "redelivery-backoff",
            "delays that grow with the redelivery count of a message, instead of negativeAckRedeliveryDelay",
        ),
    ] = None
    negative_ack_precision_bits: Annotated[
        int,
        Key(
            "negativeAckPrecisionBitCnt",
            "integer",
            "bits that the due time of a negative ack loses, in milliseconds: 8 is up to 255 ms early, "
            "but a delay after the first pending one at the earliest",
            minimum=0,
            maximum=32,
        ),
    ] = 8
    ack_timeout_us: Annotated[
        int,
        Key("ackTimeout", "duration", "an unacknowledged message is asked for again after this; 0s is off"),
    ] = 0
    hold: Annotated[
        Selection | None,
        Key(
            "hold",
            "hold",
            "messages that it keeps unacknowledged, and for how long; without `for` until released",
        ),
    ] = None
    negative_acknowledge: Annotated[
        Selection | None,
        Key(
            "negativeAcknowledge",
            "nack",
            "messages that it acknowledges negatively on their first deliveries",
        ),
    ] = None
    batch_index_acknowledgment: Annotated[
        bool, Key("batchIndexAcknowledgment", "boolean", "acks of single messages of a batch are sent")
    ] = True
    paused: Annotated[bool, Key("paused", "boolean", "begins paused: connected, but takes nothing")] = False
    schema: Annotated[str | None, Key("schema", "schema", "schema that it reads with; without it bytes")] = (
        None
    )
    role: Annotated[
        str | None, Key("role", "role", "role that it connects with, where the scenario has roles")
    ] = None

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
    topic: Annotated[str, Key("topic", "topic", "what they subscribe to")]
    cluster: Annotated[str, Key("cluster", "cluster", "where they are connected")]
    subscriptions: Annotated[
        int, Key("subscriptions", "integer", "how many they are", minimum=1, maximum=200_000)
    ]
    initial_position: Annotated[
        str, Key("initialPosition", "choice", "where each begins", choices=("Latest", "Earliest"))
    ] = "Latest"
    start_us: Annotated[int, Key("start", "duration", "instant at which they all ask to connect")] = 0
    stop_us: Annotated[
        int | None, Key("stop", "duration", "instant at which they all close; without it never")
    ] = None
