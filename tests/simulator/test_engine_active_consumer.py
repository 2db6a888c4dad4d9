"""Tests of failover subscriptions.

Which consumer is active, when it begins to read, and what the previous one does.

Figures follow from Pulsar's AbstractDispatcherSingleActiveConsumer and
PersistentDispatcherSingleActiveConsumer.
"""

import struct

import pytest

from simulator.protocols.pulsar.broker.dispatch import chosen_on_ring, murmur3
from tests.simulator.engine_runs import MS, at_ms, do, numbers, open_world, rows, run
from tests.simulator.one_cluster import body, delivered


def test_failover_standby_takes_over_and_reads_again_from_the_mark_delete():
    # The standby is sent nothing while the active consumer lives; afterwards it reads what was not
    # acknowledged.
    world = open_world(
        body("Failover", "start: 10ms, every: 10ms, count: 10", ["c1: {hold: {messages: [p/2]}}", "c2: {}"]),
        until="5s",
    )
    world.run(2000 * MS)
    # the first active consumer waits too: activeConsumerFailoverDelayTimeMillis is 1 s
    assert numbers(delivered(world, "c1")) == list(range(10)) and delivered(world, "c2") == []
    assert at_ms(delivered(world))[0] == 1000
    do(world, "client.kill", client="c1")
    world.run()
    # acks of 0, 1, 3..9 were registered by 1100 ms: only p/2 is left (ManagedCursorImpl: individual ranges
    # are kept)
    assert numbers(delivered(world, "c2")) == [2] and at_ms(delivered(world, "c2")) == [3000]
    assert rows(world, "consumer.activated")[-1]["client"] == "c2"


def test_failover_the_displaced_consumer_finishes_what_it_was_sent():
    # Pulsar's AbstractDispatcherSingleActiveConsumer: on a topic without partitions names on a hash ring
    # decide, so a consumer that joins may displace another. For 1 s no consumer is sent anything; then the
    # new one reads all that is not acknowledged, while the old one continues with its receiver queue.
    consumers = ["c1: {start: 1500ms}", "c2: {processing: 300ms}"]
    world = run(body("Failover", "start: 10ms, every: 10ms, count: 10", consumers), until="9s")
    assert [row["client"] for row in rows(world, "consumer.activated")] == ["c2", "c1"]
    assert at_ms(delivered(world, "c2"))[0] == 1000 and numbers(delivered(world, "c2")) == list(range(10))
    # c2 has finished 0 to 4 at 2500 ms; its acks of 0 to 3 were sent by then (the grid of 100 ms), that of 4
    # at 2600 ms
    assert at_ms(delivered(world, "c1"))[0] == 2500 and numbers(delivered(world, "c1")) == list(range(4, 10))


def test_a_topic_without_partitions_chooses_by_pulsars_hash_ring():
    # Published vectors of Murmur3_32 with seed 0; Pulsar clears the sign bit.
    assert [murmur3(text) for text in (b"", b"test", b"Hello, world!")] == [
        0,
        0xBA6BD213 & 0x7FFFFFFF,
        0xC0363E43 & 0x7FFFFFFF,
    ]
    taken = {chosen_on_ring(f"topic-{number}", ["c1", "c2", "c3"]) for number in range(50)}
    assert taken == {0, 1, 2}


def active_in_pulsar(full_name, consumers):
    """AbstractDispatcherSingleActiveConsumer implemented again with Java's signed integers and a sorted
    map; shares no code with the engine.
    """
    ring = {java_hash(f"{name}{point}"): name for name in sorted(consumers) for point in range(100)}
    return ring[min((point for point in ring if point >= java_hash(full_name)), default=min(ring))]


def java_hash(text):
    """Murmur3_32Hash.makeHash of Pulsar's common package: 32-bit signed arithmetic over little-endian
    words.
    """
    data = text.encode()
    words = struct.unpack(f"<{len(data) // 4 + 1}I", data.ljust((len(data) // 4 + 1) * 4, b"\0"))
    hashed = 0
    for word in words[:-1]:
        hashed = signed(rotated(hashed ^ mixed(word), 13) * 5 + 0xE6546B64)
    hashed = signed(hashed ^ mixed(words[-1]) ^ len(data))
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hashed = signed((hashed ^ (hashed % 2**32 >> shift)) * factor)
    return hashed & 0x7FFFFFFF


def mixed(word):
    return signed(rotated(signed(word * 0xCC9E2D51), 15) * 0x1B873593)


def rotated(value, count):
    return signed(value % 2**32 << count | value % 2**32 >> 32 - count)


def signed(value):
    return (value + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize(
    "namespace, expected", [("public/default", "c1"), ("acme/orders", "c3"), ("acme/eu", "c2")]
)
def test_the_hash_ring_uses_the_full_name_of_the_topic(namespace, expected):
    # Pulsar hashes topic.getName(), which has tenant and namespace: persistent://acme/orders/t.
    consumers = ["c1", "c2", "c3"]
    text = body(
        "Failover", "start: 10ms, every: 10ms, count: 3", [f"{name}: {{}}" for name in consumers]
    ).replace("{clusters: [a]}", f"{{clusters: [a], namespace: {namespace}}}")
    world = run(text, until="3s")
    assert active_in_pulsar(f"persistent://{namespace}/t", consumers) == expected
    assert rows(world, "consumer.activated")[-1]["client"] == expected
    assert {row["client"] for row in delivered(world)} == {expected}


def test_with_consistent_hashing_a_partition_is_on_the_ring_with_its_suffix():
    # PIP-392: activeConsumerFailoverConsistentHashing hashes persistent://acme/orders/t-partition-2.
    consumers = ["c1", "c2", "c3"]
    text = body(
        "Failover",
        "start: 1s, every: 10ms, count: 80, keys: 8",
        [f"{name}: {{}}" for name in consumers],
        settings="activeConsumerFailoverConsistentHashing: true",
    )
    world = run(
        text.replace("{clusters: [a]}", "{clusters: [a], partitions: 6, namespace: acme/orders}"), until="4s"
    )
    active = {row["topic"]: row["client"] for row in rows(world, "consumer.activated")}
    assert active == {
        f"t-partition-{number}": active_in_pulsar(f"persistent://acme/orders/t-partition-{number}", consumers)
        for number in range(6)
    }
    assert active != {f"t-partition-{number}": f"c{number % 3 + 1}" for number in range(6)}, (
        "as without the setting"
    )


def test_a_standby_that_leaves_may_move_a_partition():
    # AbstractDispatcherSingleActiveConsumer.removeConsumer chooses again, no matter which consumer left:
    # partition 4 of three consumers is c2's (4 mod 3), of two c1's (4 mod 2).
    text = body(
        "Failover", "start: 1s, every: 10ms, count: 400, keys: 8", ["c1: {}", "c2: {}", "c3: {stop: 2s}"]
    ).replace("{clusters: [a]}", "{clusters: [a], partitions: 5}")
    world = run(text, until="6s")
    chosen = [
        (row["at_us"] // (1000 * MS), row["client"])
        for row in rows(world, "consumer.activated", topic="t-partition-4")
    ]
    assert chosen == [(0, "c1"), (0, "c2"), (2, "c1")]


def test_failover_partitions_are_assigned_by_name_and_partition_number():
    # Pulsar: with partitions the active consumer is the sorted consumers' (partition mod number of
    # consumers)-th.
    text = body("Failover", "start: 1s, every: 10ms, count: 40, keys: 8", ["c1: {}", "c2: {}"]).replace(
        "{clusters: [a]}", "{clusters: [a], partitions: 4}"
    )
    world = run(text, until="4s")
    for number in range(4):
        last = [row["client"] for row in delivered(world) if row["topic"] == f"t-partition-{number}"][-1:]
        assert last in ([], [f"c{number % 2 + 1}"])
    assert len(delivered(world)) == 40
