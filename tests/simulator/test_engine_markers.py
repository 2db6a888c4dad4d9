"""Tests of markers between clusters.

Which cluster receives which marker, time to live, drops and delays by an operator (`Markers`,
`GeoPersistentReplicator`).
"""

from tests.simulator.engine_runs import MS, at_ms, do, open_world, rows
from tests.simulator.test_engine_replication import body


def marked(until="10s", **more):
    more.setdefault(
        "more",
        (
            "subscriptions: {s: {topic: t, type: Shared, replicateSubscriptionState: true}}\nconsumers: {c1: "
            "{subscription: s, cluster: a}}\n"
        ),
    )
    return open_world(body(**more), until)


def test_requests_and_updates_go_to_all_remotes_responses_to_the_requester_and_snapshots_nowhere():
    # `Markers`, `replicate_to`: requests and updates to all remotes, a response to its requester, a
    # snapshot nowhere.
    world = marked(
        clusters="a, b, c", producers="p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 60}"
    )
    world.run()
    sent = {
        (row["reason"], row["cluster"], row["peer"])
        for row in rows(world, "marker.sent")
        if row["marker"] in {row["marker"] for row in rows(world, "marker.written", cluster="a")}
    }
    # a's responses go to the requester: b and c take snapshots of their own (forced start)
    assert sent == {
        (kind, "a", peer)
        for kind in ("snapshot_request", "snapshot_response", "subscription_update")
        for peer in "bc"
    }
    to = {}
    for row in rows(world, "marker.sent", reason="snapshot_response"):
        to.setdefault(row["marker"], set()).add(row["peer"])
    assert all(len(peers) == 1 for peers in to.values())
    homes = {(row["reason"], row["cluster"]) for row in rows(world, "marker.stored")}
    assert not any(kind == "snapshot" for kind, _cluster in homes)


def test_markers_are_subject_to_time_to_live():
    # GeoPersistentReplicator: "past TTL -> skip (markers too)". The queue of one is stuck behind a link of 2
    # s, so the Request of the tick at 1 s is read after more than a second.
    world = marked(
        producers="p: {topic: t, cluster: a, at: [900ms, 950ms]}",
        latency="2s",
        settings="ttlDurationDefaultInSeconds: 1, replicationProducerQueueSize: 1",
    )
    world.run()
    assert rows(world, "marker.written", cluster="a", reason="snapshot_request")
    assert rows(world, "marker.sent", cluster="a", reason="snapshot_request") == []


def test_a_marker_can_be_dropped_or_delayed_by_command():
    world = marked()
    do(world, "marker.drop", cluster="a", type="snapshot_request")
    world.run(1500 * MS)
    assert len(rows(world, "marker.dropped")) == 1 and rows(world, "marker.stored", cluster="b") == []
    world = marked()
    do(world, "marker.delay", cluster="a", type="snapshot_request", by="500ms")
    world.run(1600 * MS)
    assert at_ms(rows(world, "marker.stored", cluster="b"))[:1] == [1540]
