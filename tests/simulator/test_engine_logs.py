"""Ledgers, trimming, retention, expiry and which cursor state survives, through the engine
(`ManagedLedgerImpl`, `ManagedCursorImpl`).
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
    subscription,
    topic,
)

NO_MINIMUM = "managedLedgerMinLedgerRolloverTimeMinutes: 0"


def body(
    settings="",
    producer="start: 10ms, every: 10ms, count: 100",
    consumer="{acknowledgmentGroupTime: 0s}",
    topic_more="",
    type_="Shared",
    clusters="a",
):
    consumers = (
        f"consumers: {{c1: {consumer.replace('{', '{subscription: s, cluster: a, ', 1)}}}\n"
        if consumer
        else ""
    )
    return (
        f"clusters: "
        f"{{{', '.join(f'{name.strip()}: {{}}' for name in clusters.split(','))}}}\nsettings: "
        f"{{{settings}}}\n"
        f"topics: {{t: {{clusters: [{clusters}]{topic_more}}}}}\nproducers: {{p: {{topic: t, cluster: "
        f"a, {producer}}}}}\n"
        f"subscriptions: {{s: {{topic: t, type: {type_}, initialPosition: Earliest}}}}\n{consumers}"
    )


# --- ledgers (ManagedLedgerImpl)


def test_entry_that_reaches_the_limit_is_the_last_and_the_next_ledger_opens_at_once():
    world = run(body(f"managedLedgerMaxEntriesPerLedger: 40, {NO_MINIMUM}"), until="3s")
    closed = rows(world, "ledger.closed")
    assert [row["count"] for row in closed] == [40, 40] and at_ms(closed) == [400, 800]
    opened = rows(world, "ledger.opened")
    assert at_ms(opened) == [0, 400, 800] and [row["ledger"] for row in opened] == sorted(
        {row["ledger"] for row in opened}
    )
    stored = positions(rows(world, "message.stored"))
    assert stored[39] == f"{opened[0]['ledger']}:39" and stored[40] == f"{opened[1]['ledger']}:0"


def test_a_young_ledger_is_not_rolled_over():
    # Full and older than the minimum (10 min by default): at 100 entries in a second nothing happens.
    world = run(body("managedLedgerMaxEntriesPerLedger: 40"), until="3s")
    assert rows(world, "ledger.closed") == []


def test_minimum_age_is_strict():
    # "age > min time": the entry at exactly one minute does not roll it over, the next does.
    world = run(
        body(
            "managedLedgerMaxEntriesPerLedger: 1, managedLedgerMinLedgerRolloverTimeMinutes: 1",
            "at: [59s, 60s, 61s]",
        ),
        until="70s",
    )
    assert [(row["at_us"], row["count"]) for row in rows(world, "ledger.closed")] == [(61 * SECOND, 3)]


def test_a_ledger_rolls_over_at_its_size_limit():
    # 1 MB is 1,048,576 bytes; entries of 100 KB (100,000): the eleventh reaches it.
    world = run(
        body(
            f"managedLedgerMaxSizePerLedgerMbytes: 1, {NO_MINIMUM}",
            "start: 10ms, every: 10ms, count: 30, size: 100KB",
        ),
        until="3s",
    )
    assert [row["count"] for row in rows(world, "ledger.closed")] == [11, 11]


def test_rollover_by_age_needs_an_entry():
    # Time rollover needs at least one entry; the timer runs from the ledger's creation, and only once.
    settings = f"managedLedgerMaxLedgerRolloverTimeMinutes: 3, {NO_MINIMUM}"
    world = run(body(settings, "at: [10ms]"), until="10m")
    assert at_ms(rows(world, "ledger.closed")) == [180_000], "three minutes old"
    assert rows(run(body(settings, "paused: true"), until="10m"), "ledger.closed") == []


def test_a_load_opens_a_new_ledger_and_an_empty_one_is_dropped():
    world = open_world(body(producer="at: [10ms, 5s]"), until="10s")
    world.run(SECOND)
    do(world, "topic.unload", cluster="a", topic="t")
    do(world, "topic.unload", cluster="a", topic="t")
    ids = [ledger[0] for ledger in topic(world, "a")["ledgers"]]
    opened = [row["ledger"] for row in rows(world, "ledger.opened")]
    assert len(opened) == 3 and opened[1] not in ids, "the second one held nothing"
    world.run()
    assert positions(rows(world, "message.stored")) == [f"{opened[0]}:0", f"{opened[2]}:0"]


def test_last_confirmed_entry_skips_empty_ledgers_and_is_before_the_first_entry_of_an_empty_topic():
    world = open_world(body(producer="at: [10ms]"), until="10s")
    assert topic(world, "a")["last_position"] == "192:-1"
    world.run(SECOND)
    do(world, "topic.unload", cluster="a", topic="t")
    assert topic(world, "a")["last_position"] == "192:0"


def test_ledger_numbers_are_cluster_wide_with_gaps():
    # Partitions and cursors take from one counter.
    world = run(
        body(f"managedLedgerMaxEntriesPerLedger: 10, {NO_MINIMUM}", topic_more=", partitions: 3"), until="3s"
    )
    ids = [row["ledger"] for row in rows(world, "ledger.opened")]
    assert ids == sorted(set(ids)) and ids[-1] - ids[0] >= len(ids), "the cursors' own ledgers lie between"


# --- trimming and retention (ManagedLedgerImpl)

LEDGERS_OF_TEN = f"managedLedgerMaxEntriesPerLedger: 10, {NO_MINIMUM}"


def trimmed(world):
    return [row["ledger"] for row in rows(world, "ledger.trimmed")]


def test_a_closed_ledger_is_trimmed_when_the_mark_delete_has_crossed_it():
    # Everything is acknowledged at once, so each closed ledger is deleted when its last entry is
    # acknowledged; never the current one.
    world = run(body(LEDGERS_OF_TEN), until="3s")
    opened = [row["ledger"] for row in rows(world, "ledger.opened")]
    assert trimmed(world) == opened[:-1] and topic(world, "a")["first_kept"] == 100
    assert len(rows(world, "message.removed")) == 100


def test_the_slowest_durable_cursor_retains_the_ledgers():
    # p/25 is held: ledgers before its own (entries 20-29) may be deleted.
    world = run(
        body(LEDGERS_OF_TEN, consumer="{acknowledgmentGroupTime: 0s, hold: {messages: [p/25]}}"), until="3s"
    )
    assert topic(world, "a")["first_kept"] == 20 and len(trimmed(world)) == 2


def test_a_replication_cursor_retains_ledgers_too():
    world = open_world(body(LEDGERS_OF_TEN, clusters="a, b"), until="30s")
    world.run(205 * MS)
    do(world, "link.cut", link="a -> b")
    world.run(5 * SECOND)
    kept = topic(world, "a")["first_kept"]
    assert kept == 10, "receipts up to entry 11 or 12 are back: the ledger of entries 10-19 is needed"
    assert topic(world, "a")["replicators"]["b"]["mark_delete_index"] in (11, 12)


def test_without_any_cursor_all_but_the_current_ledger_are_trimmed():
    # "No durable cursor at all -> all but the current may go", at the check of two minutes.
    world = run(body(LEDGERS_OF_TEN, consumer=None), until="3m")
    assert at_ms(rows(world, "ledger.trimmed"))[-1] <= 120_000
    assert topic(world, "a")["first_kept"] == 100


@pytest.mark.parametrize(
    "policy, at_119_s, at_4_min, at_7_min",
    [
        ("defaultRetentionTimeInMinutes: 3, defaultRetentionSizeInMB: -1", 0, 100, 100),
        ("defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: -1", 0, 0, 0),
        ("defaultRetentionTimeInMinutes: 0, defaultRetentionSizeInMB: 0", 100, 100, 100),
    ],
)
def test_acknowledged_ledgers_are_deleted_after_the_retention_time(policy, at_119_s, at_4_min, at_7_min):
    # Acknowledged ledgers stay until retention time is over or the size quota is exceeded. Closed within the
    # first second:
    # three minutes are over at the check of four.
    world = open_world(body(f"{LEDGERS_OF_TEN}, {policy}"), until="8m")
    seen = []
    for minute in (1.99, 4.01, 7):
        world.run(int(minute * 60 * SECOND))
        seen.append(topic(world, "a")["first_kept"])
    assert seen == [at_119_s, at_4_min, at_7_min]


def test_acknowledged_ledgers_are_deleted_beyond_the_retention_size():
    # 30 ledgers of ten entries of 100 KB are 30 MB. A ledger is deleted when the remaining ones still fill
    # the quota of 10 MB (10,485,760): without 190-199 there would be 10 MB, which does not, so 11 MB stay.
    policy = "defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: 10"
    world = run(
        body(f"{LEDGERS_OF_TEN}, {policy}", "start: 10ms, every: 10ms, count: 300, size: 100KB"), until="3m"
    )
    assert topic(world, "a")["first_kept"] == 190


# --- expiry (design: message TTL)


def test_ttl_moves_the_cursor_at_the_five_minute_check():
    # messageExpiryCheckIntervalInMinutes 5; nothing is consumed. A message of 4 min 55 s is younger than 10 s
    # at the check.
    world = open_world(
        body("ttlDurationDefaultInSeconds: 10", "at: [1s, 2s, 295s]", consumer=None), until="11m"
    )
    do(world, "subscription.create", subscription="s", cluster="a", initialPosition="Earliest")
    world.run(299 * SECOND)
    assert subscription(world, "a")["backlog"] == 3
    world.run(300 * SECOND)
    assert (
        numbers(rows(world, "message.expired")) == [0, 1]
        and subscription(world, "a")["mark_delete"] == "192:1"
    )
    world.run(600 * SECOND)
    assert (
        numbers(rows(world, "message.expired")) == [0, 1, 2]
        and at_ms(rows(world, "message.expired"))[-1] == 600_000
    )


def test_ttl_counts_from_the_first_publish_in_every_cluster():
    # Publish time is copied: at b, behind a link of 9 s, the message is as old as at a.
    text = body(
        "ttlDurationDefaultInSeconds: 10, messageExpiryCheckIntervalInMinutes: 1",
        "at: [45s, 52s]",
        consumer=None,
        clusters="a, b",
    )
    world = open_world(text + "links: {default: {latency: 5s}}\n", until="70s")
    do(world, "subscription.create", subscription="s", cluster="b", initialPosition="Earliest")
    world.run()
    assert [(row["sequence_id"], row["at_us"]) for row in rows(world, "message.expired", cluster="b")] == [
        (0, 60 * SECOND)
    ]


def test_topic_policy_takes_precedence_over_the_broker_setting():
    text = body(
        "messageExpiryCheckIntervalInMinutes: 1",
        "at: [1s]",
        consumer=None,
        topic_more=", settings: {ttlDurationDefaultInSeconds: 10}",
    )
    world = open_world(text, until="2m")
    do(world, "subscription.create", subscription="s", cluster="a", initialPosition="Earliest")
    world.run()
    assert numbers(rows(world, "message.expired")) == [0]


def test_expiry_skips_acknowledged_messages_without_counting_them():
    world = run(
        body(
            "ttlDurationDefaultInSeconds: 10, messageExpiryCheckIntervalInMinutes: 1",
            consumer="{acknowledgmentGroupTime: 0s, hold: {messages: [p/3]}}",
        ),
        until="2m",
    )
    assert (
        numbers(rows(world, "message.expired")) == [3] and subscription(world, "a")["mark_delete"] == "192:99"
    )


# --- persistence (ManagedCursorImpl)


def crash_at(ms, **more):
    world = open_world(body(**more), until="3m")
    world.run(ms * MS)
    acknowledged = subscription(world, "a")["mark_delete_index"]
    do(world, "cluster.crash", cluster="a")
    do(world, "cluster.restart", cluster="a")
    return world, acknowledged, rows(world, "cursor.recovered")[-1]


def test_a_crash_forgets_acks_since_the_last_write():
    # Cursor writes are limited to one a second: the first ack (10 ms) is written, the next write is at 1010
    # ms.
    for ms, survived in ((500, 0), (1005, 0), (1010, 100), (1300, 100), (2015, 200)):
        world, acknowledged, recovered = crash_at(ms, producer="start: 10ms, every: 10ms, count: 300")
        assert (acknowledged, recovered["entry"]) == (ms // 10 - 1, survived), ms
        again = [row for row in rows(world, "message.delivered") if row["seq"] > recovered["seq"]]
        assert numbers(again) == list(range(survived + 1, acknowledged + 1))


def test_a_dirty_cursor_is_flushed_after_a_minute_at_latest():
    # managedLedgerCursorPositionFlushSeconds 60, counted from the last write (10 ms): traffic ended at 1 s.
    for ms, survived in ((60_005, 0), (60_010, 99)):
        _, acknowledged, recovered = crash_at(ms)
        assert (acknowledged, recovered["entry"]) == (99, survived)


def test_without_the_rate_limit_every_ack_is_written():
    assert crash_at(500, settings="managedLedgerDefaultMarkDeleteRateLimit: 0")[2]["entry"] == 49


def test_a_clean_close_keeps_all_acks():
    world = open_world(body(), until="3m")
    world.run(500 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    assert subscription(world, "a")["mark_delete_index"] == 49
    assert rows(world, "cursor.moved", reason="recovery") == []


def test_individually_deleted_ranges_survive_a_clean_close_and_a_crash_as_persisted():
    hold = "{acknowledgmentGroupTime: 0s, hold: {messages: [p/5, p/7]}}"
    world = open_world(body(consumer=hold, producer="start: 10ms, every: 10ms, count: 10"), until="3m")
    world.run(500 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    assert subscription(world, "a")["individually_deleted"] == "[(192:5..192:6],(192:7..192:9]]"
    do(world, "cluster.crash", cluster="a")
    do(world, "cluster.restart", cluster="a")
    assert subscription(world, "a")["individually_deleted"] == "[(192:5..192:6],(192:7..192:9]]"
    _, _, recovered = crash_at(500, consumer=hold, producer="start: 10ms, every: 10ms, count: 10")
    assert (recovered["entry"], recovered["count"]) == (0, 0), (
        "written with the first ack at 10 ms, and not since"
    )


def test_batch_index_acks_survive_a_clean_close():
    text = body(
        producer="start: 10ms, every: 1ms, count: 4, batch: 4",
        consumer="{acknowledgmentGroupTime: 0s, hold: {messages: [p/2]}}",
    )
    world = open_world(text, until="3s")
    world.run(500 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run()
    assert [row["sequence_id"] for row in rows(world, "message.delivered") if row["at_us"] > 500 * MS] == [2]


def test_persisted_ranges_are_limited():
    # managedLedgerMaxUnackedRangesToPersist, ledger by ledger as bitmaps do: ledgers of ten; 0 is held, so
    # nine deleted
    # entries in the first ledger, ten in each further one. Limit 15: the first (0 before it) and the second
    # (9) are kept,
    # the third (19 before it) is not.
    text = body(
        f"{LEDGERS_OF_TEN}, managedLedgerMaxUnackedRangesToPersist: 15",
        "start: 10ms, every: 10ms, count: 40",
        "{acknowledgmentGroupTime: 0s, hold: {messages: [p/0]}}",
    )
    world = open_world(text, until="5s")
    world.run(2 * SECOND)
    do(world, "topic.unload", cluster="a", topic="t")
    assert subscription(world, "a")["ranges"] == [[1, 19]]


def test_a_caught_up_mark_delete_moves_to_the_new_ledger():
    # ManagedLedgerImpl: "after a new ledger is made, fully caught-up cursors have mark-delete moved to
    # <new>:-1".
    world = run(body(f"managedLedgerMaxLedgerRolloverTimeMinutes: 3, {NO_MINIMUM}", "at: [10ms]"), until="5m")
    newest = rows(world, "ledger.opened")[-1]
    moved = rows(world, "cursor.moved")[-1]
    assert (moved["at_us"], moved["to_ledger"], moved["to_entry"], moved["reason"]) == (
        newest["at_us"],
        newest["ledger"],
        -1,
        "rollover",
    )
    assert subscription(world, "a")["backlog"] == 0


# --- reset, skip, clear


@pytest.mark.parametrize(
    "where, first",
    [
        ({"position": "192:4"}, 4),
        ({"position": "192:0"}, 0),
        ({"position": "192:-1"}, 0),
        ({"position": "earliest"}, 0),
        ({"position": "latest"}, 10),
        ({"position": "192:99"}, 10),
        ({"position": "500:0"}, 10),
        ({"position": "1:0"}, 0),
        ({"time": "45ms"}, 4),
        ({"time": "50ms"}, 4),
        ({"time": "0s"}, 0),
        ({"time": "1h"}, 10),
    ],
)
def test_reset_sets_the_next_delivery_to_the_position_or_instant(where, first):
    # Messages at 10, 20, … 100 ms. `ledger:entry` is what is delivered next. A position past the end is the
    # end; unknown ledgers count as the place where they would be.
    world = open_world(body(producer="start: 10ms, every: 10ms, count: 10"), until="5s")
    world.run(SECOND)
    do(world, "subscription.reset", subscription="s", cluster="a", **where)
    assert subscription(world, "a")["ranges"] == []
    world.run()
    # the reset disconnects the consumer, which is back after 100 ms
    again = [row for row in rows(world, "message.delivered") if row["at_us"] >= SECOND]
    assert numbers(again) == list(range(first, 10)) and {row["at_us"] for row in again} <= {SECOND + 100 * MS}


def test_a_reset_may_cross_ledgers():
    world = open_world(
        body(
            f"{LEDGERS_OF_TEN}, defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: -1",
            "start: 10ms, every: 10ms, count: 25",
        ),
        until="5s",
    )
    world.run(SECOND)
    second = [row["ledger"] for row in rows(world, "ledger.opened")][1]
    for entry, first in ((0, 10), (-1, 10), (3, 13), (50, 20)):
        do(world, "subscription.reset", subscription="s", cluster="a", position=f"{second}:{entry}")
        world.run(world.now_us + 300 * MS)
        assert subscription(world, "a")["mark_delete_index"] == 24, "all is delivered and acknowledged again"
        moved = list(rows(world, "cursor.moved", reason="reset"))[-1]
        again = [row for row in rows(world, "message.delivered") if row["seq"] > moved["seq"]]
        assert numbers(again) == list(range(first, 25)), entry


def test_skip_counts_only_unacknowledged_entries():
    world = open_world(
        body(
            producer="start: 10ms, every: 10ms, count: 10",
            consumer="{acknowledgmentGroupTime: 0s, hold: {messages: [p/2, p/4, p/6]}}",
        ),
        until="5s",
    )
    world.run(SECOND)
    do(world, "subscription.skip", subscription="s", cluster="a", count=2)
    assert numbers(rows(world, "message.skipped")) == [2, 4]
    assert subscription(world, "a")["mark_delete"] == "192:5", "and over the acknowledged 5 that adjoins"
    do(world, "subscription.clear", subscription="s", cluster="a")
    assert numbers(rows(world, "message.skipped")) == [2, 4, 6] and subscription(world, "a")["backlog"] == 0
