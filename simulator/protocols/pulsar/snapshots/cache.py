"""A subscription's snapshot cache: which snapshots it keeps, and which one an ack may use.

The source is `ReplicatedSubscriptionSnapshotCache`.

Rules: memory only. Plain data. Positions are indices in the local log. `spread` (4.0.9, 4.1.3 on) drops the
inner entry whose neighbours are closest. `oldest-first` (before) drops the oldest.
"""

from __future__ import annotations

from collections.abc import Callable
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
    carried: tuple[int, ...] = ()  # numbers that the rule put into the marker


Keeps = Callable[[list[CachedSnapshot], int, str], list[CachedSnapshot]]
"""Which snapshots a cache keeps of those given, with its size and cache rule."""


def kept_by_cache_rule(snapshots: list[CachedSnapshot], most: int, cache_rule: str) -> list[CachedSnapshot]:
    """The snapshots that Pulsar keeps after one was added."""
    if len(snapshots) > most:
        snapshots.pop(0 if cache_rule == OLDEST_FIRST else _closest(snapshots))
    return snapshots


def _closest(kept: list[CachedSnapshot]) -> int:
    """The inner entry with the smallest distance between its neighbours, the lowest of equals."""
    for before, after in zip(kept, kept[1:], strict=False):
        if after.distance == UNKNOWN:
            after.distance = after.index - before.index - 1
    closest = min(
        range(1, len(kept) - 1),
        key=lambda place: (kept[place].distance + kept[place + 1].distance, place),
    )
    # The sum, not the difference of positions: each merge is one short, as in the broker.
    kept[closest + 1].distance += kept[closest].distance
    return closest


class SnapshotCache:
    """Snapshots in the order of their arrival, local positions strictly increasing."""

    def __init__(self, rule: str, size_max: int, keeps: Keeps = kept_by_cache_rule) -> None:
        self.rule = rule
        self.size_max = size_max
        self.keeps = keeps
        self.snapshots: list[CachedSnapshot] = []

    def add(self, snapshot: CachedSnapshot) -> list[tuple[CachedSnapshot, str]]:
        """Add a snapshot; returns the removed ones, each with the reason."""
        if self.rule == OLDEST_FIRST:
            gone = self._insert(snapshot)
        else:
            gone = []
            if self.snapshots and snapshot.index <= self.snapshots[-1].index:
                gone = [(old, "cursor-reset") for old in self.snapshots]
                self.snapshots = []
            self.snapshots.append(snapshot)
        before = self.snapshots
        self.snapshots = self.keeps(list(before), self.size_max, self.rule)
        if len(self.snapshots) < len(before):
            kept = {one.index: one for one in self.snapshots}
            gone += [(one, "cache-rule") for one in before if one.index not in kept]
        return gone

    def _insert(self, snapshot: CachedSnapshot) -> list[tuple[CachedSnapshot, str]]:
        """Insert it in order; it replaces one at the same position, which is read again after a reset."""
        same = [kept for kept in self.snapshots if kept.index == snapshot.index]
        others = [kept for kept in self.snapshots if kept.index != snapshot.index]
        self.snapshots = sorted((*others, snapshot), key=lambda kept: kept.index)
        return [(old, "cursor-reset") for old in same]

    def take_up_to(self, mark_delete: int) -> tuple[CachedSnapshot | None, list[CachedSnapshot]]:
        """Remove all at or below `mark_delete`: the newest of them is usable, the others are obsolete."""
        usable = [kept for kept in self.snapshots if kept.index <= mark_delete]
        if not usable:
            return None, []
        self.snapshots = self.snapshots[len(usable) :]
        return usable[-1], usable[:-1]
