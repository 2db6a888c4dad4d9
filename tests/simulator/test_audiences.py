"""Tests of audiences.

Rows equal to the ordinary engine's, message by message; instants derived by hand; one digest however the run
is cut.
"""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from simulator import ScenarioError, World, load_scenario_text
from tests.examples import examples
from tests.simulator.audience_runs import HEAD, assert_same_rows, finished_world, scenario_text
from tests.simulator.checked import violations_of
from tests.simulator.engine_runs import MS, SECOND, at_ms, do, rows

TOPIC = (
    "clusters: {a: {settings: {managedLedgerDefaultMarkDeleteRateLimit: 0}}}\ntopics: {t: {clusters: [a]}}\n"
)
BROKER = "brokers: {x: {cluster: a, dispatchTime: 1ms, connectTime: 3ms}}\n"
PRODUCER = "producers: {p: {topic: t, cluster: a, start: 500ms, every: 20ms, count: 40, size: 1KB}}\n"
READERS = {"readers": {"topic": "t", "subscriptions": 30}}


# --- the same as the ordinary engine


def test_a_fan_out_has_the_rows_of_the_ordinary_engine():
    """Thirty dispatches of 1 ms for one message each 20 ms: the queue grows."""
    world = assert_same_rows(TOPIC + BROKER + PRODUCER, READERS)
    assert world.summary()["audiences"]["readers"]["delivered"] == 30 * 40


@pytest.mark.parametrize(
    "broker",
    [
        "dispatchTime: 145us, bandwidth: 2MB/s",
        "bandwidth: 1MB/s, connectTime: 1ms",
        "dispatchTime: 900us, connectTime: 60ms",
        "connectTime: 0s, dispatchTime: 333us",
    ],
)
def test_rows_are_the_same_under_any_limits(broker):
    assert_same_rows(TOPIC + f"brokers: {{x: {{cluster: a, {broker}}}}}\n" + PRODUCER, READERS)


def test_batches_are_dispatched_whole():
    assert_same_rows(TOPIC + BROKER + PRODUCER.replace("count: 40", "count: 42, batch: 3"), READERS)


def test_a_late_member_at_earliest_catches_up():
    assert_same_rows(
        TOPIC + BROKER + PRODUCER.replace("count: 40", "count: 40, batch: 2"),
        {"readers": {"topic": "t", "subscriptions": 20, "initialPosition": "Earliest", "start": "900ms"}},
    )


def test_two_audiences_and_plain_subscriptions_share_a_broker_in_order_of_names():
    plain = (
        "subscriptions:\n  first: {topic: t}\n  middle: {topic: t}\nconsumers:\n  first-c: {subscription: "
        "first, cluster: a, acknowledgmentGroupTime: 0s}\n  middle-c: {subscription: middle, cluster: a}\n"
    )
    assert_same_rows(
        TOPIC + BROKER + PRODUCER + plain,
        {
            "early": {"topic": "t", "subscriptions": 7},
            "readers": {"topic": "t", "subscriptions": 9, "start": "520ms"},
        },
    )


TWO = """
clusters: {a: {settings: {managedLedgerDefaultMarkDeleteRateLimit: 0}}}
topics: {t: {clusters: [a]}, u: {clusters: [a]}}
brokers: {x: {cluster: a, dispatchTime: 1ms, connectTime: 2ms, topics: [t]}, y: {cluster: a, dispatchTime: 700us, bandwidth: 1MB/s, topics: [u]}}
producers:
  p: {topic: t, cluster: a, start: 500ms, every: 20ms, count: 40}
  q: {topic: u, cluster: a, start: 503ms, every: 17ms, count: 40, batch: 2}
"""
BOTH = {"readers": {"topic": "t", "subscriptions": 15}, "viewers": {"topic": "u", "subscriptions": 18}}


def test_audiences_of_two_brokers_are_independent():
    assert_same_rows(TWO, BOTH)


@pytest.mark.parametrize(
    "command",
    [
        "{at: 700ms, do: topic.unload, cluster: a, topic: t, broker: y}",
        "{at: 712345us, do: topic.unload, cluster: a, topic: u}",
        "{at: 650ms, do: cluster.crash, cluster: a}, {at: 900ms, do: cluster.restart, cluster: a}",
        (
            "{at: 700ms, do: producer.publish, producer: p, count: 5}, {at: 701ms, do: topic.unload, "
            "cluster: a, topic: t}"
        ),
    ],
)
def test_audiences_survive_unloads_moves_and_crashes(command):
    world = assert_same_rows(TWO + f"commands: [{command}]\n", BOTH)
    summary = world.summary()
    assert summary["violations"] == [] and [one["backlog"] for one in summary["audiences"].values()] == [0, 0]


# --- on shadow topics

SHADOWS = """
clusters: {a: {settings: {managedLedgerDefaultMarkDeleteRateLimit: 0}}}
topics: {t: {clusters: [a]}, t-left: {clusters: [a], shadowOf: t}, t-right: {clusters: [a], shadowOf: t}}
brokers: {x: {cluster: a, dispatchTime: 1ms, topics: [t]}, y: {cluster: a, dispatchTime: 1ms, connectTime: 2ms, topics: [t-left]}, z: {cluster: a, dispatchTime: 700us, topics: [t-right]}}
producers: {p: {topic: t, cluster: a, start: 500ms, every: 20ms, count: 40}}
"""
SPLIT = {
    "source": {"topic": "t", "subscriptions": 3},
    "left": {"topic": "t-left", "subscriptions": 12},
    "right": {"topic": "t-right", "subscriptions": 14, "initialPosition": "Earliest", "start": "950ms"},
}


@pytest.mark.parametrize(
    "command",
    [
        "",
        "{at: 700ms, do: topic.unload, cluster: a, topic: t-left}",
        "{at: 700ms, do: topic.unload, cluster: a, topic: t}",
    ],
)
def test_shadow_topics_have_audiences_too(command):
    world = assert_same_rows(SHADOWS + f"commands: [{command}]\n", SPLIT)
    summary = world.summary()
    left = summary["audiences"]["left"]
    assert summary["violations"] == [] and left["delivered"] - left["repeated"] == 12 * 40
    # a reloaded shadow has no entries of the open ledger
    assert (left["repeated"] > 0) is ("t-left" in command)
    assert {name: one["brokers"] for name, one in summary["audiences"].items()} == {
        "source": ["x"],
        "left": ["y"],
        "right": ["z"],
    }


def test_reads_of_a_shadow_are_counted_as_for_plain_subscriptions():
    counts = [
        finished_world(scenario_text(SHADOWS, SPLIT, written_out)).summary()["shadows"]
        for written_out in (False, True)
    ]
    assert [one["t-left"]["reads"] for one in counts][0] == [one["t-left"]["reads"] for one in counts][1]


def test_messages_deleted_by_the_source_are_lost_to_disconnected_members():
    """Ledgers of five: at 1,000 ms the left one is unloaded.

    Back at 1,600 ms, its members have lost what the source deleted.
    """
    small = (
        "managedLedgerMaxEntriesPerLedger: 5, managedLedgerMinLedgerRolloverTimeMinutes: 0, "
        "retentionCheckIntervalInSeconds: 1"
    )
    text = SHADOWS.replace("managedLedgerDefaultMarkDeleteRateLimit: 0", small).replace(
        "connectTime: 2ms, ", "connectTime: 90ms, "
    )
    world = finished_world(
        scenario_text(
            text + "commands: [{at: 1010ms, do: topic.unload, cluster: a, topic: t-left}]\n",
            {"left": {"topic": "t-left", "subscriptions": 5}},
            written_out=False,
        )
    )
    found = world.summary()
    assert found["audiences"]["left"]["lost_to_retention"] > 0 and found["violations"] == []
    left = found["audiences"]["left"]
    assert left["delivered"] - left["repeated"] + left["lost_to_retention"] == 5 * 40


EVENTS = st.one_of(
    st.tuples(
        st.just("do: topic.unload, cluster: a"),
        st.sampled_from(
            [f", topic: {topic}{broker}" for topic in "tu" for broker in ("", ", broker: x", ", broker: y")]
        ),
    ),
    st.tuples(
        st.just("do: topic.crash, cluster: a"),
        st.sampled_from(
            [
                f", topic: {topic}, downtime: {downtime}ms"
                for topic in "tu"
                for downtime in (0, 10, 90, 250, 900)
            ]
        ),
    ),
    # and how long it is down, in ms
    st.tuples(st.just("do: cluster.crash, cluster: a"), st.sampled_from([1, 30, 150, 700])),
)


@st.composite
def broadcasts(draw):
    """A body with two topics at two brokers, faults and commands, and an audience of each topic."""
    x = f"dispatchTime: {draw(st.integers(1, 3000))}us, connectTime: {draw(st.integers(0, 20))}ms" + draw(
        st.sampled_from(["", ", bandwidth: 1MB/s"])
    )
    small = (
        f"managedLedgerMaxEntriesPerLedger: {draw(st.sampled_from([5, 50000]))}, "
        f"managedLedgerMinLedgerRolloverTimeMinutes: 0"
    )
    body = (
        f"clusters: {{a: {{settings: {{managedLedgerDefaultMarkDeleteRateLimit: 0, {small}}}}}}}\ntopics: "
        f"{{t: {{clusters: [a]}}, u: {{clusters: [a]}}}}\n"
    )
    body += (
        f"brokers: {{x: {{cluster: a, {x}}}, y: {{cluster: a, dispatchTime: 1ms, connectTime: "
        f"{draw(st.sampled_from([0, 0, 5]))}ms}}}}\nproducers:\n"
    ) + "".join(
        (
            f"  {name}: {{topic: {topic}, cluster: a, start: {draw(st.integers(100, 600))}ms, every: "
            f"{draw(st.integers(3, 60))}ms, count: {draw(st.integers(1, 25))}, batch: "
            f"{draw(st.sampled_from([1, 1, 3]))}}}\n"
        )
        for name, topic in (("p", "t"), ("q", "u"))
    )
    at_ms, commands = 601, []
    for gap_ms, (what, more) in draw(st.lists(st.tuples(st.integers(1, 400), EVENTS), max_size=4)):
        at_ms += gap_ms
        commands.append(f"  - {{at: {at_ms}137us, {what}{more if isinstance(more, str) else ''}}}\n")
        if not isinstance(more, str):
            at_ms += more
            commands.append(f"  - {{at: {at_ms}137us, do: cluster.restart, cluster: a}}\n")
    keys = {
        "start": st.integers(0, 900).map("{}ms".format),
        "stop": st.integers(901, 1900).map("{}ms".format),
    }
    one = st.fixed_dictionaries(
        {"subscriptions": st.integers(1, 12), "initialPosition": st.sampled_from(["Latest", "Earliest"])},
        optional=keys,
    )
    return body + ("commands:\n" + "".join(commands) if commands else ""), {
        "readers": {"topic": "t", **draw(one)},
        "viewers": {"topic": "u", **draw(one)},
    }


@examples(15, suppress_health_check=[HealthCheck.too_slow])
@given(broadcasts())
def test_random_broadcasts_have_the_rows_of_the_ordinary_engine(broadcast):
    """Sizes, limits, instants, unloads and crashes at random: the same rows as the ordinary engine's, and
    no violation.
    """
    assert violations_of(assert_same_rows(*broadcast)) == []


# --- derived by hand


def test_latency_by_place_in_the_queue_and_time_to_connect():
    world = finished_world(
        TOPIC
        + (
            "brokers: {x: {cluster: a, dispatchTime: 145us, connectTime: 30ms}}\nproducers: {p: {topic: t, "
            "cluster: a, at: [4s], size: 1KiB}}\n"
        )
        + "audiences: {readers: {topic: t, cluster: a, subscriptions: 100}}\n"
    )
    found = world.summary()["audiences"]["readers"]
    assert found["connect_us"] == 100 * 30 * MS
    # Place k is served after k x 145 us: mean 50.5 x 145 rounded down, p50 the 50th, p99 the 99th.
    assert found["latency"] == {
        "delivered": 100,
        "mean_us": 7322,
        "p50_us": 7250,
        "p99_us": 14_355,
        "max_us": 14_500,
    }
    assert world.broker_load()["audiences"]["readers/t"]["latency_by_place"][:3] == [
        [0, 145],
        [1, 290],
        [2, 435],
    ]
    assert found["backlog"] == 0 and found["connected"] == 100
    figures = world.summary()["brokers"]["x"]
    assert (
        figures["dispatches"],
        figures["bytes_out"],
        figures["busy_us"],
        figures["bytes_out_per_s_max"],
    ) == (100, 102_400, 14_500, 102_400)


def test_each_member_is_a_subscription_with_its_own_name():
    world = finished_world(
        TOPIC
        + BROKER
        + "producers: {p: {topic: t, cluster: a, at: [1s]}}\n"
        + "audiences: {readers: {topic: t, cluster: a, subscriptions: 3}}\n"
    )
    found = rows(world, "message.delivered")
    assert [(row["subscription"], row["client"]) for row in found] == [
        ("readers", "readers-1"),
        ("readers", "readers-2"),
        ("readers", "readers-3"),
    ]
    assert "readers" not in world.summary()["subscriptions"] and "readers" not in world.summary()["latency"]
    assert world.trace.row(found[0]["cause_seq"])["type"] == "message.dispatched"
    assert world.trace.row(found[0]["evidence_seq"])["type"] == "message.stored"


def test_an_audience_that_stops_frees_its_broker():
    body = (
        TOPIC
        + BROKER
        + (
            "producers: {p: {topic: t, cluster: a, start: 1s, every: 50ms, count: 40}}\nsubscriptions: {z: "
            "{topic: t}}\nconsumers: {z-c: {subscription: z, cluster: a}}\n"
        )
    )
    world = finished_world(
        body + "audiences: {readers: {topic: t, cluster: a, subscriptions: 40, stop: 2s}}\n"
    )
    waited = {
        row["sequence_id"]: row["at_us"] - (SECOND + row["sequence_id"] * 50 * MS)
        for row in rows(world, "message.delivered", subscription="z")
    }
    assert [waited[number] for number in (0, 19, 20, 39)] == [41 * MS, 41 * MS, MS, MS]
    assert len(rows(world, "consumer.disconnected", subscription="readers", reason="closed")) == 40
    do_stop = rows(world, "message.delivered", subscription="readers")
    assert do_stop[-1]["at_us"] <= 2 * SECOND


def test_trimming_waits_for_the_slowest_member():
    settings_ = (
        "clusters: {a: {settings: {managedLedgerMaxEntriesPerLedger: 5, "
        "managedLedgerMinLedgerRolloverTimeMinutes: 0, retentionCheckIntervalInSeconds: 1}}}\ntopics: {t: "
        "{clusters: [a]}}\n"
    )
    body = settings_ + (
        "brokers: {x: {cluster: a, dispatchTime: 20ms}}\nproducers: {p: {topic: t, cluster: a, start: "
        "100ms, every: 10ms, count: 20}}\n"
    )
    world = finished_world(body + "audiences: {readers: {topic: t, cluster: a, subscriptions: 10}}\n")
    last = {row["sequence_id"]: row["seq"] for row in rows(world, "message.delivered")}
    removed = rows(world, "message.removed")
    assert len(removed) >= 15 and all(row["seq"] > last[row["sequence_id"]] for row in removed)
    assert world.summary()["violations"] == []


# --- one digest


def busy():
    commands = (
        "commands: [{at: 700ms, do: topic.unload, cluster: a, topic: t, broker: y}, {at: 1200ms, do: "
        "cluster.crash, cluster: a}, {at: 1500ms, do: cluster.restart, cluster: a}]\n"
    )
    return load_scenario_text(HEAD + scenario_text(TWO + commands, BOTH, written_out=False))


def at_once():
    world = World.from_scenario(busy())
    world.run()
    return world


def test_seek_cut_step_fork_and_replay_keep_the_digest():
    whole = at_once()
    cut = World.from_scenario(busy())
    for at_us in (503_001, 650_000, 1_490_000, 510_000, 2_500_000, 700_000):
        cut.seek(at_us=at_us)
    while cut.now_us < 800 * MS:
        assert cut.step("everything") is not None
    for _ in range(5):
        cut.step_back("everything")
    fork = cut.fork()
    for world in (cut, fork):
        world.run()
        assert world.digest() == whole.digest()
        assert world.summary()["audiences"] == whole.summary()["audiences"]


@examples(6)
@given(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=12), st.integers(1, 50))
def test_cutting_a_run_at_any_instant_keeps_the_digest(instants, events):
    world = World.from_scenario(busy())
    for at_us in sorted(instants):
        while world.advance(at_us, events):
            pass
        assert world.now_us == at_us
        assert world.trace.at_us(world.seq - 1) <= at_us
    world.run()
    assert world.digest() == at_once().digest()


@pytest.mark.parametrize("rows_max", [400, 1777, 3001])
def test_a_lab_at_its_row_limit_pauses_at_the_same_instant_however_it_is_cut(rows_max):
    found = []
    for events in (1, 7, 4000):
        world = World.from_scenario(busy(), rows_max=rows_max)
        while world.advance(10 * SECOND, events):
            pass
        assert world.limit_reached and world.seq <= rows_max
        found.append((world.now_us, world.seq, world.digest()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", ["broadcast", "starved-subscription"])
def test_a_lab_with_shadow_topics_pauses_at_its_row_limit_however_it_is_cut(name):
    found = []
    for events in (500, 4000):
        world = World.open(name, rows_max=2_000)
        while world.advance(world.scenario.until_us, events):
            pass
        assert world.limit_reached and world.seq <= 2_000
        found.append((world.now_us, world.seq, world.digest()))
    assert found[0] == found[1]


def test_a_command_in_the_past_of_a_broadcast_begins_a_branch():
    world = at_once()
    world.seek(at_us=600 * MS)
    do(world, "topic.unload", cluster="a", topic="u", broker="x")
    world.run()
    other = World.replay(world.scenario, world.seed, world.command_log, world.now_us)
    assert world.digest() == other.digest() != at_once().digest()


# --- refusals


@pytest.mark.parametrize(
    "text, path, what",
    [
        (
            "audiences: {readers: {topic: t, cluster: b, subscriptions: 3}}",
            "audiences.readers.cluster",
            "topic t is not in b",
        ),
        (
            "audiences: {readers: {topic: u, cluster: a, subscriptions: 3}}",
            "audiences.readers.topic",
            'there is no topic "u"',
        ),
        (
            "audiences: {readers: {topic: t, cluster: a, subscriptions: 0}}",
            "audiences.readers.subscriptions",
            "0 is too small",
        ),
        (
            "audiences: {readers: {topic: t, cluster: a, subscriptions: 200001}}",
            "audiences.readers.subscriptions",
            "200001 is too large",
        ),
        (
            "audiences: {readers: {topic: t, cluster: a, subscriptions: 3, start: 2s, stop: 1s}}",
            "audiences.readers.stop",
            "is before start",
        ),
        (
            (
                "audiences: {readers: {topic: t, cluster: a, subscriptions: 3}}\nsubscriptions: "
                "{readers: {topic: "
                "t}}"
            ),
            "subscriptions.readers",
            "is the name of audience readers, or of a member of it",
        ),
        (
            (
                "audiences: {p: {topic: t, cluster: a, subscriptions: 3}}\nproducers: {p-2: {topic: t, "
                "cluster: a}}"
            ),
            "producers.p-2",
            "is the name of audience p, or of a member of it",
        ),
    ],
)
def test_an_invalid_audience_is_refused_with_path_and_reason(text, path, what):
    with pytest.raises(ScenarioError) as caught:
        load_scenario_text(
            HEAD
            + (
                "clusters: {a: {}, b: {}}\ntopics: {t: {clusters: [a]}}\nbrokers: {x: {cluster: a}, y: "
                "{cluster: b}}\n"
            )
            + text
            + "\n"
        )
    assert (path, what) in [(problem.path, problem.what) for problem in caught.value.problems]


def test_an_audience_needs_a_declared_broker():
    with pytest.raises(ScenarioError, match="a declares no brokers"):
        load_scenario_text(HEAD + TOPIC + "audiences: {readers: {topic: t, cluster: a, subscriptions: 3}}\n")


def test_commands_on_a_member_of_an_audience_are_refused():
    world = finished_world(
        TOPIC + BROKER + "audiences: {readers: {topic: t, cluster: a, subscriptions: 3}}\n"
    )
    for command in (
        {"do": "subscription.clear", "subscription": "readers", "cluster": "a"},
        {"do": "client.kill", "client": "readers-1"},
    ):
        answer = world.apply(command)
        assert (answer.ok, answer.code) == (False, "unknown-name") and answer.hint


def test_delivery_instants_have_microseconds():
    world = finished_world(
        TOPIC
        + (
            "brokers: {x: {cluster: a, dispatchTime: 145us}}\nproducers: {p: {topic: t, cluster: a, at: "
            "[1s]}}\naudiences: {readers: {topic: t, cluster: a, subscriptions: 2}}\n"
        )
    )
    assert at_ms(rows(world, "message.delivered")) == [1000.145, 1000.29]


# --- topics created and deleted


def test_new_partitions_get_the_audience_too():
    body = (
        "clusters: {a: {}}\ntopics: {t: {clusters: [a], partitions: 2}}\nbrokers: {x: {cluster: a, "
        "dispatchTime: 100us, connectTime: 1ms}}\nproducers: {p: {topic: t, cluster: a, start: 100ms, "
        "every: 10ms, count: 200}}\n"
    )
    text = body + (
        "audiences: {readers: {topic: t, cluster: a, subscriptions: 4}}\ncommands: [{at: 1s, do: "
        "topic.grow, topic: t, partitions: 3}]\n"
    )
    world = finished_world(text)
    found = world.summary()
    assert sorted({row["topic"] for row in rows(world, "consumer.connected")}) == [
        f"t-partition-{number}" for number in range(3)
    ]
    # Latest: the first few messages of the new one are missed
    assert (
        found["audiences"]["readers"]["delivered"] > 4 * 190 and found["audiences"]["readers"]["backlog"] == 0
    )
    assert found["violations"] == []


def test_a_topic_deleted_and_created_again_is_read_from_its_start():
    body = TOPIC + BROKER + PRODUCER.replace("count: 40", "count: 10")
    commands = (
        "commands: [{at: 790ms, do: topic.delete, cluster: a, topic: t}, {at: 795ms, do: producer.stop, "
        "producer: p}, {at: 800ms, do: topic.delete, cluster: a, topic: t, force: true}, {at: 1s, do: "
        "topic.create, cluster: a, topic: t}]\n"
    )
    world = finished_world(
        body + "audiences: {readers: {topic: t, cluster: a, subscriptions: 5}}\n" + commands
    )
    found = world.summary()
    refused = found["commands"][0]
    assert (refused["code"], [command["ok"] for command in found["commands"]]) == (
        "412",
        [False, True, True, True],
    )
    assert "5 consumers" in refused["error"]
    assert found["brokers"]["x"]["topics"] == ["t"] and found["audiences"]["readers"]["connected"] == 5
    assert len(rows(world, "consumer.connected", client="readers-5")) == 2 and found["violations"] == []
    world.seek(at_us=900 * MS)
    assert (
        world.summary()["brokers"]["x"]["topics"] == []
        and world.summary()["audiences"]["readers"]["brokers"] == []
    )
