"""The events of Pulsar, by subject, and the words and numbers of its markers."""

from __future__ import annotations

from simulator.trace.registry import MESSAGE_AT, MESSAGE_OF, EventType, Vocabulary, WordTable
from simulator.trace.shared_events import SHARED_EVENTS

# --- events of clusters, topics and ledgers


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


# --- events of messages that only Pulsar's brokers and clients write


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


# --- events of subscriptions, cursors, consumers and the sync of acknowledged state


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


# --- events of markers, snapshot controllers, snapshots and updates (PIP-33)


_MARKER = ("cluster", "peer", "topic", "marker", "reason", "snapshot", "subscription", "ledger", "entry")

SNAPSHOTS: tuple[EventType, ...] = (
    EventType(
        31,
        "marker.written",
        (*_MARKER, "size_bytes"),
        "control",
        (
            "a marker was appended where it was made; reason is its type; peer is the only addressee, null "
            "for everyone"
        ),
    ),
    EventType(
        32,
        "marker.sent",
        _MARKER,
        "control",
        "left cluster for peer",
    ),
    EventType(
        33,
        "marker.stored",
        (*_MARKER, "size_bytes"),
        "control",
        "appended in cluster, replicated from peer",
    ),
    EventType(
        34,
        "marker.handled",
        _MARKER,
        "control",
        "read by the replicator cluster -> peer and given to the controller",
    ),
    EventType(
        35,
        "marker.filtered",
        _MARKER,
        "data",
        "read by the dispatcher of subscription, acknowledged by the broker, never delivered",
    ),
    EventType(
        36,
        "marker.lost",
        _MARKER,
        "control",
        "was on the wire from cluster to peer when the connection broke",
    ),
    EventType(
        37,
        "marker.delayed",
        (*_MARKER, "duration_us"),
        "control",
        "a command delayed it on the wire",
    ),
    EventType(
        38,
        "marker.dropped",
        _MARKER,
        "control",
        "a command removed it on the wire",
    ),
    EventType(
        39,
        "controller.started",
        ("cluster", "topic", "reason"),
        "control",
        "the snapshot controller runs (reason: subscription, forced)",
    ),
    EventType(
        40,
        "controller.stopped",
        ("cluster", "topic", "reason"),
        "control",
        "the snapshot controller was closed",
    ),
    EventType(
        173,
        "controller.tick-failed",
        ("cluster", "topic"),
        "control",
        "its first tick ended with an exception instead of a request (option firstSnapshotTickFails)",
    ),
    EventType(
        41,
        "snapshot.requested",
        ("cluster", "topic", "snapshot", "count"),
        "control",
        "a snapshot round was asked for; count is the round, 1 or 2",
    ),
    EventType(
        42,
        "snapshot.refused",
        ("cluster", "topic", "reason"),
        "control",
        "a tick asked for nothing (reason: pending, no-new-data, replicator-disconnected)",
    ),
    EventType(
        43,
        "snapshot.answered",
        ("cluster", "peer", "topic", "snapshot", "count", "ledger", "entry", "to_ledger", "to_entry"),
        "control",
        (
            "peer's answer of round count counted at cluster: position of the response here, position "
            "reported there"
        ),
    ),
    EventType(
        44,
        "snapshot.answer-ignored",
        ("cluster", "peer", "topic", "reason"),
        "control",
        "an answer to a snapshot that is not pending",
    ),
    EventType(
        45,
        "snapshot.completed",
        ("cluster", "topic", "snapshot", "ledger", "entry", "duration_us", "reason"),
        "control",
        (
            "the snapshot is usable: local_message_id; reason is full or partial; its snapshot.position rows "
            "follow"
        ),
    ),
    EventType(
        46,
        "snapshot.position",
        ("cluster", "peer", "topic", "snapshot", "to_ledger", "to_entry"),
        "control",
        "peer's position in the snapshot just completed",
    ),
    EventType(
        47,
        "snapshot.timed-out",
        ("cluster", "topic", "snapshot"),
        "control",
        "swept after replicatedSubscriptionsSnapshotTimeoutSeconds",
    ),
    EventType(
        48,
        "snapshot.abandoned",
        ("cluster", "topic", "snapshot", "reason"),
        "control",
        "pending when its controller closed (unload, crash)",
    ),
    EventType(
        49,
        "snapshot.cached",
        ("cluster", "topic", "subscription", "snapshot", "ledger", "entry"),
        "control",
        "the dispatcher read its marker; the subscription's cache holds it",
    ),
    EventType(
        50,
        "snapshot.evicted",
        ("cluster", "topic", "subscription", "snapshot", "reason"),
        "control",
        "left the cache unused (reason: cache-rule, cursor-reset, unloaded, passed, switched-off)",
    ),
    EventType(
        51,
        "snapshot.used",
        ("cluster", "topic", "subscription", "snapshot", "ledger", "entry"),
        "control",
        "taken from the cache as newest at or below the mark-delete; an Update is written",
    ),
    EventType(
        52,
        "update.written",
        ("cluster", "topic", "subscription", "snapshot", "marker", "ledger", "entry"),
        "control",
        "an Update marker was appended; its update.position rows follow",
    ),
    EventType(
        53,
        "update.position",
        ("cluster", "peer", "topic", "subscription", "snapshot", "marker", "to_ledger", "to_entry"),
        "control",
        "the position that the Update names for peer",
    ),
    EventType(
        54,
        "update.applied",
        ("cluster", "peer", "topic", "subscription", "marker", "to_ledger", "to_entry", "evidence_seq"),
        "control",
        "cluster acked cumulatively up to the position in peer's Update; evidence_seq is update.written",
    ),
    EventType(
        55,
        "update.refused",
        ("cluster", "peer", "topic", "subscription", "marker", "to_ledger", "to_entry", "reason"),
        "control",
        "cluster did not move (reason: behind-mark-delete, equal, beyond-last-entry, not-addressed)",
    ),
)


# --- events of replicators and failovers


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


# --- events of tenants, lookup and migration


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


# --- events of shadow topics (PIP-180) and of the ledgers they share with their source


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


# --- events of namespaces, policies, topic creation and schemas


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


# --- the events of Pulsar, by subject, and the words and numbers of its markers


EVENTS: tuple[EventType, ...] = (
    *TOPICS,
    *MESSAGES,
    *SNAPSHOTS,
    *SUBSCRIPTIONS,
    *REPLICATION,
    *CREATION,
    *SHADOWS,
    *MIGRATION,
)

VOCABULARY = Vocabulary((*SHARED_EVENTS, *EVENTS))
CODE, BY_NAME = VOCABULARY.code, VOCABULARY.by_name
"""The events that a run of this protocol can write."""

MARKER_TYPES: dict[str, int] = {
    # word in traces: Pulsar's MarkerType number
    "snapshot_request": 10,
    "snapshot_response": 11,
    "snapshot": 12,
    "subscription_update": 13,
}

WORD_TABLES = (
    WordTable(
        "Marker types",
        "The words in `reason` of marker rows, and Pulsar's numbers for them.",
        ("word", "MarkerType"),
        tuple(MARKER_TYPES.items()),
    ),
)
