"""Rules of shadow topics over time.

Crashes and unloads, what is fed and what is not, retention, where reads are served.
"""

import pytest

from tests.simulator.engine_runs import MS, SECOND, do, numbers, open_world, positions, rows
from tests.simulator.test_pulsars_own_shadow_cases import (
    KEEP,
    SMALL,
    confirmed,
    publish,
    received,
    shadow_summary,
    shadowed,
)

# --- crashes and unloads


def test_entries_in_flight_when_a_shadows_broker_crashes_are_sent_again():
    world = shadowed()
    publish(world, 3)
    do(world, "producer.send", producer="p")
    do(world, "topic.crash", cluster="eu", topic="shadow", downtime="50ms")  # the fourth is in flight
    world.run(world.now_us + 10 * MS)
    publish(world, 2)
    world.run(2 * SECOND)
    assert rows(world, "shadow.replicator-stopped")[0]["reason"] == "shadow-crash"
    assert [number for number, _position in received(world)][-3:] == [3, 4, 5] and shadow_summary(world)[
        "replicator"
    ]["backlog"] == 0


def test_after_a_reload_the_open_ledger_is_invisible_until_the_next_position():
    world = shadowed()
    publish(world, 3)
    do(world, "topic.unload", cluster="eu", topic="shadow")
    assert confirmed(world)[1].endswith(":-1") and shadow_summary(world)["behind_entries"] == 3, (
        "the replicator has its receipts and tells nothing twice"
    )
    world.run(world.now_us + SECOND)
    assert shadow_summary(world)["behind_entries"] == 3
    publish(world)
    assert confirmed(world)[0] == confirmed(world)[1]


@pytest.mark.parametrize(
    "interval, piggyback, seen", [(0, "false", 0), (0, "true", 4), (1000, "false", 3), (1000, "true", 4)]
)
def test_last_confirmed_entry_of_an_open_ledger_in_the_bookies(interval, piggyback, seen):
    """Five entries at 0.3 s to 1.5 s, opened at 1.9 s.

    Confirmed explicitly at 1 s: three. Carried by the fifth entry: four.
    """
    world = shadowed(
        f"{KEEP}, bookkeeperExplicitLacIntervalInMills: {interval}",
        options=f"shadowReadsPiggybackedLac: {piggyback}",
        shadow=", shadowReplication: false",
        producers="p: {topic: source, cluster: eu, at: [300ms, 600ms, 900ms, 1200ms, 1500ms]}",
    )
    world.run(1900 * MS)
    do(world, "topic.unload", cluster="eu", topic="shadow")
    assert shadow_summary(world)["behind_entries"] == 5 - seen


def test_a_crashed_source_confirmed_entries_up_to_then_and_a_closed_source_all():
    for how, seen in (("topic.crash", 3), ("topic.unload", 5)):
        world = shadowed(
            f"{KEEP}, bookkeeperExplicitLacIntervalInMills: 1000",
            shadow=", shadowReplication: false",
            producers="p: {topic: source, cluster: eu, at: [300ms, 600ms, 900ms, 1200ms, 1500ms]}",
        )
        world.run(1600 * MS)
        source = world.runtime.clusters["eu"].topics["source"]
        source.unload("crash" if how == "topic.crash" else "unload", 0, clean=how == "topic.unload")
        world.run(5 * SECOND)
        assert source.shadows.entries_confirmed() == seen


def test_after_an_unload_the_source_does_not_feed_entries_stored_before():
    world = shadowed()
    do(world, "topic.crash", cluster="eu", topic="shadow", downtime="10s")
    publish(world, 5)
    do(world, "topic.unload", cluster="eu", topic="source")
    assert positions(rows(world, "shadow.replicator-created"))[-1] == confirmed(world)[0], (
        "the new cursor begins at the end"
    )
    world.run(25 * SECOND)
    assert [number for number, _position in received(world)] == [0, 1, 2, 3, 4] and rows(
        world, "shadow.added"
    ) == [], "the list of ledgers shows them"


def test_a_failed_first_start_is_not_retried_until_the_next_policy_check():
    world = shadowed(f"{KEEP}, replicationPolicyCheckDurationSeconds: 20")
    do(world, "topic.crash", cluster="eu", topic="shadow", downtime="3s")
    do(world, "topic.unload", cluster="eu", topic="source")  # a new replicator, which finds no shadow
    world.run(4 * SECOND)
    assert [row["reason"] for row in rows(world, "shadow.replicator-stopped")] == [
        "shadow-crash",
        "source-unload",
        "start-failed",
    ]
    publish(world, 2)
    assert shadow_summary(world)["replicator"] is None and received(world) == []
    world.run(21 * SECOND)
    publish(world)
    assert [number for number, _position in received(world)] == [0, 1, 2], "the check built it anew"


def test_with_retries_a_failed_first_start_is_retried():
    world = shadowed(options="shadowReplicatorRetry: retries")
    do(world, "topic.crash", cluster="eu", topic="shadow", downtime="3s")
    do(world, "topic.unload", cluster="eu", topic="source")
    world.run(10 * SECOND)
    assert shadow_summary(world)["replicator"]["connected"] and "start-failed" not in {
        row["reason"] for row in rows(world, "shadow.replicator-stopped")
    }


def test_a_cluster_crash_stops_source_and_shadow_and_both_recover():
    world = shadowed()
    publish(world, 4)
    do(world, "cluster.crash", cluster="eu")
    world.run(world.now_us + SECOND)
    do(world, "cluster.restart", cluster="eu")
    publish(world, 3)
    world.run(world.now_us + 2 * SECOND)
    assert [number for number, _position in received(world)][-3:] == [4, 5, 6] and confirmed(world)[
        0
    ] == confirmed(world)[1]


# --- which entries are fed


def test_markers_and_replicated_messages_are_fed_too():
    world = open_world(
        "clusters: {eu: {}, us: {}}\nlinks: {default: {latency: 10ms}}\ntopics: {t: {clusters: [eu, "
        "us]}, dark: {clusters: [eu], shadowOf: t}}\n"
        "producers: {here: {topic: t, cluster: eu, every: 50ms, stop: 2s}, there: {topic: t, cluster: "
        "us, every: 70ms, stop: 2s}, only: {topic: t, cluster: eu, every: 90ms, stop: 2s, replicateTo: "
        "[]}}\n"
        "subscriptions: {s: {topic: t, replicateSubscriptionState: true, initialPosition: Earliest}, "
        "d: {topic: dark, initialPosition: Earliest}}\n"
        "consumers: {c: {subscription: s, cluster: eu}, e: {subscription: d, cluster: eu}}\n",
        until="4s",
        family="shadow-topics",
    )
    world.run()
    summary = world.summary()
    source = summary["clusters"]["eu"]["topics"]["t"]
    assert len(rows(world, "shadow.added")) == source["entries"] and source["markers"]["snapshot_request"] > 0
    assert (
        summary["clusters"]["eu"]["topics"]["dark"]["messages"]
        == source["messages"]
        == summary["subscriptions"]["d"]["eu"]["delivered"]
    )
    assert {row["producer"] for row in rows(world, "message.delivered", topic="dark")} == {
        "here",
        "there",
        "only",
    }
    assert rows(world, "marker.filtered", topic="dark") and summary["violations"] == []


def test_entries_expired_by_time_to_live_are_not_fed():
    world = shadowed(f"{KEEP}, ttlDurationDefaultInSeconds: 1")
    do(world, "topic.crash", cluster="eu", topic="shadow", downtime="3s")
    publish(world, 3)
    world.run(3900 * MS)
    publish(world)
    world.run(10 * SECOND)
    assert len(rows(world, "shadow.entry-skipped")) == 3 == shadow_summary(world)["replicator"]["skipped"]
    assert positions(rows(world, "shadow.added")) == positions(rows(world, "message.stored"))[3:], (
        "the next one told brings them into sight"
    )


def test_a_long_backlog_may_be_skipped_as_the_proposal_says():
    world = shadowed(options="shadowReplicatorAutoResetBacklogEntries: 3")
    do(world, "topic.crash", cluster="eu", topic="shadow", downtime="2s")
    publish(world, 8)
    world.run(5 * SECOND)
    reset = rows(world, "shadow.replicator-reset")
    assert [row["count"] for row in reset] == [4, 4] and shadow_summary(world)["replicator"]["resets"] == 2
    assert rows(world, "shadow.added") == [] and shadow_summary(world)["behind_entries"] == 8


def test_a_full_queue_stalls_until_receipts_arrive():
    world = shadowed(
        f"{KEEP}, replicationProducerQueueSize: 4",
        options="shadowReplicationLatency: 100ms",
        producers="p: {topic: source, cluster: eu, every: 10ms, count: 100}",
    )
    world.run(500 * MS)
    assert shadow_summary(world)["replicator"]["in_flight"] == 4
    world.run(30 * SECOND)
    assert len(rows(world, "shadow.added")) == 100 and shadow_summary(world)["replicator"]["backlog"] == 0


# --- retention, truncation, termination


def test_truncating_the_source_pushes_the_shadows_cursor():
    world = shadowed(SMALL)
    do(world, "consumer.pause", consumer="c")
    publish(world, 5)
    do(world, "topic.truncate", cluster="eu", topic="source")
    world.run(world.now_us + SECOND)
    assert (
        numbers(rows(world, "message.lost")) == [0, 1, 2, 3] and shadow_summary(world)["saved_bytes"] == 1000
    )
    do(world, "consumer.resume", consumer="c")
    assert [number for number, _position in received(world)] == [0, 1, 2, 3, 4], (
        "what the client had fetched before it still delivers"
    )
    assert shadow_summary(world)["lost_to_retention"] == 0, (
        "and acknowledges: lost is what nobody acknowledges any more"
    )


def test_unacked_messages_count_as_lost_only_while_they_are_not_acknowledged():
    world = shadowed("managedLedgerMaxEntriesPerLedger: 2, managedLedgerMinLedgerRolloverTimeMinutes: 0")
    do(world, "consumer.hold", consumer="c", share="100%")
    publish(world, 2)
    assert [(row["sequence_id"], row["reason"]) for row in rows(world, "message.lost")] == [
        (0, "unacknowledged"),
        (1, "unread"),
    ]
    assert shadow_summary(world)["lost_to_retention"] == 2
    do(world, "consumer.release", consumer="c")
    assert shadow_summary(world)["lost_to_retention"] == 1 and world.summary()["violations"] == []


def test_a_shadows_cursor_retains_no_ledgers_and_the_sources_does():
    for reader, kept in (("shadow", 1), ("source", 5)):
        world = shadowed(
            "managedLedgerMaxEntriesPerLedger: 2, managedLedgerMinLedgerRolloverTimeMinutes: 0",
            audience="sub",
        )
        if reader == "source":
            world = open_world(
                "clusters: {eu: {}}\nsettings: {managedLedgerMaxEntriesPerLedger: 2, "
                "managedLedgerMinLedgerRolloverTimeMinutes: 0}\ntopics: {source: {clusters: [eu]}}\n"
                "producers: {p: {topic: source, cluster: eu}}\nsubscriptions: {sub: "
                "{topic: source, initialPosition: Earliest}}\n"
                "consumers: {c: {subscription: sub, cluster: eu}}\n",
                family="shadow-topics",
            )
        do(world, "consumer.pause", consumer="c")
        publish(world, 5)
        assert world.summary()["clusters"]["eu"]["topics"]["source"]["entries"] == kept


def test_a_terminated_source_is_read_to_its_end():
    world = shadowed(shadow=", shadowReplication: false")
    publish(world, 3)
    do(world, "topic.terminate", cluster="eu", topic="source")
    world.run(world.now_us + SECOND)
    assert confirmed(world)[0] == confirmed(world)[1] and len(received(world)) == 3
    assert world.apply({"do": "producer.send", "producer": "p"}).code == "TopicTerminated"
    assert world.apply({"do": "producer.send", "producer": "p", "position": "192:0"}).code == "NotAllowed"
    do(world, "topic.unload", cluster="eu", topic="source")
    assert world.apply({"do": "topic.terminate", "cluster": "eu", "topic": "source"}).code == "terminated"


def test_hazard_a_shadow_deletes_ledgers_that_it_shares():
    """Read in the source code, not confirmed in practice: with the option the shadow's own trimming
    deletes ledgers that the source's readers still need.
    """
    world = open_world(
        "clusters: {eu: {}}\nsettings: {managedLedgerMaxEntriesPerLedger: 2, "
        "managedLedgerMinLedgerRolloverTimeMinutes: 0, managedLedgerCacheEvictionTimeThresholdMillis: "
        "0, retentionCheckIntervalInSeconds: 1}\n"
        "options: {shadowDeletesSharedLedgers: true}\ntopics: {source: {clusters: [eu]}, shadow: "
        "{clusters: [eu], shadowOf: source}}\n"
        "producers: {p: {topic: source, cluster: eu, every: 100ms, count: 6}}\nsubscriptions: {s: "
        "{topic: source, initialPosition: Earliest}, d: {topic: shadow, initialPosition: Earliest}}\n"
        "consumers: {c: {subscription: s, cluster: eu, receiverQueueSize: 1, processing: 10s}, e: "
        "{subscription: d, cluster: eu, acknowledgmentGroupTime: 0s}}\n",
        family="shadow-topics",
        until="60s",
    )
    world.run()
    assert [row["reason"] for row in rows(world, "ledger.deleted")] and {
        row["reason"] for row in rows(world, "ledger.deleted")
    } == {"shadow"}
    assert rows(world, "entry.unreadable", topic="source")[0]["reason"] == "ledger-deleted"
    assert world.summary()["subscriptions"]["s"]["eu"]["delivered"] < 6


# --- reads by place


def reset_and_wait(world):
    """Reset the shadow's subscription; its consumer is back after 100 ms."""
    do(world, "subscription.reset", subscription="sub", cluster="eu", position="earliest")
    world.run(world.now_us + 200_000)


def test_an_entry_leaves_the_cache_after_a_second():
    world = shadowed()
    publish(world, 2)
    world.run(3 * SECOND)
    reset_and_wait(world)
    assert shadow_summary(world)["reads"] == {"cache": 0, "bookies": 4, "offload": 0, "bookie_bytes": 4000}
    reset_and_wait(world)
    assert shadow_summary(world)["reads"]["cache"] == 2


def test_without_read_caching_every_read_goes_to_the_bookies():
    world = shadowed(options="cacheReadsFromBookies: false")
    publish(world, 2)
    reset_and_wait(world)
    assert shadow_summary(world)["reads"]["bookies"] == 4
