"""Events of replicators and failovers."""

from __future__ import annotations

from simulator.trace.registry import EventType

REPLICATION: tuple[EventType, ...] = (
    EventType(
        68,
        "replicator.created",
        ("cluster", "peer", "topic", "ledger", "entry"),
        "control",
        "its cursor opened with this mark-delete",
    ),
    EventType(
        69,
        "replicator.removed",
        ("cluster", "peer", "topic"),
        "control",
        "replication to peer was taken off the list; the cursor is gone",
    ),
    EventType(
        70,
        "replicator.started",
        ("cluster", "peer", "topic"),
        "control",
        "connected; reads from its mark-delete",
    ),
    EventType(
        71,
        "replicator.disconnected",
        ("cluster", "peer", "topic", "reason"),
        "control",
        "its connection broke",
    ),
    EventType(
        72,
        "replicator.rewound",
        ("cluster", "peer", "topic", "ledger", "entry"),
        "control",
        "reads again after this position",
    ),
    EventType(
        73,
        "failover.started",
        ("cluster", "peer", "subscription", "reason"),
        "control",
        (
            "subscription moves from cluster to peer (reason: crash, planned, drained, auto, migration, "
            "roll-back, blue-green); the window opens"
        ),
    ),
    EventType(
        74,
        "failover.finished",
        ("cluster", "peer", "subscription"),
        "control",
        "its consumers have subscribed at peer",
    ),
    EventType(
        88,
        "replicator.start-refused",
        ("cluster", "peer", "topic", "count", "duration_us", "reason", "detail"),
        "control",
        (
            "the start check or a reconnection was refused; count starts failed so far, the next is tried "
            "after duration_us (none: not again); reason: different-partitions, no-remote-topic, conflict, "
            "not-created, of reconnections topic-not-found, remote-partitioned, no-partitioned-topic, and "
            "before PIP-433 also no-such-partition, auto-creation-not-allowed"
        ),
    ),
    EventType(
        89,
        "replicator.stopped",
        ("cluster", "peer", "topic", "ledger", "entry", "duration_us", "reason", "detail"),
        "control",
        (
            "connected, but it is blocked at this entry until it reconnects (reason: schema; "
            "duration: how long the entry has been pending)"
        ),
    ),
)
