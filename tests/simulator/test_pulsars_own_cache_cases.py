"""Pulsar's own tests of the snapshot cache (ReplicatedSubscriptionSnapshotCacheTest, new and old), on the lab's cache.

Positions `L:E` of Pulsar's cases become indices. Its tests measure distances as differences of entry ids, the
lab's as entries between, one less each; which entry is removed is the same.
"""

import random

import pytest

from simulator.protocols.pulsar.snapshots.rules import OLDEST_FIRST, SPREAD, CachedSnapshot, SnapshotCache


def cache_of(size, indices, rule=SPREAD):
    cache = SnapshotCache(rule, size)
    for index in indices:
        cache.add(CachedSnapshot(index, index, ()))
    return cache


def kept(cache):
    return [snapshot.index for snapshot in cache.snapshots]


def found(cache, mark_delete):
    """The position of the snapshot found for a moved mark-delete; None when none is found."""
    snapshot, _passed = cache.take_up_to(mark_delete)
    return snapshot.index if snapshot else None


@pytest.mark.parametrize("rule", [SPREAD, OLDEST_FIRST])
def test_a_lookup_takes_the_newest_snapshot_at_or_below_the_mark_delete(rule):
    """testSnapshotCache: 1:1, 2:2, 5:5, 7:7 as 11, 22, 55, 77."""
    cache = cache_of(10, [], rule)
    assert found(cache, 0) is None and found(cache, 1000) is None
    cache = cache_of(10, [11, 22, 55, 77], rule)
    assert [found(cache, mark_delete) for mark_delete in (0, 10, 11, 56, 22, 55)] == [
        None,
        None,
        11,
        55,
        None,
        None,
    ]


def test_pruning_keeps_the_first_and_the_last():
    """testSnapshotCachePruning: of four evenly spaced snapshots in a cache of three the second is removed."""
    cache = cache_of(3, [1, 2, 3, 4])
    assert found(cache, 2) == 1 and found(cache, 5) == 4


def test_pruning_of_older_releases_drops_the_first():
    """testSnapshotCachePruning before #25044."""
    cache = cache_of(3, [1, 2, 3, 4], OLDEST_FIRST)
    assert found(cache, 1) is None and found(cache, 2) == 2 and found(cache, 5) == 4


def test_a_snapshot_read_again_replaces_itself_in_older_releases():
    """The cache was a TreeMap by position before #25044: `put` replaces, so nothing else is removed."""
    cache = cache_of(3, [1, 2, 3], OLDEST_FIRST)
    again = CachedSnapshot(1, 1, ())
    assert [old.index for old, _reason in cache.add(again)] == [1] and cache.snapshots[0] is again
    assert kept(cache) == [1, 2, 3] and found(cache, 3) == 3


def test_pruning_step_by_step():
    """testSnapshotCachePruningScenarios.

    Which one is removed with each new snapshot; one before the tail leaves only itself.
    """
    cache = cache_of(5, [1, 2, 10, 15, 25])
    for added, gone in ((100, 2), (110, 10), (112, 110), (113, 112), (200, 15)):
        before = kept(cache)
        cache.add(CachedSnapshot(added, added, ()))
        assert kept(cache) == [index for index in (*before, added) if index != gone]
    cache.add(CachedSnapshot(50, 50, ()))
    assert kept(cache) == [50]


def test_a_merged_distance_is_the_sum_and_not_the_distance_of_the_positions():
    """`removeSingleEntryWithMinimumTotalDistanceToPreviousAndNext` adds the two distances of the entry
    that it drops, so 0 to 20 counts 9 + 9 entries, not 19: then 20 and 30 tie at 27, and the lower one
    is removed.
    """
    cache = cache_of(3, [0, 10, 20, 30])
    assert kept(cache) == [0, 20, 30]
    cache.add(CachedSnapshot(49, 49, ()))
    assert kept(cache) == [0, 30, 49]


def test_a_merged_distance_of_zero_stays_zero():
    """The entries between are 0, 0, 1, 0, 0.

    1 is removed with 0 + 0, and 2 keeps that sum. 2 and 4 tie at 0 + 1, and the lower one is removed; 4 keeps
    that sum. Of 4 with 1 + 0 and 5 with 0 + 0, 5 is removed.
    """
    cache = cache_of(3, [0, 1, 2, 4])
    assert kept(cache) == [0, 2, 4]
    cache.add(CachedSnapshot(5, 5, ()))
    assert kept(cache) == [0, 4, 5]
    cache.add(CachedSnapshot(6, 6, ()))
    assert kept(cache) == [0, 4, 6]


def test_the_distances_to_both_neighbours_add_up():
    """The entries between are 3, 3, 4, 1: the snapshot at 13 is closest to its neighbours with 4 + 1."""
    assert kept(cache_of(4, [0, 4, 8, 13, 15])) == [0, 4, 8, 15]


def test_a_snapshot_at_the_newest_position_clears_the_cache():
    """`addNewSnapshot`: a position at or below the tail's means that the cursor was reset."""
    cache = cache_of(4, [3, 7])
    cleared = cache.add(CachedSnapshot(99, 7, ()))
    assert [(old.index, reason) for old, reason in cleared] == [(3, "cursor-reset"), (7, "cursor-reset")]
    assert [snapshot.snapshot for snapshot in cache.snapshots] == [99]


def test_a_lookup_returns_the_older_snapshots_that_it_passed():
    snapshot, passed = cache_of(5, [1, 4, 6, 9]).take_up_to(8)
    assert snapshot.index == 6 and [one.index for one in passed] == [1, 4]


def test_distances_stay_even():
    """testSnapshotCachePruningByKeepingEqualDistance, with 100 of 5,000 in place of 10,000 of a million."""
    chance = random.Random(33)
    indices, at = [], 0
    for _ in range(5_000):
        indices.append(at)
        at += 100 + chance.randrange(1_000)
    cache = cache_of(100, indices)
    left = kept(cache)
    distance = left[-2] - left[1]
    average = distance // len(left)
    assert len(left) == 100 and left[0] == 0 and left[-1] == indices[-1]
    assert all(after - before <= 2 * average for before, after in zip(left[:-1], left[1:-1], strict=False))
    mark_delete = left[1] + chance.randrange(distance)
    assert mark_delete - found(cache, mark_delete) <= 2 * average


def test_a_lookup_at_or_beyond_the_first_snapshot_always_finds_one():
    """testSnapshotCacheStressTest, with a cache of 50 and 20,000 snapshots."""
    chance = random.Random(7)
    cache, at, added = SnapshotCache(SPREAD, 50), 0, 0
    while added < 20_000:
        first = at
        for _ in range(1 + chance.randrange(100)):
            cache.add(CachedSnapshot(added, at, ()))
            added += 1
            at += 100 + chance.randrange(1_000)
        assert found(cache, first + chance.randrange(at - first)) is not None
