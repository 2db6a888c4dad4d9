"""Claims about audiences of many consumers and the brokers that serve them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import ENTRY_BITS, Rows, Stretch, position_words
from simulator.protocols.pulsar.checks.knowledge import MARKER, Knowledge, Log
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.model import BrokerSpec
from simulator.scenarios.model import Scenario

_TOPIC_LOADED = CODE["topic.loaded"]


_NOTHING_YET = -1
PARTITION = re.compile(r"-partition-\d+$")


class AudiencesServed(Check):
    """Keeps the last message that each member received, as its ordinal among the log's messages.

    Every member of an audience receives every message once, in the log's order.

    A member's cursor begins where it first connects, and its first delivery is of that message or a later
    one. Each later delivery is of the very next message of the log: no repeat and no gap, even after unloads
    and crashes, because an audience's cursors are persisted as they move. On a shadow topic the log is its
    source's. Entries that the source deleted may be skipped. After a load a shadow may have fewer entries
    than before, and a member may be moved back. A member that connects after a topic was deleted starts with
    a new cursor.
    """

    claim = (
        "Every member of an audience is delivered each message of its topic once, in order, from where it "
        "first connected."
    )

    def begin(self, scenario: Scenario) -> None:
        self.sizes = {name: spec.subscriptions for name, spec in scenario.audiences.items()}
        self.last: dict[tuple[int, int, int], np.ndarray] = {}  # (cluster, topic, audience) -> by member
        # the same -> members that may restart, because their shadow was loaded again
        self.taken_back: dict[tuple[int, int, int], np.ndarray] = {}
        self.source_of: dict[tuple[int, int], int] = {}  # (cluster, shadow topic) -> its source
        # (cluster, source) -> (seq, ledger) of its deleted ledgers
        self.trimmed: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def copy_into(self, copy: Self) -> None:
        copy.sizes = self.sizes
        # arrays are replaced, never modified
        copy.last, copy.taken_back = dict(self.last), dict(self.taken_back)
        copy.source_of, copy.trimmed = dict(self.source_of), dict(self.trimmed)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Deliveries out of order."""
        broken: list[tuple[int, str]] = []
        if not self.sizes:
            return broken
        for _seq, cluster, topic, source in stretch.of("shadow.created").records(
            "cluster", "topic", "reason"
        ):
            self.source_of[cluster, topic] = source
        for seq, cluster, topic, ledger in stretch.of("ledger.trimmed").records("cluster", "topic", "ledger"):
            self.trimmed[cluster, topic] = [*self.trimmed.get((cluster, topic), ()), (seq, ledger)]
        delivered = stretch.of_audiences("message.delivered")
        stretch.read_more("client")
        found = dict(delivered.groups("cluster", "topic", "subscription"))
        changes = list(self._changes(stretch, dict.fromkeys(key[:2] for key in (*self.last, *found))))
        for key in sorted({*found, *self.last}):
            rows = found.get(key, delivered.take(np.empty(0, dtype=np.int64)))
            ours = [(seq, deleted) for seq, place, deleted in changes if place == key[:2]]
            edges = [0, *np.searchsorted(rows.seqs, [seq for seq, _deleted in ours]).tolist(), len(rows)]
            for number, (first, last) in enumerate(zip(edges, edges[1:])):
                if number and key in self.last:
                    self._restart(key, ours[number - 1][1])
                if last > first:
                    broken += self._one_audience(stretch, known, key, rows.take(np.arange(first, last)))
        return broken

    def _changes(
        self, stretch: Stretch, topics: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[int, tuple[int, int], bool]]:
        """Deletions of a topic with an audience and loads of a shadow, in order.

        Yields (seq, topic, whether it was deleted).
        """
        for seq, kind, cluster, topic in stretch.of("topic.loaded", "topic.deleted").records(
            "type", "cluster", "topic"
        ):
            if kind != _TOPIC_LOADED:
                base = stretch.name(topic)
                yield from (
                    (seq, place, True)
                    for place in topics
                    if place[0] == cluster and PARTITION.sub("", stretch.name(place[1])) == base
                )
            elif (cluster, topic) in self.source_of:
                yield seq, (cluster, topic), False

    def _restart(self, key: tuple[int, int, int], deleted: bool) -> None:
        if deleted:
            self.last[key] = np.full_like(self.last[key], _NOTHING_YET)
        self.taken_back[key] = np.ones(len(self.last[key]), dtype=bool)

    def _one_audience(
        self, stretch: Stretch, known: Knowledge, key: tuple[int, int, int], rows: Rows
    ) -> list[tuple[int, str]]:
        place = (key[0], self.source_of.get(key[:2], key[1]))
        log = known.logs.of(*place)
        data = np.flatnonzero(log.table.column("producer") != MARKER)
        ordinals = _ordinals(log, data, rows)
        members = rows["client"] - (key[2] + 1)  # a trace numbers an audience and then its members
        last = (
            self.last[key].copy()
            if key in self.last
            else np.full(self.sizes[stretch.name(key[2])], _NOTHING_YET, dtype=np.int64)
        )
        order = np.argsort(members, kind="stable")
        member, ordinal = members[order], ordinals[order]
        before = np.concatenate(([_NOTHING_YET], ordinal[:-1]))
        begins = np.concatenate(([True], member[1:] != member[:-1]))
        before[begins] = last[member[begins]]
        self.last[key] = last
        last[member] = ordinal  # of several deliveries the last one is kept
        skipped = (before != _NOTHING_YET) & (ordinal != before + 1)
        if key in self.taken_back:
            skipped &= ~(begins & self.taken_back[key][member] & (ordinal <= before))
            self.taken_back[key] = self.taken_back[key].copy()
            self.taken_back[key][member] = False
        if place != key[:2] and place in self.trimmed and skipped.any():
            last_before = log.table.column("position")[data[np.maximum(ordinal - 1, 0)]] >> ENTRY_BITS
            skipped &= (ordinal <= before) | (last_before > self._deleted_before(place, rows.seqs[order]))
        bad = np.sort(order[(ordinal < 0) | skipped])
        clients, places = rows["client"], rows.positions()
        return first_broken(
            rows.seqs[bad],
            lambda n: (
                f"{stretch.name(int(clients[bad[n]]))} was delivered {position_words(int(places[bad[n]]))} "
                "out of turn"
            ),
        )

    def _deleted_before(self, place: tuple[int, int], seqs: np.ndarray) -> np.ndarray:
        """The highest ledger of a topic that had been deleted before each of these rows, -1 for none."""
        deleted = self.trimmed[place]
        return np.array([-1, *(ledger for _seq, ledger in deleted)])[
            np.searchsorted([seq for seq, _ledger in deleted], seqs)
        ]


def _ordinals(log: Log, data: np.ndarray, rows: Rows) -> np.ndarray:
    """For each delivered message its ordinal among the log's messages, -1 for one not in the log.

    `data` are the rows of the log's messages.
    """
    index, found = log.find(rows.positions(), rows.seqs)
    return np.where(found, np.searchsorted(data, index) + np.maximum(rows["batch_index"], 0), -1)


_SECOND_US = 1_000_000


class BrokerLimits(Check):
    """Keeps which broker serves each topic, and until when each was busy.

    A broker observes its limits: service time and bandwidth, one dispatch at a time.

    Each `message.dispatched` row holds how long its broker was busy with the entry until then, and with how
    many bytes. The latest `topic.assigned` row names the broker. The limits are the scenario's.
    """

    claim = (
        "A broker serves one dispatch at a time, each for at least its service time, and sends no more "
        "than its bandwidth."
    )

    def begin(self, scenario: Scenario) -> None:
        self.brokers: dict[str, BrokerSpec] = dict(scenario.brokers)
        self.serves: dict[tuple[int, int], int] = {}  # (cluster, topic) -> broker
        self.busy_until_us: dict[int, int] = {}

    def copy_into(self, copy: Self) -> None:
        copy.brokers, copy.serves, copy.busy_until_us = (
            self.brokers,
            dict(self.serves),
            dict(self.busy_until_us),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Dispatches that overlap, are too fast, or have no possible broker."""
        dispatched, assigned = stretch.of_all("message.dispatched"), stretch.of("topic.assigned")
        if not len(dispatched) and not len(assigned):
            return []
        stretch.read_more("broker", "size_bytes", "duration_us")
        served_by = self._served_by(dispatched, assigned)
        broken: list[tuple[int, str]] = []
        for broker in np.unique(served_by).tolist():
            rows = dispatched.take(served_by == broker)
            if broker < 0:
                broken += first_broken(
                    rows.seqs, lambda n: "was dispatched from a topic that no broker serves"
                )
            else:
                broken += self._one_broker(
                    stretch, broker, rows.take((rows["duration_us"] > 0) | (rows["batch_index"] <= 0))
                )
        return broken

    def _served_by(self, dispatched: Rows, assigned: Rows) -> np.ndarray:
        """The broker of each dispatch, -1 for none."""
        served_by = np.full(len(dispatched), -1, dtype=np.int64)
        changes: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for seq, cluster, topic, broker in assigned.records("cluster", "topic", "broker"):
            changes.setdefault((cluster, topic), []).append((seq, broker))
        for place, rows in dispatched.groups("cluster", "topic"):
            starts = changes.get(place, [])
            brokers = np.array([self.serves.get(place, -1), *(broker for _seq, broker in starts)])
            which = np.searchsorted([seq for seq, _broker in starts], rows.seqs)
            served_by[np.searchsorted(dispatched.seqs, rows.seqs)] = brokers[which]
        self.serves |= {place: starts[-1][1] for place, starts in changes.items()}
        return served_by

    def _one_broker(self, stretch: Stretch, broker: int, rows: Rows) -> list[tuple[int, str]]:
        spec = self.brokers[stretch.name(broker)]
        ends, spans, sizes = rows["at_us"], rows["duration_us"], rows["size_bytes"]
        before = np.concatenate(([self.busy_until_us.get(broker, 0)], ends))
        self.busy_until_us[broker] = int(before.max())
        early = np.flatnonzero(ends - spans < np.maximum.accumulate(before)[:-1])
        broken = first_broken(
            rows.seqs[early],
            lambda n: (
                f"{spec.name} began a dispatch {_late(before, ends, spans, early[n])} us before it had "
                f"finished the one before"
            ),
        )
        short = np.flatnonzero(spans < spec.dispatch_us)
        broken += first_broken(
            rows.seqs[short],
            lambda n: (
                f"{spec.name} spent {int(spans[short[n]])} us on a dispatch that takes {spec.dispatch_us}"
            ),
        )
        if spec.bandwidth_bytes_per_s is not None:
            fast = np.flatnonzero(sizes * _SECOND_US > spec.bandwidth_bytes_per_s * spans)
            broken += first_broken(
                rows.seqs[fast],
                lambda n: f"{spec.name} sent {int(sizes[fast[n]])} bytes in {int(spans[fast[n]])} us",
            )
        return broken


def _late(before: np.ndarray, ends: np.ndarray, spans: np.ndarray, at: int) -> int:
    """By how much the dispatch began too early."""
    return int(before[: at + 1].max() - (ends[at] - spans[at]))
