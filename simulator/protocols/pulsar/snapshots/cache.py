"""A subscription's snapshot cache: which snapshots it keeps, and which one an ack may use.

The source is `ReplicatedSubscriptionSnapshotCache`.

Rules: memory only. Plain data. Positions are indices in the local log. `spread` (4.0.9, 4.1.3 on) drops the
inner entry whose neighbours are closest. `oldest-first` (before) drops the oldest.
"""

from __future__ import annotations

from dataclasses import dataclass

SPREAD, OLDEST_FIRST = "spread", "oldest-first"
UNKNOWN = -1


@dataclass(slots=True)
class CachedSnapshot:
    """A cached snapshot.

    `distance` counts the entries between its predecessor and itself, UNKNOWN until the cache is full.
    """

    snapshot: int
    index: int
    clusters: tuple[tuple[str, int, int], ...]
    distance: int = UNKNOWN


class SnapshotCache:
    """Snapshots in the order of their arrival, local positions strictly increasing."""

    def __init__(self, rule: str, size_max: int) -> None:
        self.rule = rule
        self.size_max = size_max
        self.snapshots: list[CachedSnapshot] = []

    def add(self, snapshot: CachedSnapshot) -> list[tuple[CachedSnapshot, str]]:
        """Add a snapshot; returns the removed ones, each with the reason."""
        if self.rule == OLDEST_FIRST:
            return self._add_oldest_first(snapshot)
        gone: list[tuple[CachedSnapshot, str]] = []
        if self.snapshots and snapshot.index <= self.snapshots[-1].index:
            gone = [(old, "cursor-reset") for old in self.snapshots]
            self.snapshots = []
        self.snapshots.append(snapshot)
        if len(self.snapshots) > self.size_max:
            gone.append((self._remove_closest(), "cache-rule"))
        return gone

    def _add_oldest_first(self, snapshot: CachedSnapshot) -> list[tuple[CachedSnapshot, str]]:
        """Add it in order; it replaces one at the same position, which is read again after a reset."""
        same = [kept for kept in self.snapshots if kept.index == snapshot.index]
        others = [kept for kept in self.snapshots if kept.index != snapshot.index]
        self.snapshots = sorted((*others, snapshot), key=lambda kept: kept.index)
        gone = [(old, "cursor-reset") for old in same]
        if len(self.snapshots) > self.size_max:
            gone.append((self.snapshots.pop(0), "cache-rule"))
        return gone

    def _remove_closest(self) -> CachedSnapshot:
        """Drop the inner entry with the smallest distance between its neighbours, the lowest of equals."""
        kept = self.snapshots
        for before, after in zip(kept, kept[1:], strict=False):
            if after.distance == UNKNOWN:
                after.distance = after.index - before.index - 1
        closest = min(
            range(1, len(kept) - 1),
            key=lambda place: (kept[place].distance + kept[place + 1].distance, place),
        )
        removed = kept.pop(closest)
        # The sum, not the difference of positions: each merge is one short, as in the broker.
        kept[closest].distance += removed.distance
        return removed

    def take_up_to(self, mark_delete: int) -> tuple[CachedSnapshot | None, list[CachedSnapshot]]:
        """Remove all at or below `mark_delete`: the newest of them is usable, the others are obsolete."""
        usable = [kept for kept in self.snapshots if kept.index <= mark_delete]
        if not usable:
            return None, []
        self.snapshots = self.snapshots[len(usable) :]
        return usable[-1], usable[:-1]
