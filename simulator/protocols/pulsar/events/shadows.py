"""Events of shadow topics (PIP-180) and of the ledgers they share with their source."""

from __future__ import annotations

from simulator.trace.registry import EventType

SHADOWS: tuple[EventType, ...] = (
    EventType(
        94,
        "shadow.created",
        ("cluster", "topic", "reason"),
        "control",
        "a shadow topic is there; reason is its source: the topic whose ledgers it reads",
    ),
    EventType(
        95,
        "shadow.load-failed",
        ("cluster", "topic", "reason"),
        "control",
        "no broker can open the shadow topic: its source (reason) is not there",
    ),
    EventType(
        96,
        "shadow.deleted",
        ("cluster", "topic"),
        "control",
        "the shadow topic is gone, with its subscriptions",
    ),
    EventType(
        97,
        "shadow.topics-set",
        ("cluster", "topic", "count", "detail"),
        "control",
        "the topic's list of shadow topics has count names now: detail",
    ),
    EventType(
        98,
        "shadow.replicator-created",
        ("cluster", "topic", "reason", "ledger", "entry"),
        "control",
        (
            "the source (reason) feeds the shadow from now on: its replicator's cursor opened with this "
            "mark-delete"
        ),
    ),
    EventType(
        99,
        "shadow.replicator-started",
        ("cluster", "topic"),
        "control",
        "the replicator that feeds this shadow is connected to it",
    ),
    EventType(
        100,
        "shadow.replicator-stopped",
        ("cluster", "topic", "reason"),
        "control",
        (
            "it is disconnected (reason: shadow-unload, shadow-crash: it reconnects; source-unload, "
            "source-crash, removed, start-failed: it is gone, and its cursor too)"
        ),
    ),
    EventType(
        101,
        "shadow.replicator-reset",
        ("cluster", "topic", "ledger", "entry", "to_ledger", "to_entry", "count"),
        "control",
        "with a backlog of count entries its cursor was put to the end of the log (in the proposal only)",
    ),
    EventType(
        102,
        "shadow.entry-skipped",
        ("cluster", "topic", "ledger", "entry", "reason"),
        "data",
        "this entry was not announced to the shadow topic (reason: expired)",
    ),
    EventType(
        103,
        "shadow.entry-refused",
        ("cluster", "topic", "ledger", "entry", "reason"),
        "control",
        "the topic does not take messages that bring their own position (reason: not-a-shadow)",
    ),
    EventType(
        104,
        "shadow.ledgers-read",
        ("cluster", "topic", "ledger", "count"),
        "control",
        "the shadow read its source's list of count ledgers; the last is open to it for reading",
    ),
    EventType(
        105,
        "shadow.watch-ignored",
        ("cluster", "topic"),
        "control",
        "word of a change of that list which the shadow had read already",
    ),
    EventType(
        106,
        "shadow.added",
        ("cluster", "topic", "ledger", "entry", "to_ledger", "to_entry", "reason"),
        "data",
        (
            "this entry was announced and is the last confirmed one now; before that it was the "
            "second position (reason: replicator, client)"
        ),
    ),
    EventType(
        107,
        "shadow.add-queued",
        ("cluster", "topic", "ledger", "entry"),
        "data",
        "an entry of a ledger that is not in the topic's list yet was announced: it waits for the list",
    ),
    EventType(
        108,
        "shadow.confirmed",
        ("cluster", "topic", "ledger", "entry", "to_ledger", "to_entry", "reason"),
        "control",
        (
            "its last confirmed entry went from the first position to the second (reason: load, metadata, "
            "refresh, terminated)"
        ),
    ),
    EventType(
        109,
        "message.lost",
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
        (
            "the source deleted its ledger before the shadow's subscription had acknowledged it (reason: "
            "unread, unacknowledged)"
        ),
    ),
    EventType(
        110,
        "entry.unreadable",
        ("cluster", "topic", "ledger", "entry", "reason"),
        "control",
        "a cursor waits at this entry (reason: ledger-deleted, offload-driver)",
    ),
    EventType(
        111,
        "topic.terminated",
        ("cluster", "topic", "ledger", "entry"),
        "control",
        "the topic takes no more messages; its last is this one",
    ),
    EventType(
        112,
        "ledger.offloaded",
        ("cluster", "topic", "ledger", "count", "reason"),
        "control",
        "a ledger of count entries was copied to other storage; reason is the driver",
    ),
    EventType(
        113,
        "ledger.deleted",
        ("cluster", "topic", "ledger", "count", "reason"),
        "control",
        (
            "the bookies hold this ledger no more, though the topic lists it; reason is who deleted it "
            "(offloader, or a shadow's name)"
        ),
    ),
)
