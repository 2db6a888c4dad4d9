"""A shadow reads an open ledger up to the last confirmed entry that its writer sent to the bookies.

The source is `ShadowManagedLedgerImpl`. A writer sends it to the bookies each
bookkeeperExplicitLacIntervalInMills, counted from the opening, and never at 0. With the option
shadowReadsPiggybackedLac every entry but the last is confirmed as well. A ledger that was closed, or whose
topic was unloaded cleanly, is confirmed whole. Where no entry of the newest ledger is confirmed, the last
confirmed entry is the end of the last earlier ledger that holds an entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch, position, position_words
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.logs import Log
from simulator.protocols.pulsar.checks.settings_in_force import SettingsInForce
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of

Place = tuple[int, int]
"""Fields: (cluster, topic)."""

_READ = (
    "shadow.created",
    "ledger.opened",
    "ledger.closed",
    "ledger.trimmed",
    "topic.loaded",
    "topic.unloaded",
    "topic.terminated",
    "setting.changed",
    "shadow.confirmed",
)
_SHADOW, _OPENED, _CLOSED, _TRIMMED, _LOADED, _UNLOADED, _TERMINATED, _CHANGED, _CONFIRMED = (
    CODE[name] for name in _READ
)
_COLUMNS = ("type", "cluster", "topic", "reason", "detail", "ledger", "entry", "to_ledger", "to_entry")


class ShadowLastConfirmed(Check):
    """Keeps each source's newest ledger (since when, whether confirmed whole) and the deleted ones."""

    claim = (
        "Of an open ledger a shadow topic can read the entries announced by the replicator and "
        "those up to the last confirmed entry that the writer had sent to the bookies, and no "
        "more."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.watching = any(spec.shadow_of is not None for spec in scenario.topics.values())
        self.carried = bool(scenario.options.get("shadowReadsPiggybackedLac", False))
        self.interval = SettingsInForce(scenario, "bookkeeperExplicitLacIntervalInMills")
        self.source_of: dict[Place, int] = {}
        self.newest: dict[Place, tuple[int, int, bool]] = {}  # (ledger, opened at, closed)
        # a source without a broker: since when, and whether it was unloaded cleanly
        self.left: dict[Place, tuple[int, bool]] = {}
        self.gone: dict[Place, int] = {}  # highest ledger that was deleted
        self.ended: dict[Place, int] = {}  # last entry of a source that was terminated

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.watching, copy.carried, copy.interval = (
            self.topics,
            self.watching,
            self.carried,
            self.interval.copy(),
        )
        copy.source_of, copy.newest, copy.left = dict(self.source_of), dict(self.newest), dict(self.left)
        copy.gone, copy.ended = dict(self.gone), dict(self.ended)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Last confirmed entries that the writer had not sent to the bookies."""
        if not self.watching:
            return []
        broken: list[tuple[int, str]] = []
        for seq, kind, cluster, topic, reason, detail, ledger, entry, *to in stretch.of(*_READ).records(
            *_COLUMNS
        ):
            place = (cluster, topic)
            if kind == _CONFIRMED:
                broken += self._judge(stretch, known, seq, place, stretch.name(reason), position(*to))
            elif kind == _SHADOW:
                self.source_of[place] = reason
            elif kind == _CHANGED:
                self.interval.follow(stretch, cluster, reason, detail)
            else:
                self._follow(kind, place, stretch.at_us(seq), stretch.name(reason), ledger, entry)
        return broken

    def _follow(self, kind: int, place: Place, at_us: int, reason: str, ledger: int, entry: int) -> None:
        if kind == _OPENED:
            self.newest[place] = ledger, at_us, False
        elif kind == _CLOSED:
            newest, opened_us, _closed = self.newest[place]
            self.newest[place] = newest, opened_us, True
        elif kind == _TRIMMED:
            self.gone[place] = max(ledger, self.gone.get(place, ledger))
        elif kind == _LOADED:
            self.left.pop(place, None)
        elif kind == _UNLOADED:
            self.left[place] = at_us, reason != "crash"
        else:
            self.ended[place] = position(ledger, entry)

    def _judge(
        self, stretch: Stretch, known: Knowledge, seq: int, shadow: Place, reason: str, seen: int
    ) -> Iterable[tuple[int, str]]:
        source = (shadow[0], self.source_of.get(shadow, -1))
        if source not in self.newest:
            return
        right = (
            self.ended.get(source, -1)
            if reason == "terminated"
            else self._known_to_bookies(stretch, known.logs.of(*source), seq, source)
        )
        # a refresh may use an older list of ledgers
        if seen > right or (seen < right and reason != "refresh"):
            here, what = stretch.name(shadow[1]), position_words(right)
            yield (
                seq,
                (
                    f"{here} takes {position_words(seen)} for the last confirmed entry of "
                    f"{stretch.name(source[1])} ({reason}) while the bookies had {what}"
                ),
            )

    def _known_to_bookies(self, stretch: Stretch, log: Log, seq: int, source: Place) -> int:
        ledger, opened_us, closed = self.newest[source]
        rows = log.between(position(ledger, -1), position(ledger + 1, -1) - 1, seq)
        starts = log.table.column("starts_entry")[rows]
        left_us, in_order = self.left.get(source, (stretch.at_us(seq), False))
        if closed or in_order:
            entries = int(np.count_nonzero(starts))
        else:
            entries = max(0, int(np.count_nonzero(starts)) - 1) if self.carried else 0
            interval_us = 1_000 * self.interval.value(
                stretch.name(source[0]), base_of(self.topics, stretch.name(source[1]))
            )
            if interval_us:
                last_us = opened_us + (left_us - opened_us) // interval_us * interval_us
                entries = max(
                    entries,
                    int(
                        np.count_nonzero(
                            starts[: _stored_by(stretch, log.table.column("seq")[rows], last_us)]
                        )
                    ),
                )
        if entries:
            return position(ledger, entries - 1)
        before = log.table.column("position")[: rows.start][-1:].tolist()
        kept = [place for place in before if place >= position(self.gone.get(source, -1) + 1, 0)]
        return kept[0] if kept else position(ledger, -1)


def _stored_by(stretch: Stretch, seqs: np.ndarray, at_us: int) -> int:
    """How many of these rows are not later than an instant."""
    low, high = 0, len(seqs)
    while low < high:
        middle = (low + high) // 2
        if stretch.at_us(int(seqs[middle])) <= at_us:
            low = middle + 1
        else:
            high = middle
    return low
