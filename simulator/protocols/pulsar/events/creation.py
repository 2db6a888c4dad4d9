"""Events of namespaces, policies, topic creation and schemas."""

from __future__ import annotations

from simulator.trace.registry import EventType

CREATION: tuple[EventType, ...] = (
    EventType(
        82,
        "namespace.created",
        ("cluster", "detail"),
        "control",
        "the namespace exists in the cluster; detail is its name",
    ),
    EventType(
        83,
        "policy.changed",
        ("cluster", "topic", "reason", "detail"),
        "control",
        (
            "a policy of a namespace (topic null) or a topic changed in the cluster; reason is its name, "
            "detail whose and the value"
        ),
    ),
    EventType(
        84,
        "topic.created",
        ("cluster", "peer", "topic", "client", "count", "reason"),
        "control",
        (
            "the topic exists in the cluster, with count partitions (0: a plain topic); reason: command, "
            "client, replicator, reconnection (of a replicator), copied-request, "
            "set-replication-clusters, migration; peer is the cluster that asked for it, or whose shape was "
            "adopted"
        ),
    ),
    EventType(
        85,
        "topic.creation-refused",
        ("cluster", "peer", "topic", "client", "reason", "detail"),
        "control",
        "the cluster did not create it; peer or client had requested it, detail gives the reason",
    ),
    EventType(
        86,
        "topic.partitions-changed",
        ("cluster", "peer", "topic", "count", "reason"),
        "control",
        (
            "the topic has count partitions in the cluster; reason: command, copied-request; peer is the "
            "cluster that asked"
        ),
    ),
    EventType(
        87,
        "topic.deleted",
        ("cluster", "topic", "reason"),
        "control",
        (
            "the topic is gone in the cluster, with its subscriptions, replication cursors, entries and "
            "schemas (reason: command, forced, kept-out, migration)"
        ),
    ),
    EventType(
        90,
        "schema.used",
        ("cluster", "topic", "producer", "sequence_id", "detail"),
        "control",
        "the producer's messages carry this schema from sequence_id on; detail null: none",
    ),
    EventType(
        91,
        "schema.registered",
        ("cluster", "peer", "topic", "client", "count", "reason", "detail"),
        "control",
        (
            "the topic has a new schema, version count; reason is who registered it: producer, consumer, "
            "replicator, command; detail names it"
        ),
    ),
    EventType(
        92,
        "schema.refused",
        ("cluster", "peer", "topic", "client", "reason", "detail"),
        "control",
        (
            "a schema was not taken (reason: incompatible, not-allowed, none-given); peer or client had "
            "offered it"
        ),
    ),
    EventType(
        93,
        "schema.deleted",
        ("cluster", "topic", "count"),
        "control",
        "a person deleted the topic's schemas, count versions",
    ),
)
