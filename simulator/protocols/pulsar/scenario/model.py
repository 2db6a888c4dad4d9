"""The Pulsar part of a scenario: one frozen object for each name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from simulator.protocols.pulsar.scenario.client_model import (
    AudienceSpec,
    ConsumerSpec,
    ProducerSpec,
    SubscriptionSpec,
)
from simulator.protocols.pulsar.scenario.families import PULSAR
from simulator.protocols.pulsar.scenario.policies import BacklogQuota
from simulator.scenarios.model import Scenario

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
