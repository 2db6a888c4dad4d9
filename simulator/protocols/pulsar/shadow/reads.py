"""Where a broker's reads of one topic are served: its entry cache, the bookies, or the offloaded copy.

Rules: a topic's own broker caches the entries that it appends. A shadow's broker caches replicated entries
only with the option `shadowCachesReplicatedEntries` (the proposal; as shipped it does not, #23147). Entries
read from the bookies are cached for the next reader unless `cacheReadsFromBookies` is off. An entry leaves
the cache after managedLedgerCacheEvictionTimeThresholdMillis. A deleted ledger cannot be read: the reader
waits and retries after 15 s, 30 s, then every minute (dispatcherReadFailureBackoff…).
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from simulator.log.ledgers import BEFORE_FIRST, Ledger, SharedColumn, TopicLog
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic


# --- topic names in admin requests: `orders` or `persistent://tenant/namespace/orders`
#
# Rules: a bare name is persistent and in the namespace that the scenario gives it. Whether such a topic
# exists is checked separately.


_PART = "[a-z0-9][a-z0-9-]*"
_FULL = re.compile(rf"(?:(persistent|non-persistent)://({_PART}/{_PART})/)?({_PART})")


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed topic name; with `namespace` None it is in that of the scenario's topic of this name."""

    name: str
    persistent: bool = True
    namespace: str | None = None

    def names_in(self, cluster: Cluster) -> bool:
        """Whether the cluster has a topic of this address."""
        spec = cluster.runtime.scenario.topics.get(self.name)
        if not self.persistent or spec is None or self.namespace not in (None, spec.namespace):
            return False
        return cluster.shape(self.name) is not None


def parse(text: str) -> Address | None:
    """The address in a text; None when it is not one."""
    match = _FULL.fullmatch(text)
    if match is None:
        return None
    domain, namespace, name = match.groups()
    return Address(name, domain != "non-persistent", namespace)


class ShadowLog:
    """A view with the reading side of `TopicLog`.

    `confirmed` is the last confirmed entry as (ledger, entry).

    A shadow topic's view of its source's log: the same entries up to its own last confirmed entry.

    Rules: it stores nothing and copies nothing. Positions and indices are the source's, so cursors mean the
    same entry in both. Its list of ledgers is what it last read of the source's metadata. Closed ledgers are
    the source's own objects. The last one, which may be open, extends to the last announced entry. The last
    confirmed entry may move back (`ShadowManagedLedgerImpl`).
    """

    __slots__ = ("source", "ledgers", "length", "first_kept", "confirmed", "current")

    def __init__(self, source: TopicLog) -> None:
        self.source = source
        self.ledgers: list[Ledger] = []
        self.length = 0
        self.first_kept = 0
        self.confirmed = (BEFORE_FIRST, BEFORE_FIRST)
        self.current: Ledger | None = None  # the source's last ledger, opened for reading only

    @property
    def opened(self) -> Ledger:
        """The source's last ledger, as opened by a loaded shadow."""
        assert self.current is not None, "a shadow is loaded with the ledgers of its source"
        return self.current

    # --- the list of ledgers and the last confirmed entry

    def read_ledgers(self) -> list[Ledger]:
        """Read the source's list of ledgers; returns the removed ones, oldest first.

        A last ledger that is new is opened with no entry confirmed.
        """
        known = self.source.ledgers
        first = known[0]
        gone = [ledger for ledger in self.ledgers if ledger.id < first.id]
        last = known[-1]
        if self.current is None or self.current.id != last.id:
            self.current = Ledger(last.id, last.first_index, last.opened_us)
        self.ledgers = [ledger for ledger in known[:-1] if ledger.entries]
        self.ledgers.append(self.current)
        return gone

    def drop_below(self, index: int) -> None:
        """Entries before `index` are no longer in any ledger of the list."""
        self.first_kept = index
        self.length = max(self.length, index)

    def confirm(self, ledger_id: int, entry: int) -> None:
        """Set the last confirmed entry, which may also move back."""
        self.confirmed = (ledger_id, entry)
        self.length = max(self.source.index_of(ledger_id, entry) + 1, self.first_kept)
        if self.current is not None:
            self.current.entries = max(0, self.length - self.current.first_index)

    def last_of_nonempty(self, entries_of_last: int) -> tuple[int, int]:
        """The last entry of the last nonempty ledger, if the open one has `entries_of_last` entries."""
        if entries_of_last or len(self.ledgers) == 1:
            return self.opened.id, entries_of_last - 1
        ledger = self.ledgers[-2]
        return ledger.id, ledger.entries - 1

    @property
    def last_confirmed(self) -> tuple[int, int]:
        """The last confirmed entry as a topic prints it.

        It is `L:-1` of the newest ledger when its own ledger was deleted.
        """
        if self.ledgers and self.confirmed[0] < self.ledgers[0].id:
            return self.opened.id, BEFORE_FIRST
        return self.confirmed

    # --- positions of the source

    @property
    def records(self) -> SharedColumn:
        """The records of the entries."""
        return self.source.records

    def record(self, index: int) -> int:
        """The record of entry `index`."""
        return self.source.record(index)

    def position(self, index: int) -> tuple[int, int]:
        """See `TopicLog.position`."""
        return self.source.position(index)

    def span(self, index: int) -> tuple[int, int, int]:
        """See `TopicLog.span`."""
        return self.source.span(index)

    def index_of(self, ledger_id: int, entry: int) -> int:
        """See `TopicLog.index_of`."""
        return self.source.index_of(ledger_id, entry)

    def text(self, index: int) -> str:
        """See `TopicLog.text`."""
        return self.source.text(index)

    # --- branches: the source's log handles the columns

    def depart(self) -> None:
        """It has no columns that grow."""

    def cut_back(self) -> None:
        """It has no columns that other worlds of the branch wrote."""

    def share(self, other: ShadowLog) -> None:
        """It has no columns to share."""


# --- where a topic's ledgers are stored: in the bookies, offloaded to tiered storage, or deleted
#
# Rules: only the topic that writes the ledgers offloads or deletes them. Its shadows read them. A broker
# with the same offload driver reads an offloaded ledger from the offloaded copy first (Pulsar's default,
# tiered storage first). Others read the bookies until it is deleted there.


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
                topic.runtime.rows.ledger_offloaded(
                    cause, **topic.names, ledger=ledger.id, count=ledger.entries, reason=driver
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
        topic.runtime.rows.ledger_deleted(
            cause, **topic.names, ledger=ledger.id, count=ledger.entries, reason=by
        )


_MILLISECOND_US = 1_000
RETRY_FIRST_US, RETRY_MAX_US = 15_000_000, 60_000_000


def entry_bytes(topic: Topic, index: int) -> int:
    """Bytes of an entry of the topic that writes it."""
    runtime, record = topic.runtime, topic.log.records[index]
    if record < 0 and runtime.markers[-record - 1].origin == topic.cluster.name:
        return runtime.markers[-record - 1].size_bytes
    if record < 0 or runtime.messages.origin[record] != topic.cluster.index:
        return runtime.trace.row(topic.stored_seqs[index])["size_bytes"]  # a copy is longer
    return runtime.messages.size_bytes[record] * runtime.messages.batch[record]


class Reads:
    """Counts of entries read by one topic's broker since the run began, and its cache."""

    def __init__(self, topic: Topic, owner: Topic) -> None:
        self.topic = topic
        self.owner = owner  # the topic that writes the ledgers: itself, or a shadow's source
        self.from_cache = self.from_bookies = self.from_offload = 0
        self.bookie_bytes = 0
        self.stuck: int | None = None  # the entry that could not be read, until reading continues
        self.retries = 0  # retries in a row
        self.retry_due = False
        self._cached: dict[int, int] = {}  # entry -> when it was cached
        self._order: deque[tuple[int, int]] = deque()

    def clear(self) -> None:
        """The broker failed: its cache is empty."""
        self._cached.clear()
        self._order.clear()
        self.stuck, self.retries, self.retry_due = None, 0, False

    def put(self, index: int) -> None:
        """Cache an entry."""
        now_us = self.topic.runtime.now_us
        self._cached[index] = now_us
        self._order.append((now_us, index))

    def take(self, index: int) -> bool:
        """Read an entry for one cursor; False when it cannot be read."""
        place = self._place_of(index)
        if place == "cache":
            self.from_cache += 1
        elif place == "bookies":
            self.from_bookies += 1
            self.bookie_bytes += self.size_bytes(index)
            if self.topic.runtime.option("cacheReadsFromBookies"):
                self.put(index)
        elif place == "offload":
            self.from_offload += 1
        else:
            self._note_stuck(index, place)
            return False
        return True

    def take_for(self, index: int, cursors: int) -> bool:
        """Read an entry for `cursors` cursors, one after another; False when it cannot be read.

        All reads after the first are served from the same place.
        """
        readable = self.take(index)
        if not readable or cursors == 1:
            return readable
        before = self.from_cache, self.from_bookies, self.from_offload, self.bookie_bytes
        self.take(index)
        after = self.from_cache, self.from_bookies, self.from_offload, self.bookie_bytes
        more = [(new - old) * (cursors - 2) for old, new in zip(before, after, strict=True)]
        self.from_cache, self.from_bookies, self.from_offload, self.bookie_bytes = (
            new + extra for new, extra in zip(after, more, strict=True)
        )
        return True

    def reached_end(self) -> None:
        """A cursor reads beyond the last confirmed entry: a shadow may query the bookies for a later one."""
        if self.topic is not self.owner:
            cast("ShadowTopic", self.topic).wait_for_more()

    def size_bytes(self, index: int) -> int:
        """Bytes of an entry."""
        return entry_bytes(self.owner, index)

    def _place_of(self, index: int) -> str:
        now_us = self.topic.runtime.now_us
        kept_us = (
            self.topic.cluster.setting("managedLedgerCacheEvictionTimeThresholdMillis", self.topic)
            * _MILLISECOND_US
        )
        while self._order and self._order[0][0] < now_us - kept_us:
            at_us, old = self._order.popleft()
            if self._cached.get(old) == at_us:
                del self._cached[old]
        if index in self._cached:
            return "cache"
        if self.topic is self.owner and self.topic.loaded_us <= self._stored_us(index) >= now_us - kept_us:
            return "cache"
        return self.owner.shadows.storage.place_of(index, self.topic)

    def _stored_us(self, index: int) -> int:
        return self.owner.runtime.trace.at_us(self.owner.stored_seqs[index])

    def _note_stuck(self, index: int, why: str) -> None:
        topic = self.topic
        if self.stuck != index:
            self.stuck = index
            topic.runtime.rows.entry_unreadable(NULL, **topic.names, at=topic.log.position(index), reason=why)
        if not self.retry_due:
            self.retry_due = True
            wait_us = min(RETRY_FIRST_US << min(self.retries, 20), RETRY_MAX_US)
            topic.runtime.schedule(topic.runtime.now_us + wait_us, topic.rank, self.read_again, topic.epoch)

    def read_again(self, epoch: int) -> None:
        """Retry after a failed read."""
        if epoch == self.topic.epoch and self.topic.loaded:
            self.retry_due = False
            self.retries += 1
            self.topic.wake_dispatchers(NULL)
            if not self.retry_due:
                self.stuck, self.retries = None, 0
