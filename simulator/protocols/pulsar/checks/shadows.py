"""Rules of shadow topics: they write nothing, read only their source and report every loss.

`shadow.created` rows name each shadow and its source, and the source's log is shared by all checks. A shadow
delivers the source's own messages. A broker accepts any position that a client sends (reason `client`), so
these are outside the claim about the reads of a shadow. So are the announcements by the replicator of another
topic with the shadow on its list, because no broker compares the shadow's source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check, all_broken, first_broken
from simulator.checks.stretch import ENTRY_BITS, PAST_EVERY_LEDGER, Rows, Stretch, position, position_words
from simulator.protocols.pulsar.checks.acked_expired_or_skipped import AckedExpiredOrSkipped
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.recorded_messages import RecordedMessages
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario

Place = tuple[int, int]
"""Fields: (cluster, topic)."""

NOTHING_SEEN = -(1 << 61)


class ShadowCheck(Check):
    """Keeps the source of each shadow topic."""

    def begin(self, scenario: Scenario) -> None:
        self.source_of: dict[Place, int] = {}

    def copy_into(self, copy: Self) -> None:
        copy.source_of = dict(self.source_of)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """The faults among the rows of shadow topics."""
        for _seq, cluster, topic, source in stretch.of("shadow.created").records(
            "cluster", "topic", "reason"
        ):
            self.source_of[cluster, topic] = source
        return list(self.look(stretch, known)) if self.source_of else []

    def look(self, stretch: Stretch, known: Knowledge) -> Iterator[tuple[int, str]]:
        """The faults, in a run with shadow topics."""
        raise TypeError(f"{type(self).__name__} does not describe what it looks at")

    def rows_of(self, stretch: Stretch, *types: str) -> Iterator[tuple[Place, Rows]]:
        """The rows of these types, by shadow topic."""
        for place, rows in stretch.of(*types).groups("cluster", "topic"):
            if place in self.source_of:
                yield place, rows


class ShadowWritesNothing(ShadowCheck):
    """Searches for entries and ledgers written by a shadow."""

    claim = "A shadow topic stores no entry and opens no ledger."

    def look(self, stretch: Stretch, known: Knowledge) -> Iterator[tuple[int, str]]:
        """Rows that only a topic that writes its own ledgers has."""
        written = (
            "message.stored",
            "marker.written",
            "marker.stored",
            "ledger.opened",
            "ledger.closed",
            "ledger.trimmed",
        )
        for (_cluster, topic), rows in self.rows_of(stretch, *written):
            words = f"{stretch.name(topic)}, a shadow topic, wrote to its source's ledgers"
            yield from all_broken(rows.seqs, words)


class ShadowDeliversSource(ShadowCheck):
    """Looks up each delivered message in the source's log."""

    claim = "What a shadow topic delivers is what its source stored at the same position."

    def look(self, stretch: Stretch, known: Knowledge) -> Iterator[tuple[int, str]]:
        """Deliveries that differ from the source's log."""
        for (cluster, topic), rows in self.rows_of(stretch, "message.delivered"):
            log = known.logs.of(cluster, self.source_of[cluster, topic])
            places = rows.positions()
            index, found = log.find(places, rows.seqs)
            at = np.minimum(index + np.maximum(rows["batch_index"], 0), max(log.table.length - 1, 0))
            same = found & (log.values("position", at) == places)
            same &= (log.values("producer", at) == rows["producer"]) & (
                log.values("sequence_id", at) == rows["sequence_id"]
            )
            bad = rows.take(~same)

            def describe(number: int) -> str:
                message = stretch.message(int(bad["producer"][number]), int(bad["sequence_id"][number]))
                return (
                    f"{stretch.name(topic)} delivered {message} at "
                    f"{position_words(int(bad.positions()[number]))}, where its source holds something else"
                )

            yield from first_broken(bad.seqs, describe)


class ShadowWithinSource(ShadowCheck):
    """Follows the last confirmed entry of every shadow."""

    claim = (
        "A shadow topic's last confirmed entry never passes what its source has stored, and it "
        "delivers none beyond its last confirmed entry since it was loaded."
    )

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.seen_to: dict[Place, int] = {}
        self.misled: dict[Place, int] = {}  # fed by a topic that is not its source: since which row

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.seen_to, copy.misled = dict(self.seen_to), dict(self.misled)

    def look(self, stretch: Stretch, known: Knowledge) -> Iterator[tuple[int, str]]:
        """Last confirmed entries that are not stored yet, and deliveries beyond them."""
        client, load = (_number(stretch, word) for word in ("client", "load"))
        for seq, cluster, topic, feeder in stretch.of("shadow.replicator-created").records(
            "cluster", "topic", "reason"
        ):
            if self.source_of.get((cluster, topic), feeder) != feeder:
                self.misled.setdefault((cluster, topic), seq)
        delivered = dict(self.rows_of(stretch, "message.delivered"))
        steps = dict(self.rows_of(stretch, "shadow.added", "shadow.confirmed"))
        for place in sorted({*delivered, *steps}):
            rows = steps.get(place)
            seqs, places = _step_places(rows) if rows is not None else (np.empty(0, dtype=np.int64),) * 2
            if rows is not None:
                yield from self._unstored(
                    stretch,
                    known,
                    place,
                    rows,
                    places,
                    (rows["reason"] != client) & (seqs < self.misled.get(place, PAST_EVERY_LEDGER)),
                )
            highest = self._highest(
                place, places, rows["reason"] == load if rows is not None else np.empty(0, dtype=bool)
            )
            if place in delivered:
                yield from self._beyond(stretch, place, delivered[place], seqs, highest)
            self.seen_to[place] = int(highest[-1])

    def _unstored(
        self,
        stretch: Stretch,
        known: Knowledge,
        place: Place,
        rows: Rows,
        places: np.ndarray,
        judged: np.ndarray,
    ) -> Iterator[tuple[int, str]]:
        """Last confirmed entries that the source's log did not have; "before the first" is no entry."""
        log = known.logs.of(place[0], self.source_of[place])
        real = judged & np.array(
            [not position_words(key).endswith(":-1") for key in places.tolist()], dtype=bool
        )
        _index, found = log.find(places, rows.seqs)
        bad = np.flatnonzero(real & ~found)
        words = f"which {stretch.name(self.source_of[place])} had not stored"
        yield from first_broken(
            rows.seqs[bad],
            lambda n: f"{stretch.name(place[1])} sees {position_words(int(places[bad[n]]))}, {words}",
        )

    def _highest(self, place: Place, places: np.ndarray, loaded: np.ndarray) -> np.ndarray:
        """The highest last confirmed entry since the load: before the stretch, and after each of its rows."""
        highest = [self.seen_to.get(place, NOTHING_SEEN)]
        for at, fresh in zip(places.tolist(), loaded.tolist(), strict=True):
            highest.append(at if fresh else max(at, highest[-1]))
        return np.array(highest, dtype=np.int64)

    def _beyond(
        self, stretch: Stretch, place: Place, rows: Rows, seqs: np.ndarray, highest: np.ndarray
    ) -> Iterator[tuple[int, str]]:
        places = rows.positions()
        bad = np.flatnonzero(places > highest[np.searchsorted(seqs, rows.seqs)])
        yield from first_broken(
            rows.seqs[bad],
            lambda n: (
                f"{stretch.name(place[1])} delivered {position_words(int(places[bad[n]]))} before it had "
                "seen it"
            ),
        )


class ShadowLosesAloud(ShadowCheck):
    """Keeps what each shadow's subscription acked, expired or skipped, its losses, and deleted ledgers."""

    claim = (
        "What a shadow topic's cursor is moved past was acked, expired or skipped, or is recorded"
        " as lost, and only what a deleted ledger held is lost."
    )

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.gone = AckedExpiredOrSkipped()
        self.lost = RecordedMessages()  # (cluster, subscription, producer)
        self.deleted: dict[tuple[int, int, int], int] = {}  # (cluster, topic, ledger) -> seq of its deletion

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.gone, copy.lost, copy.deleted = (
            self.gone.copy(),
            self.lost.copy(),
            dict(self.deleted),
        )

    def look(self, stretch: Stretch, known: Knowledge) -> Iterator[tuple[int, str]]:
        """Losses without a deleted ledger, and cursors moved over messages without a row about it."""
        self.gone.read(stretch)
        self.lost.read(stretch.of("message.lost"), "cluster", "subscription")
        for seq, *ledger in stretch.of("ledger.trimmed").records("cluster", "topic", "ledger"):
            self.deleted.setdefault(tuple(ledger), seq)
        yield from self._groundless(stretch)
        trim = _number(stretch, "trim")
        for place, rows in self.rows_of(stretch, "cursor.moved"):
            for row in rows.take(rows["reason"] == trim).records(
                "subscription", "ledger", "entry", "to_ledger", "to_entry"
            ):
                yield from self._silent(stretch, known, place, *row)
        self.gone.finish()
        self.lost.finish()

    def _groundless(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        for place, rows in self.rows_of(stretch, "message.lost"):
            cluster, topic = place
            for seq, ledger in rows.records("ledger"):
                if self.deleted.get((cluster, self.source_of[place], ledger), seq) >= seq:
                    yield (
                        seq,
                        (
                            f"{stretch.name(topic)} counts a message of ledger {ledger} as lost, which its "
                            f"source has not deleted"
                        ),
                    )

    def _silent(
        self, stretch: Stretch, known: Knowledge, place: Place, seq: int, subscription: int, *positions: int
    ) -> Iterator[tuple[int, str]]:
        cluster, topic = place
        log = known.logs.of(cluster, self.source_of[place])
        passed = log.between(position(*positions[:2]), position(*positions[2:]), seq)
        for producer, ids in log.messages(passed):
            silent = self.gone.unseen(cluster, subscription, producer, ids, seq) & self.lost.unseen(
                (cluster, subscription, producer), ids, seq
            )
            for sequence_id in ids[silent][:1].tolist():
                message = stretch.message(producer, sequence_id)
                yield (
                    seq,
                    (
                        f"{stretch.name(subscription)} of {stretch.name(topic)} was pushed over "
                        f"{message}, and "
                        f"no row records that it is lost"
                    ),
                )


def _number(stretch: Stretch, word: str) -> int:
    """The number of a name that may not be in the trace yet."""
    return stretch.names.index(word) if word in stretch.names else -1


def _step_places(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Seqs of the rows that moved a last confirmed entry, and its new positions.

    The columns are the first position of `shadow.added` and the second one of `shadow.confirmed`.
    """
    added = rows["type"] == CODE["shadow.added"]
    return rows.seqs, np.where(added, rows.positions(), (rows["to_ledger"] << ENTRY_BITS) + rows["to_entry"])
