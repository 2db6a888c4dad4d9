"""Pulsar's own tests of replicated subscriptions, case by case, as runs of the lab.

Each must end as Pulsar asserts it.

Read in the newest versions available (mid-2026): ReplicatorSubscriptionTest,
ReplicatedSubscriptionConfigTest, ReplicatedSubscriptionsSnapshotBuilderTest,
ReplicatedSubscriptionSnapshotCacheTest (`test_pulsars_own_cache_cases`). Names of their methods are in each
docstring. Out of scope here: compaction, non-durable readers (a subscription from Earliest takes their
place). Pulsar waits with sleeps of two periods of a second; so do these runs.
"""

import json

import pytest

from simulator.protocols.pulsar.snapshots.controller import FULL, Answered, Building, Complete, Request
from simulator.protocols.pulsar.snapshots.rules import Facts
from tests.simulator.engine_runs import MS, SECOND, do, open_world, rows, subscription, topic

FLAGGED = "replicateSubscriptionState: true"


def regions(
    clusters="{r1: {}, r2: {}}",
    topic_more="",
    flag=FLAGGED,
    producers=None,
    consumers=(),
    type_="Exclusive",
    options="{}",
):
    """Two regions 10 ms apart.

    `producers`: the milliseconds of each cluster's messages (six in r1); consumers as (name, more).
    """
    made = "".join(
        (
            f"  from-{cluster}: {{topic: t, cluster: {cluster}, at: "
            f"[{', '.join(f'{ms}ms' for ms in found)}]}}\n"
        )
        for cluster, found in (producers or {"r1": range(50, 56)}).items()
    )
    read = "".join(
        f"  {name}: {{subscription: s, acknowledgmentGroupTime: 0s, {more}}}\n" for name, more in consumers
    )
    return (
        f"clusters: {clusters}\nlinks: {{default: {{latency: 10ms}}}}\noptions: {options}\ntopics: "
        f"{{t: {{clusters: [r1, r2]{topic_more}}}}}\n"
        f"producers:\n{made}subscriptions:\n  s: {{topic: t, type: {type_}, {flag}}}\n"
        + (f"consumers:\n{read}" if read else "")
    )


def created_in_both(world, replicated=True):
    """createReplicatedSubscription in r1, then r2: a consumer that subscribes and leaves; by default at
    Latest.
    """
    for cluster in ("r1", "r2"):
        do(
            world,
            "subscription.create",
            subscription="s",
            cluster=cluster,
            initialPosition="Latest",
            replicated=replicated,
        )


def received(world, client=None):
    """Sequence ids in the order in which applications got them."""
    wanted = {} if client is None else {"client": client}
    return [row["sequence_id"] for row in rows(world, "message.delivered", **wanted)]


def first_times(numbers):
    return list(dict.fromkeys(numbers))


def last_position(world, cluster):
    return topic(world, cluster)["last_position"]


def completed(world, cluster):
    return [row["snapshot"] for row in rows(world, "snapshot.completed", cluster=cluster)]


def flagged(world, cluster, topic_name="t"):
    """The flag in `topics stats`."""
    return json.loads(world.admin("stats", cluster, topic_name)["text"])["subscriptions"]["s"]["isReplicated"]


# --- ReplicatorSubscriptionTest


def test_across_two_regions_no_message_is_missed():
    """testReplicatedSubscriptionAcrossTwoRegions.

    Six sent, three read in r1, the rest in r2: all received, in order of first receipt.
    """
    world = open_world(
        regions(
            consumers=[
                ("c1", "cluster: r1, start: 100ms, processing: 100ms"),
                ("c2", "cluster: r2, start: 2600ms"),
            ]
        ),
        until="6s",
    )
    created_in_both(world)
    world.run(350 * MS)  # two are processed, the third is delivered, not acked
    do(world, "consumer.stop", consumer="c1")
    world.run()
    assert received(world, "c1") == [0, 1, 2] and first_times(received(world)) == [0, 1, 2, 3, 4, 5]


def test_trailing_markers_are_not_delivered_as_messages():
    """testReplicatedSubscriptionAcrossTwoRegionsGetLastMessage.

    A reader of r2 from the beginning finds six messages, with or without markers.
    """
    two = regions(consumers=[("c1", "cluster: r1, start: 100ms, processing: 100ms, stop: 350ms")])
    two = two.replace(
        "subscriptions:\n",
        "subscriptions:\n  reader: {topic: t, type: Exclusive, initialPosition: Earliest}\n",
    )
    two += "  r: {subscription: reader, cluster: r2, start: 2600ms}\n"
    world = open_world(two, until="6s")
    created_in_both(world)
    world.run()
    assert received(world, "r") == [0, 1, 2, 3, 4, 5]
    assert topic(world, "r2")["counts"]["snapshot_request"] > 0 and last_position(world, "r2").endswith(
        f":{topic(world, 'r2')['length'] - 1}"
    )
    assert subscription(world, "r2", "reader")["backlog"] == 0


def test_switch_to_the_standby_cluster():
    """testReplicatedSubscribeAndSwitchToStandbyCluster: created in r1 only, at Earliest.

    Ten of twenty read there; the Update makes it in r2; all twenty are read in the end, and r2's controller
    was made by markers alone.
    """
    instants = [*range(100, 110), *range(1500, 1510)]
    text = regions(
        producers={"r1": instants},
        consumers=[("c1", "cluster: r1, start: 50ms, processing: 200ms"), ("c2", "cluster: r2, start: 5s")],
    )
    world = open_world(text, until="9s")
    do(
        world,
        "subscription.create",
        subscription="s",
        cluster="r1",
        initialPosition="Earliest",
        replicated=True,
    )
    world.run(1400 * MS)
    assert (
        completed(world, "r1")
        and topic(world, "r2")["controller"] is not None
        and "s" not in topic(world, "r2")["subscriptions"]
    )
    world.run(2200 * MS)  # ten and a bit are processed
    do(world, "consumer.stop", consumer="c1")
    world.run(4 * SECOND)
    assert "s" in topic(world, "r2")["subscriptions"] and 10 <= len(received(world)) < 20
    world.run()
    assert sorted(first_times(received(world))) == list(range(20))


def test_snapshots_stop_without_traffic_and_resume_with_it():
    """testReplicationSnapshotStopWhenNoTraffic: none before the first message.

    After the last of ten, one more and then none; messages published in r2 make them resume, in both regions.
    """
    world = open_world(regions(producers={"r1": range(3100, 3110), "r2": range(9100, 9110)}), until="14s")
    do(
        world,
        "subscription.create",
        subscription="s",
        cluster="r1",
        initialPosition="Latest",
        replicated=True,
    )
    world.run(3 * SECOND)
    assert completed(world, "r1") == [] and rows(world, "marker.written") == []
    world.run(6 * SECOND)
    quiet = {
        cluster: (last_position(world, cluster), completed(world, cluster)[-1]) for cluster in ("r1", "r2")
    }
    world.run(9 * SECOND)
    assert {
        cluster: (last_position(world, cluster), completed(world, cluster)[-1]) for cluster in ("r1", "r2")
    } == quiet
    world.run(12 * SECOND)
    for cluster, (position, snapshot) in quiet.items():
        assert last_position(world, cluster) != position and completed(world, cluster)[-1] != snapshot


@pytest.mark.parametrize("partitions", [0, 2])
def test_the_replicated_flag_is_set_in_each_cluster_separately(partitions):
    """testReplicatedSubscriptionRestApi1 and 2: off in r1 does not change r2.

    Off stays off over an unload; twenty messages are then read completely in both; on in both, and r2 gets
    fewer than all twenty of the next.
    """
    names = [f"t-partition-{number}" for number in range(partitions)] or ["t"]
    instants = [*range(1000, 1020), *range(4000, 4010), *range(9000, 9010)]
    clients = [
        ("c1", "cluster: r1, start: 1500ms, stop: 2s"),
        ("c2", "cluster: r2, start: 2s, stop: 3s"),
        ("d1", "cluster: r1, start: 6500ms, stop: 8s"),
        ("d2", "cluster: r2, start: 12s"),
    ]
    # flag: those consumers subscribe without it
    world = open_world(
        regions(
            producers={"r1": instants},
            flag="replicateSubscriptionState: false",
            consumers=clients,
            topic_more=f", partitions: {partitions}" if partitions else "",
        ),
        until="15s",
    )
    created_in_both(world)
    assert all(flagged(world, cluster, name) for cluster in ("r1", "r2") for name in names)
    do(world, "subscription.replicate", subscription="s", cluster="r1", enabled=False)
    assert not any(flagged(world, "r1", name) for name in names) and all(
        flagged(world, "r2", name) for name in names
    )
    do(world, "subscription.replicate", subscription="s", cluster="r2", enabled=False)
    assert not any(flagged(world, "r2", name) for name in names)
    do(world, "topic.unload", cluster="r1", topic="t")
    assert not any(flagged(world, "r1", name) for name in names)
    world.run(3500 * MS)
    assert (
        sorted(received(world, "c1")) == sorted(received(world, "c2")) == list(range(20))
        and rows(world, "marker.written") == []
    )
    do(world, "subscription.replicate", subscription="s", cluster="r1", enabled=True)
    assert all(flagged(world, "r1", name) for name in names) and not any(
        flagged(world, "r2", name) for name in names
    )
    do(world, "subscription.replicate", subscription="s", cluster="r2", enabled=True)
    world.run()
    assert sorted(received(world, "d1")) == list(range(20, 30)), "at most half of twenty are asked for in r1"
    assert (
        set(received(world, "d1") + received(world, "d2")) == set(range(20, 40))
        and len(received(world, "d2")) < 20
    )


def test_the_replicated_flag_of_one_partition():
    """testGetReplicatedSubscriptionStatus: off for all three partitions, then on for one of them."""
    world = open_world(regions(topic_more=", partitions: 3"), until="2s")
    do(world, "subscription.create", subscription="s", cluster="r1", replicated=True)
    names = [f"t-partition-{number}" for number in range(3)]
    assert [flagged(world, "r1", name) for name in names] == [True, True, True]
    do(world, "subscription.replicate", subscription="s", cluster="r1", enabled=False)
    assert [flagged(world, "r1", name) for name in names] == [False, False, False]
    do(world, "subscription.replicate", subscription="s", cluster="r1", enabled=True, topic="t-partition-2")
    assert [flagged(world, "r1", name) for name in names] == [False, False, True]
    assert [topic(world, "r1", name)["controller"] is not None for name in names] == [False, False, True]
    elsewhere = world.apply(
        {
            "do": "subscription.replicate",
            "subscription": "s",
            "cluster": "r1",
            "enabled": True,
            "topic": "t-partition-7",
        }
    )
    assert not elsewhere.ok and elsewhere.hint


def test_switching_replication_on_where_the_feature_is_off_is_refused():
    """testReplicatedSubscriptionRestApi3.

    set-replicated-subscription-status throws in a cluster whose brokers have the feature off.
    """
    world = open_world(
        regions(
            clusters="{r1: {}, r2: {settings: {enableReplicatedSubscriptions: false}}}",
            flag="replicateSubscriptionState: false",
        ),
        until="2s",
    )
    do(world, "subscription.create", subscription="s", cluster="r2", initialPosition="Latest")
    result = world.apply(
        {"do": "subscription.replicate", "subscription": "s", "cluster": "r2", "enabled": True}
    )
    assert (
        not result.ok
        and "enableReplicatedSubscriptions is false" in result.error
        and not flagged(world, "r2")
    )


def test_a_deleted_subscription_is_created_again_once_the_reverse_replicator_is_connected():
    """testReplicatedSubscriptionWhenReplicatorProducerIsClosed.

    Deleted in r2 while the replicator r2 -> r1 is not connected; after more messages are read in r1 it is
    connected, and the subscription exists again.
    """
    text = regions(producers={"r1": [100, *range(4000, 4006)]}, consumers=[("c1", "cluster: r1")])
    world = open_world(text, until="12s")
    world.run(3 * SECOND)
    assert "s" in topic(world, "r2")["subscriptions"]
    do(world, "subscription.delete", subscription="s", cluster="r2")
    do(world, "link.cut", link="r2 -> r1")
    world.run(3500 * MS)
    assert (
        topic(world, "r2")["replicators"]["r1"]["state"] != "started"
        and "s" not in topic(world, "r2")["subscriptions"]
    )
    do(world, "link.heal", link="r2 -> r1")
    world.run()
    assert (
        topic(world, "r2")["replicators"]["r1"]["state"] == "started"
        and "s" in topic(world, "r2")["subscriptions"]
    )
    assert received(world, "c1") == list(range(7))


def test_markers_are_written_only_while_there_is_a_remote_cluster():
    """testWriteMarkerTaskOfReplicateSubscriptions.

    Without a remote no marker, neither by time nor by acks; with one, snapshots raise the backlog, and acks
    of five of the six messages, beyond the first snapshot, write an Update; without one again, none.
    """
    instants = [*range(500, 503), *range(6000, 6003), *range(9000, 9003), *range(20_000, 20_003)]
    world = open_world(
        regions(
            producers={"r1": instants},
            type_="Shared",
            consumers=[("c1", "cluster: r1, ackTimeout: 60s, acknowledge: individual, processing: 1ms")],
        ),
        until="30s",
    )
    do(world, "replication.remove-cluster", topic="t", cluster="r2")
    do(world, "consumer.pause", consumer="c1")
    world.run(600 * MS)
    before = (last_position(world, "r1"), json.loads(world.admin("stats", "r1")["text"])["backlogSize"])
    world.run(4 * SECOND)
    assert (
        last_position(world, "r1"),
        json.loads(world.admin("stats", "r1")["text"])["backlogSize"],
    ) == before
    do(world, "consumer.resume", consumer="c1")
    world.run(5 * SECOND)
    assert (
        last_position(world, "r1") == before[0]
        and rows(world, "marker.written", cluster="r1") == []
        and subscription(world, "r1")["backlog"] == 0
    )
    do(world, "consumer.pause", consumer="c1")
    do(world, "replication.add-cluster", topic="t", cluster="r2")
    world.run(18 * SECOND)
    asked = completed(world, "r1")
    assert len(asked) >= 2 and rows(world, "update.written", cluster="r1") == []
    acked_at = last_position(world, "r1")
    do(world, "consumer.hold", consumer="c1", messages=["from-r1/8"])
    do(world, "consumer.resume", consumer="c1")
    world.run(19 * SECOND)
    assert rows(world, "update.written", cluster="r1") and last_position(world, "r1") != acked_at
    assert received(world, "c1") == list(range(9)) and subscription(world, "r1")["unacked"] == 1
    do(world, "consumer.release", consumer="c1")
    world.run(19_500 * MS)
    assert subscription(world, "r1")["backlog"] == 0
    do(world, "replication.remove-cluster", topic="t", cluster="r2")
    written = len(rows(world, "marker.written", cluster="r1"))
    world.run()
    assert (
        len(rows(world, "marker.written", cluster="r1")) == written
        and subscription(world, "r1")["backlog"] == 0
    )


def test_a_remote_with_the_feature_off_is_asked_once_per_timeout():
    """testReplicatedSubscriptionOneWay.

    Timer of 100 ms, timeout of 2 s: one pending and one request after 300 ms, two requests 2 s later.
    """
    fast = (
        "{replicatedSubscriptionsSnapshotFrequencyMillis: 100, "
        "replicatedSubscriptionsSnapshotTimeoutSeconds: 2}"
    )
    world = open_world(
        regions(
            clusters=f"{{r1: {{settings: {fast}}}, r2: {{settings: {{enableReplicatedSubscriptions: false}}}}}}",
            producers={"r1": range(50, 56)},
        ),
        until="5s",
    )
    do(
        world,
        "subscription.create",
        subscription="s",
        cluster="r1",
        initialPosition="Latest",
        replicated=True,
    )
    world.run(400 * MS)
    assert (
        len(topic(world, "r1")["controller"]["pending"]) == 1
        and topic(world, "r2")["counts"]["snapshot_request"] == 1
    )
    world.run(2400 * MS)
    assert topic(world, "r2")["counts"]["snapshot_request"] == 2 and completed(world, "r1") == []
    assert topic(world, "r2")["controller"] is None and topic(world, "r2")["counts"]["snapshot_response"] == 0


# --- ReplicatedSubscriptionConfigTest


def test_the_flag_survives_an_unload():
    """createReplicatedSubscription."""
    world = open_world(regions(consumers=[("c1", "cluster: r1")]), until="3s")
    world.run(10 * MS)
    assert flagged(world, "r1")
    do(world, "topic.unload", cluster="r1", topic="t")
    world.run(1 * SECOND)
    assert flagged(world, "r1")


@pytest.mark.parametrize("unload", [False, True])
def test_a_later_consumer_with_the_flag_turns_it_on(unload):
    """upgradeToReplicatedSubscription and …AfterRestart."""
    world = open_world(regions(consumers=[("c2", "cluster: r1, start: 1s")]), until="3s")
    do(world, "subscription.create", subscription="s", cluster="r1", replicated=False)
    world.run(600 * MS)
    assert not flagged(world, "r1")
    if unload:
        do(world, "topic.unload", cluster="r1", topic="t")
    world.run(1100 * MS)
    assert flagged(world, "r1")


def test_with_the_feature_off_the_flag_is_ignored_and_the_consumer_connects():
    """testDisableReplicatedSubscriptions."""
    off = "{settings: {enableReplicatedSubscriptions: false}}"
    world = open_world(
        regions(clusters=f"{{r1: {off}, r2: {off}}}", consumers=[("c1", "cluster: r1")]), until="2s"
    )
    world.run(1 * SECOND)
    assert not flagged(world, "r1") and len(received(world, "c1")) == 6


def test_a_controller_starts_with_a_snapshot_of_existing_data():
    """testSnapshotCanStartBeforeControllerConstructorReturns.

    Data from before, then a replicated subscription: one pending at the first tick.
    """
    world = open_world(regions(consumers=[("c1", "cluster: r1, start: 1500ms")]), until="3s")
    world.run(1500 * MS)
    assert len(topic(world, "r1")["controller"]["pending"]) == 1 and rows(
        world, "marker.written", cluster="r1", at_us=1500 * MS
    )


# --- ReplicatedSubscriptionsSnapshotBuilderTest


def building_of(*remotes):
    """A snapshot of these remotes, requested at 0 by the first tick."""
    building = Building(30_000, 0)
    assert building.tick(Facts(remotes, True, 1, False), 1, 0) == [Request(1, 1)]
    return building


def test_a_snapshot_of_two_clusters():
    """testBuildSnapshotWith2Clusters: one answer completes it."""
    answered = building_of("b").answer(1, "b", (11, 11), False)
    assert answered == [Answered(1, 1), Complete(1, 0, (("b", 11, 11),), FULL)]


def test_a_snapshot_of_three_clusters():
    """testBuildSnapshotWith3Clusters: two rounds.

    Positions of the first, local position of the last answer of the second.
    """
    building = building_of("b", "c")
    assert [
        building.answer(1, *answer, False)
        for answer in (("b", (11, 11)), ("c", (22, 22)), ("b", (33, 33)), ("c", (44, 44)))
    ] == [
        [Answered(1, 1)],
        [Answered(1, 1), Request(1, 2)],
        [Answered(1, 2)],
        [Answered(1, 2), Complete(1, 0, (("b", 11, 11), ("c", 22, 22)), FULL)],
    ]


@pytest.mark.parametrize("age_ms, swept", [(2000, False), (3000, False), (5000, True)])
def test_a_snapshot_times_out(age_ms, swept):
    """testBuildTimeout: with 3 s not yet at 2 s, yes at 5 s."""
    three = "{settings: {replicatedSubscriptionsSnapshotTimeoutSeconds: 3}}"
    world = open_world(
        regions(clusters=f"{{r1: {three}, r2: {{settings: {{enableReplicatedSubscriptions: false}}}}}}"),
        until="9s",
    )
    do(
        world,
        "subscription.create",
        subscription="s",
        cluster="r1",
        initialPosition="Latest",
        replicated=True,
    )
    world.run(1 * SECOND)
    assert rows(world, "snapshot.requested", cluster="r1")[0]["at_us"] == 1 * SECOND
    world.run((1000 + age_ms) * MS)
    assert bool(rows(world, "snapshot.timed-out", cluster="r1")) is swept
