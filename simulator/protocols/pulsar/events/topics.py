"""Events of clusters, topics and ledgers."""

from __future__ import annotations

from simulator.trace.registry import EventType

TOPICS: tuple[EventType, ...] = (
    EventType(
        3,
        "cluster.crashed",
        ("cluster",),
        "control",
        (
            "all brokers of the cluster died; unflushed state is gone, and with the fault host what was on "
            "the wire from them"
        ),
    ),
    EventType(
        4,
        "cluster.restarted",
        ("cluster",),
        "control",
        "the cluster restarted from what it had persisted",
    ),
    EventType(
        5,
        "cluster.lost",
        ("cluster",),
        "control",
        "the cluster and its data are lost permanently",
    ),
    EventType(
        9,
        "setting.changed",
        ("cluster", "reason", "detail"),
        "control",
        "a broker setting changed; reason is its name, detail the value",
    ),
    EventType(
        10,
        "topic.loaded",
        ("cluster", "topic"),
        "control",
        "a broker loaded the topic; a new ledger is open",
    ),
    EventType(
        11,
        "topic.unloaded",
        ("cluster", "topic", "reason"),
        "control",
        "the topic left its broker (unload, crash, migration, deleted)",
    ),
    EventType(
        176,
        "topic.quota-exceeded",
        ("cluster", "topic", "reason", "detail", "size_bytes", "duration_us"),
        "control",
        (
            "the check found a backlog quota exceeded; reason is its type, detail its policy, size_bytes the "
            "backlog, duration_us the age of its oldest message, where it is known"
        ),
    ),
    EventType(
        177,
        "producer.blocked",
        ("cluster", "topic", "client", "reason"),
        "control",
        "the broker closed or refused a producer, because a backlog quota is exceeded; reason is its policy",
    ),
    EventType(
        178,
        "producer.unblocked",
        ("cluster", "topic", "client"),
        "control",
        "the broker accepts the producer again: the backlog quota is no longer exceeded",
    ),
    EventType(
        12,
        "ledger.opened",
        ("cluster", "topic", "ledger"),
        "control",
        "a ledger was opened for appends",
    ),
    EventType(
        13,
        "ledger.closed",
        ("cluster", "topic", "ledger", "count"),
        "control",
        "a ledger was closed with count entries",
    ),
    EventType(
        14,
        "ledger.trimmed",
        ("cluster", "topic", "ledger", "count"),
        "control",
        "a ledger of count entries was deleted",
    ),
    EventType(
        80,
        "topic.assigned",
        ("cluster", "topic", "broker"),
        "control",
        "the broker that serves the topic from this load on; only where brokers are declared",
    ),
)
