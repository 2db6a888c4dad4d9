"""The figures of a shared group from traces written by hand: messages, duplicates, losses, order."""

import pytest

from simulator.trace.registry import NULL
from tests.emqx.group_trace import ADA, BEN, STREAM, GroupTrace
from tests.oracle.groups import recount
from tests.spark_reports.group_worlds import random_world


def figures(one, *names):
    """Some figures of the group, by name."""
    counted = one.counted()
    return {name: getattr(counted, name) for name in names}


@pytest.mark.parametrize("leaders, changes", [(0, 0), (1, 0), (2, 1), (4, 3)])
def test_every_leader_after_the_first_is_a_change(leaders, changes):
    one = GroupTrace()
    for leader in range(leaders):
        one.row("leader.elected", subscription="g", count=leader)
    assert one.counted().leader_changes == changes


def test_sessions_count_once_and_streams_only_below_the_filter():
    one = GroupTrace(opened=(STREAM, "0/1/t/b", "0/1/other", "0/1/t"))
    for client in (ADA, BEN, ADA):
        one.row("session.subscribed", subscription="g", client=client)
    one.store(1, stream="0/1/other")
    assert figures(one, "sessions", "streams", "published") == {"sessions": 2, "streams": 3, "published": 0}


def test_a_message_stored_before_the_group_began_is_not_its_own():
    one = GroupTrace(start_us=100)
    for at_us, number in ((99, 1), (100, 2), (101, 3)):
        one.at(at_us).store(number)
    assert figures(one, "published", "waiting") == {"published": 2, "waiting": 2}


def test_a_message_stored_after_the_group_was_destroyed_is_not_its_own():
    one = GroupTrace()
    one.store(1)
    one.row("group.destroyed", subscription="g")
    one.at(50).store(2)
    one.at(60).declare(60)
    one.store(3)
    assert figures(one, "published", "waiting") == {"published": 2, "waiting": 2}


@pytest.mark.parametrize("delivered", [True, False])
def test_a_message_that_is_not_its_own_counts_once_it_is_delivered_or_acknowledged(delivered):
    one = GroupTrace(start_us=100)
    one.store(1, 2)
    one.lease(ADA)
    if delivered:
        one.deliver(one.fetch(ADA, 0, 1), ADA, 0)
    else:
        one.ack(ADA, 0)
    assert figures(one, "published", "delivered", "acknowledged", "waiting", "lost") == {
        "published": 1,
        "delivered": int(delivered),
        "acknowledged": int(not delivered),
        "waiting": 0,
        "lost": 0,
    }


# --- lost and waiting


@pytest.mark.parametrize("position, lost", [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_an_undelivered_message_before_the_saved_position_is_lost(position, lost):
    one = GroupTrace()
    one.found()
    one.store(1, 2, 3)
    one.saved(position)
    assert figures(one, "lost", "lost_qos0", "waiting") == {
        "lost": lost,
        "lost_qos0": 0,
        "waiting": 3 - lost,
    }


def test_a_message_in_a_stream_that_no_leader_shared_waits():
    one = GroupTrace()
    one.store(1)
    one.row("progress.loaded", subscription="g", topic=STREAM, entry=1, count=1)
    assert figures(one, "lost", "waiting") == {"lost": 0, "waiting": 1}


def test_a_message_of_an_earlier_life_of_the_group_waits():
    one = GroupTrace()
    one.found()
    one.store(1)
    one.saved(1)
    one.row("group.destroyed", subscription="g")
    one.at(60).declare(60)
    assert figures(one, "lost", "waiting") == {"lost": 0, "waiting": 1}


@pytest.mark.parametrize(
    "qos, taken, lost_qos0",
    [
        ({}, (), 0),
        ({"p": 0}, (), 3),
        ({"p": 2}, (), 0),
        ({"ada": 0}, ((ADA, 1, 3),), 2),
        ({"ada": 0}, ((BEN, 1, 3),), 0),
        ({"ada": 2}, ((ADA, 1, 3),), 0),
        ({"ada": 0}, ((ADA, 0, 1), (BEN, 1, 3)), 1),
    ],
)
def test_undelivered_qos_0_messages_are_counted_separately(qos, taken, lost_qos0):
    one = GroupTrace(**qos)
    one.found()
    one.store(1, 2, 3, 4)
    one.lease(ADA)
    one.lease(BEN)
    for chunk in taken:
        one.fetch(*chunk)
    one.saved(3)
    assert figures(one, "lost", "lost_qos0", "waiting") == {
        "lost": 3 - lost_qos0,
        "lost_qos0": lost_qos0,
        "waiting": 1,
    }


# --- duplicates and redeliveries


def handed_over(acknowledged=True):
    """Ada got a message, maybe acknowledged it, and Ben got it again under a lease of his own."""
    one = GroupTrace()
    one.at(10).found()
    one.store(7)
    one.lease(ADA)
    one.deliver(one.fetch(ADA, 0, 1), ADA, 0)
    if acknowledged:
        one.ack(ADA, 0)
    decided = one.decide(BEN)
    leased = one.lease(BEN)
    delivered = one.at(50).deliver(one.fetch(BEN, 0, 1), BEN, 0)
    return one, {"delivered": delivered, "decided": decided, "leased": leased}


def test_a_delivery_after_an_acknowledgement_is_a_duplicate_with_its_evidence():
    one, evidence = handed_over()
    counted = one.counted()
    assert (counted.delivered, counted.acknowledged, counted.duplicates, counted.redeliveries) == (2, 1, 1, 0)
    assert {name: count for name, count in counted.by_cause.items() if count} == {"chunk_repeated": 1}
    (duplicate,) = counted.duplicates_list
    assert (duplicate.producer, duplicate.sequence_id, duplicate.at_us) == ("p", 7, 50)
    assert duplicate.cause == "chunk_repeated"
    assert duplicate.evidence == evidence | {"acknowledged": evidence["decided"] - 1}


def test_a_repeated_delivery_without_an_earlier_acknowledgement_is_a_redelivery():
    one, _evidence = handed_over(acknowledged=False)
    one.ack(BEN, 0)
    assert figures(one, "delivered", "acknowledged", "duplicates", "redeliveries") == {
        "delivered": 2,
        "acknowledged": 1,
        "duplicates": 0,
        "redeliveries": 1,
    }


def test_every_delivery_before_the_first_acknowledgement_but_the_first_is_a_redelivery():
    one, _evidence = handed_over(acknowledged=False)
    one.deliver(one.fetch(BEN, 0, 1), BEN, 0, 0)
    one.ack(BEN, 0)
    one.deliver(one.fetch(BEN, 0, 1), BEN, 0)
    assert figures(one, "delivered", "duplicates", "redeliveries") == {
        "delivered": 5,
        "duplicates": 1,
        "redeliveries": 3,
    }


def test_the_latest_acknowledgement_before_a_delivery_is_its_evidence():
    one, evidence = handed_over()
    second = one.ack(BEN, 0)
    third_delivery = one.deliver(one.fetch(BEN, 0, 1), BEN, 0)
    one.ack(BEN, 0)
    first, other = one.counted().duplicates_list
    assert first.evidence["acknowledged"] == evidence["decided"] - 1
    assert other.evidence == evidence | {"delivered": third_delivery, "acknowledged": second}


def test_the_cause_is_that_of_the_latest_acknowledgement():
    one = GroupTrace()
    one.store(7)
    one.lease(ADA)
    one.deliver(one.fetch(ADA, 0, 1), ADA, 0)
    one.ack(ADA, 0)
    one.decide(BEN)
    one.ack(ADA, 0)
    one.lease(BEN)
    one.deliver(one.fetch(BEN, 0, 1), BEN, 0)
    assert one.counted().by_cause["owner_declared_dead"] == 1


def test_a_chunk_resent_after_a_reconnect_is_a_duplicate_without_a_lease():
    one, _evidence = handed_over()
    again = one.deliver(one.fetch(BEN, 0, 1, "again"), BEN, 0)
    _first, other = one.counted().duplicates_list
    assert other.cause == "chunk_repeated" and set(other.evidence) == {"delivered", "acknowledged"}
    assert other.evidence["delivered"] == again
    assert figures(one, "duplicates", "by_cause")["by_cause"]["chunk_repeated"] == 2


def test_figures_up_to_a_row_leave_out_the_row_itself():
    one, evidence = handed_over()
    assert one.counted(evidence["delivered"]).duplicates == 0
    assert one.counted(evidence["delivered"] + 1).duplicates == 1
    assert one.counted(10**9).duplicates == one.counted().duplicates == 1


def test_the_summary_has_every_figure_but_not_the_list():
    summary = handed_over()[0].counted().summary()
    assert list(summary) == [
        *("streams", "sessions", "published", "delivered", "acknowledged", "duplicates", "redeliveries"),
        *(
            "lost",
            "lost_qos0",
            "waiting",
            "pending_repeats",
            "by_cause",
            "handovers",
            "handover_us",
            "unowned_us",
        ),
        *("two_readers", "two_readers_us", "leader_changes", "reordered"),
    ]
    assert summary["duplicates"] == 1


# --- order


def delivered(*messages, opened=(STREAM, "0/2/t/a", "0/1/t/b")):
    """Each message (number, producer, MQTT client, stream), stored and delivered in this order."""
    one = GroupTrace(opened=opened)
    one.lease(ADA)
    chunk = one.fetch(ADA, 0, 10)
    stored = dict.fromkeys(opened, 0)
    for number, producer, client, stream in messages:
        one.store(number, producer=producer, client=client, stream=stream)
        one.deliver(chunk, ADA, stored[stream], stream=stream)
        stored[stream] += 1
    return one.counted().reordered


@pytest.mark.parametrize(
    "numbers, reordered", [((0, 1, 2), 0), ((1, 0, 2), 1), ((2, 0, 1), 2), ((5, 9, 6), 1)]
)
def test_a_delivery_older_than_one_before_it_is_reordered(numbers, reordered):
    assert delivered(*((number, "p", 0, STREAM) for number in numbers)) == reordered


@pytest.mark.parametrize(
    "other, reordered",
    [
        (("p", 0, STREAM), 1),
        (("p", 0, "0/2/t/a"), 1),
        (("q", 0, STREAM), 0),
        (("p", 1, STREAM), 0),
        (("p", 0, "0/1/t/b"), 0),
    ],
)
def test_order_is_of_one_publishers_client_and_one_topic_in_all_its_streams(other, reordered):
    assert delivered((5, "p", 0, STREAM), (4, *other)) == reordered


def test_a_message_delivered_twice_in_a_row_is_not_reordered():
    one = handed_over()[0]
    assert one.counted().reordered == 0


def test_the_end_of_a_stream_is_after_all_its_messages():
    one = GroupTrace()
    one.found()
    one.store(1, 2)
    one.saved(NULL)
    assert figures(one, "lost", "waiting") == {"lost": 2, "waiting": 0}


# --- still to be delivered again


def pending(one: GroupTrace) -> int:
    return one.counted().pending_repeats


def test_what_a_reader_began_before_and_did_not_get_since_may_come_again():
    one = GroupTrace()
    one.found()
    one.store(1, 2, 3)
    one.lease(ADA)
    one.deliver(one.fetch(ADA, 0, 3), ADA, 0, 1, 2)
    assert pending(one) == 0, "ada got each since her lease began"
    one.lease(ADA, "absent")
    assert pending(one) == 3, "the next reader begins at the leader's position, 0"
    one.saved(2)
    assert pending(one) == 1
    one.lease(BEN)
    assert pending(one) == 3, "ben's lease begins at 0"
    one.deliver(one.fetch(BEN, 0, 1), BEN, 0)
    assert pending(one) == 2
    one.deliver(one.fetch(ADA, 0, 3, "again"), ADA, 1)
    assert pending(one) == 2, "another client's delivery is none to ben"
    one.deliver(one.fetch(BEN, 1, 3), BEN, 1, 2)
    assert pending(one) == 0


def test_of_two_readers_either_may_deliver_again():
    one = GroupTrace()
    one.found()
    one.store(1, 2)
    one.lease(ADA)
    one.deliver(one.fetch(ADA, 0, 1), ADA, 0)
    one.lease(BEN)
    one.deliver(one.fetch(BEN, 0, 2), BEN, 0, 1)
    assert pending(one) == 1, "ada has not got the second one, which ben got"


@pytest.mark.parametrize("over", ["read to the end", "destroyed", "never shared"])
def test_nothing_comes_again_in_a_stream_that_is_over(over):
    one = GroupTrace()
    if over != "never shared":
        one.found()
    one.store(1, 2)
    one.deliver(one.fetch(ADA, 0, 2, "again"), ADA, 0, 1)
    if over == "read to the end":
        one.saved(NULL)
    elif over == "destroyed":
        one.row("group.destroyed", subscription="g")
    assert pending(one) == 0
    one.found()
    assert pending(one) == 2, "a stream that is found again is read again"


def test_engine_live_figures_and_plain_recount_agree_at_any_instant_of_random_runs():
    due = 0
    for seed in range(1, 21):
        world = random_world(seed)
        for at_us in range(2_500_000, 27_000_000, 3_500_000):
            world.seek(at_us=at_us)
            counted = world.summary()["groups"]["g"]["pending_repeats"]
            plain = recount(world.trace.rows(0, world.seq), world.scenario)["g"]["pending_repeats"]
            live = world.view()["groups"]["g"]["figures"]["pending_repeats"]
            assert counted == plain == live, (seed, at_us)
            due += counted > 0
    assert due > 10, "there was something to compare"
