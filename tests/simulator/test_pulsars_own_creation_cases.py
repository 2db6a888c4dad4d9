"""Pulsar's own tests of replication and topic creation, case by case, as runs of the lab.

Each must end as Pulsar asserts it.

Read in the newest versions available (mid-2026): OneWayReplicatorTest,
DisabledCreateTopicToRemoteClusterForReplicationTest, OneWayReplicatorSchemaValidationEnforcedTest;
SetReplicationClustersValidationTest is in `test_creation_set_clusters`. Names of their methods are in each
docstring. Out of scope here: non-persistent topics, clusters that share a configuration store, publish rates
as topic policies.
"""

import json

import pytest

from tests.simulator.creation_runs import NAMESPACE, SCHEMAS, opened, refused, replicator, schemas, shape
from tests.simulator.engine_runs import SECOND, do, numbers, rows

PRODUCER = "producers: {p: {topic: t, cluster: r1, at: [500ms]}}"
ON_COMMAND = "producers: {p: {topic: t, cluster: r1}}"
BOTH = ["r1", "r2"]


def stored(world, cluster="r2"):
    return numbers(rows(world, "message.stored", cluster=cluster))


@pytest.mark.parametrize("partitions", [0, 1])
def test_delete_topic_when_replicating(partitions):
    """OneWayReplicatorTest.testDeleteTopicWhenReplicating: at the remote, 412 and "1 replicators"."""
    world = opened(exists=f"{{r1: {partitions}}}", clients=PRODUCER)
    world.run(2 * SECOND)
    code, error = refused(world, "topic.delete", cluster="r2", topic="t")
    assert code == "412" and "1 replicators" in error


def test_delete_remote_topic_by_global_policy():
    """testDeleteRemoteTopicByGlobalPolicy: a global list of [r1] reaches r2, which deletes the topic.

    When the list is removed, the topic exists again.
    """
    world = opened(exists="{r1: 1}", overrides="", clients=ON_COMMAND)
    world.run(SECOND)
    assert replicator(world)["connected"]
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"], **{"global": True})
    world.run(2 * SECOND)
    assert shape(world, "r2") is None and world.summary()["replicators"]["r1"] == {}
    assert rows(world, "topic.deleted", cluster="r2")[0]["reason"] == "kept-out"
    do(world, "topic.remove-replication-clusters", cluster="r1", topic="t", **{"global": True})
    world.run(4 * SECOND)
    assert shape(world, "r2") == 1 and replicator(world)["connected"]


def test_policies_overwrite():
    """testPoliciesOverWrite: local before global before namespace.

    r2's local list keeps its topic from being deleted.
    """
    world = opened(exists="{r1: 1}", clients=ON_COMMAND)
    world.run(SECOND)
    do(world, "topic.set-replication-clusters", cluster="r2", topic="t", clusters=["r2"])
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"], **{"global": True})
    world.run(2 * SECOND)
    assert shape(world, "r2") == 1 and world.summary()["replicators"]["r1"] == {}
    do(world, "topic.remove-replication-clusters", cluster="r1", topic="t", **{"global": True})
    world.run(3 * SECOND)
    assert replicator(world)["connected"]
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"])
    assert world.summary()["replicators"]["r1"] == {}
    do(world, "topic.remove-replication-clusters", cluster="r1", topic="t")
    world.run(4 * SECOND)
    assert replicator(world)["connected"]


def test_create_remote_consumer_first():
    """testCreateRemoteConsumerFirst: the replicator's producer has no schema.

    A consumer with one subscribes nevertheless.
    """
    clients = ON_COMMAND + (
        "\nsubscriptions: {s1: {topic: t}}\nconsumers: {c: {subscription: s1, cluster: r2, start: 1s, "
        "schema: text}}"
    )
    world = opened(exists="{}", clients=clients, schemas=SCHEMAS)
    world.run(2 * SECOND)
    assert replicator(world)["connected"] and len(rows(world, "consumer.connected")) == 1


@pytest.mark.parametrize("partitions", [0, 2])
def test_delete_topics_after_replication_is_disabled(partitions):
    """testDeleteNonPartitionedTopic, testDeletePartitionedTopic."""
    world = opened(exists=f"{{r1: {partitions}}}", clients=PRODUCER)
    world.run(2 * SECOND)
    assert stored(world) == [0]
    for cluster in BOTH:
        do(world, "topic.set-replication-clusters", cluster=cluster, topic="t", clusters=[cluster])
    for cluster in BOTH:
        do(world, "topic.delete", cluster=cluster, topic="t")
    world.run(5 * SECOND)
    assert shape(world, "r1") is shape(world, "r2") is None


def test_no_expand_topic_partitions_when_disable_topic_level_replication():
    """testNoExpandTopicPartitionsWhenDisableTopicLevelReplication.

    3 here, 2 there, also after three seconds.
    """
    world = opened(exists="{r1: 2}")
    world.run(SECOND)
    for cluster in BOTH:
        do(world, "topic.set-replication-clusters", cluster=cluster, topic="t", clusters=[cluster])
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    world.run(4 * SECOND)
    assert (shape(world, "r1"), shape(world, "r2")) == (3, 2)


def test_expand_topic_partitions_on_namespace_level_replication():
    """testExpandTopicPartitionsOnNamespaceLevelReplication."""
    world = opened(exists="{r1: 2}")
    world.run(SECOND)
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    world.run(2 * SECOND)
    assert (shape(world, "r1"), shape(world, "r2")) == (3, 3)


@pytest.mark.parametrize("level", ["topic", "namespace"])
def test_reload_with_topic_level_geo_replication(level):
    """testReloadWithTopicLevelGeoReplication.

    Messages published while nothing was replicated are sent after an unload (#22890).
    """
    world = opened(clients=ON_COMMAND, replicated=level == "namespace")
    if level == "topic":
        do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=BOTH)
    world.run(SECOND)
    do(world, "link.cut", link="r1 -> r2")
    do(world, "producer.publish", producer="p", count=1)
    world.run(3 * SECOND)
    assert replicator(world)["replication_backlog"] == 1 and stored(world) == []
    do(world, "link.heal", link="r1 -> r2")
    do(world, "topic.unload", cluster="r1", topic="t")
    world.run(5 * SECOND)
    assert replicator(world)["replication_backlog"] == 0 and stored(world) == [0]


@pytest.mark.parametrize("start_at, arrives", [("latest", []), ("earliest", [0])])
def test_config_replication_start_at(start_at, arrives):
    """testConfigReplicationStartAt: a message from before replication was enabled."""
    world = opened(
        exists="{r1: 0}",
        clients=ON_COMMAND,
        replicated=False,
        settings=f"defaultRetentionTimeInMinutes: 60, replicationStartAt: {start_at}",
    )
    do(world, "producer.publish", producer="p", count=1)
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=BOTH)
    world.run(3 * SECOND)
    assert replicator(world)["connected"] and stored(world) == arrives


@pytest.mark.parametrize("both_ways", [False, True])
def test_different_topic_creation_rule(both_ways):
    """testDifferentTopicCreationRule: r2 lets clients create 2 partitions.

    The replicator creates a plain topic, as in r1.
    """
    world = opened(
        exists="{r1: 0}",
        replicated=False,
        overrides="allowAutoTopicCreationType: partitioned, defaultNumPartitions: 2",
        clients=ON_COMMAND,
    )
    for cluster in BOTH if both_ways else BOTH[:1]:
        do(
            world,
            "namespace.set-clusters",
            cluster=cluster,
            namespace=NAMESPACE,
            clusters=BOTH,
            compareTopicPartitions=False,
        )
    do(world, "producer.publish", producer="p", count=1)
    world.run(3 * SECOND)
    assert world.topics["r1"] == world.topics["r2"] == ["t"] and stored(world) == [0]


def test_replication_count_metrics():
    """testReplicationCountMetrics (PIP-370): disconnected while the start fails, connected afterwards."""
    world = opened(
        exists="{r1: 0}", replicated=False, settings="createTopicToRemoteClusterForReplication: false"
    )
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=BOTH)
    world.run(SECOND)

    def counts():
        text = world.admin("metrics", "r1", "t")["text"]
        values = {
            line.split("{")[0]: float(line.split()[-1])
            for line in text.splitlines()
            if line.startswith("pulsar_replication_") and "connected_count" in line
        }
        return values["pulsar_replication_connected_count"], values["pulsar_replication_disconnected_count"]

    assert counts() == (0, 1)
    do(world, "topic.create", cluster="r2", topic="t")
    world.run(5 * SECOND)
    assert counts() == (1, 0)


def test_receiver_side_replication_stats():
    """testReceiverSideReplicationStats (#25583): the target of one-way replication shows what comes in.

    `connected` is the outbound side, which there is not.
    """
    world = opened(exists="{r1: 0}", clients="producers: {p: {topic: t, cluster: r1, every: 100ms}}")
    world.run(5 * SECOND)
    found = json.loads(world.admin("stats", "r2", "t")["text"])["replication"]
    assert list(found) == ["r1"] and found["r1"]["msgRateIn"] > 9 and found["r1"]["msgThroughputIn"] > 9_000
    assert found["r1"]["inboundConnectedSince"] == "1970-01-01T00:00:00.04Z"
    assert (found["r1"]["connected"], found["r1"]["msgInCount"]) == (False, 0)
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"])
    assert json.loads(world.admin("stats", "r2", "t")["text"])["replication"] == {}


def test_close_topic_after_start_replication_failed():
    """testCloseTopicAfterStartReplicationFailed: a closed topic's retry does nothing.

    Only the new load's own replicator requests the start check.
    """
    world = opened(exists="{r1: 0, r2: 2}")
    world.run(3 * SECOND)
    do(world, "topic.unload", cluster="r1", topic="t")
    world.run(5 * SECOND)
    waits = [
        row["duration_us"] for row in rows(world, "replicator.start-refused") if row["at_us"] > 3 * SECOND
    ]
    assert len(waits) == len(
        {row["at_us"] for row in rows(world, "replicator.start-refused") if row["at_us"] > 3 * SECOND}
    ), "one asks, not two"


@pytest.mark.parametrize("deduplication", ["false", "true"])
def test_incompatible_multi_version_schema(deduplication):
    """testIncompatibleMultiVersionSchema: STRING, BOOLEAN, STRING.

    Stuck in order through three unloads, freed by policy and unloads.
    """
    clients = (
        "producers: {p: {topic: t, cluster: r1}}\nsubscriptions: {s1: {topic: t, initialPosition: "
        "Earliest}}\nconsumers: {c: {subscription: s1, cluster: r2, start: 30s}}"
    )
    world = opened(
        exists="{r1: 0}",
        clients=clients,
        schemas=SCHEMAS,
        policies="schemaCompatibilityStrategy: ALWAYS_COMPATIBLE,",
        overrides="schemaCompatibilityStrategy: FORWARD",
        settings=f"brokerDeduplicationEnabled: {deduplication}",
    )
    world.run(SECOND)
    for schema in ("text", "flag", "text"):
        do(world, "producer.use-schema", producer="p", schema=schema)
        do(world, "producer.publish", producer="p", count=1)
    for _ in range(3):
        world.run(world.now_us + 2 * SECOND)
        do(world, "topic.unload", cluster="r2", topic="t")
    world.run(world.now_us + 2 * SECOND)
    printed = world.admin("stats-internal", "r1", "t")["text"]
    assert '"individuallyDeletedMessages" : "[]"' in printed, "no individual acks: everything waits in order"
    assert replicator(world)["replication_backlog"] == 2 and stored(world) == [0]
    do(
        world,
        "namespace.set-schema-compatibility-strategy",
        cluster="r2",
        namespace=NAMESPACE,
        strategy="ALWAYS_COMPATIBLE",
    )
    for cluster in ("r2", "r1"):
        do(world, "topic.unload", cluster=cluster, topic="t")
    world.run(40 * SECOND)
    assert (
        numbers(rows(world, "message.delivered")) == [0, 1, 2]
        and replicator(world)["replication_backlog"] == 0
    )
    assert schemas(world, "r2") == ["text", "flag"]


@pytest.mark.parametrize("partitions", [0, 4])
def test_replicator_create_topic(partitions):
    """testReplicatorCreateTopic."""
    world = opened(exists=f"{{r1: {partitions}}}", replicated=False, clients=PRODUCER)
    do(world, "namespace.set-clusters", cluster="r1", namespace=NAMESPACE, clusters=BOTH)
    world.run(3 * SECOND)
    assert shape(world, "r2") == partitions and world.topics["r1"] == world.topics["r2"]


@pytest.mark.parametrize("here, there", [(4, 0), (4, 8)])
def test_replicator_with_a_different_topic_across_clusters(here, there):
    """testReplicatorCreateTopicWhenTopicExistsWithDifferentTypeAcrossClusters,
    testReplicatorWhenPartitionCountsDiffer: no replicator is connected, nothing is created, each
    cluster keeps its own messages.
    """
    clients = (
        "producers:\n  p1: {topic: t, cluster: r1, at: [500ms]}\n  p2: {topic: t, cluster: r2, at: [500ms]}\n"
        "subscriptions: {test-sub: {topic: t, type: Shared, initialPosition: Earliest}}\nconsumers: "
        "{c2: {subscription: test-sub, cluster: r2, start: 1s}}"
    )
    world = opened(
        exists=f"{{r1: {here}, r2: {there}}}",
        replicated=False,
        overrides="allowAutoTopicCreationType: partitioned, defaultNumPartitions: 12",
        clients=clients,
    )
    for cluster in BOTH:
        do(
            world,
            "namespace.set-clusters",
            cluster=cluster,
            namespace=NAMESPACE,
            clusters=BOTH,
            compareTopicPartitions=False,
        )
    world.run(10 * SECOND)
    assert not replicator(world)["connected"] and not replicator(world, "r2", "r1")["connected"]
    assert (shape(world, "r1"), shape(world, "r2")) == (here, there)
    assert {(row["producer"], row["cluster"]) for row in rows(world, "message.delivered")} == {("p2", "r2")}


# --- DisabledCreateTopicToRemoteClusterForReplicationTest


@pytest.mark.parametrize("partitions, level", [(1, "namespace"), (1, "topic"), (0, "topic")])
def test_disabled_create_topic_to_remote_cluster(partitions, level):
    """testCreatePartitionedTopicWithNsReplication, testEnableTopicReplication, testNonPartitionedTopic."""
    clients = PRODUCER + (
        "\nsubscriptions: {s1: {topic: t, initialPosition: Earliest}}\nconsumers: {c: {subscription: s1, "
        "cluster: r2, start: 20s}}"
    )
    settings = (
        "createTopicToRemoteClusterForReplication: false, replicationStartAt: earliest, "
        "defaultRetentionTimeInMinutes: 60"
    )
    world = opened(exists="{}", replicated=False, settings=settings, clients=clients)
    do(world, "topic.create", cluster="r1", topic="t", partitions=partitions)
    if level == "namespace":
        do(world, "namespace.set-clusters", cluster="r1", namespace=NAMESPACE, clusters=BOTH)
    else:
        do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=BOTH)
    world.run(5 * SECOND)
    assert shape(world, "r2") is None and not replicator(world)["connected"]
    do(world, "topic.create", cluster="r2", topic="t", partitions=partitions)
    world.run(30 * SECOND)
    assert replicator(world)["connected"] and numbers(rows(world, "message.delivered")) == [0]


# --- OneWayReplicatorSchemaValidationEnforcedTest

ENFORCED = "isSchemaValidationEnforced: true, allowAutoTopicCreation: false"


def test_replication_with_avro_schema_with_schema_validation_enforced():
    """testReplicationWithAvroSchemaWithSchemaValidationEnforced (#25012)."""
    clients = (
        "producers: {p: {topic: t, cluster: r1, at: [1s], schema: v1}}\nsubscriptions: {sub: {topic: "
        "t}}\nconsumers: {c: {subscription: sub, cluster: r2, start: 500ms, schema: v1}}"
    )
    world = opened(settings=ENFORCED, clients=clients, schemas=SCHEMAS)
    for cluster in BOTH:
        do(world, "schema.upload", cluster=cluster, topic="t", schema="v1")
    world.run(3 * SECOND)
    assert numbers(rows(world, "message.delivered", cluster="r2")) == [0]


def test_replication_reconnect_with_schema_validation_enforced():
    """testReplicationReconnectWithSchemaValidationEnforced (#25437).

    A schema uploaded at the remote, then a reconnection.
    """
    world = opened(settings=ENFORCED, schemas=SCHEMAS)
    world.run(SECOND)
    do(world, "schema.upload", cluster="r2", topic="t", schema="v1")
    do(world, "link.cut", link="r1 -> r2")
    do(world, "link.heal", link="r1 -> r2")
    world.run(4 * SECOND)
    assert replicator(world)["connected"]
