"""The name of the protocol in scenario files, and the families of scenarios that show it."""

from __future__ import annotations

PULSAR = "pulsar"

TENANT_MIGRATION = "tenant-migration"
"""The family whose causes of a duplicate know every strategy that a tenant may move by."""

FAMILIES = ("replicated-subscriptions", TENANT_MIGRATION, "topic-creation", "shadow-topics")
