"""Commands by which an operator moves cursors: expire-messages, and replication cursors (#15466).

Each run is counted by the engine and by the plain recount, and keeps every claim that the checks make.
`tests/spark_reports/test_counting.py` counts the same runs with Spark.
"""

from __future__ import annotations

import pytest

from simulator.protocols.pulsar.verdicts.count import count_run
from tests.oracle.failovers import recount
from tests.simulator.checked import claims_broken_in
from tests.simulator.engine_runs import MS, SECOND, do, numbers, open_world, rows, subscription, topic

TWO = """
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {t: {clusters: [a, b]}}
producers: {p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 60}}
subscriptions: {s: {topic: t, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers:
  c: {subscription: s, cluster: a, acknowledgmentGroupTime: 0s, hold: {messages: [p/16, p/17, p/31, p/45], for: 1h}}
commands:
  - {at: 20ms, do: link.cut, link: a -> b}
"""
_MOVE = "  - {at: 7s, do: subscription.fail-over, subscription: s, from: a, to: b, mode: crash}\n"
_HEAL = "  - {at: 4s, do: link.heal, link: a -> b}\n"
_CURSOR = "cluster: a, topic: t, to: b"
TEXTS = {
    "skipped": TWO + f"  - {{at: 3s, do: replication.skip, {_CURSOR}, count: 20}}\n" + _HEAL + _MOVE,
    "cleared": TWO + f"  - {{at: 3s, do: replication.clear, {_CURSOR}}}\n" + _HEAL + _MOVE,
    "expired": TWO
    + f"  - {{at: 3s, do: replication.expire-messages, {_CURSOR}, expireTime: 1s}}\n"
    + _HEAL
    + _MOVE,
    "cleared-in-flight": TWO.replace(
        "20ms, do: link.cut, link: a -> b", "1010ms, do: link.slow, link: a -> b, latency: 3s"
    )
    + f"  - {{at: 3s, do: replication.clear, {_CURSOR}}}\n  - {{at: 3500ms, do: link.cut, link: a -> b}}\n"
    + _HEAL
    + _MOVE,
    "expired-at-home": TWO.replace(
        "{at: 20ms, do: link.cut, link: a -> b}", "{at: 20ms, do: link.heal, link: a -> b}"
    ).replace("commands:\n  - {at: 20ms, do: link.heal, link: a -> b}\n", "commands:\n")
    + "  - {at: 3s, do: subscription.expire-messages, subscription: s, cluster: a, position: '192:22'}\n"
    + "  - {at: 7s, do: subscription.fail-over, subscription: s, from: a, to: b, mode: crash}\n"
    + "  - {at: 7010ms, do: subscription.expire-messages, subscription: s, cluster: b, expireTime: 3s}\n",
    "update-past-skipped": TWO.replace("p/17, p/31, p/45", "p/17")
    + f"  - {{at: 3s, do: replication.skip, {_CURSOR}, count: 20}}\n"
    + "  - {at: 3100ms, do: link.heal, link: a -> b}\n"
    + _MOVE.replace("7s", "4500ms"),
}
"""Runs in which an operator moves a cursor, by name."""
TEXTS["expired-with-ttl"] = "settings: {ttlDurationDefaultInSeconds: 3600}\n" + TEXTS["expired-at-home"]


@pytest.fixture(scope="module")
def worlds():
    made = {name: open_world(text, until="12s") for name, text in TEXTS.items()}
    for world in made.values():
        world.run()
    return made


def failover(world):
    return count_run(world.trace, world.scenario).failovers[0]


@pytest.mark.parametrize("name", list(TEXTS))
def test_engine_and_plain_recount_agree_and_no_claim_is_broken(worlds, name):
    world = worlds[name]
    assert all(row["ok"] for row in world.summary()["commands"]), world.summary()["commands"]
    plain, ours = recount(world.trace, world.scenario)[0], failover(world)
    assert {name: getattr(ours, name) for name in plain} == plain
    assert claims_broken_in(world, 500) == set()


def test_skipped_entries_never_arrive_and_are_lost_where_nobody_acked_them(worlds):
    world = worlds["skipped"]
    skipped = numbers(rows(world, "message.not-replicated", reason="skipped"))
    assert skipped == list(range(20))
    assert sorted(numbers(rows(world, "message.stored", cluster="b"))) == list(range(20, 60))
    assert failover(world).lost_by_cause["never_replicated"] == 2 == failover(world).lost
    assert [(one.sequence_id, one.why) for one in failover(world).lost_list] == [
        (16, "passed-over"),
        (17, "passed-over"),
    ]


def test_a_cleared_backlog_is_never_replicated_and_later_messages_are(worlds):
    world = worlds["cleared"]
    assert numbers(rows(world, "message.not-replicated", reason="cleared")) == list(range(30))
    assert sorted(numbers(rows(world, "message.stored", cluster="b"))) == list(range(30, 60))
    assert failover(world).lost_by_cause["never_replicated"] == 2
    assert failover(world).stranded == 30


def test_only_entries_older_than_the_expire_time_are_passed(worlds):
    world = worlds["expired"]
    assert numbers(rows(world, "message.not-replicated", reason="expire-messages")) == list(range(20))
    assert sorted(numbers(rows(world, "message.stored", cluster="b"))) == list(range(20, 60))
    assert failover(world).lost_by_cause["never_replicated"] == 2


def test_what_is_in_flight_when_the_backlog_is_cleared_is_not_sent_again(worlds):
    world = worlds["cleared-in-flight"]
    stored = numbers(rows(world, "message.stored", cluster="b"))
    # p/0 to p/9 had arrived; the others were on the slow link and are lost with the connection
    assert stored == [*range(10), *range(30, 60)]
    assert failover(world).lost_by_cause["never_replicated"] == 2


def test_expired_messages_of_a_subscription_count_as_expired_not_as_lost(worlds):
    world = worlds["expired-at-home"]
    assert numbers(rows(world, "message.expired", cluster="a")) == [16]
    assert subscription(world, "a")["mark_delete"] == "192:22"
    # no Update told b of p/16, which c held there, too
    assert numbers(rows(world, "message.expired", cluster="b")) == [16, 17, 31]
    assert failover(world).lost == 0 and failover(world).expired == 3


def test_an_update_of_the_target_passes_what_the_replicator_skipped(worlds):
    # b never stored p/16 and p/17, so its Updates cover them: they are lost in a, too
    world = worlds["update-past-skipped"]
    assert subscription(world, "b")["backlog"] == 0
    assert rows(world, "update.applied", cluster="a")
    behind = subscription(world, "a")["mark_delete_index"]
    assert behind >= max(topic_index(world, number) for number in (16, 17))


def topic_index(world, number):
    """The index of a message in a's log, which has one ledger."""
    return next(row["entry"] for row in rows(world, "message.stored", cluster="a", sequence_id=number))


def test_the_backlog_and_the_written_cursor_follow_a_cleared_replication_cursor():
    world = open_world(TWO, until="20s")
    world.run(3 * SECOND)
    assert topic(world, "a")["replicators"]["b"]["backlog"] == 30
    do(world, "replication.clear", cluster="a", topic="t", to="b")
    assert topic(world, "a")["replicators"]["b"]["backlog"] == 0
    do(world, "cluster.crash", cluster="a", clients=False)
    world.run(4 * SECOND)
    do(world, "cluster.restart", cluster="a")
    do(world, "link.heal", link="a -> b")
    world.run(15 * SECOND)
    assert min(numbers(rows(world, "message.stored", cluster="b"))) == 30, "the cursor was written at once"


def test_ledgers_that_only_the_replication_cursor_needed_are_deleted():
    settings = (
        "settings: {managedLedgerMaxEntriesPerLedger: 5, managedLedgerMinLedgerRolloverTimeMinutes: 0}\n"
    )
    world = open_world(
        settings
        + TWO.replace("hold: {messages: [p/16, p/17, p/31, p/45], for: 1h}", "name: c").replace(
            ", name: c", ""
        ),
        until="20s",
    )
    world.run(3 * SECOND)
    before = len(rows(world, "ledger.trimmed", cluster="a"))
    do(world, "replication.clear", cluster="a", topic="t", to="b")
    assert before == 0 < len(rows(world, "ledger.trimmed", cluster="a"))


@pytest.mark.parametrize(
    "command, code, error",
    [
        (
            {"do": "subscription.expire-messages", "subscription": "s", "cluster": "b", "expireTime": "1s"},
            "404",
            "Subscription s not found for topic persistent://public/default/t",
        ),
        (
            {"do": "subscription.expire-messages", "subscription": "s", "cluster": "a", "expireTime": "1h"},
            "409",
            "Expire message by timestamp not issued on topic persistent://public/default/t for subscription s "
            "due to ongoing message expiration not finished or subscription almost catch  up. If it's performed "
            "on a partitioned topic operation might succeeded on other partitions, please check stats of "
            "individual partition.",
        ),
        (
            {"do": "subscription.expire-messages", "subscription": "s", "cluster": "a", "position": "999:0"},
            "409",
            "Expire message by position not issued on topic persistent://public/default/t for subscription s "
            "due to ongoing message expiration not finished or invalid message position provided.",
        ),
        (
            {"do": "replication.skip", "cluster": "b", "topic": "t", "to": "b", "count": 1},
            "404",
            "Replicator not found",
        ),
        (
            {"do": "replication.clear", "cluster": "b", "topic": "t", "to": "b"},
            "404",
            "Subscription pulsar.repl.b not found for topic persistent://public/default/t",
        ),
        (
            {
                "do": "replication.expire-messages",
                "cluster": "a",
                "topic": "t",
                "to": "b",
                "position": "196:1",
            },
            "404",
            "Subscription pulsar.repl.b not found for topic persistent://public/default/t",
        ),
        (
            {"do": "replication.reset", "cluster": "a", "topic": "t", "to": "b", "time": "0s"},
            "404",
            "Subscription pulsar.repl.b not found for topic persistent://public/default/t",
        ),
    ],
)
def test_refusals_have_the_broker_s_code_and_text(command, code, error):
    world = open_world(TWO, until="20s")
    world.run(3 * SECOND)
    digest = world.digest()
    result = world.apply(command)
    assert (result.ok, result.code, result.error) == (False, code, error) and result.hint
    assert world.digest() == digest


def test_a_backlog_of_a_thousand_entries_is_expired_though_its_oldest_is_young():
    # MINIMUM_BACKLOG_FOR_EXPIRY_CHECK: below it the oldest entry must be 1.5 times as old
    many = TWO.replace("every: 100ms, count: 60", "every: 1ms, count: 2000")
    world = open_world(many, until="20s")
    world.run(1_400 * MS)
    command = {
        "do": "replication.expire-messages",
        "cluster": "a",
        "topic": "t",
        "to": "b",
        "expireTime": "1s",
    }
    assert world.apply(command).ok
    assert numbers(rows(world, "message.not-replicated"))[-1] == 349, "published before 400 ms"


AUTO = """
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {t: {clusters: [a, b]}}
producers: {p: {topic: t, cluster: a, start: 50ms, every: 100ms, sendTimeout: 3s}}
subscriptions: {s: {topic: t, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers: {c: {subscription: s, cluster: a}}
"""


def moved_automatically(proxy, until_s=40):
    """The run with a's brokers down from 5 s to 30 s, and clients that probe each second."""
    world = open_world(AUTO, until="1m")
    do(
        world,
        "subscription.fail-over",
        subscription="s",
        from_="a",
        to="b",
        mode="auto",
        probeInterval="1s",
        failoverDelay="3s",
        switchBackDelay="3s",
        switchBack=False,
    )
    world.run(5 * SECOND)
    do(
        world,
        "cluster.crash",
        cluster="a",
        clients=False,
        fault="process",
        **({"proxy": True} if proxy else {}),
    )
    world.run(30 * SECOND)
    do(world, "cluster.restart", cluster="a")
    world.run(until_s * SECOND)
    return world


def test_a_proxy_that_stays_up_hides_dead_brokers_from_probes():
    assert rows(moved_automatically(proxy=False), "failover.started")
    world = moved_automatically(proxy=True)
    assert rows(world, "failover.started") == []
    assert [row["cluster"] for row in rows(world, "message.delivered") if row["at_us"] > 5 * SECOND][0] == "a"
    failed = rows(world, "message.send-failed", reason="timeout")
    assert failed[0]["at_us"] >= 8 * SECOND, "sends wait for the send timeout"
    assert not [row for row in rows(world, "message.stored") if 5 * SECOND < row["at_us"] < 30 * SECOND]


def test_after_a_restart_probes_test_the_brokers_again():
    world = moved_automatically(proxy=True)
    do(world, "cluster.crash", cluster="a", clients=False, fault="process")
    world.run(50 * SECOND)
    assert [row["peer"] for row in rows(world, "failover.started")] == ["b"]


def test_a_proxy_without_brokers_attracts_a_move():
    world = open_world(AUTO, until="1m")
    do(
        world,
        "subscription.fail-over",
        subscription="s",
        from_="a",
        to="b",
        mode="auto",
        probeInterval="1s",
        failoverDelay="3s",
    )
    do(world, "cluster.crash", cluster="b", proxy=True)
    world.run(5 * SECOND)
    do(world, "cluster.crash", cluster="a", fault="process")
    world.run(20 * SECOND)
    assert [row["peer"] for row in rows(world, "failover.started")] == ["b"]
    assert not [row for row in rows(world, "message.delivered") if row["at_us"] > 5 * SECOND]
