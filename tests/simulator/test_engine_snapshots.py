"""Tests of snapshots.

When a tick requests one, which topics have a controller, when a snapshot completes and which positions it
has.

Sources: `ReplicatedSubscriptionsController` and `ReplicatedSubscriptionsSnapshotBuilder`. Unless stated
otherwise: clusters a and b, 40 ms each way, a consumer in a that acknowledges at once, a tick each second
from 0 on. `forcedControllerStart: false` leaves b without snapshots of its own, so that only a's markers are
in the logs.
"""

import json

import pytest

from tests.simulator.engine_runs import (
    MS,
    SECOND,
    at_ms,
    do,
    open_world,
    positions,
    rows,
    run,
    subscription,
    topic,
)

CONSUMER = "c1: {acknowledgmentGroupTime: 0s}"
STREAM = "p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 20}"
ONLY_A = "forcedControllerStart: false"


def body(
    producers=STREAM,
    consumers=(CONSUMER,),
    clusters="a, b",
    links="default: {latency: 40ms}",
    settings="",
    options=ONLY_A,
    topic_more="",
    subscription="type: Shared, replicateSubscriptionState: true, initialPosition: Earliest",
    cluster_more="",
):
    """A scenario's text; `consumers` are written without subscription, and without cluster when it is a."""
    names = [name.strip() for name in clusters.split(",")]
    lines = "".join(
        "  "
        + one.replace("{", "{subscription: s, " + ("" if "cluster:" in one else "cluster: a, "), 1)
        + "\n"
        for one in consumers
    )
    return (
        f"clusters: {{{', '.join(f'{name}: {{}}' for name in names)}}}\nsettings: "
        f"{{{settings}}}\noptions: {{{options}}}\nlinks: {{{links}}}\n"
        f"topics: {{t: {{clusters: [{clusters}]{topic_more}}}}}\nproducers:\n  "
        f"{producers}\nsubscriptions: {{s: {{topic: t, {subscription}}}}}\n"
        + (f"consumers:\n{lines}" if lines else "")
    ).replace("b: {}", f"b: {{{cluster_more}}}", 1)


def requested(world, cluster="a", round_=1):
    return at_ms(rows(world, "snapshot.requested", cluster=cluster, count=round_))


def refused(world, cluster="a"):
    return {row["at_us"] / MS: row["reason"] for row in rows(world, "snapshot.refused", cluster=cluster)}


def updates(world, cluster="a"):
    return rows(world, "update.written", cluster=cluster)


# --- the tick (startNewSnapshot)


def test_one_more_snapshot_after_the_last_message_and_then_none():
    # Messages until 1950 ms; the tick at 2 s starts after the last one, completes, and there is no new data
    # from then on.
    world = run(body(), until="6s")
    assert requested(world) == [1000, 2000]
    assert refused(world) == {
        0: "no-new-data",
        3000: "no-new-data",
        4000: "no-new-data",
        5000: "no-new-data",
        6000: "no-new-data",
    }


def test_without_data_no_snapshot_is_requested():
    # #16618: no data ever since load -> no snapshot ever.
    world = run(body(producers="p: {topic: t, cluster: a, paused: true}"), until="5s")
    assert requested(world) == [] and set(refused(world).values()) == {"no-new-data"}


def test_a_message_in_the_millisecond_of_the_start_causes_one_extra_snapshot():
    # Rule 3: data timestamp < start of the last completed one stops; equal does not.
    world = run(body(producers="p: {topic: t, cluster: a, at: [500ms, 2s]}"), until="6s")
    assert requested(world) == [1000, 2000, 3000]


def test_data_between_start_and_completion_causes_another_snapshot():
    world = run(body(producers="p: {topic: t, cluster: a, at: [500ms, 1040ms]}"), until="5s")
    assert requested(world) == [1000, 2000]


def test_a_message_in_the_first_millisecond_counts_as_data():
    # Rule 3: 0 means "never"; the broker's clock is never 0, and a message at the run's first instant is
    # data.
    world = run(body(producers="p: {topic: t, cluster: a, at: [0s]}"), until="4s")
    assert rows(world, "snapshot.completed", cluster="a")
    assert subscription(world, "b")["mark_delete_index"] >= 0


def test_replicated_in_data_counts_and_markers_do_not():
    # startNewSnapshot: the timestamp includes messages replicated in, never markers.
    world = run(body(producers="p: {topic: t, cluster: b, at: [500ms]}"), until="6s")
    assert requested(world) == [1000], "stored in a at 540 ms; the markers of the first snapshot are no data"


@pytest.mark.parametrize("replication, more", [("[a -> b]", ""), ("[a -> b]", ", count: 1")])
def test_with_one_way_replication_a_snapshot_is_requested_once_per_timeout(replication, more):
    # startNewSnapshot, rule 2 and #23839: nothing ever succeeded and one is pending. Requests at 1 s, 32 s,
    # 63 s: the sweep is
    # strict (31 s: 1 + 30 < 31 is false) and happens at ticks only.
    producers = f"p: {{topic: t, cluster: a, start: 50ms, every: 100ms{more}}}"
    world = run(body(producers=producers, topic_more=f", replication: {replication}"), until="70s")
    assert requested(world) == [1000, 32_000, 63_000]
    assert at_ms(rows(world, "snapshot.timed-out")) == [32_000, 63_000]
    assert refused(world)[31_000] == "pending" and rows(world, "snapshot.completed") == []


def test_an_answer_after_the_timeout_and_before_the_next_tick_completes():
    # startNewSnapshot, rule 1, derived: detected only at ticks. Timeout 1 s, answer after 1.6 s, sweep at 3 s
    # (1 + 1 < 2 is false).
    world = run(
        body(settings="replicatedSubscriptionsSnapshotTimeoutSeconds: 1", links="default: {latency: 800ms}"),
        until="5s",
    )
    assert (
        at_ms(rows(world, "snapshot.completed", cluster="a"))[0] == 2600
        and rows(world, "snapshot.timed-out") == []
    )


def test_an_answer_after_the_sweep_is_ignored():
    world = run(
        body(
            producers="p: {topic: t, cluster: a, at: [500ms]}",
            settings="replicatedSubscriptionsSnapshotTimeoutSeconds: 1",
            links="default: {latency: 1100ms}",
        ),
        until="4s",
    )
    assert at_ms(rows(world, "snapshot.timed-out")) == [3000]
    assert [(row["at_us"], row["peer"]) for row in rows(world, "snapshot.answer-ignored")] == [
        (3200 * MS, "b")
    ]


def test_any_number_may_be_pending_after_the_first_success():
    # startNewSnapshot, consequences: with a round trip of 20 s and a period of 1 s one more is pending each
    # second.
    world = open_world(body(producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms}"), until="12s")
    world.run(1500 * MS)
    do(world, "link.slow", link="a <-> b", latency="10s")
    world.run(9500 * MS)
    assert (
        len(topic(world, "a")["controller"]["pending"]) == 8
        and len(rows(world, "snapshot.completed", cluster="a")) == 1
    )
    assert requested(world) == [1000 * number for number in range(1, 10)]


def test_one_broken_replicator_stops_snapshots_for_all():
    # Rule 4; snapshots resume when it is connected again.
    world = open_world(
        body(clusters="a, b, c", producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms}"),
        until="10s",
    )
    world.run(1500 * MS)
    do(world, "link.cut", link="a -> c")
    world.run(4500 * MS)
    assert (
        requested(world) == [1000]
        and [refused(world)[at] for at in (2000, 3000, 4000)] == ["replicator-disconnected"] * 3
    )
    do(world, "link.heal", link="a -> c")
    world.run()
    assert requested(world)[1] > 4500 and len(rows(world, "snapshot.completed", cluster="a")) > 2


def test_the_tick_rules_apply_in_the_brokers_order():
    # Pending before no-new-data before replicator-disconnected: with all three true the first is named.
    world = open_world(
        body(producers="p: {topic: t, cluster: a, at: [500ms]}", topic_more=", replication: [a -> b]"),
        until="10s",
    )
    world.run(1500 * MS)
    do(world, "link.cut", link="a -> b")
    world.run(2500 * MS)
    assert refused(world)[2000] == "pending"
    world = open_world(body(producers="p: {topic: t, cluster: a, at: [500ms]}"), until="10s")
    world.run(1500 * MS)
    do(world, "link.cut", link="a -> b")
    world.run(2500 * MS)
    assert refused(world)[2000] == "no-new-data"


def test_the_snapshot_period_follows_the_setting():
    world = run(body(settings="replicatedSubscriptionsSnapshotFrequencyMillis: 300"), until="2s")
    # the message of 1950 ms is covered by the tick of 2.1 s
    assert requested(world) == [300, 600, 900, 1200, 1500, 1800]


# --- when there is a controller (checkReplicatedSubscriptionControllerState)


def test_forced_start_by_a_remote_marker_and_the_option_without_it():
    # A Request from a starts b's controller, whose own timer ticks from 1.04 s on.
    world = run(body(options=""), until="4s")
    assert [(row["at_us"], row["reason"]) for row in rows(world, "controller.started", cluster="b")] == [
        (1040 * MS, "forced")
    ]
    assert requested(world, "b") == [1040, 2040]
    world = run(body(), until="4s")
    assert requested(world, "b") == [] and rows(world, "snapshot.completed", cluster="a")


def test_no_controller_without_replicated_subscription_without_the_feature_or_with_one_cluster():
    for more in (
        {"subscription": "type: Shared"},
        {"settings": "enableReplicatedSubscriptions: false"},
        {"clusters": "a", "links": ""},
    ):
        world = run(body(**more), until="3s")
        assert rows(world, "controller.started") == [] and rows(world, "marker.written") == [], more
        assert (
            len(rows(world, "message.delivered")) == 20
            and not subscription(world, "a")["replicated"]
            or "clusters" in more
        )


def test_switching_the_replicated_flag_on_and_off():
    # PersistentTopicsBase: the admin call acts on this cluster only; a consumer that subscribes without the
    # flag never turns it off.
    world = open_world(body(subscription="type: Shared"), until="10s")
    world.run(500 * MS)
    do(world, "subscription.replicate", subscription="s", cluster="a", enabled=True)
    world.run(1500 * MS)
    assert requested(world) == [500, 1500], "its first tick has no delay, and the topic holds data"
    do(world, "client.close", client="c1")
    do(world, "consumer.start", consumer="c1")
    assert subscription(world, "a")["replicated"]
    do(world, "subscription.replicate", subscription="s", cluster="a", enabled=False)
    assert topic(world, "a")["controller"] is None
    world.run(4 * SECOND)
    assert requested(world) == [500, 1500]


@pytest.mark.parametrize("covers, asked", [("true", [3000]), ("false", [4000])])
def test_enabling_on_a_topic_with_old_data(covers, asked):
    # 26655: the first tick after activation covers older messages; before, it waits for the next publish if
    # the topic was loaded since. Data until 1950 ms, kept, unload at 2.5 s, enabled at 3 s, next message at
    # 3.5 s. Otherwise the load would trim what every cursor has passed
    kept = "defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: -1"
    more = {
        "subscription": "type: Shared",
        "options": f"{ONLY_A}, initialSnapshotCoversOlder: {covers}",
        "settings": kept,
    }
    text = body(producers=f"{STREAM}\n  q: {{topic: t, cluster: a, at: [3500ms]}}", **more)
    world = open_world(text, until="10s")
    world.run(2500 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run(3000 * MS)
    do(world, "subscription.replicate", subscription="s", cluster="a", enabled=True)
    world.run()
    assert requested(world)[:1] == asked


@pytest.mark.parametrize("covers, asked", [("true", [3000, 4000]), ("false", [3000])])
def test_a_controller_started_on_a_topic_with_data_takes_one_extra_snapshot(covers, asked):
    # #26655 sets the timestamp of the newest data when the controller starts. The first tick is in the same
    # millisecond, and
    # "equal" does not stop a tick: the second one takes a snapshot although the newest message is of 500 ms.
    # Before, the
    # timestamp was that message's own.
    more = {"subscription": "type: Shared", "options": f"{ONLY_A}, initialSnapshotCoversOlder: {covers}"}
    world = open_world(
        body(producers="p: {topic: t, cluster: a, start: 50ms, every: 50ms, count: 10}", **more), until="10s"
    )
    world.run(3000 * MS)
    do(world, "subscription.replicate", subscription="s", cluster="a", enabled=True)
    world.run()
    assert requested(world) == asked


def test_closing_a_controller_neither_completes_nor_times_out_pending_snapshots():
    # ReplicatedSubscriptionsController.close: closing only cancels the timer.
    world = open_world(body(links="default: {latency: 400ms}"), until="5s")
    world.run(1100 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run(40 * SECOND)
    assert [row["snapshot"] for row in rows(world, "snapshot.abandoned")] == [1]
    assert not [
        row for kind in ("snapshot.completed", "snapshot.timed-out") for row in rows(world, kind, snapshot=1)
    ]


# --- building (ReplicatedSubscriptionsSnapshotBuilder)


@pytest.mark.parametrize("there, back", [(40, 40), (40, 100), (300, 5)])
def test_two_clusters_complete_after_one_round_trip(there, back):
    # Derived timing: start + 2L; and the remote mark-delete moves L after the Update is written.
    world = run(body(links=f"a -> b: {{latency: {there}ms}}, b -> a: {{latency: {back}ms}}"), until="3s")
    assert [row["duration_us"] for row in rows(world, "snapshot.completed", cluster="a")][:1] == [
        (there + back) * MS
    ]
    assert rows(world, "update.applied", cluster="b")[0]["at_us"] - updates(world)[0]["at_us"] == there * MS


def test_three_clusters_complete_after_two_of_the_longest_round_trip():
    # start + 2 x max round trip: 80 ms to b, 200 ms to c.
    world = run(
        body(clusters="a, b, c", links="default: {latency: 40ms}, a <-> c: {latency: 100ms}"), until="3s"
    )
    first = rows(world, "snapshot.completed", cluster="a")[0]
    assert (first["at_us"], first["duration_us"]) == (1400 * MS, 400 * MS)
    assert requested(world, round_=2)[0] == 1200


def test_a_snapshot_has_the_local_position_of_the_response_and_the_remotes_last_entry():
    # Messages 0-9 are 192:0-9, the request 192:10, the response 192:11, the snapshot 192:12; in b 1234:0-9,
    # the request
    # 1234:10, which was b's last confirmed entry when it answered.
    world = run(body(producers="p: {topic: t, cluster: a, start: 50ms, every: 50ms, count: 10}"), until="3s")
    completed = rows(world, "snapshot.completed", cluster="a")[0]
    assert (completed["ledger"], completed["entry"]) == (192, 11)
    there = rows(world, "snapshot.position", cluster="a")[0]
    assert (there["peer"], there["to_ledger"], there["to_entry"]) == ("b", 1234, 10)
    assert positions(rows(world, "marker.written", reason="snapshot")) == ["192:12"]


def test_the_answer_waits_for_the_reverse_replicator_and_has_the_last_entry_of_that_instant():
    # ReplicatedSubscriptionsSnapshotBuilder: the request is handled when b's replicator to a reads it. b may
    # have one entry in flight (80 ms each), and 50 of its own are before the request, which arrives at 1040
    # ms; b's last message is published at 1490 ms, long before.
    text = body(
        producers=(
            "p: {topic: t, cluster: a, at: [500ms]}\n  q: {topic: t, cluster: b, start: 1ms, every: 10ms, "
            "count: 150}"
        ),
        cluster_more="settings: {replicationProducerQueueSize: 1}",
    )
    world = run(text, until="30s")
    asked = rows(world, "marker.stored", cluster="b", reason="snapshot_request")[0]
    handled = rows(world, "marker.handled", cluster="b", reason="snapshot_request")[0]
    before = len(
        [row for row in rows(world, "message.stored", cluster="b", producer="q") if row["seq"] < asked["seq"]]
    )
    # q/0 leaves at 1 ms, each next one 80 ms later, the request right after the last of those before it
    assert before == 104 and handled["at_us"] == (1 + 80 * before) * MS
    answer = rows(world, "snapshot.answered", cluster="a")[0]
    assert answer["to_entry"] > asked["entry"] + 40, "entries behind the request are in the answer too"


def test_first_round_positions_are_kept_and_both_rounds_are_one_snapshot():
    text = body(
        clusters="a, b, c",
        producers="p: {topic: t, cluster: b, start: 5ms, every: 10ms, count: 300}",
        options="",
    )
    world = run(text, until="3s")
    completed = rows(world, "snapshot.completed", cluster="a")[0]
    answers = rows(world, "snapshot.answered", cluster="a", snapshot=completed["snapshot"])
    by_round = {(row["peer"], row["count"]): row["to_entry"] for row in answers}
    assert sorted(by_round) == [("b", 1), ("b", 2), ("c", 1), ("c", 2)]
    assert by_round[("b", 2)] > by_round[("b", 1)]
    named = {
        row["peer"]: row["to_entry"]
        for row in rows(world, "snapshot.position", cluster="a", snapshot=completed["snapshot"])
    }
    assert named == {"b": by_round[("b", 1)], "c": by_round[("c", 1)]}
    last = answers[-1]
    assert last["count"] == 2 and (completed["ledger"], completed["entry"]) == (last["ledger"], last["entry"])
    requests = [
        row["marker"]
        for row in rows(world, "marker.written", cluster="a", reason="snapshot_request")
        if row["snapshot"] == completed["snapshot"]
    ]
    ids = {
        json.loads(world.marker(number)["json"])["ReplicatedSubscriptionsSnapshotRequest"]["snapshot_id"]
        for number in requests
    }
    assert len(requests) == 2 and len(ids) == 1, "the second request has the same id"


def test_cluster_lists_are_alphabetical_and_exclude_the_requester():
    # Markers, ReplicatedSubscriptionsSnapshotBuilder: a snapshot's and an Update's lists are sorted by name,
    # and the cluster that took the snapshot is not among them.
    world = run(body(clusters="c, a, b"), until="3s")
    snapshot = rows(world, "marker.written", cluster="a", reason="snapshot")[0]["marker"]
    shown = json.loads(world.marker(snapshot)["json"])
    assert [entry["cluster"] for entry in shown["clusters"]] == ["b", "c"]
    update = json.loads(world.marker(updates(world)[0]["marker"])["json"])
    assert [entry["cluster"] for entry in update["clusters"]] == ["b", "c"] and update[
        "subscription_name"
    ] == "s"


def test_a_repeated_first_round_answer_counts_toward_round_two():
    # ReplicatedSubscriptionsSnapshotBuilder: answers carry no round. b's connection to a breaks before the
    # receipt of its answer is back, so the answer is resent; the second request to b is 3 s late. Both first
    # answers are at a at 1080 ms, where round two begins.
    world = open_world(
        body(clusters="a, b, c", producers="p: {topic: t, cluster: a, at: [500ms]}"), until="8s"
    )
    world.run(1050 * MS)
    do(world, "marker.delay", cluster="a", peer="b", type="snapshot_request", by="3s")
    world.run(1090 * MS)
    do(world, "link.cut", link="b -> a")
    do(world, "link.heal", link="b -> a")
    world.run()
    again_us = rows(world, "replicator.started", cluster="b", peer="a")[-1]["at_us"] + 40 * MS
    from_b = rows(world, "snapshot.answered", cluster="a", peer="b")
    assert [(row["count"], row["at_us"]) for row in from_b] == [(1, 1080 * MS), (2, again_us)]
    assert from_b[0]["to_entry"] == from_b[1]["to_entry"], "it is the very same answer"
    assert rows(world, "snapshot.completed", cluster="a")[0]["at_us"] == again_us
    assert [row["peer"] for row in rows(world, "snapshot.answer-ignored", cluster="a")] == ["b"], (
        "the true one comes too late"
    )
