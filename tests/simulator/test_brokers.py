"""Brokers with limits: one dispatch at a time, bandwidth, connection rate, and what frees a broker.

Every instant below is derived by hand: a dispatch takes the longer of `dispatchTime` and its bytes at
`bandwidth`.
"""

import pytest

from simulator import ScenarioError, World, load_scenario_text
from tests.simulator.checked import violations_of
from tests.simulator.engine_runs import HEAD, MS, at_ms, do, numbers, open_world, rows, run

ONE = """
clusters: {a: {}}
topics: {t: {clusters: [a]}}
"""
PRODUCER = "producers: {p: {topic: t, cluster: a, at: [100ms], size: 1KB}}\n"


def subscribers(*names, topic="t", **consumer):
    """One subscription and one consumer for each name."""
    more = "".join(f", {key}: {value}" for key, value in consumer.items())
    lines = ["subscriptions:", *(f"  {name}: {{topic: {topic}}}" for name in names)]
    lines += ["consumers:", *(f"  {name}-1: {{subscription: {name}, cluster: a{more}}}" for name in names)]
    return "\n".join(lines) + "\n"


def figures(world, broker="x"):
    return world.view()["brokers"][broker]


def test_dispatches_are_served_one_after_another():
    world = run(
        ONE + "brokers: {x: {cluster: a, dispatchTime: 10ms}}\n" + PRODUCER + subscribers("s1", "s2", "s3")
    )
    assert at_ms(rows(world, "message.delivered")) == [110, 120, 130]
    assert at_ms(rows(world, "message.dispatched")) == [110, 120, 130]
    assert [row["duration_us"] for row in rows(world, "message.dispatched")] == [10 * MS] * 3
    assert rows(world, "message.delivered")[0]["cause_seq"] == rows(world, "message.dispatched")[0]["seq"]
    assert world.summary()["latency"]["s3"]["a"] == {
        "delivered": 1,
        "mean_us": 30 * MS,
        "p50_us": 30 * MS,
        "p99_us": 30 * MS,
        "max_us": 30 * MS,
    }


@pytest.mark.parametrize(
    "limits, instants",
    [
        ("bandwidth: 100KB/s", [110, 120]),  # 1 KB at 100 KB/s: 10 ms
        ("bandwidth: 100KB/s, dispatchTime: 4ms", [110, 120]),  # the longer one
        ("bandwidth: 100KB/s, dispatchTime: 25ms", [125, 150]),
        ("bandwidth: 3KB/s", [433.334, 766.668]),  # 333,333.3 us, rounded up each time
        ("connectTime: 5ms", [100, 100]),  # neither: at once
    ],
)
def test_a_dispatch_takes_the_longer_of_service_time_and_bandwidth(limits, instants):
    world = run(ONE + f"brokers: {{x: {{cluster: a, {limits}}}}}\n" + PRODUCER + subscribers("s1", "s2"))
    assert at_ms(rows(world, "message.delivered")) == instants


def test_without_brokers_no_broker_rows_are_written():
    world = run(ONE + PRODUCER + subscribers("s1", "s2"))
    assert at_ms(rows(world, "message.delivered")) == [100, 100]
    assert not rows(world, "message.dispatched") and not rows(world, "topic.assigned")
    assert (world.summary()["brokers"], world.summary()["latency"]) == ({}, {})


def test_a_batch_is_one_dispatch():
    text = (
        ONE + "brokers: {x: {cluster: a, dispatchTime: 10ms, bandwidth: 100KB/s}}\n" + subscribers("s1", "s2")
    )
    world = run(
        text + "producers: {p: {topic: t, cluster: a, at: [100ms, 100ms, 100ms], size: 1KB, batch: 3}}\n"
    )
    assert at_ms(rows(world, "message.delivered", subscription="s1")) == [130] * 3  # 3 KB at 100 KB/s
    found = rows(world, "message.dispatched", subscription="s2")
    assert [(row["at_us"], row["batch_index"], row["size_bytes"], row["duration_us"]) for row in found] == [
        (160 * MS, 0, 3000, 30 * MS),
        (160 * MS, 1, 0, 0),
        (160 * MS, 2, 0, 0),
    ]


TWO_TENANTS = """
clusters: {a: {}}
topics: {loud: {clusters: [a]}, quiet: {clusters: [a]}}
producers:
  p: {topic: loud, cluster: a, every: 10ms, start: 100ms, count: 100}
  q: {topic: quiet, cluster: a, every: 100ms, start: 105ms, count: 10}
subscriptions: {l1: {topic: loud}, l2: {topic: loud}, s: {topic: quiet}}
consumers:
  c1: {subscription: l1, cluster: a}
  c2: {subscription: l2, cluster: a}
  c3: {subscription: s, cluster: a}
"""


def other_latency(brokers, commands=""):
    world = run(TWO_TENANTS + f"brokers: {{{brokers}}}\ncommands: [{commands}]\n")
    published = {row["sequence_id"]: row["at_us"] for row in rows(world, "message.published", producer="q")}
    return [
        (row["at_us"] - published[row["sequence_id"]]) // MS
        for row in rows(world, "message.delivered", subscription="s")
    ]


def test_one_tenant_slows_the_other_on_a_shared_broker():
    """The loud topic hands over two dispatches of 8 ms every 10 ms: the queue grows by 6 ms each time.

    At 105 ms, 205 ms… it has queued 16 n ms since 100 ms (n = 1, 11, 21…), and the other tenant's earlier
    messages 8 ms each.
    """
    waits = [
        100 + 16 * n + 8 * before - (105 + 100 * before) + 8 for before, n in enumerate(range(1, 101, 10))
    ]
    assert other_latency("x: {cluster: a, dispatchTime: 8ms}") == waits
    assert other_latency("x: {cluster: a, dispatchTime: 8ms}, y: {cluster: a, dispatchTime: 8ms}") == [8] * 10


def test_moving_the_loud_topic_frees_the_other_one():
    """At 500 ms what waits for the loud topic's consumers moves with it.

    Its backlog is served at the other broker.

    The other tenant's message of 405 ms, which would have left at 628 ms, leaves at 508 ms, the next one
    right after it, the others without delay.
    """
    both = "x: {cluster: a, dispatchTime: 8ms, topics: [loud, quiet]}, y: {cluster: a, dispatchTime: 8ms}"
    latency = other_latency(both, "{at: 500ms, do: topic.unload, cluster: a, topic: loud, broker: y}")
    assert latency[3:] == [103, 11, *[8] * 5]


def test_topics_are_assigned_to_the_broker_that_declares_them_or_has_the_fewest():
    body = """
clusters: {a: {}, b: {}}
topics: {t1: {clusters: [a, b]}, t2: {clusters: [a]}, t3: {clusters: [a]}, t4: {clusters: [a]}, parts: {clusters: [a], partitions: 3}}
brokers: {z: {cluster: a}, y: {cluster: a, topics: [t3, parts-partition-1]}, other: {cluster: b}}
"""
    world = open_world(body)
    found = {name: one["topics"] for name, one in world.summary()["brokers"].items()}
    # In order: parts-partition-0 to z (y declares two), 1 to y, 2 to z; t1 to y (two and two), t2 to z, t3 to
    # y, t4: three each, y by name.
    assert found == {
        "y": ["parts-partition-1", "t1", "t3", "t4"],
        "z": ["parts-partition-0", "parts-partition-2", "t2"],
        "other": ["t1"],
    }
    assert {(row["cluster"], row["topic"], row["broker"]) for row in rows(world, "topic.assigned")} >= {
        ("a", "t3", "y"),
        ("b", "t1", "other"),
    }


def test_without_a_declaration_topics_are_assigned_round_robin_by_name():
    names = [f"t{number}" for number in range(6)]
    topics = ", ".join(f"{name}: {{clusters: [a]}}" for name in names)
    world = open_world(
        f"clusters: {{a: {{}}}}\ntopics: {{{topics}}}\nbrokers: {{x: {{cluster: a}}, y: {{cluster: "
        f"a}}, z: "
        f"{{cluster: a}}}}\n"
    )
    assert [one["topics"] for one in world.summary()["brokers"].values()] == [
        ["t0", "t3"],
        ["t1", "t4"],
        ["t2", "t5"],
    ]


def test_a_killed_client_frees_the_broker():
    """Three messages for each of two clients, 10 ms each: those of the first are served first, one is in
    flight at 115 ms.
    """
    text = ONE + (
        "brokers: {x: {cluster: a, dispatchTime: 10ms}}\nproducers: {p: {topic: t, cluster: a, at: [50ms, "
        "50ms, 50ms]}}\n"
    )
    text += subscribers("s1", "s2", start="100ms").replace(
        "{topic: t}", "{topic: t, initialPosition: Earliest}"
    )
    assert at_ms(rows(run(text), "message.delivered", client="s2-1")) == [140, 150, 160]
    world = run(text + "commands: [{at: 115ms, do: client.kill, client: s1-1}]\n")
    assert numbers(rows(world, "message.delivered", client="s1-1")) == [0]
    assert at_ms(rows(world, "message.delivered", client="s2-1")) == [125, 135, 145]


def test_messages_queued_in_the_broker_are_not_delivered_yet():
    """At 125 ms two of five have left.

    A crash then loses the other three, and they are redelivered after the restart.
    """
    text = ONE + (
        "brokers: {x: {cluster: a, dispatchTime: 10ms}}\nproducers: {p: {topic: t, cluster: a, at: [100ms, "
        "100ms, 100ms, 100ms, 100ms]}}\n"
    )
    world = open_world(text + subscribers("s"))
    world.run(125 * MS)
    assert (figures(world)["queued"], figures(world)["dispatches"], figures(world)["bytes_out"]) == (
        3,
        2,
        2000,
    )
    do(world, "cluster.crash", cluster="a")
    assert figures(world)["queued"] == figures(world)["queued_us"] == 0
    do(world, "cluster.restart", cluster="a")
    world.run()
    # acks of 0 and 1 were lost with the client
    assert numbers(rows(world, "message.delivered")) == [0, 1, 0, 1, 2, 3, 4]
    assert world.violations == []


def test_clients_are_connected_one_after_another():
    world = open_world(
        ONE + "brokers: {x: {cluster: a, connectTime: 30ms}}\n" + subscribers("s1", "s2", "s3")
    )
    world.run(1000 * MS)
    assert at_ms(rows(world, "consumer.connected")) == [30, 60, 90]
    do(world, "topic.unload", cluster="a", topic="t")
    world.run(2000 * MS)
    # 100 ms of backoff, then one after another again
    assert at_ms(rows(world, "consumer.connected"))[3:] == [1130, 1160, 1190]


def test_clients_that_wait_for_an_unloaded_topic_connect_later():
    world = open_world(ONE + "brokers: {x: {cluster: a, connectTime: 30ms}}\n" + subscribers("s1", "s2"))
    world.run(40 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run()
    # both are notified at the same instant, and retry at 140 ms
    assert at_ms(rows(world, "consumer.connected")) == [30, 170, 200]


def test_clients_waiting_when_a_region_goes_down_do_not_delay_others_after_the_restart():
    world = open_world(
        ONE + "brokers: {x: {cluster: a, connectTime: 300ms}}\n" + subscribers("s1", "s2", "s3")
    )
    world.run(100 * MS)
    do(world, "cluster.crash", cluster="a")
    world.run(200 * MS)
    do(world, "cluster.restart", cluster="a")
    world.run(2000 * MS)
    assert at_ms(rows(world, "consumer.connected")) == [500, 800, 1100]


def test_a_client_that_closes_while_waiting_gives_up_its_place_in_the_connection_queue():
    world = open_world(
        ONE + "brokers: {x: {cluster: a, connectTime: 30ms}}\n" + subscribers("s1", "s2", "s3")
    )
    world.run(10 * MS)
    do(world, "client.kill", client="s1-1")
    do(world, "client.kill", client="s3-1")
    do(world, "consumer.start", consumer="s3-1")
    world.run(1000 * MS)
    assert [(row["client"], row["at_us"] // MS) for row in rows(world, "consumer.connected")] == [
        ("s2-1", 60),
        ("s3-1", 90),
    ]


def test_a_client_killed_while_waiting_is_not_connected():
    world = open_world(ONE + "brokers: {x: {cluster: a, connectTime: 30ms}}\n" + subscribers("s1", "s2"))
    world.run(10 * MS)
    do(world, "client.kill", client="s1-1")
    world.run(1000 * MS)
    assert [row["client"] for row in rows(world, "consumer.connected")] == ["s2-1"]


@pytest.mark.parametrize("type_", ["Exclusive", "Failover", "Shared", "Key_Shared"])
@pytest.mark.parametrize("queue", [1, 3, 1000])
def test_every_message_is_delivered_once_for_every_subscription_type(type_, queue):
    text = (
        ONE + "brokers: {x: {cluster: a, dispatchTime: 3ms, connectTime: 7ms}}\nproducers: {p: {topic: t, "
        "cluster: a, every: 2ms, start: 100ms, count: 200, keys: 7}}\n"
        f"subscriptions: {{s: {{topic: t, type: {type_}, initialPosition: Earliest}}}}\nconsumers:\n"
        + "".join(
            f"  c{number}: {{subscription: s, cluster: a, receiverQueueSize: {queue}, processing: 1ms}}\n"
            for number in range(1 if type_ == "Exclusive" else 3)
        )
    )
    world = run(text)
    assert sorted(numbers(rows(world, "message.delivered"))) == list(range(200))
    assert world.summary()["subscriptions"]["s"]["a"]["backlog"] == 0
    assert violations_of(world) == []


# --- determinism


def busy_text():
    return (
        HEAD
        + "family: replicated-subscriptions\nuntil: 3s\n"
        + TWO_TENANTS.replace("count: 100", "count: 100, batch: 3")
        + (
            "brokers: {x: {cluster: a, dispatchTime: 4ms, bandwidth: 500KB/s, connectTime: 2ms, topics: "
            "[loud, quiet]}, y: {cluster: a, dispatchTime: 1ms}}\n"
        )
        + (
            "commands: [{at: 400ms, do: topic.unload, cluster: a, topic: loud, broker: y}, {at: 700ms, do: "
            "cluster.crash, cluster: a}, {at: 900ms, do: cluster.restart, cluster: a}]\n"
        )
    )


def test_digest_is_the_same_however_the_run_is_cut_and_sought():
    scenario = load_scenario_text(busy_text())
    whole = World.from_scenario(scenario)
    whole.run()
    cut = World.from_scenario(scenario)
    for at_us in (101 * MS, 333 * MS, 1500 * MS, 200 * MS, 3000 * MS, 402 * MS):
        cut.seek(at_us=at_us)
    fork = cut.fork()
    for world in (cut, fork):
        world.run()
        assert world.digest() == whole.digest()
    assert fork.summary()["brokers"] == whole.summary()["brokers"]


# --- refusals


def problems_of(text):
    with pytest.raises(ScenarioError) as caught:
        load_scenario_text(HEAD + "family: replicated-subscriptions\nuntil: 1s\n" + text)
    return [(problem.path, problem.what) for problem in caught.value.problems]


@pytest.mark.parametrize(
    "brokers, path, what",
    [
        ("x: {}", "brokers.x.cluster", "is missing"),
        ("x: {cluster: c}", "brokers.x.cluster", 'there is no cluster "c"'),
        ("x: {cluster: b, topics: [t]}", "brokers.x.topics[0]", "topic t is not in b"),
        ("x: {cluster: a, topics: [u]}", "brokers.x.topics[0]", 'there is no topic "u"'),
        ("x: {cluster: a, topics: [t-partition-0]}", "brokers.x.topics[0]", "t has no partitions"),
        (
            "x: {cluster: a, topics: [t]}, y: {cluster: a, topics: [t]}",
            "brokers.y.topics[0]",
            "t is x's in a",
        ),
    ],
)
def test_an_invalid_broker_is_refused_with_path_and_reason(brokers, path, what):
    assert (path, what) in problems_of(
        f"clusters: {{a: {{}}, b: {{}}}}\ntopics: {{t: {{clusters: [a]}}}}\nbrokers: {{{brokers}}}\n"
    )


def test_a_topic_moves_only_to_a_broker_of_its_cluster():
    body = (
        "clusters: {a: {}, b: {}}\ntopics: {t: {clusters: [a, b]}}\nbrokers: {x: {cluster: a}, y: "
        "{cluster: b}}\n"
    )
    world = open_world(body)
    answer = world.apply({"do": "topic.unload", "cluster": "a", "topic": "t", "broker": "y"})
    assert (answer.ok, answer.code, answer.hint) == (False, "no-broker", "the only one is x")
    answer = world.apply({"do": "topic.unload", "cluster": "a", "topic": "t", "broker": "w"})
    assert (answer.ok, answer.code) == (False, "unknown-name")
    assert ("commands[0].broker", "y is not in a") in problems_of(
        body + "commands: [{at: 0s, do: topic.unload, cluster: a, topic: t, broker: y}]\n"
    )


# --- broker load


def test_broker_load_adds_up_to_the_brokers_figures():
    world = World.from_scenario(load_scenario_text(busy_text()))
    world.run(1_700 * MS)
    load, figures = world.broker_load(), world.summary()["brokers"]
    span_s = load["span_us"] / 1e6
    for name, one in load["brokers"].items():
        assert one["dispatches"] == figures[name]["dispatches"] > 0
        assert sum(one["bytes_per_s"]) * span_s == pytest.approx(one["bytes_out"], rel=1e-3)
        # a bucket is busy for its whole length at most
        assert sum(one["busy"]) / 1e6 * load["span_us"] <= one["busy_us"]
    assert sum(reader["so_far"]["delivered"] for reader in load["readers"]) == len(
        rows(world, "message.dispatched")
    )
    assert [(reader["name"], reader["topic"], reader["broker"]) for reader in load["readers"]] == [
        ("l1", "loud", "y"),
        ("l2", "loud", "y"),
        ("s", "quiet", "x"),
    ]
    assert world.digest() == world.trace.digest(world.seq)


def test_broker_load_without_messages_and_without_brokers():
    world = open_world(ONE + "brokers: {x: {cluster: a}}\n")
    load = world.broker_load()
    assert load["readers"] == [] and set(load["brokers"]["x"]["waited_us"]) == {None}
    assert open_world(ONE).broker_load()["brokers"] == {}
