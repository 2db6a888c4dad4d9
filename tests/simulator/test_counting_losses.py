"""Messages not replicated, lost by each cause, expired and skipped, and when the target had caught up."""

from __future__ import annotations

from tests.simulator.engine_runs import rows, run
from tests.simulator.trace_builder import TraceBuilder, losses


def both_hold(count: int, told: int | None = None, subscribed: bool = True) -> TraceBuilder:
    """A and B hold 0..count-1, nothing was consumed, and B's cursor was set to `told`."""
    world = TraceBuilder()
    world.create("a")
    if subscribed:
        world.create("b", reason="update")
    world.publish(range(count), "a", to=["b"])
    if told is not None:
        world.apply("b", "a", world.update("a", 1, told, {"b": told}), told)
    return world.wait()


def test_lost_because_the_cursor_moved_past():
    world = both_hold(3, told=1)
    world.deliver([0], "a")
    moved = len(world.trace) - 2
    world.fail_over("a", "b", "planned")
    failover = world.failover()
    assert failover.lost == 2 and losses(failover) == {"cursor_moved_past": 2}
    assert [(entry.sequence_id, entry.delivered_before) for entry in failover.lost_list] == [
        (0, True),
        (1, False),
    ]
    assert world.trace.row(failover.lost_list[0].evidence["lost"])["type"] in (
        "cursor.moved",
        "update.applied",
    )
    assert failover.lost_list[0].evidence["lost"] <= moved


def test_losses_are_determined_at_the_end_of_the_window_and_may_be_recovered():
    world = both_hold(2, told=1)
    world.fail_over("a", "b", "planned")
    world.wait().fail_over("b", "a", "planned")
    world.wait().deliver([0, 1], "a")
    first, second = world.counted().failovers
    assert (first.lost, first.lost_recovered) == (2, 2)
    assert (second.lost, second.lost_recovered) == (0, 0)


def test_messages_acknowledged_anywhere_before_the_window_closed_are_not_lost():
    world = both_hold(2, told=1)
    world.fail_over("a", "b", "planned")
    world.wait().ack([0], "a")
    assert world.failover().lost == 1
    world.wait().fail_over("b", "a", "planned")
    world.ack([1], "a")
    assert world.counted().failovers[0].lost == 1


def test_a_message_without_receipt_is_never_lost_or_counted_as_not_replicated():
    world = both_hold(0)
    world.here("message.published", "a", producer="web", sequence_id=0)
    world.store([0], "a")
    world.fail_over("a", "b")
    assert world.failover().stranded == 0
    world.store([0], "b", "a")
    world.move("b", 0, "update")
    assert world.failover().lost == 0


def test_lost_because_the_ledger_was_removed():
    world = both_hold(2)
    world.here("ledger.closed", "b", ledger=2, count=2)
    removed = world.here("ledger.trimmed", "b", ledger=2, count=2)
    world.fail_over("a", "b", "planned")
    failover = world.failover()
    assert losses(failover) == {"removed": 2}
    assert failover.lost_list[0].evidence["lost"] == removed


def test_a_message_covered_by_the_cursor_before_its_removal_is_lost_to_the_cursor():
    world = both_hold(1, told=0)
    world.here("ledger.trimmed", "b", ledger=2, count=1)
    world.fail_over("a", "b", "planned")
    assert losses(world.failover()) == {"cursor_moved_past": 1}


def test_a_message_with_a_later_deliverable_copy_is_not_lost():
    world = both_hold(1, told=0)
    world.store([0], "b", "a")
    world.fail_over("a", "b", "planned")
    assert world.failover().lost == 0


def left_at_a(count: int) -> TraceBuilder:
    world = both_hold(0)
    world.publish(range(count), "a")
    return world


def test_not_replicated_but_not_lost_while_the_replication_cursor_has_it():
    world = left_at_a(3)
    world.consume([0], "a")
    world.wait().crash("a")
    world.fail_over("a", "b")
    failover = world.failover()
    assert (failover.stranded, failover.stranded_unprocessed, failover.stranded_returned, failover.lost) == (
        3,
        2,
        0,
        0,
    )


def test_never_replicated_because_the_replicator_skipped_it():
    world = left_at_a(2)
    row = world.here(
        "message.not-replicated", "a", peer="b", producer="web", sequence_id=0, reason="replicate_to"
    )
    world.fail_over("a", "b", "planned")
    failover = world.failover()
    assert (failover.stranded, losses(failover)) == (2, {"never_replicated": 1})
    assert (failover.lost_list[0].why, failover.lost_list[0].evidence["lost"]) == ("passed-over", row)


def test_never_replicated_because_of_deduplication():
    world = left_at_a(1)
    world.here("message.deduplicated", "b", peer="a", producer="web", sequence_id=0)
    world.fail_over("a", "b", "planned")
    assert (
        losses(world.failover()) == {"never_replicated": 1}
        and world.failover().lost_list[0].why == "deduplicated"
    )


def test_never_replicated_because_replication_was_removed_and_began_again_at_latest():
    world = left_at_a(1)
    world.row("replicator.removed", cluster="a", peer="b", topic="orders")
    world.fail_over("a", "b", "planned")
    assert world.failover().lost_list[0].why == "replication-removed"
    world.row("replicator.created", cluster="a", peer="b", topic="orders", ledger=1, entry=0)
    assert world.failover().lost_list[0].why == "replication-began-after"
    world.publish([1], "a")
    assert losses(world.failover()) == {"never_replicated": 1}


def test_never_replicated_because_the_cluster_is_lost_permanently():
    world = left_at_a(1)
    world.crash("a")
    world.row("cluster.lost", cluster="a")
    world.fail_over("a", "b")
    failover = world.failover()
    assert (failover.stranded, failover.lost_list[0].why) == (1, "cluster-lost")


def test_updates_pass_messages_that_a_third_cluster_replicates_to_the_target_only():
    # c replicates to b only. a's requests are answered with b's last entry, which may be c's; a's Update
    # covers what a never stored. c's messages of 0.3, 0.8, … 2.8 s are in b 20 ms later; the answer of 3.02 s
    # covers these 6, the Update is applied at 3.12 s (the acks of a's group of 3.1 s, and 20 ms); those of
    # 3.3 s and 3.8 s are delivered in b.
    world = run(
        "clusters: {a: {}, b: {}, c: {}}\nlinks: {default: {latency: 20ms}}\ntopics: {t: {clusters: "
        "[a, b, c], replication: [a <-> b, c -> b]}}\n"
        "producers: {p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 38}, q: {topic: t, "
        "cluster: c, start: 300ms, every: 500ms, count: 8}}\n"
        "subscriptions: {s: {topic: t, type: Shared, replicateSubscriptionState: true, "
        "initialPosition: Earliest}}\n"
        "consumers: {c1: {subscription: s, cluster: a}}\n"
        "commands: [{at: 3900ms, do: subscription.fail-over, subscription: s, from: a, to: b, mode: "
        "crash}]\n",
        until="8s",
    )
    failover = world.counted().failovers[0]
    assert losses(failover) == {"cursor_moved_past": 6}
    assert [(entry.producer, entry.sequence_id, entry.why) for entry in failover.lost_list] == [
        ("q", number, "not-in-source") for number in range(6)
    ]
    assert [row["sequence_id"] for row in rows(world, "message.delivered", producer="q")] == [
        6,
        7,
    ] and world.summary()["violations"] == []


def test_messages_before_the_subscription_began_are_not_lost():
    world = TraceBuilder()
    world.publish(range(5), "a", to=["b"])
    world.create("a", before=None)
    world.publish([5], "a", to=["b"])
    world.create("b", reason="update")
    world.consume([5], "a")
    world.move("a", 5)
    world.apply("b", "a", world.update("a", 1, 5, {"b": 5}), 5)
    world.fail_over("a", "b", "planned")
    assert world.failover().lost == 0


def test_a_message_delivered_without_ack_may_still_be_lost():
    world = both_hold(1, subscribed=False)
    world.deliver([0], "a")
    world.fail_over("a", "b")
    world.create("b", before=None)
    failover = world.failover()
    assert losses(failover) == {"subscription_began_after": 1} and failover.lost_list[0].delivered_before


def test_other_topics_do_not_count_as_loss():
    world = both_hold(1, told=0)
    world.consume([0], "a")
    world.topic = "other"
    world.publish([0], "a", to=["b"], producer="api")
    world.topic = "orders"
    world.fail_over("a", "b", "planned")
    assert (world.failover().lost, world.failover().stranded) == (0, 0)


def test_expired_takes_precedence_over_skipped_and_neither_is_lost():
    world = both_hold(3, told=2)
    for event in ("message.expired", "message.skipped"):
        world.ours(event, "a", **world._message(0, "a", "web"))
    world.ours("message.skipped", "a", reason="skip", **world._message(1, "a", "web"))
    world.fail_over("a", "b", "planned")
    failover = world.failover()
    assert (failover.expired, failover.skipped, failover.lost) == (1, 1, 1)


def test_caught_up_when_the_last_held_message_is_settled():
    world = both_hold(4)
    world.consume([0], "a")
    world.wait().fail_over("a", "b", "planned")
    world.publish([4], "b")
    world.wait().consume([1], "b")
    assert world.failover().caught_up_us is None
    world.ours("message.expired", "b", **world._message(2, "b", "web"))
    last = world.wait().now_us
    world.ack([3], "a")
    assert world.failover().caught_up_us == last


def test_caught_up_at_the_failover_when_no_held_message_was_open():
    world = both_hold(1)
    world.consume([0], "a")
    world.wait().fail_over("a", "b", "planned")
    assert world.failover().caught_up_us == world.failover().at_us


def test_caught_up_when_the_rest_is_lost():
    world = both_hold(2, subscribed=False)
    world.fail_over("a", "b", "planned")
    world.wait(500).create("b", before=None)
    assert world.failover().caught_up_us == world.now_us


def test_a_subscription_that_was_never_created_loses_nothing():
    world = TraceBuilder()
    world.fail_over("a", "b", "planned")
    failover = world.failover()
    assert (failover.lost, failover.stranded, losses(failover)) == (0, 0, {})
