"""A replicator starts only where the remote cluster has the topic as the rule of the day demands.

Since PIP-433 (options `implemented` and `proposal`) both clusters must have the topic in one shape, and a replicator creates it
only in a shape that it has at home, or had when the order went out; before, the remote must have a log of the very name. The rows tell every shape: those of the
scenario, `topic.created`, `topic.partitions-changed`, `topic.deleted`, and `topic.loaded` of a partition beyond the count.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.checks.check import Check
from simulator.checks.knowledge import Knowledge
from simulator.checks.stretch import Stretch
from simulator.scenarios.model import Scenario
from simulator.trace.registry import CODE, NULL

_PARTITION = "-partition-"
_READ = ("topic.created", "topic.partitions-changed", "topic.deleted", "topic.loaded", "replicator.started")
_CREATED, _GROWN, _DELETED, _LOADED, _STARTED = (CODE[name] for name in _READ)


class SameShape(Check):
    """Keeps the shape of every topic in every cluster: partitions, 0 for a plain one."""

    claim = "A replicator starts only where the other cluster has the topic in the same shape, and creates it in no other."

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.by_name = scenario.options.get("replicationTopicCreation") == "before"
        self.shapes: dict[tuple[str, str], int] = {}  # (cluster, topic) -> partitions
        self.grown: dict[tuple[str, str], tuple[int, ...]] = {}  # (cluster, topic) -> counts that it had before it grew
        self.logs: dict[tuple[str, str], None] = {}  # (cluster, log): every log that was loaded and not deleted
        for base, topic in scenario.topics.items():
            for cluster, partitions in topic.shapes.items():
                self.shapes[cluster, base] = partitions
                names = [f"{base}{_PARTITION}{number}" for number in range(partitions)] or [base]
                self.logs |= {(cluster, name): None for name in names}

    def copy_into(self, copy: "SameShape") -> None:
        copy.topics, copy.by_name = self.topics, self.by_name
        copy.shapes, copy.logs, copy.grown = dict(self.shapes), dict(self.logs), dict(self.grown)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Replicators that started, and topics that they created, out of shape."""
        broken: list[tuple[int, str]] = []
        for seq, kind, cluster, peer, topic, count, reason in stretch.of(*_READ).records("type", "cluster", "peer", "topic", "count", "reason"):
            here, name = stretch.name(cluster), stretch.name(topic)
            base = self._base(name)
            if kind == _STARTED:
                broken += [(seq, why) for why in self._out_of_shape(here, stretch.name(peer), base, name)]
            elif kind == _CREATED and reason != NULL and stretch.name(reason) == "replicator":
                broken += [(seq, why) for why in self._created_otherwise(here, stretch.name(peer), base, count)]
            self._follow(kind, here, base, name, count)
        return broken

    def _base(self, name: str) -> str:
        base, mark, number = name.rpartition(_PARTITION)
        return base if mark and number.isdigit() and name not in self.topics else name

    def _follow(self, kind: int, cluster: str, base: str, name: str, count: int) -> None:
        if kind == _DELETED:
            self.shapes.pop((cluster, base), None)
            self.grown.pop((cluster, base), None)
            for log in [log for at, log in self.logs if at == cluster and self._base(log) == base]:
                del self.logs[cluster, log]
        elif kind == _LOADED:
            self.logs[cluster, name] = None
            partitions = self.shapes.get((cluster, base), 0)
            if name != base and partitions:
                self.shapes[cluster, base] = max(partitions, int(name.rpartition("-")[2]) + 1)
        elif kind in (_CREATED, _GROWN) and name == base:  # a log that is only named like a partition gives the topic no shape
            if kind == _GROWN:
                self.grown[cluster, base] = (*self.grown.get((cluster, base), ()), self.shapes.get((cluster, base), count))
            self.shapes[cluster, base] = count

    def _out_of_shape(self, here: str, there: str, base: str, name: str) -> list[str]:
        if self.by_name:
            return [] if (there, name) in self.logs else [f"the replicator {here} -> {there} of {name} started where there is no {name}"]
        local, remote = self.shapes.get((here, base)), self.shapes.get((there, base))
        if local is None:  # a log without metadata is a plain topic of its own name
            local, remote = 0, 0 if (there, name) in self.logs else None
        if local == remote:
            return []
        return [f"the replicator {here} -> {there} of {name} started between {_words(local)} and {_words(remote)}"]

    def _created_otherwise(self, here: str, there: str, base: str, count: int) -> list[str]:
        local = self.shapes.get((there, base))
        if self.by_name or local is None or local == count or count in self.grown.get((there, base), ()):
            return []
        return [f"the replicator from {there} created {base} in {here} as {_words(count)}, and has {_words(local)} at home"]


def _words(shape: int | None) -> str:
    return "no topic" if shape is None else f"{shape} partitions" if shape else "a plain topic"
