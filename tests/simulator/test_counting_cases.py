"""The worked counting cases as traces written by hand, every number compared."""

from __future__ import annotations

from tests.simulator.trace_builder import TraceBuilder, causes, losses


def consumed_at_a(first: int, last: int, told: int) -> TraceBuilder:
    """A and B hold first..last; A acknowledged and registered all; B's cursor is at `told`."""
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish(range(first, last + 1), "a", to=["b"])
    world.consume(range(first, last + 1), "a")
    world.move("a", last)
    world.apply("b", "a", world.update("a", 1, told, {"b": told}), told)
    return world.wait()


def test_case_1_shared_with_holes():
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish(range(10), "a", to=["b"])
    world.deliver(range(10), "a")
    acked = [0, 1, 2, 3, 4, 6, 9]
    world.ack(acked, "a")
    world.register(acked, "a")
    world.move("a", 4)
    world.apply("b", "a", world.update("a", 1, 2, {"b": 2}), 2)
    world.wait().crash("a")
    world.fail_over("a", "b")
    world.wait().connect("b")
    world.deliver(range(3, 10), "b")
    failover = world.failover()
    assert (failover.duplicates, failover.redeliveries, failover.lost, failover.extra_deliveries) == (
        4,
        3,
        0,
        0,
    )
    assert causes(failover) == {"after_newest_snapshot": 2, "ack_hole": 2}
    assert [(entry.sequence_id, entry.cause) for entry in failover.duplicates_list] == [
        (3, "after_newest_snapshot"),
        (4, "after_newest_snapshot"),
        (6, "ack_hole"),
        (9, "ack_hole"),
    ]
    assert failover.stranded == 0 and failover.outage_us == 1000


def test_case_2_there_and_back():
    world = consumed_at_a(0, 99, told=79)
    world.fail_over("a", "b", "planned")
    world.publish(range(100, 120), "a", to=["b"])
    world.wait().consume(range(80, 120), "b")
    world.move("b", 119)
    world.apply("a", "b", world.update("b", 2, 109, {"a": 109}), 109)
    world.wait().fail_over("b", "a", "planned")
    world.wait().deliver(range(110, 120), "a")
    first, second = world.counted().failovers
    assert first.duplicates == 20 and causes(first) == {"after_newest_snapshot": 20}
    assert second.duplicates == 10 and causes(second) == {"after_newest_snapshot": 10}
    assert {entry.acknowledged_in for entry in second.duplicates_list} == {"b"}


def test_case_2_recovered_older_after_its_update_was_applied():
    world = there_with_a_crash()
    world.recover("a", 94)
    world.apply("a", "b", world.update("b", 2, 109, {"a": 109}), 109)
    world.wait().fail_over("b", "a", "planned")
    world.wait().deliver(range(110, 120), "a")
    assert causes(world.failover()) == {"after_newest_snapshot": 10}


def test_case_2_recovered_older_without_an_update():
    world = there_with_a_crash()
    recovered = world.recover("a", 94)
    world.wait().fail_over("b", "a", "planned")
    world.wait().deliver(range(95, 120), "a")
    failover = world.failover()
    assert failover.duplicates == 25
    assert causes(failover) == {"cursor_went_back": 5, "after_newest_snapshot": 20}
    worst = failover.duplicates_list[0]
    assert (worst.sequence_id, worst.why, worst.evidence["went_back"]) == (95, "recovered-older", recovered)


def there_with_a_crash() -> TraceBuilder:
    """A acknowledged 0-99, crashed, B got 80-119; A is back with no messages delivered and not acked."""
    world = consumed_at_a(0, 99, told=79)
    world.crash("a")
    world.fail_over("a", "b")
    world.publish(range(100, 120), "b")
    world.wait().consume(range(80, 120), "b")
    world.move("b", 119)
    world.restart("a")
    world.store(range(100, 120), "a", "b")
    return world


def test_case_3_acknowledged_but_not_replicated_until_a_is_back():
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish(range(10), "a", to=["b"])
    world.publish(range(10, 17), "a")
    world.consume(range(14), "a")
    world.move("a", 13)
    world.apply("b", "a", world.update("a", 1, 9, {"b": 9}), 9)
    world.wait().crash("a")
    world.fail_over("a", "b")
    world.wait().restart("a")
    world.store(range(10, 17), "b", "a")
    world.wait().deliver(range(10, 17), "b")
    failover = world.failover()
    assert (failover.stranded, failover.stranded_unprocessed, failover.stranded_returned) == (7, 3, 7)
    assert failover.duplicates == 4 and causes(failover) == {"not_in_target_yet": 4}
    assert (failover.redeliveries, failover.lost) == (0, 0)


def redelivered_at_a() -> TraceBuilder:
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish([0], "a", to=["b"])
    world.deliver([0], "a")
    world.ours("message.negatively-acknowledged", "a", client="c", **world._message(0, "a", "web"))
    world.wait().deliver([0], "a")
    return world


def test_case_4_negative_ack_before():
    world = redelivered_at_a()
    world.ack([0], "a")
    world.register([0], "a")
    world.move("a", 0)
    world.wait().fail_over("a", "b", "planned")
    world.deliver([0], "b")
    counted = world.counted()
    assert counted.failovers[0].duplicates == 1
    assert counted.subscriptions["billing", "a"].repeated == 1
    assert counted.subscriptions["billing", "b"].repeated == 0


def test_case_4_never_acknowledged_at_a():
    world = redelivered_at_a()
    world.fail_over("a", "b", "planned")
    world.deliver([0], "b")
    world.ack([0], "b")
    failover = world.failover()
    assert (failover.redeliveries, failover.duplicates) == (1, 0)


def before_the_update(travels: bool) -> tuple[TraceBuilder, int]:
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish(range(150), "a", to=["b"])
    world.consume(range(150), "a")
    world.move("a", 149)
    world.apply("b", "a", world.update("a", 1, 99, {"b": 99}), 99)
    marker = world.update("a", 2, 149, {"b": 149})
    if travels:
        world.travel("marker.sent", "a", "b", marker)
    world.wait().crash("a")
    world.fail_over("a", "b")
    return world, marker


def test_case_5_update_on_the_wire():
    world, marker = before_the_update(travels=True)
    world.wait().deliver(range(100, 103), "b")
    world.wait(40_000).travel("marker.stored", "b", "a", marker)
    world.apply("b", "a", marker, 149)
    failover = world.failover()
    assert failover.duplicates == 3 and causes(failover) == {"update_in_flight": 3}
    assert {entry.why for entry in failover.duplicates_list} == {"on-the-wire"}


def test_case_5_update_never_left():
    world, marker = before_the_update(travels=False)
    world.wait().deliver(range(100, 150), "b")
    failover = world.failover()
    assert failover.duplicates == 50 and causes(failover) == {"update_in_flight": 50}
    entry = failover.duplicates_list[0]
    assert entry.why == "never-left" and "whereabouts" not in entry.evidence
    assert world.trace.row(entry.evidence["update"])["marker"] == marker


def without_update() -> TraceBuilder:
    world = TraceBuilder()
    world.create("a")
    world.publish(range(100), "a", to=["b"])
    world.consume(range(40), "a")
    world.move("a", 39)
    world.wait().fail_over("a", "b", "planned")
    return world.wait()


def test_case_6_missing_at_b_consumer_at_latest():
    world = without_update()
    world.create("b", before=None)
    world.publish(range(100, 105), "a", to=["b"])
    world.consume(range(100, 105), "b")
    failover = world.failover()
    assert (failover.duplicates, failover.lost) == (0, 60)
    assert losses(failover) == {"subscription_began_after": 60}
    assert not any(entry.delivered_before for entry in failover.lost_list)
    assert world.counted().subscriptions["billing", "b"].delivered == 5


def test_case_6_missing_at_b_consumer_at_earliest():
    world = without_update()
    world.create("b")
    world.publish(range(100, 105), "a", to=["b"])
    world.consume(range(105), "b")
    failover = world.failover()
    assert (failover.duplicates, failover.lost) == (40, 0)
    assert causes(failover) == {"subscription_missing": 40}


def settled_at_a(event: str, moved: str, **more) -> TraceBuilder:
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish(range(20), "a", to=["b"])
    for number in range(10):
        world.ours(event, "a", **world._message(number, "a", "web"), **more)
    world.move("a", 9, moved)
    world.consume(range(10, 20), "a")
    world.move("a", 19)
    world.apply("b", "a", world.update("a", 1, 19, {"b": 19}), 19)
    world.wait().fail_over("a", "b", "planned")
    return world


def test_case_7_expired():
    failover = settled_at_a("message.expired", "expiry").failover()
    assert (failover.expired, failover.skipped, failover.lost) == (10, 0, 0)


def test_case_7_skipped():
    failover = settled_at_a("message.skipped", "skip", reason="skip").failover()
    assert (failover.expired, failover.skipped, failover.lost) == (0, 10, 0)


def three_clusters(target: int | None) -> TraceBuilder:
    """PIP-33's example: M1 of b is in c and not yet in a; A's snapshot gives C the position `target`."""
    world = TraceBuilder("a", "b", "c")
    world.create("a")
    world.create("c", reason="update")
    world.publish([0, 1], "a", to=["b", "c"])
    world.publish([0], "b", producer="m1-b")
    world.store([0], "c", "b", producer="m1-b")
    world.consume([0, 1], "a")
    world.move("a", 1)
    if target is not None:
        world.apply("c", "a", world.update("a", 1, 1, {"c": target}), target)
    world.wait().crash("a")
    world.fail_over("a", "c")
    return world.wait()


def test_case_8_two_rounds_lose_nothing():
    world = three_clusters(1)
    world.deliver([0], "c", producer="m1-b")
    failover = world.failover()
    assert (failover.duplicates, failover.redeliveries, failover.lost) == (0, 0, 0)


def test_case_8_unsafe_loses_one():
    failover = three_clusters(2).failover()
    assert failover.lost == 1 and losses(failover) == {"cursor_moved_past": 1}
    entry = failover.lost_list[0]
    assert (entry.producer, entry.sequence_id, entry.delivered_before, entry.recovered) == (
        "m1-b",
        0,
        False,
        False,
    )


def test_case_8_not_replicated_to_c_though_b_has_them():
    world = TraceBuilder("a", "b", "c")
    world.create("a")
    world.create("c", reason="update")
    world.publish(range(10), "a", to=["b", "c"])
    world.publish(range(10, 15), "a", to=["b"])
    world.wait().crash("a")
    world.fail_over("a", "c")
    failover = world.failover()
    assert (failover.stranded, failover.stranded_unprocessed, failover.lost) == (5, 5, 0)


def test_case_8_counted_once_in_each_of_two_failovers():
    world = TraceBuilder("a", "b", "c")
    for cluster in ("a", "b", "c"):
        world.create(cluster, reason="consumer" if cluster == "a" else "update")
    world.publish([0], "a", to=["b", "c"])
    world.consume([0], "a")
    world.move("a", 0)
    world.wait().crash("a")
    world.fail_over("a", "b")
    world.wait().consume([0], "b")
    world.move("b", 0)
    world.wait().crash("b")
    world.fail_over("b", "c")
    world.wait().consume([0], "c")
    first, second = world.counted().failovers
    assert (first.duplicates, second.duplicates) == (1, 1)
    assert second.duplicates_list[0].acknowledged_in == "b"
