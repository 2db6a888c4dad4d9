"""Schemas of topics: compatibility, registered versions, and copies by replication."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import Schema, parse

from simulator.protocols.pulsar.creation import policies

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.scenario.model import SchemaSpec
    from simulator.scenarios.model import Scenario


# --- whether a schema may follow those of a topic: Pulsar's strategies over Avro's compatibility rules
#
# Rules: Avro's own library decides whether a reader can read data of a writer (`avro.compatibility`). Only
# the pairs to compare are chosen here. BACKWARD: the new schema reads the newest. FORWARD: the newest reads
# the new one. FULL: both. With _TRANSITIVE, all versions in place of the newest. Schemas of another type
# never follow, except under ALWAYS_COMPATIBLE.


TRANSITIVE = "_TRANSITIVE"
PARSED_KEPT = 512
"""Number of parsed schemas that are cached; a scenario may declare 256."""


@lru_cache(maxsize=PARSED_KEPT)
def _parsed(definition: str) -> Schema:
    return parse(definition)


def same(one: SchemaSpec, other: SchemaSpec) -> bool:
    """Whether two declarations are one schema: a broker compares type and definition, never names."""
    return (one.type, one.definition) == (other.type, other.definition)


def unreadable(reader: SchemaSpec, writer: SchemaSpec) -> str | None:
    """Why `reader` cannot read data of `writer`, in Avro's words; None when it can."""
    if reader.type != writer.type:
        return f"exists schema type {writer.type}, new schema type {reader.type}"
    if reader.definition is None or writer.definition is None:
        return None
    found = ReaderWriterCompatibilityChecker().get_compatibility(
        _parsed(reader.definition), _parsed(writer.definition)
    )
    if found.compatibility is SchemaCompatibilityType.compatible:
        return None
    words = "; ".join(f"{kind.value.replace('_', ' ')}" for kind in found.incompatibilities)
    places, messages = ", ".join(sorted(found.locations)), ", ".join(sorted(found.messages))
    return f"{words} ({messages}) at {places}"


def why_incompatible(strategy: str, new: SchemaSpec, versions: Sequence[SchemaSpec]) -> str | None:
    """Why `new` may not become the next version after `versions` (oldest first); None when it may."""
    if not versions or strategy == "ALWAYS_COMPATIBLE":
        return None
    if strategy == "ALWAYS_INCOMPATIBLE":
        return "Incompatible schema: the strategy ALWAYS_INCOMPATIBLE takes no further schema"
    direction = strategy.removesuffix(TRANSITIVE)
    for version in reversed(versions) if strategy.endswith(TRANSITIVE) else versions[-1:]:
        why = why_not_after(direction, new, version)
        if why is not None:
            return why
    return None


def why_not_after(direction: str, new: SchemaSpec, version: SchemaSpec) -> str | None:
    """The same for one earlier version and BACKWARD, FORWARD or FULL."""
    if new.type != version.type:
        return f"Incompatible schema: exists schema type {version.type}, new schema type {new.type}"
    if direction in ("BACKWARD", "FULL") and (why := unreadable(new, version)) is not None:
        return f"Incompatible schema: {new.name} can not read what {version.name} wrote: {why}"
    if direction in ("FORWARD", "FULL") and (why := unreadable(version, new)) is not None:
        return f"Incompatible schema: {version.name} can not read what {new.name} writes: {why}"
    return None


def why_unreadable_by(strategy: str, consumer: SchemaSpec, versions: Sequence[SchemaSpec]) -> str | None:
    """Why a consumer with this schema is refused, None when it is not (checkConsumerCompatibility).

    It must read the newest version. Under BACKWARD_TRANSITIVE and FULL_TRANSITIVE it must be compatible with
    all of them in the strategy's own directions, and under ALWAYS_INCOMPATIBLE no schema is.
    """
    if not versions or strategy == "ALWAYS_COMPATIBLE":
        return None
    if strategy == "ALWAYS_INCOMPATIBLE":
        return "Schema compatibility strategy is ALWAYS_INCOMPATIBLE"
    every = strategy in ("BACKWARD_TRANSITIVE", "FULL_TRANSITIVE")
    direction = strategy.removesuffix(TRANSITIVE) if every else "BACKWARD"
    for version in reversed(versions) if every else versions[-1:]:
        why = why_not_after(direction, consumer, version)
        if why is not None:
            return why
    return None


# --- the schemas of each topic in each cluster, with versions, and the right to register one
#
# Rules (`SchemaRegistryServiceImpl`, PIP-433): partitions share their topic's schemas. A schema that is
# registered already is never refused. A new one needs the right to register (clients:
# isAllowAutoUpdateSchema; replicators: that, or since PIP-433 their own flag; an operator: always) and must
# be compatible under the strategy in force.


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
        runtime.rows.schema_refused(
            cause,
            cluster=cluster.number,
            peer=peer,
            topic=base,
            client=client,
            reason=refused[0],
            detail=f"{schema}: {refused[1]}",
        )
        return refused[1]
    if not any(same(new, version) for version in present):
        book.versions.setdefault((cluster.name, base), []).append(schema)
        runtime.rows.schema_registered(
            cause,
            cluster=cluster.number,
            peer=peer,
            topic=base,
            client=client,
            count=len(present),
            reason=who,
            detail=schema,
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


# --- schema registration by a replicator (`GeoPersistentReplicator.replicateEntries`, PIP-433)
#
# Rules: before the first message of a schema on a connection, its registration is requested from the peer:
# reading pauses for a round trip. If it is refused, the message stays at the head: the partition stops, in
# order, and nothing on this connection retries. Only a new connection does, so a changed policy alone does
# not help.


class ReplicatedSchemas:
    """Schema state of one connection: those that the peer accepted, and a pending registration.

    It includes since when that is pending. The waiting message is at the head of the producer's pending
    sends, accepted or refused: the delay in the stats is its age.
    """

    __slots__ = ("accepted", "waiting", "since_us")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A new connection starts with no schemas sent."""
        self.accepted: dict[str, None] = {}
        self.waiting = False
        self.since_us = 0


def holds_back(replicator: Replicator, index: int, record: int) -> bool:
    """Whether the message must wait for its schema; if so, the registration is requested."""
    runtime = replicator.runtime
    schema = book_of(runtime).of_message(
        runtime.messages.producer[record], runtime.messages.sequence_id[record]
    )
    if schema is None or schema in replicator.schemas.accepted:
        return False
    replicator.schemas.waiting, replicator.schemas.since_us = True, runtime.now_us
    arrive_us = runtime.now_us + replicator.link.latency_us(replicator.draw_base + index)
    runtime.schedule(
        arrive_us, replicator.rank, replicator.register_schema, (replicator.connection, index, schema)
    )
    return True


def register(replicator: Replicator, connection: int, index: int, schema: str) -> None:
    """At the peer: accept the schema or refuse it."""
    if connection != replicator.connection:
        return
    runtime, topic = replicator.runtime, replicator.topic
    remote = runtime.clusters[replicator.peer]
    why = offer(remote, topic.base, schema, "replicator", topic.stored_seqs[index], peer=topic.cluster.name)
    answer_us = runtime.now_us + replicator.back.latency_us(replicator.draw_base + index)
    runtime.schedule(answer_us, replicator.rank, replicator.schema_answered, (connection, index, schema, why))


def answered(replicator: Replicator, connection: int, index: int, schema: str, why: str | None) -> None:
    """At the source: continue to read, or stop."""
    if connection != replicator.connection:
        return
    if why is not None:
        topic = replicator.topic
        replicator.last_error = why
        replicator.runtime.rows.replicator_stopped(
            topic.stored_seqs[index],
            **topic.names,
            peer=replicator.peer_number,
            at=topic.log.position(index),
            duration_us=replicator.runtime.now_us - replicator.schemas.since_us,
            reason="schema",
            detail=why,
        )
        return
    replicator.schemas.accepted[schema] = None
    replicator.schemas.waiting = False
    replicator.read()
