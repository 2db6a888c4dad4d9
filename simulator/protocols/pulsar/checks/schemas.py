"""Claims about schemas: registered before the first message, and by the rule in force."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self

from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import parse

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.administration import Administered, Row
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.model import SchemaSpec
from simulator.scenarios.model import Scenario
from simulator.trace.registry import NULL

_MESSAGE_REPLICATED = CODE["message.replicated"]
_MESSAGE_STORED = CODE["message.stored"]
_REPLICATOR_STARTED = CODE["replicator.started"]
_REPLICATOR_STOPPED = CODE["replicator.stopped"]
_SCHEMA_REGISTERED = CODE["schema.registered"]
_SCHEMA_USED = CODE["schema.used"]


_PARTITION = "-partition-"
_READ = (
    "schema.used",
    "schema.registered",
    "topic.deleted",
    "message.stored",
    "replicator.stopped",
    "replicator.started",
    "message.replicated",
)


class SchemaFirst(Check):
    """Keeps the schemas of every topic and producer, and the replicators that a schema stopped.

    For a producer it keeps from which message on it used each schema.

    A message is stored only after its schema is registered.

    A replicated message has a schema that its topic has had since it was created (a connection that
    registered it continues when the schema is deleted). A message that a producer published in this cluster
    has one that a topic of the name had at some time before. A replicator that a schema stopped sends nothing
    until it reconnects, so order is kept and nothing is skipped.
    """

    claim = (
        "A message with a schema is stored only where its topic had that schema before, and a replicator "
        "that a schema stopped sends nothing more."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.declared = {name: (schema.type, schema.definition) for name, schema in scenario.schemas.items()}
        self.known: dict[tuple[int, str], frozenset] = {}  # (cluster, topic) -> schemas since it was created
        self.ever: dict[tuple[int, str], frozenset] = {}  # the same, with those of deleted topics of the name
        self.used: dict[int, tuple[tuple[int, ...], tuple[str | None, ...]]] = {}
        self.stopped: dict[tuple[int, int, int], None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.declared = self.topics, self.declared
        copy.known, copy.ever, copy.used, copy.stopped = (
            dict(self.known),
            dict(self.ever),
            dict(self.used),
            dict(self.stopped),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Messages stored before their schema or sent after the stop."""
        if not self.declared:
            return []
        broken: list[tuple[int, str]] = []
        columns = ("type", "cluster", "peer", "topic", "producer", "sequence_id", "detail")
        for seq, kind, cluster, peer, topic, producer, sequence_id, detail in stretch.of(*_READ).records(
            *columns
        ):
            place = (cluster, self._base(stretch.name(topic)))
            if kind == _MESSAGE_STORED:
                schema = self._schema_of(producer, sequence_id)
                knew = self.ever if peer == NULL else self.known
                if schema is not None and self.declared[schema] not in knew.get(place, frozenset()):
                    broken.append(
                        (
                            seq,
                            (
                                f"{stretch.message(producer, sequence_id)} was stored in "
                                f"{stretch.name(cluster)}, "
                                f"which did not have its schema {schema}"
                            ),
                        )
                    )
            elif kind == _MESSAGE_REPLICATED:
                if (cluster, peer, topic) in self.stopped:
                    link = f"{stretch.name(cluster)} -> {stretch.name(peer)}"
                    broken.append(
                        (
                            seq,
                            (
                                f"{stretch.message(producer, sequence_id)} left on {link} of "
                                f"{stretch.name(topic)}, which a schema had stopped"
                            ),
                        )
                    )
            elif kind in (_REPLICATOR_STOPPED, _REPLICATOR_STARTED):
                self._follow_replicator(kind, (cluster, peer, topic))
            else:
                self._follow_schemas(
                    kind, place, producer, sequence_id, None if detail == NULL else stretch.name(detail)
                )
        return broken

    def _base(self, name: str) -> str:
        base, mark, number = name.rpartition(_PARTITION)
        return base if mark and number.isdigit() and name not in self.topics else name

    def _schema_of(self, producer: int, sequence_id: int) -> str | None:
        firsts, schemas = self.used.get(producer, ((), ()))
        place = bisect_right(firsts, sequence_id)
        return schemas[place - 1] if place else None

    def _follow_replicator(self, kind: int, link: tuple[int, int, int]) -> None:
        if kind == _REPLICATOR_STOPPED:
            self.stopped[link] = None
        else:
            self.stopped.pop(link, None)

    def _follow_schemas(
        self, kind: int, place: tuple[int, str], producer: int, sequence_id: int, schema: str | None
    ) -> None:
        if kind == _SCHEMA_USED:
            firsts, schemas = self.used.get(producer, ((), ()))
            self.used[producer] = (*firsts, sequence_id), (*schemas, schema)
        elif kind == _SCHEMA_REGISTERED and schema is not None:
            for knew in (self.known, self.ever):
                knew[place] = knew.get(place, frozenset()) | {self.declared[schema]}
        else:
            self.known.pop(place, None)


# --- schemas of topics: which clients may register one, and which the strategy in force accepts
#
# The rules are those of `SchemaRegistryServiceImpl` and PIP-433. Avro's own library decides which schema
# can read which. The pairs to compare are derived again from the strategies' names, independently of the
# broker's function. A refusal is judged as well as a new version: both rows hold the schemas and strategy
# in force.


_ACTIVE = "to an active topic with empty(BYTES) schema"
ANSWERS_KEPT = 4096
"""Number of definition pairs whose result is cached."""


@lru_cache(maxsize=ANSWERS_KEPT)
def _understands(reader: str, writer: str) -> bool:
    return (
        ReaderWriterCompatibilityChecker().get_compatibility(parse(reader), parse(writer)).compatibility
        is SchemaCompatibilityType.compatible
    )


def reads(reader: SchemaSpec, writer: SchemaSpec) -> bool:
    """Whether `reader` can read data of `writer`; types without a definition can read only themselves."""
    return reader.type == writer.type and (
        None in (reader.definition, writer.definition) or _understands(reader.definition, writer.definition)
    )


def may_follow(strategy: str, new: SchemaSpec, versions: Sequence[SchemaSpec]) -> bool:
    """Whether `new` may become the version after `versions`, oldest first."""
    if not versions or strategy.startswith("ALWAYS_"):
        return not versions or strategy == "ALWAYS_COMPATIBLE"
    direction, _, transitive = strategy.partition("_")
    asked = versions if transitive else versions[-1:]
    return all(
        new.type == old.type
        and (direction == "FORWARD" or reads(new, old))
        and (direction == "BACKWARD" or reads(old, new))
        for old in asked
    )


def may_subscribe(strategy: str, reader: SchemaSpec, versions: Sequence[SchemaSpec]) -> bool:
    """Whether a consumer with this schema may read a topic.

    It must read the newest version, with BACKWARD_TRANSITIVE and FULL_TRANSITIVE every one, and with
    FULL_TRANSITIVE every one must also read its schema. ALWAYS_COMPATIBLE lets any, ALWAYS_INCOMPATIBLE none.
    """
    if strategy.startswith("ALWAYS_"):
        return strategy == "ALWAYS_COMPATIBLE" or not versions
    asked = versions if strategy in ("BACKWARD_TRANSITIVE", "FULL_TRANSITIVE") else versions[-1:]
    mutual = strategy == "FULL_TRANSITIVE"
    return all(reads(reader, old) and (not mutual or reads(old, reader)) for old in asked)


class SchemasByRule(Administered):
    """Keeps the versions of every topic; a shadow topic has its source's."""

    claim = (
        "A schema becomes a topic's version, or is refused, a consumer with a schema subscribes, and a "
        "producer without one stores a message, by the strategy and the rights in force."
    )
    reads: tuple[str, ...] = (
        "schema.registered",
        "schema.refused",
        "schema.deleted",
        "schema.used",
        "consumer.connected",
    )

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        if _enforces(scenario):
            self.reads = (*self.reads, "message.stored")
        # producer -> (first sequence id, schema), oldest first
        self.used: dict[str, tuple[tuple[int, str | None], ...]] = {}
        self.versions: dict[tuple[str, str], tuple[SchemaSpec, ...]] = {}  # (cluster, topic) -> oldest first
        self.brought: tuple[str, str, int] | None = None  # (cluster, consumer, instant) of its first schema

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.reads, copy.versions, copy.used = self.reads, dict(self.versions), dict(self.used)
        copy.brought = self.brought

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        return super().read(stretch, known) if self.has.scenario.schemas else []

    def judge(self, row: Row) -> Iterable[str]:
        """Versions, refusals and readers that contradict the rules."""
        if row.kind in ("topic.deleted", "schema.deleted"):
            self.versions.pop((row.cluster, row.topic), None)
        elif row.kind == "consumer.connected":
            return self._subscribed(row)
        elif row.kind == "schema.used":
            self.used[row.producer] = (
                *self.used.get(row.producer, ()),
                (row.sequence_id, row.detail or None),
            )
        elif row.kind == "message.stored":
            return self._stored(row)
        elif row.kind == "schema.refused" and row.reason == "none-given":
            return (
                []
                if self._enforced(row)
                else [
                    (
                        f"{row.client} was refused without a schema by {row.topic} in {row.cluster}, which "
                        "takes messages without"
                    )
                ]
            )
        elif row.kind == "schema.registered":
            new, place = self.has.scenario.schemas[row.detail], (row.cluster, row.topic)
            wrong = self._registered(row, new)
            if row.reason == "consumer":
                self.brought = row.cluster, row.client, row.at_us
            self.versions[place] = (*self.versions.get(place, ()), new)
            return wrong
        elif row.kind == "schema.refused" and row.reason in ("not-allowed", "incompatible"):
            return self._refused(row)
        return []

    # --- schemas and policies in force

    def _place(self, cluster: str, topic: str) -> tuple[str, str]:
        base = self.has.base(topic)
        return cluster, self.has.scenario.topics[base].shadow_of or base

    def _strategy(self, place: tuple[str, str]) -> str:
        namespace = self.has.scenario.topics[place[1]].namespace
        return self.has.policy(
            place[0], namespace, "schemaCompatibilityStrategy", "schemaCompatibilityStrategy"
        )

    def _allowed(self, place: tuple[str, str], replicator: bool) -> bool:
        has, cluster, namespace = self.has, place[0], self.has.scenario.topics[place[1]].namespace
        clients = has.policy(cluster, namespace, "isAllowAutoUpdateSchema", "isAllowAutoUpdateSchemaEnabled")
        own = has.rule != "before" and has.policies.get((cluster, namespace), {}).get(
            "isAllowAutoUpdateSchemaWithReplicator"
        )
        return bool(clients or (replicator and own))

    # --- judging

    def _registered(self, row: Row, new: SchemaSpec) -> list[str]:
        place = row.cluster, row.topic
        versions, strategy = self.versions.get(place, ()), self._strategy(place)
        event = f"{row.topic} in {row.cluster} took {new.name} as version {row.count}"
        if row.count != len(versions) or any(_same(new, old) for old in versions):
            return [f"{event}, and has {', '.join(old.name for old in versions) or 'none'}"]
        if row.reason != "command" and not self._allowed(place, row.reason == "replicator"):
            return [f"{event} from a {row.reason}, which may bring none"]
        return (
            []
            if may_follow(strategy, new, versions)
            else [f"{event}, which may not follow {versions[-1].name} under {strategy}"]
        )

    def _refused(self, row: Row) -> list[str]:
        scenario, place = self.has.scenario, self._place(row.cluster, row.topic)
        offered = next(
            (spec for name, spec in scenario.schemas.items() if row.detail.startswith(f"{name}: ")), None
        )
        versions, strategy = self.versions.get(place, ()), self._strategy(place)
        event = f"{row.topic} in {row.cluster} refused {row.detail.partition(':')[0]} as {row.reason}"
        reads_it = (
            row.client in scenario.consumers
            and offered is not None
            and scenario.consumers[row.client].schema == offered.name
        )
        if offered is None or (not reads_it and any(_same(offered, old) for old in versions)):
            return [f"{event}, which it has"]
        if row.reason == "not-allowed":
            return [f"{event}, and who brought it may"] if self._allowed(place, bool(row.peer)) else []
        if reads_it and not versions and _ACTIVE in row.detail and strategy != "ALWAYS_COMPATIBLE":
            return []
        reader = reads_it and bool(versions)
        good = may_subscribe if reader else may_follow
        return [f"{event}, and {strategy} lets it"] if good(strategy, offered, versions) else []

    def _enforced(self, row: Row) -> bool:
        """Whether the topic has schemas and rejects messages without one."""
        place = self._place(row.cluster, row.topic)
        namespace = self.has.scenario.topics[place[1]].namespace
        return bool(self.versions.get(place)) and bool(
            self.has.policy(place[0], namespace, "schemaValidationEnforced", "isSchemaValidationEnforced")
        )

    def _stored(self, row: Row) -> list[str]:
        """Messages stored with a schema that was not in force; only single messages are judged.

        A batch is sent with the schema in force when it began.
        """
        spec = self.has.scenario.producers.get(row.producer)
        schemas = [
            spec.schema if spec else None,
            *(schema for first, schema in self.used.get(row.producer, ()) if first <= row.sequence_id),
        ]
        bare = not row.peer and row.batch_index < 0 and schemas[-1] is None
        return (
            [f"{row.producer}/{row.sequence_id} has no schema, and {row.topic} in {row.cluster} stored it"]
            if bare and self._enforced(row)
            else []
        )

    def _subscribed(self, row: Row) -> list[str]:
        spec, place = self.has.scenario.consumers.get(row.client), self._place(row.cluster, row.topic)
        if spec is None or spec.schema is None:
            return []
        schema, versions, strategy = (
            self.has.scenario.schemas[spec.schema],
            self.versions.get(place, ()),
            self._strategy(place),
        )
        if may_subscribe(strategy, schema, versions) if versions else strategy == "ALWAYS_COMPATIBLE":
            return []
        if self.brought == (row.cluster, row.client, row.at_us) and versions[-1:] == (schema,):
            return []  # it is the first one, which no strategy compares
        return [
            (
                f"{row.client} subscribed to {row.topic} in {row.cluster} with {schema.name}, which "
                f"{'can not read its versions' if versions else 'it does not have'} under {strategy}"
            )
        ]


def _enforces(scenario: Scenario) -> bool:
    """Whether schemas are enforced anywhere at any time in the scenario's plan.

    Only then are stored messages checked.
    """
    name = "isSchemaValidationEnforced"
    spaces = [
        value
        for spec in scenario.namespaces.values()
        for value in (
            spec.schema_validation_enforced,
            *(one.get("schema_validation_enforced") for one in spec.overrides.values()),
        )
    ]
    settings = [
        scenario.settings.get(name),
        *(spec.settings.get(name) for spec in scenario.clusters.values()),
    ]
    return (
        any(spaces)
        or any(settings)
        or any(
            command.do == "setting.change" and command.arguments["setting"] == name
            for command in scenario.commands
        )
    )


def _same(one: SchemaSpec, other: SchemaSpec) -> bool:
    return (one.type, one.definition) == (other.type, other.definition)
