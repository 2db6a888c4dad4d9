"""The LookupService responds by its map, and acknowledgement-state sync sends the present state.

Sources: docs/tenant-migration.md and docs/acknowledgement-sync.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch, position, position_words
from simulator.protocols.pulsar.checks.cursors import NOWHERE
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.strategies import may_sync_acks
from simulator.scenarios.model import Scenario

_SERVING = (
    "lookup.stopped",
    "lookup.started",
    "cluster.crashed",
    "cluster.lost",
    "cluster.restarted",
    "topic.created",
    "topic.deleted",
    "lookup.answered",
)
_STOPPED, _STARTED, _CRASHED, _LOST, _RESTARTED, _CREATED, _DELETED, _ANSWERED = (
    CODE[name] for name in _SERVING
)
METADATA, SCHEMA, LOOKUP = "partition-metadata", "schema", "lookup"


class AnsweredWhenAble(Check):
    """Keeps the state of clusters, the clusters of topics, and the last response to each client."""

    claim = (
        "The LookupService answers while it is up, for a topic that the cluster which it names "
        "serves, and a client gets partitions before schemas and brokers."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        clients = {**scenario.producers, **scenario.consumers}
        self.with_schema = frozenset(name for name, spec in clients.items() if spec.schema is not None)
        self.serves = True
        self.down: dict[str, None] = {}
        self.present = {
            (cluster, base): None for base, topic in scenario.topics.items() for cluster in topic.shapes
        }
        self.answered: dict[tuple[str, str], None] = {}  # (client, kind of request) of the last response

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.with_schema, copy.serves = self.watching, self.with_schema, self.serves
        copy.down, copy.present, copy.answered = dict(self.down), dict(self.present), dict(self.answered)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Lookup responses that no broker could give, or that are sent too early."""
        if not self.watching:
            return []
        broken: list[tuple[int, str]] = []
        for seq, kind, *row in stretch.of(*_SERVING).records("type", "cluster", "topic", "client", "reason"):
            cluster, topic, client, reason = (stretch.name(number) for number in row)
            if kind == _ANSWERED:
                broken += [
                    (seq, f"{client} received {topic}'s {reason} in {cluster}, {why}")
                    for why in self._wrong(cluster, topic, client, reason)
                ]
                self.answered[client, reason] = None
            elif kind in (_STOPPED, _STARTED):
                self.serves = kind == _STARTED
            elif kind in (_CRASHED, _LOST):
                self.down[cluster] = None
            elif kind == _RESTARTED:
                self.down.pop(cluster, None)
            elif kind == _CREATED:
                self.present[cluster, topic] = None
            else:
                self.present.pop((cluster, topic), None)
        return broken

    def _wrong(self, cluster: str, topic: str, client: str, asked: str) -> Iterator[str]:
        if not self.serves:
            yield "while the LookupService was down"
        if cluster in self.down:
            yield "which was down"
        if (cluster, topic) not in self.present:
            yield "which does not have it"
        before = {
            METADATA: (),
            SCHEMA: (METADATA,),
            LOOKUP: (METADATA, SCHEMA) if client in self.with_schema else (METADATA,),
        }[asked]
        yield from (
            f"before it received {missing}" for missing in before if (client, missing) not in self.answered
        )


_SYNCING = ("acknowledgements.sent", "acknowledgements.applied", "acknowledgements.lost")
_SENT, _APPLIED, _NOT_THERE = (CODE[name] for name in _SYNCING)


class StateAsSent(Check):
    """Keeps the states on the wire, and the last one that each cluster applied."""

    claim = (
        "A broker that synchronises acknowledgements sends its cursor's current mark-delete, and "
        "the peer applies each state once, as it was sent, and none after a newer one."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = may_sync_acks(scenario)
        # seq of the request -> (from, to, topic, subscription, place, entries beyond)
        self.on_the_way: dict[int, tuple[int, ...]] = {}
        self.taken: dict[tuple[int, ...], int] = {}  # (from, to, topic, subscription) -> seq of the request

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.on_the_way, copy.taken = self.watching, dict(self.on_the_way), dict(self.taken)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """States that differ from the cursor when sent, or from the request when applied."""
        if not self.watching:
            return []
        broken: list[tuple[int, str]] = []
        names = (
            "type",
            "cluster",
            "peer",
            "topic",
            "subscription",
            "ledger",
            "entry",
            "to_ledger",
            "to_entry",
            "count",
            "evidence_seq",
        )
        for (
            seq,
            kind,
            cluster,
            peer,
            topic,
            subscription,
            ledger,
            entry,
            to_ledger,
            to_entry,
            count,
            sent_seq,
        ) in stretch.of(*_SYNCING).records(*names):
            who = f"{stretch.name(subscription)} of {stretch.name(topic)}"
            if kind == _SENT:
                place = position(ledger, entry)
                self.on_the_way[seq] = (cluster, peer, topic, subscription, place, count)
                broken += [
                    (
                        seq,
                        (
                            f"{stretch.name(cluster)} sent {position_words(place)} as mark-delete of "
                            f"{who}: {why}"
                        ),
                    )
                    for why in self._stale(known, seq, (cluster, topic, subscription), place)
                ]
            elif kind == _APPLIED:
                state = (peer, cluster, topic, subscription, position(to_ledger, to_entry), count)
                broken += [
                    (seq, f"{stretch.name(cluster)} took in a state of {who} {why}")
                    for why in self._wrong(state, sent_seq)
                ]
            else:
                self.on_the_way.pop(sent_seq, None)
        return broken

    @staticmethod
    def _stale(known: Knowledge, seq: int, cursor: tuple[int, int, int], sent: int) -> Iterator[str]:
        stands, log = known.cursors.place_at(cursor, seq), known.logs.of(*cursor[:2])
        between = log.between(min(sent, stands), max(sent, stands), seq)
        if stands != NOWHERE and between.stop > between.start:
            yield f"the cursor is at {position_words(stands)}"

    def _wrong(self, state: tuple[int, ...], sent_seq: int) -> Iterator[str]:
        sent, pair = self.on_the_way.pop(sent_seq, None), state[:4]
        if sent is None:
            yield f"that was not on its way (row {sent_seq})"
        elif sent != state:
            yield (
                f"that names {position_words(state[4])} and {state[5]} entries beyond, where "
                f"{position_words(sent[4])} and {sent[5]} were sent (row {sent_seq})"
            )
        if self.taken.get(pair, -1) > sent_seq:
            yield f"that is older (row {sent_seq}) than the one it has (row {self.taken[pair]})"
        self.taken[pair] = max(sent_seq, self.taken.get(pair, -1))
