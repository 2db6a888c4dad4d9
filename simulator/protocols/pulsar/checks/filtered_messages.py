"""A broker filters only messages that are acked, expired or skipped at the cluster that reported them.

Acknowledgement-state sync lets Y skip a message because X reported it as acknowledged. At that row one of
these must hold at X: the application acknowledged it, it expired or was skipped, X had filtered it itself
(covered by the same claim), an Update applied at X had covered it, or it was before the start of X's
subscription.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch, position
from simulator.protocols.pulsar.checks.acked_expired_or_skipped import AckedExpiredOrSkipped
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.strategies import may_sync_acks
from simulator.scenarios.model import Scenario

COVERING = ("subscription.created", "update.applied")
_CREATED = CODE["subscription.created"]


class FilteredMessages(Check):
    """Keeps which messages are acked, expired or skipped at each cluster."""

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
            place = position(ledger, entry) if kind == _CREATED else position(to_ledger, to_entry)
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
