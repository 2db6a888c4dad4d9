"""A broker does not deliver messages that a peer reported as acked: the effect of the sync filter.

A request names X's mark-delete: every message of X's log up to it when the request was sent is acknowledged
at X. A consumer that connects to Y after Y applied the request receives none of them. Messages already sent
to an earlier consumer are still delivered, so only later connections are judged. Individually deleted entries
are not in the row, so only the mark-delete counts. A request with an earlier mark-delete than the previous
one (an operator's reset, a crash that lost acks) replaces it. Messages resent by a producer are left out: the
second copy is an entry of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from pyroaring import BitMap

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch, position
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.recorded_messages import RecordedMessages
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.strategies import may_sync_acks
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import PARTITION_SUFFIX
from simulator.trace.registry import NULL

_CONTROL = (
    "acknowledgements.applied",
    "consumer.connected",
    "subscription.deleted",
    "topic.deleted",
    "resource.deleted",
)
_APPLIED, _CONNECTED = CODE[_CONTROL[0]], CODE[_CONTROL[1]]
_COLUMNS = (
    "type",
    "cluster",
    "peer",
    "topic",
    "subscription",
    "client",
    "to_ledger",
    "to_entry",
    "evidence_seq",
)

Messages = dict[int, BitMap]
"""Sequence ids by producer; the sets are never changed, so that copies can share them."""


class SyncedAcksKept(Check):
    """Keeps what each peer reported to each subscription, and the reports when its consumers connected."""

    claim = (
        "What was synced to a broker as acknowledged, up to the mark-delete of that state, it "
        "dispatches to no consumer that connects afterwards."
    )

    def begin(self, scenario: Scenario) -> None:
        self.synchronised = may_sync_acks(scenario)
        # (cluster, topic, subscription) -> peer -> (place, messages)
        self.synced: dict[tuple[int, int, int], dict[int, tuple[int, Messages]]] = {}
        # the same and client -> peer -> messages
        self.at_connect: dict[tuple[int, int, int, int], dict[int, Messages]] = {}
        self.resent = RecordedMessages()

    def copy_into(self, copy: Self) -> None:
        copy.synchronised, copy.resent = self.synchronised, self.resent.copy()
        copy.synced = {
            key: {peer: (place, dict(acked)) for peer, (place, acked) in by_peer.items()}
            for key, by_peer in self.synced.items()
        }
        copy.at_connect = {key: dict(by_peer) for key, by_peer in self.at_connect.items()}

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Deliveries of messages that a peer had reported as acknowledged."""
        if not self.synchronised:
            return []
        self.resent.read(stretch.of("message.resent"))
        delivered, begun = stretch.of("message.delivered"), 0
        broken: list[tuple[int, str]] = []
        for (
            seq,
            kind,
            cluster,
            peer,
            topic,
            subscription,
            client,
            to_ledger,
            to_entry,
            sent_seq,
        ) in stretch.of(*_CONTROL).records(*_COLUMNS):
            upto = int(np.searchsorted(delivered.seqs, seq))
            broken += self._judge(stretch, delivered.take(np.arange(begun, upto)))
            begun, cursor = upto, (cluster, topic, subscription)
            if kind == _APPLIED:
                self._take_in(known, cursor, peer, position(to_ledger, to_entry), sent_seq)
            elif kind == _CONNECTED:
                self.at_connect[*cursor, client] = {
                    peer: dict(acked) for peer, (_place, acked) in self.synced.get(cursor, {}).items()
                }
            else:
                self._forget(stretch, *cursor)
        broken += self._judge(stretch, delivered.take(np.arange(begun, len(delivered))))
        self.resent.finish()
        return broken

    def _take_in(
        self, known: Knowledge, cursor: tuple[int, int, int], peer: int, place: int, sent_seq: int
    ) -> None:
        of_cursor = self.synced.setdefault(cursor, {})
        before, acked = of_cursor.get(peer, (-1, {}))
        if place < before:
            before, acked = -1, {}
            for key, by_peer in self.at_connect.items():
                if key[:3] == cursor:
                    by_peer.pop(peer, None)
        log = known.logs.of(peer, cursor[1])
        for producer, ids in log.messages(log.between(before, place, sent_seq)):
            acked[producer] = acked.get(producer, BitMap()) | BitMap(ids.tolist())
        of_cursor[peer] = place, acked

    def _forget(self, stretch: Stretch, cluster: int, topic: int, subscription: int) -> None:
        """A subscription, or a topic with all its subscriptions, is deleted."""
        if topic == NULL:
            return
        base = PARTITION_SUFFIX.sub("", stretch.name(topic))

        def gone(at: int, log: int, name: int) -> bool:
            same = PARTITION_SUFFIX.sub("", stretch.name(log)) == base
            return at == cluster and same and subscription in (NULL, name)

        self.synced = {key: value for key, value in self.synced.items() if not gone(*key[:3])}
        self.at_connect = {key: value for key, value in self.at_connect.items() if not gone(*key[:3])}

    def _judge(self, stretch: Stretch, delivered: Rows) -> list[tuple[int, str]]:
        broken: list[tuple[int, str]] = []
        for (*connection, producer), rows in delivered.groups(
            "cluster", "topic", "subscription", "client", "producer"
        ):
            ids = rows["sequence_id"]
            for peer, acked in self.at_connect.get(tuple(connection), {}).items():
                again = BitMap(ids.tolist()) & acked.get(producer, BitMap())
                if again:
                    chosen = np.isin(ids, np.array(again.to_array())) & self.resent.unseen(
                        (producer,), ids, rows.seqs
                    )
                    broken += self._words(stretch, rows.take(chosen), connection, peer)
        return broken

    @staticmethod
    def _words(stretch: Stretch, rows: Rows, connection: list[int], peer: int) -> list[tuple[int, str]]:
        cluster, _topic, subscription, client = (stretch.name(number) for number in connection)
        producers, ids = rows["producer"].tolist(), rows["sequence_id"].tolist()
        why = f"which {stretch.name(peer)} had reported as acknowledged by {subscription} before it connected"
        return first_broken(
            rows.seqs,
            lambda number: (
                f"{cluster} handed {client} {stretch.message(producers[number], ids[number])}, {why}"
            ),
        )
