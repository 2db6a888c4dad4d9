"""Tests of shadow topics.

Errors found by reading Pulsar's own code and tests, about cursors over loads, crashes and resets; reading;
retention.

Each expectation was written down before the run, from the source in its comment.
"""

import pytest

from simulator import World
from tests.simulator.engine_runs import do, open_world, positions, rows

SMALL = "settings: {managedLedgerMaxEntriesPerLedger: 5, managedLedgerMinLedgerRolloverTimeMinutes: 0}\n"
HEAD = """
clusters: {a: {firstLedger: 10}}
topics: {t: {clusters: [a]}, x: {clusters: [a], shadowOf: t}}
subscriptions: {b: {topic: t}, s: {topic: x, initialPosition: Earliest, type: Shared}}
"""
FED = (
    "producers: {p: {topic: t, cluster: a, start: 50ms, every: 10ms, count: 23}, q: {topic: t, cluster: "
    "a}, f: {topic: x, cluster: a}}\n"
)
EAGER = "consumers: {c: {subscription: s, cluster: a, acknowledgmentGroupTime: 0s}}\n"


def shadowed(body: str, until: str = "10s") -> World:
    return open_world(body, until, family="shadow-topics")


def at(world: World, milliseconds: float) -> dict:
    """Run to an instant; the shadow's subscription there."""
    world.run(int(milliseconds * 1000))
    return world.summary()["subscriptions"]["s"].get("a", {})


def hold(world: World, *numbers: int) -> None:
    """Keep ledgers at the source, and leave these messages unacknowledged at the consumer."""
    at(world, 1)
    do(world, "subscription.create", subscription="b", cluster="a", initialPosition="Earliest")
    do(world, "consumer.hold", consumer="c", messages=[f"p/{number}" for number in numbers])


def seen_in(world: World) -> list[str]:
    return positions(rows(world, "message.delivered", subscription="s"))


# --- cursors over a load


def test_a_cursor_is_not_ahead_of_the_entries_visible_to_a_reloaded_shadow():
    # ManagedCursorImpl.recoveredCursor: a position ahead of the ledger's last one is put back to that. A
    # reloaded shadow sees nothing of the open ledger, so everything acknowledged in it is redelivered with
    # the next position.
    world = shadowed(HEAD + FED + EAGER)
    assert at(world, 500)["mark_delete"] == "10:22"
    do(world, "topic.unload", cluster="a", topic="x")
    assert (
        at(world, 501)["mark_delete"] == "10:-1"
        and world.summary()["shadows"]["x"]["last_confirmed"] == "10:-1"
    )
    do(world, "producer.publish", producer="q")
    after = at(world, 2_000)
    assert (after["delivered"], after["repeated"], after["mark_delete"]) == (23 + 24, 23, "10:23")
    assert [row["reason"] for row in rows(world, "cursor.moved", to_entry=-1)] == ["ahead-of-last"]
    assert world.summary()["violations"] == []


def test_a_cursor_stays_where_explicit_lac_confirms_enough_to_the_reloaded_shadow():
    world = shadowed("settings: {bookkeeperExplicitLacIntervalInMills: 100}\n" + HEAD + FED + EAGER)
    at(world, 500)
    do(world, "topic.unload", cluster="a", topic="x")
    assert at(world, 501)["mark_delete"] == "10:22"
    do(world, "producer.publish", producer="q")
    assert at(world, 2_000)["repeated"] == 0


def test_individual_acks_stay_when_a_cursor_is_put_back():
    # Only the mark-delete of a recovered cursor is put back: p/3 and p/4 were acknowledged above a hole and
    # are not redelivered.
    world = shadowed(HEAD + FED + EAGER)
    hold(world, 2)
    assert at(world, 95)["individually_deleted"] == "[(10:2..10:4]]"
    do(world, "topic.unload", cluster="a", topic="x")
    assert (at(world, 96)["mark_delete"], at(world, 96)["individually_deleted"]) == (
        "10:-1",
        "[(10:2..10:4]]",
    )
    at(world, 2_000)
    assert [seen_in(world).count(f"10:{entry}") for entry in range(6)] == [2, 2, 2, 1, 1, 1]


# --- what the source deletes while the shadow is not loaded


def test_a_crash_forgets_unpersisted_acks_also_where_ledgers_were_deleted():
    # Cursor writes are limited to one a second: p/0 was persisted, the acks of 10 to 15 were not. Ledgers 10
    # to 14 are deleted while the shadow is not loaded; the recovered cursor has no acks of the last ledger's
    # entries.
    world = shadowed(SMALL + HEAD + FED + EAGER)
    hold(world, 1, 7, 9, 16, 21)
    at(world, 500)
    do(world, "topic.crash", cluster="a", topic="x", downtime="1s")
    at(world, 800)
    do(world, "topic.truncate", cluster="a", topic="t")
    after = at(world, 1_501)
    assert (after["mark_delete"], after["individually_deleted"]) == ("15:-1", "[]")
    assert [row["sequence_id"] for row in rows(world, "message.lost")] == [1, 7, 9, 16]
    do(world, "producer.publish", producer="q")
    at(world, 5_000)
    assert seen_in(world)[20:] == ["15:0", "15:1", "15:2", "15:0", "15:1", "15:2", "15:3"]
    assert world.summary()["violations"] == []


def test_a_clean_unload_keeps_individual_acks_of_the_remaining_ledgers():
    world = shadowed(SMALL + HEAD + FED + EAGER)
    hold(world, 1, 7, 9, 16, 21)
    at(world, 500)
    do(world, "topic.unload", cluster="a", topic="x")
    do(world, "topic.truncate", cluster="a", topic="t")
    after = at(world, 2_000)
    assert (after["mark_delete"], after["individually_deleted"]) == ("15:0", "[(15:1..15:2]]")
    assert world.summary()["shadows"]["x"]["lost_by_subscription"] == {"s": 4}


def test_a_pushed_cursor_is_before_the_first_remaining_ledger():
    # ManagedLedgerImpl.advanceCursorsIfNecessary: the mark-delete becomes `<first ledger kept>:-1`.
    world = shadowed(
        SMALL
        + HEAD
        + FED
        + "consumers: {c: {subscription: s, cluster: a, processing: 10s, receiverQueueSize: 1}}\n"
    )
    hold(world, 0)
    at(world, 500)
    do(world, "topic.truncate", cluster="a", topic="t")
    assert at(world, 600)["mark_delete"] == "14:-1"  # its own cursor ledger was not written yet: ids 10 to 14
    assert world.summary()["shadows"]["x"]["lost_by_subscription"] == {"s": 20}


def test_a_pushed_cursor_is_recovered_at_its_persisted_position():
    # Pushed at every deletion, persisted once a second: the crash finds an older `<first ledger kept>:-1`
    # (found by the swarm of random runs).
    fed = "producers: {p: {topic: t, cluster: a, start: 50ms, every: 10ms}}\n"
    world = shadowed(
        SMALL
        + HEAD
        + fed
        + (
            "consumers: {d: {subscription: b, cluster: a}, c: {subscription: s, cluster: a, processing: 10s, "
            "receiverQueueSize: 1}}\n"
        )
    )
    at(world, 2_730)
    do(world, "topic.crash", cluster="a", topic="x", downtime="50ms")
    at(world, 2_900)
    persisted, (recovered,) = (
        rows(world, "cursor.persisted", subscription="s"),
        rows(world, "cursor.recovered", subscription="s"),
    )
    assert persisted[-1]["entry"] == recovered["entry"] == -1
    assert [row["ledger"] for row in persisted if row["seq"] < recovered["seq"]][-1] == recovered["ledger"]
    moved = rows(world, "cursor.moved", subscription="s")
    before = [row for row in moved if row["seq"] < recovered["seq"]][-1]
    (back,) = [row for row in moved if row["reason"] == "recovery"]
    assert (back["ledger"], back["entry"]) == (before["to_ledger"], before["to_entry"])
    assert (back["to_ledger"], back["to_entry"]) == (recovered["ledger"], -1)
    assert world.summary()["violations"] == []


# --- a reset of a shadow's cursor


def test_a_reset_does_not_move_past_the_entries_visible_to_the_shadow():
    # ManagedCursorImpl.asyncResetCursor: a position that is not valid yet becomes the one after the last
    # confirmed entry.
    world = shadowed(HEAD.replace("shadowOf: t", "shadowOf: t, shadowReplication: false") + FED + EAGER)
    at(world, 400)
    do(world, "producer.send", producer="f", position="10:3")
    at(world, 410)
    do(world, "subscription.reset", subscription="s", cluster="a", position="10:8")
    assert at(world, 411)["mark_delete"] == "10:3"
    do(world, "producer.send", producer="f", position="10:9")
    at(world, 1_000)
    assert seen_in(world) == [f"10:{entry}" for entry in range(10)]


# --- reading


def test_markers_are_read_like_messages():
    # A replicated subscription of the source writes markers; a shadow's broker reads each from the bookies
    # before it skips it.
    world = shadowed("""
clusters: {a: {firstLedger: 10}, b: {firstLedger: 500}}
links: {a <-> b: {latency: 20ms}}
topics: {t: {clusters: [a, b]}, x: {clusters: [a], shadowOf: t}}
producers: {p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 30}, r: {topic: t, cluster: b, start: 55ms, every: 100ms, count: 30}}
subscriptions: {b: {topic: t, replicateSubscriptionState: true}, s: {topic: x, initialPosition: Earliest}}
consumers: {b1: {subscription: b, cluster: a}, c: {subscription: s, cluster: a}}
""")
    after = at(world, 10_000)
    source, shadow = world.summary()["clusters"]["a"]["topics"]["t"], world.summary()["shadows"]["x"]
    markers = sum(source["markers"].values())
    assert markers > 5 and after["delivered"] == 60 and after["backlog"] == 0
    assert (
        shadow["last_confirmed"] == source["last_position"]
        and shadow["replicator"]["messages_out"] == 60 + markers
    )
    assert shadow["reads"]["bookies"] == 60 + markers


KEPT_AND_OFFLOADED = (
    "settings: {managedLedgerMaxEntriesPerLedger: 5, managedLedgerMinLedgerRolloverTimeMinutes: 0, "
    "defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: -1, managedLedgerOffloadDriver: aws-s3}\n"
)


@pytest.mark.parametrize("kind", ["Shared", "Exclusive"])
def test_a_failed_read_is_retried(kind):
    # Pulsar's dispatchers wait 15 s after a failed read, then 30 s, then 60 s: no unload is needed once the
    # entry can be read.
    late = "consumers: {c: {subscription: s, cluster: a, start: 1s}}\n"
    world = shadowed(KEPT_AND_OFFLOADED + HEAD.replace("Shared", kind) + FED + late, until="300s")
    at(world, 500)
    do(world, "topic.offload", cluster="a", topic="t", deleteFromBookies=True)
    do(world, "setting.change", cluster="a", setting="managedLedgerOffloadDriver", value="filesystem")
    assert at(world, 20_000)["delivered"] == 0
    do(world, "setting.change", cluster="a", setting="managedLedgerOffloadDriver", value="aws-s3")
    assert at(world, 100_000)["delivered"] == 23
    assert {row["at_us"] for row in rows(world, "message.delivered")} == {(1 + 15 + 30) * 1_000_000}
    assert len(rows(world, "entry.unreadable")) == 1


def test_an_unload_loses_the_cached_entries():
    # The cache is the broker's memory, the source's too: after an unload the entries that it had read from
    # the bookies are read there again.
    world = shadowed(
        (
            "settings: {managedLedgerCacheEvictionTimeThresholdMillis: 60000, defaultRetentionTimeInMinutes: "
            "-1, defaultRetentionSizeInMB: -1}\n"
        )
        + HEAD
        + FED
        + "consumers: {b1: {subscription: b, cluster: a}}\n"
    )

    def at_source():
        return world.summary()["shadows"]["x"]["source_reads"]["bookies"]

    for milliseconds, read in ((500, 0), (1_500, 23), (2_500, 46)):
        world.run(milliseconds * 1000)
        assert at_source() == read
        do(world, "topic.unload", cluster="a", topic="t")
        world.run(milliseconds * 1000 + 50_000)
        do(world, "subscription.reset", subscription="b", cluster="a", position="earliest")


# --- commands


def test_a_truncation_clears_the_replicators_backlog():
    # Truncating clears the backlog of every cursor, the replicators' too: entries in the open ledger are not
    # fed any more.
    world = shadowed(HEAD + FED + EAGER)
    at(world, 100)
    do(world, "topic.crash", cluster="a", topic="x", downtime="1s")
    at(world, 500)
    assert world.summary()["shadows"]["x"]["replicator"]["backlog"] == 18
    do(world, "topic.truncate", cluster="a", topic="t")
    assert world.summary()["shadows"]["x"]["replicator"]["backlog"] == 0
    at(world, 5_000)
    assert world.summary()["shadows"]["x"]["behind_entries"] == 23 and world.summary()["violations"] == []


@pytest.mark.parametrize("command", ["topic.truncate", "topic.offload", "topic.terminate"])
def test_commands_on_a_topic_that_is_not_loaded_are_refused(command):
    world = shadowed(KEPT_AND_OFFLOADED + HEAD + FED)
    at(world, 100)
    do(world, "topic.crash", cluster="a", topic="t", downtime="1s")
    assert world.apply({"do": command, "cluster": "a", "topic": "t"}).code == "not-loaded"


def test_a_partition_has_no_list_of_shadows():
    # PersistentTopics.preValidation: policies belong to the whole topic.
    world = shadowed(
        "clusters: {a: {}}\ntopics: {t: {clusters: [a], partitions: 2}, x: {clusters: [a], shadowOf: t}}\n"
    )
    for command in ({"do": "shadow.set", "shadows": ["x"]}, {"do": "shadow.list"}, {"do": "shadow.remove"}):
        refused = world.apply({**command, "cluster": "a", "topic": "t-partition-1"})
        assert (refused.code, refused.error) == ("412", "Not allowed to set/get topic policy for a partition")


def test_deleting_a_fed_shadow_is_refused_with_the_number_of_replicators():
    # PersistentTopic.delete; the producer is the one that tries to publish to the shadow.
    world = shadowed(HEAD + FED)
    assert (
        world.apply({"do": "topic.delete", "cluster": "a", "topic": "x"}).error
        == "Topic has 2 clients connected Including 0 consumers, 1 producers, and 1 replicators."
    )


def test_a_partition_missing_in_the_shadow_is_not_fed():
    # Copied once: the source's new partitions have no counterpart until an operator adds them, and then until
    # a policy check.
    world = shadowed(
        "clusters: {a: {}}\ntopics: {t: {clusters: [a], partitions: 2}, x: {clusters: [a], shadowOf: t}}\n"
        "producers: {p: {topic: t, cluster: a, start: 50ms, every: 10ms, count: 400}}\n",
        until="1000s",
    )
    world.run(1_000_000)
    do(world, "topic.grow", topic="t", partitions=3)
    world.run(5_000_000)
    assert len(world.summary()["shadows"]["x"]["partitions"]) == 2 and world.summary()["violations"] == []
    do(world, "topic.grow", topic="x", partitions=3)
    world.run(10_000_000)
    assert world.summary()["shadows"]["x"]["partitions"]["x-partition-2"]["replicator"] is None, (
        "its first start had failed"
    )
    world.run(700_000_000)
    assert world.summary()["shadows"]["x"]["partitions"]["x-partition-2"]["replicator"]["connected"]


# --- found by random commands


TINY = (
    "settings: {managedLedgerMaxEntriesPerLedger: 1, managedLedgerMinLedgerRolloverTimeMinutes: 0, "
    "retentionCheckIntervalInSeconds: 1}\n"
)


def test_a_terminated_topic_keeps_its_last_ledger():
    # With ledgers of one entry the last one is empty when the topic is terminated; trimming keeps it, and
    # rolls nothing over.
    world = shadowed(TINY + HEAD + FED + EAGER)
    at(world, 500)
    do(world, "topic.terminate", cluster="a", topic="t")
    at(world, 5_000)
    do(world, "topic.unload", cluster="a", topic="x")
    at(world, 9_000)
    assert (
        len(world.runtime.clusters["a"].topics["t"].log.ledgers) == 1 and world.summary()["violations"] == []
    )


def test_a_topic_created_again_after_its_termination_takes_messages():
    world = shadowed(
        "clusters: {a: {}}\ntopics: {t: {clusters: [a]}}\nproducers: {q: {topic: t, cluster: a}}\n"
    )
    do(world, "topic.terminate", cluster="a", topic="t")
    do(world, "producer.stop", producer="q")
    do(world, "topic.delete", cluster="a", topic="t")
    do(world, "topic.create", cluster="a", topic="t")
    do(world, "producer.start", producer="q")
    do(world, "producer.send", producer="q")
    world.run(130_000_000)
    assert world.summary()["clusters"]["a"]["topics"]["t"]["messages"] == 1


def test_a_shadow_that_reads_from_the_bookies_survives_its_source():
    world = shadowed(
        (
            "settings: {bookkeeperExplicitLacIntervalInMills: 100}\noptions: {shadowLastConfirmedRefresh: "
            "on-read}\n"
        )
        + HEAD
        + FED
        + EAGER
    )
    at(world, 200)
    do(world, "topic.delete", cluster="a", topic="t", force=True)
    do(world, "producer.stop", producer="p")
    do(world, "subscription.clear", subscription="s", cluster="a")
    do(world, "consumer.pause", consumer="c")
    do(world, "consumer.resume", consumer="c")
    at(world, 5_000)
    assert world.summary()["violations"] == []


def test_a_recovered_cursor_has_the_position_that_was_persisted():
    # Pushed to `<first kept>:-1`, persisted, pushed again unpersisted (one write a second), then recovered
    # after a crash.
    world = shadowed(
        SMALL
        + HEAD.replace("b: {topic: t}, ", "")
        + FED
        + "consumers: {c: {subscription: s, cluster: a, processing: 10s, receiverQueueSize: 1}}\n"
    )
    at(world, 300)
    do(world, "topic.crash", cluster="a", topic="x")
    at(world, 400)
    recovered, persisted = (
        rows(world, "cursor.recovered", subscription="s")[-1],
        rows(world, "cursor.persisted", subscription="s"),
    )
    assert (recovered["ledger"], recovered["entry"]) == (persisted[0]["ledger"], -1) and world.summary()[
        "violations"
    ] == []


def test_payloads_sent_to_a_topic_that_is_no_shadow_are_counted():
    world = shadowed(
        "options: {shadowCachesReplicatedEntries: true}\nclusters: {a: {}}\ntopics: {t: {clusters: [a]}, "
        "n: {clusters: [a]}}\nproducers: {q: {topic: t, cluster: a}}\n"
    )
    do(world, "shadow.set", cluster="a", topic="t", shadows=["n"])
    world.run(1_000_000)
    do(world, "producer.send", producer="q")
    world.run(2_500_000)
    assert world.runtime.clusters["a"].topics["t"].shadows.replicators["n"].sent_bytes == 2 * 1000, (
        "sent, refused, and sent again after a second"
    )
