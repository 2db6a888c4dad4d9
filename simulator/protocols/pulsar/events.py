"""The events of Pulsar, by subject, and the words and numbers of its markers."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Annotated, TypedDict

from simulator.trace.registry import (
    About,
    At,
    Name,
    NameNumber,
    To,
    Vocabulary,
    WordTable,
    control,
    data,
)
from simulator.trace.shared_events import SHARED_EVENTS, SharedRows

AboutMarker = Annotated[
    tuple[NameNumber, NameNumber, NameNumber, int, NameNumber, int, NameNumber, int, int],
    "cluster peer topic marker reason snapshot subscription ledger entry",
]
"""The columns of a row about a marker."""

AboutPassed = Annotated[
    tuple[NameNumber, NameNumber, NameNumber, NameNumber, int, int, int, int],
    "cluster topic subscription producer sequence_id ledger entry batch_index",
]
"""The columns of a row about a message that no consumer of the subscription acknowledges any more."""


class TopicNames(TypedDict):
    """The columns that name a topic in a cluster: `**topic.names` in a call."""

    cluster: NameNumber
    topic: NameNumber


class SubscriptionNames(TopicNames):
    """The columns that name a subscription of a topic."""

    subscription: NameNumber


class PulsarRows(SharedRows):
    """Writers of the rows of Pulsar."""

    __slots__ = ()

    # --- events of clusters, topics and ledgers

    @control(
        3,
        "all brokers of the cluster died; unflushed state is gone, and with the fault host what was on the "
        "wire from them",
    )
    def cluster_crashed(self, cause: int, *, cluster: Name) -> int: ...

    @control(4, "the cluster restarted from what it had persisted")
    def cluster_restarted(self, cause: int, *, cluster: Name) -> int: ...

    @control(5, "the cluster and its data are lost permanently")
    def cluster_lost(self, cause: int, *, cluster: Name) -> int: ...

    @control(9, "a broker setting changed; reason is its name, detail the value")
    def setting_changed(self, cause: int, *, cluster: Name, reason: Name, detail: Name) -> int: ...

    @control(10, "a broker loaded the topic; a new ledger is open")
    def topic_loaded(self, cause: int, *, cluster: Name, topic: Name) -> int: ...

    @control(11, "the topic left its broker (unload, crash, migration, deleted)")
    def topic_unloaded(self, cause: int, *, cluster: Name, topic: Name, reason: Name) -> int: ...

    @control(
        176,
        "the check found a backlog quota exceeded; reason is its type, detail its policy, size_bytes the "
        "backlog, duration_us the age of its oldest message, where it is known",
    )
    def topic_quota_exceeded(
        self,
        cause: int,
        *,
        cluster: Name,
        topic: Name,
        reason: Name,
        detail: Name,
        size_bytes: int,
        duration_us: int | None,
    ) -> int: ...

    @control(
        177,
        "the broker closed or refused a producer, because a backlog quota is exceeded; reason is its policy",
    )
    def producer_blocked(
        self, cause: int, *, cluster: Name, topic: Name, client: Name, reason: Name
    ) -> int: ...

    @control(178, "the broker accepts the producer again: the backlog quota is no longer exceeded")
    def producer_unblocked(self, cause: int, *, cluster: Name, topic: Name, client: Name) -> int: ...

    @control(12, "a ledger was opened for appends")
    def ledger_opened(self, cause: int, *, cluster: Name, topic: Name, ledger: int) -> int: ...

    @control(13, "a ledger was closed with count entries")
    def ledger_closed(self, cause: int, *, cluster: Name, topic: Name, ledger: int, count: int) -> int: ...

    @control(14, "a ledger of count entries was deleted")
    def ledger_trimmed(self, cause: int, *, cluster: Name, topic: Name, ledger: int, count: int) -> int: ...

    @control(80, "the broker that serves the topic from this load on; only where brokers are declared")
    def topic_assigned(self, cause: int, *, cluster: Name, topic: Name, broker: Name) -> int: ...

    # --- events of messages that only Pulsar's brokers and clients write

    @data(16, "the producer sent it again, count-th time")
    def message_resent(
        self,
        cause: int,
        *,
        cluster: NameNumber,
        topic: NameNumber,
        producer: NameNumber,
        sequence_id: int,
        count: int,
    ) -> int: ...

    @data(18, "the broker took it for a repeat and did not store it")
    def message_deduplicated(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, producer: Name, sequence_id: int
    ) -> int: ...

    @data(19, "acknowledged to the producer: it is stored")
    def message_receipted(
        self, cause: int, *, cluster: NameNumber, topic: NameNumber, producer: NameNumber, sequence_id: int
    ) -> int: ...

    @data(20, "the producer gave up")
    def message_send_failed(
        self, cause: int, *, cluster: Name, topic: Name, producer: Name, sequence_id: int, reason: Name
    ) -> int: ...

    @data(21, "left cluster for peer on the replicator's connection")
    def message_replicated(
        self,
        cause: int,
        *,
        cluster: NameNumber,
        peer: NameNumber,
        topic: NameNumber,
        producer: NameNumber,
        sequence_id: int,
        at: At,
        batch_index: int,
    ) -> int: ...

    @data(
        22,
        "never sent, or not again if it is on the wire: replicate_to, expired, evicted (backlog-quota), or "
        "an operator's command (cleared, skipped, expire-messages)",
    )
    def message_not_replicated(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        producer: Name,
        sequence_id: int,
        reason: Name,
    ) -> int: ...

    @data(25, "the application called negative ack")
    def message_negatively_acknowledged(self, cause: int, *, about: About) -> int: ...

    @control(26, "the application keeps it unacknowledged for duration_us (null: until released)")
    def message_held(self, cause: int, *, about: About, duration_us: int) -> int: ...

    @data(
        27,
        "the broker's cursor took the ack; cause_seq is the acknowledgement, or the message.filtered or "
        "message.listed in its place (then client is null)",
    )
    def message_registered(self, cause: int, *, about: About) -> int: ...

    @data(28, "TTL passed and the cursor moved over it")
    def message_expired(
        self,
        cause: int,
        *,
        about: AboutPassed,
    ) -> int: ...

    @data(29, "a person's skip, clear or reset moved the cursor over it")
    def message_skipped(
        self,
        cause: int,
        *,
        about: AboutPassed,
        reason: Name,
    ) -> int: ...

    @data(175, "a backlog quota moved the cursor over it")
    def message_evicted(
        self,
        cause: int,
        *,
        about: AboutPassed,
    ) -> int: ...

    @data(30, "its ledger was deleted")
    def message_removed(
        self,
        cause: int,
        *,
        cluster: Name,
        topic: Name,
        producer: Name,
        sequence_id: int,
        at: At,
        batch_index: int,
    ) -> int: ...

    @data(
        174,
        "the client dropped it without ack: its position is not above to_ledger:to_entry, the client's "
        "last cumulative ack, which it gave in peer",
    )
    def message_dropped(self, cause: int, *, about: About, peer: Name, to: To) -> int: ...

    @data(
        81,
        "left the topic's declared broker for the client; the broker was busy with the entry for "
        "duration_us until now and sent size_bytes, both given on the entry's first row, else 0",
    )
    def message_dispatched(self, cause: int, *, about: About, size_bytes: int, duration_us: int) -> int: ...

    # --- events of subscriptions, cursors, consumers and the sync of acknowledged state

    @control(
        56,
        "cursor opened with this mark-delete (reason: consumer, update, command, acknowledgement-sync, "
        "migration); count 1 when replicated",
    )
    def subscription_created(
        self,
        cause: int,
        *,
        cluster: Name,
        topic: Name,
        subscription: Name,
        at: At,
        reason: Name,
        count: int,
    ) -> int: ...

    @control(57, "the subscription is gone in this cluster")
    def subscription_deleted(self, cause: int, *, cluster: Name, topic: Name, subscription: Name) -> int: ...

    @control(58, "replicated state switched on (1) or off (0)")
    def subscription_replication_switched(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, count: int
    ) -> int: ...

    @control(
        59,
        "mark-delete moved (reason: acknowledgement, update, reset, skip, clear, expiry, recovery, "
        "ahead-of-last, rollover, trim)",
    )
    def cursor_moved(
        self,
        cause: int,
        *,
        cluster: Name,
        topic: Name,
        subscription: Name,
        at: At,
        to: To,
        reason: Name,
    ) -> int: ...

    @data(60, "mark-delete and count individually deleted entries would now survive a crash")
    def cursor_persisted(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, at: At, count: int
    ) -> int: ...

    @control(61, "reopened with the persisted mark-delete and count individually deleted entries")
    def cursor_recovered(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, at: At, count: int
    ) -> int: ...

    @control(62, "a consumer subscribed")
    def consumer_connected(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, client: Name
    ) -> int: ...

    @control(63, "a consumer left (closed, killed, crash, unload)")
    def consumer_disconnected(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, client: Name, reason: Name
    ) -> int: ...

    @control(64, "became the active consumer of an Exclusive or Failover subscription")
    def consumer_activated(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, client: Name
    ) -> int: ...

    @control(65, "dispatch stopped at count unacknowledged messages (client null: the whole subscription)")
    def consumer_blocked(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, client: Name, count: int
    ) -> int: ...

    @control(66, "dispatch continues")
    def consumer_unblocked(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, client: Name, count: int
    ) -> int: ...

    @control(
        76,
        "the subscription's whole acknowledged state left cluster for peer: mark-delete, and count "
        "individually deleted entries",
    )
    def acknowledgements_sent(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        subscription: Name,
        at: At,
        count: int,
        size_bytes: int,
    ) -> int: ...

    @control(
        77,
        "cluster holds peer's state from now on: peer's mark-delete, and count individually deleted "
        "entries; evidence_seq is acknowledgements.sent",
    )
    def acknowledgements_applied(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        subscription: Name,
        to: To,
        count: int,
        evidence_seq: int,
    ) -> int: ...

    @control(78, "the state did not arrive; evidence_seq is acknowledgements.sent")
    def acknowledgements_lost(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, subscription: Name, evidence_seq: int
    ) -> int: ...

    @data(
        179,
        "individually deleted because peer's Update lists it, under a rule of one's own; evidence_seq is "
        "update.written; a message.registered row without client follows",
    )
    def message_listed(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        subscription: Name,
        producer: Name,
        sequence_id: int,
        at: At,
        batch_index: int,
        evidence_seq: int,
    ) -> int: ...

    @data(
        79,
        "not dispatched: acknowledged according to the state of peer; evidence_seq is "
        "acknowledgements.applied; a message.registered row without client follows",
    )
    def message_filtered(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        subscription: Name,
        producer: Name,
        sequence_id: int,
        at: At,
        batch_index: int,
        evidence_seq: int,
    ) -> int: ...

    # --- events of markers, snapshot controllers, snapshots and updates (PIP-33)

    @control(
        31,
        "a marker was appended where it was made; reason is its type; peer is the only addressee, null for "
        "everyone",
    )
    def marker_written(self, cause: int, *, about: AboutMarker, size_bytes: int) -> int: ...

    @control(32, "left cluster for peer")
    def marker_sent(self, cause: int, *, about: AboutMarker) -> int: ...

    @control(33, "appended in cluster, replicated from peer")
    def marker_stored(self, cause: int, *, about: AboutMarker, size_bytes: int) -> int: ...

    @control(34, "read by the replicator cluster -> peer and given to the controller")
    def marker_handled(self, cause: int, *, about: AboutMarker) -> int: ...

    @data(35, "read by the dispatcher of subscription, acknowledged by the broker, never delivered")
    def marker_filtered(self, cause: int, *, about: AboutMarker) -> int: ...

    @control(36, "was on the wire from cluster to peer when the connection broke")
    def marker_lost(self, cause: int, *, about: AboutMarker) -> int: ...

    @control(37, "a command delayed it on the wire")
    def marker_delayed(self, cause: int, *, about: AboutMarker, duration_us: int) -> int: ...

    @control(38, "a command removed it on the wire")
    def marker_dropped(self, cause: int, *, about: AboutMarker) -> int: ...

    @control(39, "the snapshot controller runs (reason: subscription, forced)")
    def controller_started(self, cause: int, *, cluster: Name, topic: Name, reason: Name) -> int: ...

    @control(40, "the snapshot controller was closed")
    def controller_stopped(self, cause: int, *, cluster: Name, topic: Name, reason: Name) -> int: ...

    @control(
        173, "its first tick ended with an exception instead of a request (option firstSnapshotTickFails)"
    )
    def controller_tick_failed(self, cause: int, *, cluster: Name, topic: Name) -> int: ...

    @control(41, "a snapshot round was asked for; count is the round, 1 or 2")
    def snapshot_requested(
        self, cause: int, *, cluster: Name, topic: Name, snapshot: int, count: int
    ) -> int: ...

    @control(42, "a tick asked for nothing (reason: pending, no-new-data, replicator-disconnected)")
    def snapshot_refused(self, cause: int, *, cluster: Name, topic: Name, reason: Name) -> int: ...

    @control(
        43,
        "peer's answer of round count counted at cluster: position of the response here, position reported "
        "there",
    )
    def snapshot_answered(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        snapshot: int,
        count: int,
        at: At,
        to: To,
    ) -> int: ...

    @control(44, "an answer to a snapshot that is not pending")
    def snapshot_answer_ignored(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, reason: Name
    ) -> int: ...

    @control(
        45,
        "the snapshot is usable: local_message_id; reason is full or partial; its snapshot.position rows "
        "follow",
    )
    def snapshot_completed(
        self,
        cause: int,
        *,
        cluster: Name,
        topic: Name,
        snapshot: int,
        at: At,
        duration_us: int,
        reason: Name,
    ) -> int: ...

    @control(46, "peer's position in the snapshot just completed")
    def snapshot_position(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, snapshot: int, to: To
    ) -> int: ...

    @control(47, "swept after replicatedSubscriptionsSnapshotTimeoutSeconds")
    def snapshot_timed_out(self, cause: int, *, cluster: Name, topic: Name, snapshot: int) -> int: ...

    @control(48, "pending when its controller closed (unload, crash)")
    def snapshot_abandoned(
        self, cause: int, *, cluster: Name, topic: Name, snapshot: int, reason: Name
    ) -> int: ...

    @control(49, "the dispatcher read its marker; the subscription's cache holds it")
    def snapshot_cached(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, snapshot: int, at: At
    ) -> int: ...

    @control(50, "left the cache unused (reason: cache-rule, cursor-reset, unloaded, passed, switched-off)")
    def snapshot_evicted(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, snapshot: int, reason: Name
    ) -> int: ...

    @control(51, "taken from the cache as newest at or below the mark-delete; an Update is written")
    def snapshot_used(
        self, cause: int, *, cluster: Name, topic: Name, subscription: Name, snapshot: int, at: At
    ) -> int: ...

    @control(52, "an Update marker was appended; its update.position rows follow")
    def update_written(
        self,
        cause: int,
        *,
        cluster: Name,
        topic: Name,
        subscription: Name,
        snapshot: int | None,
        marker: int,
        at: At,
    ) -> int: ...

    @control(53, "the position that the Update names for peer")
    def update_position(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        subscription: Name,
        snapshot: int | None,
        marker: int,
        to: To,
    ) -> int: ...

    @control(
        54, "cluster acked cumulatively up to the position in peer's Update; evidence_seq is update.written"
    )
    def update_applied(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        subscription: Name,
        marker: int,
        to: To,
        evidence_seq: int,
    ) -> int: ...

    @control(55, "cluster did not move (reason: behind-mark-delete, equal, beyond-last-entry, not-addressed)")
    def update_refused(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        subscription: Name,
        marker: int,
        to: To,
        reason: Name,
    ) -> int: ...

    # --- events of replicators and failovers

    @control(68, "its cursor opened with this mark-delete")
    def replicator_created(self, cause: int, *, cluster: Name, peer: Name, topic: Name, at: At) -> int: ...

    @control(69, "replication to peer was taken off the list; the cursor is gone")
    def replicator_removed(self, cause: int, *, cluster: Name, peer: Name, topic: Name) -> int: ...

    @control(70, "connected; reads from its mark-delete")
    def replicator_started(self, cause: int, *, cluster: Name, peer: Name, topic: Name) -> int: ...

    @control(71, "its connection broke")
    def replicator_disconnected(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, reason: Name
    ) -> int: ...

    @control(72, "reads again after this position")
    def replicator_rewound(self, cause: int, *, cluster: Name, peer: Name, topic: Name, at: At) -> int: ...

    @control(
        73,
        "subscription moves from cluster to peer (reason: crash, planned, drained, auto, migration, "
        "roll-back, blue-green); the window opens",
    )
    def failover_started(
        self, cause: int, *, cluster: Name, peer: Name, subscription: Name, reason: Name
    ) -> int: ...

    @control(74, "its consumers have subscribed at peer")
    def failover_finished(self, cause: int, *, cluster: Name, peer: Name, subscription: Name) -> int: ...

    @control(
        88,
        "the start check or a reconnection was refused; count starts failed so far, the next is tried "
        "after duration_us (none: not again); reason: different-partitions, no-remote-topic, conflict, "
        "not-created, of reconnections topic-not-found, remote-partitioned, no-partitioned-topic, and "
        "before PIP-433 also no-such-partition, auto-creation-not-allowed",
    )
    def replicator_start_refused(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        count: int,
        duration_us: int | None,
        reason: Name,
        detail: Name,
    ) -> int: ...

    @control(
        89,
        "connected, but it is blocked at this entry until it reconnects (reason: schema; duration: how "
        "long the entry has been pending)",
    )
    def replicator_stopped(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        at: At,
        duration_us: int,
        reason: Name,
        detail: Name,
    ) -> int: ...

    # --- events of tenants, lookup and migration

    @control(114, "the LookupService sends the tenant's clients to cluster from now on, no longer to peer")
    def tenant_mapped(self, cause: int, *, tenant: Name, cluster: Name, peer: Name) -> int: ...

    @control(
        115,
        "the LookupService answered: the client's topic is in cluster (reason: partition-metadata, schema, "
        "lookup)",
    )
    def lookup_answered(
        self, cause: int, *, cluster: Name, topic: Name, client: Name, reason: Name
    ) -> int: ...

    @control(
        116, "the client's count-th request in a row failed (reason: service-down, cluster-down, no-topic)"
    )
    def lookup_failed(self, cause: int, *, topic: Name, client: Name, reason: Name, count: int) -> int: ...

    @control(117, "the LookupService answers no request; existing connections stay")
    def lookup_stopped(self, cause: int) -> int: ...

    @control(118, "the LookupService answers again")
    def lookup_started(self, cause: int) -> int: ...

    @control(119, "a producer that looked up or was redirected connected")
    def producer_connected(self, cause: int, *, cluster: Name, topic: Name, client: Name) -> int: ...

    @control(120, "a producer that looks up lost its broker, or left")
    def producer_disconnected(
        self, cause: int, *, cluster: Name, topic: Name, client: Name, reason: Name
    ) -> int: ...

    @control(121, "cluster's broker sent the client on to peer: the topic is migrated (PIP-188)")
    def client_redirected(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, client: Name
    ) -> int: ...

    @control(122, "the tenant's move from cluster to peer was begun; reason is the strategy")
    def migration_started(
        self, cause: int, *, tenant: Name, cluster: Name, peer: Name, reason: Name
    ) -> int: ...

    @control(123, "step reason began, or went on, in its count-th attempt")
    def migration_step_began(
        self, cause: int, *, tenant: Name, cluster: Name, peer: Name, reason: Name, count: int
    ) -> int: ...

    @control(124, "step reason is complete, duration_us after it began first")
    def migration_step_finished(
        self, cause: int, *, tenant: Name, cluster: Name, peer: Name, reason: Name, duration_us: int
    ) -> int: ...

    @control(125, "step reason is blocked; detail gives the reason and its progress")
    def migration_step_failed(
        self, cause: int, *, tenant: Name, cluster: Name, peer: Name, reason: Name, detail: Name
    ) -> int: ...

    @control(126, "what step reason did is taken back")
    def migration_step_undone(
        self, cause: int, *, tenant: Name, cluster: Name, peer: Name, reason: Name
    ) -> int: ...

    @control(
        127,
        "reason: pause, resume, roll-back, undo of the current step, or forced: an operator deletes what "
        "is still needed",
    )
    def migration_changed(
        self, cause: int, *, tenant: Name, cluster: Name, peer: Name, reason: Name
    ) -> int: ...

    @control(128, "nothing more to do (reason: finished, rolled-back)")
    def migration_ended(
        self, cause: int, *, tenant: Name, cluster: Name, peer: Name, reason: Name
    ) -> int: ...

    @control(129, "made in cluster by a migration, as peer has it; reason is its kind, detail its name")
    def resource_created(
        self,
        cause: int,
        *,
        tenant: Name,
        cluster: Name,
        peer: Name,
        topic: Name,
        subscription: Name,
        reason: Name,
        detail: Name,
    ) -> int: ...

    @control(130, "deleted in cluster by a migration; reason is its kind, detail its name")
    def resource_deleted(
        self,
        cause: int,
        *,
        tenant: Name,
        cluster: Name,
        topic: Name,
        subscription: Name,
        reason: Name,
        detail: Name,
    ) -> int: ...

    @control(
        131, "cluster, or only the namespace detail, is marked migrated to peer (count 1) or not (0): PIP-188"
    )
    def cluster_migration_marked(
        self, cause: int, *, cluster: Name, peer: Name, detail: Name, count: int
    ) -> int: ...

    @control(132, "cluster's broker sends its clients on to peer as their subscriptions are drained")
    def topic_migrated(self, cause: int, *, cluster: Name, peer: Name, topic: Name) -> int: ...

    # --- events of shadow topics (PIP-180) and of the ledgers they share with their source

    @control(94, "a shadow topic is there; reason is its source: the topic whose ledgers it reads")
    def shadow_created(self, cause: int, *, cluster: Name, topic: Name, reason: Name) -> int: ...

    @control(95, "no broker can open the shadow topic: its source (reason) is not there")
    def shadow_load_failed(self, cause: int, *, cluster: Name, topic: Name, reason: Name) -> int: ...

    @control(96, "the shadow topic is gone, with its subscriptions")
    def shadow_deleted(self, cause: int, *, cluster: Name, topic: Name) -> int: ...

    @control(97, "the topic's list of shadow topics has count names now: detail")
    def shadow_topics_set(
        self, cause: int, *, cluster: Name, topic: Name, count: int, detail: Name
    ) -> int: ...

    @control(
        98,
        "the source (reason) feeds the shadow from now on: its replicator's cursor opened with this "
        "mark-delete",
    )
    def shadow_replicator_created(
        self, cause: int, *, cluster: Name, topic: Name, reason: Name, at: At
    ) -> int: ...

    @control(99, "the replicator that feeds this shadow is connected to it")
    def shadow_replicator_started(self, cause: int, *, cluster: Name, topic: Name) -> int: ...

    @control(
        100,
        "it is disconnected (reason: shadow-unload, shadow-crash: it reconnects; source-unload, "
        "source-crash, removed, start-failed: it is gone, and its cursor too)",
    )
    def shadow_replicator_stopped(self, cause: int, *, cluster: Name, topic: Name, reason: Name) -> int: ...

    @control(
        101, "with a backlog of count entries its cursor was put to the end of the log (in the proposal only)"
    )
    def shadow_replicator_reset(
        self, cause: int, *, cluster: Name, topic: Name, at: At, to: To, count: int
    ) -> int: ...

    @data(102, "this entry was not announced to the shadow topic (reason: expired)")
    def shadow_entry_skipped(
        self, cause: int, *, cluster: Name, topic: Name, at: At, reason: Name
    ) -> int: ...

    @control(103, "the topic does not take messages that bring their own position (reason: not-a-shadow)")
    def shadow_entry_refused(
        self, cause: int, *, cluster: Name, topic: Name, at: At, reason: Name
    ) -> int: ...

    @control(104, "the shadow read its source's list of count ledgers; the last is open to it for reading")
    def shadow_ledgers_read(
        self, cause: int, *, cluster: Name, topic: Name, ledger: int, count: int
    ) -> int: ...

    @control(105, "word of a change of that list which the shadow had read already")
    def shadow_watch_ignored(self, cause: int, *, cluster: Name, topic: Name) -> int: ...

    @data(
        106,
        "this entry was announced and is the last confirmed one now; before that it was the second "
        "position (reason: replicator, client)",
    )
    def shadow_added(
        self, cause: int, *, cluster: Name, topic: Name, at: At, to: To, reason: Name
    ) -> int: ...

    @data(
        107, "an entry of a ledger that is not in the topic's list yet was announced: it waits for the list"
    )
    def shadow_add_queued(self, cause: int, *, cluster: Name, topic: Name, at: At) -> int: ...

    @control(
        108,
        "its last confirmed entry went from the first position to the second (reason: load, metadata, "
        "refresh, terminated)",
    )
    def shadow_confirmed(
        self, cause: int, *, cluster: Name, topic: Name, at: At, to: To, reason: Name
    ) -> int: ...

    @data(
        109,
        "the source deleted its ledger before the shadow's subscription had acknowledged it (reason: "
        "unread, unacknowledged)",
    )
    def message_lost(
        self,
        cause: int,
        *,
        about: AboutPassed,
        reason: Name,
    ) -> int: ...

    @control(110, "a cursor waits at this entry (reason: ledger-deleted, offload-driver)")
    def entry_unreadable(self, cause: int, *, cluster: Name, topic: Name, at: At, reason: Name) -> int: ...

    @control(111, "the topic takes no more messages; its last is this one")
    def topic_terminated(self, cause: int, *, cluster: Name, topic: Name, at: At) -> int: ...

    @control(112, "a ledger of count entries was copied to other storage; reason is the driver")
    def ledger_offloaded(
        self, cause: int, *, cluster: Name, topic: Name, ledger: int, count: int, reason: Name
    ) -> int: ...

    @control(
        113,
        "the bookies hold this ledger no more, though the topic lists it; reason is who deleted it "
        "(offloader, or a shadow's name)",
    )
    def ledger_deleted(
        self, cause: int, *, cluster: Name, topic: Name, ledger: int, count: int, reason: Name
    ) -> int: ...

    # --- events of namespaces, policies, topic creation and schemas

    @control(82, "the namespace exists in the cluster; detail is its name")
    def namespace_created(self, cause: int, *, cluster: Name, detail: Name) -> int: ...

    @control(
        83,
        "a policy of a namespace (topic null) or a topic changed in the cluster; reason is its name, "
        "detail whose and the value",
    )
    def policy_changed(
        self, cause: int, *, cluster: Name, topic: Name, reason: Name, detail: Name
    ) -> int: ...

    @control(
        84,
        "the topic exists in the cluster, with count partitions (0: a plain topic); reason: command, "
        "client, replicator, reconnection (of a replicator), copied-request, set-replication-clusters, "
        "migration; peer is the cluster that asked for it, or whose shape was adopted",
    )
    def topic_created(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, client: Name, count: int, reason: Name
    ) -> int: ...

    @control(85, "the cluster did not create it; peer or client had requested it, detail gives the reason")
    def topic_creation_refused(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, client: Name, reason: Name, detail: Name
    ) -> int: ...

    @control(
        86,
        "the topic has count partitions in the cluster; reason: command, copied-request; peer is the "
        "cluster that asked",
    )
    def topic_partitions_changed(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, count: int, reason: Name
    ) -> int: ...

    @control(
        87,
        "the topic is gone in the cluster, with its subscriptions, replication cursors, entries and "
        "schemas (reason: command, forced, kept-out, migration)",
    )
    def topic_deleted(self, cause: int, *, cluster: Name, topic: Name, reason: Name) -> int: ...

    @control(90, "the producer's messages carry this schema from sequence_id on; detail null: none")
    def schema_used(
        self, cause: int, *, cluster: Name, topic: Name, producer: Name, sequence_id: int, detail: Name
    ) -> int: ...

    @control(
        91,
        "the topic has a new schema, version count; reason is who registered it: producer, consumer, "
        "replicator, command; detail names it",
    )
    def schema_registered(
        self,
        cause: int,
        *,
        cluster: Name,
        peer: Name,
        topic: Name,
        client: Name,
        count: int,
        reason: Name,
        detail: Name,
    ) -> int: ...

    @control(
        92,
        "a schema was not taken (reason: incompatible, not-allowed, none-given); peer or client had "
        "offered it",
    )
    def schema_refused(
        self, cause: int, *, cluster: Name, peer: Name, topic: Name, client: Name, reason: Name, detail: Name
    ) -> int: ...

    @control(93, "a person deleted the topic's schemas, count versions")
    def schema_deleted(self, cause: int, *, cluster: Name, topic: Name, count: int) -> int: ...


# --- the events of Pulsar, by subject, and the words and numbers of its markers


EVENTS = PulsarRows.events
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
