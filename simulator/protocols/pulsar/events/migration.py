"""Events of tenants, lookup and migration."""

from __future__ import annotations

from simulator.trace.registry import EventType

MIGRATION: tuple[EventType, ...] = (
    EventType(
        114,
        "tenant.mapped",
        ("tenant", "cluster", "peer"),
        "control",
        "the LookupService sends the tenant's clients to cluster from now on, no longer to peer",
    ),
    EventType(
        115,
        "lookup.answered",
        ("cluster", "topic", "client", "reason"),
        "control",
        (
            "the LookupService answered: the client's topic is in cluster (reason: partition-metadata, "
            "schema, lookup)"
        ),
    ),
    EventType(
        116,
        "lookup.failed",
        ("topic", "client", "reason", "count"),
        "control",
        ("the client's count-th request in a row failed (reason: service-down, cluster-down, no-topic)"),
    ),
    EventType(
        117,
        "lookup.stopped",
        (),
        "control",
        "the LookupService answers no request; existing connections stay",
    ),
    EventType(
        118,
        "lookup.started",
        (),
        "control",
        "the LookupService answers again",
    ),
    EventType(
        119,
        "producer.connected",
        ("cluster", "topic", "client"),
        "control",
        "a producer that looked up or was redirected connected",
    ),
    EventType(
        120,
        "producer.disconnected",
        ("cluster", "topic", "client", "reason"),
        "control",
        "a producer that looks up lost its broker, or left",
    ),
    EventType(
        121,
        "client.redirected",
        ("cluster", "peer", "topic", "client"),
        "control",
        "cluster's broker sent the client on to peer: the topic is migrated (PIP-188)",
    ),
    EventType(
        122,
        "migration.started",
        ("tenant", "cluster", "peer", "reason"),
        "control",
        "the tenant's move from cluster to peer was begun; reason is the strategy",
    ),
    EventType(
        123,
        "migration.step-began",
        ("tenant", "cluster", "peer", "reason", "count"),
        "control",
        "step reason began, or went on, in its count-th attempt",
    ),
    EventType(
        124,
        "migration.step-finished",
        ("tenant", "cluster", "peer", "reason", "duration_us"),
        "control",
        "step reason is complete, duration_us after it began first",
    ),
    EventType(
        125,
        "migration.step-failed",
        ("tenant", "cluster", "peer", "reason", "detail"),
        "control",
        "step reason is blocked; detail gives the reason and its progress",
    ),
    EventType(
        126,
        "migration.step-undone",
        ("tenant", "cluster", "peer", "reason"),
        "control",
        "what step reason did is taken back",
    ),
    EventType(
        127,
        "migration.changed",
        ("tenant", "cluster", "peer", "reason"),
        "control",
        (
            "reason: pause, resume, roll-back, undo of the current step, or forced: an "
            "operator deletes what is still needed"
        ),
    ),
    EventType(
        128,
        "migration.ended",
        ("tenant", "cluster", "peer", "reason"),
        "control",
        "nothing more to do (reason: finished, rolled-back)",
    ),
    EventType(
        129,
        "resource.created",
        ("tenant", "cluster", "peer", "topic", "subscription", "reason", "detail"),
        "control",
        "made in cluster by a migration, as peer has it; reason is its kind, detail its name",
    ),
    EventType(
        130,
        "resource.deleted",
        ("tenant", "cluster", "topic", "subscription", "reason", "detail"),
        "control",
        "deleted in cluster by a migration; reason is its kind, detail its name",
    ),
    EventType(
        131,
        "cluster.migration-marked",
        ("cluster", "peer", "detail", "count"),
        "control",
        "cluster, or only the namespace detail, is marked migrated to peer (count 1) or not (0): PIP-188",
    ),
    EventType(
        132,
        "topic.migrated",
        ("cluster", "peer", "topic"),
        "control",
        "cluster's broker sends its clients on to peer as their subscriptions are drained",
    ),
)
