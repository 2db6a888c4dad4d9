"""Every event that a run can write, declared once: the vocabulary that engine, page, checks and reports
share.

Rules: event types are past tense, `subject.verb`; a field is one of `COLUMNS`; a row in memory is the tuple
`(type code, at_us, cause_seq, *fields)` with the fields in the order declared here, integers only. Names
(clusters, topics, subscriptions, clients, reasons, texts) are numbers in the trace's name table; in files
they are strings. A missing value is `NULL`. `docs/trace.md`, the JS constants and the Spark schema are tested
against this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

NULL = -(1 << 62)
"""The integer that stands for "no value" in memory; files hold a real null."""

NAME, INTEGER = "name", "integer"

COLUMNS: dict[str, tuple[str, str]] = {
    # column: (kind, what it says)
    "at_us": (INTEGER, "simulated instant, microseconds from the start of the run"),
    "type": (NAME, "event type"),
    "cause_seq": (INTEGER, "seq of the last event that was needed for this one"),
    "cluster": (NAME, "cluster where it happened"),
    "peer": (NAME, "the other cluster: destination, origin or the one that answered"),
    "topic": (NAME, "topic or partition (`orders`, `orders-partition-0`)"),
    "subscription": (NAME, "subscription"),
    "client": (NAME, "consumer or producer that acted"),
    "producer": (NAME, "message identity, first half: producer name"),
    "sequence_id": (INTEGER, "message identity, second half: sequence id, from 0"),
    "ledger": (INTEGER, "position in `cluster`'s log: ledger"),
    "entry": (INTEGER, "position in `cluster`'s log: entry (-1 is before the first)"),
    "to_ledger": (INTEGER, "second position: ledger"),
    "to_entry": (INTEGER, "second position: entry"),
    "batch_index": (INTEGER, "index within a batched entry; null when the entry holds one message"),
    "key": (INTEGER, "message key number"),
    "count": (INTEGER, "an amount; its unit is said by the event"),
    "size_bytes": (INTEGER, "bytes of the entry or message"),
    "duration_us": (INTEGER, "a span of simulated time"),
    "snapshot": (INTEGER, "snapshot number, from 1 in the run"),
    "marker": (INTEGER, "marker number, from 1 in the run; the same in every cluster"),
    "reason": (NAME, "a word from a closed list: marker type, why, mode, state"),
    "detail": (NAME, "a sentence or canonical text for people; never parsed"),
    "evidence_seq": (INTEGER, "seq of the row that this one rests on, beside its cause"),
    "broker": (NAME, "a broker of `cluster`, where the scenario declares them"),
    "tenant": (NAME, "tenant, whose clients the LookupService sends to its cluster"),
}

FIRST_COLUMNS = 24
"""The digest marks each of the first columns that a block lacks; a column added later is in it only where
it has a value, so that runs which do not know it keep their digest.
"""


@dataclass(frozen=True, slots=True)
class EventType:
    """One declared event. `fields` are columns after at_us, type and cause_seq, in row order."""

    code: int
    name: str
    fields: tuple[str, ...]
    plane: str  # "control" (a step of the diagram by default) or "data" (one row per message)
    says: str


_MESSAGE_AT = ("cluster", "topic", "producer", "sequence_id", "ledger", "entry", "batch_index")
_MESSAGE_OF = (
    "cluster",
    "topic",
    "subscription",
    "client",
    "producer",
    "sequence_id",
    "ledger",
    "entry",
    "batch_index",
)
_MARKER = ("cluster", "peer", "topic", "marker", "reason", "snapshot", "subscription", "ledger", "entry")

_DECLARED: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    # --- run and commands
    ("run.started", ("detail",), "control", "the run began; detail names the scenario"),
    (
        "command.applied",
        ("reason", "detail"),
        "control",
        "a command took effect; reason is its name, detail its arguments",
    ),
    (
        "command.refused",
        ("reason", "detail"),
        "control",
        "a command was refused; reason is its name, detail why",
    ),
    # --- clusters and links
    (
        "cluster.crashed",
        ("cluster",),
        "control",
        "all brokers of the cluster died; unflushed state and data on the wire are gone",
    ),
    ("cluster.restarted", ("cluster",), "control", "the cluster came back from what it had persisted"),
    ("cluster.lost", ("cluster",), "control", "the cluster and its data are gone for good"),
    ("link.cut", ("cluster", "peer"), "control", "nothing passes from cluster to peer any more"),
    ("link.healed", ("cluster", "peer"), "control", "the link works again"),
    ("link.slowed", ("cluster", "peer", "duration_us"), "control", "the link's latency is now duration_us"),
    (
        "setting.changed",
        ("cluster", "reason", "detail"),
        "control",
        "a broker setting changed; reason is its name, detail the value",
    ),
    # --- topics and ledgers
    ("topic.loaded", ("cluster", "topic"), "control", "a broker loaded the topic; a new ledger is open"),
    (
        "topic.unloaded",
        ("cluster", "topic", "reason"),
        "control",
        "the topic left its broker (unload, crash, migration, deleted)",
    ),
    ("ledger.opened", ("cluster", "topic", "ledger"), "control", "a ledger was opened for appends"),
    (
        "ledger.closed",
        ("cluster", "topic", "ledger", "count"),
        "control",
        "a ledger was closed with count entries",
    ),
    (
        "ledger.trimmed",
        ("cluster", "topic", "ledger", "count"),
        "control",
        "a ledger of count entries was deleted",
    ),
    # --- messages
    (
        "message.published",
        ("cluster", "topic", "producer", "sequence_id", "key", "size_bytes"),
        "data",
        "the application called send; cluster is where the producer is connected",
    ),
    (
        "message.resent",
        ("cluster", "topic", "producer", "sequence_id", "count"),
        "data",
        "the producer sent it again, count-th time",
    ),
    (
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
    (
        "message.deduplicated",
        ("cluster", "peer", "topic", "producer", "sequence_id"),
        "data",
        "the broker took it for a repeat and did not store it",
    ),
    (
        "message.receipted",
        ("cluster", "topic", "producer", "sequence_id"),
        "data",
        "the producer was told that it is stored",
    ),
    (
        "message.send-failed",
        ("cluster", "topic", "producer", "sequence_id", "reason"),
        "data",
        "the producer gave up",
    ),
    (
        "message.replicated",
        ("cluster", "peer", "topic", "producer", "sequence_id", "ledger", "entry", "batch_index"),
        "data",
        "left cluster for peer on the replicator's connection",
    ),
    (
        "message.not-replicated",
        ("cluster", "peer", "topic", "producer", "sequence_id", "reason"),
        "data",
        "passed over by the replicator (replicate_to, expired, cleared)",
    ),
    (
        "message.delivered",
        (*_MESSAGE_OF, "count", "evidence_seq"),
        "data",
        (
            "handed to the application; count is the broker's redelivery count; evidence_seq is the row that "
            "stored it here"
        ),
    ),
    (
        "message.acknowledged",
        (*_MESSAGE_OF, "reason"),
        "data",
        "the application called ack (reason: individual, cumulative)",
    ),
    ("message.negatively-acknowledged", _MESSAGE_OF, "data", "the application called negative ack"),
    (
        "message.held",
        (*_MESSAGE_OF, "duration_us"),
        "control",
        "the application keeps it unacknowledged for duration_us (null: until released)",
    ),
    (
        "message.registered",
        _MESSAGE_OF,
        "data",
        (
            "the broker's cursor took the ack; cause_seq is the acknowledgement, or the "
            "message.filtered that "
            "stands for it (then client is null)"
        ),
    ),
    (
        "message.expired",
        ("cluster", "topic", "subscription", "producer", "sequence_id", "ledger", "entry", "batch_index"),
        "data",
        "TTL passed and the cursor moved over it",
    ),
    (
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
    ("message.removed", _MESSAGE_AT, "data", "its ledger was deleted"),
    # --- markers
    (
        "marker.written",
        (*_MARKER, "size_bytes"),
        "control",
        (
            "a marker was appended where it was made; reason is its type; peer is the only addressee, null "
            "for everyone"
        ),
    ),
    ("marker.sent", _MARKER, "control", "left cluster for peer"),
    ("marker.stored", (*_MARKER, "size_bytes"), "control", "appended in cluster, replicated from peer"),
    (
        "marker.handled",
        _MARKER,
        "control",
        "read by the replicator cluster -> peer and given to the controller",
    ),
    (
        "marker.filtered",
        _MARKER,
        "data",
        "read by the dispatcher of subscription, acknowledged by the broker, never delivered",
    ),
    ("marker.lost", _MARKER, "control", "was on the wire from cluster to peer when the connection broke"),
    ("marker.delayed", (*_MARKER, "duration_us"), "control", "a command delayed it on the wire"),
    ("marker.dropped", _MARKER, "control", "a command removed it on the wire"),
    # --- replicated subscriptions
    (
        "controller.started",
        ("cluster", "topic", "reason"),
        "control",
        "the snapshot controller runs (reason: subscription, forced)",
    ),
    ("controller.stopped", ("cluster", "topic", "reason"), "control", "the snapshot controller was closed"),
    (
        "snapshot.requested",
        ("cluster", "topic", "snapshot", "count"),
        "control",
        "a snapshot round was asked for; count is the round, 1 or 2",
    ),
    (
        "snapshot.refused",
        ("cluster", "topic", "reason"),
        "control",
        "a tick asked for nothing (reason: pending, no-new-data, replicator-disconnected)",
    ),
    (
        "snapshot.answered",
        ("cluster", "peer", "topic", "snapshot", "count", "ledger", "entry", "to_ledger", "to_entry"),
        "control",
        (
            "peer's answer of round count counted at cluster: position of the response here, position "
            "reported there"
        ),
    ),
    (
        "snapshot.answer-ignored",
        ("cluster", "peer", "topic", "reason"),
        "control",
        "an answer to a snapshot that is not pending",
    ),
    (
        "snapshot.completed",
        ("cluster", "topic", "snapshot", "ledger", "entry", "duration_us", "reason"),
        "control",
        (
            "the snapshot is usable: local_message_id; reason is full or partial; its snapshot.position rows "
            "follow"
        ),
    ),
    (
        "snapshot.position",
        ("cluster", "peer", "topic", "snapshot", "to_ledger", "to_entry"),
        "control",
        "peer's position in the snapshot just completed",
    ),
    (
        "snapshot.timed-out",
        ("cluster", "topic", "snapshot"),
        "control",
        "swept after replicatedSubscriptionsSnapshotTimeoutSeconds",
    ),
    (
        "snapshot.abandoned",
        ("cluster", "topic", "snapshot", "reason"),
        "control",
        "pending when its controller closed (unload, crash)",
    ),
    (
        "snapshot.cached",
        ("cluster", "topic", "subscription", "snapshot", "ledger", "entry"),
        "control",
        "the dispatcher read its marker; the subscription's cache holds it",
    ),
    (
        "snapshot.evicted",
        ("cluster", "topic", "subscription", "snapshot", "reason"),
        "control",
        "left the cache unused (reason: cache-rule, cursor-reset, unloaded, passed, switched-off)",
    ),
    (
        "snapshot.used",
        ("cluster", "topic", "subscription", "snapshot", "ledger", "entry"),
        "control",
        "taken from the cache as newest at or below the mark-delete; an Update is written",
    ),
    (
        "update.written",
        ("cluster", "topic", "subscription", "snapshot", "marker", "ledger", "entry"),
        "control",
        "an Update marker was appended; its update.position rows follow",
    ),
    (
        "update.position",
        ("cluster", "peer", "topic", "subscription", "snapshot", "marker", "to_ledger", "to_entry"),
        "control",
        "the position that the Update names for peer",
    ),
    (
        "update.applied",
        ("cluster", "peer", "topic", "subscription", "marker", "to_ledger", "to_entry", "evidence_seq"),
        "control",
        "cluster acked cumulatively as peer's Update says; evidence_seq is update.written",
    ),
    (
        "update.refused",
        ("cluster", "peer", "topic", "subscription", "marker", "to_ledger", "to_entry", "reason"),
        "control",
        "cluster did not move (reason: behind-mark-delete, equal, beyond-last-entry, not-addressed)",
    ),
    # --- subscriptions, cursors, clients
    (
        "subscription.created",
        ("cluster", "topic", "subscription", "ledger", "entry", "reason", "count"),
        "control",
        (
            "cursor opened with this mark-delete (reason: consumer, update, command, acknowledgement-sync, "
            "migration); count 1 when replicated"
        ),
    ),
    (
        "subscription.deleted",
        ("cluster", "topic", "subscription"),
        "control",
        "the subscription is gone in this cluster",
    ),
    (
        "subscription.replication-switched",
        ("cluster", "topic", "subscription", "count"),
        "control",
        "replicated state switched on (1) or off (0)",
    ),
    (
        "cursor.moved",
        ("cluster", "topic", "subscription", "ledger", "entry", "to_ledger", "to_entry", "reason"),
        "control",
        (
            "mark-delete moved (reason: acknowledgement, update, reset, skip, clear, expiry, recovery, "
            "ahead-of-last, rollover, trim)"
        ),
    ),
    (
        "cursor.persisted",
        ("cluster", "topic", "subscription", "ledger", "entry", "count"),
        "data",
        "mark-delete and count individually deleted entries would now survive a crash",
    ),
    (
        "cursor.recovered",
        ("cluster", "topic", "subscription", "ledger", "entry", "count"),
        "control",
        "reopened with the persisted mark-delete and count individually deleted entries",
    ),
    (
        "consumer.connected",
        ("cluster", "topic", "subscription", "client"),
        "control",
        "a consumer subscribed",
    ),
    (
        "consumer.disconnected",
        ("cluster", "topic", "subscription", "client", "reason"),
        "control",
        "a consumer left (closed, killed, crash, unload)",
    ),
    (
        "consumer.activated",
        ("cluster", "topic", "subscription", "client"),
        "control",
        "became the active consumer of an Exclusive or Failover subscription",
    ),
    (
        "consumer.blocked",
        ("cluster", "topic", "subscription", "client", "count"),
        "control",
        "dispatch stopped at count unacknowledged messages (client null: the whole subscription)",
    ),
    (
        "consumer.unblocked",
        ("cluster", "topic", "subscription", "client", "count"),
        "control",
        "dispatch goes on",
    ),
    (
        "client.changed",
        ("cluster", "client", "reason"),
        "control",
        "a producer or consumer was started, stopped, paused, resumed, slowed, killed or closed",
    ),
    # --- replicators
    (
        "replicator.created",
        ("cluster", "peer", "topic", "ledger", "entry"),
        "control",
        "its cursor opened with this mark-delete",
    ),
    (
        "replicator.removed",
        ("cluster", "peer", "topic"),
        "control",
        "replication to peer was taken off the list; the cursor is gone",
    ),
    ("replicator.started", ("cluster", "peer", "topic"), "control", "connected; reads from its mark-delete"),
    ("replicator.disconnected", ("cluster", "peer", "topic", "reason"), "control", "its connection broke"),
    (
        "replicator.rewound",
        ("cluster", "peer", "topic", "ledger", "entry"),
        "control",
        "reads again after this position",
    ),
    # --- failovers and checks
    (
        "failover.started",
        ("cluster", "peer", "subscription", "reason"),
        "control",
        (
            "subscription moves from cluster to peer (reason: crash, planned, drained, auto, migration, "
            "roll-back, blue-green); the window opens"
        ),
    ),
    (
        "failover.finished",
        ("cluster", "peer", "subscription"),
        "control",
        "its consumers have subscribed at peer",
    ),
    (
        "check.violated",
        ("reason", "detail", "evidence_seq"),
        "control",
        "an invariant broke; reason is the claim",
    ),
    # --- acknowledgement-state sync
    (
        "acknowledgements.sent",
        ("cluster", "peer", "topic", "subscription", "ledger", "entry", "count", "size_bytes"),
        "control",
        (
            "the subscription's whole acknowledged state left cluster for peer: mark-delete, and count "
            "individually deleted entries"
        ),
    ),
    (
        "acknowledgements.applied",
        ("cluster", "peer", "topic", "subscription", "to_ledger", "to_entry", "count", "evidence_seq"),
        "control",
        (
            "cluster holds peer's state from now on: peer's mark-delete, and count individually deleted "
            "entries; evidence_seq is acknowledgements.sent"
        ),
    ),
    (
        "acknowledgements.lost",
        ("cluster", "peer", "topic", "subscription", "evidence_seq"),
        "control",
        "the state did not arrive; evidence_seq is acknowledgements.sent",
    ),
    (
        "message.filtered",
        (
            "cluster",
            "peer",
            "topic",
            "subscription",
            "producer",
            "sequence_id",
            "ledger",
            "entry",
            "batch_index",
            "evidence_seq",
        ),
        "data",
        (
            "not dispatched: acknowledged, says the state of peer; evidence_seq is "
            "acknowledgements.applied; a "
            "message.registered row without client follows"
        ),
    ),
    # --- brokers with limits
    (
        "topic.assigned",
        ("cluster", "topic", "broker"),
        "control",
        "the broker that serves the topic from this load on; only where brokers are declared",
    ),
    (
        "message.dispatched",
        (*_MESSAGE_OF, "size_bytes", "duration_us"),
        "data",
        (
            "left the topic's declared broker for the client; the broker was busy with the entry for "
            "duration_us until now and sent size_bytes, both said on the entry's first row, else 0"
        ),
    ),
    # --- topic creation
    (
        "namespace.created",
        ("cluster", "detail"),
        "control",
        "the namespace exists in the cluster; detail is its name",
    ),
    (
        "policy.changed",
        ("cluster", "topic", "reason", "detail"),
        "control",
        (
            "a policy of a namespace (topic null) or a topic changed in the cluster; reason is its name, "
            "detail whose and the value"
        ),
    ),
    (
        "topic.created",
        ("cluster", "peer", "topic", "client", "count", "reason"),
        "control",
        (
            "the topic exists in the cluster, with count partitions (0: a plain topic); reason: command, "
            "client, replicator, copied-request, set-replication-clusters, migration; peer is the cluster "
            "that asked for it, or whose shape was adopted"
        ),
    ),
    (
        "topic.creation-refused",
        ("cluster", "peer", "topic", "client", "reason", "detail"),
        "control",
        "the cluster did not create it; peer or client had asked, detail says why",
    ),
    (
        "topic.partitions-changed",
        ("cluster", "peer", "topic", "count", "reason"),
        "control",
        (
            "the topic has count partitions in the cluster; reason: command, copied-request; peer is the "
            "cluster that asked"
        ),
    ),
    (
        "topic.deleted",
        ("cluster", "topic", "reason"),
        "control",
        (
            "the topic is gone in the cluster, with its subscriptions, replication cursors, entries and "
            "schemas (reason: command, forced, kept-out, migration)"
        ),
    ),
    (
        "replicator.start-refused",
        ("cluster", "peer", "topic", "count", "duration_us", "reason", "detail"),
        "control",
        (
            "the start check said no; count starts failed so far, the next is tried after duration_us; "
            "reason: different-partitions, no-remote-topic, conflict, and before PIP-433 "
            "remote-partitioned, no-such-partition, no-partitioned-topic, auto-creation-not-allowed"
        ),
    ),
    (
        "replicator.stopped",
        ("cluster", "peer", "topic", "ledger", "entry", "duration_us", "reason", "detail"),
        "control",
        (
            "connected, but it goes no further than this entry until it connects anew (reason: schema; "
            "duration: how long the entry has been pending)"
        ),
    ),
    (
        "schema.used",
        ("cluster", "topic", "producer", "sequence_id", "detail"),
        "control",
        "the producer's messages carry this schema from sequence_id on; detail null: none",
    ),
    (
        "schema.registered",
        ("cluster", "peer", "topic", "client", "count", "reason", "detail"),
        "control",
        (
            "the topic has a new schema, version count; reason is who registered it: producer, consumer, "
            "replicator, command; detail names it"
        ),
    ),
    (
        "schema.refused",
        ("cluster", "peer", "topic", "client", "reason", "detail"),
        "control",
        (
            "a schema was not taken (reason: incompatible, not-allowed, none-given); peer or client had "
            "offered it"
        ),
    ),
    (
        "schema.deleted",
        ("cluster", "topic", "count"),
        "control",
        "a person deleted the topic's schemas, count versions",
    ),
    # --- shadow topics (PIP-180)
    (
        "shadow.created",
        ("cluster", "topic", "reason"),
        "control",
        "a shadow topic is there; reason is its source: the topic whose ledgers it reads",
    ),
    (
        "shadow.load-failed",
        ("cluster", "topic", "reason"),
        "control",
        "no broker can open the shadow topic: its source (reason) is not there",
    ),
    ("shadow.deleted", ("cluster", "topic"), "control", "the shadow topic is gone, with its subscriptions"),
    (
        "shadow.topics-set",
        ("cluster", "topic", "count", "detail"),
        "control",
        "the topic's list of shadow topics has count names now: detail",
    ),
    (
        "shadow.replicator-created",
        ("cluster", "topic", "reason", "ledger", "entry"),
        "control",
        (
            "the source (reason) feeds the shadow from now on: its replicator's cursor opened with this "
            "mark-delete"
        ),
    ),
    (
        "shadow.replicator-started",
        ("cluster", "topic"),
        "control",
        "the replicator that feeds this shadow is connected to it",
    ),
    (
        "shadow.replicator-stopped",
        ("cluster", "topic", "reason"),
        "control",
        (
            "it is not connected any more (reason: shadow-unload, shadow-crash: it comes back; "
            "source-unload, "
            "source-crash, removed, start-failed: it is gone, and its cursor too)"
        ),
    ),
    (
        "shadow.replicator-reset",
        ("cluster", "topic", "ledger", "entry", "to_ledger", "to_entry", "count"),
        "control",
        "with a backlog of count entries its cursor was put to the end of the log (in the proposal only)",
    ),
    (
        "shadow.entry-skipped",
        ("cluster", "topic", "ledger", "entry", "reason"),
        "data",
        "the shadow was not told of this entry (reason: expired)",
    ),
    (
        "shadow.entry-refused",
        ("cluster", "topic", "ledger", "entry", "reason"),
        "control",
        "the topic does not take messages that bring their own position (reason: not-a-shadow)",
    ),
    (
        "shadow.ledgers-read",
        ("cluster", "topic", "ledger", "count"),
        "control",
        "the shadow read its source's list of count ledgers; the last is open to it for reading",
    ),
    (
        "shadow.watch-ignored",
        ("cluster", "topic"),
        "control",
        "word of a change of that list which the shadow had read already",
    ),
    (
        "shadow.added",
        ("cluster", "topic", "ledger", "entry", "to_ledger", "to_entry", "reason"),
        "data",
        (
            "the shadow was told of this entry, which is its last confirmed one now; before that it was the "
            "second position (reason: replicator, client)"
        ),
    ),
    (
        "shadow.add-queued",
        ("cluster", "topic", "ledger", "entry"),
        "data",
        "the shadow was told of an entry of a ledger that it does not know yet: it waits for the list",
    ),
    (
        "shadow.confirmed",
        ("cluster", "topic", "ledger", "entry", "to_ledger", "to_entry", "reason"),
        "control",
        (
            "its last confirmed entry went from the first position to the second (reason: load, metadata, "
            "refresh, terminated)"
        ),
    ),
    (
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
    (
        "entry.unreadable",
        ("cluster", "topic", "ledger", "entry", "reason"),
        "control",
        "a cursor waits at this entry (reason: ledger-deleted, offload-driver)",
    ),
    (
        "topic.terminated",
        ("cluster", "topic", "ledger", "entry"),
        "control",
        "the topic takes no more messages; its last is this one",
    ),
    (
        "ledger.offloaded",
        ("cluster", "topic", "ledger", "count", "reason"),
        "control",
        "a ledger of count entries was copied to other storage; reason is the driver",
    ),
    (
        "ledger.deleted",
        ("cluster", "topic", "ledger", "count", "reason"),
        "control",
        (
            "the bookies hold this ledger no more, though the topic lists it; reason is who deleted it "
            "(offloader, or a shadow's name)"
        ),
    ),
    # --- tenants, lookup and migration
    (
        "tenant.mapped",
        ("tenant", "cluster", "peer"),
        "control",
        "the LookupService sends the tenant's clients to cluster from now on, no longer to peer",
    ),
    (
        "lookup.answered",
        ("cluster", "topic", "client", "reason"),
        "control",
        (
            "the LookupService answered: the client's topic is in cluster (reason: partition-metadata, "
            "schema, lookup)"
        ),
    ),
    (
        "lookup.failed",
        ("topic", "client", "reason", "count"),
        "control",
        (
            "the client's count-th request in a row came to nothing (reason: service-down, cluster-down, "
            "no-topic)"
        ),
    ),
    ("lookup.stopped", (), "control", "the LookupService answers nobody; who is connected stays so"),
    ("lookup.started", (), "control", "the LookupService answers again"),
    (
        "producer.connected",
        ("cluster", "topic", "client"),
        "control",
        "a producer that was told or sent there connected",
    ),
    (
        "producer.disconnected",
        ("cluster", "topic", "client", "reason"),
        "control",
        "a producer that looks up lost its broker, or left",
    ),
    (
        "client.redirected",
        ("cluster", "peer", "topic", "client"),
        "control",
        "cluster's broker sent the client on to peer: the topic is migrated (PIP-188)",
    ),
    (
        "migration.started",
        ("tenant", "cluster", "peer", "reason"),
        "control",
        "the tenant's move from cluster to peer was begun; reason is the strategy",
    ),
    (
        "migration.step-began",
        ("tenant", "cluster", "peer", "reason", "count"),
        "control",
        "step reason began, or went on, in its count-th attempt",
    ),
    (
        "migration.step-finished",
        ("tenant", "cluster", "peer", "reason", "duration_us"),
        "control",
        "step reason is through, duration_us after it began first",
    ),
    (
        "migration.step-failed",
        ("tenant", "cluster", "peer", "reason", "detail"),
        "control",
        "step reason cannot go on; detail says why and how far it is",
    ),
    (
        "migration.step-undone",
        ("tenant", "cluster", "peer", "reason"),
        "control",
        "what step reason did is taken back",
    ),
    (
        "migration.changed",
        ("tenant", "cluster", "peer", "reason"),
        "control",
        (
            "reason: pause, resume, roll-back, undo of the step in hand, or forced: a person cleans up what "
            "somebody still needs"
        ),
    ),
    (
        "migration.ended",
        ("tenant", "cluster", "peer", "reason"),
        "control",
        "nothing more to do (reason: finished, rolled-back)",
    ),
    (
        "resource.created",
        ("tenant", "cluster", "peer", "topic", "subscription", "reason", "detail"),
        "control",
        "made in cluster by a migration, as peer has it; reason is its kind, detail its name",
    ),
    (
        "resource.deleted",
        ("tenant", "cluster", "topic", "subscription", "reason", "detail"),
        "control",
        "deleted in cluster by a migration; reason is its kind, detail its name",
    ),
    (
        "cluster.migration-marked",
        ("cluster", "peer", "detail", "count"),
        "control",
        "cluster, or only the namespace detail, is marked migrated to peer (count 1) or not (0): PIP-188",
    ),
    (
        "topic.migrated",
        ("cluster", "peer", "topic"),
        "control",
        "cluster's broker sends its clients on to peer as their subscriptions are drained",
    ),
    # --- EMQX's durable shared subscriptions: cluster is a node, topic a stream (shard/generation/topic),
    # subscription a group, client a session
    ("node.crashed", ("cluster",), "control", "every process of the node died"),
    ("node.restarted", ("cluster",), "control", "the node is up again, empty"),
    (
        "session.connected",
        ("cluster", "client", "reason"),
        "control",
        "a client connected; reason: new, resumed",
    ),
    (
        "session.disconnected",
        ("cluster", "client", "reason"),
        "control",
        (
            "its connection ended; reason: closed (in order), killed, crash, node-crash, node-stop, "
            "evacuated (in order), taken-over (by the same client elsewhere)"
        ),
    ),
    (
        "session.subscribed",
        ("cluster", "subscription", "client", "count", "detail"),
        "control",
        (
            "a client subscribed; count numbers its subscriptions, detail is what it asked for; subscription "
            "null: a filter of its own"
        ),
    ),
    (
        "session.unsubscribed",
        ("cluster", "subscription", "client", "count", "detail"),
        "control",
        "a client gave subscription count up",
    ),
    (
        "group.declared",
        ("subscription", "duration_us", "detail"),
        "control",
        (
            "the group is there: it reads what was stored from instant duration_us on; detail is how a "
            "client asks for it"
        ),
    ),
    ("group.destroyed", ("subscription",), "control", "the group is gone with its progress"),
    (
        "stream.opened",
        ("topic", "count", "ledger"),
        "control",
        "storage opened a stream in shard count, generation ledger",
    ),
    (
        "stream.closed",
        ("topic", "count", "ledger", "entry"),
        "control",
        "the stream ends after entry messages",
    ),
    (
        "generation.opened",
        ("ledger", "count"),
        "control",
        "a new generation began; count streams of the one before are closed",
    ),
    ("shards.added", ("count", "entry"), "control", "count shards were added; there are entry now"),
    ("store.failed", ("duration_us",), "control", "the leaders' store answers nobody for duration_us"),
    (
        "protocol.sent",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "size_bytes"),
        "data",
        (
            "a borrower or leader at cluster said something (reason) to the other at peer; count numbers it, "
            "entry is the position in it"
        ),
    ),
    (
        "protocol.arrived",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "size_bytes"),
        "data",
        "it is at cluster, from another node, peer; what stays at one node needs no such row",
    ),
    (
        "protocol.lost",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "detail"),
        "control",
        "it did not reach anybody; detail: loss, link-cut, node-down, no-such-process, command",
    ),
    (
        "protocol.delayed",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "duration_us"),
        "control",
        "a command delayed it",
    ),
    (
        "protocol.duplicated",
        ("cluster", "peer", "subscription", "client", "topic", "count", "reason", "entry", "size_bytes"),
        "control",
        "it will arrive twice",
    ),
    (
        "borrower.changed",
        ("cluster", "subscription", "client", "count", "reason", "detail", "ledger"),
        "control",
        (
            "the session's borrower, incarnation count, is in a new state (reason: connecting, connected, "
            "unsubscribing, gone); detail why; ledger is the leader that it listens to"
        ),
    ),
    (
        "lease.changed",
        ("cluster", "subscription", "client", "topic", "count", "entry", "reason", "ledger"),
        "control",
        "at borrower count the stream is granted, revoking or absent; entry is where it reads from",
    ),
    (
        "chunk.fetched",
        ("cluster", "subscription", "client", "topic", "count", "entry", "to_entry", "reason"),
        "data",
        (
            "the session took messages entry to to_entry (excluded) of the stream to hand them to its "
            "client; "
            "count is the borrower; reason: fetched, or again: what a session that comes back had in flight"
        ),
    ),
    (
        "progress.told",
        ("cluster", "subscription", "client", "topic", "count", "entry"),
        "data",
        (
            "all that the session had of the stream is acknowledged up to entry (null: to its end); its "
            "borrower count is told, if it still lives"
        ),
    ),
    (
        "leader.elected",
        ("cluster", "subscription", "count", "reason"),
        "control",
        (
            "leader count of the group runs at the node; reason: first (no claim was there), taken-over (the "
            "claim was too old)"
        ),
    ),
    (
        "leader.followed",
        ("cluster", "peer", "subscription", "count", "duration_us"),
        "control",
        "the node believes the claim of leader count at peer for duration_us more",
    ),
    (
        "election.failed",
        ("cluster", "subscription", "detail"),
        "control",
        "no leader could be made; detail why",
    ),
    (
        "leader.ended",
        ("cluster", "subscription", "count", "reason"),
        "control",
        "leader count is no more; reason why",
    ),
    (
        "leader.round",
        ("cluster", "subscription", "count", "entry", "sequence_id"),
        "control",
        "a reassignment round of leader count changed something: entry streams, sequence_id borrowers",
    ),
    (
        "leader.committed",
        ("cluster", "subscription", "count", "entry"),
        "control",
        "leader count renewed its claim and wrote entry changed positions, in one step",
    ),
    (
        "stream.found",
        ("cluster", "subscription", "topic", "entry", "count"),
        "control",
        "leader count shares the stream from now on, beginning at entry",
    ),
    (
        "progress.loaded",
        ("cluster", "subscription", "topic", "entry", "count"),
        "control",
        "leader count begins with what the store had",
    ),
    (
        "progress.saved",
        ("cluster", "subscription", "client", "topic", "entry", "to_entry", "count"),
        "data",
        "leader count took a progress into memory: from entry to to_entry (null: the end)",
    ),
    (
        "progress.persisted",
        ("cluster", "subscription", "topic", "entry", "count"),
        "data",
        "the store has the position now",
    ),
    (
        "assignment.changed",
        ("cluster", "subscription", "client", "topic", "count", "entry", "reason", "ledger"),
        "control",
        (
            "at leader ledger the stream is granting to, granted to, revoking or revoked from borrower count "
            "of the client, or free; entry is its saved position"
        ),
    ),
    (
        "borrower.joined",
        ("cluster", "subscription", "client", "count"),
        "control",
        "the leader knows borrower count",
    ),
    (
        "borrower.dropped",
        ("cluster", "subscription", "client", "count", "reason"),
        "control",
        "the leader knows it no more; its streams are free",
    ),
    (
        "node.stopped",
        ("cluster",),
        "control",
        (
            "the node was stopped: its leaders commit and give their claims back, its connections close "
            "without a message to other leaders"
        ),
    ),
    (
        "store.unreachable",
        ("cluster", "duration_us"),
        "control",
        "the node cannot reach the leaders' store for duration_us",
    ),
    (
        "leader.blocked",
        ("cluster", "subscription", "count"),
        "control",
        "leader count waits for the store to answer its commit, and handles nothing meanwhile",
    ),
    (
        "leader.unblocked",
        ("cluster", "subscription", "count", "reason"),
        "control",
        "its request was answered, or given up after 60 s (reason: answered, timeout)",
    ),
    (
        "config.updated",
        ("reason", "detail", "duration_us"),
        "control",
        "setting reason is duration_us now, written detail, on all nodes",
    ),
)

EVENT_TYPES: tuple[EventType, ...] = tuple(
    EventType(code, name, fields, plane, says) for code, (name, fields, plane, says) in enumerate(_DECLARED)
)
BY_NAME: dict[str, EventType] = {event.name: event for event in EVENT_TYPES}
CODE: dict[str, int] = {event.name: event.code for event in EVENT_TYPES}


def pattern_of(types: Iterable[str]) -> re.Pattern[bytes]:
    """What `Trace.has_any` looks for: any row of these types.

    Faster than columns for the few rows of one instant.
    """
    return re.compile(b"[" + b"".join(re.escape(bytes([CODE[name]])) for name in types) + b"]", re.DOTALL)


NAME_COLUMNS: tuple[str, ...] = tuple(
    name for name, (kind, _) in COLUMNS.items() if kind == NAME and name != "type"
)

MARKER_TYPES: dict[str, int] = {
    # word in traces: Pulsar's MarkerType number
    "snapshot_request": 10,
    "snapshot_response": 11,
    "snapshot": 12,
    "subscription_update": 13,
}
