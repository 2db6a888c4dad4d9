"""Tests of failovers in four modes.

Which clients die, which finish, when the consumers are back, and the duplicates.

The common run: messages at 50, 150, 250 … ms in a, acknowledged at once; snapshots each second. The one of
5.0 s covers messages 0-49 (those that b held when it answered at 5.04 s) and moves b's cursor at 5.12 s. So a
move between then and 6.12 s makes every acknowledged message from 50 on a duplicate, which is the price of
the period.
"""

import pytest

from simulator import World
from tests.simulator.engine_runs import MS, SECOND, at_ms, do, numbers, open_world, rows, subscription


def body(
    consumer="{acknowledgmentGroupTime: 0s}",
    producer="start: 50ms, every: 100ms",
    subscription_more="",
    more="",
):
    return (
        "clusters: {a: {}, b: {}}\nlinks: {default: {latency: 40ms}}\noptions: {forcedControllerStart: "
        "false}\ntopics: {t: {clusters: [a, b]}}\n"
        f"producers: {{p: {{topic: t, cluster: a, {producer}}}}}\n"
        f"subscriptions: {{s: {{topic: t, type: Shared, replicateSubscriptionState: true, "
        f"initialPosition: Earliest{subscription_more}}}}}\n"
        f"consumers:\n  c1: {consumer.replace('{', '{subscription: s, cluster: a, ', 1)}\n{more}"
    )


def fail_over(world, mode, at_us, from_="a", to="b", crash=False, **more):
    """Give the command at an instant, after the crash of the region if requested."""
    world.run(at_us)
    if crash:
        do(world, "cluster.crash", cluster=from_)
    result = world.apply(
        {"do": "subscription.fail-over", "subscription": "s", "from": from_, "to": to, "mode": mode, **more}
    )
    assert result.ok, result


def counted(world, number=0):
    return world.summary()["failovers"][number]


def delivered_at(world, cluster):
    return rows(world, "message.delivered", cluster=cluster)


# --- crash


def test_crash_duplicates_acks_since_the_newest_snapshot():
    # At 5.6 s messages 0-55 are acknowledged at a, and all are in b (the last left at 5.55 s): 50-55 are
    # duplicates.
    world = open_world(body(), until="10s")
    fail_over(world, "crash", 5600 * MS, crash=True)
    world.run()
    found = counted(world)
    assert (found["duplicates"], found["redeliveries"], found["lost"], found["stranded"]) == (6, 0, 0, 0)
    assert found["by_cause"]["after_newest_snapshot"] == 6
    assert numbers(delivered_at(world, "b")) == list(range(50, 56))
    assert (found["outage_us"], found["first_delivery_us"], found["caught_up_us"]) == (
        0,
        5600 * MS,
        5600 * MS,
    )
    assert found["forecast"]["duplicates"] == 6


def test_messages_in_flight_at_the_crash_are_not_replicated():
    # At 5.57 s message 55 (5.55 s) is in flight: acknowledged at a, not in b.
    world = open_world(body(), until="10s")
    fail_over(world, "crash", 5570 * MS, crash=True)
    world.run()
    found = counted(world)
    assert (
        found["duplicates"],
        found["stranded"],
        found["stranded_unprocessed"],
        found["stranded_returned"],
    ) == (5, 1, 0, 0)


def test_crash_kills_the_clients_with_their_unsent_acks_and_unacked_messages():
    # Ack grouping of 100 ms on the grid from 0: acks of 5.55 s wait until 5.6 s. At 5.59 s message 55 was
    # acknowledged by the application, and no broker has received the ack. Mode crash kills clients also where
    # the cluster lives.
    world = open_world(body("{hold: {messages: [p/40]}}"), until="10s")
    fail_over(world, "crash", 5590 * MS)
    world.run()
    assert rows(world, "message.registered", sequence_id=55, cluster="a") == []
    assert [row["reason"] for row in rows(world, "client.changed", client="c1")] == ["killed"]
    found = counted(world)
    # p/40 (4.05 s) is held and is before the response of the snapshot of 4.0 s (4.08 s). So b stays with the
    # snapshot of 3.0 s, that is with messages 0-29: 30-39 and 41-55 are duplicates, 40 is delivered for the
    # second time without ack
    assert (found["duplicates"], found["redeliveries"]) == (25, 1)
    causes = {name: count for name, count in found["by_cause"].items() if count}
    assert causes == {"ack_not_registered": 1, "ack_hole": 14, "after_newest_snapshot": 10}


def test_the_new_consumer_starts_at_once():
    world = open_world(body(), until="10s")
    fail_over(world, "crash", 5600 * MS, crash=True)
    assert rows(world, "consumer.connected", cluster="b")[0]["at_us"] == 5600 * MS
    assert rows(world, "failover.finished")[0]["at_us"] == 5600 * MS
    assert "c1" in subscription(world, "b")["consumers"]


# --- planned


def test_planned_finishes_messages_being_processed():
    # Message 55 is processed from 5.55 to 5.58 s; the command is given at 5.56 s. The client acknowledges,
    # closes and is in b at 5.58 s; nothing is redelivered without having been acknowledged.
    world = open_world(body("{processing: 30ms}"), until="10s")
    fail_over(world, "planned", 5560 * MS)
    world.run()
    assert rows(world, "message.registered", sequence_id=55)[0]["at_us"] == 5580 * MS
    assert at_ms(rows(world, "client.changed", client="c1", reason="closed")) == [5580]
    assert (
        at_ms(rows(world, "consumer.connected", cluster="b"))
        == [5580]
        == at_ms(rows(world, "failover.finished"))
    )
    found = counted(world)
    assert (found["duplicates"], found["redeliveries"], found["lost"]) == (6, 0, 0)
    assert (
        found["at_us"] == 5560 * MS and rows(world, "message.delivered", cluster="a")[-1]["sequence_id"] == 55
    )


def test_planned_returns_queued_messages():
    # With 1 s of processing the queue is long; the client finishes the one being processed and leaves the
    # rest.
    world = open_world(body("{processing: 1s}"), until="30s")
    fail_over(world, "planned", 5560 * MS)
    world.run(8 * SECOND)
    in_a = numbers(delivered_at(world, "a"))
    assert in_a == list(range(6)) and rows(world, "message.acknowledged", cluster="a")[-1]["sequence_id"] == 5
    assert counted(world)["redeliveries"] == 0


def test_planned_waits_for_held_messages():
    world = open_world(body("{acknowledgmentGroupTime: 0s, hold: {messages: [p/40], for: 3s}}"), until="12s")
    fail_over(world, "planned", 5 * SECOND)
    world.run()
    # delivered at 4.05 s, held for 3 s
    assert at_ms(rows(world, "failover.finished")) == [7050]
    assert at_ms(rows(world, "failover.started")) == [5000]


@pytest.mark.parametrize("how", ["client.kill", "cluster.crash"])
def test_planned_continues_when_a_client_dies_while_it_finishes(how):
    # A dead client has nothing left to finish: the new consumer starts at the target.
    world = open_world(body("{processing: 10s}"), until="30s")
    fail_over(world, "planned", 5 * SECOND)
    world.run(6 * SECOND)
    assert rows(world, "failover.finished") == []
    do(world, how, **({"client": "c1"} if how == "client.kill" else {"cluster": "a"}))
    world.run(8 * SECOND)
    assert at_ms(rows(world, "failover.finished")) == [6000] and "c1" in subscription(world, "b")["consumers"]


def test_planned_takes_no_unsent_ack_of_the_old_cluster_to_the_new_one():
    # The two logs are different: b wrote first. The unload at 950 ms happens while the consumer has acks that
    # it has not sent; it moves before it has reconnected.
    text = body("{acknowledgmentGroupTime: 10s}", more="").replace(
        "producers: {p:", "producers: {q: {topic: t, cluster: b, start: 10ms, every: 30ms, count: 20}, p:"
    )
    world = open_world(text)
    world.run(950 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    fail_over(world, "planned", 955 * MS)
    world.run(5 * SECOND)
    waiting = {
        (row["producer"], row["sequence_id"]) for row in rows(world, "message.acknowledged", cluster="a")
    }
    again = {(row["producer"], row["sequence_id"]) for row in delivered_at(world, "b")}
    assert waiting and waiting <= again, "acks that never reached a broker are gone with the client"
    assert world.summary()["violations"] == []


def test_planned_is_refused_while_the_source_is_down():
    world = open_world(body(), until="10s")
    do(world, "cluster.crash", cluster="a")
    assert (
        world.apply(
            {"do": "subscription.fail-over", "subscription": "s", "from": "a", "to": "b", "mode": "planned"}
        ).code
        == "source-down"
    )


# --- drained


def test_drained_waits_until_the_target_has_caught_up():
    # Producers stop at 5.6 s. The snapshot of 6.0 s covers everything, b is moved at 6.12 s, and the poll of
    # 6.2 s detects it.
    world = open_world(body(), until="10s")
    fail_over(world, "drained", 5600 * MS, **{"stop-producers": True})
    world.run()
    found = counted(world)
    assert (found["duplicates"], found["redeliveries"], found["lost"]) == (0, 0, 0)
    assert at_ms(rows(world, "failover.finished")) == [6200]
    # the producer is started again in a when the consumers have moved
    assert [row["reason"] for row in rows(world, "client.changed", client="p")] == ["stopped", "running"]
    assert len(delivered_at(world, "b")) > 30


def test_drained_gives_up_at_its_limit():
    world = open_world(body(), until="10s")
    fail_over(world, "drained", 5600 * MS, limit="300ms", **{"stop-producers": True})
    world.run()
    assert at_ms(rows(world, "failover.finished")) == [5900] and counted(world)["duplicates"] == 6


def test_drained_moves_at_once_when_nothing_is_open():
    world = open_world(body(producer="start: 50ms, every: 100ms, count: 10"), until="10s")
    fail_over(world, "drained", 5600 * MS)
    assert at_ms(rows(world, "failover.finished")) == [5600]
    assert counted(world)["duplicates"] == 0


# --- auto (PIP-121)

SECONDS = {"probeInterval": "1s", "failoverDelay": "3s", "switchBackDelay": "5s"}


def test_auto_detects_by_probes_and_switches_back():
    # Given at 0.5 s: probes at 1.5, 2.5 … Crash at 5.7 s: the first probe that fails is 6.5 s, three seconds
    # of failure are over at 9.5 s. Back at 20.2 s: healthy from 20.5 s on, switched back at 25.5 s.
    world = open_world(body(), until="40s")
    fail_over(world, "auto", 500 * MS, **SECONDS)
    world.run(5700 * MS)
    assert rows(world, "failover.started") == []
    do(world, "cluster.crash", cluster="a", fault="process")
    world.run(20_200 * MS)
    assert at_ms(rows(world, "failover.started")) == [9500]
    do(world, "cluster.restart", cluster="a")
    world.run()
    assert [
        (row["at_us"], row["cluster"], row["peer"], row["reason"]) for row in rows(world, "failover.started")
    ] == [(9500 * MS, "a", "b", "auto"), (25_500 * MS, "b", "a", "auto")]
    assert counted(world)["outage_us"] == 3800 * MS, (
        "detection is part of the outage, which begins with the crash"
    )
    assert counted(world, 1)["from"] == "b" and "c1" in subscription(world, "a")["consumers"]


def test_auto_has_default_delays_and_does_not_switch_back_by_default():
    # probeInterval 30 s, failoverDelay 30 s: crash at 40 s, first failed probe 60 s, moved at 90 s.
    world = open_world(body(producer="start: 50ms, every: 10s"), until="5m")
    fail_over(world, "auto", 0, switchBack=False)
    world.run(40 * SECOND)
    do(world, "cluster.crash", cluster="a", fault="process")
    world.run(100 * SECOND)
    do(world, "cluster.restart", cluster="a")
    world.run()
    assert at_ms(rows(world, "failover.started")) == [90_000]


def test_auto_forgets_a_failure_that_ends_before_the_delay():
    world = open_world(body(), until="20s")
    fail_over(world, "auto", 500 * MS, **SECONDS)
    world.run(5700 * MS)
    do(world, "cluster.crash", cluster="a", fault="process")
    world.run(8700 * MS)  # probes at 6.5, 7.5, 8.5 s failed
    do(world, "cluster.restart", cluster="a")
    world.run()
    assert rows(world, "failover.started") == []


def test_auto_does_not_move_to_a_dead_region():
    world = open_world(body(), until="30s")
    fail_over(world, "auto", 500 * MS, **SECONDS)
    world.run(5700 * MS)
    do(world, "cluster.crash", cluster="b", fault="process")
    do(world, "cluster.crash", cluster="a", fault="process")
    world.run(15 * SECOND)
    assert rows(world, "failover.started") == []
    do(world, "cluster.restart", cluster="b")
    world.run(16 * SECOND)
    assert at_ms(rows(world, "failover.started")) == [15_500]


# --- producers, there and back


@pytest.mark.parametrize("mode", ["crash", "planned", "drained", "auto"])
@pytest.mark.parametrize("moves", [False, True])
def test_producers_move_when_requested(mode, moves):
    world = open_world(body(), until="30s")
    more = (
        {**SECONDS, "switchBack": False} if mode == "auto" else {"limit": "1s"} if mode == "drained" else {}
    )
    fail_over(world, mode, 5600 * MS, crash=mode == "crash", producers=moves, **more)
    if mode == "auto":
        do(world, "cluster.crash", cluster="a", fault="process")
    world.run(20 * SECOND)
    finished_us = rows(world, "failover.finished")[0]["at_us"]
    homes = {
        row["cluster"]
        for row in rows(world, "message.stored")
        if "peer" not in row and row["at_us"] > finished_us
    }
    expected = {"b"} if moves else set() if mode in ("crash", "auto") else {"a"}
    assert homes == expected
    if moves:
        published = numbers(rows(world, "message.published"))
        assert published == list(range(len(published))), "sequence ids go on where they were"


@pytest.mark.parametrize("mode", ["planned", "drained"])
def test_producers_send_the_open_batch_before_an_orderly_move(mode):
    # Clients finish what they hold: a batch of ten that is half full is sent before the producer closes.
    world = open_world(body(producer="start: 50ms, every: 100ms, batch: 10, stop: 20s"), until="30s")
    fail_over(world, mode, 5600 * MS, producers=True, limit="1s")
    world.run()
    assert numbers(rows(world, "message.published")) == sorted(numbers(rows(world, "message.receipted")))


def test_a_paused_producer_moves_and_stays_paused():
    world = open_world(body(producer="every: 100ms, paused: true"), until="30s")
    fail_over(world, "planned", 1 * SECOND, producers=True)
    assert (
        world.view()["producers"]["p"]["state"] == "paused"
        and world.view()["producers"]["p"]["cluster"] == "b"
    )
    do(world, "producer.resume", producer="p")
    world.run(2 * SECOND)
    assert {row["cluster"] for row in rows(world, "message.published")} == {"b"}


def test_planned_failover_and_failback():
    # Back at 9.6 s, with forced controllers: b's own snapshots and Updates move a's cursor as a's moved b's.
    world = open_world(
        body().replace("forcedControllerStart: false", "forcedControllerStart: true"), until="20s"
    )
    fail_over(world, "planned", 5600 * MS)
    fail_over(world, "planned", 9600 * MS, from_="b", to="a")
    world.run()
    first, second = counted(world), counted(world, 1)
    assert (first["from"], first["to"], second["from"], second["to"]) == ("a", "b", "b", "a")
    assert first["duplicates"] == 6 and first["lost"] == second["lost"] == 0
    # b's snapshot of about 9.04 s covers what a held when it answered at 9.08 s: messages to 9.05 s (90); b
    # has acknowledged what reached it by 9.6 s: to 9.55 s (95). The five between are duplicates.
    assert second["duplicates"] == 5 and second["by_cause"]["after_newest_snapshot"] == 5
    everything = {row["sequence_id"] for row in rows(world, "message.delivered")}
    assert everything == set(range(max(everything) + 1))


def test_crash_failover_and_failback_after_the_restart():
    world = open_world(
        body().replace("forcedControllerStart: false", "forcedControllerStart: true"), until="30s"
    )
    fail_over(world, "crash", 5600 * MS, crash=True)
    world.run(8 * SECOND)
    do(world, "cluster.restart", cluster="a")
    fail_over(world, "planned", 15 * SECOND, from_="b", to="a")
    world.run()
    assert [counted(world, number)["lost"] for number in (0, 1)] == [0, 0]
    assert world.summary()["violations"] == []
    delivered = {row["sequence_id"] for row in rows(world, "message.delivered")}
    receipted = set(numbers(rows(world, "message.receipted")))
    assert receipted <= delivered | {max(receipted)}


def test_all_consumers_of_the_subscription_move_and_no_others():
    more = "  c2: {subscription: s, cluster: a}\n  c3: {subscription: s, cluster: b}\n"
    world = open_world(body(more=more), until="10s")
    fail_over(world, "planned", 5600 * MS)
    world.run(6 * SECOND)
    assert (
        sorted(subscription(world, "b")["consumers"]) == ["c1", "c2", "c3"]
        and subscription(world, "a")["consumers"] == {}
    )


def test_a_region_that_is_down_is_not_forecast_as_a_target():
    world = World.open("three-regions")
    world.run(4_000_000)
    assert sorted(world.forecast("billing")) == ["eu-central", "us-east"]
    assert world.apply({"do": "cluster.crash", "cluster": "eu-central"}).ok
    assert (
        sorted(world.forecast("billing")) == ["us-east"] == sorted(world.view()["forecast"]["billing"]["to"])
    )
    assert world.apply({"do": "cluster.lose", "cluster": "us-east"}).ok
    assert world.forecast("billing") == {}
    assert world.apply({"do": "cluster.restart", "cluster": "eu-central"}).ok
    assert sorted(world.forecast("billing")) == ["eu-central"]
