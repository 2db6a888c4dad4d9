"""Protocols by role: what the creation of topics and schemas at a peer needs of a replicator.

Rules: `replication.replicator.Replicator`, `broker.topic.Topic`, `broker.cluster.Cluster` and
`runtime.Runtime` play these roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from simulator.protocols.pulsar.storage.roles import ClusterOfLog, RuntimeOfLog, TopicInCluster

if TYPE_CHECKING:
    from simulator.kernel.links import Link
    from simulator.log.columns import SharedColumn
    from simulator.protocols.pulsar.creation.policies import PolicyBook
    from simulator.protocols.pulsar.creation.replicated_schemas import ReplicatedSchemas
    from simulator.protocols.pulsar.creation.schema_registry import SchemaBook
    from simulator.protocols.pulsar.creation.start_check import Outcome
    from simulator.scenarios.model import Scenario


class ClusterOfCreation(ClusterOfLog, Protocol):
    """A cluster where topics are created."""

    creates_remotely: bool

    @property
    def topics(self) -> Mapping[str, object]:
        """Its topics by name."""

    def shape(self, base: str) -> int | None:
        """How many partitions a topic has here, 0 for a plain one, None where it does not exist."""


class RuntimeOfCreation(RuntimeOfLog, Protocol):
    """Clock, trace, clusters, schemas, and the results of start checks."""

    schemas: SchemaBook | None
    policies: PolicyBook
    scenario: Scenario
    cluster_names: list[str]
    start_checks: dict[tuple[int, str, str, str], tuple[Outcome, str | None]]

    @property
    def clusters(self) -> Mapping[str, Any]:
        """The clusters by name."""


class TopicOfCreation(TopicInCluster, Protocol):
    """The topic that a replicator reads."""

    base: str
    partition: int

    @property
    def cluster(self) -> ClusterOfCreation:
        """The cluster that it is in."""

    @property
    def stored_seqs(self) -> SharedColumn:
        """The rows that stored the entries, by index in its log."""


class ConnectionOfCreation(Protocol):
    """A replicator's connection. `created`: its producer was created, and reconnects by itself."""

    created: bool


class ReplicatorOfCreation(Protocol):
    """A replicator that requests a topic or a schema from its peer."""

    peer: str
    peer_number: int
    rank: int
    draw_base: int
    link: Link
    back: Link
    start_seq: int
    requested_seq: int
    checked: Outcome | None
    last_error: str | None
    schemas: ReplicatedSchemas

    @property
    def connecting(self) -> ConnectionOfCreation:
        """Its connection."""

    @property
    def connection(self) -> int:
        """The number of its connections so far."""

    @property
    def topic(self) -> TopicOfCreation:
        """The topic that it reads."""

    @property
    def runtime(self) -> RuntimeOfCreation:
        """Clock, trace and clusters."""

    def create_remote(self, argument: tuple[int, int]) -> None:
        """The request to create the topic reaches the peer."""

    def creation_answered(self, argument: tuple[int, tuple[str, str] | None]) -> None:
        """The peer's response to that request."""

    def register_schema(self, argument: tuple[int, int, str]) -> None:
        """The request to register a schema reaches the peer."""

    def schema_answered(self, argument: tuple[int, int, str, str | None]) -> None:
        """The peer's response to that request."""

    def read(self) -> None:
        """Continue to read from the cursor."""
