"""A source announces every entry to its shadows, in order (`ShadowReplicator`).

A replicator that reconnects may announce entries again, from its cursor on. It skips entries that have
expired, that the source has deleted, that an operator truncated, or that a reset (only in the proposal) moved
past. A shadow that two sources feed is not judged: a row does not record which of them announced the entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import PAST_EVERY_LEDGER, Rows, Stretch, position, position_words
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.logs import Log
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of

Place = tuple[int, int]
"""Fields: (cluster, topic)."""

_TURNS = (
    "shadow.replicator-created",
    "shadow.replicator-stopped",
    "shadow.replicator-reset",
    "ledger.trimmed",
    "command.applied",
)
_CREATED, _STOPPED, _RESET, _TRIMMED, _COMMANDED = (CODE[name] for name in _TURNS)
_COLUMNS = ("type", "cluster", "topic", "ledger", "entry", "to_ledger", "to_entry", "reason", "detail")


class AnnouncedToShadow(Check):
    """Follows how far entries were announced to each shadow.

    It keeps the furthest entry that its source's replicator announced or may skip.
    """

    claim = (
        "A source's replicator announces every entry to the shadow topic in order, starting at "
        "the end of the log at which its cursor opened, markers and replicated messages included,"
        " and skips only expired ones."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.source_of: dict[Place, int] = {}  # of shadows that are fed
        self.announced: dict[Place, int] = {}
        # by shadow: place beyond `announced` -> seq of the row that skipped it
        self.expired: dict[Place, dict[int, int]] = {}
        self.doubtful: dict[Place, None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.source_of, copy.announced, copy.doubtful = (
            self.topics,
            dict(self.source_of),
            dict(self.announced),
            dict(self.doubtful),
        )
        copy.expired = {place: dict(passed) for place, passed in self.expired.items()}

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Entries that a source's replicator skipped."""
        if not self.source_of and not len(stretch.of("shadow.replicator-created")):
            return []
        for (cluster, topic), rows in stretch.of("shadow.entry-skipped").groups("cluster", "topic"):
            passed = self.expired.setdefault((cluster, topic), {})
            for seq, ledger, entry in rows.records("ledger", "entry"):
                passed.setdefault(position(ledger, entry), seq)
        added = stretch.of("shadow.added")
        left = dict(added.take(added["reason"] == stretch.number("replicator")).groups("cluster", "topic"))
        broken: list[tuple[int, str]] = []
        for row in stretch.of(*_TURNS).records(*_COLUMNS):
            for place in self._concerned(stretch, row):
                broken += self._judge(stretch, known, place, left, row[0])
                self._turn(known, place, row)
                if row[1] == _CREATED:
                    broken += self._begun(stretch, known, place, row[0])
        for place in tuple(left):
            broken += self._judge(stretch, known, place, left, PAST_EVERY_LEDGER)
        self._settle(known)
        return broken

    # --- changes to how far entries are announced to a shadow

    def _concerned(self, stretch: Stretch, row: tuple[int, ...]) -> list[Place]:
        """The shadows that a row affects."""
        _seq, kind, cluster, topic, *_places, reason, detail = row
        if kind == _TRIMMED:
            return [
                place for place, source in self.source_of.items() if (place[0], source) == (cluster, topic)
            ]
        if kind != _COMMANDED:
            return (
                [] if kind == _STOPPED and stretch.name(reason).startswith("shadow-") else [(cluster, topic)]
            )
        if stretch.name(reason) != "topic.truncate":
            return []
        arguments = json.loads(stretch.name(detail))
        named = [place for place in self.source_of if stretch.name(place[0]) == arguments["cluster"]]
        return [
            place
            for place in named
            if arguments["topic"] in (name := stretch.name(self.source_of[place]), base_of(self.topics, name))
        ]

    def _turn(self, known: Knowledge, place: Place, row: tuple[int, ...]) -> None:
        seq, kind, _cluster, _topic, ledger, entry, to_ledger, to_entry, reason, _detail = row
        if kind == _CREATED:
            if self.source_of.get(place, reason) != reason:
                self.doubtful[place] = None
            self.source_of[place], self.announced[place] = reason, position(ledger, entry)
        elif kind == _STOPPED:
            self.source_of.pop(place, None)
        elif kind == _RESET:
            self._pass_over(place, position(to_ledger, to_entry))
        elif kind == _TRIMMED:
            self._pass_over(place, position(ledger + 1, -1) - 1)
        else:
            log = known.logs.of(place[0], self.source_of[place])
            self._pass_over(place, *log.table.column("position")[: log.rows_before(seq)][-1:].tolist())

    def _pass_over(self, place: Place, *upto: int) -> None:
        self.announced[place] = max(self.announced[place], *upto, -1)

    def _settle(self, known: Knowledge) -> None:
        """Count the next expired entries as announced, and drop those at or below `announced`."""
        for place, passed in self.expired.items():
            if not passed or place not in self.source_of:
                continue
            positions = known.logs.of(place[0], self.source_of[place]).table.column("position")
            index = int(np.searchsorted(positions, self.announced[place], side="right"))
            while index < len(positions) and int(positions[index]) in passed:
                self.announced[place] = int(positions[index])
                index = int(np.searchsorted(positions, self.announced[place], side="right"))
            self.expired[place] = {at: seq for at, seq in passed.items() if at > self.announced[place]}

    # --- judging

    def _begun(self, stretch: Stretch, known: Knowledge, place: Place, seq: int) -> Iterator[tuple[int, str]]:
        """A new cursor opens at the end of the log, because it is not durable."""
        beyond = known.logs.of(place[0], self.source_of[place]).between(
            self.announced[place], PAST_EVERY_LEDGER, seq
        )
        if beyond.stop > beyond.start:
            yield (
                seq,
                (
                    f"the replicator towards {stretch.name(place[1])} began at "
                    f"{position_words(self.announced[place])}, before the end of "
                    f"{stretch.name(self.source_of[place])}"
                ),
            )

    def _judge(
        self, stretch: Stretch, known: Knowledge, place: Place, left: dict[Place, Rows], before_seq: int
    ) -> Iterator[tuple[int, str]]:
        """Judge the rows before `before_seq`; the later ones remain in `left`."""
        rows = left.get(place)
        if rows is None:
            return
        upto = int(np.searchsorted(rows.seqs, before_seq))
        now, left[place] = rows.take(np.arange(upto)), rows.take(np.arange(upto, len(rows)))
        if len(now) and place in self.source_of and place not in self.doubtful:
            source = self.source_of[place]
            for seq, missing in self._passed_over(known.logs.of(place[0], source), place, now):
                yield (
                    seq,
                    (
                        f"{stretch.name(source)} did not announce to {stretch.name(place[1])} "
                        f"{position_words(missing)}"
                    ),
                )

    def _passed_over(self, log: Log, place: Place, rows: Rows) -> Iterator[tuple[int, int]]:
        """(seq, place) of the first entry that each announcement skipped."""
        places, announced, passed = rows.positions(), self.announced[place], self.expired.get(place, {})
        known, starts = log.table.column("position"), log.table.column("starts_entry")
        first, last = np.searchsorted(known, (announced, places.max()), side="right").tolist()
        known, starts = known[first:last], starts[first:last]
        counts = np.concatenate(
            ([0], np.cumsum(starts, dtype=np.int64))
        )  # entries beyond `announced`, row by row
        ordinals = counts[np.searchsorted(known, places, side="right")]
        highest = np.maximum.accumulate(np.concatenate(([0], ordinals)))[:-1]
        entries = known[starts]
        for row in np.flatnonzero(ordinals > highest + 1).tolist():
            seq = int(rows.seqs[row])
            unexplained = [
                at for at in entries[highest[row] : ordinals[row] - 1].tolist() if passed.get(at, seq) >= seq
            ]
            if unexplained:
                yield seq, unexplained[0]
        self.announced[place] = max(announced, int(places.max()))
