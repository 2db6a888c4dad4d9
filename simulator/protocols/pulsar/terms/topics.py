"""Terms of acknowledgement sync, tenant migration, shadow topics and topic creation."""

from __future__ import annotations

from simulator.protocols.terms import LAB, Term, TermSection

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
