"""The time that moved consumers took to subscribe, taken from the recorded events."""

from __future__ import annotations

from script.real_brokers.subscribe_time import subscribe_time_us

MS = 1_000_000
TOPIC = "persistent://lab/a-b/orders-r001"


def connected(at_ms: int, cluster: str, consumer: str = "c", topic: str = TOPIC) -> dict:
    return {
        "e": "consumer",
        "t": at_ms * MS,
        "state": "connected",
        "cluster": cluster,
        "consumer": consumer,
        "topic": topic,
    }


def command(at_ms: int, do: str = "subscription.fail-over") -> dict:
    return {"e": "command", "t": at_ms * MS, "do": do}


def acked(at_ms: int, consumer: str = "c") -> dict:
    return {"e": "acknowledged", "t": at_ms * MS, "consumer": consumer}


def test_it_is_the_time_from_the_failover_until_the_broker_has_the_consumer():
    events = [connected(0, "a"), acked(90), command(100), connected(145, "b")]
    assert subscribe_time_us(events) == 45_000


def test_a_consumer_that_finishes_messages_leaves_with_its_last_ack():
    events = [connected(0, "a"), command(100), acked(130), connected(145, "b"), acked(150)]
    assert subscribe_time_us(events) == 15_000


def test_the_median_of_consumers_partitions_and_failovers_counts():
    events = [
        connected(0, "a"),
        connected(0, "a", "d"),
        command(100),
        connected(120, "b"),
        connected(130, "b", "d"),
        acked(150),
        command(200),
        connected(290, "a"),
    ]
    assert subscribe_time_us(events) == 30_000


def test_a_reconnect_in_the_same_cluster_and_other_commands_do_not_count():
    events = [connected(0, "a"), command(100, "topic.unload"), connected(145, "a")]
    assert subscribe_time_us(events) is None
    assert subscribe_time_us([]) is None
