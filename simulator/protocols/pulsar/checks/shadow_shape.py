"""A shadow has the partitions that its source had at its creation, and never more (PIP-180)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.administration import declared_shapes
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.shadow_feeding import first_after
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import OPTIONS

Place = tuple[str, str]
"""Fields: (cluster, topic)."""

_READ = ("topic.created", "topic.partitions-changed", "topic.deleted")
_CREATED, _GROWN, _DELETED = (CODE[name] for name in _READ)


class ShadowShape(Check):
    """Keeps the partitions of sources and shadows (0: a plain topic).

    It judges when an instant is over.
    """

    claim = (
        "A shadow topic is created with the partitions of its source and never has more, nor fewer where "
        "shadowPartitionChanges lets it follow."
    )

    def begin(self, scenario: Scenario) -> None:
        self.source_of = {
            name: topic.shadow_of for name, topic in scenario.topics.items() if topic.shadow_of is not None
        }
        self.follows = (
            scenario.options.get("shadowPartitionChanges", OPTIONS["shadowPartitionChanges"].default)
            == "follow-source"
        )
        self.partitions = declared_shapes(scenario)
        self.due: dict[Place, int] = {}  # shadows that may have a wrong shape until this instant is over

    def copy_into(self, copy: Self) -> None:
        copy.source_of, copy.follows = self.source_of, self.follows
        copy.partitions, copy.due = dict(self.partitions), dict(self.due)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Shadows with a wrong shape."""
        if not self.source_of:
            return []
        broken: list[tuple[int, str]] = []
        for seq, kind, *row, count in stretch.of(*_READ).records("type", "cluster", "topic", "count"):
            at_us, (cluster, topic) = stretch.at_us(seq), (stretch.name(number) for number in row)
            broken += self._late(stretch, at_us)
            if kind == _DELETED:
                self.partitions.pop((cluster, topic), None)
                continue
            self.partitions[cluster, topic] = count
            source = self.partitions.get((cluster, self.source_of.get(topic, "")))
            if source is not None and (count > source or (kind == _CREATED and count != source)):
                broken.append(
                    (
                        seq,
                        (
                            f"{topic} in {cluster} has {count} partitions now, and its source "
                            f"{self.source_of[topic]} has {source}"
                        ),
                    )
                )
            if self.follows:
                self.due |= {
                    (cluster, name): at_us
                    for name, of in self.source_of.items()
                    if of == topic and (cluster, name) in self.partitions
                }
        broken += self._late(stretch, stretch.at_us(stretch.last - 1))
        return broken

    def _late(self, stretch: Stretch, until_us: int) -> Iterator[tuple[int, str]]:
        for place, due_us in [one for one in self.due.items() if one[1] < until_us]:
            del self.due[place]
            source = self.partitions.get((place[0], self.source_of[place[1]]))
            here = self.partitions.get(place)
            if source is not None and here is not None and here < source:
                yield (
                    first_after(stretch, due_us),
                    (
                        f"{place[1]} in {place[0]} has {here} partitions, and does not follow "
                        f"{self.source_of[place[1]]}, which has {source}"
                    ),
                )
