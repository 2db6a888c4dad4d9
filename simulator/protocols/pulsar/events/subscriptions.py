"""Events of subscriptions, cursors, consumers and the sync of acknowledged state."""

from __future__ import annotations

from simulator.trace.registry import EventType

PASSED_OVER = (
    *("cluster", "peer", "topic", "subscription"),
    *("producer", "sequence_id", "ledger", "entry", "batch_index", "evidence_seq"),
)
"""The columns of a message that a cluster acknowledges itself because a peer reported it as acknowledged."""

SUBSCRIPTIONS: tuple[EventType, ...] = (
    EventType(
        56,
        "subscription.created",
        ("cluster", "topic", "subscription", "ledger", "entry", "reason", "count"),
        "control",
        (
            "cursor opened with this mark-delete (reason: consumer, update, command, acknowledgement-sync, "
            "migration); count 1 when replicated"
        ),
    ),
    EventType(
        57,
        "subscription.deleted",
        ("cluster", "topic", "subscription"),
        "control",
        "the subscription is gone in this cluster",
    ),
    EventType(
        58,
        "subscription.replication-switched",
        ("cluster", "topic", "subscription", "count"),
        "control",
        "replicated state switched on (1) or off (0)",
    ),
    EventType(
        59,
        "cursor.moved",
        ("cluster", "topic", "subscription", "ledger", "entry", "to_ledger", "to_entry", "reason"),
        "control",
        (
            "mark-delete moved (reason: acknowledgement, update, reset, skip, clear, expiry, recovery, "
            "ahead-of-last, rollover, trim)"
        ),
    ),
    EventType(
        60,
        "cursor.persisted",
        ("cluster", "topic", "subscription", "ledger", "entry", "count"),
        "data",
        "mark-delete and count individually deleted entries would now survive a crash",
    ),
    EventType(
        61,
        "cursor.recovered",
        ("cluster", "topic", "subscription", "ledger", "entry", "count"),
        "control",
        "reopened with the persisted mark-delete and count individually deleted entries",
    ),
    EventType(
        62,
        "consumer.connected",
        ("cluster", "topic", "subscription", "client"),
        "control",
        "a consumer subscribed",
    ),
    EventType(
        63,
        "consumer.disconnected",
        ("cluster", "topic", "subscription", "client", "reason"),
        "control",
        "a consumer left (closed, killed, crash, unload)",
    ),
    EventType(
        64,
        "consumer.activated",
        ("cluster", "topic", "subscription", "client"),
        "control",
        "became the active consumer of an Exclusive or Failover subscription",
    ),
    EventType(
        65,
        "consumer.blocked",
        ("cluster", "topic", "subscription", "client", "count"),
        "control",
        "dispatch stopped at count unacknowledged messages (client null: the whole subscription)",
    ),
    EventType(
        66,
        "consumer.unblocked",
        ("cluster", "topic", "subscription", "client", "count"),
        "control",
        "dispatch continues",
    ),
    EventType(
        76,
        "acknowledgements.sent",
        ("cluster", "peer", "topic", "subscription", "ledger", "entry", "count", "size_bytes"),
        "control",
        (
            "the subscription's whole acknowledged state left cluster for peer: mark-delete, and count "
            "individually deleted entries"
        ),
    ),
    EventType(
        77,
        "acknowledgements.applied",
        ("cluster", "peer", "topic", "subscription", "to_ledger", "to_entry", "count", "evidence_seq"),
        "control",
        (
            "cluster holds peer's state from now on: peer's mark-delete, and count individually deleted "
            "entries; evidence_seq is acknowledgements.sent"
        ),
    ),
    EventType(
        78,
        "acknowledgements.lost",
        ("cluster", "peer", "topic", "subscription", "evidence_seq"),
        "control",
        "the state did not arrive; evidence_seq is acknowledgements.sent",
    ),
    EventType(
        179,
        "message.listed",
        PASSED_OVER,
        "data",
        (
            "individually deleted because peer's Update lists it, under a rule of one's own; evidence_seq is "
            "update.written; a message.registered row without client follows"
        ),
    ),
    EventType(
        79,
        "message.filtered",
        PASSED_OVER,
        "data",
        (
            "not dispatched: acknowledged according to the state of peer; evidence_seq is "
            "acknowledgements.applied; a "
            "message.registered row without client follows"
        ),
    ),
)
