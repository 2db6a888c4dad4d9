"""The scenario as typed, frozen values: what the loader produces and the engine is built from.

Rules: every duration is integer microseconds (`_us`), every size integer bytes, every rate an interval in
microseconds; mappings keep the order of the file, and the engine sorts by name where order matters. The JSON
Schema, the loader's checks and `docs/scenarios.md` come from `shape.py`, which names for each field its YAML
key, its kind and one sentence; a test asserts that it and these types cover each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simulator.scenarios.families import PROTOCOL_OF

FORMAT_VERSION = 1
SHORTEST_REDELIVERY_DELAY_US = 100_000


@dataclass(frozen=True, slots=True)
class Distribution:
    """A span of time that may vary: `constant` (value_us), `uniform` (low_us..high_us), `lognormal`
    (median_us, sigma), `exponential` (mean_us). Draws come from `simulator.kernel.distributions`, integers
    only.
    """

    kind: str = "constant"
    value_us: int = 0  # constant: the value; lognormal: the median; exponential: the mean
    low_us: int = 0
    high_us: int = 0
    sigma_millionths: int = 0  # lognormal shape, times 1,000,000

    @property
    def nominal_us(self) -> int:
        """The configured middle: constant value, median, mean, or the middle of the range."""
        return (self.low_us + self.high_us) // 2 if self.kind == "uniform" else self.value_us


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """One directed link. `bandwidth_bytes_per_s` None is unlimited."""

    source: str
    target: str
    latency: Distribution
    bandwidth_bytes_per_s: int | None = None
    loss: int | None = None  # share of messages lost, millionths; None is none
    duplication: int | None = None  # share that arrives twice
    reordering: int | None = None  # share that is late


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node of an EMQX cluster."""

    name: str


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group of a durable shared subscription: `group` is its name at the broker (None: the lab's).

    It reads from `start_us` on.
    """

    name: str
    filter: str
    group: str | None = None
    queue: bool = False  # asked for as $queue/FILTER
    start_us: int = 0
    declared: bool = True  # it is there when the run begins


@dataclass(frozen=True, slots=True)
class PublisherSpec:
    """Publishes as a `ProducerSpec` does, as `clients` MQTT clients (None: one for each shard), to
    `topics` topics below `topic`.
    """

    name: str
    topic: str
    qos: int = 1
    start_us: int = 0
    stop_us: int | None = None
    every_us: int | None = None
    arrivals: str = "regular"
    at_us: tuple[int, ...] | None = None
    count: int | None = None
    size_bytes: int = 1000
    clients: int | None = None
    topics: int = 1
    paused: bool = False


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    name: str
    settings: dict[str, Any] = field(default_factory=dict)  # broker settings that differ from the scenario's
    # number of the first ledger opened in this cluster; None: the engine chooses
    first_ledger: int | None = None
    # Pulsar's peer clusters: none of them may stand beside it in a replication list
    peer_clusters: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class NamespaceSpec:
    """A namespace with its policies when the run begins, which are each cluster's own.

    None: the broker's setting counts.

    `clusters` are those where it exists (None: all); `overrides` says by cluster what is different there:
    {cluster: {field: value}}.
    """

    name: str
    clusters: tuple[str, ...] | None = None
    replication_clusters: tuple[str, ...] | None = None  # None: the cluster itself only
    allowed_clusters: tuple[str, ...] | None = None
    allow_auto_topic_creation: bool | None = None
    allow_auto_topic_creation_type: str | None = None  # partitioned | non-partitioned
    default_num_partitions: int | None = None
    schema_compatibility_strategy: str | None = None
    is_allow_auto_update_schema: bool | None = None
    is_allow_auto_update_schema_with_replicator: bool = True
    schema_validation_enforced: bool | None = None
    # of the system topic __change_events: 0 is a plain topic, None: it does not exist yet
    change_events_partitions: int | None = None
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SchemaSpec:
    """A message schema: `type` is Pulsar's; `definition` is the canonical JSON text of the Avro schema
    behind AVRO and JSON.
    """

    name: str
    type: str
    definition: str | None = None


@dataclass(frozen=True, slots=True)
class BrokerSpec:
    """One broker of a cluster, with limits: `dispatch_us` of its time for each entry that it hands to a
    consumer, so many bytes a second going out (None: unlimited), `connect_us` for each client that
    subscribes. `topics` are those it serves at the start.
    """

    name: str
    cluster: str
    topics: tuple[str, ...] = ()
    dispatch_us: int = 0
    bandwidth_bytes_per_s: int | None = None
    connect_us: int = 0


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """`clusters` is the replication list; `partitions` 0 is a plain topic.

    `replication` lists the ordered pairs that replicate; None is all of them. `namespace` is
    `tenant/namespace` as in Pulsar. In a namespace that the scenario declares, `clusters` are those where the
    topic may live, and what replicates is said by the namespace's policies, unless `replication` is given.
    `exists` lists (cluster, partitions) where the topic is there when the run begins; None: in all its
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
    # a shadow's: its source's list of shadow topics names it when the run begins; None: it does
    shadow_replication: bool | None = None

    @property
    def tenant(self) -> str:
        """The part of the namespace before the slash."""
        return self.namespace.partition("/")[0]

    @property
    def shapes(self) -> dict[str, int]:
        """By cluster the partitions (0: plain) with which it exists when the run begins."""
        return dict.fromkeys(self.clusters, self.partitions) if self.exists is None else dict(self.exists)


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """What somebody may do, topic by topic.

    A scenario with roles has authorisation on; `shadow_topic_policy` is WRITE on the policy SHADOW_TOPIC of
    these topics.
    """

    name: str
    superuser: bool = False
    produce: tuple[str, ...] = ()
    consume: tuple[str, ...] = ()
    shadow_topic_policy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """Publishes `count` messages (None: until `stop_us`), one each `every_us`, or at Poisson instants with
    that mean.

    `cluster` None: it asks the LookupService where its tenant is. `at_us`, when given, lists the instants
    instead. `batch` messages travel in one entry; `send_timeout_us` 0 is never. `replicate_to` None is
    everyone; `delay` is delayed delivery: message numbers and how long.
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
    keys: int | None = None  # number of keys, taken in turn; None is no key
    batch: int = 1
    send_timeout_us: int = 30_000_000
    replicate_to: tuple[str, ...] | None = None
    delay: Selection | None = None
    paused: bool = False
    schema: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which messages something befalls, and for how long.

    `messages` are "producer/number"; `share_millionths` draws each message by its own identity; `for_us` None
    is until released.
    """

    messages: tuple[tuple[str, int], ...] = ()
    share_millionths: int = 0
    for_us: int | None = None


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
class ConsumerSpec:
    """`cluster` None: it asks the LookupService where its tenant is.

    `acknowledge`: individual | cumulative | never. `hold` delays the ack of some messages,
    `negative_acknowledge` nacks some on their first delivery. `acknowledgment_group_time_us` 0 sends every
    ack at once; `ack_timeout_us` 0 is off.
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
    negative_ack_redelivery_delay_us: int = 60_000_000
    ack_timeout_us: int = 0
    hold: Selection | None = None
    negative_acknowledge: Selection | None = None
    batch_index_acknowledgment: bool = True
    paused: bool = False
    schema: str | None = None
    role: str | None = None

    @property
    def redelivery_delay_us(self) -> int:
        """From a negative ack to the request: the Java client waits 100 ms at least
        (NegativeAcksTracker.MIN_NACK_DELAY).
        """
        return max(self.negative_ack_redelivery_delay_us, SHORTEST_REDELIVERY_DELAY_US)


@dataclass(frozen=True, slots=True)
class AudienceSpec:
    """`subscriptions` alike Exclusive subscriptions of a topic in one cluster, each with one consumer that
    takes and acknowledges at once.
    """

    name: str
    topic: str
    cluster: str
    subscriptions: int
    initial_position: str = "Latest"  # Latest | Earliest
    start_us: int = 0
    stop_us: int | None = None


@dataclass(frozen=True, slots=True)
class TenantSpec:
    """Where the LookupService sends a tenant's clients when the run begins.

    `roles` are those with permissions on its namespaces.
    """

    name: str
    cluster: str
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """An MQTT client with its session.

    `processing` is from delivery to acknowledgement, one message at a time; `reconnect_us` None: it does not
    come back by itself; `paused`: it acknowledges nothing yet.
    """

    name: str
    node: str
    subscriptions: tuple[str, ...] = ()
    qos: int = 1
    start_us: int = 0
    stop_us: int | None = None
    processing: Distribution = Distribution()
    reconnect_us: int | None = None
    durable: bool = True
    paused: bool = False


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """`arguments` are as in the file after units were read: durations end in `_us`, links are {"link": "a
    -> b"}.
    """

    at_us: int
    do: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    title: str
    family: str
    until_us: int
    seed: int = 1
    about: str = ""
    watch: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    clusters: dict[str, ClusterSpec] = field(default_factory=dict)
    nodes: dict[str, NodeSpec] = field(default_factory=dict)
    groups: dict[str, GroupSpec] = field(default_factory=dict)
    publishers: dict[str, PublisherSpec] = field(default_factory=dict)
    sessions: dict[str, SessionSpec] = field(default_factory=dict)
    # every ordered pair, defaults filled in
    links: dict[tuple[str, str], LinkSpec] = field(default_factory=dict)
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
    commands: tuple[CommandSpec, ...] = ()
    expect: dict[str, Any] = field(default_factory=dict)
    # what is expected under each strategy, by its name
    compare: dict[str, dict[str, Any]] = field(default_factory=dict)
    canonical_text: str = ""  # the scenario as canonical YAML: what a saved lab and a trace file carry

    @property
    def protocol(self) -> str:
        """The protocol that its family shows."""
        return PROTOCOL_OF[self.family]
