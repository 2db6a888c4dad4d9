"""A message is stored only after its schema is registered.

A replicated message has a schema that its topic has had since it was created (a connection that registered it
continues when the schema is deleted). A message that a producer published in this cluster has one that a
topic of the name had at some time before. A replicator that a schema stopped sends nothing until it
reconnects, so order is kept and nothing is skipped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Self

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.trace.registry import NULL

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
_USED, _REGISTERED, _TOPIC_DELETED, _STORED, _STOPPED, _STARTED, _REPLICATED = (CODE[name] for name in _READ)


class SchemaFirst(Check):
    """Keeps the schemas of every topic and producer, and the replicators that a schema stopped.

    For a producer it keeps from which message on it used each schema.
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
            if kind == _STORED:
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
            elif kind == _REPLICATED:
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
            elif kind in (_STOPPED, _STARTED):
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
        if kind == _STOPPED:
            self.stopped[link] = None
        else:
            self.stopped.pop(link, None)

    def _follow_schemas(
        self, kind: int, place: tuple[int, str], producer: int, sequence_id: int, schema: str | None
    ) -> None:
        if kind == _USED:
            firsts, schemas = self.used.get(producer, ((), ()))
            self.used[producer] = (*firsts, sequence_id), (*schemas, schema)
        elif kind == _REGISTERED and schema is not None:
            for knew in (self.known, self.ever):
                knew[place] = knew.get(place, frozenset()) | {self.declared[schema]}
        else:
            self.known.pop(place, None)
