"""A source feeds the shadow topics on its list in order, and they are notified of its ledgers.

The sources are PIP-180, `ShadowReplicator` and `ShadowManagedLedgerImpl`. The list is a policy of the source:
the scenario's at first, then that of `shadow.topics-set`, until the topic is deleted. A shadow that is on the
lists of two sources is left out, because the row of a replicator's end does not name its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.settings_in_force import SettingsInForce
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.scenarios.settings import OPTIONS

Place = tuple[str, str]
"""Fields: (cluster, topic or partition)."""

_FEEDING = (
    "topic.loaded",
    "topic.unloaded",
    "topic.deleted",
    "shadow.topics-set",
    "shadow.replicator-created",
    "shadow.replicator-stopped",
    "setting.changed",
)
_LOADED, _UNLOADED, _DELETED, _SET, _CREATED, _STOPPED, _CHANGED = (CODE[name] for name in _FEEDING)
_PERIOD = "replicationPolicyCheckDurationSeconds"
_SECOND_US = 1_000_000


def first_after(stretch: Stretch, at_us: int) -> int:
    """The seq of the first row of the stretch that is later than an instant."""
    return stretch.first + int(np.searchsorted(stretch.values("at_us"), at_us, side="right"))


class ShadowFed(Check):
    """Keeps each source's list, its loaded logs and the shadows that they feed.

    It judges the state at the end of an instant.
    """

    claim = (
        "While a source topic is loaded it has a replicator for exactly the shadow topics on its "
        "list, and retries a failed first start within replicationPolicyCheckDurationSeconds."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.last_continues = (
            scenario.options.get("shadowRemoveLast", OPTIONS["shadowRemoveLast"].default) == "keeps-running"
        )
        self.period = SettingsInForce(scenario, _PERIOD)
        self.lists: dict[Place, tuple[str, ...]] = {}
        for name, spec in scenario.topics.items():
            for cluster in (
                spec.shapes if spec.shadow_of is not None and spec.shadow_replication is not False else ()
            ):
                self.lists[cluster, spec.shadow_of] = (*self.lists.get((cluster, spec.shadow_of), ()), name)
        self.loaded: dict[Place, None] = {}
        self.fed: dict[Place, tuple[str, ...]] = {}
        # until when a failed start must succeed; None: never
        self.failed: dict[tuple[Place, str], int | None] = {}
        self.due: dict[Place, int] = {}  # the changes of an instant that may not be over yet
        self.doubtful: dict[Place, None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.last_continues, copy.period = self.topics, self.last_continues, self.period.copy()
        copy.lists, copy.loaded, copy.fed, copy.failed = (
            dict(self.lists),
            dict(self.loaded),
            dict(self.fed),
            dict(self.failed),
        )
        copy.due, copy.doubtful = dict(self.due), dict(self.doubtful)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Replicators that are on no list, and listed shadows without a replicator."""
        broken: list[tuple[int, str]] = []
        name = stretch.name
        for seq, kind, cluster, topic, reason, detail in stretch.of(*_FEEDING).records(
            "type", "cluster", "topic", "reason", "detail"
        ):
            at_us = stretch.at_us(seq)
            broken += self._judge(stretch, at_us)
            if kind == _CHANGED:
                self.period.follow(stretch, cluster, reason, detail)
            elif kind in (_CREATED, _STOPPED):
                broken += [
                    (seq, why)
                    for why in self._follow_replicator(kind, name(cluster), name(topic), name(reason), at_us)
                ]
            else:
                self._follow_topic(kind, (name(cluster), name(topic)), name(detail), at_us)
        broken += self._judge(stretch, stretch.at_us(stretch.last - 1))
        return broken

    # --- state from rows

    def _follow_topic(self, kind: int, place: Place, names: str, at_us: int) -> None:
        if kind == _LOADED:
            self.loaded[place] = None
            self.due[place] = at_us
        elif kind == _UNLOADED:
            self.loaded.pop(place, None)
            self.failed = {key: until for key, until in self.failed.items() if key[0] != place}
            self.due[place] = at_us
        else:
            self.lists[place] = tuple(names.split(", ")) if kind == _SET and names else ()
            self.due |= {
                one: at_us
                for one in self.loaded
                if one[0] == place[0] and base_of(self.topics, one[1]) == place[1]
            }

    def _follow_replicator(
        self, kind: int, cluster: str, shadow: str, reason: str, at_us: int
    ) -> Iterator[str]:
        feeders = [place for place, fed in self.fed.items() if place[0] == cluster and shadow in fed]
        if kind == _CREATED:
            source = (cluster, reason)
            if feeders:
                self.doubtful[cluster, shadow] = None
            elif (cluster, shadow) not in self.doubtful and shadow not in self._wanted(source):
                yield f"{reason} in {cluster} feeds {shadow}, which is not on its list"
            self.fed[source] = (*self.fed.get(source, ()), shadow)
            self.failed.pop((source, shadow), None)
            self.due[source] = at_us
        elif not reason.startswith("shadow-"):  # otherwise it is started again
            for source in feeders:
                self.fed[source] = tuple(one for one in self.fed[source] if one != shadow)
                self.due[source] = at_us
                if reason == "start-failed":
                    seconds = self.period.value(cluster, base_of(self.topics, source[1]))
                    self.failed[source, shadow] = at_us + seconds * _SECOND_US if seconds else None

    def _wanted(self, source: Place) -> tuple[str, ...]:
        base = base_of(self.topics, source[1])
        suffix = source[1][len(base) :]  # partition i feeds partition i
        return tuple(name + suffix for name in self.lists.get((source[0], base), ()))

    # --- judging the state when an instant or a deadline is over

    def _judge(self, stretch: Stretch, until_us: int) -> Iterator[tuple[int, str]]:
        for source, due_us in [one for one in self.due.items() if one[1] < until_us]:
            del self.due[source]
            for why in self._trouble(source):
                yield first_after(stretch, due_us), why
        over = [(pair, end) for pair, end in self.failed.items() if end is not None and end < until_us]
        for (source, shadow), end_us in over:
            del self.failed[source, shadow]
            if (
                source in self.loaded
                and shadow in self._wanted(source)
                and (source[0], shadow) not in self.doubtful
            ):
                yield (
                    first_after(stretch, end_us),
                    (
                        f"{source[1]} in {source[0]} has {shadow} on its list and has not tried again to "
                        "feed it"
                    ),
                )

    def _trouble(self, source: Place) -> Iterator[str]:
        here, wanted, fed = f"{source[1]} in {source[0]}", self._wanted(source), self.fed.get(source, ())
        if source not in self.loaded:
            yield from (
                f"{here} still feeds {shadow}, and no broker has it"
                for shadow in fed
                if (source[0], shadow) not in self.doubtful
            )
            return
        for shadow in wanted:
            if (
                shadow not in fed
                and (source, shadow) not in self.failed
                and (source[0], shadow) not in self.doubtful
            ):
                yield f"{here} does not feed {shadow}, which is on its list"
        for shadow in fed if wanted or not self.last_continues else ():
            if shadow not in wanted and (source[0], shadow) not in self.doubtful:
                yield f"{here} still feeds {shadow}, which is not on its list any more"


_HEARING = ("shadow.created", "ledger.opened", "shadow.ledgers-read", "topic.unloaded", "topic.deleted")
_SHADOW, _OPENED, _READ, _LEFT, _GONE = (CODE[name] for name in _HEARING)


class ShadowNotifications(Check):
    """Keeps the ledgers of which each loaded shadow has to be notified, and the deadlines."""

    claim = (
        "A loaded shadow topic has each new ledger of its source in its list within shadowMetadataLatency."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.latency_us = scenario.options.get(
            "shadowMetadataLatency", OPTIONS["shadowMetadataLatency"].default
        )
        self.source_of: dict[tuple[int, int], int] = {}
        self.loaded: dict[tuple[int, int], None] = {}
        self.pending: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}  # (due_us, ledger), in order

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.latency_us = self.topics, self.latency_us
        copy.source_of, copy.loaded, copy.pending = (
            dict(self.source_of),
            dict(self.loaded),
            dict(self.pending),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Ledgers that a shadow was not notified of in time."""
        broken: list[tuple[int, str]] = []
        for seq, kind, cluster, topic, reason, ledger in stretch.of(*_HEARING).records(
            "type", "cluster", "topic", "reason", "ledger"
        ):
            at_us, place = stretch.at_us(seq), (cluster, topic)
            broken += self._late(stretch, at_us)
            if kind == _SHADOW:
                self.source_of[place] = reason
            elif kind == _OPENED:
                for shadow in self._hearers(place):
                    self.pending[shadow] = (*self.pending.get(shadow, ()), (at_us + self.latency_us, ledger))
            elif kind == _READ:
                self.loaded[place] = None
                self.pending[place] = tuple(one for one in self.pending.get(place, ()) if one[1] > ledger)
            elif kind == _LEFT:
                self.loaded.pop(place, None)
                self.pending.pop(place, None)
            else:
                gone = [
                    shadow
                    for shadow in self.pending
                    if shadow[0] == cluster
                    and base_of(self.topics, stretch.name(self.source_of[shadow])) == stretch.name(topic)
                ]
                self.pending = {
                    shadow: waiting for shadow, waiting in self.pending.items() if shadow not in gone
                }
        broken += self._late(stretch, stretch.at_us(stretch.last - 1))
        return broken

    def _hearers(self, source: tuple[int, int]) -> list[tuple[int, int]]:
        return [
            shadow
            for shadow in self.loaded
            if shadow[0] == source[0] and self.source_of.get(shadow) == source[1]
        ]

    def _late(self, stretch: Stretch, until_us: int) -> Iterator[tuple[int, str]]:
        for shadow, waiting in list(self.pending.items()):
            if waiting and waiting[0][0] < until_us:
                self.pending[shadow] = ()
                due_us, ledger = waiting[0]
                source = stretch.name(self.source_of[shadow])
                yield (
                    first_after(stretch, due_us),
                    (
                        f"{stretch.name(shadow[1])} does not list ledger {ledger}, which {source} opened "
                        f"{self.latency_us / 1e3:g} ms before"
                    ),
                )
