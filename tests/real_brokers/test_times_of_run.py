"""What subscribes and loads took in a run, taken from the recorded events."""

from __future__ import annotations

import pytest

from script.real_brokers.times_of_run import times_of_run
from simulator.kernel.distributions import Sampler
from simulator.scenarios.model import Distribution

MS = 1_000_000
TOPIC = "persistent://lab/a-b/orders-r001"


def connected(at_ms: int, cluster: str, consumer: str = "c", topic: str = TOPIC) -> dict:
    return {
        "e": "consumer",
        "t": at_ms * MS,
        "state": "connected",
        "cluster": cluster,
        "consumer": consumer,
        "subscription": "s",
        "topic": topic,
    }


def command(at_ms: int, do: str = "subscription.fail-over") -> dict:
    return {"e": "command", "t": at_ms * MS, "do": do, "arguments": {"cluster": "a"}}


def acked(at_ms: int, consumer: str = "c") -> dict:
    return {"e": "acknowledged", "t": at_ms * MS, "consumer": consumer}


def test_it_is_the_time_from_the_failover_until_the_broker_has_the_consumer():
    events = [connected(0, "a"), acked(90), command(100), connected(145, "b")]
    assert times_of_run(events) == {"subscribeTime": Distribution(value_us=45_000)}


def test_a_consumer_that_finishes_messages_leaves_with_its_last_ack():
    events = [connected(0, "a"), command(100), acked(130), connected(145, "b"), acked(150)]
    assert times_of_run(events) == {"subscribeTime": Distribution(value_us=15_000)}


def test_consumers_leave_together_when_the_last_one_has_finished():
    events = [connected(0, "a"), connected(0, "a", "d"), command(100), acked(130, "d")]
    assert times_of_run([*events, connected(145, "b"), acked(150)]) == {
        "subscribeTime": Distribution(value_us=15_000)
    }


def test_the_first_consumer_of_a_partition_counts_and_of_several_partitions_and_failovers_the_median():
    events = [
        connected(0, "a"),
        connected(0, "a", "d"),
        connected(0, "a", topic=f"{TOPIC}-partition-1"),
        command(100),
        connected(120, "b"),
        connected(125, "b", "d"),
        connected(130, "b", topic=f"{TOPIC}-partition-1"),
        acked(150),
        command(200),
        connected(290, "a"),
    ]
    assert times_of_run(events) == {"subscribeTime": Distribution(value_us=30_000)}


def test_a_reconnect_in_the_same_cluster_is_no_move():
    assert times_of_run([connected(0, "a"), command(100, "link.cut"), connected(145, "a")]) == {}
    assert times_of_run([]) == {}


def controller(at_ms: int, cluster: str, state: str = "started") -> dict:
    return {"e": "controller", "t": at_ms * MS, "state": state, "cluster": cluster, "topic": TOPIC}


def test_a_topic_is_loaded_when_its_controller_starts_or_a_consumer_is_connected():
    unload = command(100, "topic.unload")
    events = [connected(0, "a"), unload, controller(180, "a", "stopped"), controller(190, "b")]
    assert times_of_run([*events, controller(400, "a"), connected(405, "a")]) == {
        "topicLoadTime": Distribution(value_us=300_000)
    }
    assert times_of_run([*events, connected(405, "a")]) == {"topicLoadTime": Distribution(value_us=305_000)}
    again = [
        controller(400, "a"),
        command(1000, "topic.unload"),
        controller(1100, "a"),
        controller(1200, "a"),
    ]
    assert times_of_run([*events, *again]) == {"topicLoadTime": Distribution(value_us=100_000)}


def appended(times_us: list[int], **more) -> tuple[list[dict], list[dict]]:
    """Receipts that came so long after the append began, and the entries of the log."""
    receipts, entries = [], []
    for number, took_us in enumerate(times_us):
        stored_ns = number * 100 * MS
        place = {"producer": "p", "sequence": number, "ledger": 7, "entry": number}
        receipts.append({"e": "receipted", "t": stored_ns + took_us * 1000, **place})
        entries.append({"stored_ns": stored_ns, **place, **more})
    return receipts, entries


def test_the_time_of_appends_is_fitted_to_median_and_upper_quartile():
    stall = [900_000] * 20  # the machine did something else meanwhile
    receipts, entries = appended([3_000] * 60 + [4_000] * 20 + stall)
    found = times_of_run(receipts, entries)["appendTime"]
    assert (found.kind, found.value_us) == ("lognormal", 3_000)
    assert found.sigma_millionths / 1e6 == pytest.approx(0.427, abs=0.001)  # ln(4 / 3) / 0.6745


def test_no_draw_of_a_fitted_time_is_longer_than_ten_seconds():
    found = times_of_run(*appended([3_000] * 60 + [5_000_000] * 40))["appendTime"]
    draws = Sampler(found, 7)
    assert 8_000_000 < max(draws.at(number) for number in range(50_000)) <= 10_000_000


def test_appends_that_all_take_as_long_have_no_spread():
    found = times_of_run(*appended([3_500] * 40))["appendTime"]
    assert (found.value_us, found.sigma_millionths) == (3_500, 0)


def test_copies_and_markers_and_too_few_receipts_give_no_time_of_appends():
    assert times_of_run(*appended([3_500] * 29)) == {}
    assert times_of_run(*appended([3_500] * 40, replicated_from="a")) == {}
    receipts, entries = appended([3_500] * 40)
    markers = [{**entry, "producer": "pulsar.marker", "sequence": -1} for entry in entries]
    assert times_of_run(receipts, markers) == {}


def delivered(count: int, took_us: int, acked_us: int, every_us: int = 100_000) -> list[dict]:
    """Events of a consumer that is sent a message every so often, has it later, and acknowledges it."""
    events = []
    for number in range(count):
        place = {"cluster": "a", "topic": TOPIC, "consumer": "c", "ledger": 7, "entry": number}
        sent_ns = number * every_us * 1000
        for kind, later_us in (("dispatched", 0), ("delivered", took_us), ("acknowledged", acked_us)):
            events.append({"e": kind, "t": sent_ns + later_us * 1000, **place})
    return sorted(events, key=lambda event: event["t"])


def test_the_time_of_a_delivery_is_from_the_dispatch_until_the_application_has_the_message():
    found = times_of_run(delivered(40, took_us=230, acked_us=2_230))
    assert found == {"deliveryTime": Distribution("lognormal", value_us=230, sigma_millionths=0)}
    assert times_of_run(delivered(29, took_us=230, acked_us=2_230)) == {}


def test_a_message_that_waits_in_the_queue_of_a_busy_consumer_shows_no_time_of_delivery():
    assert times_of_run(delivered(40, took_us=150_000, acked_us=250_000)) == {}


def test_messages_of_an_ended_connection_keep_no_consumer_busy():
    lost = [
        {
            "e": "dispatched",
            "t": -2,
            "cluster": "a",
            "topic": TOPIC,
            "consumer": "c",
            "ledger": 7,
            "entry": 99,
        }
    ]
    events = delivered(30, took_us=230, acked_us=2_230)
    assert times_of_run([*lost, *events]) == {}
    ended = {"e": "disconnected", "t": -1, "consumer": "c"}
    assert "deliveryTime" in times_of_run([*lost, ended, *events])


def sent(at_us: list[int]) -> list[dict]:
    """A dispatcher's reads: two messages at each of these instants."""
    of = {"e": "dispatched", "cluster": "a", "topic": TOPIC, "consumer": "c", "ledger": 7}
    times = [at for at in at_us for _ in range(2)]
    return [{**of, "t": at * 1000, "entry": number} for number, at in enumerate(times)]


def test_the_lateness_of_looks_for_new_entries_is_the_mean_distance_of_reads_beyond_the_delay():
    late = [number * 10_300 + (number % 2) * 200 for number in range(102)]
    found = times_of_run(sent(late))["newEntriesCheckLateness"]
    assert (found.kind, found.low_us) == ("uniform", 0) and found.high_us == pytest.approx(600, abs=4)
    assert times_of_run(sent(late[:100])) == {}, "99 distances are too few"
    early = [number * 9_900 for number in range(102)]
    assert times_of_run(sent(early)) == {"newEntriesCheckLateness": Distribution("uniform")}


def test_a_dispatcher_that_is_notified_shows_no_lateness():
    assert times_of_run(sent([number * 100_000 for number in range(150)])) == {}
