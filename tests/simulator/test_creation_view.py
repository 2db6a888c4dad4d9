"""What the page shows of topic creation: shapes, policies, starts.

Reading the view changes nothing, and the curves agree with the rows.
"""

import json

import pytest

from simulator import NotOffered, World, load_scenario, load_scenario_text, scenario_names
from simulator.protocols.pulsar.views.creation import POINTS_MAX
from tests.simulator.creation_runs import SCHEMAS, opened, replicator
from tests.simulator.engine_runs import SECOND, do, rows

PRODUCER = "producers: {p: {topic: t, cluster: r1, every: 100ms, start: 50ms}}"


def test_both_sides_are_listed_with_their_policies_and_topics():
    world = opened(
        exists="{r1: 2, r2: 3}",
        overrides="isAllowAutoUpdateSchema: false, changeEventsPartitions: 1",
        policies="allowAutoTopicCreation: false,",
    )
    world.run(SECOND)
    told = world.creation()
    here, there = (told["clusters"][name] for name in ("r1", "r2"))
    assert here["topics"]["t"] | {"list": None} == {
        "namespace": "shop/orders",
        "partitions": 2,
        "logs_only": [],
        "schemas": [],
        "list": None,
        "list_of": "namespace",
    }
    assert (
        there["topics"]["t"]["partitions"] == 3
        and here["namespaces"]["shop/orders"]["replicationClusters"] == "[r1, r2]"
    )
    assert (
        there["namespaces"]["shop/orders"]["autoUpdateSchema"] == "replicators only"
        and here["namespaces"]["shop/orders"]["autoTopicCreation"] == "not allowed"
    )
    assert there["namespaces"]["shop/orders"]["__change_events"] == "1 partitions"
    one = told["replicators"][0]
    assert {name: one[name] for name in replicator(world) if name != "partitions"} == {
        name: value for name, value in replicator(world).items() if name != "partitions"
    }
    assert SECOND < one["next_try_us"] < 2 * SECOND and len(one["parts"]) == 2


def test_logs_only_named_like_partitions_are_listed():
    world = opened(exists="{r1: 2}", options="replicationTopicCreation: before, topicConsistencyCheck: false")
    world.run(SECOND)
    assert world.creation()["clusters"]["r2"]["topics"]["t"] | {"list": None} == {
        "namespace": "shop/orders",
        "partitions": None,
        "logs_only": ["t-partition-0", "t-partition-1"],
        "schemas": [],
        "list": None,
        "list_of": "namespace",
    }


def test_refusals_and_the_delay_over_time():
    world = opened(exists="{r1: 2, r2: 3}", clients=PRODUCER)
    world.run(10 * SECOND)
    told = world.replicator_starts("r1", "r2", "t")
    assert told["refused"]["at_us"] == [row["at_us"] for row in rows(world, "replicator.start-refused")]
    assert told["curve"]["waiting"][-1] == replicator(world)["replication_backlog"] == 100
    assert set(told["curve"]["delay_us"]) == {0}, "nothing is on the wire"
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    world.run(30 * SECOND)
    told = world.replicator_starts("r1", "r2", "t")
    assert (
        replicator(world)["connected"]
        and max(told["curve"]["waiting"]) > 100
        and told["curve"]["waiting"][-1] <= 1
    )
    assert len(told["curve"]["at_us"]) == POINTS_MAX


def test_the_delay_curve_agrees_with_the_stats_at_each_instant():
    text = opened(clients=PRODUCER, exists="{r1: 2, r2: 2}").scenario.canonical_text.replace(
        "r1 -> r2: {latency: 10ms}", "r1 -> r2: {latency: 2500ms}"
    )
    world = World.from_scenario(load_scenario_text(text))
    world.run(6 * SECOND)
    do(world, "link.cut", link="r1 -> r2")
    world.run(8 * SECOND)
    do(world, "link.heal", link="r1 -> r2")
    world.run(20 * SECOND)
    curve = world.replicator_starts("r1", "r2", "t")["curve"]
    assert max(curve["delay_us"]) > SECOND and 0 in curve["delay_us"]
    for at_us, delay_us in list(zip(curve["at_us"], curve["delay_us"], strict=True))[::9]:
        world.seek(at_us)
        assert replicator(world)["delay_s"] == delay_us // SECOND, at_us


def test_a_replicator_stopped_by_a_schema_is_listed_as_refused():
    world = opened(
        clients=PRODUCER.replace("50ms}", "50ms, schema: v1}"),
        schemas=SCHEMAS,
        overrides="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false",
    )
    world.run(2 * SECOND)
    assert world.replicator_starts("r1", "r2", "t")["refused"]["why"] == [
        "Schema not found and schema auto updating is disabled."
    ]


@pytest.mark.parametrize("name", [name for name in scenario_names() if load_scenario(name).clusters])
def test_reading_the_view_of_any_scenario_changes_nothing(name):
    world, other = World.open(name), World.open(name)
    until_us = min(world.scenario.until_us, 3 * SECOND)
    for at_us in (0, until_us // 2, until_us):
        world.run(at_us)
        told = world.creation()
        json.dumps(told)
        for one in told["replicators"]:
            json.dumps(world.replicator_starts(one["from"], one["to"], one["topic"]))
    other.run(until_us)
    assert world.digest() == other.digest() and world.summary() == other.summary()


def test_replicators_of_a_region_that_is_down_are_not_running():
    world = World.open("two-regions")
    world.run(until_us=1_000_000)
    assert {one["not_running"] for one in world.creation()["replicators"]} == {None}
    world.apply({"do": "cluster.crash", "cluster": "us-west"})
    world.run(until_us=1_500_000)
    found = {one["from"]: (one["not_running"], one["next_try_us"]) for one in world.creation()["replicators"]}
    assert found["us-west"] == ("us-west is down", None) and found["us-east"][0] is None
    world.apply({"do": "topic.crash", "cluster": "us-east", "topic": "orders", "downtime": "1s"})
    world.run(until_us=1_600_000)
    assert {one["from"]: one["not_running"] for one in world.creation()["replicators"]}[
        "us-east"
    ] == "the topic is not loaded in us-east"


@pytest.mark.parametrize(
    "ask",
    [
        lambda world: world.creation(),
        lambda world: world.replicator_starts("a", "b", "t"),
        lambda world: world.broker_load(),
        lambda world: world.marker(1),
    ],
)
def test_the_view_of_a_protocol_without_topic_creation_states_that(ask):
    with pytest.raises(NotOffered, match="his protocol"):
        ask(World.open("groups-killed"))
