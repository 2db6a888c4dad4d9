"""Claims about messages: kept, in order, replicated once, delivered, expired."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import PAST_EVERY_LEDGER, Rows, Stretch, Table, position, position_words
from simulator.protocols.pulsar.checks.knowledge import (
    HERE,
    MARKER,
    Knowledge,
    Log,
    RecordedMessages,
    SettingsInForce,
)
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.strategies import may_sync_acks
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.trace.registry import NULL

_REPLICATOR_CREATED = CODE["replicator.created"]
_SUBSCRIPTION_CREATED = CODE["subscription.created"]


class MessagesKept(Check):
    """Keeps which messages each cluster stored and where each replication cursor began.

    Every message acknowledged to its producer is stored, or no cursor needs it any more.

    Three things are checked. A receipt: the log of that cluster held the message before. A log: no position
    is written more than once, and a ledger is closed with as many entries as were stored in it, so none is
    missing. A removal: every durable cursor had passed the entry. A replication cursor has passed it when the
    other cluster holds the message, when it was skipped (replicate_to, expiry), or when the cursor was opened
    behind it. The messages of a permanently lost cluster are lost with it, and its later removals and
    closings are not judged.
    """

    claim = (
        "Every message acknowledged to its producer is in a log, in flight, was removed after "
        "every durable cursor passed it, or was in a cluster lost permanently."
    )

    def begin(self, scenario: Scenario) -> None:
        self.stored = RecordedMessages()  # (cluster, producer)
        self.passed_over = RecordedMessages()  # (cluster, peer, producer)
        # (cluster, topic, peer) -> where its cursor began
        self.replicators: dict[tuple[int, int, int], int] = {}

    def copy_into(self, copy: Self) -> None:
        copy.stored, copy.passed_over = self.stored.copy(), self.passed_over.copy()
        copy.replicators = dict(self.replicators)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Receipts without an entry, entries overwritten or missing, removals of entries still needed."""
        self.stored.read(stretch.of("message.stored"), "cluster")
        self.passed_over.read(stretch.of("message.not-replicated"), "cluster", "peer")
        broken = [
            *self._receipts(stretch),
            *self._overwritten(stretch, known),
            *self._short_ledgers(stretch, known),
            *self._removals(stretch, known),
        ]
        self.stored.finish()
        self.passed_over.finish()
        return broken

    def _receipts(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        for (cluster, producer), rows in stretch.of("message.receipted").groups("cluster", "producer"):
            bad = rows.take(self.stored.unseen((cluster, producer), rows["sequence_id"], rows.seqs))
            ids, where = bad["sequence_id"], stretch.name(cluster)
            words = f"was receipted at {where}, whose log never held it"
            yield from first_broken(bad.seqs, lambda n: f"{stretch.message(producer, int(ids[n]))} {words}")

    def _overwritten(self, stretch: Stretch, known: Knowledge) -> Iterator[tuple[int, str]]:
        for (cluster, topic), log in known.logs.known():
            for seq, place, before in log.overwritten:
                where = f"of {stretch.name(topic)} at {stretch.name(cluster)}"
                yield seq, f"{position_words(place)} {where} was written after {position_words(before)}"

    def _short_ledgers(self, stretch: Stretch, known: Knowledge) -> Iterator[tuple[int, str]]:
        columns = ("cluster", "topic", "ledger", "count")
        for seq, cluster, topic, ledger, count in stretch.of("ledger.closed", "ledger.trimmed").records(
            *columns
        ):
            held = known.logs.of(cluster, topic).ledger_entries(ledger, seq)
            if held != count:
                words = f"ledger {ledger} of {stretch.name(topic)} at {stretch.name(cluster)}"
                yield seq, f"{words} counts {count} where {held} were stored"

    # --- removals

    def _removals(self, stretch: Stretch, known: Knowledge) -> Iterator[tuple[int, str]]:
        removed = stretch.of("message.removed")
        runs = np.split(np.arange(len(removed)), np.flatnonzero(np.diff(removed.seqs) != 1) + 1)
        events: list[tuple[int, np.ndarray | tuple[int, ...]]] = [
            (int(removed.seqs[run[0]]), run) for run in runs if len(run)
        ]
        columns = ("type", "cluster", "topic", "peer", "ledger", "entry")
        events += [
            (row[0], row[1:])
            for row in stretch.of("replicator.created", "replicator.removed").records(*columns)
        ]
        for _seq, what in sorted(events, key=lambda event: event[0]):
            if isinstance(what, tuple):
                self._follow_replicator(*what)
            else:
                for place, rows in removed.take(what).groups("cluster", "topic"):
                    yield from self._removed_too_early(stretch, known, place, rows)

    def _follow_replicator(
        self, kind: int, cluster: int, topic: int, peer: int, ledger: int, entry: int
    ) -> None:
        if kind == _REPLICATOR_CREATED:
            self.replicators[cluster, topic, peer] = position(ledger, entry)
        else:
            self.replicators.pop((cluster, topic, peer), None)

    def _removed_too_early(
        self, stretch: Stretch, known: Knowledge, place: tuple[int, ...], rows: Rows
    ) -> Iterator[tuple[int, str]]:
        cluster, topic = place
        where = f"of {stretch.name(topic)} at {stretch.name(cluster)}"
        places = rows.positions()
        slowest = known.cursors.slowest(cluster, topic, int(rows.seqs[0]))
        if slowest is not None:
            bad = np.flatnonzero(places > slowest[0])
            waiting = f"while {stretch.name(slowest[1])} stood at {position_words(slowest[0])}"
            yield from first_broken(
                rows.seqs[bad],
                lambda n: f"{position_words(int(places[bad[n]]))} {where} was removed {waiting}",
            )
        for peer in [key[2] for key in self.replicators if key[:2] == (cluster, topic)]:
            unsent = self._unsent(known.logs.of(cluster, topic), rows, place, peer)
            towards = f"before the replicator to {stretch.name(peer)} had sent it"
            yield from first_broken(
                rows.seqs[unsent],
                lambda n: f"{position_words(int(places[unsent[n]]))} {where} was removed {towards}",
            )

    def _unsent(self, log: Log, rows: Rows, place: tuple[int, ...], peer: int) -> np.ndarray:
        """Which of the removed messages the replication cursor to `peer` still had to send."""
        cluster, topic = place
        places = rows.positions()
        index, found = log.find(places, rows.seqs)
        waiting = found & (log.values("origin", index) == HERE)
        waiting &= places > self.replicators[cluster, topic, peer]
        for (producer,), group in rows.groups("producer"):
            chosen = rows["producer"] == producer
            ids = group["sequence_id"]
            waiting[chosen] &= self.stored.unseen((peer, producer), ids, group.seqs)
            waiting[chosen] &= self.passed_over.unseen((cluster, peer, producer), ids, group.seqs)
        return np.flatnonzero(waiting)


Stream = tuple[int, ...]
"""(log's cluster, cluster of publishing, number of the replication cursor between them, topic)."""


class OrderKept(Check):
    """Keeps the highest sequence id of each producer in each stream, and the set of its ids.

    First occurrences of each producer's messages keep their order in every log.

    Order is kept per cluster of publishing. A producer that moved to another cluster has two streams, and
    messages of the first may arrive in the second cluster after later ones were published there ("reordered"
    counts these). A replication cursor that was opened again begins a new stream from its cluster: with
    `replicationStartAt: earliest` it sends messages that it had passed before.
    """

    claim = "First occurrences of each producer's messages keep their order in every log."

    def begin(self, scenario: Scenario) -> None:
        self.highest: dict[tuple[int, ...], int] = {}
        self.seen = RecordedMessages()
        # (log's cluster, origin, topic) -> number of replication cursors opened so far
        self.lives: dict[tuple[int, int, int], int] = {}

    def copy_into(self, copy: Self) -> None:
        copy.highest, copy.seen, copy.lives = dict(self.highest), self.seen.copy(), dict(self.lives)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Messages that occur first after a later one of their stream."""
        opened: dict[tuple[int, int, int], list[int]] = {}
        for seq, source, target, topic in stretch.of("replicator.created").records(
            "cluster", "peer", "topic"
        ):
            opened.setdefault((target, source, topic), []).append(seq)
        broken: list[tuple[int, str]] = []
        for (cluster, peer, topic), rows in stretch.of("message.stored").groups("cluster", "peer", "topic"):
            place = (cluster, HERE if peer == NULL else peer, topic)
            starts = opened.get(place, [])
            edges = [0, *np.searchsorted(rows.seqs, starts).tolist(), len(rows)]
            for number, (first, last) in enumerate(zip(edges, edges[1:])):
                stream = (*place, self.lives.get(place, 0) + number)
                broken += self._read_stream(stretch, stream, rows.take(np.arange(first, last)))
        for place, starts in opened.items():
            self.lives[place] = self.lives.get(place, 0) + len(starts)
        return broken

    def _read_stream(self, stretch: Stretch, stream: Stream, rows: Rows) -> list[tuple[int, str]]:
        broken: list[tuple[int, str]] = []
        for (producer,), group in rows.groups("producer"):
            key = (*stream, producer)
            ids = group["sequence_id"]
            before = np.maximum.accumulate(np.concatenate(([self.highest.get(key, -1)], ids)))
            late = ids < before[:-1]
            if late.any():
                broken += self._first_and_late(stretch, key, group, late, before)
            self.highest[key] = int(before[-1])
            self.seen.add(key, ids)
        return broken

    def _first_and_late(
        self, stretch: Stretch, key: tuple[int, ...], group: Rows, late: np.ndarray, before: np.ndarray
    ) -> list[tuple[int, str]]:
        """Of the ids below the highest one before them, those that the stream did not have."""
        ids = group["sequence_id"]
        first_here = np.zeros(len(ids), dtype=bool)
        first_here[np.unique(ids, return_index=True)[1]] = True
        new = np.flatnonzero(late & first_here & self.seen.unseen(key, ids, 0))

        def describe(number: int) -> str:
            at = int(new[number])
            message = stretch.message(key[-1], int(ids[at]))
            log = f"the log of {stretch.name(key[2])} at {stretch.name(key[0])}"
            return f"{message} is first in {log} after {stretch.message(key[-1], int(before[at]))}"

        return first_broken(group.seqs[new], describe)


SENT = ("message.replicated", "marker.sent")
PUT_BACK = ("replicator.rewound", "replicator.created")
_PUT_BACK_CODES = [CODE[name] for name in PUT_BACK]

WHOLE_ENTRY = 1 << 62
"""Means "all of the entry" where a batch index is compared."""


class OneHop(Check):
    """Keeps each replicator's last sent entry.

    No replicated entry is forwarded to a third cluster, and only a rewind repeats entries on a link.

    A replicator sends the entries of its log in order of position. Only a rewind, or a cursor opened again,
    moves it back.
    """

    claim = (
        "Nothing that was replicated from another cluster is replicated on, and an entry is sent "
        "again on a link only after a rewind."
    )

    def begin(self, scenario: Scenario) -> None:
        # replicator -> last position sent, batch index in it
        self.sent: dict[tuple[int, ...], tuple[int, int]] = {}

    def copy_into(self, copy: Self) -> None:
        copy.sent = dict(self.sent)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Entries sent that were not published in this cluster, and entries sent at or below the last one."""
        broken: list[tuple[int, str]] = []
        for link, rows in stretch.of(*SENT, *PUT_BACK).groups("cluster", "peer", "topic"):
            broken += self._repeated(stretch, link, rows)
            broken += self._forwarded(stretch, link, rows, known)
        return broken

    def _repeated(self, stretch: Stretch, link: tuple[int, ...], rows: Rows) -> list[tuple[int, str]]:
        put_back = np.isin(rows["type"], _PUT_BACK_CODES)
        places = rows.positions()
        batches = np.where(put_back, WHOLE_ENTRY, rows["batch_index"])
        last = self.sent.get(link)
        first = last is None or bool(put_back[0])
        before = (int(places[0]), int(batches[0])) if last is None or first else last
        place_before = np.insert(places[:-1], 0, before[0])
        batch_before = np.insert(batches[:-1], 0, before[1])
        forward = (places > place_before) | ((places == place_before) & (batches > batch_before)) | put_back
        forward[0] |= first
        self.sent[link] = int(places[-1]), int(batches[-1])
        bad = np.flatnonzero(~forward)

        def describe(number: int) -> str:
            at = int(bad[number])
            sent, after = position_words(int(places[at])), position_words(int(place_before[at]))
            return f"{_link_words(stretch, link)} sent {sent} after {after} without a rewind between"

        return first_broken(rows.seqs[bad], describe)

    def _forwarded(
        self, stretch: Stretch, link: tuple[int, ...], rows: Rows, known: Knowledge
    ) -> list[tuple[int, str]]:
        log = known.logs.of(link[0], link[2])
        sent = rows.take(~np.isin(rows["type"], _PUT_BACK_CODES))
        places = sent.positions()
        index, found = log.find(places, sent.seqs)
        origins = log.values("origin", index)
        bad = np.flatnonzero(found & (origins != HERE))

        def describe(number: int) -> str:
            at = int(bad[number])
            place, origin = position_words(int(places[at])), stretch.name(int(origins[at]))
            return f"{_link_words(stretch, link)} forwarded {place}, which was replicated from {origin}"

        return first_broken(sent.seqs[bad], describe)


def _link_words(stretch: Stretch, link: tuple[int, ...]) -> str:
    source, target, topic = (stretch.name(number) for number in link)
    return f"the replicator {source} -> {target} of {topic}"


class MarkersHidden(Check):
    """Looks up the stored entry of each delivered message.

    No marker reaches a client: the dispatcher acknowledges markers itself.
    """

    claim = "No marker reaches a client."

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Deliveries of an entry that holds a marker, or of a message that no producer sent."""
        broken: list[tuple[int, str]] = []
        for (cluster, topic), rows in stretch.of("message.delivered").groups("cluster", "topic"):
            broken += self._delivered_markers(stretch, rows, known.logs.of(cluster, topic))
        return broken

    def _delivered_markers(self, stretch: Stretch, rows: Rows, log: Log) -> list[tuple[int, str]]:
        index, found = log.find(rows.positions(), rows.seqs)
        bad = rows.take((rows["producer"] == NULL) | found & (log.values("producer", index) == MARKER))
        places = bad.positions()

        def describe(number: int) -> str:
            subscription, cluster, topic = (
                stretch.name(int(bad[name][number])) for name in ("subscription", "cluster", "topic")
            )
            place = position_words(int(places[number]))
            return (
                f"a consumer of {subscription} at {cluster} was handed {place} of {topic}, which is a marker"
            )

        return first_broken(bad.seqs, describe)


DEALT_WITH = (
    "message.acknowledged",
    "message.expired",
    "message.skipped",
    "message.evicted",
    "message.filtered",
    "message.listed",
)

Cursor = tuple[int, int, int]
"""Fields: (cluster, topic, subscription)."""


class AckedExpiredOrSkipped:
    """The messages acked, expired or skipped so far.

    It grows with the trace. Queries about a stretch are allowed between its `read` and `finish`.

    Which messages are acked, expired or skipped at each cluster.

    The claims about Updates and about filtering are based on it. It holds for a message at X and a
    subscription when the application acknowledged it at X, it expired or was skipped at X, X skipped it
    because a peer had reported it as acknowledged, an Update listed it, or X's cursor was set above it.
    """

    def __init__(self) -> None:
        self._seen = RecordedMessages()  # (cluster, subscription, producer)
        self._covered: dict[Cursor, int] = {}  # highest position that counts as acked, expired or skipped

    def copy(self) -> AckedExpiredOrSkipped:
        """An independent copy; to be taken between stretches."""
        copy = AckedExpiredOrSkipped()
        copy._seen, copy._covered = self._seen.copy(), dict(self._covered)
        return copy

    def read(self, stretch: Stretch) -> None:
        """Add the stretch's rows."""
        self._seen.read(stretch.of(*DEALT_WITH), "cluster", "subscription")

    def finish(self) -> None:
        """The stretch is over."""
        self._seen.finish()

    def cover(self, known: Knowledge, seq: int, cursor: Cursor, place: int) -> None:
        """Count all entries of the log up to `place` as acked, expired or skipped from now on."""
        cluster, topic, subscription = cursor
        log = known.logs.of(cluster, topic)
        for producer, ids in log.messages(log.between(self._covered.get(cursor, -1), place, seq)):
            self._seen.add((cluster, subscription, producer), ids)
        self._covered[cursor] = max(place, self._covered.get(cursor, -1))

    def unseen(
        self,
        cluster: int,
        subscription: int,
        producer: int,
        sequence_ids: np.ndarray,
        before_seq: int | np.ndarray,
    ) -> np.ndarray:
        """Mask of the messages not acked, expired or skipped there before the row (one, or one each)."""
        return self._seen.unseen((cluster, subscription, producer), sequence_ids, before_seq)


TTL = "ttlDurationDefaultInSeconds"
_SECOND_US = 1_000_000
NEVER_SEQ = PAST_EVERY_LEDGER


class ExpiredMessages(Check):
    """Keeps the publish time of each producer's messages, from row `since` on.

    Time to live: expired messages are not replicated, and cursors pass over nothing else as expired.

    A message is expired once `ttlDurationDefaultInSeconds` have passed since it was published, wherever it is
    stored (`GeoPersistentReplicator.replicateEntries`). An entry expires as a whole, by its first message. A
    cursor is moved to where a binary search ends (`OpFindNewest`), so in a log that is not in the order of
    publish times it may pass a message that is not expired, but only before an entry that is. Publish times
    are kept where the run has a time to live at all, or from the row on that sets one.
    """

    claim = (
        "A replicator sends no message whose time to live is over, and replicators and cursors "
        "skip only such a message as expired, or one before it in the log."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.batching = frozenset(name for name, spec in scenario.producers.items() if spec.batch > 1)
        self.ttl = SettingsInForce(scenario, TTL)
        declared = [
            scenario.settings,
            *(spec.settings for spec in (*scenario.clusters.values(), *scenario.topics.values())),
        ]
        planned = any(
            command.do == "setting.change" and command.arguments["setting"] == TTL
            for command in scenario.commands
        )
        self.since = 0 if planned or any(settings.get(TTL) for settings in declared) else NEVER_SEQ
        self.published: dict[int, tuple[int, Table]] = {}  # producer -> (first sequence id, instants)

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.batching, copy.since = self.topics, self.batching, self.since
        copy.ttl = self.ttl.copy()
        copy.published = {
            producer: (first, table.copy()) for producer, (first, table) in self.published.items()
        }

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Expired messages that were sent, and other messages that were skipped."""
        changed = stretch.of("setting.changed")
        changes = (
            [row for row in changed.records("cluster", "reason", "detail") if stretch.name(row[2]) == TTL]
            if len(changed)
            else []
        )
        if changes and self.since == NEVER_SEQ:
            self.since = changes[0][0]
        if self.since == NEVER_SEQ:
            return
        stretch.read_more("cause_seq")
        self._keep(stretch)
        first = stretch.first
        for seq, *change in (*changes, (stretch.last,)):
            yield from self._judge(stretch, known, first, seq)
            if change:
                self.ttl.follow(stretch, *change)
                first = seq

    def _keep(self, stretch: Stretch) -> None:
        rows = stretch.of("message.published")
        for (producer,), published in rows.take(rows.seqs >= self.since).groups("producer"):
            first, table = self.published.setdefault(
                producer, (int(published["sequence_id"][0]), Table({"at_us": np.int64}))
            )
            table.append({"at_us": published["at_us"]})

    def _published_us(self, producer: int, sequence_id: int) -> int | None:
        first, table = self.published.get(producer, (0, None))
        index = sequence_id - first
        return int(table.column("at_us")[index]) if table is not None and 0 <= index < table.length else None

    # --- judges the rows between two changes of the setting

    def _judge(self, stretch: Stretch, known: Knowledge, first: int, last: int) -> Iterator[tuple[int, str]]:
        for (cluster, topic), rows in _between(stretch.of("message.replicated"), first, last).groups(
            "cluster", "topic"
        ):
            ttl_us = self._ttl_us(stretch, cluster, topic)
            for seq, at_us, producer, sequence_id, part in (
                rows.records("at_us", "producer", "sequence_id", "batch_index") if ttl_us else ()
            ):
                published_us = self._published_us(producer, sequence_id)
                if part <= 0 and published_us is not None and published_us + ttl_us < at_us:
                    yield (
                        seq,
                        (
                            f"{stretch.message(producer, sequence_id)} was sent "
                            f"{(at_us - published_us) / 1e6:g} s after it was published; it lived "
                            f"{ttl_us // _SECOND_US} s"
                        ),
                    )
        not_sent = _between(stretch.of("message.not-replicated"), first, last)
        passed = not_sent.take(not_sent["reason"] == stretch.number("expired")).records(
            "at_us", "cluster", "topic", "producer", "sequence_id"
        )
        rows = _between(stretch.of("message.expired"), first, last)
        # rows that a command caused are an operator's: subscription.expire-messages needs no time to live
        by_ttl = (rows["batch_index"] <= 0) & (rows["cause_seq"] == NULL)
        expired = rows.take(by_ttl).records("at_us", "cluster", "topic", "producer", "sequence_id")
        for row in (*(one for one in passed if stretch.name(one[4]) not in self.batching), *expired):
            if not self._before_an_expired_one(stretch, known, *row):
                yield from self._too_early(stretch, *row)
        skipped = _between(stretch.of("shadow.entry-skipped"), first, last)
        for (cluster,), entries in skipped.groups("cluster"):
            yield from self._skipped(stretch, known, cluster, entries)

    def _before_an_expired_one(
        self,
        stretch: Stretch,
        known: Knowledge,
        seq: int,
        at_us: int,
        cluster: int,
        topic: int,
        producer: int,
        sequence_id: int,
    ) -> bool:
        """Whether the message is not expired, and an entry after it in the log is."""
        ttl_us, published_us = (
            self._ttl_us(stretch, cluster, topic),
            self._published_us(producer, sequence_id),
        )
        if not ttl_us or published_us is None or published_us + ttl_us < at_us:
            return False
        log = known.logs.of(cluster, topic)
        end = log.rows_before(seq)
        copies = np.flatnonzero(
            (log.table.column("producer")[:end] == producer)
            & (log.table.column("sequence_id")[:end] == sequence_id)
        )
        later = slice(int(copies[-1]) + 1, end) if len(copies) else slice(0, 0)
        return any(
            (instant := self._published_us(other, number)) is not None and instant + ttl_us < at_us
            for other, numbers in log.messages(later)
            for number in numbers.tolist()
        )

    def _too_early(
        self,
        stretch: Stretch,
        seq: int,
        at_us: int,
        cluster: int,
        topic: int,
        producer: int,
        sequence_id: int,
    ) -> Iterator[tuple[int, str]]:
        ttl_us, published_us = (
            self._ttl_us(stretch, cluster, topic),
            self._published_us(producer, sequence_id),
        )
        if published_us is not None and (not ttl_us or published_us + ttl_us >= at_us):
            lives = f"it lives {ttl_us // _SECOND_US} s" if ttl_us else "nothing expires there"
            yield (
                seq,
                (
                    f"{stretch.message(producer, sequence_id)} was passed over as expired in "
                    f"{stretch.name(cluster)} {(at_us - published_us) / 1e6:g} s after it was published, and "
                    f"{lives}"
                ),
            )

    def _skipped(
        self, stretch: Stretch, known: Knowledge, cluster: int, entries: Rows
    ) -> Iterator[tuple[int, str]]:
        """Entries that were not announced to a shadow: their source's time to live counts.

        Any topic can be on the list of several sources (`internalSetShadowTopic` checks only that it exists),
        so the source is the topic whose log has the position. Ledgers belong to one topic of a cluster.
        """
        positions = entries.positions()
        for (at_cluster, source), log in known.logs.known():
            if at_cluster != cluster:
                continue
            index, found = log.find(positions, entries.seqs)
            producers, ids = log.values("producer", index), log.values("sequence_id", index)
            for row in np.flatnonzero(found & (producers >= 0)).tolist():
                seq, at_us = int(entries.seqs[row]), int(entries["at_us"][row])
                yield from self._too_early(
                    stretch, seq, at_us, cluster, source, int(producers[row]), int(ids[row])
                )

    def _ttl_us(self, stretch: Stretch, cluster: int, topic: int) -> int:
        return self.ttl.value(stretch.name(cluster), base_of(self.topics, stretch.name(topic))) * _SECOND_US


def _between(rows: Rows, first: int, last: int) -> Rows:
    return rows.take((rows.seqs >= first) & (rows.seqs < last)) if len(rows) else rows


COVERING = ("subscription.created", "update.applied")


class FilteredMessages(Check):
    """Keeps which messages are acked, expired or skipped at each cluster.

    A broker filters only messages that are acked, expired or skipped at the cluster that reported them.

    Acknowledgement-state sync lets Y skip a message because X reported it as acknowledged. At that row one of
    these must hold at X: the application acknowledged it, it expired or was skipped, X had filtered it itself
    (covered by the same claim), an Update applied at X had covered it, or it was before the start of X's
    subscription.
    """

    claim = (
        "A broker filters only messages that were acknowledged, expired or skipped before at the "
        "cluster that synced it."
    )

    def begin(self, scenario: Scenario) -> None:
        self.synchronised = may_sync_acks(scenario)
        self.gone = AckedExpiredOrSkipped()

    def copy_into(self, copy: Self) -> None:
        copy.synchronised, copy.gone = self.synchronised, self.gone.copy()

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Filtered messages that were not acked, expired or skipped."""
        if not self.synchronised:
            return []
        self.gone.read(stretch)
        filtered, begun = stretch.of("message.filtered"), 0
        broken: list[tuple[int, str]] = []
        for row in stretch.of(*COVERING).records(
            "type", "cluster", "topic", "subscription", "ledger", "entry", "to_ledger", "to_entry"
        ):
            seq, kind, cluster, topic, subscription, ledger, entry, to_ledger, to_entry = row
            upto = int(np.searchsorted(filtered.seqs, seq))
            broken += self._judge(stretch, filtered.take(np.arange(begun, upto)))
            begun = upto
            place = (
                position(ledger, entry) if kind == _SUBSCRIPTION_CREATED else position(to_ledger, to_entry)
            )
            self.gone.cover(known, seq, (cluster, topic, subscription), place)
        broken += self._judge(stretch, filtered.take(np.arange(begun, len(filtered))))
        self.gone.finish()
        return broken

    def _judge(self, stretch: Stretch, filtered: Rows) -> list[tuple[int, str]]:
        broken: list[tuple[int, str]] = []
        for (cluster, peer, subscription, producer), rows in filtered.groups(
            "cluster", "peer", "subscription", "producer"
        ):
            ids = rows["sequence_id"]
            bad = np.flatnonzero(self.gone.unseen(peer, subscription, producer, ids, rows.seqs))

            def describe(number: int) -> str:
                message, at = stretch.message(producer, int(ids[bad[number]])), stretch.name(peer)
                return (
                    f"{stretch.name(cluster)} passed over {message} for {stretch.name(subscription)}: not "
                    f"acknowledged, expired or skipped at {at}"
                )

            broken += first_broken(rows.seqs[bad], describe)
        return broken
