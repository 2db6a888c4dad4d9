"""Where a topic's ledgers are stored: in the bookies, offloaded to tiered storage, or deleted.

Rules: only the topic that writes the ledgers offloads or deletes them. Its shadows read them. A broker with
the same offload driver reads an offloaded ledger from the offloaded copy first (Pulsar's default, tiered
storage first). Others read the bookies until it is deleted there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.log.ledgers import Ledger
    from simulator.protocols.pulsar.broker.topic import Topic

NO_DRIVER, OFFLOADER = "none", "offloader"
DRIVER = "managedLedgerOffloadDriver"


def driver_of(topic: Topic) -> str:
    """The offload driver that a topic's broker uses for it."""
    return topic.cluster.setting(DRIVER, topic)


class Storage:
    """The ledgers of one topic by id."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.offloaded: dict[int, str] = {}  # ledger -> driver that wrote the copy
        self.gone_from_bookies: dict[int, str] = {}  # ledger -> what deleted it

    def place_of(self, index: int, reader: Topic) -> str:
        """Where `reader` can read an entry: "bookies" or "offload", otherwise why it cannot."""
        if index < self.topic.log.first_kept:
            return "ledger-deleted"
        if not self.offloaded and not self.gone_from_bookies:
            return "bookies"
        ledger = self.topic.log.position(index)[0]
        driver = self.offloaded.get(ledger)
        if driver is not None and driver == driver_of(reader):
            return "offload"
        if ledger not in self.gone_from_bookies:
            return "bookies"
        return "ledger-deleted" if driver is None else "offload-driver"

    def offload(self, ledgers: list[Ledger], driver: str, delete: bool, cause: int) -> bool:
        """Copy closed ledgers by `driver`, and with `delete` delete them from the bookies.

        Returns True when anything changed.
        """
        topic, changed = self.topic, False
        for ledger in ledgers:
            if ledger.id not in self.offloaded:
                self.offloaded[ledger.id] = driver
                topic.runtime.note(
                    "ledger.offloaded",
                    cause,
                    topic.cluster.number,
                    topic.number,
                    ledger.id,
                    ledger.entries,
                    driver,
                )
                changed = True
            if delete and ledger.id not in self.gone_from_bookies:
                self.delete(ledger, OFFLOADER, cause)
                changed = True
        return changed

    def delete(self, ledger: Ledger, by: str, cause: int) -> None:
        """Delete a ledger's entries from the bookies.

        `by` is what deleted them: the offloader, or a shadow that should not have.
        """
        self.gone_from_bookies[ledger.id] = by
        topic = self.topic
        topic.runtime.note(
            "ledger.deleted", cause, topic.cluster.number, topic.number, ledger.id, ledger.entries, by
        )
