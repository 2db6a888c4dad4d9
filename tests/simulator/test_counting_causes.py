"""One trace for each cause of a duplicate, with its detailed reason and the rows that prove it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.protocols.pulsar.verdicts import CountingError
from tests.simulator.trace_builder import LATENCY_US, TraceBuilder, causes

SECOND_US = 1_000_000


def only(world: TraceBuilder, number: int = -1):
    """The one duplicate of the last failover."""
    listed = world.failover(number).duplicates_list
    assert len(listed) == 1, list(listed)
    return listed[0]


def acknowledged_at_a(
    count: int = 1,
    clusters: tuple[str, ...] = ("a", "b"),
    settings: dict | None = None,
    replicated: bool = True,
) -> TraceBuilder:
    """Both clusters hold 0..count-1, A acknowledged them all and its mark-delete passed them.

    B received nothing about it.
    """
    world = TraceBuilder(*clusters, settings=settings)
    world.create("a", replicated=replicated)
    for other in clusters[1:]:
        world.create(other, reason="update")
    world.publish(range(count), "a", to=clusters[1:])
    world.wait().consume(range(count), "a")
    world.move("a", count - 1)
    return world.wait()


def after_crash(world: TraceBuilder) -> TraceBuilder:
    world.wait().crash("a")
    world.fail_over("a", "b")
    world.wait().connect("b")
    return world


def test_resent_copy():
    world = acknowledged_at_a()
    first = world.stored_seq["b", "web", 0]
    world.store([0], "b", "a")
    world.apply("b", "a", world.update("a", 1, 0, {"b": 0}), 0)
    after_crash(world).deliver([0], "b")
    entry = only(world)
    assert (entry.cause, entry.evidence["earlier_copy"]) == ("resent_copy", first)


def test_subscription_missing():
    world = TraceBuilder()
    world.create("a")
    world.publish([0], "a", to=["b"])
    world.consume([0], "a")
    world.fail_over("a", "b", "planned")
    created = world.create("b")
    world.deliver([0], "b")
    entry = only(world)
    assert (entry.cause, entry.evidence["created"]) == ("subscription_missing", created)


def test_not_replicated_because_not_flagged():
    world = after_crash(acknowledged_at_a(replicated=False))
    world.deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("not_replicated", "not-flagged")


def test_not_replicated_because_switched_off_before_the_end():
    world = acknowledged_at_a()
    switched = world.ours("subscription.replication-switched", "a", count=0)
    after_crash(world).deliver([0], "b")
    assert (only(world).why, only(world).evidence["flag"]) == ("not-flagged", switched)


def test_not_replicated_because_the_feature_is_off():
    world = after_crash(acknowledged_at_a(settings={"enableReplicatedSubscriptions": False}))
    world.deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("not_replicated", "feature-off")


def test_not_replicated_because_one_cluster_is_left():
    world = acknowledged_at_a()
    world.row("replicator.removed", cluster="a", peer="b", topic="orders")
    after_crash(world).deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("not_replicated", "one-cluster")


def test_cursor_went_back_by_a_reset():
    world = acknowledged_at_a()
    world.apply("b", "a", world.update("a", 1, 0, {"b": 0}), 0)
    world.wait().fail_over("a", "b", "planned")
    reset = world.move("b", -1, "reset")
    world.deliver([0], "b")
    entry = only(world)
    assert (entry.cause, entry.why, entry.evidence["went_back"]) == ("cursor_went_back", "reset", reset)


def test_cursor_went_back_because_individual_acks_were_forgotten():
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish([0, 1, 2], "a", to=["b"])
    world.consume([1], "b")
    world.persist("b", count=1)
    world.consume([2], "b")
    world.wait().crash("b")
    world.restart("b")
    recovered = world.recover("b", -1, count=1)
    world.fail_over("a", "b", "planned")
    world.connect("b")
    world.deliver([2], "b")
    entry = only(world)
    assert (entry.cause, entry.why, entry.evidence["went_back"]) == (
        "cursor_went_back",
        "recovered-older",
        recovered,
    )
    assert entry.acknowledged_in == "b"


def test_cursor_went_back_applies_whenever_b_itself_had_registered_the_ack():
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish([0], "a", to=["b"])
    world.connect("b", "other")
    world.consume([0], "b")
    world.fail_over("a", "b", "planned")
    world.deliver([0], "b", client="other")
    assert (only(world).cause, only(world).why) == ("cursor_went_back", "already-dispatched")


def test_ack_not_registered():
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish([0, 1], "a", to=["b"])
    world.deliver([0, 1], "a")
    world.ack([0], "a")
    world.wait().crash("a")
    world.fail_over("a", "b")
    world.ack([1], "a")
    world.wait().deliver([0, 1], "b")
    failover = world.failover()
    assert causes(failover) == {"ack_not_registered": 2}
    assert [entry.why for entry in failover.duplicates_list] == [
        "not-sent-or-on-the-wire",
        "acknowledged-after-the-end",
    ]


def test_not_in_target_yet():
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish([0], "a")
    world.consume([0], "a")
    world.move("a", 0)
    world.fail_over("a", "b", "planned")
    stored = world.wait().store([0], "b", "a")
    world.deliver([0], "b")
    assert (only(world).cause, only(world).evidence["stored"]) == ("not_in_target_yet", stored)


def test_ack_hole():
    world = TraceBuilder()
    created = world.create("a")
    world.create("b", reason="update")
    world.publish([0, 1], "a", to=["b"])
    world.consume([1], "a")
    after_crash(world).deliver([1], "b")
    entry = only(world)
    assert (entry.cause, entry.why, entry.evidence["mark_delete"]) == ("ack_hole", "behind-a-hole", created)


def test_ack_hole_after_x_recovered_older():
    world = acknowledged_at_a()
    world.crash("a")
    world.wait().restart("a")
    world.recover("a", -1)
    world.wait().fail_over("a", "b", "planned")
    world.deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("ack_hole", "forgotten-at-recovery")


@pytest.mark.parametrize(
    ("journey", "word"),
    [
        ((), "never-left"),
        (("sent",), "on-the-wire"),
        (("sent", "lost"), "lost-on-the-wire"),
        (("sent", "dropped"), "dropped"),
        (("sent", "stored"), "backlog"),
    ],
)
def test_update_in_flight(journey: tuple[str, ...], word: str):
    world = acknowledged_at_a()
    marker = world.update("a", 1, 0, {"b": 0})
    for step in journey:
        one, other = ("b", "a") if step == "stored" else ("a", "b")
        world.wait().travel(f"marker.{step}", one, other, marker)
    after_crash(world).deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("update_in_flight", word)


def test_update_that_arrived_while_the_message_was_in_the_receiver_queue():
    world = acknowledged_at_a()
    world.connect("b")
    world.wait()
    marker = world.update("a", 1, 0, {"b": 0})
    world.apply("b", "a", marker, 0)
    world.fail_over("a", "b", "planned")
    world.deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("update_in_flight", "already-dispatched")


def test_snapshot_evicted():
    world = acknowledged_at_a()
    completed = world.snapshot("a", 7, 0, {"b": 0})
    world.cached("a", 7, 0)
    evicted = world.ours("snapshot.evicted", "a", snapshot=7, reason="cache-rule")
    after_crash(world).deliver([0], "b")
    entry = only(world)
    assert (entry.cause, entry.why) == ("snapshot_evicted", "cache-rule")
    assert (entry.evidence["snapshot"], entry.evidence["evicted"]) == (completed, evicted)
    assert world.trace.row(entry.evidence["snapshot"])["type"] == "snapshot.completed"


@pytest.mark.parametrize(
    ("rows", "word"),
    [((), "not-yet-read"), (("cached",), "no-ack-after"), (("cached", "unloaded"), "lost-at-unload")],
)
def test_snapshot_unused(rows: tuple[str, ...], word: str):
    world = acknowledged_at_a()
    world.snapshot("a", 7, 0, {"b": 0})
    if "cached" in rows:
        world.cached("a", 7, 0)
    if "unloaded" in rows:
        world.ours("snapshot.evicted", "a", snapshot=7, reason="unloaded")
    after_crash(world).deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("snapshot_unused", word)


def test_a_snapshot_above_the_mark_delete_or_below_p_explains_nothing():
    world = acknowledged_at_a(count=2)
    world.snapshot("a", 7, 5, {"b": 1})
    world.snapshot("a", 8, 1, {"b": -1})
    after_crash(world).deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("after_newest_snapshot", "none-used")


def incomplete(clusters: tuple[str, ...] = ("a", "b")) -> TraceBuilder:
    """Acknowledged, then a requested snapshot that never completes."""
    world = acknowledged_at_a(clusters=clusters)
    world.here("snapshot.requested", "a", snapshot=9, count=1)
    return world


def test_snapshot_incomplete_for_backlog():
    world = incomplete()
    requested = len(world.trace) - 1
    world.wait(2 * LATENCY_US)
    after_crash(world).deliver([0], "b")
    entry = only(world)
    assert (entry.cause, entry.why, entry.evidence["attempt"]) == (
        "snapshot_incomplete",
        "backlog",
        requested,
    )


def test_snapshot_incomplete_needs_its_nominal_time_before_the_end():
    world = incomplete()
    world.wait(2 * LATENCY_US - 2000)
    after_crash(world).deliver([0], "b")
    assert only(world).cause == "after_newest_snapshot"


def test_snapshot_incomplete_takes_two_rounds_with_three_clusters():
    for span_us, cause in (
        (4 * LATENCY_US, "snapshot_incomplete"),
        (4 * LATENCY_US - 2000, "after_newest_snapshot"),
    ):
        world = incomplete(("a", "b", "c"))
        world.wait(span_us)
        after_crash(world).deliver([0], "b")
        assert only(world).cause == cause


def test_snapshot_incomplete_for_timeout():
    world = incomplete()
    world.wait(31 * SECOND_US)
    world.here("snapshot.timed-out", "a", snapshot=9)
    after_crash(world).deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("snapshot_incomplete", "timeout")


def test_snapshot_incomplete_for_a_link():
    world = acknowledged_at_a()
    world.row("link.cut", cluster="b", peer="a")
    world.wait().here("snapshot.requested", "a", snapshot=9, count=1)
    world.wait(SECOND_US)
    after_crash(world).deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("snapshot_incomplete", "link")


@pytest.mark.parametrize(("bandwidth", "word"), [(None, "link"), (50_000, "backlog")])
def test_snapshot_incomplete_for_a_marker_that_took_longer_than_nominal(bandwidth: int | None, word: str):
    world = incomplete()
    world.scenario.links["a", "b"] = replace(world.scenario.links["a", "b"], bandwidth_bytes_per_s=bandwidth)
    where = {"marker": 5, "reason": "snapshot_request", "snapshot": 9}
    world.here("marker.sent", "a", peer="b", **where)
    world.wait(3 * LATENCY_US).here("marker.stored", "b", peer="a", **where)
    after_crash(world).deliver([0], "b")
    assert (only(world).cause, only(world).why) == ("snapshot_incomplete", word)


def test_snapshot_incomplete_for_a_cluster_that_was_down():
    world = acknowledged_at_a(clusters=("a", "b", "c"))
    down = world.crash("c")
    world.wait()
    refused = world.here("snapshot.refused", "a", reason="replicator-disconnected")
    world.wait(SECOND_US)
    after_crash(world).deliver([0], "b")
    entry = only(world)
    assert (entry.cause, entry.why, entry.evidence["attempt"]) == (
        "snapshot_incomplete",
        "cluster-down",
        refused,
    )
    assert down < refused


def test_snapshot_incomplete_one_way():
    world = TraceBuilder(replicators=False)
    world.row("replicator.created", cluster="a", peer="b", topic="orders", ledger=1, entry=-1)
    world.create("a")
    world.create("b", reason="update")
    world.here("snapshot.requested", "a", snapshot=1, count=1)
    world.wait()
    world.publish([0], "a", to=["b"])
    world.consume([0], "a")
    world.move("a", 0)
    world.wait(SECOND_US)
    refused = world.here("snapshot.refused", "a", reason="pending")
    world.wait(SECOND_US)
    after_crash(world).deliver([0], "b")
    entry = only(world)
    # The first request would nominally have completed after message 0 too, so it is the first that would have
    # helped.
    assert (entry.cause, entry.why) == ("snapshot_incomplete", "one-way")
    assert entry.evidence["attempt"] <= refused


def test_ticks_refused_for_no_new_data_are_no_cause():
    world = acknowledged_at_a()
    world.here("snapshot.refused", "a", reason="no-new-data")
    world.wait(SECOND_US)
    after_crash(world).deliver([0], "b")
    assert only(world).cause == "after_newest_snapshot"


def test_after_newest_snapshot_names_the_newest_used():
    world = acknowledged_at_a(count=3)
    world.snapshot("a", 1, 1, {"b": 1})
    world.cached("a", 1, 1)
    world.apply("b", "a", world.update("a", 1, 1, {"b": 1}), 1)
    after_crash(world).deliver([2], "b")
    entry = only(world)
    assert (entry.cause, entry.why) == ("after_newest_snapshot", "newest-used")
    assert world.trace.row(entry.evidence["newest_snapshot"])["type"] == "snapshot.used"


def test_delivering_what_was_covered_before_the_consumer_connected_is_an_internal_error():
    world = acknowledged_at_a()
    world.apply("b", "a", world.update("a", 1, 0, {"b": 0}), 0)
    world.fail_over("a", "b", "planned")
    world.wait().connect("b")
    world.deliver([0], "b")
    # The Update that was applied covers it: only the order of connecting and covering distinguishes a bug
    # from bad luck.
    with pytest.raises(CountingError, match="no cause"):
        world.failover()
