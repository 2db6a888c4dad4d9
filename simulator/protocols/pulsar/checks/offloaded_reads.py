"""Offloaded ledgers: once the bookies no longer hold one, only the driver that copied it can read it.

The source is PIP-180 and `ShadowManagedLedgerImpl`. Entries read before may be in a cache or a receiver
queue, so deliveries are judged by consumers of shadow topics that connected later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.settings_in_force import SettingsInForce
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of

DRIVER, KEPT = "managedLedgerOffloadDriver", "managedLedgerCacheEvictionTimeThresholdMillis"
_READ = (
    "ledger.offloaded",
    "ledger.deleted",
    "ledger.trimmed",
    "setting.changed",
    "consumer.connected",
    "entry.unreadable",
    "message.delivered",
)
_COPIED, _DELETED, _TRIMMED, _SET, _CONNECTED, _UNREADABLE, _DELIVERED = (CODE[name] for name in _READ)

Ledger = tuple[str, str, int]
"""Fields: (cluster, log that writes it, ledger)."""


class OffloadedReads(Check):
    """Keeps where each ledger is stored, and since when each consumer is connected."""

    claim = (
        "An entry that was deleted from the bookies is read only by the offload driver that "
        "copied it, and only such an entry is unreadable."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.sources = {name: topic.shadow_of for name, topic in scenario.topics.items() if topic.shadow_of}
        self.driver, self.kept = SettingsInForce(scenario, DRIVER), SettingsInForce(scenario, KEPT)
        self.copied: dict[Ledger, str] = {}
        self.gone: dict[Ledger, int] = {}  # ledgers deleted from the bookies, and since when
        self.trimmed: dict[Ledger, None] = {}
        self.came: dict[tuple[int, int, int, int], int] = {}

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.sources, copy.driver, copy.kept = (
            self.topics,
            self.sources,
            self.driver.copy(),
            self.kept.copy(),
        )
        copy.copied, copy.gone, copy.trimmed, copy.came = (
            dict(self.copied),
            dict(self.gone),
            dict(self.trimmed),
            dict(self.came),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Entries delivered while no broker could read them, and readable ones that were not."""
        if not self.sources:
            return
        kinds = _READ if self.gone or len(stretch.of("ledger.deleted")) else _READ[:-1]
        columns = (
            "type",
            "at_us",
            "cluster",
            "topic",
            "subscription",
            "client",
            "ledger",
            "entry",
            "reason",
            "detail",
        )
        for (
            seq,
            kind,
            at_us,
            cluster,
            topic,
            subscription,
            client,
            ledger,
            entry,
            reason,
            detail,
        ) in stretch.of(*kinds).records(*columns):
            if kind == _SET:
                for setting in (self.driver, self.kept):
                    setting.follow(stretch, cluster, reason, detail)
            elif kind == _CONNECTED:
                self.came[cluster, topic, subscription, client] = at_us
            elif kind == _UNREADABLE:
                yield from (
                    (seq, why)
                    for why in self._unreadable(
                        stretch.name(cluster), stretch.name(topic), ledger, entry, stretch.name(reason)
                    )
                )
            elif kind == _DELIVERED:
                connected_us = self.came.get((cluster, topic, subscription, client), -1)
                yield from (
                    (seq, why)
                    for why in self._delivered(
                        stretch.name(cluster), stretch.name(topic), ledger, entry, connected_us
                    )
                )
            else:
                self._ledger(
                    kind, (stretch.name(cluster), stretch.name(topic), ledger), at_us, stretch.name(reason)
                )

    def _ledger(self, kind: int, ledger: Ledger, at_us: int, reason: str) -> None:
        if kind == _COPIED:
            self.copied[ledger] = reason
        elif kind == _DELETED:
            self.gone.setdefault(ledger, at_us)
        else:
            self.trimmed[ledger] = None

    def _source(self, log: str) -> str:
        base = base_of(self.topics, log)
        return self.sources.get(base, base) + log[len(base) :]

    def _unreadable(self, cluster: str, log: str, ledger: int, entry: int, why: str) -> Iterator[str]:
        where = cluster, self._source(log), ledger
        if where in self.trimmed:
            return
        driver = self.driver.value(cluster, base_of(self.topics, log))
        if where not in self.gone:
            yield f"{log} could not read {ledger}:{entry} ({why}), which the bookies hold"
        elif self.copied.get(where) == driver:
            yield f"{log} could not read {ledger}:{entry} ({why}), which its driver {driver} has copied"

    def _delivered(self, cluster: str, log: str, ledger: int, entry: int, connected_us: int) -> Iterator[str]:
        base, where = base_of(self.topics, log), (cluster, self._source(log), ledger)
        if (
            base not in self.sources
            or where not in self.gone
            or connected_us <= self.gone[where] + 1_000 * self.kept.value(cluster, base)
        ):
            return
        driver = self.driver.value(cluster, base)
        if self.copied.get(where) != driver:
            yield (
                f"{log} delivered {ledger}:{entry}, which the bookies hold no more and "
                f"{self.copied.get(where, 'nobody')} has copied, not {driver}"
            )
