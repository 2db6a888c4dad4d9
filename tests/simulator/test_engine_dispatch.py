"""How brokers dispatch messages to consumers, and what happens to acks.

Types, permits, turns, redelivery, grouping, limits, delay, batches.

Figures follow from the rules named at each test; sources are the dispatchers, `ManagedCursorImpl` and the
Java client.
"""

import pytest

from tests.simulator.engine_runs import MS, at_ms, do, numbers, open_world, positions, rows, run, subscription
from tests.simulator.one_cluster import body, burst, delivered

# --- subscription types


def test_exclusive_second_consumer_is_refused_and_gets_nothing():
    # Issue, Engine 3: Exclusive is one consumer; Pulsar answers ConsumerBusy and the client retries.
    world = run(body("Exclusive", consumers=["c1: {}", "c2: {start: 5ms}"]), until="300ms")
    assert numbers(delivered(world, "c1")) == list(range(10))
    assert delivered(world, "c2") == []
    # refused at 5 ms, again after 100 ms and 200 ms more (backoff 100 ms, doubled)
    assert at_ms(rows(world, "client.changed", client="c2", reason="refused-exclusive")) == [5, 105]


def test_exclusive_second_consumer_takes_over_at_its_next_retry():
    world = open_world(
        body(
            "Exclusive",
            "start: 10ms, every: 10ms, count: 40",
            ["c1: {acknowledge: never}", "c2: {start: 5ms}"],
        ),
        until="1s",
    )
    world.run(95 * MS)
    do(world, "client.kill", client="c1")
    world.run(600 * MS)
    # c1 had 0 to 8 (10 to 90 ms) and acknowledged none, so c2 gets all of them at its retry at 105 ms, then 9
    # and later ones as they arrive
    first = [row for row in delivered(world, "c2") if row["at_us"] == 105 * MS]
    assert numbers(first) == list(range(10))
    assert numbers(delivered(world, "c2")) == list(range(40))


def test_shared_dispatches_turns_of_twenty_to_connected_consumers():
    # Published one by one they are read one by one, and alternate. Delayed ones that are due together are read
    # together: 20 to one, 20 to the other, 20 to the first.
    for delay, expected in (("", [29, 29]), (", delay: {share: 100%, for: 1s}", [19, 39])):
        world = open_world(
            body(
                consumers=["c1: {processing: 1h}", "c2: {processing: 1h}"],
                producer=f"paused: true, batch: 1{delay}",
            ),
            until="2s",
        )
        do(world, "producer.publish", producer="p", count=60)
        world.run(1500 * MS)
        queued = [subscription(world, "a")["consumers"][name]["queued"] for name in ("c1", "c2")]
        assert sorted(queued) == expected


def test_shared_single_messages_alternate():
    # Pulsar chooses the next consumer at each read; messages that arrive one by one go to the consumers in
    # turn.
    world = run(body(consumers=["c1: {}", "c2: {}"]))
    assert numbers(delivered(world, "c1")) in ([0, 2, 4, 6, 8], [1, 3, 5, 7, 9])
    assert len(delivered(world, "c2")) == 5


def test_key_shared_keeps_a_key_with_one_consumer():
    world = run(
        body(
            "Key_Shared",
            "start: 10ms, every: 1ms, count: 400, keys: 20",
            ["c1: {processing: 1ms}", "c2: {processing: 1ms}", "c3: {processing: 1ms}"],
        )
    )
    holders = {}
    for row in delivered(world):
        holders.setdefault(row["sequence_id"] % 20, set()).add(row["client"])
    assert len(delivered(world)) == 400 and all(len(names) == 1 for names in holders.values())
    assert len(set.union(*holders.values())) > 1, "one consumer has all keys: nothing was shared"


def test_key_shared_key_waits_for_its_consumer_and_other_keys_continue():
    # c1 holds a message: its queue of 1 is full, so its keys wait; keys of c2 are delivered
    # (`AbstractBaseDispatcher`).
    world = run(
        body(
            "Key_Shared",
            "start: 10ms, every: 1ms, count: 200, keys: 20",
            ["c1: {receiverQueueSize: 1, processing: 1h}", "c2: {}"],
        ),
        until="2s",
    )
    mine = {row["sequence_id"] % 20 for row in delivered(world, "c2")}
    assert len(delivered(world, "c1")) == 1 and len(delivered(world, "c2")) == 10 * len(mine) < 200


def test_key_shared_order_within_a_key_after_a_consumer_dies():
    world = open_world(
        body(
            "Key_Shared",
            "start: 10ms, every: 1ms, count: 300, keys: 10",
            ["c1: {processing: 2ms}", "c2: {processing: 2ms}"],
        ),
        until="5s",
    )
    world.run(150 * MS)
    do(world, "client.kill", client="c1")
    world.run()
    last = {}
    for row in delivered(world, "c2"):
        key = row["sequence_id"] % 10
        assert row["sequence_id"] > last.get(key, -1)
        last[key] = row["sequence_id"]
    assert len(last) == 10


# --- receiver queue, permits, flow


@pytest.mark.parametrize("size, sent", [(0, 1), (1, 2), (3, 4), (1000, 1000)])
def test_read_ahead_is_the_receiver_queue(size, sent):
    # Issue, Engine 3: receiver queue; the application holds one (processing takes 1 h) and took it from the
    # queue. The client grants permits for what it has taken once that is half the queue: sizes 1 and 3 grant
    # 1 (1 >= 1 // 2, 3 // 2), so one more is sent; size 1000 grants at 500, so nothing more is sent; size 0
    # grants a single permit when the application waits.
    world = burst(2000, consumers=[f"c1: {{receiverQueueSize: {size}, processing: 1h}}"])
    consumer = subscription(world, "a")["consumers"]["c1"]
    assert consumer["queued"] + consumer["unacked_total"] == sent
    assert subscription(world, "a")["read_index"] == sent


def test_permits_are_granted_at_half_the_queue():
    # Queue 10: ten are pushed; permits return in fives, when five were taken. Processing 10 ms from 10 ms on.
    world = burst(100, consumers=["c1: {receiverQueueSize: 10, processing: 10ms}"])
    read = []
    for at in (10, 49, 50, 99, 100):
        world.run(at * MS)
        read.append(subscription(world, "a")["read_index"])
    # taken: one at 10 ms, the fifth at 50 ms, the tenth at 100 ms
    assert read == [10, 10, 15, 15, 20]


def test_without_queue_one_message_is_fetched_at_a_time():
    world = burst(3, consumers=["c1: {receiverQueueSize: 0, processing: 10ms}"])
    world.run(500 * MS)
    assert at_ms(delivered(world)) == [10, 20, 30]


def test_queue_of_one_prefetches_one():
    world = burst(
        5,
        consumers=[
            "c1: {receiverQueueSize: 1, processing: 10ms}",
            "c2: {receiverQueueSize: 1, processing: 10ms}",
        ],
    )
    world.run(500 * MS)
    assert sorted(at_ms(delivered(world))) == [10, 10, 20, 20, 30]


# --- redelivery


def test_messages_of_a_dead_consumer_go_to_the_others_before_new_messages():
    world = open_world(
        body(
            "Shared",
            "start: 10ms, every: 10ms, count: 20",
            ["c1: {acknowledge: never}", "c2: {start: 105ms}"],
        ),
        until="1s",
    )
    world.run(105 * MS)
    do(world, "client.kill", client="c1")
    world.run()
    assert numbers(delivered(world, "c1")) == list(range(10))
    assert numbers(delivered(world, "c2")) == list(range(20))
    assert [row["at_us"] for row in delivered(world, "c2")[:10]] == [105 * MS] * 10


def test_closing_returns_queued_messages_and_keeps_acknowledged_ones():
    world = burst(10, consumers=["c1: {processing: 10ms}", "c2: {start: 1s}"])
    world.run(45 * MS)  # three processed (20, 30, 40 ms), the fourth delivered, not acked
    do(world, "client.close", client="c1")
    assert numbers(rows(world, "message.registered")) == [0, 1, 2], "a clean close sends the acks that wait"
    world.run(1100 * MS)
    assert numbers(delivered(world, "c2")) == [3, 4, 5, 6, 7, 8, 9]


def test_a_negatively_acked_message_is_redelivered_after_sixty_seconds():
    # Issue, Engine 3: negativeAckRedeliveryDelay 60 s by default.
    world = run(body(consumers=["c1: {processing: 1ms, negativeAcknowledge: {messages: [p/3]}}"]), until="2m")
    again = [row for row in delivered(world) if row["sequence_id"] == 3]
    # published at 40 ms, negatively acknowledged 1 ms later
    assert at_ms(again) == [40, 60_041] and [row["count"] for row in again] == [0, 1]
    assert subscription(world, "a")["backlog"] == 0


def test_negative_ack_on_exclusive_redelivers_every_unacked_message():
    # Single messages cannot be redelivered on Exclusive: the broker rewinds; 5 is held and is redelivered
    # with 3.
    text = body(
        "Exclusive",
        consumers=[
            (
                "c1: {processing: 1ms, negativeAckRedeliveryDelay: 1s, negativeAcknowledge: {messages: "
                "[p/3]}, hold: {messages: [p/5]}}"
            )
        ],
    )
    world = run(text, until="2s")
    assert numbers(delivered(world)) == [*range(10), 3, 5]


def test_ack_timeout_requests_redelivery():
    # ackTimeout is off by default. When it is on, a held message is redelivered each time the timeout has
    # passed.
    world = run(body(consumers=["c1: {ackTimeout: 1s, hold: {messages: [p/0]}}"]), until="3500ms")
    assert at_ms([row for row in delivered(world) if row["sequence_id"] == 0]) == [10, 1010, 2010, 3010]
    world = run(body(consumers=["c1: {hold: {messages: [p/0]}}"]), until="1h")
    assert len([row for row in delivered(world) if row["sequence_id"] == 0]) == 1


# --- acknowledgements


def test_grouped_acks_are_sent_every_100_ms_from_the_connect():
    # Issue, Engine 3: acknowledgmentGroupTime 100 ms; the client's flush timer starts with the client, here
    # at 30 ms.
    world = run(body(producer="start: 50ms, every: 70ms, count: 4", consumers=["c1: {start: 30ms}"]))
    assert at_ms(rows(world, "message.acknowledged")) == [50, 120, 190, 260]
    assert at_ms(rows(world, "message.registered")) == [130, 130, 230, 330]


def test_acks_are_sent_immediately_without_grouping_and_when_a_thousand_are_grouped():
    world = run(body(consumers=["c1: {acknowledgmentGroupTime: 0s}"]))
    assert at_ms(rows(world, "message.registered")) == at_ms(rows(world, "message.acknowledged"))
    # maxAcknowledgmentGroupSize 1000 in the Java client
    world = burst(1500, consumers=["c1: {acknowledgmentGroupTime: 1s}"])
    assert len(rows(world, "message.registered")) == 1000
    world.run(1000 * MS)
    assert len(rows(world, "message.registered")) == 1500


def test_unsent_acks_are_lost_with_the_client():
    world = open_world(body(consumers=["c1: {}", "c2: {start: 1s}"]), until="3s")
    world.run(95 * MS)  # acks of 10 to 90 ms wait for 100 ms
    do(world, "client.kill", client="c1")
    world.run()
    assert len(rows(world, "message.acknowledged", client="c1")) == 9
    assert rows(world, "message.registered", client="c1") == []
    assert numbers(delivered(world, "c2")) == list(range(10))


def test_a_cumulative_ack_covers_messages_delivered_before():
    # ManagedCursorImpl: a cumulative ack moves the mark-delete; a held message is covered by the next one's
    # cumulative ack.
    world = run(body("Exclusive", consumers=["c1: {acknowledge: cumulative, hold: {messages: [p/4]}}"]))
    assert subscription(world, "a")["mark_delete"] == "192:9"
    assert rows(world, "message.acknowledged", sequence_id=4)[0]["at_us"] == 60 * MS, "with the ack of p/5"
    assert [row["reason"] for row in rows(world, "message.acknowledged")] == ["cumulative"] * 10


def test_individually_deleted_ranges_print_as_in_pulsar():
    # ManagedCursorImpl: acked 0-4, 6, 9 -> mark-delete L:4, ranges [(L:5..L:6],(L:8..L:9]].
    world = run(body(consumers=["c1: {hold: {messages: [p/5, p/7, p/8]}}"]))
    seen = subscription(world, "a")
    assert (seen["mark_delete"], seen["individually_deleted"]) == ("192:4", "[(192:5..192:6],(192:8..192:9]]")
    assert seen["backlog"] == 3  # those individually deleted are not counted
    do(world, "consumer.release", consumer="c1", messages=["p/5"])
    world.run(11_000 * MS)
    seen = subscription(world, "a")
    assert (seen["mark_delete"], seen["individually_deleted"]) == ("192:6", "[(192:8..192:9]]")


# --- limits of unacknowledged messages


def test_unacked_limit_per_consumer_blocks_without_notice_and_lifts_at_half():
    # Issue, Engine 3: maxUnackedMessagesPerConsumer; Consumer.removePendingAcks unblocks at half the limit,
    # the dispatcher of a subscription below it.
    world = burst(
        30,
        settings="maxUnackedMessagesPerConsumer: 10",
        consumers=["c1: {hold: {share: 100%}, acknowledgmentGroupTime: 0s}"],
    )
    assert numbers(delivered(world)) == list(range(10))
    assert [row["count"] for row in rows(world, "consumer.blocked", client="c1")] == [10]
    do(world, "consumer.release", consumer="c1", messages=[f"p/{number}" for number in range(4)])
    assert len(delivered(world)) == 10, "six left are more than half of ten"
    do(world, "consumer.release", consumer="c1", messages=["p/4"])
    assert [row["count"] for row in rows(world, "consumer.unblocked", client="c1")] == [5]
    assert numbers(delivered(world)) == list(range(15)), "five are held and five more may come"


def test_a_blocked_consumer_that_requests_redelivery_is_sent_messages_again():
    # Consumer.redeliverUnacknowledgedMessages lifts the limit however many are left: one is redelivered, nine
    # of ten stay unacknowledged.
    consumer = (
        "c1: {hold: {share: 100%}, negativeAcknowledge: {messages: [p/0]}, negativeAckRedeliveryDelay: 500ms}"
    )
    world = burst(30, settings="maxUnackedMessagesPerConsumer: 10", consumers=[consumer])
    world.run(1000 * MS)
    assert numbers(delivered(world)) == [*range(10), 0] and [
        row["count"] for row in rows(world, "consumer.unblocked")
    ] == [9]


def test_unacked_limit_does_not_apply_to_exclusive():
    # Pulsar counts unacknowledged messages for individual-ack types only (Shared, Key_Shared).
    world = burst(
        30,
        type_="Exclusive",
        settings="maxUnackedMessagesPerConsumer: 10",
        consumers=["c1: {acknowledge: never}"],
    )
    assert len(delivered(world)) == 30


def test_unacked_limit_per_subscription_stops_all_consumers():
    world = burst(
        60,
        settings="maxUnackedMessagesPerSubscription: 20, maxUnackedMessagesPerConsumer: 0",
        consumers=[
            "c1: {hold: {share: 100%}, acknowledgmentGroupTime: 0s}",
            "c2: {hold: {share: 100%}, acknowledgmentGroupTime: 0s}",
        ],
    )
    assert len(delivered(world)) == 20
    assert [(row.get("client"), row["count"]) for row in rows(world, "consumer.blocked")] == [(None, 20)]
    mine = numbers(delivered(world, "c1"))
    do(world, "consumer.release", consumer="c1", messages=[f"p/{number}" for number in mine])
    assert len(mine) == 10 and len(delivered(world)) == 20, "ten left are not below half of twenty"
    other = numbers(delivered(world, "c2"))[0]
    do(world, "consumer.release", consumer="c2", messages=[f"p/{other}"])
    assert len(delivered(world)) == 31, "nine are held and eleven more may come"


def test_a_reset_unblocks_a_blocked_consumer():
    # A reset disconnects the consumers in Pulsar; they start again with nothing unacknowledged.
    world = burst(30, settings="maxUnackedMessagesPerConsumer: 10", consumers=["c1: {acknowledge: never}"])
    assert len(delivered(world)) == 10
    do(world, "subscription.reset", subscription="s", cluster="a", position="earliest")
    world.run(world.now_us + 100 * MS)
    assert len(delivered(world)) == 20


# --- delayed delivery, batches, paused consumers


@pytest.mark.parametrize(
    "type_, due", [("Shared", 1040), ("Key_Shared", 1040), ("Exclusive", 40), ("Failover", 40)]
)
def test_delayed_delivery_only_for_shared_types(type_, due):
    # Issue, Engine 3; p/3 is published at 40 ms and delayed by 1 s. Exclusive and Failover deliver at once.
    text = body(
        type_,
        producer="start: 10ms, every: 10ms, count: 10, delay: {messages: [p/3], for: 1s}",
        settings="activeConsumerFailoverDelayTimeMillis: 0",
    )
    world = run(text, until="3s")
    found = [row for row in delivered(world) if row["sequence_id"] == 3]
    assert len(found) == 1 and abs(found[0]["at_us"] / MS - due) < 1.01


def test_delay_is_off_with_the_broker_setting():
    world = run(
        body(
            producer="start: 10ms, every: 10ms, count: 10, delay: {messages: [p/3], for: 1s}",
            settings="delayedDeliveryEnabled: false",
        )
    )
    assert at_ms(rows(world, "message.delivered", sequence_id=3)) == [40]


def test_a_delayed_message_holds_the_mark_delete():
    # Pulsar's documentation of geo-replication: delayed messages hold the mark-delete; the others are
    # individually deleted.
    world = run(body(producer="start: 10ms, every: 10ms, count: 10, delay: {messages: [p/3], for: 1h}"))
    seen = subscription(world, "a")
    assert (seen["mark_delete"], seen["individually_deleted"]) == ("192:2", "[(192:3..192:9]]")


def test_batch_is_one_entry_and_costs_a_permit_per_message():
    world = burst(12, consumers=["c1: {receiverQueueSize: 5, processing: 1h}"])
    assert subscription(world, "a")["read_index"] == 5
    text = body(
        producer="start: 10ms, every: 1ms, count: 40, batch: 4",
        consumers=["c1: {receiverQueueSize: 6, processing: 1h}"],
    )
    world = run(text, until="1s")
    # permits 6: entries of four are sent while permits are above 0: two entries, permits -2; one was taken,
    # half is 3
    assert (
        subscription(world, "a")["read_index"] == 2
        and subscription(world, "a")["consumers"]["c1"]["permits"] == -2
    )
    assert positions(rows(world, "message.stored"))[:5] == ["192:0", "192:0", "192:0", "192:0", "192:1"]
    assert [row["batch_index"] for row in rows(world, "message.stored")[:5]] == [0, 1, 2, 3, 0]


def test_batch_index_acks_exclude_acked_messages_from_redelivery():
    # ManagedCursorImpl: per entry a bit set of the remaining indexes; an entry with one index left is not
    # deleted.
    text = body(
        producer="start: 10ms, every: 1ms, count: 8, batch: 4",
        consumers=["c1: {hold: {messages: [p/2]}}", "c2: {start: 1s}"],
    )
    world = open_world(text, until="3s")
    world.run(500 * MS)
    seen = subscription(world, "a")
    assert (seen["mark_delete"], seen["individually_deleted"], seen["backlog"]) == (
        "192:-1",
        "[(192:0..192:1]]",
        1,
    )
    do(world, "client.kill", client="c1")
    world.run()
    assert numbers(delivered(world, "c2")) == [2]


@pytest.mark.parametrize("how", ["consumer", "broker"])
def test_without_batch_index_acks_the_whole_entry_is_redelivered(how):
    # acknowledgmentAtBatchIndexLevelEnabled false, or a client that sends none: an entry is acknowledged when
    # all of it is.
    option = ", batchIndexAcknowledgment: false" if how == "consumer" else ""
    text = body(
        producer="start: 10ms, every: 1ms, count: 8, batch: 4",
        consumers=[f"c1: {{hold: {{messages: [p/2]}}{option}}}", f"c2: {{start: 1s{option}}}"],
        settings="acknowledgmentAtBatchIndexLevelEnabled: false" if how == "broker" else "",
    )
    world = open_world(text, until="3s")
    world.run(500 * MS)
    assert numbers(rows(world, "message.registered")) == [4, 5, 6, 7]
    do(world, "client.kill", client="c1")
    world.run()
    assert numbers(delivered(world, "c2")) == [0, 1, 2, 3]
    assert subscription(world, "a")["backlog"] == 0


def test_negative_ack_of_a_batched_message_redelivers_the_unacked_part_of_its_entry():
    text = body(
        producer="start: 10ms, every: 1ms, count: 4, batch: 4",
        consumers=[
            (
                "c1: {acknowledgmentGroupTime: 0s, negativeAckRedeliveryDelay: 1s, "
                "negativeAcknowledge: {messages: [p/1]}}"
            )
        ],
    )
    assert numbers(delivered(run(text, until="3s"))) == [0, 1, 2, 3, 1]


def test_a_paused_consumer_is_connected_and_takes_nothing():
    world = open_world(body(consumers=["c1: {paused: true}"]))
    world.run(1000 * MS)
    assert delivered(world) == [] and subscription(world, "a")["consumers"]["c1"]["queued"] == 10
    do(world, "consumer.resume", consumer="c1")
    assert numbers(delivered(world)) == list(range(10))


def test_a_consumer_of_partitions_reconnects_with_one_backoff_for_all():
    """Pulsar's client, Backoff: 100 ms, doubled with each try.

    Down from 1 s to 11 s it tries at 1.1, 1.3, 1.7, 2.5, 4.1, 7.3 and 13.7 s, however many partitions it
    lost.
    """
    world = open_world(
        "clusters: {a: {}}\ntopics: {t: {clusters: [a], partitions: 4}}\nsubscriptions: {s: {topic: t, "
        "type: Shared}}\nconsumers: {c: {subscription: s, cluster: a}}\n"
        "commands: [{at: 1s, do: cluster.crash, cluster: a, clients: false}, {at: 11s, do: "
        "cluster.restart, cluster: a}]\n",
        until="20s",
    )
    world.run()
    assert at_ms(rows(world, "consumer.connected"))[4:] == [13_700] * 4


def test_initial_position_latest_and_earliest():
    # Issue, Engine 3: Latest is the default.
    latest = body(consumers=["c1: {start: 55ms}"], subscription="")
    assert numbers(delivered(run(latest))) == [5, 6, 7, 8, 9]
    earliest = body(consumers=["c1: {start: 55ms}"])
    assert numbers(delivered(run(earliest))) == list(range(10))


def test_unload_reconnects_clients_and_redelivers_unacked_messages():
    world = open_world(body(consumers=["c1: {hold: {messages: [p/4]}}"]), until="3s")
    world.run(1000 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run()
    # a clean unload keeps acks; the client is back 100 ms later and is sent the held message again
    again = [row for row in delivered(world) if row["at_us"] > 1000 * MS]
    assert [(row["sequence_id"], row["at_us"]) for row in again] == [(4, 1100 * MS)]
