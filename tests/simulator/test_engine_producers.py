"""Tests of producers.

Retry and send timeout while no broker is available, deduplication of resent messages, partitions, growth.

Rules: "producer send timeout and retry … deduplication off by default, on by option … topics (partitioned
ones too)".
"""

import pytest

from tests.simulator.engine_runs import MS, SECOND, at_ms, do, numbers, open_world, rows, run, topic

ONE = "clusters: {a: {}, b: {}}\nlinks: {default: {latency: 40ms}}\n"


def body(producer="every: 100ms, start: 50ms, count: 30", topic_more="", settings=""):
    return (
        f"{ONE}settings: {{{settings}}}\ntopics: {{t: {{clusters: [a, b]{topic_more}}}}}\nproducers: {{p: "
        f"{{topic: t, cluster: a, {producer}}}}}\n"
    )


def test_a_producer_of_a_dead_region_publishes_nothing_and_continues_after_the_restart():
    # The region's clients die with it; the application continues with the next sequence id.
    world = open_world(body(), until="10s")
    world.run(SECOND)
    do(world, "cluster.crash", cluster="a")
    world.run(2 * SECOND)
    assert len(rows(world, "message.published")) == 10
    do(world, "cluster.restart", cluster="a")
    world.run()
    assert (
        numbers(rows(world, "message.published"))
        == list(range(30))
        == numbers(rows(world, "message.receipted"))
    )
    assert rows(world, "message.published")[10]["at_us"] == 2100 * MS


def test_a_killed_producer_loses_the_open_batch_and_a_stopped_one_sends_it():
    for command, receipted in (("client.kill", 8), ("producer.stop", 10)):
        world = open_world(body("every: 100ms, start: 50ms, batch: 4"), until="10s")
        world.run(SECOND)
        do(world, command, **({"client": "p"} if command == "client.kill" else {"producer": "p"}))
        assert (
            len(rows(world, "message.published")) == 10 and len(rows(world, "message.receipted")) == receipted
        )


@pytest.mark.parametrize("partitions", [2, 3, 7])
def test_a_key_stays_in_its_partition(partitions):
    world = run(body("every: 1ms, count: 400, keys: 20", f", partitions: {partitions}"), until="2s")
    homes = {}
    for row in rows(world, "message.stored", cluster="a"):
        homes.setdefault(row["sequence_id"] % 20, set()).add(row["topic"])
    assert all(len(names) == 1 for names in homes.values()) and len(set.union(*homes.values())) > 1


def test_without_keys_partitions_are_taken_in_turn():
    world = run(body("every: 1ms, count: 9", ", partitions: 3"), until="1s")
    assert [row["topic"][-1] for row in rows(world, "message.stored", cluster="a")] == list("012012012")


def test_a_partition_has_the_same_messages_in_the_same_order_in_every_cluster():
    world = run(body("every: 1ms, count: 300, keys: 9", ", partitions: 4"), until="2s")
    for number in range(4):
        here, there = (
            numbers(rows(world, "message.stored", cluster=name, topic=f"t-partition-{number}"))
            for name in "ab"
        )
        assert here == there == sorted(here)


def test_growing_adds_partitions_in_every_cluster_and_producers_use_them():
    world = open_world(body("every: 10ms, count: 200", ", partitions: 2"), until="5s")
    world.run(995 * MS)
    do(world, "topic.grow", topic="t", partitions=3)
    world.run()
    for cluster in "ab":
        assert topic(world, cluster, "t-partition-2")["length"] > 30
    # before: in turn over two; after: over three
    assert {
        row["topic"] for row in rows(world, "message.stored", cluster="a") if row["at_us"] < 995 * MS
    } == {"t-partition-0", "t-partition-1"}
    assert len(rows(world, "message.receipted")) == 200


def test_publish_plans_regular_counted_and_listed():
    assert at_ms(
        rows(run(body("start: 30ms, every: 20ms, stop: 100ms"), until="1s"), "message.published")
    ) == [30, 50, 70, 90]
    assert at_ms(rows(run(body("start: 30ms, every: 20ms, count: 2"), until="1s"), "message.published")) == [
        30,
        50,
    ]
    assert at_ms(rows(run(body("at: [5ms, 5ms, 80ms]"), until="1s"), "message.published")) == [5, 5, 80]
    assert at_ms(rows(run(body("rate: 4/s, start: 10ms"), until="600ms"), "message.published")) == [
        10,
        260,
        510,
    ]


def test_poisson_arrivals_have_the_mean():
    world = run(body("rate: 100/s, arrivals: poisson, stop: 100s"), until="100s")
    count = len(rows(world, "message.published"))
    assert 9600 < count < 10_400, "ten thousand expected, four standard deviations either way"
    instants = at_ms(rows(world, "message.published"))
    longer = sum(after - before > 10 for before, after in zip(instants, instants[1:], strict=False))
    assert 0.34 < longer / count < 0.40, "a gap is longer than the mean with probability 1/e, 0.368"


def test_a_retried_message_keeps_its_identity_and_order():
    # A topic that is not loaded: the client retries each 100 ms. The run loads topics at once, so the state
    # is made by an unload in the very instant of a publish: nothing is lost and nothing is reordered.
    world = open_world(body("every: 100ms, start: 100ms, count: 20"), until="5s")
    for at in range(100, 1500, 100):
        world.run(at * MS)
        do(world, "topic.unload", cluster="a", topic="t")
    world.run()
    assert (
        numbers(rows(world, "message.stored", cluster="a"))
        == list(range(20))
        == numbers(rows(world, "message.receipted"))
    )


def surviving(send_timeout="30s"):
    """Brokers of a crash at 1 s and restart at 3 s, while the producer and the consumer live on."""
    crash = (
        "commands:\n  - {at: 1s, do: cluster.crash, cluster: a, clients: false}\n  - {at: 3s, do: "
        "cluster.restart, cluster: a}\n"
    )
    consumer = (
        "subscriptions: {s: {topic: t, type: Shared, initialPosition: Earliest}}\nconsumers: {c: "
        "{subscription: s, cluster: a}}\n"
    )
    world = open_world(
        body(f"every: 100ms, start: 50ms, count: 40, sendTimeout: {send_timeout}") + consumer + crash,
        until="10s",
    )
    world.run()
    return world


def test_messages_without_receipt_are_resent_in_order_when_the_broker_is_back():
    # Ten were stored by 1 s; 20 wait for the restart at 3 s and are sent at the next retry, in order, before
    # number 30.
    world = surviving()
    assert [row["sequence_id"] for row in rows(world, "message.resent")] == list(range(10, 30))
    assert {row["at_us"] for row in rows(world, "message.resent")} <= {3_000_000, 3_050_000, 3_100_000}
    assert numbers(rows(world, "message.stored", cluster="a")) == list(range(40))
    # b also has copies of the messages for which a's replication cursor had no written receipt
    # (`ManagedCursorImpl`, deduplication off).
    assert list(dict.fromkeys(numbers(rows(world, "message.stored", cluster="b")))) == list(range(40))
    assert len(rows(world, "message.receipted")) == 40 and rows(world, "message.send-failed") == []
    assert {row["sequence_id"] for row in rows(world, "message.delivered")} == set(range(40)), (
        "the consumer came back by itself"
    )
    assert world.violations == []


def test_after_the_send_timeout_the_application_is_notified_and_nothing_is_stored_later():
    # Published at 1.05 s with a timeout of 500 ms: failed at 1.55 s. The first retry after the restart is at
    # 3.05 s, the instant at which number 25, published at 2.55 s, times out.
    world = surviving(send_timeout="500ms")
    failed = rows(world, "message.send-failed")
    assert failed[0]["sequence_id"] == 10 and failed[0]["at_us"] == 1_550_000
    lost = {row["sequence_id"] for row in failed}
    assert lost == set(range(10, 26))
    assert {row["sequence_id"] for row in rows(world, "message.stored", cluster="a")} == set(range(40)) - lost
    assert world.violations == []
