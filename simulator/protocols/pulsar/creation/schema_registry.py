"""The schemas of each topic in each cluster, with versions, and the right to register one.

Rules (`SchemaRegistryServiceImpl`, PIP-433): partitions share their topic's schemas. A schema that is
registered already is never refused. A new one needs the right to register (clients: isAllowAutoUpdateSchema;
replicators: that, or since PIP-433 their own flag; an operator: always) and must be compatible under the
strategy in force.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.creation import policies
from simulator.protocols.pulsar.creation.schema_compatibility import same, why_incompatible, why_unreadable_by

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.model import SchemaSpec
    from simulator.scenarios.model import Scenario

UPDATES_DISABLED = "Schema not found and schema auto updating is disabled."
WITHOUT_SCHEMA = (
    "Producers cannot connect or send message without a schema to topics with a schema when "
    "SchemaValidationEnforced is enabled"
)
ACTIVE_WITHOUT_SCHEMA = "Failed to add schema to an active topic with empty(BYTES) schema"
PRODUCER, CONSUMER, REPLICATOR, PERSON = "producer", "consumer", "replicator", "command"


class SchemaBook:
    """The schema versions of all topics, and the schemas that producers use.

    Versions are by (cluster, topic), as names of declared schemas, oldest first. For each producer it records
    from which message on it used which schema.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.declared: dict[str, SchemaSpec] = dict(scenario.schemas)
        self.versions: dict[tuple[str, str], list[str]] = {}
        # producer's number -> first sequence ids, schemas
        self.used: dict[int, tuple[list[int], list[str | None]]] = {}

    def use(self, producer: int, sequence_id: int, schema: str | None) -> None:
        """Record that the producer's messages from this one on carry the schema."""
        firsts, schemas = self.used.setdefault(producer, ([], []))
        if firsts and firsts[-1] == sequence_id:
            schemas[-1] = schema
        else:
            firsts.append(sequence_id)
            schemas.append(schema)

    def of_message(self, producer: int, sequence_id: int) -> str | None:
        """The schema of a message, None without."""
        firsts, schemas = self.used.get(producer, ([], []))
        place = bisect_right(firsts, sequence_id)
        return schemas[place - 1] if place else None


def owner(cluster: Cluster, base: str) -> str:
    """The topic under whose name the schemas are kept: for a shadow topic its source (PIP-180)."""
    return cluster.runtime.scenario.topics[base].shadow_of or base


def versions(cluster: Cluster, base: str) -> list[SchemaSpec]:
    """The topic's schemas in a cluster, oldest first."""
    book = cluster.runtime.schemas
    return (
        []
        if book is None
        else [book.declared[name] for name in book.versions.get((cluster.name, owner(cluster, base)), ())]
    )


def forget(cluster: Cluster, base: str) -> None:
    """Remove the schemas of a deleted topic."""
    if cluster.runtime.schemas is not None and owner(cluster, base) == base:
        cluster.runtime.schemas.versions.pop((cluster.name, base), None)


def strategy(cluster: Cluster, base: str) -> str:
    """The compatibility strategy in force."""
    return _in_force(cluster, base, "schema_compatibility_strategy", "schemaCompatibilityStrategy")


def _in_force(cluster: Cluster, base: str, policy: str, setting: str) -> Any:
    found = policies.of_topic(cluster.runtime, cluster.name, base)
    return cluster.setting(setting) if found is None else policies.in_force(cluster, found, policy, setting)


def may_register(cluster: Cluster, base: str, who: str) -> bool:
    """Whether `who` may register a new schema."""
    if who == PERSON or _in_force(
        cluster, base, "is_allow_auto_update_schema", "isAllowAutoUpdateSchemaEnabled"
    ):
        return True
    if who != REPLICATOR or cluster.runtime.option("replicationTopicCreation") == "before":
        return False
    found = policies.of_topic(cluster.runtime, cluster.name, base)
    return found is not None and found["is_allow_auto_update_schema_with_replicator"]


def why_refused(cluster: Cluster, base: str, new: SchemaSpec, who: str) -> tuple[str, str] | None:
    """(a word, a sentence) why `who` may not register a schema; None when it may, or the topic has it."""
    present = versions(cluster, base)
    if any(same(new, version) for version in present):
        return None
    if not may_register(cluster, base, who):
        return "not-allowed", UPDATES_DISABLED
    why = why_incompatible(strategy(cluster, base), new, present)
    return None if why is None else ("incompatible", why)


def book_of(runtime: Pulsar) -> SchemaBook:
    """The schemas of a run whose scenario declares some."""
    assert runtime.schemas is not None, "a schema is declared"
    return runtime.schemas


def offer(
    cluster: Cluster,
    base: str,
    schema: str,
    who: str,
    cause: int,
    peer: str | None = None,
    client: int | None = None,
) -> str | None:
    """Register a missing schema; returns why it is refused, None when the topic has it now."""
    base = owner(cluster, base)
    runtime, book = cluster.runtime, book_of(cluster.runtime)
    new, present = book.declared[schema], versions(cluster, base)
    refused = why_refused(cluster, base, new, who)
    if refused is not None:
        runtime.note(
            "schema.refused", cause, cluster.number, peer, base, client, refused[0], f"{schema}: {refused[1]}"
        )
        return refused[1]
    if not any(same(new, version) for version in present):
        book.versions.setdefault((cluster.name, base), []).append(schema)
        runtime.note(
            "schema.registered", cause, cluster.number, peer, base, client, len(present), who, schema
        )
    return None


def admit_consumer(
    cluster: Cluster, base: str, schema: str, cause: int, client: int, active: bool
) -> str | None:
    """Check the schema of a subscribing consumer; returns why it is refused, None when it is not.

    An idle topic without a schema registers it. On an active one it must be able to read the present ones,
    and there must be some (`PersistentTopic.addSchemaIfIdleOrCheckCompatible`).
    """
    present = versions(cluster, base)
    if not present and not active:
        return offer(cluster, base, schema, CONSUMER, cause, client=client)
    if not present and strategy(cluster, base) != "ALWAYS_COMPATIBLE":
        return f"{ACTIVE_WITHOUT_SCHEMA}: new schema type {book_of(cluster.runtime).declared[schema].type}"
    return why_unreadable_by(strategy(cluster, base), book_of(cluster.runtime).declared[schema], present)


def admit_without_schema(cluster: Cluster, base: str) -> str | None:
    """Why a producer without a schema is refused, None when it is not.

    It is where schemas are enforced and the topic has one.
    """
    if versions(cluster, base) and _in_force(
        cluster, base, "schema_validation_enforced", "isSchemaValidationEnforced"
    ):
        return WITHOUT_SCHEMA
    return None
