"""Terms of geo-replication, of failovers and of their figures."""

from __future__ import annotations

from simulator.protocols.terms import LAB, Term, TermSection

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
