"""The events that every protocol may write: run, commands, links, messages, clients, violated checks."""

from __future__ import annotations

from simulator.trace.registry import MESSAGE_OF, EventType

SHARED_EVENTS: tuple[EventType, ...] = (
    EventType(
        0,
        "run.started",
        ("detail",),
        "control",
        "the run began; detail names the scenario",
    ),
    EventType(
        1,
        "command.applied",
        ("reason", "detail"),
        "control",
        "a command took effect; reason is its name, detail its arguments",
    ),
    EventType(
        2,
        "command.refused",
        ("reason", "detail"),
        "control",
        "a command was refused; reason is its name, detail why",
    ),
    EventType(
        6,
        "link.cut",
        ("cluster", "peer"),
        "control",
        "nothing passes from cluster to peer any more",
    ),
    EventType(
        7,
        "link.healed",
        ("cluster", "peer"),
        "control",
        "the link works again",
    ),
    EventType(
        8,
        "link.slowed",
        ("cluster", "peer", "duration_us"),
        "control",
        "the link's latency is now duration_us",
    ),
    EventType(
        15,
        "message.published",
        ("cluster", "topic", "producer", "sequence_id", "key", "size_bytes"),
        "data",
        "the application called send; cluster is where the producer is connected",
    ),
    EventType(
        17,
        "message.stored",
        (
            "cluster",
            "peer",
            "topic",
            "producer",
            "sequence_id",
            "ledger",
            "entry",
            "batch_index",
            "size_bytes",
        ),
        "data",
        (
            "appended to the cluster's log; peer is the cluster it was replicated from, null when published "
            "here; size_bytes is the whole entry's on batch index 0 or null, else 0"
        ),
    ),
    EventType(
        23,
        "message.delivered",
        (*MESSAGE_OF, "count", "evidence_seq"),
        "data",
        (
            "handed to the application; count is the broker's redelivery count; evidence_seq is the row that "
            "stored it here"
        ),
    ),
    EventType(
        24,
        "message.acknowledged",
        (*MESSAGE_OF, "reason"),
        "data",
        "the application called ack (reason: individual, cumulative)",
    ),
    EventType(
        67,
        "client.changed",
        ("cluster", "client", "reason"),
        "control",
        "a producer or consumer was started, stopped, paused, resumed, slowed, killed or closed",
    ),
    EventType(
        75,
        "check.violated",
        ("reason", "detail", "evidence_seq"),
        "control",
        "an invariant broke; reason is the claim",
    ),
)
