"""Terms of logs, cursors and consumers."""

from __future__ import annotations

from simulator.protocols.terms import LAB, Term, TermSection

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
