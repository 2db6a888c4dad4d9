"""A replicator whose connection was lost: its producer reconnects by itself, without a start check.

`AbstractReplicator.startProducer` runs the check once per load. From then on `ProducerImpl` and
`ConnectionHandler` reconnect, and the peer's `ServerCnx.handleProducer` decides.
"""

import pytest

from tests.simulator.creation_runs import NAMESPACE, opened, replicator, shape
from tests.simulator.engine_runs import SECOND, do, rows

PRODUCER = "producers: {p: {topic: t, cluster: r1, every: 100ms, start: 50ms}}"


def deleted(partitions, **given):
    """A running replicator whose topic was deleted at the peer by force."""
    world = opened(exists=f"{{r1: {partitions}, r2: {partitions}}}", clients=PRODUCER, **given)
    world.run(SECOND)
    do(world, "topic.delete", cluster="r2", topic="t", force=True)
    world.run(2 * SECOND)
    return world


def errors(world):
    found = replicator(world)
    return {one["last_error"] for one in found.get("partitions", {"": found}).values()}


def test_counts_that_diverged_do_not_stop_a_reconnection():
    world = opened(exists="{r1: 2, r2: 2}", clients=PRODUCER)
    world.run(SECOND)
    do(world, "link.cut", link="r1 -> r2")
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    do(world, "link.heal", link="r1 -> r2")
    assert rows(world, "topic.creation-refused")[0]["detail"] == "the link r1 -> r2 is cut"
    world.run(3 * SECOND)
    parts = replicator(world)["partitions"]
    assert [one["connected"] for one in parts.values()] == [True, True, False]
    assert parts["t-partition-2"]["last_error"].endswith("are different. local: 3, remote: 2")
    do(world, "topic.unload", cluster="r1", topic="t")
    world.run(4 * SECOND)
    assert {one["last_error"] for one in replicator(world)["partitions"].values()} == {
        "Can not start replicator because the partitions between local and remote cluster are different. "
        "local: 3, remote: 2"
    }, "a load has a start check"


@pytest.mark.parametrize("flag", ["true", "false"])
def test_a_reconnecting_producer_creates_a_plain_topic_by_the_peers_policies(flag):
    """PIP-370's flag concerns the start check only."""
    world = deleted(
        0,
        settings=f"createTopicToRemoteClusterForReplication: {flag}",
        overrides="allowAutoTopicCreationType: partitioned, defaultNumPartitions: 2",
    )
    assert shape(world, "r2") == 0 and replicator(world)["connected"]
    assert rows(world, "topic.created", cluster="r2")[-1]["reason"] == "reconnection"
    assert world.summary()["violations"] == []


def test_a_partition_without_its_topic_is_refused_until_the_topic_is_created():
    """`BrokerService.validateTopicConsistency` (PIP-414)."""
    world = deleted(2)
    assert shape(world, "r2") is None and errors(world) == {
        f"Partition metadata not found for the partitioned topic: persistent://{NAMESPACE}/t-partition-{number}"
        for number in (0, 1)
    }
    do(world, "topic.create", cluster="r2", topic="t", partitions=2)
    world.run(8 * SECOND)
    assert replicator(world)["connected"]


@pytest.mark.parametrize("partitions", [0, 2])
def test_a_producer_whose_topic_is_gone_for_good_is_closed(partitions):
    """`ProducerImpl.closeWhenReceivedUnrecoverableError`: only a load of the local topic helps."""
    world = deleted(partitions, settings="allowAutoTopicCreation: false")
    assert all(text.startswith("Topic not found persistent://") for text in errors(world))
    assert len(rows(world, "replicator.start-refused")) == max(partitions, 1), "no retry"
    do(world, "topic.create", cluster="r2", topic="t", partitions=partitions)
    world.run(30 * SECOND)
    assert not replicator(world)["connected"] and replicator(world)["replication_backlog"] > 250
    do(world, "topic.unload", cluster="r1", topic="t")
    world.run(31 * SECOND)
    assert replicator(world)["connected"] and replicator(world)["replication_backlog"] < 5
    assert world.summary()["violations"] == []


def test_fewer_partitions_close_the_producers_beyond_them():
    world = opened(exists="{r1: 2, r2: 2}", clients=PRODUCER)
    world.run(SECOND)
    do(world, "link.cut", link="r1 -> r2")
    do(world, "topic.delete", cluster="r2", topic="t", force=True)
    do(world, "topic.create", cluster="r2", topic="t", partitions=1)
    do(world, "link.heal", link="r1 -> r2")
    world.run(3 * SECOND)
    parts = replicator(world)["partitions"]
    assert [one["connected"] for one in parts.values()] == [True, False]
    assert parts["t-partition-1"]["last_error"] == f"Topic not found persistent://{NAMESPACE}/t-partition-1"


def test_a_plain_topic_replaced_by_a_partitioned_one_is_refused():
    world = opened(clients=PRODUCER)
    world.run(SECOND)
    do(world, "link.cut", link="r1 -> r2")
    do(world, "topic.delete", cluster="r2", topic="t", force=True)
    do(world, "topic.create", cluster="r2", topic="t", partitions=2)
    do(world, "link.heal", link="r1 -> r2")
    world.run(3 * SECOND)
    assert replicator(world)["last_error"] == (
        f"Found partitioned metadata for non-partitioned topic: persistent://{NAMESPACE}/t"
    )
