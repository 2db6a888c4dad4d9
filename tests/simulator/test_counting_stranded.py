"""Messages not replicated to the target at a failover, and the row at which its backlog was resolved."""

from __future__ import annotations

from simulator.counting import Stranding
from tests.simulator.trace_builder import TraceBuilder


def subscribed(*clusters: str) -> TraceBuilder:
    """A consumer opened the cursor in A, Updates opened it in the other clusters."""
    world = TraceBuilder(*clusters)
    world.create("a")
    for other in world.clusters[1:]:
        world.create(other, reason="update")
    return world


def not_replicated(world: TraceBuilder, number: int = -1) -> list[Stranding]:
    return list(world.failover(number).stranded_list)


def test_a_stranded_message_names_its_receipt_its_first_copy_and_its_return():
    world = subscribed()
    world.publish([0, 1], "a")
    stored = [world.stored_seq["a", "web", number] for number in (0, 1)]
    world.store([1], "a")  # the producer sent it again
    world.consume([0], "a")
    world.fail_over("a", "b", "planned")
    back = world.store([1], "b", "a")
    world.store([1], "b", "a")
    receipts = world.trace.seqs(types=["message.receipted"])
    assert not_replicated(world) == [
        Stranding("web", 0, False, {"receipted": receipts[0], "stored": stored[0]}),
        Stranding("web", 1, True, {"receipted": receipts[1], "stored": stored[1], "returned": back}),
    ]
    failover = world.failover()
    assert (failover.stranded, failover.stranded_unprocessed, failover.stranded_returned) == (2, 1, 1)
    assert failover.stranded_missing == 0, "the unread one reached the target later"


def test_an_unread_message_that_never_reaches_the_target_is_missing():
    world = subscribed()
    world.publish([0, 1, 2], "a")
    world.consume([0], "a")
    world.fail_over("a", "b", "crash")
    world.store([1], "b", "a")
    failover = world.failover()
    assert (failover.stranded, failover.stranded_unprocessed, failover.stranded_returned) == (3, 2, 1)
    assert failover.stranded_missing == 1


def test_what_the_target_stored_before_the_failover_is_not_stranded():
    world = subscribed()
    world.publish([0, 1], "a")
    world.store([0], "b", "a")
    world.fail_over("a", "b", "planned")
    world.store([0], "b", "a")
    assert [entry.sequence_id for entry in not_replicated(world)] == [1]


def test_what_the_source_stored_or_acknowledged_to_its_producer_after_the_failover_is_not_stranded():
    world = subscribed()
    world.here("message.published", "a", producer="web", sequence_id=0)
    world.store([0], "a")
    world.fail_over("a", "b", "planned")
    world.here("message.receipted", "a", producer="web", sequence_id=0)
    world.publish([1], "a")
    world.publish([2], "b")
    world.store([2], "a", "b")
    assert not_replicated(world) == []


def test_a_message_from_a_third_cluster_that_the_source_had_not_stored_is_not_stranded():
    world = subscribed("a", "b", "c")
    world.publish([0, 1], "c")
    world.store([0], "a", "c")
    world.fail_over("a", "b", "planned")
    world.store([1], "a", "c")
    assert [entry.sequence_id for entry in not_replicated(world)] == [0]


def test_an_acknowledgement_after_the_failover_leaves_a_message_unprocessed():
    world = subscribed()
    world.publish([0, 1], "a")
    world.ack([0], "a")
    world.fail_over("a", "b", "planned")
    world.ack([1], "a")
    assert [entry.unprocessed for entry in not_replicated(world)] == [False, True]


def test_what_the_source_had_deleted_before_the_failover_is_not_stranded():
    world = subscribed()
    world.publish([0], "a")
    world.here("ledger.trimmed", "a", ledger=1, count=1)
    world.ledger["a"] = 5
    world.publish([1], "a")
    world.fail_over("a", "b", "planned")
    assert [entry.sequence_id for entry in not_replicated(world)] == [1]


def test_a_source_lost_for_good_had_every_message_until_it_was_lost():
    world = subscribed()
    world.publish([0], "a")
    world.row("cluster.lost", cluster="a")
    world.fail_over("a", "b")
    assert [entry.sequence_id for entry in not_replicated(world)] == [0]


def test_stranded_messages_of_every_partition_are_listed():
    world = TraceBuilder(topic="orders-partition-0")
    world.scenario.topics["orders"] = world.scenario.topics.pop("orders-partition-0")
    object.__setattr__(world.scenario.subscriptions["billing"], "topic", "orders")
    for number in (0, 1, 2):
        world.topic = f"orders-partition-{number}"
        world.create("a")
        world.create("b", reason="update")
        world.publish([2 * number], "a", to=["b"])
        world.publish([2 * number + 1], "a")
    world.fail_over("a", "b", "planned")
    for number in (0, 1, 2):
        world.topic = f"orders-partition-{number}"
        world.store([2 * number + 1], "b", "a")
    listed = not_replicated(world)
    assert [entry.sequence_id for entry in listed] == [1, 3, 5]
    assert [entry.evidence["returned"] for entry in listed] == [
        world.stored_seq["b", "web", number] for number in (1, 3, 5)
    ]


# --- what a subscription was promised


def lost(world: TraceBuilder) -> list[int]:
    """Sequence ids of what the target's mark-delete passed, were it promised."""
    world.move("b", world.next_entry["b"] - 1, "update")
    world.fail_over("a", "b", "planned")
    return [entry.sequence_id for entry in world.failover().lost_list]


def test_a_cursor_at_the_latest_promises_what_is_stored_after_it():
    world = TraceBuilder()
    world.publish([0, 1], "a", to=["b"])
    world.create("a", before=None)
    world.create("b", before=0, reason="update")
    world.publish([2], "a", to=["b"])
    assert lost(world) == [2]


def test_a_cursor_opened_by_another_cluster_promises_nothing():
    for reason in ("update", "acknowledgement-sync", "migration"):
        world = TraceBuilder()
        world.publish([0], "a", to=["b"])
        world.create("a", before=None)
        world.create("b", before=0, reason=reason)
        assert lost(world) == []


def test_a_cursor_that_a_consumer_opened_promises_what_another_cursor_does_not():
    world = TraceBuilder()
    world.publish([0, 1, 2], "a", to=["b"])
    world.create("a", before=1)
    world.create("b", before=2)
    assert lost(world) == [1, 2]
    world = TraceBuilder()
    world.publish([0, 1, 2], "a", to=["b"])
    world.create("a", before=2)
    world.create("b", before=1)
    assert lost(world) == [1, 2]


def test_the_lowest_place_where_a_cluster_opened_the_cursor_counts():
    world = TraceBuilder()
    world.publish([0, 1, 2], "a", to=["b"])
    world.create("a", before=1)
    world.ours("subscription.deleted", "a")
    world.create("a", before=3)
    world.create("b", before=0, reason="update")
    assert lost(world) == [1, 2]


def test_what_the_cluster_of_the_cursor_never_stored_is_promised():
    world = TraceBuilder()
    world.publish([0], "b")
    world.publish([1], "a", to=["b"])
    world.create("a", before=None)
    world.create("b", before=0, reason="update")
    assert lost(world) == [0]


def test_a_message_stored_both_below_and_above_the_cursor_is_promised():
    world = TraceBuilder()
    world.publish([0, 1], "a", to=["b"])
    world.create("a", before=None)
    world.store([1], "a")
    world.create("b", before=0, reason="update")
    assert lost(world) == [1]


# --- when the backlog of the failover was resolved


def resolved_us(world: TraceBuilder) -> int | None:
    return world.failover().caught_up_us


def test_the_backlog_is_resolved_with_the_last_of_several_partitions():
    world = TraceBuilder(topic="orders-partition-0")
    world.scenario.topics["orders"] = world.scenario.topics.pop("orders-partition-0")
    object.__setattr__(world.scenario.subscriptions["billing"], "topic", "orders")
    topics = [f"orders-partition-{number}" for number in (0, 1)]
    for number, topic in enumerate(topics):
        world.topic = topic
        world.create("a")
        world.create("b", reason="update")
        world.publish([number], "a", to=["b"])
    world.fail_over("a", "b", "planned")
    for number in (1, 0):
        world.topic = topics[number]
        world.wait(1000).consume([number], "b")
    assert resolved_us(world) == 2000


def test_a_message_removed_from_the_target_before_the_failover_is_not_waited_for():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    world.here("ledger.trimmed", "b", ledger=2, count=1)
    world.ledger["b"] = 7
    world.publish([1], "a", to=["b"])
    world.at(1000).fail_over("a", "b", "planned")
    world.at(2000).consume([1], "b")
    assert resolved_us(world) == 2000


def test_a_message_stored_after_the_failover_is_not_part_of_its_backlog():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    world.at(1000).fail_over("a", "b", "planned")
    world.publish([1], "b")
    world.at(2000).consume([0], "b")
    world.at(3000).consume([1], "b")
    assert resolved_us(world) == 2000


def test_a_skipped_message_is_resolved_by_the_row_that_skipped_it():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    world.at(1000).fail_over("a", "b", "planned")
    world.at(2000).ours("message.skipped", "b", reason="skip", **world._message(0, "b", "web"))
    world.at(3000).ack([0], "b")
    assert resolved_us(world) == 2000


def test_a_backlog_resolved_after_the_window_was_not_resolved_in_it():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    world.at(1000).fail_over("a", "b", "planned")
    world.at(2000).fail_over("b", "a", "planned")
    world.at(3000).consume([0], "a")
    first, second = world.counted().failovers
    assert (first.caught_up_us, second.caught_up_us) == (None, 3000)
