"""Where a broker's reads of one topic are served: its entry cache, the bookies, or the offloaded copy.

Rules: a topic's own broker caches the entries that it appends. A shadow's broker caches replicated entries
only with the option `shadowCachesReplicatedEntries` (the proposal; as shipped it does not, #23147). Entries
read from the bookies are cached for the next reader unless `cacheReadsFromBookies` is off. An entry leaves
the cache after managedLedgerCacheEvictionTimeThresholdMillis. A deleted ledger cannot be read: the reader
waits and retries after 15 s, 30 s, then every minute (dispatcherReadFailureBackoff…).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic

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
            topic.runtime.note(
                "entry.unreadable", NULL, topic.cluster.number, topic.number, *topic.log.position(index), why
            )
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
