"""Backlog quotas: what the periodic check evicts, whom it disconnects, and what is lost by it.

Each run is counted by the engine and by the plain recount, and keeps every claim that the checks make.
`tests/spark_reports/test_counting.py` counts the same runs with Spark.
"""

from __future__ import annotations

import random

import pytest

from simulator.protocols.pulsar.storage import retention
from simulator.protocols.pulsar.verdicts.count import count_run
from simulator.scenarios.tree import ScenarioError
from tests.oracle.failovers import recount
from tests.simulator.admin_runs import tree
from tests.simulator.checked import claims_broken_in
from tests.simulator.engine_runs import MS, SECOND, do, numbers, open_world, rows, run, subscription, topic

BODY = """
settings: {{backlogQuotaCheckIntervalInSeconds: 2{settings}}}
clusters: {{a: {{}}, b: {{{b}}}}}
links: {{default: {{latency: 40ms}}}}
topics: {{t: {{clusters: [a, b], replication: [a -> b, b -> a]}}}}
namespaces: {{public/default: {{overrides: {{a: {{backlogQuotas: {quotas}}}}}}}}}
producers: {{p: {{topic: t, cluster: a, start: 50ms, every: 100ms, count: {count}, size: 1KB}}}}
subscriptions: {{s: {{topic: t, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}}}
consumers:
  c: {{subscription: s, cluster: a, acknowledgmentGroupTime: 0s{held}}}
commands:
{commands}
  - {{at: 9500ms, do: subscription.fail-over, subscription: s, from: a, to: b, mode: crash}}
"""
CUT = "  - {at: 20ms, do: link.cut, link: a -> b}\n"
HEAL = "  - {at: 9s, do: link.heal, link: a -> b}"


def text(
    policy="consumer_backlog_eviction",
    limit="20KB",
    commands=CUT + HEAL,
    quotas=None,
    held="p/6, p/17",
    **more,
):
    quotas = quotas or f"{{destination_storage: {{limit: {limit}, policy: {policy}}}}}"
    hold = f", hold: {{messages: [{held}], for: 1h}}" if held else ""
    return BODY.format(
        quotas=quotas, commands=commands, held=hold, **{"settings": "", "b": "", "count": 60, **more}
    )


LEDGERS = ", managedLedgerMaxEntriesPerLedger: 5, managedLedgerMinLedgerRolloverTimeMinutes: 0"
AGE = "{message_age: {limitTime: 2s, policy: consumer_backlog_eviction}}"
NO_CUT = "  - {at: 9s, do: client.kill, client: p}"
TEXTS = {
    "evicted": text(),
    "evicted-with-holes": text(held="p/6, p/17, p/31, p/45"),
    "evicted-at-home": text(commands=NO_CUT, limit="5KB", held="p/6, p/17, p/18, p/19, p/30, p/31"),
    "evicted-in-b": text(
        commands=NO_CUT + "\n  - {at: 30ms, do: namespace.set-backlog-quota, cluster: b, "
        "namespace: public/default, limit: 9KB, policy: consumer_backlog_eviction}",
        limit="100MB",
        held="p/6, p/17, p/18, p/40",
    ),
    "closed-ledgers": text(quotas=AGE, settings=LEDGERS),
    "by-publish-time": text(quotas=AGE, settings=LEDGERS + ", preciseTimeBasedBacklogQuotaCheck: true"),
    "refused": text(policy="producer_exception"),
    "held": text(policy="producer_request_hold", held=""),
}
"""Runs in which a backlog quota is exceeded, by name."""


@pytest.fixture(scope="module")
def worlds():
    return {name: run(body, until="16s") for name, body in TEXTS.items()}


def failover(world):
    return count_run(world.trace, world.scenario).failovers[0]


@pytest.mark.parametrize("name", list(TEXTS))
def test_engine_and_plain_recount_agree_and_no_claim_is_broken(worlds, name):
    world = worlds[name]
    assert rows(world, "topic.quota-exceeded") != []
    assert all(row["ok"] for row in world.summary()["commands"]), world.summary()["commands"]
    plain, ours = recount(world.trace, world.scenario)[0], failover(world)
    assert {name: getattr(ours, name) for name in plain} == plain
    assert claims_broken_in(world, 500) == set()


def test_a_replication_cursor_is_evicted_like_any_other_and_its_region_never_gets_the_messages(worlds):
    world = worlds["evicted"]
    evicted = numbers(rows(world, "message.not-replicated", reason="backlog-quota"))
    assert evicted == list(range(len(evicted))) and len(evicted) > 20
    assert sorted(numbers(rows(world, "message.stored", cluster="b"))) == list(range(len(evicted), 60))
    assert failover(world).lost_by_cause["evicted_by_quota"] == 2 == failover(world).lost
    assert [one.why for one in failover(world).lost_list] == ["replication-evicted"] * 2


def test_an_evicted_subscription_is_lost_here_and_where_an_update_reports_it(worlds):
    world = worlds["evicted-at-home"]
    evicted = rows(world, "message.evicted", subscription="s")
    assert evicted and {row["cluster"] for row in evicted} == {"a"}
    # the eviction itself writes no Update: the next ack does, with the mark-delete past what was evicted
    updates = {row["at_us"] for row in rows(world, "update.written")}
    assert updates and not updates & {row["at_us"] for row in evicted}
    found = failover(world)
    assert found.lost == found.lost_by_cause["evicted_by_quota"] > 0
    assert {one.why for one in found.lost_list} == {"subscription-evicted"}


def test_each_eviction_passes_exactly_the_share_of_entries_above_nine_tenths():
    # BacklogQuotaManager.computeEntriesToEvict, in the doubles of Java
    seen = 0
    for seed in range(12):
        chance = random.Random(seed)
        limit, count = chance.randrange(3_000, 60_000), chance.randrange(40, 200)
        size, every = chance.randrange(100, 3_000), chance.randrange(10, 90)
        body = text(limit=f"{limit}B", count=count, held="").replace("1KB", f"{size}B")
        body = body.replace("every: 100ms", f"every: {every}ms")
        world = open_world(body, until="16s")
        for check in range(1, 5):
            world.run(check * 2 * SECOND - 1)
            before = topic(world, "a")["replicators"]["b"]["backlog"]
            world.run(check * 2 * SECOND)
            after = topic(world, "a")["replicators"]["b"]["backlog"]
            found = [row for row in rows(world, "topic.quota-exceeded") if row["at_us"] == check * 2 * SECOND]
            if not found:
                assert after >= before
                continue
            backlog = found[0]["size_bytes"]
            assert backlog >= limit
            # entries that the instant itself added come after the check or before it
            shares = {
                int((backlog - int(0.9 * limit)) * float(entries) / backlog)
                for entries in range(before, before + 3)
            }
            assert any(entries - share == after for entries in range(before, before + 3) for share in shares)
            seen += 1
    assert seen > 12, "most of the runs exceed their quota several times"


def test_nine_tenths_and_the_share_as_in_java():
    chance = random.Random(7)
    for _ in range(2_000):
        limit, entries = chance.randrange(1, 10**11), chance.randrange(0, 10**6)
        backlog = chance.randrange(limit, 3 * limit)
        target = int(0.9 * limit)
        assert retention.evict_down_to(limit) == target
        assert retention.entries_to_evict(backlog, limit, entries) == int(
            (backlog - target) * float(entries) / backlog
        )


def test_a_check_that_finds_less_than_the_limit_does_nothing():
    world = run(text(limit="100KB"), until="16s")
    assert rows(world, "topic.quota-exceeded") == [] == rows(world, "message.evicted")


def test_closed_ledgers_are_evicted_by_their_age_and_the_open_one_never_is(worlds):
    world = worlds["closed-ledgers"]
    first = rows(world, "topic.quota-exceeded")[0]
    # ledgers of five close at 450, 950, 1450 ms …; at 4 s those of 450 to 1950 ms are older than 2 s
    assert (first["at_us"], first["reason"]) == (4 * SECOND, "message_age")
    evicted = [row for row in rows(world, "message.not-replicated") if row["at_us"] == 4 * SECOND]
    assert numbers(evicted) == list(range(len(evicted)))
    assert rows(world, "ledger.trimmed", cluster="a") != []


def test_without_a_backlog_of_a_subscription_no_message_is_too_old():
    # PersistentTopic.updateOldPositionInfo asks subscriptions only: a replication cursor alone never counts
    body = text(quotas=AGE, settings=LEDGERS, held="", commands=CUT + HEAL)
    world = run(body, until="8s")
    assert rows(world, "topic.quota-exceeded") == []


def test_the_precise_check_expires_subscriptions_and_no_replication_cursor(worlds):
    world = worlds["by-publish-time"]
    assert numbers(rows(world, "message.evicted", subscription="s", cluster="a")) == [6, 17]
    assert rows(world, "message.not-replicated") == []
    assert rows(world, "message.evicted")[0]["at_us"] == 4 * SECOND


def test_refused_producers_fail_and_held_ones_wait(worlds):
    refused, held = worlds["refused"], worlds["held"]
    assert rows(refused, "producer.blocked", client="p", reason="producer_exception")
    failed = rows(refused, "message.send-failed", reason="backlog-quota")
    assert failed and failed[0]["at_us"] > rows(refused, "producer.blocked")[0]["at_us"]
    assert rows(held, "message.send-failed") == []
    assert rows(held, "producer.unblocked", client="p")
    assert sorted(set(numbers(rows(held, "message.stored", cluster="a")))) == list(range(60))


def test_a_quota_of_the_target_stops_replication_until_its_backlog_is_less():
    # apache/pulsar#199: producer_exception in b closes the replicator's producer, too
    body = (
        text(quotas="{}", commands=NO_CUT, held="")
        .replace("  c:", "  d:")
        .replace("cluster: a, ack", "cluster: b, ack")
    )
    quota = "{destination_storage: {limit: 10KB, policy: producer_exception}}"
    body = body.replace("a: {backlogQuotas: {}}", f"b: {{backlogQuotas: {quota}}}")
    world = open_world(body.replace("  - {at: 9500ms", "  # "), until="30s")
    do(world, "client.kill", client="d")
    world.run(8 * SECOND)
    assert (
        rows(world, "replicator.disconnected", cluster="a", peer="b")[0]["reason"] == "remote-backlog-quota"
    )
    stored = len(rows(world, "message.stored", cluster="b"))
    assert stored < 30 and topic(world, "a")["replicators"]["b"]["state"] != "started"
    do(world, "consumer.start", consumer="d")
    world.run(30 * SECOND)
    assert sorted(set(numbers(rows(world, "message.stored", cluster="b")))) == list(range(60))


@pytest.mark.parametrize(
    "quotas, words",
    [
        ("{destination_storage: {policy: producer_exception}}", "needs a size limit"),
        ("{message_age: {limit: 1KB, policy: producer_exception}}", "needs a time limit"),
        ("{message_age: {limitTime: 1500ms, policy: producer_exception}}", "whole seconds"),
        ("{disk: {limit: 1KB, policy: producer_exception}}", "no quota type"),
        ("{destination_storage: {limit: 1KB}}", "is missing"),
    ],
)
def test_a_wrong_quota_is_a_problem_of_the_file(quotas, words):
    with pytest.raises(ScenarioError, match=words):
        open_world(text(quotas=quotas))


def test_a_topic_s_quota_precedes_the_namespace_s_and_that_the_broker_s():
    world = open_world(
        text(quotas="{}").replace(
            "topics: {t: {", "topics: {t: {settings: {backlogQuotaDefaultLimitBytes: 5},"
        )
    )
    world.run(3 * SECOND)
    stats = tree(world)
    assert (stats["backlogQuotaLimitSize"], stats["backlogQuotaLimitTime"]) == (5, -1)


def test_a_removed_quota_is_not_checked_any_more():
    world = open_world(text(), until="16s")
    world.run(1 * SECOND)
    do(world, "namespace.remove-backlog-quota", cluster="a", namespace="public/default")
    world.run(8 * SECOND)
    assert rows(world, "topic.quota-exceeded") == []
    do(
        world,
        "namespace.set-backlog-quota",
        cluster="a",
        namespace="public/default",
        limit="20KB",
        policy="consumer_backlog_eviction",
    )
    world.run(16 * SECOND)
    # the next instant of the broker's timer, which runs every two seconds since the start
    assert rows(world, "topic.quota-exceeded")[0]["at_us"] == 10 * SECOND
    assert rows(world, "policy.changed", reason="backlogQuotas")[-1]["detail"] == (
        "public/default: destination_storage limit 20KB, policy consumer_backlog_eviction"
    )
    assert subscription(world, "a")["backlog"] >= 0 and MS


def test_a_backlog_of_exactly_the_limit_exceeds_it(worlds):
    # PersistentTopic.isSizeBacklogExceeded: 20 messages of 1,000 bytes at 2 s, and no markers over a cut link
    first = rows(worlds["evicted"], "topic.quota-exceeded")[0]
    assert (first["at_us"], first["size_bytes"]) == (2 * SECOND, 20_000)


def test_a_cursor_that_was_just_moved_is_not_moved_again_in_the_same_check():
    # its acknowledged entries count for the size, not for the share, so one step is not enough
    held = ", ".join(f"p/{number}" for number in range(10))
    quota = (
        "  - {at: 7s, do: namespace.set-backlog-quota, cluster: a, namespace: public/default, limit: 20KB, "
    )
    quota += "policy: consumer_backlog_eviction}"
    world = run(text(limit="100MB", held=held, commands=quota), until="9s")
    size_bytes = rows(world, "topic.quota-exceeded")[0]["size_bytes"]
    share = (size_bytes - 18_000) * 10 // size_bytes
    assert numbers(rows(world, "message.evicted")) == list(range(share)) and 0 < share < 10


def test_closed_ledgers_are_kept_while_the_next_one_is_empty():
    # ManagedCursorImpl.asyncMarkDelete rejects a position after the last confirmed entry
    unload = "  - {at: 7s, do: topic.unload, cluster: a, topic: t}\n"
    send = "  - {at: 12s, do: producer.publish, producer: p, count: 1}"
    body = text(quotas=AGE, commands=unload + send).replace(
        "replicateSubscriptionState: true", "type: Shared"
    )
    world = open_world(body.replace("type: Shared, type: Shared", "type: Shared"), until="16s")
    world.run(12 * SECOND - 1)
    assert rows(world, "topic.quota-exceeded", reason="message_age") != []
    assert rows(world, "message.evicted") == []
    world.run(16 * SECOND)
    assert numbers(rows(world, "message.evicted", cluster="a"))[:2] == [6, 17]


def test_statistics_and_metrics_have_the_quota_and_the_evictions(worlds):
    world = worlds["evicted"]
    stats, printed = tree(world), world.admin("metrics", "a")["text"]
    assert (stats["backlogQuotaLimitSize"], stats["backlogQuotaLimitTime"]) == (20_000, -1)
    evictions = len(rows(world, "topic.quota-exceeded", cluster="a"))
    labels = 'cluster="a",namespace="public/default",topic="persistent://public/default/t"'
    assert f"pulsar_storage_backlog_quota_limit{{{labels}}} 20000\n" in printed
    name = "pulsar_storage_backlog_quota_exceeded_evictions_total"
    assert f'{name}{{{labels},quota_type="size"}} {evictions}\n' in printed
    assert f'{name}{{{labels},quota_type="time"}} 0\n' in printed
