"""The sections of Pulsar's scenario files. Those of clients are in `client_sections`."""

from __future__ import annotations

from simulator.protocols.pulsar.scenario import model
from simulator.protocols.pulsar.scenario.client_sections import AUDIENCES, CONSUMERS, PRODUCERS, SUBSCRIPTIONS
from simulator.protocols.pulsar.scenario.families import PULSAR
from simulator.protocols.pulsar.scenario.policies import (
    PARTITIONS_MOST,
    POLICIES,
    QUOTA_KEYS,
    SCHEMA_TYPES,
)
from simulator.scenarios.key import Key, Section

CLUSTERS = Section(
    "clusters",
    "cluster",
    model.ClusterSpec,
    "the clusters, by name; the page shows them in this order",
    (
        Key("settings", "settings", "broker settings that differ from the scenario's"),
        Key(
            "firstLedger",
            "integer",
            "number of the first ledger opened here; without it the lab chooses",
            attribute="first_ledger",
            minimum=0,
            maximum=1_000_000_000,
        ),
        Key(
            "peerClusters",
            "clusters",
            "clusters that must not be in the same replication list of a namespace",
            attribute="peer_clusters",
        ),
    ),
    most=16,
    required=True,
    sites=True,
    protocol=PULSAR,
)

NAMESPACES = Section(
    "namespaces",
    "namespace",
    model.NamespaceSpec,
    (
        "namespaces with policies, by tenant/namespace (docs/topic-creation.md); one that is not declared "
        "exists everywhere with defaults, and its topics replicate by their own lists"
    ),
    (
        Key("clusters", "clusters", "where it exists; without it everywhere"),
        *POLICIES,
        Key("overrides", "policies-by-cluster", "what is different in one cluster"),
    ),
    most=64,
    naming="namespace",
    protocol=PULSAR,
)

SCHEMAS = Section(
    "schemas",
    "schema",
    model.SchemaSpec,
    "message schemas, by name, for producers, consumers and commands",
    (
        Key("type", "choice", "Pulsar's schema type", required=True, choices=SCHEMA_TYPES),
        Key(
            "definition",
            "avro",
            (
                "the Avro schema, for AVRO and JSON: {type: record, name: Order, fields: [{name: id, type: "
                "long}]}"
            ),
        ),
    ),
    most=256,
    protocol=PULSAR,
)

BROKERS = Section(
    "brokers",
    "broker",
    model.BrokerSpec,
    (
        "brokers with limits, by name; a cluster that declares none has no limits of this kind "
        "(docs/broadcast.md)"
    ),
    (
        Key("cluster", "cluster", "where it is", required=True),
        Key(
            "topics",
            "topics-or-partitions",
            (
                "topics that it serves at the start; the others go, in order of their names, to the broker "
                "of their cluster with the fewest topics, the first by name among equals"
            ),
        ),
        Key(
            "dispatchTime",
            "duration",
            "its time for each entry that it hands to one consumer, one after another",
            attribute="dispatch_us",
        ),
        Key(
            "bandwidth",
            "bandwidth",
            "bytes a second going out to consumers; without it unlimited",
            attribute="bandwidth_bytes_per_s",
        ),
        Key(
            "connectTime",
            "duration",
            "its time for each consumer that subscribes, one after another",
            attribute="connect_us",
        ),
    ),
    most=64,
    protocol=PULSAR,
)

TOPICS = Section(
    "topics",
    "topic",
    model.TopicSpec,
    "the topics, by name",
    (
        Key("clusters", "clusters", "the replication list", required=True),
        Key(
            "partitions",
            "integer",
            "number of partitions; 0 is a plain topic",
            minimum=0,
            maximum=PARTITIONS_MOST,
        ),
        Key(
            "replication",
            "pairs",
            "the pairs that replicate, such as [a -> b]; without it all of them, both ways",
        ),
        Key("settings", "settings", "topic policies under broker setting names (time to live, retention…)"),
        Key("namespace", "namespace", "tenant/namespace that holds it, such as acme/orders"),
        Key(
            "exists",
            "partitions-by-cluster",
            (
                "where it is when the run begins, with how many partitions: {a: 2, b: 0}, 0 is a plain "
                "topic, {} is nowhere; without it in all its clusters"
            ),
        ),
        Key(
            "shadowOf",
            "topic",
            (
                "makes it a shadow topic of that topic: other subscriptions on the same ledgers, in one "
                "cluster of the source's"
            ),
            attribute="shadow_of",
        ),
        Key(
            "shadowReplication",
            "boolean",
            "a shadow's: its source's list of shadow topics names it when the run begins (without it: yes)",
            attribute="shadow_replication",
        ),
    ),
    most=64,
    required=True,
    protocol=PULSAR,
)

ROLES = Section(
    "roles",
    "role",
    model.RoleSpec,
    (
        "the roles, by name; with any, clients need permission for what they do, and "
        "without any every client may do everything"
    ),
    (
        Key("superuser", "boolean", "may do everything"),
        Key("produce", "topics", "topics to which it may produce"),
        Key(
            "consume",
            "topics",
            "topics from which it may consume; a topic and its shadows are different topics",
        ),
        Key(
            "shadowTopicPolicy",
            "topics",
            "topics whose list of shadow topics it may set: WRITE on the policy SHADOW_TOPIC",
            attribute="shadow_topic_policy",
        ),
    ),
    most=64,
    protocol=PULSAR,
)

TENANTS = Section(
    "tenants",
    "tenant",
    model.TenantSpec,
    "the LookupService's map: tenants, each with the cluster where its clients find it",
    (
        Key("cluster", "cluster", "the physical cluster of the tenant when the run begins", required=True),
        Key("roles", "names", "roles with permissions on its namespaces"),
    ),
    most=64,
    protocol=PULSAR,
)

SECTIONS = (
    CLUSTERS,
    BROKERS,
    NAMESPACES,
    SCHEMAS,
    TOPICS,
    ROLES,
    PRODUCERS,
    SUBSCRIPTIONS,
    CONSUMERS,
    AUDIENCES,
    TENANTS,
)

ORDER = (
    "clusters",
    "links",
    "brokers",
    "tenants",
    "namespaces",
    "schemas",
    "topics",
    "roles",
    "producers",
    "subscriptions",
    "consumers",
    "audiences",
)
"""The order of sections in the canonical text."""

KEY_GROUPS = {"namespace-policies": POLICIES, "backlog-quota": QUOTA_KEYS}
"""Mappings that kinds of this protocol refer to in the JSON Schema."""
