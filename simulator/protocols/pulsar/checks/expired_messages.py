"""Time to live: expired messages are not replicated, and cursors pass over nothing else as expired.

A message is expired once `ttlDurationDefaultInSeconds` have passed since it was published, wherever it is
stored (`GeoPersistentReplicator.replicateEntries`). An entry expires as a whole, by its first message. A
cursor is moved to where a binary search ends (`OpFindNewest`), so in a log that is not in the order of
publish times it may pass a message that is not expired, but only before an entry that is.
Publish times are kept where the run has a time to live at all, or from the row on that sets one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import PAST_EVERY_LEDGER, Rows, Stretch
from simulator.checks.table import Table
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.settings_in_force import SettingsInForce
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.trace.registry import NULL

TTL = "ttlDurationDefaultInSeconds"
_SECOND_US = 1_000_000
NEVER_SEQ = PAST_EVERY_LEDGER


class ExpiredMessages(Check):
    """Keeps the publish time of each producer's messages, from row `since` on."""

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
