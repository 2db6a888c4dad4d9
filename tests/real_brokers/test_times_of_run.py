"""What subscribes and loads took in a run, taken from the recorded events."""

from __future__ import annotations

from script.real_brokers.times_of_run import times_of_run

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
    assert times_of_run(events) == {"subscribeTime": 45_000}


def test_a_consumer_that_finishes_messages_leaves_with_its_last_ack():
    events = [connected(0, "a"), command(100), acked(130), connected(145, "b"), acked(150)]
    assert times_of_run(events) == {"subscribeTime": 15_000}


def test_consumers_leave_together_when_the_last_one_has_finished():
    events = [connected(0, "a"), connected(0, "a", "d"), command(100), acked(130, "d")]
    assert times_of_run([*events, connected(145, "b"), acked(150)]) == {"subscribeTime": 15_000}


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
    assert times_of_run(events) == {"subscribeTime": 30_000}


def test_a_reconnect_in_the_same_cluster_is_no_move():
    assert times_of_run([connected(0, "a"), command(100, "link.cut"), connected(145, "a")]) == {}
    assert times_of_run([]) == {}


def controller(at_ms: int, cluster: str, state: str = "started") -> dict:
    return {"e": "controller", "t": at_ms * MS, "state": state, "cluster": cluster, "topic": TOPIC}


def test_a_topic_is_loaded_when_its_controller_starts_or_a_consumer_is_connected():
    unload = command(100, "topic.unload")
    events = [connected(0, "a"), unload, controller(180, "a", "stopped"), controller(190, "b")]
    assert times_of_run([*events, controller(400, "a"), connected(405, "a")]) == {"topicLoadTime": 300_000}
    assert times_of_run([*events, connected(405, "a")]) == {"topicLoadTime": 305_000}
    again = [
        controller(400, "a"),
        command(1000, "topic.unload"),
        controller(1100, "a"),
        controller(1200, "a"),
    ]
    assert times_of_run([*events, *again]) == {"topicLoadTime": 100_000}
