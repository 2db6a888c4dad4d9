"""Tenants' migrations: clients follow the LookupService, and only replicated state is deleted.

The LookupService's map begins as in the scenario and changes with `tenant.mapped`. When a migration deletes a
topic in one cluster (clean-up, or the undo of its metadata), the other cluster of the move must hold every
message that a subscription still needs. Where acknowledgements are synced, it must have received all of them.
Forced deletions by an operator are not judged, nor is the content of a lost cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import PAST_EVERY_LEDGER, Stretch, position
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.recorded_messages import RecordedMessages
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import PARTITION_SUFFIX
from simulator.trace.registry import NULL

_MAPPED, _ANSWERED, _REDIRECTED = CODE["tenant.mapped"], CODE["lookup.answered"], CODE["client.redirected"]
_STARTED, _CHANGED, _DELETED = CODE["migration.started"], CODE["migration.changed"], CODE["resource.deleted"]
_CREATED, _APPLIED, _LOST = (
    CODE["subscription.created"],
    CODE["acknowledgements.applied"],
    CODE["cluster.lost"],
)


class SentWhereLookedUp(Check):
    """Keeps the map, the last response to each client, and where brokers redirected it."""

    claim = (
        "A client's lookup returns the cluster in the LookupService's map, and the client connects "
        "only there or where a broker redirected it."
    )

    def begin(self, scenario: Scenario) -> None:
        self.map = {name: spec.cluster for name, spec in scenario.tenants.items()}
        self.tenants = {name: topic.tenant for name, topic in scenario.topics.items()}
        self.followers = {
            name
            for clients in (scenario.producers, scenario.consumers)
            for name, spec in clients.items()
            if spec.cluster is None
        }
        self.answered: dict[str, str] = {}
        self.sent_on: dict[tuple[str, str], str] = {}  # (client, topic) -> cluster

    def copy_into(self, copy: Self) -> None:
        copy.map, copy.answered, copy.sent_on = dict(self.map), dict(self.answered), dict(self.sent_on)
        copy.tenants, copy.followers = self.tenants, self.followers

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Responses that differ from the map, and connections that differ from the response."""
        if not self.map:
            return []
        broken: list[tuple[int, str]] = []
        rows = stretch.of(
            "tenant.mapped",
            "lookup.answered",
            "client.redirected",
            "consumer.connected",
            "producer.connected",
        )
        name = stretch.name
        for seq, kind, tenant, cluster, peer, topic, client in rows.records(
            "type", "tenant", "cluster", "peer", "topic", "client"
        ):
            if kind == _MAPPED:
                self.map[name(tenant)] = name(cluster)
            elif kind == _ANSWERED:
                self.answered[name(client)] = name(cluster)
                mapped = self.map[self.tenants[name(topic)]]
                if mapped != name(cluster):
                    broken.append(
                        (
                            seq,
                            (
                                f"{name(client)} got {name(cluster)} for {name(topic)} while the map "
                                f"had {mapped}"
                            ),
                        )
                    )
            elif kind == _REDIRECTED:
                self.sent_on[name(client), name(topic)] = name(peer)
            elif name(client) in self.followers and name(cluster) not in (
                self.answered.get(name(client)),
                self.sent_on.get((name(client), name(topic))),
            ):
                broken.append(
                    (
                        seq,
                        (
                            f"{name(client)} connected in {name(cluster)}; the last answer was "
                            f"{self.answered.get(name(client), 'nothing')}"
                        ),
                    )
                )
        return broken


class _BroughtOver(Check):
    """The common part of both claims about deletion: tenants' moves, their strategy, forced ones."""

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        self.moves: dict[int, tuple[int, int, int]] = {}  # tenant -> (source, target, strategy)
        self.forced: dict[int, bool] = {}
        self.lost: dict[int, None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.moves, copy.forced, copy.lost = (
            self.watching,
            dict(self.moves),
            dict(self.forced),
            dict(self.lost),
        )

    def deletions(self, stretch: Stretch) -> Iterator[tuple[int, int, int, int, str]]:
        """The topics that a migration deletes without force.

        Yields (seq, cluster, the other cluster, topic's base, strategy).
        """
        rows = stretch.of("migration.started", "migration.changed", "resource.deleted", "cluster.lost")
        for seq, kind, tenant, cluster, peer, topic, reason, subscription in rows.records(
            "type", "tenant", "cluster", "peer", "topic", "reason", "subscription"
        ):
            if kind == _STARTED:
                self.moves[tenant], self.forced[tenant] = (cluster, peer, reason), False
            elif kind == _CHANGED:
                self.forced[tenant] |= stretch.name(reason) == "forced"
            elif kind == _LOST:
                self.lost[cluster] = None
            elif (
                topic != NULL
                and subscription == NULL
                and cluster not in self.lost
                and not self.forced[tenant]
            ):
                source, target, strategy = self.moves[tenant]
                yield seq, cluster, target if cluster == source else source, topic, stretch.name(strategy)

    @staticmethod
    def parts(stretch: Stretch, topics: Iterable[int], base: int) -> list[int]:
        """The topics among these that are the base or one of its partitions."""
        return sorted(
            {topic for topic in topics if PARTITION_SUFFIX.sub("", stretch.name(topic)) == stretch.name(base)}
        )


class CopiedBeforeDeleted(_BroughtOver):
    """Keeps the messages that each cluster stored and that were settled anywhere.

    It also keeps the position where each subscription began.
    """

    claim = (
        "When a migration deletes a topic, the other cluster holds every message of it that a subscription "
        "there has not acknowledged, expired or skipped."
    )

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.stored, self.settled = (
            RecordedMessages(),
            RecordedMessages(),
        )  # (cluster, producer), (subscription, producer)
        self.began: dict[tuple[int, int, int], int] = {}  # (cluster, topic, subscription) -> place

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.stored, copy.settled, copy.began = self.stored.copy(), self.settled.copy(), dict(self.began)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Messages that are deleted with a topic while a subscription needs them."""
        if not self.watching:
            return []
        self.stored.read(stretch.of("message.stored"), "cluster")
        self.settled.read(
            stretch.of("message.acknowledged", "message.expired", "message.skipped", "message.evicted"),
            "subscription",
        )
        for _seq, *cursor, ledger, entry in stretch.of("subscription.created").records(
            "cluster", "topic", "subscription", "ledger", "entry"
        ):
            self.began[tuple(cursor)] = position(ledger, entry)
        broken = [
            found for deletion in self.deletions(stretch) for found in self._needed(stretch, known, *deletion)
        ]
        self.stored.finish()
        self.settled.finish()
        return broken

    def _needed(
        self,
        stretch: Stretch,
        known: Knowledge,
        seq: int,
        cluster: int,
        other: int,
        base: int,
        _strategy: str,
    ) -> Iterator[tuple[int, str]]:
        cursors = [key for key in self.began if key[0] == cluster]
        for topic in self.parts(stretch, [key[1] for key in cursors], base):
            log = known.logs.of(cluster, topic)
            for place, subscription in [(self.began[key], key[2]) for key in cursors if key[1] == topic]:
                for producer, ids in log.messages(log.between(place, PAST_EVERY_LEDGER, seq)):
                    needed = ids[
                        self.settled.unseen((subscription, producer), ids, seq)
                        & self.stored.unseen((other, producer), ids, seq)
                    ]
                    who = (
                        f"{stretch.name(subscription)} had not dealt with it, and {stretch.name(other)} "
                        f"never had it"
                    )
                    yield from first_broken(
                        np.full(len(needed), seq),
                        lambda n: (
                            f"{stretch.message(producer, int(needed[n]))} went with {stretch.name(topic)} in "
                            f"{stretch.name(cluster)}: {who}"
                        ),
                    )


class ReceivedBeforeDeleted(_BroughtOver):
    """Keeps the last ack by a client of each cursor, and the last state received from a peer."""

    claim = (
        "When a migration with acknowledgement-state sync deletes a topic, everything that was "
        "acknowledged there was synced to the other cluster."
    )

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.taken: dict[tuple[int, int, int], int] = {}  # (cluster, topic, subscription) -> seq
        # (receiving cluster, sending cluster, topic, subscription) -> seq of the request
        self.received: dict[tuple[int, int, int, int], int] = {}

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.taken, copy.received = dict(self.taken), dict(self.received)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Acknowledgements that are deleted with a topic before the target has them."""
        if not self.watching:
            return []
        deletions = list(self.deletions(stretch))
        events: list[tuple[int, tuple]] = [(found[0], found) for found in deletions]
        registered = stretch.of("message.registered")
        for key, rows in registered.take(registered["client"] != NULL).groups(
            "cluster", "topic", "subscription"
        ):
            events += [(seq, key) for seq in (rows.seqs if deletions else rows.seqs[-1:]).tolist()]
        for row in stretch.of("acknowledgements.applied").records(
            "cluster", "peer", "topic", "subscription", "evidence_seq"
        ):
            events.append((row[0], row))
        broken: list[tuple[int, str]] = []
        for seq, event in sorted(events, key=lambda one: one[0]):
            if len(event) == 3:
                self.taken[event] = seq
            elif isinstance(event[4], str):
                broken += self._not_received(stretch, *event)
            else:
                self.received[event[1:5]] = event[5]
        return broken

    def _not_received(
        self, stretch: Stretch, seq: int, cluster: int, other: int, base: int, strategy: str
    ) -> Iterator[tuple[int, str]]:
        if strategy != "acknowledgement-sync":
            return
        for topic in self.parts(stretch, [key[1] for key in self.taken if key[0] == cluster], base):
            for key in [key for key in self.taken if key[:2] == (cluster, topic)]:
                if self.taken[key] > self.received.get((other, cluster, topic, key[2]), -1):
                    yield (
                        seq,
                        (
                            f"{stretch.name(other)} has not received what {stretch.name(key[2])} "
                            f"acknowledged last "
                            f"of {stretch.name(topic)} in {stretch.name(cluster)} (row {self.taken[key]})"
                        ),
                    )
