"""The name of the protocol in scenario files, and its families of scenarios."""

from __future__ import annotations

PULSAR = "pulsar"

TENANT_MIGRATION = "tenant-migration"
"""The family whose causes of a duplicate include those of every strategy of a tenant's move."""

FAMILIES = ("replicated-subscriptions", TENANT_MIGRATION, "topic-creation", "shadow-topics")

MECHANISMS = {
    "replicated-subscriptions": (
        "A snapshot maps a position in one region's log to positions in the others. The standby's "
        "cursor advances when the active one has passed it (PIP-33)."
    ),
    TENANT_MIGRATION: (
        "A tenant moves to another cluster: its data is replicated, its acknowledgements are synced by "
        "the messages' positions in the old cluster, and its clients are redirected."
    ),
    "topic-creation": (
        "Each cluster has its own topics, policies and schemas. A replicator checks the remote topic "
        "before it starts, and retries as long as the check fails (PIP-433)."
    ),
    "shadow-topics": (
        "A shadow topic has its own subscriptions on the ledgers of another topic. It copies and writes "
        "nothing, and another broker can serve it (PIP-180)."
    ),
}
"""What each family demonstrates, for the gallery."""
