"""The first receipt of each ledger: from then on the replicator needs no earlier ledger.

Rules: a receipt has no event of its own, except the first one of a ledger while an earlier ledger is kept,
because the earlier ones may be deleted then (`ManagedLedgerImpl.internalTrimLedgers`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.storage import retention
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator


class LedgerReceipts:
    """`ledger` is the ledger of the last receipts, NULL while only one is kept."""

    __slots__ = ("replicator", "ledger")

    def __init__(self, replicator: Replicator) -> None:
        self.replicator = replicator
        self.ledger = NULL

    def expect(self, index: int, receipt_us: int) -> None:
        """The receipt of entry `index` arrives at this instant; several ledgers are kept."""
        replicator = self.replicator
        log = replicator.topic.log
        if index < log.ledgers[1].first_index:
            return
        ledger = log.position(index)[0]
        if ledger != self.ledger:
            self.ledger = ledger
            replicator.runtime.schedule(
                receipt_us, replicator.rank, self.first_arrived, (replicator.connection, index)
            )

    def first_arrived(self, argument: tuple[int, int]) -> None:
        """The first receipt of a ledger has arrived."""
        connection, index = argument
        if connection == self.replicator.connection:
            retention.passed_border(self.replicator.topic, index, NULL)
