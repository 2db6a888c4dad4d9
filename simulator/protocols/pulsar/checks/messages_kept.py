"""Every message acknowledged to its producer is stored, or no cursor needs it any more.

Three things are checked. A receipt: the log of that cluster held the message before. A log: no position is
written more than once, and a ledger is closed with as many entries as were stored in it, so none is missing.
A removal: every durable cursor had passed the entry. A replication cursor has passed it when the other
cluster holds the message, when it was skipped (replicate_to, expiry), or when the cursor was opened behind
it. The messages of a permanently lost cluster are lost with it, and its later removals and closings are not
judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch, position, position_words
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.logs import HERE, Log
from simulator.protocols.pulsar.checks.recorded_messages import RecordedMessages
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario

_CREATED = CODE["replicator.created"]


class MessagesKept(Check):
    """Keeps which messages each cluster stored and where each replication cursor began."""

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
        if kind == _CREATED:
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
