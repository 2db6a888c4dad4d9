"""Time inside a cluster: phase and drift of ack groups, times of deliveries and subscribes, `timing`."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import World, load_scenario_text
from simulator.protocols.pulsar.checks.administration import Administration
from simulator.protocols.pulsar.checks.knowledge import SettingsInForce
from simulator.protocols.pulsar.client.ack_group import AckGroup
from simulator.scenarios.settings import SETTINGS
from simulator.scenarios.tree import ScenarioError
from tests.examples import examples
from tests.simulator.admin_runs import note
from tests.simulator.checked import violations_of
from tests.simulator.engine_runs import MS, SECOND, do, numbers, open_world, rows, run, subscription
from tests.simulator.random_scenarios import random_scenario
from tests.simulator.test_random_traffic import PLAIN, UNTIL_US, everything, scenarios, states

ROOT = Path(__file__).resolve().parents[2]
GROUP_US, DRIFT_US = 100 * MS, 500
SHORTEST_US, LONGEST_US = 2 * MS, 12 * MS
MEASURED = "options: {timing: measured}"


def body(options="", producer="every: 3ms", subscription="", consumer="", more="") -> str:
    """A producer and a consumer in cluster a, with options in flow style."""
    return (
        f"options: {{{options}}}\n"
        "clusters: {a: {}, b: {}}\n"
        "topics: {t: {clusters: [a, b]}}\n"
        f"producers: {{p: {{topic: t, cluster: a, {producer}}}}}\n"
        f"subscriptions: {{s: {{topic: t, initialPosition: Earliest{subscription}}}}}\n"
        f"consumers: {{c: {{subscription: s, cluster: a{consumer}}}{more}}}\n"
    )


def flushes_us(world: World) -> list[int]:
    """The instants at which ack groups reached the broker."""
    return sorted({row["at_us"] for row in rows(world, "message.registered")})


def connected_us(world: World) -> list[int]:
    return [row["at_us"] for row in rows(world, "consumer.connected")]


def deliveries_us(world: World, **wanted) -> dict[int, int]:
    """By sequence id, from the append of a message until the application had it."""
    stored_us = {row["sequence_id"]: row["at_us"] for row in rows(world, "message.stored", cluster="a")}
    return {
        row["sequence_id"]: row["at_us"] - stored_us[row["sequence_id"]]
        for row in rows(world, "message.delivered", **wanted)
    }


# --- the timer of ack groups


def test_a_drawn_timer_starts_before_the_subscribe():
    """PersistentAcknowledgmentsGroupingTracker: its constructor starts the timer, and subscribes later."""
    world = run(body("ackGroupPhase: drawn", consumer=", start: 50ms"), until="3s")
    found = flushes_us(world)
    assert 0 < found[0] - 50 * MS < GROUP_US, "the first flush is less than a period after the connect"
    assert {later - earlier for earlier, later in pairwise(found)} == {GROUP_US}


def test_the_phase_is_equally_distributed_over_seeds():
    phases_us = []
    for seed in range(200):
        world = open_world(body("ackGroupPhase: drawn"), until="1s", seed=seed)
        world.run(0)
        phases_us.append(GROUP_US - world.runtime.consumers["c"].acks.ends_us(0))
    assert min(phases_us) >= 0 and max(phases_us) < GROUP_US
    quarters = [sum(1 for phase in phases_us if phase * 4 // GROUP_US == quarter) for quarter in range(4)]
    assert all(35 <= count <= 65 for count in quarters), quarters
    assert len(set(phases_us)) > 190


def test_a_drawn_timer_survives_a_reconnect_and_an_aligned_one_starts_again():
    command = "commands: [{at: 1030ms, do: topic.unload, topic: t, cluster: a}]\n"
    aligned = run(body("") + command, until="3s")
    again_us = connected_us(aligned)[-1]
    assert again_us > 1030 * MS and again_us % GROUP_US, "it reconnects between two instants of its grid"
    assert {at_us % GROUP_US for at_us in flushes_us(aligned) if at_us > again_us} == {again_us % GROUP_US}
    drawn = run(body("ackGroupPhase: drawn") + command, until="3s")
    assert len(connected_us(drawn)) == 2 and len({at_us % GROUP_US for at_us in flushes_us(drawn)}) == 1


def test_acks_that_waited_for_a_connection_are_sent_by_the_next_flush():
    """The Java client's timer flushes nothing without a connection, and goes on."""
    commands = (
        "commands: [{at: 1010ms, do: cluster.crash, cluster: a, clients: false},"
        " {at: 1900ms, do: cluster.restart, cluster: a}]\n"
    )
    text = body("ackGroupPhase: drawn", producer="every: 3ms, count: 200", consumer=", processing: 6ms")
    world = run(text + commands, until="4s")
    again_us = connected_us(world)[-1]
    found = flushes_us(world)
    after = [at_us for at_us in found if at_us >= again_us]
    assert again_us < after[0] <= again_us + GROUP_US
    assert after[0] % GROUP_US == found[0] % GROUP_US, "on the grid from before the crash"
    aligned = run(text.replace("drawn", "aligned") + commands, until="4s")
    assert connected_us(aligned)[-1] in flushes_us(aligned), "sent at once"


def test_a_client_that_starts_again_draws_another_phase():
    commands = (
        "commands: [{at: 1s, do: client.kill, client: c}, {at: 2s, do: consumer.start, consumer: c},"
        " {at: 3s, do: client.close, client: c}, {at: 4s, do: consumer.start, consumer: c}]\n"
    )
    found = flushes_us(run(body("ackGroupPhase: drawn") + commands, until="5s"))
    runs = [{at_us % GROUP_US for at_us in found if at_us // SECOND == second} for second in (0, 2, 4)]
    assert [len(one) for one in runs] == [1, 1, 1] and len({min(one) for one in runs}) == 3


@pytest.mark.parametrize("option", ["ackGroupPhase: aligned", "ackGroupPhase: drawn"])
def test_a_consumers_own_phase_holds_for_its_first_process(option):
    """Flushes at 37, 137, …; the process that starts at 2 s has the phase of the option."""
    commands = (
        "commands: [{at: 1010ms, do: topic.unload, topic: t, cluster: a},"
        " {at: 1500ms, do: client.kill, client: c}, {at: 2040ms, do: consumer.start, consumer: c}]\n"
    )
    phase = ", acknowledgmentGroupPhase: 37ms"
    world = run(body(option, consumer=phase) + commands, until="3s")
    first = [at_us for at_us in flushes_us(world) if at_us < 1500 * MS]
    assert {at_us % GROUP_US for at_us in first} == {37 * MS} and first[0] == 37 * MS
    assert connected_us(world)[1] < first[-1], "the reconnect after the unload changes nothing"
    second = {at_us % GROUP_US for at_us in flushes_us(world) if at_us > 2040 * MS}
    assert second == {40 * MS} if option.endswith("aligned") else second not in ({37 * MS}, {40 * MS})


def test_a_consumers_own_phase_may_be_later_than_its_first_acks_and_drifts():
    text = body("ackGroupDrift: 500us", consumer=", acknowledgmentGroupPhase: 730ms")
    found = flushes_us(run(text, until="2s"))
    assert 730 * MS in found and found[0] == 730 * MS - 7 * (GROUP_US + DRIFT_US)
    assert {later - earlier for earlier, later in pairwise(found)} == {GROUP_US + DRIFT_US}


def test_each_period_begins_after_the_flush_before_it():
    """scheduleWithFixedDelay: five milliseconds a second with ten flushes of half a millisecond."""
    found = flushes_us(run(body("ackGroupDrift: 500us", producer="every: 1ms"), until="5s"))
    assert found == [count * (GROUP_US + DRIFT_US) for count in range(1, len(found) + 1)]
    assert found[9] == SECOND + 5 * MS
    slow = flushes_us(run(body("ackGroupDrift: 500us", producer="every: 700ms"), until="5s"))
    assert set(slow) <= set(found), "flushes without acks are late, too"


@given(st.integers(0, 1 << 40), st.integers(1, 1 << 30), st.integers(0, 1 << 20), st.integers(0, 1 << 40))
def test_the_end_of_a_group_is_the_next_instant_of_a_timer_with_fixed_delay(begun_us, group_us, drift_us, at):
    acks = AckGroup.__new__(AckGroup)
    acks._begun_us, acks._period_us = begun_us, group_us + drift_us
    end_us = acks.ends_us(begun_us + at)
    assert 0 < end_us - begun_us - at <= group_us + drift_us
    assert (end_us - begun_us) % (group_us + drift_us) == 0


def test_without_grouping_phase_and_drift_change_nothing():
    text = body("OPTIONS", consumer=", acknowledgmentGroupTime: 0s")
    plain = run(text.replace("OPTIONS", ""), until="1s")
    drawn = run(text.replace("OPTIONS", "ackGroupPhase: drawn, ackGroupDrift: 500us"), until="1s")
    assert plain.digest() == drawn.digest()


# --- the time that a client needs for each message


def test_a_client_needs_its_time_for_each_message_beside_processing():
    for overhead, wanted_us in (("0s", 10 * MS), ("400us", 10_400)):
        text = body(f"processingOverhead: {overhead}", "every: 1ms", consumer=", processing: 10ms")
        delivered = [row["at_us"] for row in rows(run(text, until="2s"), "message.delivered")]
        assert {later - earlier for earlier, later in pairwise(delivered)} == {wanted_us}


# --- the time of a delivery

DELIVERY = "deliveryTime: {distribution: uniform, low: 2ms, high: 12ms}"
LOAD = "topicLoadTime: {distribution: uniform, low: 150ms, high: 450ms}"
SUBSCRIBE = "subscribeTime: {distribution: uniform, low: 10ms, high: 40ms}"
MEASURED_DELIVERY = "deliveryTime: {distribution: lognormal, median: 230us, sigma: 0.5}"
LATENESS = "newEntriesCheckLateness: {distribution: uniform, low: 100us, high: 500us}"
REST = f"processingOverhead: 60us, {LOAD}, {SUBSCRIBE}, {MEASURED_DELIVERY}, {LATENESS}"


def test_every_delivery_takes_its_time():
    found = deliveries_us(run(body(DELIVERY, producer="every: 11ms"), until="10s"))
    assert len(found) > 900
    assert min(found.values()) < SHORTEST_US + 100 and min(found.values()) >= SHORTEST_US
    assert max(found.values()) > LONGEST_US - 100 and max(found.values()) <= LONGEST_US
    assert abs(sum(found.values()) / len(found) - 7 * MS) < 200
    assert set(deliveries_us(run(body("deliveryTime: 7ms"), until="1s")).values()) == {7 * MS}


def test_deliveries_are_first_in_first_out():
    """Where the draw of a message ends before that of an earlier one, both arrive together."""
    world = run(body(DELIVERY, producer="every: 1ms"), until="2s")
    delivered = rows(world, "message.delivered")
    assert numbers(delivered) == list(range(len(delivered))) and len(delivered) > 1_980
    together = sum(one["at_us"] == other["at_us"] for one, other in pairwise(delivered))
    assert together > 200
    assert max(deliveries_us(world).values()) <= LONGEST_US, "the earlier one's draw is within the range"


def test_the_messages_of_an_entry_arrive_together():
    delivered = rows(run(body(DELIVERY, producer="every: 11ms, batch: 3"), until="2s"), "message.delivered")
    entries = {}
    for row in delivered:
        entries.setdefault((row["ledger"], row["entry"]), []).append((row["at_us"], row["batch_index"]))
    assert len(entries) > 50
    for arrived in entries.values():
        assert len({at_us for at_us, _ in arrived}) == 1 and [part for _, part in arrived] == [0, 1, 2]


def test_no_draw_changes_another_draw():
    """A message's delivery time is the same beside other consumers, options and subscriptions."""
    text = body(f"{DELIVERY}, ackGroupPhase: drawn", producer="every: 11ms, arrivals: poisson")
    alone = run(text, until="2s")
    reader = alone.runtime.consumers["c"]
    assert len({reader.acks._phases, reader.in_delivery._time.key, reader.processing.key}) == 3
    other = text.replace(
        "subscriptions: {s:", "subscriptions: {s2: {topic: t, initialPosition: Earliest}, s:"
    )
    other = other.replace("consumers: {c:", "consumers: {b2: {subscription: s2, cluster: a}, c:")
    beside = run(other, until="2s")
    assert deliveries_us(alone) == deliveries_us(beside, client="c")
    assert deliveries_us(alone) != deliveries_us(beside, client="b2")
    assert set(flushes_us(alone)) <= set(flushes_us(beside))
    for options in (
        "",
        DELIVERY,
        "ackGroupPhase: drawn",
        f"{DELIVERY}, ackGroupPhase: drawn, ackGroupDrift: 1ms",
    ):
        world = run(body(options, producer="every: 11ms, arrivals: poisson"), until="2s")
        published = [row["at_us"] for row in rows(world, "message.published")]
        assert published == [row["at_us"] for row in rows(alone, "message.published")]
        if DELIVERY in options:
            assert deliveries_us(world) == deliveries_us(alone)
        elif "drawn" in options:
            assert flushes_us(world)[5] in flushes_us(alone)


def test_a_crash_drops_what_is_in_delivery():
    text = body("deliveryTime: 50ms", producer="every: 5ms, count: 100", subscription=", type: Shared")
    world = open_world(text, until="3s")
    world.run(202 * MS)
    consumer = world.runtime.consumers["c"]
    assert len(consumer.in_delivery.pending) == 10
    do(world, "cluster.crash", cluster="a")
    assert not consumer.in_delivery.pending
    world.run(400 * MS)
    last_us = max(row["at_us"] for row in rows(world, "message.delivered"))
    assert last_us <= 202 * MS, "nothing arrives after the crash"
    do(world, "cluster.restart", cluster="a")
    world.run()
    assert set(numbers(rows(world, "message.delivered"))) == set(
        numbers(rows(world, "message.stored", cluster="a"))
    )
    assert world.violations == []


@pytest.mark.parametrize("type_", ["Exclusive", "Shared", "Failover", "Key_Shared"])
@pytest.mark.parametrize(
    "command",
    [
        "topic.unload, topic: t, cluster: a",
        "subscription.reset, subscription: s, cluster: a, position: earliest",
        "client.kill, client: c",
    ],
)
def test_what_is_dropped_in_delivery_is_delivered_again_and_gives_its_permits_back(type_, command):
    """With a queue of 4 messages a permit that is lost would stop the subscription."""
    text = body(
        "deliveryTime: 50ms",
        producer="every: 5ms, count: 100",
        subscription=f", type: {type_}",
        consumer=", receiverQueueSize: 4",
    )
    commands = ", ".join(
        f"{{at: {at}ms, do: {command}}}, {{at: {at + 5}ms, do: consumer.start, consumer: c}}"
        if "kill" in command
        else f"{{at: {at}ms, do: {command}}}"
        for at in (1210, 1220, 1430, 1640)
    )
    world = run(text + f"commands: [{commands}]\n", until="20s")
    assert set(numbers(rows(world, "message.delivered"))) == set(range(100))
    consumer = world.runtime.consumers["c"]
    assert not consumer.in_delivery.pending and not consumer.queue
    for session in consumer.sessions.values():
        assert session.queued == 0 and session.permits + session.taken == 4


@pytest.mark.parametrize("command", ["client.kill", "client.close"])
def test_the_end_of_a_client_drops_what_is_in_delivery(command):
    world = open_world(body("deliveryTime: 50ms", producer="every: 5ms"), until="1s")
    world.run(202 * MS)
    do(world, command, client="c")
    assert not world.runtime.consumers["c"].in_delivery.pending


@pytest.mark.parametrize("type_", ["Exclusive", "Shared"])
def test_a_dropped_delivery_brings_no_later_message_forward(type_):
    command = "do: subscription.reset, subscription: s, cluster: a, position: earliest"
    text = body("deliveryTime: 50ms", producer="every: 5ms", subscription=f", type: {type_}")
    world = run(text + f"commands: [{{at: 202ms, {command}}}]\n", until="1s")
    later_us = [at_us for row in rows(world, "message.delivered") if (at_us := row["at_us"]) > 202 * MS]
    assert min(later_us) == 352 * MS, "the consumer is back after 100 ms, and the first delivery takes 50"


def test_messages_in_delivery_have_taken_their_permits():
    world = open_world(body("deliveryTime: 50ms", producer="every: 5ms"), until="3s")
    world.run(202 * MS)
    reader = subscription(world, "a")["consumers"]["c"]
    # Published at 0, 5, … 200 ms: 41. Those of 0 to 150 ms have arrived; permits come back at 500.
    assert (reader["permits"], reader["queued"]) == (1000 - 41, 10)
    assert (
        note(world, "stats", "availablePermits")
        == "10 messages wait in its receiver queue or in flight to it."
    )


def test_without_a_receiver_queue_one_message_is_on_its_way_at_a_time():
    text = body(
        "deliveryTime: 7ms",
        producer="every: 2ms, count: 50",
        consumer=", receiverQueueSize: 0, processing: 3ms",
    )
    world = run(text, until="3s")
    at_us = [row["at_us"] for row in rows(world, "message.delivered")]
    assert len(at_us) == 50
    assert {later - earlier for earlier, later in pairwise(at_us)} == {10 * MS}
    paused = open_world(
        text
        + "commands: [{at: 9ms, do: consumer.pause, consumer: c}, {at: 11ms, do: consumer.resume, consumer: c}]\n",
        until="3s",
    )
    while paused.now_us < 2 * SECOND:
        paused.run(paused.now_us + MS)
        assert len(paused.runtime.consumers["c"].in_delivery.pending) <= 1


def test_a_redelivery_draws_its_own_time():
    refuses = (
        ", negativeAcknowledge: {share: 100%}, negativeAckRedeliveryDelay: 1s, negativeAckPrecisionBitCnt: 0"
    )
    text = body(DELIVERY, producer="every: 11ms, count: 40", subscription=", type: Shared", consumer=refuses)
    delivered = rows(run(text, until="3s"), "message.delivered")
    first, second = (
        {row["sequence_id"]: row["at_us"] for row in delivered if row["count"] == count} for count in (0, 1)
    )
    spans = {second[number] - at_us - SECOND for number, at_us in first.items()}
    assert len(first) == 40 and len(spans) > 30
    # requests are in whole ms after the first one
    assert min(spans) >= SHORTEST_US - MS and max(spans) <= LONGEST_US + MS
    assert spans.isdisjoint(deliveries_us(run(text, until="1s")).values()), "not the draws of the first time"


# --- the time of a subscribe


def test_a_moved_consumer_is_connected_after_the_time_to_subscribe():
    text = body(
        "subscribeTime: 30ms", producer="every: 11ms", subscription=", replicateSubscriptionState: true"
    )
    world = open_world(text, until="3s")
    world.run(until_us=1_234_567)
    move = {"subscription": "s", "from": "a", "to": "b"}
    do(world, "subscription.fail-over", **move, mode="planned")
    world.run()
    [left] = rows(world, "consumer.disconnected", cluster="a")
    [connected] = rows(world, "consumer.connected", cluster="b")
    assert (left["at_us"], connected["at_us"]) == (1_234_567, 1_264_567)
    assert rows(world, "consumer.connected", cluster="a")[0]["at_us"] == 0, "a run begins connected"


def test_an_update_that_arrives_while_a_consumer_subscribes_saves_duplicates():
    """The snapshot of 1 s completes at 1.08 s; its update arrives at 1.14 s, after the failover of 1.11 s."""
    text = (
        body("OPTION", producer="every: 10ms", subscription=", replicateSubscriptionState: true")
        + "links: {default: {latency: 40ms}}\n"
    )
    duplicates = {}
    for option in ("subscribeTime: 0s", "subscribeTime: 60ms"):
        world = open_world(text.replace("OPTION", option), until="3s")
        world.run(until_us=1_110_000)
        do(world, "subscription.fail-over", **{"subscription": "s", "from": "a", "to": "b"}, mode="crash")
        world.run()
        [failover] = world.summary()["failovers"]
        duplicates[option] = failover["duplicates"]
    assert duplicates["subscribeTime: 0s"] - duplicates["subscribeTime: 60ms"] >= 90


def test_a_client_that_stops_while_it_subscribes_is_not_connected():
    world = open_world(body("subscribeTime: 30ms", consumer=", start: 1s"), until="2s")
    world.run(until_us=1_010_000)
    do(world, "client.kill", client="c")
    world.run()
    assert rows(world, "consumer.connected") == []


def test_times_to_subscribe_are_drawn_each_time():
    world = open_world(body(SUBSCRIBE, consumer=", start: 1s"), until="9s")
    for at_s in range(2, 9):
        world.run(until_us=at_s * SECOND)
        do(world, "topic.unload", cluster="a", topic="t")
    world.run()
    connected = [row["at_us"] for row in rows(world, "consumer.connected")]
    begun = [SECOND, *(at_s * SECOND + 100 * MS for at_s in range(2, 9))]
    took = [at_us - begun_us for at_us, begun_us in zip(connected, begun, strict=True)]
    assert all(10 * MS <= one <= 40 * MS for one in took) and len(dict.fromkeys(took)) == len(took)


# --- the time to load a topic


def test_an_unloaded_topic_is_loaded_after_its_time_and_waiting_clients_are_connected_then():
    """The consumer's first retry is after 100 ms; it waits for the load instead of backing off further."""
    text = body(
        "topicLoadTime: 350ms", producer="every: 11ms", subscription=", replicateSubscriptionState: true"
    )
    world = open_world(text, until="4s")
    world.run(until_us=1_234_567)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run()
    loaded_us = 1_234_567 + 350 * MS
    assert [row["at_us"] for row in rows(world, "topic.loaded", cluster="a")] == [0, loaded_us]
    assert [row["at_us"] for row in rows(world, "consumer.connected", cluster="a")] == [0, loaded_us]
    ticks = [row["at_us"] for row in rows(world, "snapshot.requested", cluster="a")]
    assert [at_us for at_us in ticks if at_us > 1_234_567][:2] == [loaded_us + SECOND, loaded_us + 2 * SECOND]
    published = rows(world, "message.published")
    assert len(rows(world, "message.receipted")) >= len(published) - 1, "nothing is lost"


def test_a_crash_during_the_load_ends_it():
    world = open_world(body("topicLoadTime: 350ms"), until="3s")
    world.run(until_us=SECOND)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run(until_us=SECOND + 100 * MS)
    do(world, "cluster.crash", cluster="a")
    world.run()
    assert len(rows(world, "topic.loaded", cluster="a")) == 1


# --- all of them


def test_timing_measured_stands_for_the_measured_values():
    append = "appendTime: {distribution: lognormal, median: 3500us, sigma: 0.4}"
    written = f"ackGroupPhase: drawn, ackGroupDrift: 100us, {append}, {REST}"
    wanted = run(body(written) + _tail_reads_after(10), until="3s").digest()
    assert run(body("timing: measured"), until="3s").digest() == wanted
    nominal = run(body("timing: nominal"), until="3s").digest()
    assert nominal == run(body(""), until="3s").digest() != wanted


def _tail_reads_after(delay_ms):
    return f"settings: {{managedLedgerNewEntriesCheckDelayInMillis: {delay_ms}}}\n"


def test_broker_settings_may_have_measured_values_too(monkeypatch):
    name = "managedLedgerCursorPositionFlushSeconds"
    monkeypatch.setitem(SETTINGS, name, replace(SETTINGS[name], measured=7))
    for options, settings, wanted in (
        ("", "", 60),
        ("timing: nominal", "", 60),
        ("timing: measured", "", 7),
        ("timing: measured", f"settings: {{{name}: 3}}\n", 3),
    ):
        world = open_world(body(options) + settings)
        assert world.runtime.clusters["a"].setting(name) == wanted
        assert SettingsInForce(world.scenario, name).value("a", "t") == wanted
        assert Administration(world.scenario).setting("a", name) == wanted


def test_what_a_scenario_gives_has_precedence_over_timing():
    given_ = "ackGroupPhase: aligned, ackGroupDrift: 0s, appendTime: 0s, processingOverhead: 0s, "
    given_ += "topicLoadTime: 0s, subscribeTime: 0s, deliveryTime: 0s, newEntriesCheckLateness: 0s"
    text = body(f"timing: measured, {given_}") + _tail_reads_after(0)
    assert run(text, until="1s").digest() == run(body(""), until="1s").digest()


def test_a_scenario_with_a_delivery_time_is_written_as_it_was_read():
    scenario = open_world(body(f"timing: measured, {DELIVERY}")).scenario
    assert load_scenario_text(scenario.canonical_text).options == scenario.options
    with pytest.raises(ScenarioError) as raised:
        open_world(body("deliveryTime: {distribution: uniform, low: 9ms, high: 5ms}"))
    assert "low is above high" in str(raised.value)


@pytest.mark.parametrize("seed", (0, 1, 3, 5, 6, 8, 9))
def test_random_scenarios_with_measured_timing(seed):
    """No claim breaks, and one digest however the run is cut, sought and forked."""
    text = random_scenario(seed).replace("options:\n", "options:\n  timing: measured\n", 1)
    world = World.open(text)
    world.run()
    digest = world.digest()
    assert violations_of(world, 83) == []
    nominal = World.open(text.replace("measured", "nominal"))
    nominal.run()
    assert nominal.digest() != digest
    cut = World.open(text)
    for at_us in (1_003_300, 2_718_281, 5_000_000, 7_654_321):
        cut.run(at_us)
        cut.view()
    for at_us in (2_718_281, 9_000_001, 1_003_300):
        cut.seek(at_us=at_us)
        fork = cut.fork()
        fork.run()
        assert fork.digest() == digest
    cut.run()
    assert cut.digest() == digest


def test_messages_in_delivery_are_part_of_a_checkpoint():
    text = body("deliveryTime: 50ms", producer="every: 5ms")
    whole = run(text, until="2s")
    world = open_world(text, until="2s")
    world.run()
    for at_us in (1_001_000, 333_000, 1_999_000):
        world.seek(at_us=at_us)
        assert len(world.runtime.consumers["c"].in_delivery.pending) == 10
        fork = world.fork()
        fork.run()
        assert fork.digest() == whole.digest()


MEASURED_RUN = (
    "import sys\nfrom simulator import World\nworld = World.open(sys.stdin.read())\nworld.run()\n"
    "print(world.digest())\n"
)


def test_same_bytes_in_processes_with_different_hash_seeds():
    text = PLAIN + MEASURED + "\n"
    found = [
        subprocess.run(
            [sys.executable, "-c", MEASURED_RUN],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
            input=text,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        ).stdout
        for hash_seed in (1, 271_828)
    ]
    here = World.open(text)
    here.run()
    assert found == [f"{here.digest()}\n"] * 2


# --- cut and sought


TIMINGS = (
    "ackGroupPhase: drawn",
    "ackGroupDrift: 500us",
    "ackGroupPhase: drawn, ackGroupDrift: 1us",
    "timing: measured",
    "timing: measured, deliveryTime: 0s",
    "timing: measured, appendTime: 0s, processingOverhead: 0s, deliveryTime: 0s",
    "processingOverhead: 400us",
    "deliveryTime: 3ms",
    "subscribeTime: 30ms",
)


@examples(12)
@given(scenarios(), st.sampled_from(TIMINGS), st.lists(st.integers(0, UNTIL_US), max_size=3))
def test_a_run_with_times_is_the_same_wherever_it_is_sought(text, options, sought):
    text += f"options: {{{options}}}\n"
    whole = states(text, [UNTIL_US])[-1]
    assert states(text, [700_000, UNTIL_US])[-1] == whole
    world = World.open(text, rows_max=None)
    for at_us in (*sought, UNTIL_US):
        world.seek(at_us)
    assert everything(world.fork()) == whole == everything(world)
