"""pulsar-admin's fields in constructed situations.

Every figure is derived in a comment or counted in the rows.
"""

from simulator.protocols.pulsar.admin import printed
from simulator.protocols.pulsar.storage.retention import bytes_after
from tests.simulator.admin_runs import BILLING, READS, TWO, body, note, tree
from tests.simulator.engine_runs import MS, SECOND, do, open_world, rows, run


def test_individually_deleted_entries_print_as_ranges_and_are_not_backlog():
    # No markers: one cluster's subscription is not replicated. p/0 to p/9 are entries 0 to 9; 3 and 6 are
    # held.
    world = run(body(replicated="false", consumer=", hold: {messages: [p/3, p/6]}"), until="1s")
    subscription, cursor = tree(world)["subscriptions"]["s"], tree(world, "stats-internal")["cursors"]["s"]
    ledger = rows(world, "ledger.opened", cluster="a")[0]["ledger"]
    assert cursor["markDeletePosition"] == f"{ledger}:2" and cursor["readPosition"] == f"{ledger}:10"
    assert cursor["individuallyDeletedMessages"] == f"[({ledger}:3..{ledger}:5],({ledger}:6..{ledger}:9]]"
    assert subscription["msgBacklog"] == 2 and subscription["unackedMessages"] == 2
    assert (
        subscription["nonContiguousDeletedMessagesRanges"]
        == cursor["totalNonContiguousDeletedMessagesRange"]
        == 2
    )
    # entries 3 to 9, and the one to be read next
    assert cursor["numberOfEntriesSinceFirstNotAckedMessage"] == 8
    assert cursor["messagesConsumedCounter"] == 8 == tree(world, "stats-internal")["entriesAddedCounter"] - 2
    assert cursor["properties"] == {}
    # 5 acknowledged entries above the mark-delete, none of them a marker
    assert note(world, "stats-internal", "individuallyDeletedMessages", after='"s" :').startswith(
        "5 entries, 0 markers of them"
    )


def test_ranges_do_not_cross_ledgers():
    small = "settings: {managedLedgerMaxEntriesPerLedger: 4, managedLedgerMinLedgerRolloverTimeMinutes: 0}\n"
    world = run(body(replicated="false", consumer=", hold: {messages: [p/0]}", more=small), until="1s")
    first, second, third = (row["ledger"] for row in rows(world, "ledger.opened", cluster="a")[:3])
    cursor = tree(world, "stats-internal")["cursors"]["s"]
    assert (
        cursor["individuallyDeletedMessages"]
        == f"[({first}:0..{first}:3],({second}:-1..{second}:3],({third}:-1..{third}:1]]"
    )
    assert cursor["totalNonContiguousDeletedMessagesRange"] == 3
    ledgers = tree(world, "stats-internal")["ledgers"]
    assert [ledger["entries"] for ledger in ledgers] == [4, 4, 0] and tree(world, "stats-internal")[
        "currentLedgerEntries"
    ] == 2
    assert [ledger["size"] for ledger in ledgers] == [4000, 4000, 0]


def test_markers_are_backlog_while_no_consumer_is_connected():
    # The consumer leaves at 1.5 s; messages and markers pile up.
    world = open_world(body(), until="6s")
    world.run(1_500 * MS)
    do(world, "client.kill", client="c")
    world.run(5 * SECOND)
    stats = tree(world)["subscriptions"]["s"]
    gone_seq = rows(world, "consumer.disconnected", client="c")[0]["seq"]
    messages = [row for row in rows(world, "message.stored", cluster="a") if row["seq"] > gone_seq]
    markers = [
        row
        for name in ("marker.written", "marker.stored")
        for row in rows(world, name, cluster="a")
        if row["seq"] > gone_seq
    ]
    assert len(markers) >= 8 and stats["msgBacklog"] == len(messages) + len(markers)
    assert note(world, "stats", '"msgBacklog"').startswith(
        f"{len(messages)} entries of messages and {len(markers)} markers."
    )
    assert stats["consumers"] == [] and "activeConsumerName" not in stats
    assert tree(world, "stats-internal")["cursors"]["s"]["active"] is False


def test_msg_in_counter_excludes_local_markers_and_includes_replicated_ones():
    world = run(body(), until="3s")
    stats = tree(world)
    came = rows(world, "marker.stored", cluster="a")
    assert stats["msgInCounter"] == len(rows(world, "message.stored", cluster="a")) + len(came)
    assert stats["bytesInCounter"] == sum(
        row["size_bytes"] for row in rows(world, "message.stored", cluster="a") + came
    )
    assert tree(world, "stats-internal")["entriesAddedCounter"] == stats["msgInCounter"] + len(
        rows(world, "marker.written", cluster="a")
    )
    assert stats["replication"]["b"]["msgInCount"] == len(came) and stats["replication"]["b"][
        "bytesInCount"
    ] == sum(row["size_bytes"] for row in came)


def test_is_replicated_and_its_note():
    world = open_world(body(consumer=", hold: {messages: [p/25]}"), until="6s")
    world.run(500 * MS)
    assert (
        "Last Update" in (early := note(world, "stats", "isReplicated"))
        or "No Update was ever written" in early
    )
    world.run(5 * SECOND)
    stats, cursor = tree(world)["subscriptions"]["s"], tree(world, "stats-internal")["cursors"]["s"]
    assert stats["isReplicated"] is stats["replicated"] is True and cursor["properties"] == {
        "pulsar.replicated.subscription": 1
    }
    kept = len(world.view()["clusters"]["a"]["topics"]["t"]["subscriptions"]["s"]["cache"])
    words = note(world, "stats", "isReplicated")
    remote = world.view()["clusters"]["b"]["topics"]["t"]["subscriptions"]["s"]
    assert f"{kept} snapshots kept" in words and kept >= 2
    assert f"b is at {remote['mark_delete']}, moved by an Update" in words
    assert tree(run(body(replicated="false"), until="1s"))["subscriptions"]["s"]["isReplicated"] is False


def test_a_replicator_without_a_link_shows_a_backlog_and_a_delay_of_zero():
    world = open_world(body(), until="8s")
    world.run(1 * SECOND)
    do(world, "link.cut", link="a -> b")
    world.run(4 * SECOND)
    stats = tree(world)["replication"]["b"]
    assert (
        stats["connected"] is False
        and stats["replicationDelayInSeconds"] == 0
        and "outboundConnectedSince" not in stats
    )
    last_sent = max(row["seq"] for row in rows(world, "message.replicated"))
    waiting = [row for row in rows(world, "message.stored", cluster="a") if row["seq"] > last_sent]
    assert stats["replicationBacklog"] >= len(waiting) >= 29
    words = note(world, "stats", "replicationBacklog")
    local, remote = int(words.split()[0]), int(words.split()[3])
    markers = int(words.split(", ")[2].split()[0])
    assert local + remote + markers == stats["replicationBacklog"] and local >= len(waiting)
    assert "0 is no evidence here" in note(world, "stats", "replicationDelayInSeconds")
    assert "pulsar_replication_connected_count" in world.admin("metrics", "a")["text"]
    cursor = tree(world, "stats-internal")["cursors"]["pulsar.repl.b"]
    assert cursor["active"] is False and cursor["waitingReadOp"] is False


def test_replication_delay_is_the_age_of_the_oldest_pending_send():
    world = run(body(more="commands: [{at: 1s, do: link.slow, link: a -> b, latency: 5s}]\n"), until="4300ms")
    # The entry sent at 1.05 s is the first on the slow link: 3.25 s old.
    assert tree(world)["replication"]["b"]["replicationDelayInSeconds"] == 3
    assert 'remote_cluster="b"} 3.0' in world.admin("metrics", "a")["text"]


def test_messages_from_other_clusters_leave_the_replication_backlog_once_skipped():
    both = (
        TWO
        + "producers: {p: {topic: t, cluster: b, every: 100ms, size: 1KB}}\n"
        + BILLING % ("Shared", "false")
        + READS % ""
    )
    world = run(both, until="2s")
    assert tree(world)["replication"]["b"]["replicationBacklog"] == 0
    assert tree(world, "stats-internal")["cursors"]["pulsar.repl.b"]["individuallyDeletedMessages"] == "[]"


def test_permits_and_unacknowledged_messages_by_type():
    # Ten messages; nothing is acknowledged. A queue of 100: 100 - 10 permits.
    holds = ", receiverQueueSize: 100, acknowledge: never"
    shared = tree(run(body(replicated="false", consumer=holds), until="1s"))["subscriptions"]["s"]
    assert (
        shared["unackedMessages"],
        shared["consumers"][0]["unackedMessages"],
        shared["consumers"][0]["availablePermits"],
    ) == (10, 10, 90)
    assert (
        "activeConsumerName" not in shared
        and shared["msgOutCounter"] == 10
        and shared["bytesOutCounter"] == 10_000
    )
    world = run(body(type_="Exclusive", replicated="false", consumer=holds), until="1s")
    exclusive = tree(world)["subscriptions"]["s"]
    assert (exclusive["unackedMessages"], exclusive["consumers"][0]["unackedMessages"]) == (
        0,
        0,
    ) and exclusive["msgBacklog"] == 10
    assert exclusive["activeConsumerName"] == "c"
    assert (
        note(world, "stats", '"unackedMessages"')
        == "Always 0 for Exclusive. 10 messages sent and not acknowledged."
    )
    assert (
        tree(run(body(type_="Key_Shared", replicated="false"), until="1s"))["subscriptions"]["s"][
            "keySharedMode"
        ]
        == "AUTO_SPLIT"
    )


def test_a_slow_application_leaves_messages_in_the_receiver_queue():
    world = run(body(replicated="false", consumer=", processing: 300ms"), until="1s")
    # Sent at 50, 150, … 950 ms: ten. Taken at 50, 350, 650, 950 ms: four.
    assert (
        tree(world)["subscriptions"]["s"]["msgOutCounter"] == 10
        and len(rows(world, "message.delivered")) == 4
    )
    assert note(world, "stats", "availablePermits") == "6 messages wait in its receiver queue."


def test_counters_of_disconnected_consumers_stay_with_the_subscription():
    world = open_world(body(replicated="false"), until="4s")
    world.run(1 * SECOND)
    do(world, "client.kill", client="c")
    assert tree(world)["subscriptions"]["s"]["msgOutCounter"] == 10 and tree(world)["msgOutCounter"] == 10


def test_batches_acknowledged_partly_count_as_one_entry():
    batched = (
        TWO
        + "producers: {p: {topic: t, cluster: a, every: 10ms, batch: 5, count: 10, size: 100B}}\n"
        + BILLING % ("Shared", "false")
    )
    world = run(batched + READS % ", hold: {messages: [p/1]}", until="1s")
    stats = tree(world)["subscriptions"]["s"]
    assert stats["msgBacklog"] == 1 and stats["unackedMessages"] == 1 and stats["msgOutCounter"] == 10
    assert stats["consumers"][0]["avgMessagesPerEntry"] == 5
    assert note(world, "stats", "nonContiguousDeletedMessagesRanges", after='"s"').startswith(
        "1 batch is acknowledged in part"
    )
    assert tree(world)["msgInCounter"] == 10 and tree(world, "stats-internal")["entriesAddedCounter"] == 2


def test_delayed_messages_are_counted_apart_from_the_backlog_without_delay():
    delayed = (
        TWO
        + "producers: {p: {topic: t, cluster: a, every: 100ms, delay: {share: 100%, for: 10s}, count: 4}}\n"
        + BILLING % ("Shared", "false")
    )
    stats = tree(run(delayed + READS % "", until="1s"))["subscriptions"]["s"]
    assert (stats["msgDelayed"], stats["msgBacklog"], stats["msgBacklogNoDelayed"]) == (4, 4, 0)


def test_backlog_sizes_are_the_brokers_estimate():
    small = "settings: {managedLedgerMaxEntriesPerLedger: 4, managedLedgerMinLedgerRolloverTimeMinutes: 0}\n"
    world = run(body(replicated="false", consumer=", acknowledge: never", more=small), until="1s")
    topic = world.runtime.clusters["a"].topics["t"]
    ledgers = [ledger.id for ledger in topic.log.ledgers]
    # Ten entries of 1,000 bytes in ledgers of 4, 4 and 2.
    assert [
        bytes_after(topic, position)
        for position in ((ledgers[0], -1), (ledgers[0], 3), (ledgers[1], 0), (ledgers[2], 0), (ledgers[2], 1))
    ] == [10_000, 6_000, 5_000, 1_000, 0]
    assert tree(world)["subscriptions"]["s"]["backlogSize"] == 10_000 == tree(world)["storageSize"]


def test_individually_deleted_entries_are_subtracted_from_the_backlog_size():
    world = run(body(replicated="false", consumer=", hold: {messages: [p/3, p/6]}"), until="1s")
    # Entries 3 to 9 are 7,000 bytes, five of them deleted.
    assert tree(world)["subscriptions"]["s"]["backlogSize"] == 2_000


def test_rates_are_over_ten_seconds_of_simulated_time():
    world = open_world(body(replicated="false"), until="40s")
    world.run(4 * SECOND)
    # 40 messages of 1 KB in 4 s since the load
    assert (tree(world)["msgRateIn"], tree(world)["msgThroughputIn"], tree(world)["averageMsgSize"]) == (
        10.0,
        10_000.0,
        1_000.0,
    )
    do(world, "producer.pause", producer="p")
    world.run(12 * SECOND)
    # of 2 s to 12 s: those published from 2.05 s to 3.95 s, 20
    stats = tree(world)
    assert (
        stats["msgRateIn"]
        == stats["publishers"][0]["msgRateIn"]
        == stats["subscriptions"]["s"]["msgRateOut"]
        == 2.0
    )
    assert (
        stats["subscriptions"]["s"]["messageAckRate"] == 2.0
        and stats["subscriptions"]["s"]["msgRateRedeliver"] == 0.0
    )
    world.run(20 * SECOND)
    assert tree(world)["msgRateIn"] == 0.0 and tree(world)["msgInCounter"] == 40
    assert 'pulsar_subscription_msg_rate_out{cluster="a"' in world.admin("metrics", "a")["text"]


def test_redeliveries_have_their_own_rate():
    nacks = ", negativeAcknowledge: {messages: [p/0, p/1]}, negativeAckRedeliveryDelay: 200ms"
    stats = tree(run(body(replicated="false", consumer=nacks), until="2s"))["subscriptions"]["s"]
    # 20 messages, two of them delivered twice, in 2 s
    assert stats["msgRateRedeliver"] == 1.0 == 2 / 2 and stats["msgRateOut"] == 11.0


def test_a_cursor_moved_to_a_new_ledger_stays_there_after_a_flush():
    # Ten acks by 950 ms; the first was written, the others are dirty until a flush at 60.05 s; the ledger is
    # rolled over by age at 60 s.
    by_age = (
        "settings: {managedLedgerMaxLedgerRolloverTimeMinutes: 1, "
        "managedLedgerMinLedgerRolloverTimeMinutes: 0, retentionCheckIntervalInSeconds: 60}\n"
    )
    world = open_world(
        body(replicated="false", more=by_age).replace("every: 100ms", "every: 100ms, count: 10"), until="65s"
    )
    world.run()
    ledger = rows(world, "ledger.opened", cluster="a")[-1]["ledger"]
    flushed = rows(world, "cursor.persisted", cluster="a", subscription="s")[-1]
    cursor = tree(world, "stats-internal")["cursors"]["s"]
    assert flushed["at_us"] > 60 * SECOND and (flushed["ledger"], flushed["entry"]) == (ledger, -1)
    assert (cursor["markDeletePosition"], cursor["readPosition"]) == (f"{ledger}:-1", f"{ledger}:0")


def test_a_replication_cursor_moves_to_the_next_ledger_too():
    # All ten have their receipts when the ledger is rolled over by age at 60 s; a message published later
    # moves the position to an entry again.
    by_age = (
        "settings: {managedLedgerMaxLedgerRolloverTimeMinutes: 1, "
        "managedLedgerMinLedgerRolloverTimeMinutes: 0}\n"
    )
    world = open_world(
        body(replicated="false", more=by_age).replace("every: 100ms", "every: 100ms, count: 10"), until="70s"
    )
    world.run(65 * SECOND)
    ledger = rows(world, "ledger.opened", cluster="a")[-1]["ledger"]
    cursor = tree(world, "stats-internal")["cursors"]["pulsar.repl.b"]
    assert (cursor["markDeletePosition"], cursor["readPosition"]) == (f"{ledger}:-1", f"{ledger}:0")
    do(world, "producer.publish", producer="p")
    world.run()
    assert tree(world, "stats-internal")["cursors"]["pulsar.repl.b"]["markDeletePosition"] == f"{ledger}:0"


def test_counters_start_at_zero_when_the_topic_is_loaded():
    # otherwise the load trims what every cursor has passed
    kept = "settings: {defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: -1}\n"
    world = open_world(body(replicated="false", more=kept), until="6s")
    world.run(2 * SECOND)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run(3 * SECOND)
    stats, internal = tree(world), tree(world, "stats-internal")
    loaded = rows(world, "topic.loaded", cluster="a")[-1]
    stored = [row for row in rows(world, "message.stored", cluster="a") if row["seq"] > loaded["seq"]]
    assert stats["msgInCounter"] == len(stored) == internal["entriesAddedCounter"] and internal[
        "numberOfEntries"
    ] > len(stored)
    assert internal["lastLedgerCreatedTimestamp"] == printed.instant(loaded["at_us"])


def test_a_dirty_cursor_shows_where_a_crash_would_put_it():
    world = run(body(replicated="false"), until="1s")
    persisted = rows(world, "cursor.persisted", cluster="a")[-1]
    assert (
        note(world, "stats-internal", "cursorLedgerLastEntry", after='"s" :')
        == f"A crash now would fall back to {persisted['ledger']}:{persisted['entry']}."
    )
    cursor = tree(world, "stats-internal")["cursors"]["s"]
    assert (
        cursor["state"] == "Open"
        and cursor["cursorLedger"] > 0
        and cursor["cursorLedgerLastEntry"] == len(rows(world, "cursor.persisted", cluster="a")) - 1
    )


def test_a_region_that_is_down_is_named_in_the_notes():
    world = open_world(body(), until="4s")
    world.run(2500 * MS)
    do(world, "cluster.crash", cluster="b")
    assert note(world, "stats", '"isReplicated"').endswith(" b is down.")
    assert tree(world)["replication"]["b"]["connected"] is False
