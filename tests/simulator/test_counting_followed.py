"""Messages followed from publish to their result at the target, each instant derived by hand."""

from __future__ import annotations

from typing import Any

from simulator.protocols.pulsar.verdicts.facts import Facts, History
from simulator.protocols.pulsar.verdicts.followed import Followed, follow
from simulator.protocols.pulsar.verdicts.windows import windows_of
from tests.simulator.trace_builder import TraceBuilder


def followed(world: TraceBuilder, most: int = 100) -> Followed | None:
    """The messages of the last failover."""
    facts = Facts(History(world.trace), world.scenario)
    return follow(facts, windows_of(facts)[-1], most)


def columns(world: TraceBuilder, *names: str) -> list[tuple[Any, ...]]:
    """The chosen columns as rows, one for each message."""
    found = followed(world)
    assert found is not None
    return list(zip(*(getattr(found, name) for name in names), strict=True))


def subscribed(*clusters: str) -> TraceBuilder:
    """A consumer opened the cursor in A, Updates opened it in the other clusters."""
    world = TraceBuilder(*clusters)
    world.create("a")
    for other in world.clusters[1:]:
        world.create(other, reason="update")
    return world


def test_each_message_has_its_instants_and_what_its_first_delivery_at_the_target_was():
    world = subscribed()
    world.at(1000).publish([0, 1, 2], "a")
    world.at(2000).store([0, 1, 2], "b", "a")
    world.at(3000).consume([0, 1], "a")
    world.move("a", 1)
    world.at(4000).apply("b", "a", world.update("a", 1, 0, {"b": 0}), 0)
    world.at(5000).deliver([2], "a")
    world.at(6000).fail_over("a", "b", "planned")
    world.at(7000).publish([3], "b")
    world.at(8000).deliver([1, 2, 3], "b")
    world.at(9000).deliver([1, 2, 3], "b")
    assert columns(
        world, "producer", "sequence_id", "origin", "stored_us", "at_source_us", "at_target_us"
    ) == [
        ("web", 0, "a", 1000, 1000, 2000),
        ("web", 1, "a", 1000, 1000, 2000),
        ("web", 2, "a", 1000, 1000, 2000),
        ("web", 3, "b", 7000, -1, 7000),
    ]
    assert columns(world, "acknowledged_us", "known_us", "delivered_us", "delivery", "cause", "lost") == [
        (3000, 4000, -1, "", "", False),
        (3000, -1, 8000, "duplicate", "after_newest_snapshot", False),
        (-1, -1, 8000, "redelivered", "", False),
        (-1, -1, 8000, "first", "", False),
    ]


def test_messages_come_in_the_order_in_which_they_were_first_stored():
    world = subscribed()
    world.publish([2], "a", producer="web")
    world.wait().publish([1], "b", to=["a"], producer="api")
    world.wait().publish([0], "a", to=["b"], producer="web")
    world.wait().store([2], "b", "a")
    world.fail_over("a", "b", "planned")
    assert columns(
        world, "producer", "sequence_id", "origin", "stored_us", "at_source_us", "at_target_us"
    ) == [
        ("web", 2, "a", 0, 0, 3000),
        ("api", 1, "b", 1000, 1000, 1000),
        ("web", 0, "a", 2000, 2000, 2000),
    ]


def test_more_messages_than_asked_for_are_not_followed():
    world = subscribed()
    world.publish([0, 1, 2], "a", to=["b"])
    world.fail_over("a", "b", "planned")
    found = followed(world, most=3)
    assert found is not None and len(found) == 3
    assert followed(world, most=2) is None


def test_messages_of_other_topics_are_not_followed():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    world.topic = "other"
    world.publish([1], "a", to=["b"])
    world.topic = "orders"
    world.fail_over("a", "b", "planned")
    assert columns(world, "sequence_id") == [(0,)]


def test_the_lost_ones_are_marked_by_producer_and_sequence_id():
    world = subscribed()
    world.publish([0], "a", to=["b"], producer="web")
    world.publish([0, 1], "a", to=["b"], producer="api")
    world.move("b", 0, "update")  # passes web's message, which nobody has acknowledged
    world.fail_over("a", "b", "planned")
    assert columns(world, "producer", "sequence_id", "lost") == [
        ("web", 0, True),
        ("api", 0, False),
        ("api", 1, False),
    ]


# --- when the target's broker first had it that a message is acknowledged


def sync(world: TraceBuilder, peer: str, target: str, sent: int) -> int:
    """The target applies the acknowledgements that the peer sent in the row `sent`."""
    return world.ours("acknowledgements.applied", target, peer=peer, evidence_seq=sent, count=0)


def test_a_mark_delete_above_a_message_counts_from_the_row_that_stores_the_message():
    world = subscribed()
    world.publish([0], "a")
    world.at(2000).move("b", 0, "update")
    world.at(3000).store([0], "b", "a")
    world.fail_over("a", "b", "planned")
    assert columns(world, "known_us") == [(3000,)]


def test_a_request_reports_what_its_sender_had_registered_or_passed_when_it_was_sent():
    world = subscribed()
    world.publish([0, 1, 2, 3], "a", to=["b"])
    world.at(1000).consume([0, 2], "a")
    world.move("a", 0)
    first = world.at(2000).ours("acknowledgements.sent", "a", peer="b", count=1)
    world.at(3000).consume([1], "a")
    world.move("a", 2)
    second = world.at(4000).ours("acknowledgements.sent", "a", peer="b", count=0)
    world.at(5000).consume([3], "a")
    sync(world.at(6000), "a", "b", first)
    sync(world.at(7000), "a", "b", second)
    world.fail_over("a", "b", "planned")
    assert columns(world, "sequence_id", "known_us") == [(0, 6000), (1, 7000), (2, 6000), (3, -1)]


def test_requests_that_overtake_each_other_are_read_in_the_order_of_sending():
    world = subscribed()
    world.publish([0, 1], "a", to=["b"])
    world.at(1000).consume([1], "a")
    first = world.at(2000).ours("acknowledgements.sent", "a", peer="b", count=1)
    world.at(3000).consume([0], "a")
    world.move("a", 1)
    second = world.at(4000).ours("acknowledgements.sent", "a", peer="b", count=0)
    sync(world.at(5000), "a", "b", second)
    sync(world.at(6000), "a", "b", first)
    world.fail_over("a", "b", "planned")
    assert columns(world, "sequence_id", "known_us") == [(0, 5000), (1, 6000)]


def test_the_first_of_several_reports_counts():
    world = subscribed("a", "b", "c")
    world.publish([0], "a", to=["b", "c"])
    world.at(1000).consume([0], "a")
    world.register([0], "c")
    by_c = world.ours("acknowledgements.sent", "c", peer="b", count=1)
    by_a = world.ours("acknowledgements.sent", "a", peer="b", count=1)
    sync(world.at(3000), "c", "b", by_c)
    sync(world.at(4000), "a", "b", by_a)
    world.fail_over("a", "b", "planned")
    assert columns(world, "known_us") == [(3000,)]


def test_an_update_before_a_report_counts():
    world = subscribed()
    world.publish([0], "a", to=["b"])
    world.at(1000).consume([0], "a")
    sent = world.ours("acknowledgements.sent", "a", peer="b", count=1)
    world.at(2000).move("b", 0, "update")
    sync(world.at(4000), "a", "b", sent)
    world.fail_over("a", "b", "planned")
    assert columns(world, "known_us") == [(2000,)]


def test_a_report_to_another_cluster_is_not_known_at_the_target():
    world = subscribed("a", "b", "c")
    world.publish([0], "a", to=["b", "c"])
    world.at(1000).consume([0], "a")
    sent = world.ours("acknowledgements.sent", "a", peer="c", count=1)
    sync(world.at(2000), "a", "c", sent)
    world.fail_over("a", "b", "planned")
    assert columns(world, "known_us") == [(-1,)]
