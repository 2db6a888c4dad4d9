"""Tests of snapshots in use.

The cache, the lookup after an ack, the Update at the remote, markers as entries, and the unsafe partial
snapshot.

The scenarios are those of `test_engine_snapshots`; sources are `ReplicatedSubscriptionSnapshotCache`,
`PersistentSubscription` and `ReplicatedSubscriptionsController`.
"""

from types import SimpleNamespace

import pytest

from simulator.protocols.pulsar.markers.entries import UPDATE, Marker
from simulator.protocols.pulsar.snapshots.rules import (
    OLDEST_FIRST,
    PRESENT,
    SPREAD,
    Arrived,
    CachedSnapshot,
    SnapshotCache,
)
from tests.simulator.engine_runs import (
    MS,
    SECOND,
    at_ms,
    do,
    numbers,
    open_world,
    rows,
    run,
    subscription,
    topic,
)
from tests.simulator.test_engine_snapshots import CONSUMER, ONLY_A, body, refused, updates

# --- the cache (ReplicatedSubscriptionSnapshotCache)


def kept(rule, size, positions_):
    cache = SnapshotCache(rule, size)
    for number, position in enumerate(positions_):
        cache.add(CachedSnapshot(number, position, ()))
    return [snapshot.index for snapshot in cache.snapshots]


@pytest.mark.parametrize(
    "size, expected",
    [
        (3, [10, 30, 1000]),
        (4, [10, 500, 980, 1000]),
        (5, [10, 220, 530, 830, 1000]),
        (10, [10, 90, 170, 290, 390, 530, 620, 730, 860, 1000]),
    ],
)
def test_spread_rule_keeps_the_same_snapshots_as_the_reference_model(size, expected):
    # ReplicatedSubscriptionSnapshotCache: snapshots at 10, 20, …, 1000; d = difference - 1; sums after a
    # removal; ties to the lowest.
    assert kept(SPREAD, size, range(10, 1001, 10)) == expected


def test_spread_rule_clears_the_cache_on_a_position_at_or_below_the_newest():
    assert kept(SPREAD, 5, [10, 20, 30, 30]) == [30]
    assert kept(SPREAD, 5, [10, 20, 30, 15]) == [15]


def test_oldest_first_rule_keeps_the_newest_snapshots():
    assert kept(OLDEST_FIRST, 10, range(10, 1001, 10)) == list(range(910, 1001, 10))


def test_lookup_takes_all_snapshots_at_or_below_the_mark_delete_and_returns_the_last():
    cache = SnapshotCache(SPREAD, 30)
    for number, position in enumerate((10, 20, 30, 40)):
        cache.add(CachedSnapshot(number, position, ()))
    found, passed = cache.take_up_to(30)
    assert (
        found.index == 30
        and [old.index for old in passed] == [10, 20]
        and [old.index for old in cache.snapshots] == [40]
    )
    assert cache.take_up_to(39) == (None, []) and cache.take_up_to(40)[0].index == 40


SLOW = "p: {topic: t, cluster: a, start: 50ms, every: 100ms}"
HOLDS = "c1: {acknowledgmentGroupTime: 0s, hold: {messages: [p/0]}}"


@pytest.mark.parametrize(
    "rule, more, size",
    [
        ("spread", "", 30),
        ("oldest-first", "", 10),
        ("spread", "replicatedSubscriptionsSnapshotMaxCachedPerSubscription: 5", 5),
    ],
)
def test_cache_has_its_configured_size_and_keeps_the_newest(rule, more, size):
    # ServiceConfiguration: 30 (10 under the old rule). p/0 is held, so no snapshot is usable; after 39
    # completed ones the cache is full.
    world = run(
        body(
            producers=SLOW, consumers=[HOLDS], settings=more, options=f"{ONLY_A}, snapshotCacheRule: {rule}"
        ),
        until="40500ms",
    )
    numbers_ = [row["snapshot"] for row in rows(world, "snapshot.completed", cluster="a")]
    cached = [entry["snapshot"] for entry in subscription(world, "a")["cache"]]
    assert len(numbers_) == 40 and len(cached) == size
    if rule == "spread":
        assert (cached[0], cached[-1]) == (numbers_[0], numbers_[-1]), "the first and the last stay"
    else:
        assert cached == numbers_[-10:]


def test_slow_consumer_gets_an_update_under_spread_and_none_under_oldest_first():
    # ReplicatedSubscriptionSnapshotCache, OLD: a subscription whose mark-delete lags more than about 10 x 1 s
    # behind loses every usable snapshot. Released at 30 s.
    for rule, expected in (("spread", 1), ("oldest-first", 0)):
        text = body(
            producers=SLOW,
            consumers=["c1: {acknowledgmentGroupTime: 0s, hold: {messages: [p/0, p/150]}}"],
            options=f"{ONLY_A}, snapshotCacheRule: {rule}",
        )
        world = open_world(text, until="31s")
        world.run(30 * SECOND)
        # the mark-delete moves to p/149 (14.95 s)
        do(world, "consumer.release", consumer="c1", messages=["p/0"])
        assert len(updates(world)) == expected, rule


def test_the_cache_is_lost_permanently_at_unload():
    # ReplicatedSubscriptionSnapshotCache: memory only, and snapshot markers that were read are acked, so they
    # are not read again.
    world = open_world(
        body(producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 40}", consumers=[HOLDS]),
        until="20s",
    )
    world.run(4500 * MS)
    assert len(subscription(world, "a")["cache"]) == 4
    do(world, "topic.unload", cluster="a", topic="t")
    assert {row["reason"] for row in rows(world, "snapshot.evicted")} == {"unloaded"}
    # the client has reconnected; the topic holds data, so one snapshot is taken at the load (#26655)
    world.run(4900 * MS)
    do(world, "consumer.release", consumer="c1")
    world.run(20 * SECOND)
    used = [row["snapshot"] for row in rows(world, "snapshot.used")]
    evicted = {row["snapshot"] for row in rows(world, "snapshot.evicted")}
    assert used and not evicted & set(used)


# --- from ack to Update (PersistentSubscription)


def test_one_update_for_the_newest_usable_snapshot():
    # p/0 is held until 4.5 s; four snapshots are cached by then; the ack passes all of them: one Update, for
    # the last.
    world = open_world(
        body(producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 40}", consumers=[HOLDS]),
        until="20s",
    )
    world.run(4500 * MS)
    assert updates(world) == []
    do(world, "consumer.release", consumer="c1")
    assert [row["snapshot"] for row in updates(world)] == [4]
    assert [row["snapshot"] for row in rows(world, "snapshot.evicted", reason="passed")] == [1, 2, 3]
    world.run(4540 * MS)
    applied = rows(world, "update.applied", cluster="b")[-1]
    named = rows(world, "snapshot.position", snapshot=4)[0]
    assert (applied["to_ledger"], applied["to_entry"]) == (named["to_ledger"], named["to_entry"])


def test_only_the_contiguous_mark_delete_counts():
    # PersistentSubscription: individual acks beyond it are not replicated at all.
    world = run(body(consumers=[HOLDS]), until="5s")
    assert subscription(world, "a")["mark_delete_index"] == -1 and updates(world) == []
    assert "s" not in topic(world, "b")["subscriptions"]


def test_each_subscription_writes_its_own_updates():
    text = body().replace(
        "subscriptions: {", "subscriptions: {s2: {topic: t, type: Shared, replicateSubscriptionState: true}, "
    )
    world = run(
        text.replace(
            "consumers:\n", "consumers:\n  d1: {subscription: s2, cluster: a, acknowledgmentGroupTime: 0s}\n"
        ),
        until="4s",
    )
    assert sorted(row["subscription"] for row in updates(world)) == ["s", "s", "s2", "s2"]


@pytest.mark.parametrize("lookup, written", [("true", [1190]), ("false", [3000])])
def test_a_snapshot_is_looked_up_on_arrival(lookup, written):
    # 16651. One entry at a time leaves a (80 ms): p/0 at 950, the request at 1030, p/1 at 1110, and only at
    # 1190 does the replicator read the response (192:3, stored at 1110). p/2 (192:4, held) is between it and
    # the snapshot marker, so the marker's own ack does not move the mark-delete, which is at 192:3 already: a
    # lookup on arrival finds the snapshot, the next lookup happens only with the ack of p/2.
    text = body(
        producers="p: {topic: t, cluster: a, at: [950ms, 1050ms, 1150ms]}",
        consumers=["c1: {acknowledgmentGroupTime: 0s, hold: {messages: [p/2]}}"],
        settings="replicationProducerQueueSize: 1",
        options=f"{ONLY_A}, lookupOnSnapshotArrival: {lookup}",
    )
    world = open_world(text, until="10s")
    world.run(1900 * MS)
    assert subscription(world, "a")["mark_delete"] == "192:3"
    do(world, "link.cut", link="a <-> b")  # no further snapshot
    world.run(3000 * MS)
    do(world, "consumer.release", consumer="c1")
    assert at_ms(updates(world))[:1] == written


@pytest.mark.parametrize(
    "command",
    [
        {"do": "subscription.skip", "subscription": "s", "cluster": "a", "count": 1},
        {"do": "subscription.clear", "subscription": "s", "cluster": "a"},
        {"do": "subscription.reset", "subscription": "s", "cluster": "a", "position": "latest"},
        {"do": "subscription.reset", "subscription": "s", "cluster": "a", "time": "2s"},
    ],
)
def test_a_reset_by_an_operator_triggers_no_update_and_the_next_ack_does(command):
    # PersistentSubscription. One message (held) and a snapshot at 1 s; a second message at 5 s is the next
    # ack.
    text = body(
        producers="p: {topic: t, cluster: a, at: [500ms, 5s]}",
        consumers=["c1: {acknowledgmentGroupTime: 0s, hold: {messages: [p/0]}}"],
    )
    world = open_world(text, until="10s")
    world.run(3 * SECOND)
    assert len(subscription(world, "a")["cache"]) == 1
    assert world.apply(command).ok
    assert subscription(world, "a")["mark_delete_index"] >= 2 and updates(world) == []
    world.run(4999 * MS)
    assert updates(world) == []
    world.run(5000 * MS)
    assert len(updates(world)) == 1


def test_expiry_triggers_no_update():
    # PersistentSubscription: TTL neither. The check runs each minute here; p/0 and the markers expire.
    text = body(
        producers="p: {topic: t, cluster: a, at: [500ms, 70s]}",
        consumers=["c1: {acknowledgmentGroupTime: 0s, hold: {messages: [p/0]}}"],
        settings="ttlDurationDefaultInSeconds: 10, messageExpiryCheckIntervalInMinutes: 1",
    )
    world = open_world(text, until="80s")
    world.run(69 * SECOND)
    assert [row["reason"] for row in rows(world, "cursor.moved", cluster="a")][-1] == "expiry" and updates(
        world
    ) == []
    world.run(70 * SECOND)
    assert at_ms(updates(world)) == [70_000]


def test_a_backward_reset_is_not_propagated():
    # PersistentSubscription: the remote rejects lower positions.
    world = open_world(body(), until="10s")
    world.run(5 * SECOND)
    before = subscription(world, "b")["mark_delete"]
    do(world, "subscription.reset", subscription="s", cluster="a", position="earliest")
    world.run()
    assert subscription(world, "b")["mark_delete"] == before


# --- the Update at the remote (receiveSubscriptionUpdated)


@pytest.mark.parametrize("creation, mark_delete", [("earliest", "1234:10"), ("latest", "1234:13")])
def test_missing_subscription_is_created(creation, mark_delete):
    # 20767: replicated, at earliest and then moved to the position in the Update; before, at latest without
    # it. Ten messages and the request are 1234:0-10 in b, its response 1234:11, the messages 10 and 11 of
    # 1050 and 1100 ms 1234:12 and 13, then the Update of 1100 ms itself (1140 ms) 1234:14.
    text = body(
        producers=(
            "p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 10}\n  q: {topic: t, cluster: "
            "a, at: "
            "[1050ms, 1090ms]}"
        ),
        options=f"{ONLY_A}, missingSubscriptionCreation: {creation}",
        consumers=["c1: {acknowledgmentGroupTime: 100ms}"],
    )
    world = run(text, until="1200ms")
    created = rows(world, "subscription.created", cluster="b")[0]
    assert (created["at_us"], created["reason"], created["count"]) == (1140 * MS, "update", 1)
    if creation == "earliest":
        assert subscription(world, "b")["mark_delete"] == mark_delete and (
            created["ledger"],
            created["entry"],
        ) == (1234, -1)
    else:
        assert (created["ledger"], created["entry"]) == (1234, 14) and rows(world, "update.applied") == []


def test_a_subscription_deleted_at_the_remote_is_created_again_and_a_local_deletion_is_not_replicated():
    world = open_world(body(producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms}"), until="10s")
    world.run(1500 * MS)
    do(world, "subscription.delete", subscription="s", cluster="b")
    assert "s" not in topic(world, "b")["subscriptions"]
    world.run(2500 * MS)
    assert subscription(world, "b")["replicated"]
    do(world, "client.close", client="c1")
    do(world, "subscription.delete", subscription="s", cluster="a")
    world.run(5000 * MS)
    assert "s" in topic(world, "b")["subscriptions"] and "s" not in topic(world, "a")["subscriptions"]


def test_updates_that_do_not_move_the_remote():
    # receiveSubscriptionUpdated: lower -> refused, equal -> nothing. An operator cleared s in b at 1.5 s; the
    # Update of 2 s is behind.
    world = open_world(body(), until="5s")
    world.run(1950 * MS)
    do(world, "subscription.clear", subscription="s", cluster="b")
    position = subscription(world, "b")["mark_delete"]
    world.run(1990 * MS)
    do(world, "link.slow", link="b -> a", latency="300ms")
    world.run(2200 * MS)
    do(world, "subscription.clear", subscription="s", cluster="b")
    position = subscription(world, "b")["mark_delete"]
    world.run()
    assert [row["reason"] for row in rows(world, "update.refused", cluster="b")] == ["behind-mark-delete"]
    assert subscription(world, "b")["mark_delete"] == position


def test_an_update_beyond_the_last_entry_or_for_other_clusters_is_refused():
    # receiveSubscriptionUpdated: a position beyond the last confirmed entry fails. This cannot happen between
    # clusters that keep their logs, so the marker is created here and passed to b's controller, as its
    # replicator would.
    world = run(body(options=""), until="3s")
    there = world.runtime.clusters["b"].topics["t"]
    before = subscription(world, "b")["mark_delete"]
    for clusters in ((("b", 1234, 1_000),), (("b", 9_999, 0),), (("c", 1, 1),)):
        there.controller.receive(
            Marker(999, UPDATE, "a", None, world.now_us, subscription="s", clusters=clusters), 0, 0
        )
    assert [row["reason"] for row in rows(world, "update.refused", marker=999)] == [
        "beyond-last-entry",
        "beyond-last-entry",
        "not-addressed",
    ]
    assert subscription(world, "b")["mark_delete"] == before


def test_the_update_sent_back_by_the_remote_is_lower_or_equal_and_harmless():
    # receiveSubscriptionUpdated, consequences: with a consumer in b too, acks there write Updates to a, which
    # refuses them or is not moved back.
    world = run(
        body(
            consumers=[CONSUMER, "c2: {cluster: b, acknowledgmentGroupTime: 0s}"],
            options="",
            producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 60}",
        ),
        until="10s",
    )
    assert updates(world, "b") and {row["reason"] for row in rows(world, "update.refused")} <= {
        "behind-mark-delete",
        "equal",
    }
    for cluster in "ab":
        moved = rows(world, "cursor.moved", cluster=cluster)
        assert all((row["ledger"], row["entry"]) < (row["to_ledger"], row["to_entry"]) for row in moved)


def test_the_remote_subscription_need_not_be_flagged_as_replicated():
    # receiveSubscriptionUpdated: no check on whether that subscription is flagged at B.
    world = open_world(body(), until="5s")
    do(
        world,
        "subscription.create",
        subscription="s",
        cluster="b",
        initialPosition="Earliest",
        replicated=False,
    )
    world.run()
    assert not subscription(world, "b")["replicated"] and rows(world, "update.applied", cluster="b")


# --- markers are entries (AbstractBaseDispatcher)


def test_markers_count_as_backlog_until_a_dispatcher_reads_them():
    # b's subscription has no consumer: entries after the position of the last Update stay, markers included.
    world = run(body(), until="5s")
    seen = subscription(world, "b")
    last = topic(world, "b")["length"] - 1
    assert seen["backlog"] == last - seen["mark_delete_index"] > 0
    assert all(
        row["ledger"] == 1234 and row["entry"] > seen["mark_delete_index"]
        for row in rows(world, "marker.stored", cluster="b")[-1:]
    )
    do(world, "subscription.fail-over", subscription="s", from_="a", to="b", mode="planned")
    world.run(6 * SECOND)
    assert subscription(world, "b")["backlog"] == 0


def test_markers_read_ahead_are_individually_deleted():
    # AbstractBaseDispatcher: markers are read up to a receiver queue ahead of the acks and acked at once.
    # Processing takes 10 s; after
    # 1.5 s nothing is acknowledged, and request, response and snapshot (192:10, 11, 12) are individually
    # deleted.
    world = run(
        body(
            producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 10}",
            consumers=["c1: {processing: 10s}"],
        ),
        until="1500ms",
    )
    seen = subscription(world, "a")
    assert (seen["mark_delete"], seen["individually_deleted"], seen["backlog"]) == (
        "192:-1",
        "[(192:9..192:12]]",
        10,
    )
    assert [entry["position"] for entry in seen["cache"]] == ["192:11"]


def test_a_full_consumer_reads_no_markers():
    world = run(
        body(
            producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 10}",
            consumers=["c1: {processing: 10s, receiverQueueSize: 5}"],
        ),
        until="1500ms",
    )
    assert (
        subscription(world, "a")["cache"] == [] and subscription(world, "a")["individually_deleted"] == "[]"
    )


def test_a_subscription_that_is_not_replicated_acks_markers_without_caching():
    text = body().replace("subscriptions: {", "subscriptions: {s2: {topic: t, type: Shared}, ")
    world = run(
        text.replace(
            "consumers:\n", "consumers:\n  d1: {subscription: s2, cluster: a, acknowledgmentGroupTime: 0s}\n"
        ),
        until="4s",
    )
    assert (
        subscription(world, "a", "s2")["backlog"] == 0
        and rows(world, "snapshot.cached", subscription="s2") == []
    )
    assert rows(world, "marker.filtered", subscription="s2") and {
        row["client"] for row in rows(world, "message.delivered")
    } == {"c1", "d1"}


# --- unsafe: finished with the answers received so far


LATE = "default: {latency: 40ms}, b -> a: {latency: 2s}"


def pip_33_example(options, *commands, until="8s"):
    """M1-b (q/0, published in b at 900 ms) is in c at 940 ms and in a at 2.9 s; a requests a snapshot at 1
    s. a crashes at 2.5 s; s moves to c.
    """
    text = body(
        clusters="a, b, c",
        links=LATE,
        options=options,
        producers="p: {topic: t, cluster: a, at: [500ms]}\n  q: {topic: t, cluster: b, at: [900ms]}",
    )
    world = open_world(text, until=until)
    for at_us, command in commands:
        world.run(at_us)
        assert world.apply(command).ok
    return world


def move_to_c(world, at_us):
    world.run(at_us)
    do(world, "cluster.crash", cluster="a")
    do(world, "subscription.fail-over", subscription="s", from_="a", to="c", mode="crash")
    world.run(8 * SECOND)
    found = world.summary()["failovers"][0]
    return (
        found["lost"],
        found["lost_by_cause"]["cursor_moved_past"],
        numbers(rows(world, "message.delivered", cluster="c", producer="q")),
    )


def test_partial_snapshot_loses_m1_b_for_consumers_that_move_to_c():
    # The tick at 2 s finishes the snapshot of 1 s with c's answer alone (c's position covers M1-b, which a
    # does not have).
    world = pip_33_example("unsafePartialSnapshotAfter: 500ms")
    assert move_to_c(world, 2500 * MS) == (1, 1, [])
    assert rows(world, "snapshot.completed", cluster="a")[0]["reason"] == "partial"


def test_a_partial_snapshot_by_command_does_the_same():
    command = {"do": "snapshot.finish-partial", "cluster": "a", "topic": "t"}
    world = pip_33_example("", (1500 * MS, command))
    assert move_to_c(world, 2500 * MS) == (1, 1, [])


@pytest.mark.parametrize("at_ms_", [2500, 3500, 6500])
def test_two_rounds_lose_nothing(at_ms_):
    # Before the snapshot completes, c starts at the beginning; after it, M1-b was in a before the local
    # position.
    world = pip_33_example("")
    lost, past, delivered = move_to_c(world, at_ms_ * MS)
    assert (lost, past) == (0, 0)
    assert delivered == [0] or rows(world, "message.acknowledged", cluster="a", producer="q")


def test_partial_snapshots_continue_without_a_disconnected_remote():
    world = open_world(
        body(
            clusters="a, b, c",
            options=f"{ONLY_A}, unsafePartialSnapshotAfter: 2s",
            producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms}",
        )
    )
    world.run(1500 * MS)
    do(world, "cluster.crash", cluster="c")
    world.run(6 * SECOND)
    assert [row["reason"] for row in rows(world, "snapshot.completed", cluster="a")][:3] == [
        "full",
        "partial",
        "partial",
    ]
    assert "replicator-disconnected" not in refused(world).values()


def test_an_update_into_deleted_ledgers_is_behind_a_cursor_recovered_after_a_crash():
    """The recovered cursor is at `<first ledger kept>:-1`, though its last persisted position is further
    back.
    """
    recovered = SimpleNamespace(mark_delete=3, topic=SimpleNamespace(first_kept=9))
    applied = [PRESENT.update_applies(Arrived("b", recovered, index, False, ())) for index in (2, 3, 8, 9)]
    assert [one.up_to or one.refused for one in applied] == [
        "behind-mark-delete",
        "equal",
        "behind-mark-delete",
        9,
    ]
