"""Whether a topic's replication is safe by configuration, so that its Updates can be judged.

It is safe when every ordered pair of the topic's clusters replicates since before the first message and was
never removed from the list, no producer restricts where its messages are replicated, no unsafe option is on,
and an Update for a missing subscription creates it at Earliest. Elsewhere an Update may skip messages because
of the configuration. They are counted as lost.
"""

from __future__ import annotations

from itertools import permutations

from simulator.checks.stretch import Stretch, position
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.model import TopicSpec
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import OPTIONS

_CREATED = CODE["replicator.created"]


class SafeByConfiguration:
    """Follows the replicators of every topic partition, keyed by name, because partitions may be added."""

    def __init__(self, scenario: Scenario) -> None:
        self._clusters = _safe_topics(scenario)
        # topic -> pairs that replicate from the first message on
        self._complete: dict[int, set[tuple[int, int]]] = {}
        self._broken: set[int] = set()  # topics with a pair that was added late or removed

    def copy(self) -> SafeByConfiguration:
        """An independent copy."""
        copy = object.__new__(SafeByConfiguration)
        copy._clusters = self._clusters
        copy._complete = {topic: set(pairs) for topic, pairs in self._complete.items()}
        copy._broken = set(self._broken)
        return copy

    def follow(self, known: Knowledge, row: tuple[int, ...]) -> None:
        """Apply a `replicator.created` or `replicator.removed` row.

        Its columns are (seq, type, cluster, peer, topic, ledger, entry).
        """
        seq, kind, cluster, peer, topic, ledger, entry = row
        log = known.logs.of(cluster, topic)
        if kind == _CREATED and not log.messages(log.between(-1, position(ledger, entry), seq)):
            self._complete.setdefault(topic, set()).add((cluster, peer))
        else:
            self._broken.add(topic)

    def holds(self, stretch: Stretch, topic: int) -> bool:
        """Whether Updates of this topic are judged now."""
        name = stretch.name(topic)
        clusters = self._clusters.get(name) or self._clusters.get(name.rpartition("-partition-")[0])
        if clusters is None or topic in self._broken:
            return False
        wanted = len(clusters) * (len(clusters) - 1)
        return len(self._complete.get(topic, ())) == wanted


def _safe_topics(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Clusters of each topic whose configuration is safe from the start."""
    options = {name: scenario.options.get(name, option.default) for name, option in OPTIONS.items()}
    if options["unsafePartialSnapshotAfter"] or options["missingSubscriptionCreation"] != "earliest":
        return {}
    restricted = {
        producer.topic
        for producer in scenario.producers.values()
        if producer.replicate_to is not None
        and set(scenario.topics[producer.topic].clusters) - {producer.cluster, *producer.replicate_to}
    }
    return {
        name: topic.clusters
        for name, topic in scenario.topics.items()
        if name not in restricted and _every_pair(topic)
    }


def _every_pair(topic: TopicSpec) -> bool:
    return topic.replication is None or set(topic.replication) >= set(permutations(topic.clusters, 2))
