"""Protocols by role: what the creation of topics and schemas at a peer needs of a replicator.

Rules: `replication.replicator.Replicator`, `broker.topic.Topic`, `broker.cluster.Cluster` and
`runtime.Pulsar` play these roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    pass


class ConnectionOfCreation(Protocol):
    """A replicator's connection. `created`: its producer was created, and reconnects by itself."""

    created: bool
