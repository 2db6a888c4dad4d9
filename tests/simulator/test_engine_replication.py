"""Tests of replicators.

Cursors per remote, skipped messages, rewinds, backoff, the producer queue, faults of links and clusters.

Sources: `AbstractReplicator`, `PersistentReplicator`, `GeoPersistentReplicator`, `ManagedCursorImpl`. Links
take 40 ms each way unless stated otherwise, so a receipt is back 80 ms after its message left.
"""

import pytest

from tests.simulator.engine_runs import (
    MS,
    SECOND,
    at_ms,
    do,
    numbers,
    open_world,
    positions,
    rows,
    run,
    topic,
)

STREAM = "p: {topic: t, cluster: a, start: 10ms, every: 10ms, count: 50}"


def body(clusters="a, b", producers=STREAM, latency="40ms", settings="", topic_more="", more=""):
    """Clusters, one topic in all of them, producers; no subscription, hence no markers."""
    names = [name.strip() for name in clusters.split(",")]
    return (
        f"clusters: {{{', '.join(f'{name}: {{}}' for name in names)}}}\nsettings: "
        f"{{{settings}}}\nlinks: {{default: {{latency: {latency}}}}}\n"
        f"topics: {{t: {{clusters: [{clusters}]{topic_more}}}}}\nproducers:\n  {producers}\n{more}"
    )


def stored(world, cluster):
    """Sequence ids in the order of a cluster's log."""
    return numbers(rows(world, "message.stored", cluster=cluster))


def replicator(world, cluster, peer):
    return topic(world, cluster)["replicators"][peer]


# --- cursors and which messages are replicated


def test_each_remote_has_its_own_cursor_and_a_slow_one_does_not_delay_the_others():
    # AbstractReplicator: one replicator per remote, no shared queue.
    world = open_world(body("a, b, c"))
    do(world, "link.cut", link="a -> c")
    world.run(2 * SECOND)
    assert stored(world, "b") == list(range(50)) and stored(world, "c") == []
    assert (replicator(world, "a", "b")["backlog"], replicator(world, "a", "c")["backlog"]) == (0, 50)
    assert (
        replicator(world, "a", "b")["mark_delete_index"] == 49
        and replicator(world, "a", "c")["mark_delete_index"] == -1
    )


def test_each_partition_has_its_own_replicator():
    # AbstractReplicator: one per topic partition and remote.
    world = run(body(topic_more=", partitions: 3"))
    assert [
        (row["cluster"], row["peer"], row["topic"]) for row in rows(world, "replicator.created", cluster="a")
    ] == [("a", "b", f"t-partition-{number}") for number in range(3)]
    assert len(stored(world, "b")) == 50


def test_messages_are_not_forwarded_over_two_hops():
    # replicateEntries and its consequence: a -> b -> c never forwards a's messages beyond b.
    world = run(
        body(
            "a, b, c",
            topic_more=", replication: [a <-> b, b <-> c]",
            producers=f"{STREAM}\n  q: {{topic: t, cluster: b, at: [1s, 2s]}}",
        )
    )
    assert rows(world, "message.stored", cluster="b", producer="p") and not rows(
        world, "message.stored", cluster="c", producer="p"
    )
    assert numbers(rows(world, "message.stored", cluster="c", producer="q")) == [0, 1]
    assert replicator(world, "b", "c")["mark_delete_index"] == 51, "what is passed over is acknowledged"
    assert rows(world, "message.replicated", cluster="b", peer="c", producer="p") == []


@pytest.mark.parametrize(
    "replicate_to, reached", [("[b]", {"b"}), ("[c]", {"c"}), ("[]", set()), ("[b, c]", {"b", "c"})]
)
def test_replicate_to_limits_the_remotes_of_a_message(replicate_to, reached):
    # replicateEntries: non-empty and lacking this remote -> skipped. `[]` means Pulsar's disableReplication
    # ("__local__").
    world = run(body("a, b, c", f"p: {{topic: t, cluster: a, at: [1s], replicateTo: {replicate_to}}}"))
    assert {name for name in "bc" if stored(world, name)} == reached
    assert {
        row["peer"] for row in rows(world, "message.not-replicated", cluster="a", reason="replicate_to")
    } == {"b", "c"} - reached


def test_time_to_live_is_checked_when_the_replicator_reads():
    # replicateEntries: past TTL -> acknowledged and skipped; publish time decides. Reconnected at T, messages
    # older than 1 s are not replicated.
    world = open_world(
        body(
            producers="p: {topic: t, cluster: a, start: 100ms, every: 100ms, count: 30}",
            settings="ttlDurationDefaultInSeconds: 1",
        ),
        until="20s",
    )
    do(world, "link.cut", link="a -> b")
    world.run(2500 * MS)
    do(world, "link.heal", link="a -> b")
    world.run()
    connected_us = rows(world, "replicator.started", cluster="a")[-1]["at_us"]
    too_old = [number for number in range(30) if (number + 1) * 100 * MS + SECOND < connected_us]
    assert 0 < len(too_old) < 30
    assert numbers(rows(world, "message.not-replicated", reason="expired")) == too_old
    assert stored(world, "b") == [number for number in range(30) if number not in too_old]


def test_background_expiry_moves_a_cut_off_replication_cursor():
    # replicateEntries, TTL: "plus background expiry of the replication cursor (every 5 min)": its backlog
    # does not grow without end.
    world = open_world(body(settings="ttlDurationDefaultInSeconds: 10"), until="10m")
    do(world, "link.cut", link="a -> b")
    world.run(299 * SECOND)
    assert replicator(world, "a", "b")["backlog"] == 50
    world.run(301 * SECOND)
    assert replicator(world, "a", "b")["backlog"] == 0


def test_backlog_counts_messages_that_will_be_skipped():
    # ReplicatorStatsImpl: replicationBacklog includes replicated-in data.
    world = open_world(body())
    do(world, "link.cut", link="b -> a")
    world.run(2 * SECOND)
    assert (
        replicator(world, "b", "a")["backlog"] == 50
        and replicator(world, "b", "a")["state"] == "disconnected"
    )


def test_delayed_messages_are_replicated_at_once():
    # replicateEntries: the remote does its own delaying.
    world = run(body(producers="p: {topic: t, cluster: a, at: [1s], delay: {messages: [p/0], for: 1h}}"))
    assert at_ms(rows(world, "message.stored", cluster="b")) == [1040]


def test_a_batched_entry_is_replicated_as_one_entry():
    # AbstractReplicator: "each stored entry travels as is".
    world = run(body(producers="p: {topic: t, cluster: a, start: 10ms, every: 10ms, count: 8, batch: 4}"))
    assert positions(rows(world, "message.stored", cluster="b")) == ["1234:0"] * 4 + ["1234:1"] * 4
    assert at_ms(rows(world, "message.stored", cluster="b")) == [80] * 4 + [120] * 4


# --- connections


def cut_at_200(settings="", until="3s"):
    """Messages at 10, 20, … 500 ms; the link is cut at 200 ms and healed at 210 ms."""
    world = open_world(body(settings=settings), until)
    world.run(200 * MS)
    do(world, "link.cut", link="a -> b")
    world.run(210 * MS)
    do(world, "link.heal", link="a -> b")
    world.run()
    return world


def test_reconnect_rewinds_to_the_first_without_receipt_and_resends():
    # AbstractReplicator: any reconnect resends everything unacknowledged. At 200 ms what left by 160 ms
    # (0-15) is stored at b, what left by 120 ms (0-11) has its receipt: 12-15 are stored again.
    world = cut_at_200()
    assert positions(rows(world, "replicator.rewound", cluster="a")) == ["192:11"]
    assert stored(world, "b") == [*range(16), *range(12, 50)]


def test_deduplication_drops_the_resent_copies():
    # MessageDeduplication: key = replicator's name, value = source position; at or below the last persisted
    # -> duplicate.
    world = cut_at_200("brokerDeduplicationEnabled: true")
    assert stored(world, "b") == list(range(50))
    assert numbers(rows(world, "message.deduplicated", cluster="b")) == [12, 13, 14, 15]


def test_first_reconnect_after_a_backoff_of_100_ms_and_a_round_trip():
    # AbstractReplicator: backoff 100 ms, jitter about 5 %; connecting takes a round trip of 80 ms.
    world = cut_at_200()
    started = rows(world, "replicator.started", cluster="a")[-1]["at_us"]
    assert 200 * MS + 95 * MS + 80 * MS <= started <= 200 * MS + 105 * MS + 80 * MS


@pytest.mark.parametrize(
    "healed_s, attempt_ms", [(1, 1500), (4, 6300), (60, 102_300), (110, 162_300), (170, 222_300)]
)
def test_backoff_doubles_up_to_a_minute(healed_s, attempt_ms):
    # AbstractReplicator: 100 ms, x2, cap 60 s: attempts at 100, 300, 700, 1500, 3100, 6300 … 51,100, 102,300
    # (51.2 s), then 60 s each; +-5 % each.
    world = open_world(body(producers="p: {topic: t, cluster: a, at: [1ms]}"), until="5m")
    do(world, "link.cut", link="a -> b")
    world.run(healed_s * SECOND)
    do(world, "link.heal", link="a -> b")
    world.run()
    started_ms = rows(world, "replicator.started", cluster="a")[-1]["at_us"] / MS - 80
    assert attempt_ms * 0.95 <= started_ms <= attempt_ms * 1.05
    assert stored(world, "b") == [0]


def test_another_fault_does_not_reset_the_backoff():
    # AbstractReplicator: the backoff is reset on success only. Cut at 0, b unloads at 40 s (while nothing is
    # connected), healed at 41 s.
    world = open_world(body(producers="p: {topic: t, cluster: a, at: [1ms]}"), until="2m")
    do(world, "link.cut", link="a -> b")
    world.run(40 * SECOND)
    do(world, "topic.unload", cluster="b", topic="t")
    world.run(41 * SECOND)
    do(world, "link.heal", link="a -> b")
    world.run()
    assert (
        51.1 * 0.95
        <= rows(world, "replicator.started", cluster="a")[-1]["at_us"] / SECOND - 0.08
        <= 51.1 * 1.05
    )


def test_replicator_queue_holds_a_thousand_and_reading_resumes_below_nine_hundred():
    # PersistentReplicator: permits = 1000 - in flight; reading resumes once pending is below 900. The copy of
    # 192:k has 1,045 bytes, and one more for each further digit of k. At 1 MB/s a byte takes 1 us, so the
    # first 101 copies take 10 x 1,045 + 90 x 1,046 + 1,047 us, and their last receipt is back at 185,637 us.
    # It leaves 899: 101 are read. The next 101 copies take 101 x 1,047 us, until 291,384 us.
    text = body(producers="p: {topic: t, cluster: a, paused: true}").replace(
        "latency: 40ms", "latency: 40ms, bandwidth: 1MB/s"
    )
    world = open_world(text)
    do(world, "producer.publish", producer="p", count=2000)
    assert replicator(world, "a", "b")["in_flight"] == 1000
    world.run(185_636)
    assert len(rows(world, "message.replicated")) == 1000
    world.run(185_637)
    assert len(rows(world, "message.replicated")) == 1101
    world.run(291_383)
    assert len(rows(world, "message.replicated")) == 1101
    world.run(291_384)
    assert len(rows(world, "message.replicated")) == 1202
    world.run()
    assert stored(world, "b") == list(range(2000))


def test_replicator_queue_size_follows_the_setting():
    world = open_world(
        body(producers="p: {topic: t, cluster: a, paused: true}", settings="replicationProducerQueueSize: 10")
    )
    do(world, "producer.publish", producer="p", count=25)
    assert replicator(world, "a", "b")["in_flight"] == 10
    world.run()
    # constant latency: all ten receipts arrive together, 80 ms after each round
    assert at_ms(rows(world, "message.replicated")) == [0] * 10 + [80] * 10 + [160] * 5


# --- order


@pytest.mark.parametrize(
    "latency",
    ["{distribution: lognormal, median: 40ms, sigma: 1}", "{distribution: uniform, low: 1ms, high: 200ms}"],
)
def test_order_is_kept_on_a_connection_whatever_the_latency(latency):
    # PersistentReplicator, the order of positions is kept: FIFO per connection.
    world = run(
        body(producers="p: {topic: t, cluster: a, start: 1ms, every: 1ms, count: 2000}", latency=latency)
    )
    found = rows(world, "message.stored", cluster="b")
    assert numbers(found) == list(range(2000))
    sent = {row["sequence_id"]: row["at_us"] for row in rows(world, "message.replicated")}
    assert all(row["at_us"] > sent[row["sequence_id"]] for row in found)
    assert len({row["at_us"] for row in found}) < 1500, (
        "many wait for a slower one in front and arrive with it"
    )


def test_partitions_have_independent_connections():
    # FIFO holds per connection; one partition's entries overtake another's.
    world = run(
        body(
            producers="p: {topic: t, cluster: a, start: 1ms, every: 1ms, count: 1000}",
            latency="{distribution: lognormal, median: 40ms, sigma: 1}",
            topic_more=", partitions: 2",
        )
    )
    found = rows(world, "message.stored", cluster="b")
    assert numbers(found) != sorted(numbers(found)) and len(found) == 1000
    for number in range(2):
        of_one = [row["sequence_id"] for row in found if row["topic"] == f"t-partition-{number}"]
        assert of_one == sorted(of_one)


def test_entries_lost_with_a_connection_do_not_delay_the_next_one():
    # FIFO is per connection: the entry that would have arrived at 10.11 s is lost with its connection.
    world = open_world(body(producers="p: {topic: t, cluster: a, at: [110ms, 500ms]}"), until="20s")
    world.run(100 * MS)
    do(world, "link.slow", link="a -> b", latency="10s")
    world.run(200 * MS)
    do(world, "link.cut", link="a -> b")
    world.run(210 * MS)
    do(world, "link.heal", link="a -> b")
    world.run()
    connected_us = rows(world, "replicator.started", cluster="a")[-1]["at_us"]
    assert [row["at_us"] for row in rows(world, "message.stored", cluster="b")] == [
        connected_us + 40 * MS,
        540 * MS,
    ]


def test_bytes_lost_with_a_cut_do_not_fill_the_healed_link():
    # 100 KB at 10 KB/s would keep the link busy for ten seconds; they are lost with the cut. The copy of
    # 192:0 has 45 bytes more than its original, 4.5 ms on the link.
    text = body(producers="p: {topic: t, cluster: a, at: [10ms, 3s], size: 100KB}").replace(
        "latency: 40ms", "latency: 40ms, bandwidth: 10KB/s"
    )
    world = open_world(text, until="60s")
    world.run(200 * MS)
    do(world, "link.cut", link="a -> b")
    do(world, "link.heal", link="a -> b")
    world.run()
    connected_us = rows(world, "replicator.started", cluster="a")[-1]["at_us"]
    assert rows(world, "message.stored", cluster="b")[0]["at_us"] == connected_us + 10_044_500


def test_a_slowed_link_keeps_the_order_of_messages_in_flight():
    world = open_world(body(producers="p: {topic: t, cluster: a, at: [100ms, 300ms]}"))
    world.run(50 * MS)
    do(world, "link.slow", link="a -> b", latency="1s")
    world.run(200 * MS)
    do(world, "link.heal", link="a -> b")
    world.run()
    assert at_ms(rows(world, "message.stored", cluster="b")) == [1100, 1100], (
        "the second waits behind the first"
    )


# --- faults


def test_cut_one_way_leaves_the_other_direction_intact():
    world = open_world(
        body(producers=f"{STREAM}\n  q: {{topic: t, cluster: b, start: 10ms, every: 10ms, count: 50}}")
    )
    do(world, "link.cut", link="a -> b")
    world.run(2 * SECOND)
    assert numbers(rows(world, "message.stored", cluster="a", producer="q")) == list(range(50))
    assert rows(world, "message.stored", cluster="b", producer="p") == []


def test_cut_in_both_directions_and_healed():
    world = open_world(
        body(producers=f"{STREAM}\n  q: {{topic: t, cluster: b, start: 10ms, every: 10ms, count: 50}}"),
        until="20s",
    )
    do(world, "link.cut", link="a <-> b")
    world.run(5 * SECOND)
    assert (
        rows(world, "message.stored", cluster="a", producer="q")
        == []
        == rows(world, "message.stored", cluster="b", producer="p")
    )
    do(world, "link.heal", link="a <-> b")
    world.run()
    assert (
        numbers(rows(world, "message.stored", cluster="a", producer="q"))
        == list(range(50))
        == numbers(rows(world, "message.stored", cluster="b", producer="p"))
    )


def test_replication_resumes_after_the_crash_and_restart_of_a_remote():
    # The replicator keeps what has no receipt and sends it when the remote is back (AbstractReplicator).
    world = open_world(body(), until="20s")
    world.run(200 * MS)
    do(world, "cluster.crash", cluster="b")
    assert replicator(world, "a", "b")["state"] == "disconnected"
    world.run(3 * SECOND)
    do(world, "cluster.restart", cluster="b")
    world.run()
    assert stored(world, "b") == [*range(16), *range(12, 50)]


def test_unload_at_the_remote_breaks_the_connection():
    world = open_world(body(), until="5s")
    world.run(200 * MS)
    do(world, "topic.unload", cluster="b", topic="t")
    world.run()
    assert rows(world, "replicator.disconnected", cluster="a")[0]["reason"] == "remote-unload"
    assert stored(world, "b") == [*range(16), *range(12, 50)]


def test_clean_unload_keeps_receipts_and_a_crash_forgets_those_since_the_last_write():
    # ManagedCursorImpl: cursor writes limited to one a second, a clean close writes. All receipts are back by
    # 580 ms.
    world = open_world(body(), until="5s")
    world.run(SECOND)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run()
    assert stored(world, "b") == list(range(50))
    world = open_world(body(), until="5s")
    world.run(SECOND)
    do(world, "cluster.crash", cluster="a")
    do(world, "cluster.restart", cluster="a")
    world.run()
    # the first receipt, at 90 ms, was written at once; those of the same second were not
    assert stored(world, "b") == [*range(50), *range(1, 50)]


def test_a_dirty_replication_cursor_is_flushed_after_a_minute():
    # ManagedCursorImpl: "a dirty cursor is flushed at latest every 60 s".
    for crash_s, again in ((60, 49), (61, 0)):
        world = open_world(body(), until="2m")
        world.run(crash_s * SECOND)
        do(world, "cluster.crash", cluster="a")
        do(world, "cluster.restart", cluster="a")
        world.run()
        assert len(stored(world, "b")) == 50 + again, f"crash after {crash_s} s"


def test_a_lost_cluster_cannot_be_restarted():
    world = open_world(body(), until="5s")
    world.run(200 * MS)
    do(world, "cluster.lose", cluster="b")
    assert world.apply({"do": "cluster.restart", "cluster": "b"}).code == "not-down"
    world.run()
    assert stored(world, "b") == list(range(16)) and replicator(world, "a", "b")["state"] == "disconnected"


# --- the list of clusters


@pytest.mark.parametrize(
    "start_at, expected", [("latest", [0, 1, 4, 5]), ("earliest", [0, 1, 0, 1, 2, 3, 4, 5])]
)
def test_adding_a_removed_cluster_starts_a_new_replication_cursor(start_at, expected):
    # PIP-356: removing deletes the cursor; the new one begins at replicationStartAt: latest skips the
    # messages stored in between, earliest sends everything retained again.
    world = open_world(
        body(
            producers="p: {topic: t, cluster: a, start: 500ms, every: 500ms, count: 6}",
            settings=f"replicationStartAt: {start_at}",
        )
    )
    world.run(1200 * MS)
    do(world, "replication.remove-cluster", topic="t", cluster="b")
    assert topic(world, "a")["replicators"] == {} == topic(world, "b")["replicators"]
    world.run(2200 * MS)
    do(world, "replication.add-cluster", topic="t", cluster="b")
    world.run()
    assert stored(world, "b") == expected
    # latest: after the last entry, 192:3; earliest: before the first
    created = rows(world, "replicator.created", cluster="a")[-1]
    assert (created["ledger"], created["entry"]) == ((192, 3) if start_at == "latest" else (192, -1))


def test_removing_one_of_three_leaves_the_others():
    world = open_world(body("a, b, c"))
    world.run(200 * MS)
    do(world, "replication.remove-cluster", topic="t", cluster="c")
    world.run()
    assert list(topic(world, "a")["replicators"]) == ["b"] and topic(world, "c")["replicators"] == {}
    assert stored(world, "b") == list(range(50)) and len(stored(world, "c")) == 16


# --- one message that is delayed, as the page does when a message in flight is dragged


def test_a_link_that_is_slow_for_one_instant_delays_its_message_and_those_behind_it():
    """As TCP does when it sends a lost packet again: nothing is lost, and the order is kept."""
    world = open_world(body())
    world.run(100 * MS - 1)
    do(world, "link.slow", link="a -> b", latency="240ms")  # 200 ms more, for what is sent at 100 ms
    world.run(100 * MS)
    do(world, "link.heal", link="a -> b")
    world.run()
    arrived = at_ms(rows(world, "message.stored", cluster="b"))
    assert stored(world, "b") == list(range(50))
    assert arrived[:10] == [50 + 10 * number for number in range(9)] + [340.0]
    assert arrived[10:31] == [340.0] * 20 + [350.0], "those sent within 200 ms wait, later ones do not"
