"""Events of messages that only Pulsar's brokers and clients write."""

from __future__ import annotations

from simulator.trace.registry import MESSAGE_AT, MESSAGE_OF, EventType

MESSAGES: tuple[EventType, ...] = (
    EventType(
        16,
        "message.resent",
        ("cluster", "topic", "producer", "sequence_id", "count"),
        "data",
        "the producer sent it again, count-th time",
    ),
    EventType(
        18,
        "message.deduplicated",
        ("cluster", "peer", "topic", "producer", "sequence_id"),
        "data",
        "the broker took it for a repeat and did not store it",
    ),
    EventType(
        19,
        "message.receipted",
        ("cluster", "topic", "producer", "sequence_id"),
        "data",
        "acknowledged to the producer: it is stored",
    ),
    EventType(
        20,
        "message.send-failed",
        ("cluster", "topic", "producer", "sequence_id", "reason"),
        "data",
        "the producer gave up",
    ),
    EventType(
        21,
        "message.replicated",
        ("cluster", "peer", "topic", "producer", "sequence_id", "ledger", "entry", "batch_index"),
        "data",
        "left cluster for peer on the replicator's connection",
    ),
    EventType(
        22,
        "message.not-replicated",
        ("cluster", "peer", "topic", "producer", "sequence_id", "reason"),
        "data",
        (
            "never sent, or not again if it is on the wire: replicate_to, expired, evicted (backlog-quota), "
            "or an operator's command (cleared, skipped, expire-messages)"
        ),
    ),
    EventType(
        25,
        "message.negatively-acknowledged",
        MESSAGE_OF,
        "data",
        "the application called negative ack",
    ),
    EventType(
        26,
        "message.held",
        (*MESSAGE_OF, "duration_us"),
        "control",
        "the application keeps it unacknowledged for duration_us (null: until released)",
    ),
    EventType(
        27,
        "message.registered",
        MESSAGE_OF,
        "data",
        (
            "the broker's cursor took the ack; cause_seq is the acknowledgement, or the "
            "message.filtered or message.listed in its place (then client is null)"
        ),
    ),
    EventType(
        28,
        "message.expired",
        ("cluster", "topic", "subscription", "producer", "sequence_id", "ledger", "entry", "batch_index"),
        "data",
        "TTL passed and the cursor moved over it",
    ),
    EventType(
        29,
        "message.skipped",
        (
            "cluster",
            "topic",
            "subscription",
            "producer",
            "sequence_id",
            "ledger",
            "entry",
            "batch_index",
            "reason",
        ),
        "data",
        "a person's skip, clear or reset moved the cursor over it",
    ),
    EventType(
        175,
        "message.evicted",
        ("cluster", "topic", "subscription", "producer", "sequence_id", "ledger", "entry", "batch_index"),
        "data",
        "a backlog quota moved the cursor over it",
    ),
    EventType(
        30,
        "message.removed",
        MESSAGE_AT,
        "data",
        "its ledger was deleted",
    ),
    EventType(
        174,
        "message.dropped",
        (*MESSAGE_OF, "peer", "to_ledger", "to_entry"),
        "data",
        (
            "the client dropped it without ack: its position is not above to_ledger:to_entry, the client's "
            "last cumulative ack, which it gave in peer"
        ),
    ),
    EventType(
        81,
        "message.dispatched",
        (*MESSAGE_OF, "size_bytes", "duration_us"),
        "data",
        (
            "left the topic's declared broker for the client; the broker was busy with the entry for "
            "duration_us until now and sent size_bytes, both given on the entry's first row, else 0"
        ),
    ),
)
