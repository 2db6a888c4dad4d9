"""Tests of acknowledgement-state sync.

What a cluster reports to its peer, what the filter stage drops, and which duplicates remain.

Sources: the article's "Optimizing the consumption progress synchronization logic" (figures 9 and 10):
markDelete and individuallyDeletedMessages of the source, entries dropped at dispatch by their original
position, backlog counting them until then.
"""

import pytest

from simulator.protocols.pulsar.ack_sync import MOST_ON_THE_WIRE
from simulator.protocols.pulsar.stories.steps import page, story_of
from tests.simulator.engine_runs import MS, at_ms, do, numbers, open_world, rows, run, subscription

HEAD = "clusters: {a: {}, b: {}}\nlinks: {default: {latency: 40ms}}\n"
MOVE = (
    "  - {at: 2s, do: cluster.crash, cluster: a}\n  - {at: 2s, do: subscription.fail-over, subscription: "
    "s, from: a, to: b, mode: crash}\n"
)


def body(
    producers="p: {topic: t, cluster: a, start: 10ms, every: 10ms, count: 100}",
    consumer="processing: 1ms",
    sync="periodic, ackSyncPeriod: 500ms",
    commands=MOVE,
    settings="",
    partitions=0,
    type_="Shared",
):
    """Two clusters, consumers of one subscription in a; by default a dies at 2 s and they move to b."""
    return (
        f"{HEAD}settings: {{{settings}}}\ntopics: {{t: {{clusters: [a, b], partitions: "
        f"{partitions}}}}}\nproducers:\n  {producers}\n"
        f"subscriptions: {{s: {{topic: t, type: {type_}, initialPosition: Earliest, "
        f"acknowledgementSync: {sync}}}}}\n"
        f"consumers: {{c1: {{subscription: s, cluster: a, {consumer}}}}}\n"
        + (f"commands:\n{commands}" if commands else "")
    )


def migrate(text, until="5s"):
    return run(text, until=until, family="tenant-migration")


def failover(world):
    return world.summary()["failovers"][0]


def at_b(world):
    """Message numbers delivered in b, in order."""
    return numbers(rows(world, "message.delivered", cluster="b"))


def test_synced_acks_prevent_duplicates_including_individually_deleted_messages():
    # p/5 and p/50 are held: a's mark-delete stays at p/4, everything above is individually deleted. Published
    # by 1 s, acknowledged by 1.1 s, synced at 1.5 s: only these two are delivered at b.
    world = migrate(body(consumer="processing: 1ms, hold: {messages: [p/5, p/50], for: 1h}"))
    assert at_b(world) == [5, 50]
    assert failover(world)["duplicates"] == 0 and failover(world)["redeliveries"] == 2
    told = rows(world, "acknowledgements.applied", cluster="b")
    assert at_ms(told) == [540, 1040, 1540], "every period while something changed, one latency later"
    assert (told[-1]["to_ledger"], told[-1]["to_entry"], told[-1]["count"]) == (192, 4, 93)
    assert len(rows(world, "message.filtered", cluster="b")) == 98
    assert subscription(world, "b")["individually_deleted"] == "[(1234:5..1234:49],(1234:50..1234:99]]"


def test_snapshots_would_have_made_all_of_these_duplicates():
    # The article's first problem: PIP-33 cannot pass the hole at p/5, and the first snapshot at 1 s is above
    # it.
    text = body(
        consumer="processing: 1ms, hold: {messages: [p/5, p/50], for: 1h}",
        sync="none, replicateSubscriptionState: true",
    )
    assert failover(migrate(text))["duplicates"] == 98


def test_backlog_counts_filtered_entries_until_the_dispatcher_reads_them():
    world = open_world(body(commands=""), until="5s", family="tenant-migration")
    world.run(1900 * MS)
    assert subscription(world, "a")["backlog"] == 0 and subscription(world, "b")["backlog"] == 100
    do(world, "client.close", client="c1")
    do(world, "subscription.fail-over", subscription="s", from_="a", to="b", mode="crash")
    assert subscription(world, "b")["backlog"] == 0 and at_b(world) == []


def test_strategy_once_syncs_on_command_only():
    # The article's way: one request before the move. What is acknowledged after it becomes a duplicate.
    at_one = "  - {at: 605ms, do: subscription.sync-acknowledgements, subscription: s, from: a, to: b}\n"
    world = migrate(body(sync="once", commands=at_one + MOVE))
    assert at_ms(rows(world, "acknowledgements.sent")) == [605]
    # by 605 ms acks up to the grid of 600 ms were registered: p/0 to p/58 (p/58 is published at 590 ms,
    # processed at 591 ms)
    assert at_b(world) == list(range(59, 100))
    assert failover(world)["by_cause"]["after_last_sync"] == failover(world)["duplicates"] == 41


def test_messages_published_at_the_target_are_identified_by_the_original_position_they_carry():
    # q is produced at b, replicated to a and acknowledged there. a reports it to b by b's own positions.
    producers = (
        "p: {topic: t, cluster: a, start: 10ms, every: 30ms, count: 30}\n  q: {topic: t, cluster: b, "
        "start: 15ms, every: 20ms, count: 40}"
    )
    world = migrate(body(producers=producers, consumer="processing: 1ms, hold: {messages: [q/7], for: 1h}"))
    assert [
        (row["producer"], row["sequence_id"]) for row in rows(world, "message.delivered", cluster="b")
    ] == [("q", 7)]
    assert {row["producer"] for row in rows(world, "message.filtered")} == {"p", "q"}


def test_a_synced_message_is_filtered_in_every_copy():
    # The connection breaks before the receipts arrive: b stores entries twice, both copies carry the same
    # position.
    cut = "  - {at: 330ms, do: link.cut, link: b <-> a}\n  - {at: 600ms, do: link.heal, link: b <-> a}\n"
    world = migrate(body(commands=cut + MOVE))
    stored = numbers(rows(world, "message.stored", cluster="b"))
    assert len(stored) > len(set(stored)) == 100
    assert at_b(world) == []


def test_partly_acknowledged_batches_are_filtered_message_by_message():
    text = body(
        "p: {topic: t, cluster: a, start: 10ms, every: 10ms, count: 100, batch: 5}",
        "processing: 1ms, hold: {messages: [p/7, p/8], for: 1h}",
        settings="acknowledgmentAtBatchIndexLevelEnabled: true",
    )
    world = migrate(text)
    assert at_b(world) == [7, 8]
    assert [
        row["batch_index"] for row in rows(world, "message.filtered") if 5 <= row["sequence_id"] < 10
    ] == [0, 1, 4]


def test_ledger_borders_and_partitions_do_not_affect_filtering():
    # retained without limit: b has no subscription before the first request, and with retention 0 it would
    # delete whole ledgers until then
    small = (
        "managedLedgerMaxEntriesPerLedger: 7, managedLedgerMinLedgerRolloverTimeMinutes: 0, "
        "defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: -1"
    )
    text = body(
        "p: {topic: t, cluster: a, start: 10ms, every: 10ms, count: 100, keys: 10}",
        "processing: 1ms, hold: {messages: [p/33], for: 1h}",
        settings=small,
        partitions=3,
    )
    world = migrate(text)
    assert at_b(world) == [33]
    assert len({row["topic"] for row in rows(world, "acknowledgements.applied")}) == 3


@pytest.mark.parametrize("type_", ["Exclusive", "Failover", "Shared", "Key_Shared"])
def test_every_subscription_type_filters_synced_acks(type_):
    world = migrate(
        body(
            "p: {topic: t, cluster: a, start: 1100ms, every: 5ms, count: 100, keys: 4}",
            type_=type_,
            commands=MOVE.replace("2s", "4s"),
        ),
        until="8s",
    )
    assert at_b(world) == [] and len(rows(world, "message.filtered")) == 100


def test_a_request_is_lost_with_its_connection_and_the_next_one_repeats_the_state():
    commands = "  - {at: 520ms, do: link.cut, link: a -> b}\n  - {at: 700ms, do: link.heal, link: a -> b}\n"
    world = migrate(body(commands=commands))
    assert at_ms(rows(world, "acknowledgements.sent")) == [500, 1000, 1500]
    assert at_ms(rows(world, "acknowledgements.lost")) == [540]
    assert at_ms(rows(world, "acknowledgements.applied")) == [1040, 1540]


def test_no_request_is_sent_without_a_change_or_without_a_reachable_peer():
    world = migrate(body(commands="  - {at: 1100ms, do: link.cut, link: a -> b}\n"), until="60s")
    assert at_ms(rows(world, "acknowledgements.sent")) == [500, 1000], "the link is cut before 1.5 s"
    world = migrate(body(commands=""), until="60s")
    assert at_ms(rows(world, "acknowledgements.sent", cluster="a")) == [500, 1000, 1500], (
        "all is acknowledged and told"
    )


def test_the_target_syncs_its_acks_to_the_source_too():
    # After the move consumers acknowledge at b. a is back and receives these acks, so moving back causes no
    # duplicates.
    commands = MOVE + (
        "  - {at: 3s, do: cluster.restart, cluster: a}\n  - {at: 5s, do: subscription.fail-over, "
        "subscription: s, from: b, to: a, mode: planned}\n"
    )
    world = migrate(
        body("p: {topic: t, cluster: b, start: 10ms, every: 20ms, count: 150}", commands=commands), until="8s"
    )
    assert rows(world, "acknowledgements.applied", cluster="a")
    assert world.summary()["failovers"][1]["duplicates"] == 0


def test_a_missing_subscription_is_opened_at_the_earliest_entry():
    world = migrate(body(commands=""), until="1s")
    assert [(row["cluster"], row["reason"], row["entry"]) for row in rows(world, "subscription.created")] == [
        ("a", "consumer", -1),
        ("b", "acknowledgement-sync", -1),
    ]


# --- synced acks are kept


def test_a_crash_that_forgets_acks_does_not_revoke_acks_synced_before():
    # a's cursor is written at 0.1 s and 1.1 s. Synced at 1.5 s: everything but p/5. The crash forgets what
    # was registered after 1.1 s, a is back at 2 s without consumers and reports the smaller state; b keeps
    # both.
    crash = (
        "  - {at: 1550ms, do: client.close, client: c1}\n  - {at: 1600ms, do: cluster.crash, cluster: a}\n "
        " - {at: 2s, do: cluster.restart, cluster: a}\n"
    )
    text = body(
        "p: {topic: t, cluster: a, start: 10ms, every: 10ms, count: 140}",
        "processing: 1ms, hold: {messages: [p/5], for: 1h}",
        commands=crash + MOVE.replace("2s", "4s"),
    )
    world = migrate(text, until="6s")
    told = rows(world, "acknowledgements.applied", cluster="b")
    assert told[-1]["count"] < told[-2]["count"] == 134
    assert at_b(world) == [5]


@pytest.mark.parametrize("move, again", [("1900ms", []), ("3s", list(range(100)))])
def test_a_reset_by_an_operator_revokes_synced_acks_with_the_next_request(move, again):
    # Everything is synced at 1.5 s. The cursor is reset to the beginning at 1.7 s and nothing is consumed;
    # the request of 2 s reports it.
    commands = (
        "  - {at: 1600ms, do: client.close, client: c1}\n  - {at: 1700ms, do: subscription.reset, "
        "subscription: s, cluster: a, position: earliest}\n"
    )
    world = migrate(body(commands=commands + MOVE.replace("2s", move)), until="6s")
    assert at_b(world) == again
    assert failover(world)["by_cause"]["after_last_sync"] == len(again)
    assert {one.why for one in world.counted().failovers[0].duplicates_list} <= {"forgotten"}


def test_a_new_connection_does_not_wait_for_requests_lost_with_the_old_one():
    # The request of 0.5 s would take 10 s; the connection breaks at 0.6 s. Nothing new is acknowledged after
    # 0.41 s, and the state is still sent again at 1 s.
    commands = (
        "  - {at: 450ms, do: link.slow, link: a -> b, latency: 10s}\n  - {at: 600ms, do: link.cut, link: a "
        "-> b}\n  - {at: 700ms, do: link.heal, link: a -> b}\n"
    )
    world = migrate(
        body("p: {topic: t, cluster: a, start: 10ms, every: 10ms, count: 40}", commands=commands), until="12s"
    )
    assert at_ms(rows(world, "acknowledgements.sent", cluster="a")) == [500, 1000]
    assert at_ms(rows(world, "acknowledgements.applied", cluster="b")) == [1040]
    assert at_ms(rows(world, "acknowledgements.lost")) == [10500]


def test_requests_in_flight_are_bounded():
    text = body(
        "p: {topic: t, cluster: a, start: 1ms, every: 1ms, count: 900}",
        "processing: 0s, acknowledgmentGroupTime: 0s",
        "periodic, ackSyncPeriod: 1ms",
        "",
    )
    world = migrate(text.replace("40ms", "1s"), until="950ms")
    assert len(rows(world, "acknowledgements.sent")) == MOST_ON_THE_WIRE


def test_the_size_of_a_request_follows_from_its_ranges_and_batches():
    # One hole at p/7 and p/8 inside a batch: one range above it, one partly acknowledged batch.
    text = body(
        "p: {topic: t, cluster: a, start: 10ms, every: 10ms, count: 100, batch: 5}",
        "processing: 1ms, hold: {messages: [p/7, p/8], for: 1h}",
        settings="acknowledgmentAtBatchIndexLevelEnabled: true",
    )
    assert rows(migrate(text), "acknowledgements.sent")[-1]["size_bytes"] == 64 + 2 * 32


def test_the_summary_counts_filtered_messages_and_has_the_time_of_the_last_sync():
    world = migrate(body(consumer="processing: 1ms, hold: {messages: [p/5, p/50], for: 1h}"))
    assert world.summary()["ack_sync"] == {
        "s": {"a": {"filtered": 0, "last_sync_us": None}, "b": {"filtered": 98, "last_sync_us": 1_540_000}}
    }
    assert migrate(body(sync="none")).summary()["ack_sync"] == {}


# --- causes


@pytest.mark.parametrize(
    "at, expected",
    [
        # 400 messages/s; requests at 1.0 s and 1.5 s, acks registered at every 100 ms, one latency is 40 ms.
        # 1.52 s: the second request is in flight and is lost with a. b holds what was published by 1.48 s:
        # p/400 to p/591 were registered between the requests (p/399 is published at 998.5 ms and processed by
        # 999 ms).
        ("1520ms", {"sync_in_flight": 192}),
        # 1.65 s: b has received what was registered by 1.5 s. Registered at 1.6 s: p/600 to p/639; p/640 to
        # p/643 reached b by then, their acks wait.
        ("1650ms", {"after_last_sync": 40, "ack_not_registered": 4}),
    ],
)
def test_causes_are_checked_in_their_order(at, expected):
    text = body(
        "p: {topic: t, cluster: a, start: 1ms, every: 2500us, count: 1000}",
        commands=MOVE.replace("2s", at),
        consumer="processing: 500us",
    )
    outcome = failover(migrate(text))
    assert {name: count for name, count in outcome["by_cause"].items() if count} == expected
    assert outcome["duplicates"] == sum(expected.values())


def test_messages_that_arrive_after_the_move_have_the_cause_not_in_target_yet():
    # From 600 ms on the link takes 1.5 s: b has the acks up to 500 ms; a lives on, and its later messages
    # reach b after the consumers have moved there.
    commands = (
        "  - {at: 600ms, do: link.slow, link: a -> b, latency: 1500ms}\n  - {at: 1s, do: "
        "subscription.fail-over, subscription: s, from: a, to: b, mode: planned}\n"
    )
    causes = failover(
        migrate(
            body(
                sync="once",
                commands=(
                    "  - {at: 500ms, do: subscription.sync-acknowledgements, subscription: s, from: a, to: "
                    "b}\n"
                )
                + commands,
            )
        )
    )["by_cause"]
    assert causes["not_in_target_yet"] > 0
    assert causes["subscription_missing"] == causes["not_replicated"] == causes["ack_hole"] == 0


@pytest.mark.parametrize("at, cause", [("1520ms", "sync_in_flight"), ("1650ms", "after_last_sync")])
def test_each_cause_has_a_story(at, cause):
    text = body(
        "p: {topic: t, cluster: a, start: 1ms, every: 2500us, count: 1000}",
        commands=MOVE.replace("2s", at),
        consumer="processing: 500us",
    )
    world = migrate(text)
    failover = world.counted().failovers[0]
    place = page(failover, "duplicates", cause, 0, 1)["messages"][0]["place"]
    case, steps = story_of(world.trace, failover, "duplicates", place)
    assert case.cause == cause and any(step.kind == "why" for step in steps)
    assert any(
        step.row["type"] == "acknowledgements.sent" and "syncs its acknowledgements to b" in step.words
        for step in steps
    )


# --- refusals


@pytest.mark.parametrize(
    "text, code",
    [
        (body(sync="none", commands=""), "no-sync"),
        (body(sync="once", commands="  - {at: 1ms, do: link.cut, link: a -> b}\n"), "not-reachable"),
    ],
)
def test_a_command_that_cannot_be_executed_is_refused_with_a_reason(text, code):
    world = open_world(text, until="5s", family="tenant-migration")
    world.run(100 * MS)
    before = world.digest()
    answer = world.apply(
        {"do": "subscription.sync-acknowledgements", "subscription": "s", "from": "a", "to": "b"}
    )
    assert (answer.ok, answer.code) == (False, code) and answer.hint and world.digest() == before
