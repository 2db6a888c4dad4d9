"""Pulsar's blue-green migration leaves no message and no consumer behind (PIP-188).

A topic is migrated, which redirects its clients, only when its replicators have no backlog. The broker's
periodic check deletes a subscription only when that has no backlog and no consumer. Deletions by an operator
or a tenant's clean-up at the same instant are not attributed to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import PAST_EVERY_LEDGER, Stretch, position
from simulator.protocols.pulsar.checks.cursors import NOWHERE
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.logs import HERE, MARKER
from simulator.protocols.pulsar.checks.recorded_messages import RecordedMessages
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of

_READ = (
    "command.applied",
    "resource.deleted",
    "topic.migrated",
    "topic.deleted",
    "subscription.deleted",
    "replicator.created",
    "replicator.removed",
    "consumer.connected",
    "consumer.disconnected",
    "client.redirected",
)
_COMMANDED, _CLEANED, _MIGRATED, _GONE, _DELETED, _CREATED, _REMOVED, _CONNECTED, _DISCONNECTED, _SENT_ON = (
    CODE[name] for name in _READ
)
_COLUMNS = ("type", "cluster", "peer", "topic", "subscription", "client", "ledger", "entry")

Place = tuple[int, int]
"""Fields: (cluster, topic)."""


class LeftEmpty(Check):
    """Keeps each topic's replicators, its consumers, and which entries replication skipped."""

    claim = (
        "A topic is migrated by blue-green only when its replicators have nothing left, and its "
        "subscriptions are deleted only when they are drained and have no consumers."
    )

    def begin(self, scenario: Scenario) -> None:
        places = (
            scenario.settings,
            *(spec.settings for spec in (*scenario.clusters.values(), *scenario.topics.values())),
        )
        self.topics = frozenset(scenario.topics)
        self.watching = any(settings.get("clusterMigrationCheckDurationSeconds") for settings in places)
        # (cluster, topic, peer) -> where its cursor opened
        self.replicators: dict[tuple[int, int, int], int] = {}
        self.passed_over = RecordedMessages()  # (cluster, peer, producer)
        self.migrated: dict[Place, None] = {}
        self.readers: dict[tuple[int, int, int, int], None] = {}  # (cluster, topic, client, subscription)
        self.others_at_us = -1  # when a subscription was last deleted by another cause

    def copy_into(self, copy: Self) -> None:
        copy.topics = self.topics
        copy.watching, copy.others_at_us, copy.passed_over = (
            self.watching,
            self.others_at_us,
            self.passed_over.copy(),
        )
        copy.replicators, copy.migrated, copy.readers = (
            dict(self.replicators),
            dict(self.migrated),
            dict(self.readers),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Topics that were migrated too early, and subscriptions deleted while still needed."""
        if not self.watching:
            return []
        self.passed_over.read(stretch.of("message.not-replicated"), "cluster", "peer")
        broken: list[tuple[int, str]] = []
        for seq, kind, cluster, peer, topic, subscription, client, ledger, entry in stretch.of(
            *_READ
        ).records(*_COLUMNS):
            place = (cluster, topic)
            if kind in (_COMMANDED, _CLEANED, _GONE):
                self.others_at_us = stretch.at_us(seq)
                if kind == _GONE:
                    name = stretch.name(topic)
                    self.migrated = {
                        one: None
                        for one in self.migrated
                        if one[0] != cluster or base_of(self.topics, stretch.name(one[1])) != name
                    }
            elif kind in (_CREATED, _REMOVED):
                self.replicators.pop((*place, peer), None)
                if kind == _CREATED:
                    self.replicators[*place, peer] = position(ledger, entry)
            elif kind in (_CONNECTED, _DISCONNECTED):
                self.readers.pop((*place, client, subscription), None)
                if kind == _CONNECTED:
                    self.readers[*place, client, subscription] = None
            elif kind == _SENT_ON:  # redirected to green
                self.readers = {one: None for one in self.readers if one[:3] != (*place, client)}
            elif kind == _MIGRATED:
                self.migrated[place] = None
                broken += [(seq, why) for why in self._left_behind(stretch, known, seq, place)]
            elif place in self.migrated and stretch.at_us(seq) != self.others_at_us:
                broken += [(seq, why) for why in self._needed(stretch, known, seq, place, subscription)]
        self.passed_over.finish()
        return broken

    def _left_behind(self, stretch: Stretch, known: Knowledge, seq: int, place: Place) -> Iterator[str]:
        log = known.logs.of(*place)
        for peer, began in [(key[2], began) for key, began in self.replicators.items() if key[:2] == place]:
            rows = log.between(began, PAST_EVERY_LEDGER, seq)
            published = {
                column: log.table.column(column)[rows] for column in ("producer", "sequence_id", "origin")
            }
            there = known.logs.of(peer, place[1])
            copies = {
                column: there.table.column(column)[: there.rows_before(seq)]
                for column in ("producer", "sequence_id")
            }
            for producer in np.unique(published["producer"][published["producer"] != MARKER]).tolist():
                ids = published["sequence_id"][
                    (published["producer"] == producer) & (published["origin"] == HERE)
                ]
                missing = ~np.isin(ids, copies["sequence_id"][copies["producer"] == producer])
                left = ids[missing & self.passed_over.unseen((place[0], peer, producer), ids, seq)]
                if len(left):
                    what = f"{stretch.message(producer, int(left[0]))} and {len(left) - 1} more"
                    yield (
                        f"{stretch.name(place[1])} in {stretch.name(place[0])} is migrated, and "
                        f"{stretch.name(peer)} has not {what}"
                    )

    def _needed(
        self, stretch: Stretch, known: Knowledge, seq: int, place: Place, subscription: int
    ) -> Iterator[str]:
        here = (
            f"{stretch.name(subscription)} of {stretch.name(place[1])} was deleted in "
            f"{stretch.name(place[0])}"
        )
        stands = known.cursors.place_at((*place, subscription), seq)
        left = known.logs.of(*place).between(stands, PAST_EVERY_LEDGER, seq)
        if stands != NOWHERE and left.stop > left.start:
            yield f"{here} with {left.stop - left.start} entries left"
        reading = [
            stretch.name(one[2]) for one in self.readers if one[:2] == place and one[3] == subscription
        ]
        if reading:
            yield f"{here} while {', '.join(reading)} reads it"
