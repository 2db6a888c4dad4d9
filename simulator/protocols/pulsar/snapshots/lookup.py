"""A subscription's use of snapshots: it caches those read, and looks one up when mark-delete moves.

Rules: the cache exists exactly while the subscription is replicated, and is memory only
(`PersistentSubscription`, `ReplicatedSubscriptionSnapshotCache`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from simulator.protocols.pulsar.snapshots.rules import (
    OLDEST_FIRST,
    CachedSnapshot,
    SnapshotCache,
    SubscriptionSeen,
    kept_by,
)
from simulator.scenarios.rule_files import ask

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.markers.entries import Marker

_CACHE_SIZE, _CACHE_SIZE_OLD = 30, 10  # ServiceConfiguration since #25044, and before


class SnapshotLookup:
    """The snapshots of one subscription.

    `last_update_us` is when one was last used for an Update, `used` its positions in the other clusters.
    """

    __slots__ = (
        "cache",
        "last_update_us",
        "runtime",
        "subscription",
        "topic",
        "used",
    )

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        self.cache: SnapshotCache | None = None
        self.last_update_us: int | None = None
        self.used: tuple[tuple[str, int, int], ...] = ()
        if subscription.replicated:
            self.begin()

    @property
    def kept(self) -> list[CachedSnapshot]:
        """The cached snapshots, in order."""
        return [] if self.cache is None else self.cache.snapshots

    def begin(self) -> None:
        """Start the cache: the subscription is now replicated."""
        rule = self.runtime.option("snapshotCacheRule")
        size = self.topic.cluster.setting(
            "replicatedSubscriptionsSnapshotMaxCachedPerSubscription", self.topic
        )
        self.cache = SnapshotCache(
            rule,
            size if size is not None else _CACHE_SIZE_OLD if rule == OLDEST_FIRST else _CACHE_SIZE,
            partial(kept_by, self.runtime.rule),
        )

    def end(self, cause: int) -> None:
        """End the cache: the subscription is no longer replicated."""
        self.drop("switched-off", cause)
        self.cache = None

    def drop(self, reason: str, cause: int) -> None:
        """Drop all cached snapshots."""
        if self.cache is not None:
            for snapshot in self.cache.snapshots:
                self._note_evicted(snapshot, reason, cause)
            self.cache.snapshots = []

    def read(self, marker: Marker, cause: int) -> None:
        """Cache a snapshot marker that the dispatcher read, and look it up at once (#16651).

        The option lookupOnSnapshotArrival switches the look-up off.
        """
        if self.cache is None:
            return
        assert marker.position is not None and marker.snapshot is not None, "a snapshot has both"
        index = self.topic.log.index_of(*marker.position)
        gone = self.cache.add(CachedSnapshot(marker.snapshot, index, marker.clusters, carried=marker.carried))
        seq = self.runtime.rows.snapshot_cached(
            cause, **self.subscription.names, snapshot=marker.snapshot, at=marker.position
        )
        for snapshot, reason in gone:
            self._note_evicted(snapshot, reason, seq)
        if self.runtime.option("lookupOnSnapshotArrival"):
            self.look_up(seq, arrived=True)

    def look_up(self, cause: int, arrived: bool = False) -> None:
        """Write one Update for the newest snapshot at or below the mark-delete, if there is one.

        A rule of one's own may leave it out, or write one without positions when a snapshot has arrived.
        """
        if self.cache is None or not self.topic.loaded:
            return
        snapshot, passed = self.cache.take_up_to(self.subscription.cursor.mark_delete)
        for old in passed:
            self._note_evicted(old, "passed", cause)
        if snapshot is None and not arrived:
            return
        rule = self.runtime.rule
        due = ask(rule, "update_due", SubscriptionSeen(self.subscription), snapshot)
        used = cause
        if snapshot is not None:
            used = self.runtime.rows.snapshot_used(
                cause,
                **self.subscription.names,
                snapshot=snapshot.snapshot,
                at=self.topic.log.position(snapshot.index),
            )
        if not due:
            return
        if self.topic.controller is not None:  # without one the broker drops the snapshot, too
            self.last_update_us = self.runtime.now_us
            if snapshot is not None:
                self.used = snapshot.clusters
            self.topic.controller.write_update(self.subscription, snapshot, used)

    def _note_evicted(self, snapshot: CachedSnapshot, reason: str, cause: int) -> None:
        self.runtime.rows.snapshot_evicted(
            cause, **self.subscription.names, snapshot=snapshot.snapshot, reason=reason
        )
