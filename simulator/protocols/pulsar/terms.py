"""Pulsar's terms, in the order of the glossary."""

from __future__ import annotations

from simulator.protocols.terms import LAB, Term, TermSection

# --- terms of acknowledgement sync, tenant migration, shadow topics and topic creation


MIGRATION = TermSection(
    "Pulsar: acknowledgement-state sync and migration",
    (
        Term(
            "Acknowledgement-state sync",
            (
                "The source sends mark-delete position and individually deleted messages to the target, "
                "which filters replicated messages by their original position. Not part of Apache Pulsar."
            ),
            "published for a vendor's tenant migration",
            ("requests, in the whole run",),
        ),
        Term(
            "Original position",
            "The position of a replicated message in the cluster where it was published.",
            "published for a vendor's tenant migration",
        ),
        Term("Synced", "Covered by a state that the target has applied.", LAB),
        Term(
            "Tenant migration",
            "Moving a tenant to another cluster in five steps: metadata, data, progress, switch, clean-up.",
            "published for a vendor's tenant migration",
            ("if switched now",),
        ),
        Term("LookupService", "The map from tenants to clusters that clients ask before they connect.", LAB),
        Term(
            "Blue-green migration",
            (
                "Clients are redirected from a blue to a green cluster. Blue's backlog is drained; nothing "
                "is copied."
            ),
            "PIP-188",
        ),
    ),
)

TOPICS = TermSection(
    "Pulsar: shadow topics and topic creation",
    (
        Term(
            "Shadow topic",
            "A read-only topic on the ledgers of its source topic, with its own subscriptions.",
            "PIP-180",
        ),
        Term(
            "Not visible yet",
            "Entries of the source that the shadow topic's readers cannot see yet.",
            "PIP-180",
        ),
        Term(
            "Storage saved", "What a copy of the entries would take that the shadow topic reads.", "PIP-180"
        ),
        Term(
            "Reads from", "Where reads were served: the broker's cache, this region's bookies or others.", LAB
        ),
        Term("Fed by", "The replicator that sends the source's new positions.", "`ShadowReplicator`"),
        Term(
            "Start check",
            (
                "What a replicator verifies before it connects: the topic exists in the other cluster with "
                "the same number of partitions."
            ),
            "PIP-433",
        ),
        Term(
            "Auto-creation",
            (
                "A broker creates a missing topic when a client or replicator asks for it, as the "
                "namespace's policy allows."
            ),
            "`AutoTopicCreationOverride`",
        ),
    ),
)


# --- terms of logs, cursors and consumers


LOG = TermSection(
    "Pulsar: log and cursor",
    (
        Term(
            "Topic, partition",
            "A named log. A partitioned topic is several logs, `NAME-partition-0` and so on.",
            "`TopicName`, `PartitionedTopicMetadata`",
            ("topic",),
        ),
        Term(
            "Region, cluster",
            (
                "A Pulsar cluster with its own brokers and its own copy of a topic's log."
                " Operators call it a region."
            ),
            "`ClusterData`",
            ("cluster",),
        ),
        Term(
            "Entry", "One position of a log: a message, a batch of messages, or a marker.", "`ManagedLedger`"
        ),
        Term(
            "Position",
            (
                "`ledger:entry`, for example `1234:114`. Each cluster numbers its own log, so the same "
                "message has unrelated positions in two clusters."
            ),
            "`Position` of the managed ledger",
        ),
        Term(
            "Ledger",
            (
                "A run of entries that BookKeeper stores together. A topic opens a new ledger when one is "
                "full or old, and whenever it is loaded."
            ),
            "`ManagedLedgerImpl`",
        ),
        Term(
            "Last confirmed entry",
            "The newest entry that readers may see (LAC).",
            "BookKeeper `LedgerHandle.getLastAddConfirmed`",
        ),
        Term(
            "Retention, trimming",
            "Whole ledgers before the slowest durable cursor are deleted, unless retention keeps them.",
            "`ManagedLedgerImpl.internalTrimLedgers`",
        ),
        Term(
            "Subscription",
            (
                "A named cursor on a topic and the consumers that share it. Types: Exclusive, Failover, "
                "Shared, Key_Shared."
            ),
            "`PersistentSubscription`",
        ),
        Term(
            "Cursor",
            (
                "A subscription's progress in one cluster: the mark-delete position and the individually "
                "deleted messages."
            ),
            "`ManagedCursorImpl`",
        ),
        Term(
            "Mark-delete position",
            (
                "Everything up to and including it is acknowledged. The only part of a cursor that "
                "snapshots and updates replicate."
            ),
            "`ManagedCursor.getMarkDeletedPosition`",
        ),
        Term(
            "Individually deleted messages",
            (
                "Acknowledged beyond the mark-delete position, with unacknowledged ones before them. "
                "Printed `[(1:5..1:6],(1:8..1:9]]`."
            ),
            "`ManagedCursorImpl.individualDeletedMessages`",
        ),
        Term(
            "Hole",
            (
                "An unacknowledged entry before individually deleted ones. It holds the mark-delete "
                "position back."
            ),
            LAB,
        ),
        Term(
            "Backlog",
            (
                "Entries after the mark-delete position that are not individually deleted. Markers count "
                "until a dispatcher reads them."
            ),
            "`ManagedCursor.getNumberOfEntriesInBacklog`",
        ),
    ),
)

CONSUMERS = TermSection(
    "Pulsar: consumers and brokers",
    (
        Term(
            "Acknowledged to the producer",
            "The broker confirmed that the message is stored (send receipt).",
            "`CommandSendReceipt`",
        ),
        Term(
            "Registered",
            (
                "The broker's cursor has the acknowledgement. Clients group "
                "acknowledgements, so this happens later than the application's call."
            ),
            "`PersistentAcknowledgmentsGroupingTracker`",
        ),
        Term(
            "Receiver queue, permits",
            "What a consumer lets the broker send ahead (default 1000). Markers are read ahead with it.",
            "`CommandFlow`, `ConsumerBase`",
        ),
        Term(
            "Dispatcher",
            (
                "The part of a broker that reads entries for a subscription's consumers. It acknowledges "
                "markers itself."
            ),
            "`PersistentDispatcherMultipleConsumers`",
        ),
        Term(
            "Expired, skipped",
            (
                "Removed from a subscription's backlog by its time to live, or by an administrator "
                "(`skip`, `clear-backlog`, `reset-cursor`)."
            ),
            "`PersistentMessageExpiryMonitor`, `pulsar-admin topics`",
        ),
        Term(
            "Broker",
            (
                "Serves topics of a cluster. A scenario can give it limits; without limits dispatching "
                "takes no time."
            ),
            "`BrokerService`",
            ("serves", "served by"),
        ),
        Term(
            "Broker limits", "Time per dispatch, bandwidth, and time per connecting client.", LAB, ("limits",)
        ),
        Term(
            "Dispatch queue",
            "Dispatches that wait for the broker, and the time that they will take.",
            LAB,
            ("queued work",),
        ),
        Term("Busy", "Share of the time in which the broker dispatched or accepted connections.", LAB),
        Term(
            "Bytes sent",
            "What a broker has sent to clients; the peak is the largest rate so far.",
            LAB,
            ("sent", "peak rate"),
        ),
        Term(
            "Latency",
            "From publishing until the message has left the broker.",
            LAB,
            ("latency of",),
        ),
        Term("Audience", "Many identical subscriptions of a topic, simulated together.", LAB),
    ),
)


# --- terms of geo-replication, of failovers and of their figures


REPLICATION = TermSection(
    "Pulsar: geo-replication and replicated subscriptions",
    (
        Term(
            "Replicator",
            (
                "Reads a topic in one cluster and publishes to another one, with the cursor "
                "`pulsar.repl.CLUSTER`."
            ),
            "`GeoPersistentReplicator`",
        ),
        Term(
            "Replicated subscription",
            (
                "A subscription whose mark-delete position is replicated to other clusters "
                "(`replicateSubscriptionState`)."
            ),
            "PIP-33",
        ),
        Term(
            "Local subscription",
            (
                "A subscription whose progress is not replicated: one of the three strategies that the lab "
                "compares."
            ),
            LAB,
        ),
        Term(
            "Marker",
            (
                "An entry of the protocol in the log, invisible to consumers: request, response, snapshot "
                "or update."
            ),
            "PIP-33, `PulsarMarkers.proto`",
            ("other regions' markers", "markers at the source", "markers in the logs, in the whole run"),
        ),
        Term(
            "Encoded marker",
            "The bytes of a marker as in the log, and the clusters through which it was replicated.",
            "PIP-33, `Markers`",
            ("bytes", "route"),
        ),
        Term(
            "Snapshot",
            (
                "A position in this cluster together with positions in the others. A consumer that has "
                "processed everything up to the first has processed everything up to the others. Pages and "
                "reports number them in each region: S1, S2, S3. `snapshot` in a trace counts all regions."
            ),
            "PIP-33",
        ),
        Term(
            "Snapshot request, response",
            "The markers that build a snapshot. With three or more clusters they are exchanged twice.",
            "`ReplicatedSubscriptionsSnapshotBuilder`",
            ("request", "response"),
        ),
        Term(
            "Snapshot controller",
            (
                "Per topic and cluster: starts a snapshot each period (default 1 s) if there is new data "
                "and every replicator is connected."
            ),
            "`ReplicatedSubscriptionsController`",
        ),
        Term(
            "Pending, completed, timed out",
            (
                "States of a snapshot: waiting for responses, all there, or dropped after the timeout "
                "(default 30 s)."
            ),
            "`ReplicatedSubscriptionsController`",
        ),
        Term(
            "Snapshot cache",
            (
                "The completed snapshots that a subscription keeps in memory (default 30) until its "
                "mark-delete position passes them. Lost when the topic is unloaded."
            ),
            "`ReplicatedSubscriptionSnapshotCache`",
        ),
        Term(
            "Usable snapshot",
            "The newest cached one at or below the mark-delete position.",
            "`ReplicatedSubscriptionSnapshotCache.advancedMarkDeletePosition`",
        ),
        Term("Evicted", "Removed from a full snapshot cache.", "`ReplicatedSubscriptionSnapshotCache`"),
        Term(
            "Update",
            (
                "The marker that carries a usable snapshot's positions. The other clusters acknowledge up "
                "to theirs."
            ),
            "`ReplicatedSubscriptionsController.receiveSubscriptionUpdated`",
        ),
        Term(
            "Replicated up to here",
            "How far a log has been sent to another cluster.",
            "`PersistentReplicator`",
        ),
        Term("Sync lag", "Age of the oldest message in another cluster that its cursor does not cover.", LAB),
    ),
)

FAILOVER = TermSection(
    "Pulsar: failover and its figures",
    (
        Term(
            "Failover",
            (
                "The consumers of a subscription move to another cluster: after a crash, planned, drained "
                "(wait until the target has every acknowledgement), or by themselves, with "
                "AutoClusterFailover or SameAuthParamsLookupAutoClusterFailover."
            ),
            "PIP-121, `AutoClusterFailover`, `SameAuthParamsLookupAutoClusterFailover`",
            ("moved", "mode"),
        ),
        Term(
            "Window",
            (
                "From a failover to the subscription's next one, or to where counting stops. Deliveries in "
                "the target during the window count for the failover."
            ),
            LAB,
            ("so far",),
        ),
        Term(
            "Not replicated",
            (
                "Acknowledged to the producer before the failover, in the source's log, and not stored in "
                "the target by then: unread, or already processed. `stranded` in JSON."
            ),
            LAB,
            (
                "of these unread",
                "of these replicated later",
                "not replicated (unread)",
                "not replicated (already processed)",
            ),
        ),
        Term(
            "Delivery gap",
            (
                "From the crash of the source, or from the move if that came first, to the first delivery in "
                "the target. `outage_us` in JSON."
            ),
            LAB,
        ),
        Term(
            "Backlog of the failover acked at",
            (
                "When the target's cursor covers every message that its log held at the failover: "
                "acknowledged there, skipped or expired. `drained_us` in JSON."
            ),
            LAB,
        ),
        Term(
            "Ids to remember",
            (
                "The fewest message ids, and the longest time, that an idempotent consumer must remember "
                "to process no duplicate. `dedup_window` in JSON."
            ),
            LAB,
        ),
        Term(
            "Forecast, actual",
            "What a failover would cost if the source crashed now; what it did cost.",
            LAB,
            ("forecast", "actual", "forecast → actual", "forecast duplicates of a move now", "figure"),
        ),
    ),
)


# --- pulsar's terms, in the order of the glossary


TERMS: tuple[TermSection, ...] = (LOG, CONSUMERS, REPLICATION, FAILOVER, MIGRATION, TOPICS)
