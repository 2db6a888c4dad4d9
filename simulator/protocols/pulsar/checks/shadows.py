"""Claims about shadow topics (PIP-180): fed, announced, within their source, reading the same ledgers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check, all_broken, first_broken
from simulator.checks.stretch import ENTRY_BITS, PAST_EVERY_LEDGER, Rows, Stretch, position, position_words
from simulator.protocols.pulsar.checks.administration import declared_shapes
from simulator.protocols.pulsar.checks.knowledge import Knowledge, Log, RecordedMessages, SettingsInForce
from simulator.protocols.pulsar.checks.messages import AckedExpiredOrSkipped
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.scenarios.settings import OPTIONS

_COMMAND_APPLIED = CODE["command.applied"]
_CONSUMER_CONNECTED = CODE["consumer.connected"]
_ENTRY_UNREADABLE = CODE["entry.unreadable"]
_LEDGER_CLOSED = CODE["ledger.closed"]
_LEDGER_DELETED = CODE["ledger.deleted"]
_LEDGER_OFFLOADED = CODE["ledger.offloaded"]
_LEDGER_OPENED = CODE["ledger.opened"]
_LEDGER_TRIMMED = CODE["ledger.trimmed"]
_MESSAGE_DELIVERED = CODE["message.delivered"]
_SETTING_CHANGED = CODE["setting.changed"]
_SHADOW_CONFIRMED = CODE["shadow.confirmed"]
_SHADOW_CREATED = CODE["shadow.created"]
_SHADOW_LEDGERS_READ = CODE["shadow.ledgers-read"]
_SHADOW_REPLICATOR_CREATED = CODE["shadow.replicator-created"]
_SHADOW_REPLICATOR_RESET = CODE["shadow.replicator-reset"]
_SHADOW_REPLICATOR_STOPPED = CODE["shadow.replicator-stopped"]
_SHADOW_TOPICS_SET = CODE["shadow.topics-set"]
_TOPIC_CREATED = CODE["topic.created"]
_TOPIC_DELETED = CODE["topic.deleted"]
_TOPIC_LOADED = CODE["topic.loaded"]
_TOPIC_UNLOADED = CODE["topic.unloaded"]


# --- rules of shadow topics: they write nothing, read only their source and report every loss
#
# `shadow.created` rows name each shadow and its source, and the source's log is shared by all checks. A
# shadow delivers the source's own messages. A broker accepts any position that a client sends (reason
# `client`), so these are outside the claim about the reads of a shadow. So are the announcements by the
# replicator of another topic with the shadow on its list, because no broker compares the shadow's source.


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


# --- A source feeds the shadow topics on its list in order, and they are notified of its ledgers
#
# The sources are PIP-180, `ShadowReplicator` and `ShadowManagedLedgerImpl`. The list is a policy of the
# source: the scenario's at first, then that of `shadow.topics-set`, until the topic is deleted. A shadow
# that is on the lists of two sources is left out, because the row of a replicator's end does not name its
# source.


PlaceNames = tuple[str, str]
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
        self.lists: dict[PlaceNames, tuple[str, ...]] = {}
        for name, spec in scenario.topics.items():
            for cluster in (
                spec.shapes if spec.shadow_of is not None and spec.shadow_replication is not False else ()
            ):
                self.lists[cluster, spec.shadow_of] = (*self.lists.get((cluster, spec.shadow_of), ()), name)
        self.loaded: dict[PlaceNames, None] = {}
        self.fed: dict[PlaceNames, tuple[str, ...]] = {}
        # until when a failed start must succeed; None: never
        self.failed: dict[tuple[PlaceNames, str], int | None] = {}
        self.due: dict[PlaceNames, int] = {}  # the changes of an instant that may not be over yet
        self.doubtful: dict[PlaceNames, None] = {}

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
            if kind == _SETTING_CHANGED:
                self.period.follow(stretch, cluster, reason, detail)
            elif kind in (_SHADOW_REPLICATOR_CREATED, _SHADOW_REPLICATOR_STOPPED):
                broken += [
                    (seq, why)
                    for why in self._follow_replicator(kind, name(cluster), name(topic), name(reason), at_us)
                ]
            else:
                self._follow_topic(kind, (name(cluster), name(topic)), name(detail), at_us)
        broken += self._judge(stretch, stretch.at_us(stretch.last - 1))
        return broken

    # --- state from rows

    def _follow_topic(self, kind: int, place: PlaceNames, names: str, at_us: int) -> None:
        if kind == _TOPIC_LOADED:
            self.loaded[place] = None
            self.due[place] = at_us
        elif kind == _TOPIC_UNLOADED:
            self.loaded.pop(place, None)
            self.failed = {key: until for key, until in self.failed.items() if key[0] != place}
            self.due[place] = at_us
        else:
            self.lists[place] = tuple(names.split(", ")) if kind == _SHADOW_TOPICS_SET and names else ()
            self.due |= {
                one: at_us
                for one in self.loaded
                if one[0] == place[0] and base_of(self.topics, one[1]) == place[1]
            }

    def _follow_replicator(
        self, kind: int, cluster: str, shadow: str, reason: str, at_us: int
    ) -> Iterator[str]:
        feeders = [place for place, fed in self.fed.items() if place[0] == cluster and shadow in fed]
        if kind == _SHADOW_REPLICATOR_CREATED:
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

    def _wanted(self, source: PlaceNames) -> tuple[str, ...]:
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

    def _trouble(self, source: PlaceNames) -> Iterator[str]:
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
            if kind == _SHADOW_CREATED:
                self.source_of[place] = reason
            elif kind == _LEDGER_OPENED:
                for shadow in self._hearers(place):
                    self.pending[shadow] = (*self.pending.get(shadow, ()), (at_us + self.latency_us, ledger))
            elif kind == _SHADOW_LEDGERS_READ:
                self.loaded[place] = None
                self.pending[place] = tuple(one for one in self.pending.get(place, ()) if one[1] > ledger)
            elif kind == _TOPIC_UNLOADED:
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


_TURNS = (
    "shadow.replicator-created",
    "shadow.replicator-stopped",
    "shadow.replicator-reset",
    "ledger.trimmed",
    "command.applied",
)
_COLUMNS = ("type", "cluster", "topic", "ledger", "entry", "to_ledger", "to_entry", "reason", "detail")


class AnnouncedToShadow(Check):
    """Follows how far entries were announced to each shadow.

    It keeps the furthest entry that its source's replicator announced or may skip.

    A source announces every entry to its shadows, in order (`ShadowReplicator`).

    A replicator that reconnects may announce entries again, from its cursor on. It skips entries that have
    expired, that the source has deleted, that an operator truncated, or that a reset (only in the proposal)
    moved past. A shadow that two sources feed is not judged: a row does not record which of them announced
    the entry.
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
                if row[1] == _SHADOW_REPLICATOR_CREATED:
                    broken += self._begun(stretch, known, place, row[0])
        for place in tuple(left):
            broken += self._judge(stretch, known, place, left, PAST_EVERY_LEDGER)
        self._settle(known)
        return broken

    # --- changes to how far entries are announced to a shadow

    def _concerned(self, stretch: Stretch, row: tuple[int, ...]) -> list[Place]:
        """The shadows that a row affects."""
        _seq, kind, cluster, topic, *_places, reason, detail = row
        if kind == _LEDGER_TRIMMED:
            return [
                place for place, source in self.source_of.items() if (place[0], source) == (cluster, topic)
            ]
        if kind != _COMMAND_APPLIED:
            return (
                []
                if kind == _SHADOW_REPLICATOR_STOPPED and stretch.name(reason).startswith("shadow-")
                else [(cluster, topic)]
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
        if kind == _SHADOW_REPLICATOR_CREATED:
            if self.source_of.get(place, reason) != reason:
                self.doubtful[place] = None
            self.source_of[place], self.announced[place] = reason, position(ledger, entry)
        elif kind == _SHADOW_REPLICATOR_STOPPED:
            self.source_of.pop(place, None)
        elif kind == _SHADOW_REPLICATOR_RESET:
            self._pass_over(place, position(to_ledger, to_entry))
        elif kind == _LEDGER_TRIMMED:
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


_READ = ("topic.created", "topic.partitions-changed", "topic.deleted")


class ShadowShape(Check):
    """Keeps the partitions of sources and shadows (0: a plain topic).

    It judges when an instant is over.

    A shadow has the partitions that its source had at its creation, and never more (PIP-180).
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
        self.due: dict[PlaceNames, int] = {}  # shadows that may have a wrong shape until this instant is over

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
            if kind == _TOPIC_DELETED:
                self.partitions.pop((cluster, topic), None)
                continue
            self.partitions[cluster, topic] = count
            source = self.partitions.get((cluster, self.source_of.get(topic, "")))
            if source is not None and (count > source or (kind == _TOPIC_CREATED and count != source)):
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


_SHADOW_BOOKIES_READ = (
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
_SHADOW_BOOKIES_COLUMNS = (
    "type",
    "cluster",
    "topic",
    "reason",
    "detail",
    "ledger",
    "entry",
    "to_ledger",
    "to_entry",
)


class ShadowLastConfirmed(Check):
    """Keeps each source's newest ledger (since when, whether confirmed whole) and the deleted ones.

    A shadow reads an open ledger up to the last confirmed entry that its writer sent to the bookies.

    The source is `ShadowManagedLedgerImpl`. A writer sends it to the bookies each
    bookkeeperExplicitLacIntervalInMills, counted from the opening, and never at 0. With the option
    shadowReadsPiggybackedLac every entry but the last is confirmed as well. A ledger that was closed, or
    whose topic was unloaded cleanly, is confirmed whole. Where no entry of the newest ledger is confirmed,
    the last confirmed entry is the end of the last earlier ledger that holds an entry.
    """

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
        for seq, kind, cluster, topic, reason, detail, ledger, entry, *to in stretch.of(
            *_SHADOW_BOOKIES_READ
        ).records(*_SHADOW_BOOKIES_COLUMNS):
            place = (cluster, topic)
            if kind == _SHADOW_CONFIRMED:
                broken += self._judge(stretch, known, seq, place, stretch.name(reason), position(*to))
            elif kind == _SHADOW_CREATED:
                self.source_of[place] = reason
            elif kind == _SETTING_CHANGED:
                self.interval.follow(stretch, cluster, reason, detail)
            else:
                self._follow(kind, place, stretch.at_us(seq), stretch.name(reason), ledger, entry)
        return broken

    def _follow(self, kind: int, place: Place, at_us: int, reason: str, ledger: int, entry: int) -> None:
        if kind == _LEDGER_OPENED:
            self.newest[place] = ledger, at_us, False
        elif kind == _LEDGER_CLOSED:
            newest, opened_us, _closed = self.newest[place]
            self.newest[place] = newest, opened_us, True
        elif kind == _LEDGER_TRIMMED:
            self.gone[place] = max(ledger, self.gone.get(place, ledger))
        elif kind == _TOPIC_LOADED:
            self.left.pop(place, None)
        elif kind == _TOPIC_UNLOADED:
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


DRIVER, KEPT = "managedLedgerOffloadDriver", "managedLedgerCacheEvictionTimeThresholdMillis"
_OFFLOADED_READS_READ = (
    "ledger.offloaded",
    "ledger.deleted",
    "ledger.trimmed",
    "setting.changed",
    "consumer.connected",
    "entry.unreadable",
    "message.delivered",
)

Ledger = tuple[str, str, int]
"""Fields: (cluster, log that writes it, ledger)."""


class OffloadedReads(Check):
    """Keeps where each ledger is stored, and since when each consumer is connected.

    Offloaded ledgers: once the bookies no longer hold one, only the driver that copied it can read it.

    The source is PIP-180 and `ShadowManagedLedgerImpl`. Entries read before may be in a cache or a receiver
    queue, so deliveries are judged by consumers of shadow topics that connected later.
    """

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
        kinds = (
            _OFFLOADED_READS_READ
            if self.gone or len(stretch.of("ledger.deleted"))
            else _OFFLOADED_READS_READ[:-1]
        )
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
            if kind == _SETTING_CHANGED:
                for setting in (self.driver, self.kept):
                    setting.follow(stretch, cluster, reason, detail)
            elif kind == _CONSUMER_CONNECTED:
                self.came[cluster, topic, subscription, client] = at_us
            elif kind == _ENTRY_UNREADABLE:
                yield from (
                    (seq, why)
                    for why in self._unreadable(
                        stretch.name(cluster), stretch.name(topic), ledger, entry, stretch.name(reason)
                    )
                )
            elif kind == _MESSAGE_DELIVERED:
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
        if kind == _LEDGER_OFFLOADED:
            self.copied[ledger] = reason
        elif kind == _LEDGER_DELETED:
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
