"""Which row and which reason a loss or a stranded message is put down to, and at which row a window ends."""

from __future__ import annotations

from simulator.counting import Loss
from tests.simulator.trace_builder import TraceBuilder, losses


def subscribed(*clusters: str, replicators: bool = True) -> TraceBuilder:
    """A consumer opened the cursor in A, Updates opened it in the other clusters."""
    world = TraceBuilder(*clusters, replicators=replicators)
    world.create("a")
    for other in world.clusters[1:]:
        world.create(other, reason="update")
    return world


def reasons(world: TraceBuilder, number: int = -1) -> list[tuple[int, str, int | None]]:
    """The lost messages of a failover: sequence id, reason, and the row since when."""
    listed: list[Loss] = list(world.failover(number).lost_list)
    return [(entry.sequence_id, entry.why, entry.evidence.get("lost")) for entry in listed]


# --- gone from the target's log or passed by its cursor


def test_a_message_passed_by_the_mark_delete():
    world = subscribed()
    world.publish([0, 1, 2], "a", to=["b"])
    first, second = world.move("b", 0, "update"), world.move("b", 1, "update")
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "mark-delete-passed-it", first), (1, "mark-delete-passed-it", second)]


def test_a_message_below_the_place_where_the_target_opened_its_cursor():
    world = TraceBuilder()
    world.create("a")
    world.publish([0], "a", to=["b"])
    world.fail_over("a", "b", "planned")
    created = world.create("b", before=None)
    assert reasons(world) == [(0, "cursor-opened-later", created)]


def test_messages_of_a_deleted_ledger_and_of_a_target_lost_for_good():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    trimmed = world.here("ledger.trimmed", "b", ledger=2, count=1)
    world.ledger["b"] = 7
    world.publish([1], "a", to=["b"])
    world.crash("b")
    gone = world.row("cluster.lost", cluster="b")
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "ledger-deleted", trimmed), (1, "cluster-lost", gone)]
    assert losses(world.failover()) == {"removed": 2}


def test_a_message_passed_before_its_cluster_was_lost_is_lost_to_the_cursor():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    moved = world.move("b", 0, "update")
    world.row("cluster.lost", cluster="b")
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "mark-delete-passed-it", moved)]


def test_the_copy_removed_last_decides():
    world = subscribed()
    world.publish([0, 1], "a", to=["b"])
    world.store([0], "b", "a")
    world.move("b", 0, "update")
    last = world.move("b", 2, "update")
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "mark-delete-passed-it", last), (1, "mark-delete-passed-it", last)]
    assert world.failover().lost_list[0].evidence["stored"] == world.stored_seq["b", "web", 0]


def test_an_update_of_a_cluster_that_never_stored_the_message():
    world = subscribed("a", "b", "c")
    world.publish([0], "a", to=["b", "c"])
    world.publish([1], "a", to=["b"])
    world.publish([2], "c", to=["b"])
    by_c = world.apply("b", "c", world.update("c", 1, 1, {"b": 1}), 1) - 1
    by_a = world.apply("b", "a", world.update("a", 2, 2, {"b": 2}), 2) - 1
    world.store([2], "a", "c")
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [
        (0, "mark-delete-passed-it", by_c),
        (1, "not-in-source", by_c),
        (2, "not-in-source", by_a),
    ]


def test_an_update_of_one_cluster_may_pass_what_another_never_stored():
    world = subscribed("a", "b", "c")
    world.publish([0], "a", to=["b"])
    world.publish([1], "c", to=["b"])
    by_a = world.apply("b", "a", world.update("a", 1, 0, {"b": 0}), 0) - 1
    by_c = world.apply("b", "c", world.update("c", 2, 1, {"b": 1}), 1) - 1
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "mark-delete-passed-it", by_a), (1, "mark-delete-passed-it", by_c)]


# --- never stored in the target


def test_a_cluster_without_a_replication_cursor_to_the_target():
    world = subscribed(replicators=False)
    world.publish([0], "a")
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "not-replicated-there", None)]
    assert world.failover().lost_list[0].evidence["stored"] == world.stored_seq["a", "web", 0]


def test_a_target_lost_for_good_before_the_message_was_sent():
    world = subscribed()
    world.publish([0], "a")
    gone = world.row("cluster.lost", cluster="b")
    world.here("message.not-replicated", "a", peer="b", producer="web", sequence_id=0, reason="replicate_to")
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "cluster-lost", gone)]


def test_a_message_removed_where_it_was_published():
    world = subscribed()
    world.publish([0, 1], "a")
    world.ledger["a"] = 5
    world.publish([2], "a")
    trimmed = world.here("ledger.trimmed", "a", ledger=1, count=2)
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "removed-at-origin", trimmed), (1, "removed-at-origin", trimmed)]


def test_a_replication_cursor_sends_what_is_above_the_place_where_it_began():
    world = subscribed(replicators=False)
    world.publish([0, 1, 2], "a")
    began = world.here("replicator.created", "a", peer="b", ledger=1, entry=1)
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "replication-began-after", began), (1, "replication-began-after", began)]


def test_the_newest_copy_at_the_origin_is_the_one_that_is_still_sent():
    world = subscribed(replicators=False)
    world.publish([0], "a")
    world.here("replicator.created", "a", peer="b", ledger=1, entry=0)
    world.store([0], "a")
    world.fail_over("a", "b", "planned")
    assert reasons(world) == []


def test_a_replicated_copy_is_not_replicated_further():
    world = subscribed("a", "b", "c")
    world.publish([0], "a", to=["c"])
    passed = world.here(
        "message.not-replicated", "a", peer="b", producer="web", sequence_id=0, reason="replicate_to"
    )
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "passed-over", passed)]


def test_a_message_published_in_a_third_cluster_that_passed_it_over():
    world = subscribed("a", "b", "c")
    world.publish([0], "c")
    passed = world.here(
        "message.not-replicated", "c", peer="b", producer="web", sequence_id=0, reason="replicate_to"
    )
    world.fail_over("a", "b", "planned")
    assert reasons(world) == [(0, "passed-over", passed)]


# --- the end of the window


def back_and_forth(world: TraceBuilder) -> None:
    """A second failover ends the window of the first."""
    world.fail_over("b", "a", "planned")


def test_the_row_before_the_next_failover_is_the_last_of_a_window():
    world = subscribed()
    world.publish([0, 1], "a", to=["b"])
    world.fail_over("a", "b", "planned")
    moved = world.move("b", 0, "update")
    back_and_forth(world)
    world.move("b", 1, "update")
    assert reasons(world, 0) == [(0, "mark-delete-passed-it", moved)]


def test_a_ledger_deleted_after_the_window_loses_nothing_in_it():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    world.fail_over("a", "b", "planned")
    back_and_forth(world)
    world.here("ledger.trimmed", "b", ledger=2, count=1)
    assert reasons(world, 0) == []


def test_a_message_passed_over_or_removed_at_its_origin_after_the_window_is_not_lost_in_it():
    world = subscribed()
    world.publish([0], "a")
    world.fail_over("a", "b", "planned")
    back_and_forth(world)
    world.here("message.not-replicated", "a", peer="b", producer="web", sequence_id=0, reason="replicate_to")
    world.here("ledger.trimmed", "a", ledger=1, count=1)
    assert reasons(world, 0) == []


def test_a_copy_stored_after_the_window_saves_nothing_in_it():
    world = subscribed(replicators=False)
    world.publish([0], "a")
    began = world.here("replicator.created", "a", peer="b", ledger=1, entry=0)
    world.fail_over("a", "b", "planned")
    back_and_forth(world)
    world.store([0], "a")
    assert reasons(world, 0) == [(0, "replication-began-after", began)]


def test_a_copy_that_the_target_stored_after_the_window_saves_nothing_in_it():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    moved = world.move("b", 0, "update")
    world.fail_over("a", "b", "planned")
    back_and_forth(world)
    world.store([0], "b", "a")
    assert reasons(world, 0) == [(0, "mark-delete-passed-it", moved)]


def test_a_cursor_opened_after_the_window_promises_nothing_in_it():
    world = TraceBuilder()
    world.publish([0], "a", to=["b"])
    world.create("a", before=None)
    world.create("b", reason="update")
    world.move("b", 0, "update")
    world.fail_over("a", "b", "planned")
    back_and_forth(world)
    world.create("a", before=0)
    assert reasons(world, 0) == []


def test_a_receipt_after_the_window_makes_no_loss_in_it():
    world = subscribed()
    world.here("message.published", "a", producer="web", sequence_id=0)
    world.store([0], "a")
    world.store([0], "b", "a")
    world.move("b", 0, "update")
    world.fail_over("a", "b", "planned")
    back_and_forth(world)
    world.here("message.receipted", "a", producer="web", sequence_id=0)
    assert reasons(world, 0) == []


def test_expiry_and_skipping_after_the_window_excuse_nothing_in_it():
    world = subscribed()
    world.publish([0, 1, 2, 3], "a", to=["b"])
    world.move("b", 3, "update")
    world.fail_over("a", "b", "planned")
    world.ours("message.expired", "a", **world._message(0, "a", "web"))
    world.ours("message.skipped", "a", reason="skip", **world._message(1, "a", "web"))
    back_and_forth(world)
    world.ours("message.expired", "a", **world._message(2, "a", "web"))
    world.ours("message.skipped", "a", reason="skip", **world._message(3, "a", "web"))
    first = world.failover(0)
    assert (first.expired, first.skipped, [entry.sequence_id for entry in first.lost_list]) == (1, 1, [2, 3])


def test_a_loss_tells_whether_it_was_delivered_in_the_window_and_after_it():
    world = subscribed()
    world.publish([0, 1, 2], "a", to=["b"])
    world.move("b", 2, "update")
    world.fail_over("a", "b", "planned")
    world.deliver([0], "a")
    back_and_forth(world)
    world.deliver([1], "a")
    listed = world.failover(0).lost_list
    assert [(one.sequence_id, one.delivered_before, one.recovered) for one in listed] == [
        (0, True, False),
        (1, False, True),
        (2, False, False),
    ]
