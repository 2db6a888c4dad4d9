"""When the backlog of a failover is drained, in cases written by hand.

It is drained when B's cursor covers all that B's log held at F.
"""

from __future__ import annotations

from tests.simulator.trace_builder import TraceBuilder


def held_by_both(count: int = 3, subscribed: bool = True) -> TraceBuilder:
    """A and B hold 0..count-1, nothing is consumed, and the subscription has moved to B."""
    world = TraceBuilder()
    world.create("a")
    if subscribed:
        world.create("b", reason="update")
    world.publish(range(count), "a", to=["b"])
    world.wait()
    return world


def delete_ledger(world: TraceBuilder, count: int) -> None:
    """B's only ledger is deleted, with its messages 0..count-1."""
    world.here("ledger.trimmed", "b", ledger=world.ledger["b"], count=count)
    for number in range(count):
        world.here("message.removed", "b", **world._message(number, "b", "web"))


def test_an_acknowledgement_in_a_drains_nothing_in_b():
    world = held_by_both(1)
    world.consume([0], "a")
    world.wait().fail_over("a", "b")
    assert (world.failover().caught_up_us, world.failover().drained_us) == (world.now_us, None)
    world.wait().consume([0], "b")
    assert world.failover().drained_us == world.now_us > world.failover().caught_up_us


def test_the_registered_ack_counts_and_not_the_applications():
    world = held_by_both(2)
    world.fail_over("a", "b")
    world.deliver([0, 1], "b")
    world.ack([0, 1], "b")
    world.register([1], "b")
    assert world.failover().drained_us is None
    world.wait().register([0], "b")
    assert world.failover().drained_us == world.now_us


def test_messages_after_the_failover_are_not_waited_for():
    world = held_by_both(1)
    world.fail_over("a", "b")
    world.publish([1], "b")
    world.wait().consume([0], "b")
    assert world.failover().drained_us == world.now_us


def test_skipped_and_expired_messages_are_covered_by_the_mark_delete():
    world = held_by_both(3)
    world.fail_over("a", "b")
    world.wait().move("b", 1, "expiry")
    assert world.failover().drained_us is None
    world.wait().move("b", 2, "skip")
    assert world.failover().drained_us == world.now_us


def test_an_empty_backlog_is_drained_at_the_failover():
    world = held_by_both(0)
    world.fail_over("a", "b")
    assert world.failover().drained_us == world.failover().at_us


def test_a_reset_before_the_backlog_is_drained_counts_and_one_after_it_does_not():
    world = held_by_both(2)
    world.fail_over("a", "b")
    world.wait().consume([1], "b")
    world.move("b", -1, "reset")
    world.wait().consume([0], "b")
    assert world.failover().drained_us is None
    world.wait().consume([1], "b")
    drained_us = world.failover().drained_us
    assert drained_us == world.now_us
    world.wait().move("b", -1, "reset")
    assert world.failover().drained_us == drained_us


def test_a_missing_subscription_covers_nothing_until_it_is_created():
    world = held_by_both(2, subscribed=False)
    world.fail_over("a", "b")
    assert world.failover().drained_us is None
    world.wait().create("b", before=None)
    assert world.failover().drained_us == world.now_us


def test_a_ledger_deleted_before_it_was_covered_is_never_drained():
    world = held_by_both(2)
    world.fail_over("a", "b")
    world.wait().consume([0], "b")
    delete_ledger(world, 2)
    world.wait().move("b", 1, "skip")
    assert world.failover().drained_us is None


def test_a_ledger_deleted_after_it_was_covered_stays_covered():
    world = held_by_both(2)
    world.fail_over("a", "b")
    world.wait().consume([0, 1], "b")
    drained_us = world.failover().drained_us
    delete_ledger(world.wait(), 2)
    assert world.failover().drained_us == drained_us == world.now_us - 1000


def test_the_next_failover_ends_the_window():
    world = held_by_both(1)
    world.fail_over("a", "b")
    world.wait().fail_over("b", "a")
    world.wait().consume([0], "b")
    assert [one.drained_us for one in world.counted().failovers] == [None, None]


# --- what may still be delivered again when the run ends


def test_what_was_acked_in_a_and_is_not_covered_in_b_may_be_delivered_again():
    world = held_by_both(3)
    world.consume([0, 1], "a")
    world.wait().fail_over("a", "b")
    assert world.failover().pending_repeats == 2, "2 was never delivered, so it will be no repeat"
    world.wait().deliver([0], "b")
    assert (world.failover().duplicates, world.failover().pending_repeats) == (1, 1)
    world.wait().register([1], "b")
    assert world.failover().pending_repeats == 0


def test_what_was_delivered_in_a_and_not_acked_may_be_delivered_again():
    world = held_by_both(2)
    world.deliver([0], "a")
    world.wait().fail_over("a", "b")
    assert world.failover().pending_repeats == 1
    world.wait().move("b", 0, "skip")
    assert world.failover().pending_repeats == 0


def test_messages_that_reach_b_after_the_failover_may_be_delivered_again_there():
    world = held_by_both(1)
    world.publish([1], "a")
    world.consume([1], "a")
    world.wait().fail_over("a", "b")
    assert world.failover().pending_repeats == 0
    world.wait().store([1], "b", source="a")
    assert world.failover().pending_repeats == 1


def test_after_the_next_failover_the_numbers_of_the_first_are_final():
    world = held_by_both(1)
    world.consume([0], "a")
    world.wait().fail_over("a", "b")
    world.wait().fail_over("b", "a")
    assert [one.pending_repeats for one in world.counted().failovers] == [None, 0]


def test_a_deleted_ledger_leaves_nothing_to_be_delivered_again():
    world = held_by_both(2)
    world.consume([0, 1], "a")
    world.wait().fail_over("a", "b")
    delete_ledger(world, 2)
    assert world.failover().pending_repeats == 0
