"""The events of EMQX's durable shared subscriptions.

`cluster` is a node, `topic` a stream (shard/generation/topic), `subscription` a group, `client` a session.
"""

from __future__ import annotations

from simulator.trace.registry import EventType, Vocabulary
from simulator.trace.shared_events import SHARED_EVENTS

EVENTS: tuple[EventType, ...] = (
    EventType(
        133,
        "node.crashed",
        ("cluster",),
        "control",
        "every process of the node died",
    ),
    EventType(
        134,
        "node.restarted",
        ("cluster",),
        "control",
        "the node is up again, empty",
    ),
    EventType(
        135,
        "session.connected",
        ("cluster", "client", "reason"),
        "control",
        "a client connected; reason: new, resumed",
    ),
    EventType(
        136,
        "session.disconnected",
        ("cluster", "client", "reason"),
        "control",
        (
            "its connection ended; reason: closed (in order), killed, crash, node-crash, node-stop, "
            "evacuated (in order), taken-over (by the same client elsewhere)"
        ),
    ),
    EventType(
        137,
        "session.subscribed",
        ("cluster", "subscription", "client", "count", "detail"),
        "control",
        (
            "a client subscribed; count numbers its subscriptions, detail is what it asked for; subscription "
            "null: a filter of its own"
        ),
    ),
    EventType(
        138,
        "session.unsubscribed",
        ("cluster", "subscription", "client", "count", "detail"),
        "control",
        "a client gave subscription count up",
    ),
    EventType(
        139,
        "group.declared",
        ("subscription", "duration_us", "detail"),
        "control",
        (
            "the group is there: it reads what was stored from instant duration_us on; detail is how a "
            "client asks for it"
        ),
    ),
    EventType(
        140,
        "group.destroyed",
        ("subscription",),
        "control",
        "the group is gone with its progress",
    ),
    EventType(
        141,
        "stream.opened",
        ("topic", "count", "ledger"),
        "control",
        "storage opened a stream in shard count, generation ledger",
    ),
    EventType(
        142,
        "stream.closed",
        ("topic", "count", "ledger", "entry"),
        "control",
        "the stream ends after entry messages",
    ),
    EventType(
        143,
        "generation.opened",
        ("ledger", "count"),
        "control",
        "a new generation began; count streams of the one before are closed",
    ),
    EventType(
        144,
        "shards.added",
        ("count", "entry"),
        "control",
        "count shards were added; there are entry now",
    ),
    EventType(
        145,
        "store.failed",
        ("duration_us",),
        "control",
        "the leaders' store answers no request for duration_us",
    ),
    EventType(
        146,
        "protocol.sent",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "size_bytes"),
        "data",
        (
            "a borrower or leader at cluster sent a message (reason) to the other at peer; count numbers it, "
            "entry is the position in it"
        ),
    ),
    EventType(
        147,
        "protocol.arrived",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "size_bytes"),
        "data",
        "it is at cluster, from another node, peer; what stays at one node needs no such row",
    ),
    EventType(
        148,
        "protocol.lost",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "detail"),
        "control",
        "it was not received; detail: loss, link-cut, node-down, no-such-process, own-node, command",
    ),
    EventType(
        149,
        "protocol.delayed",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "duration_us"),
        "control",
        "a command delayed it",
    ),
    EventType(
        150,
        "protocol.duplicated",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "size_bytes"),
        "control",
        "it will arrive twice",
    ),
    EventType(
        151,
        "borrower.changed",
        ("cluster", "subscription", "client", "count", "reason", "detail", "ledger"),
        "control",
        (
            "the session's borrower, incarnation count, is in a new state (reason: connecting, connected, "
            "unsubscribing, gone); detail why; ledger is the leader that it listens to"
        ),
    ),
    EventType(
        152,
        "lease.changed",
        ("cluster", "subscription", "client", "topic", "count", "entry", "reason", "ledger"),
        "control",
        "at borrower count the stream is granted, revoking or absent; entry is where it reads from",
    ),
    EventType(
        153,
        "chunk.fetched",
        ("cluster", "subscription", "client", "topic", "count", "entry", "to_entry", "reason"),
        "data",
        (
            "the session took messages entry to to_entry (excluded) of the stream to deliver them to its "
            "client; "
            "count is the borrower; reason: fetched, or again: what was in flight when a session reconnects"
        ),
    ),
    EventType(
        154,
        "progress.told",
        ("cluster", "subscription", "client", "topic", "count", "entry"),
        "data",
        (
            "all that the session had of the stream is acknowledged up to entry (null: to its end); its "
            "borrower count receives it, if it still lives"
        ),
    ),
    EventType(
        155,
        "leader.elected",
        ("cluster", "subscription", "count", "reason"),
        "control",
        (
            "leader count of the group runs at the node; reason: first (no claim was there), taken-over (the "
            "claim was too old)"
        ),
    ),
    EventType(
        156,
        "leader.followed",
        ("cluster", "peer", "subscription", "count", "duration_us"),
        "control",
        "the node believes the claim of leader count at peer for duration_us more",
    ),
    EventType(
        157,
        "election.failed",
        ("cluster", "subscription", "detail"),
        "control",
        "no leader could be made; detail why",
    ),
    EventType(
        158,
        "leader.ended",
        ("cluster", "subscription", "count", "reason"),
        "control",
        "leader count is no more; reason why",
    ),
    EventType(
        159,
        "leader.round",
        ("cluster", "subscription", "count", "entry", "sequence_id"),
        "control",
        "a reassignment round of leader count changed something: entry streams, sequence_id borrowers",
    ),
    EventType(
        160,
        "leader.committed",
        ("cluster", "subscription", "count", "entry"),
        "control",
        "leader count renewed its claim and wrote entry changed positions, in one step",
    ),
    EventType(
        161,
        "stream.found",
        ("cluster", "subscription", "topic", "entry", "count"),
        "control",
        "leader count shares the stream from now on, beginning at entry",
    ),
    EventType(
        162,
        "progress.loaded",
        ("cluster", "subscription", "topic", "entry", "count"),
        "control",
        "leader count begins with what the store had",
    ),
    EventType(
        163,
        "progress.saved",
        ("cluster", "subscription", "client", "topic", "entry", "to_entry", "count"),
        "data",
        "leader count took a progress into memory: from entry to to_entry (null: the end)",
    ),
    EventType(
        164,
        "progress.persisted",
        ("cluster", "subscription", "topic", "entry", "count"),
        "data",
        "the store has the position now",
    ),
    EventType(
        165,
        "assignment.changed",
        ("cluster", "subscription", "client", "topic", "count", "entry", "reason", "ledger"),
        "control",
        (
            "at leader ledger the stream is granting to, granted to, revoking or revoked from borrower count "
            "of the client, or free; entry is its saved position"
        ),
    ),
    EventType(
        166,
        "borrower.joined",
        ("cluster", "subscription", "client", "count"),
        "control",
        "the leader has registered borrower count",
    ),
    EventType(
        167,
        "borrower.dropped",
        ("cluster", "subscription", "client", "count", "reason"),
        "control",
        "the leader has dropped it; its streams are free",
    ),
    EventType(
        168,
        "node.stopped",
        ("cluster",),
        "control",
        (
            "the node was stopped: its leaders commit and release their claims, its connections close "
            "without a message to other leaders"
        ),
    ),
    EventType(
        169,
        "store.unreachable",
        ("cluster", "duration_us"),
        "control",
        "the node cannot reach the leaders' store for duration_us",
    ),
    EventType(
        170,
        "leader.blocked",
        ("cluster", "subscription", "count"),
        "control",
        "leader count waits for the store to answer its commit, and handles no message until then",
    ),
    EventType(
        171,
        "leader.unblocked",
        ("cluster", "subscription", "count", "reason"),
        "control",
        "its request was answered, or given up after 60 s (reason: answered, timeout)",
    ),
    EventType(
        172,
        "config.updated",
        ("reason", "detail", "duration_us"),
        "control",
        "setting reason is duration_us now, written detail, on all nodes",
    ),
)

VOCABULARY = Vocabulary((*SHARED_EVENTS, *EVENTS))
CODE, BY_NAME = VOCABULARY.code, VOCABULARY.by_name
"""The event types that a run of this protocol can write, by name and code."""
