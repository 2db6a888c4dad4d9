"""Topic creation compared with Pulsar's sources in a second review.

Cases that the first reading had missed.
"""

from __future__ import annotations

import pytest

from tests.simulator.creation_runs import NAMESPACE, SCHEMAS, V1, opened, refused, replicator, shape
from tests.simulator.engine_runs import MS, SECOND, do, open_world, rows

PRODUCER = "producers: {p: {topic: t, cluster: r1, every: 100ms, start: 50ms}}"


def set_clusters(world, cluster, *names):
    do(
        world,
        "namespace.set-clusters",
        cluster=cluster,
        namespace=NAMESPACE,
        clusters=list(names),
        compareTopicPartitions=False,
    )


# --- no topic is created where its namespace is missing or excludes the cluster


def two_namespaces(option="implemented"):
    """r1 replicates to r2, where the namespace does not exist."""
    return open_world(
        f"clusters: {{r1: {{}}, r2: {{}}}}\nlinks: {{default: {{latency: 10ms}}}}\noptions: "
        f"{{replicationTopicCreation: {option}}}\n"
        f"namespaces: {{{NAMESPACE}: {{clusters: [r1], replicationClusters: [r1, r2]}}}}\n"
        f"topics: {{t: {{clusters: [r1], namespace: {NAMESPACE}}}}}\n{PRODUCER}",
        until="30s",
        family="topic-creation",
    )


@pytest.mark.parametrize("option", ["implemented", "proposal", "before"])
def test_a_replicator_creates_no_topic_where_the_namespace_does_not_exist(option):
    world = two_namespaces(option)
    world.run(5 * SECOND)
    found = replicator(world)
    assert shape(world, "r2") is None and found["replication_backlog"] == 50 and not found["connected"]
    assert "Namespace not found" in found["last_error"] and found["retries"] >= 5
    do(world, "namespace.create", cluster="r2", namespace=NAMESPACE)
    world.run(20 * SECOND)
    assert (
        shape(world, "r2") == 0
        and replicator(world)["connected"]
        and replicator(world)["replication_backlog"] <= 1
    )


def test_the_first_refusal_is_recorded_when_the_answer_to_the_creation_request_arrives():
    world = two_namespaces()
    world.run(SECOND)
    first = rows(world, "replicator.start-refused")[0]
    assert (first["reason"], first["detail"]) == ("not-created", "404 Namespace not found")
    assert first["at_us"] == 4 * 10 * MS, "one round trip for the question, one for the order"


def test_a_replicator_creates_no_topic_in_a_cluster_removed_from_the_namespace():
    """checkReplication deletes it there; a request to create it is answered 412 like any other request."""
    world = opened(
        overrides="", replicated=False, policies="replicationClusters: [r1, r2],", clients=PRODUCER
    )
    world.run(SECOND)
    set_clusters(world, "r2", "r1")
    world.run(9 * SECOND)
    found = replicator(world)
    assert shape(world, "r2") is None and found["last_error"].startswith(
        "412 Namespace missing local cluster name in clusters list: local_cluster=r2"
    )
    assert [row["reason"] for row in rows(world, "topic.deleted")] == ["kept-out"] and found[
        "replication_backlog"
    ] > 70
    set_clusters(world, "r2", "r1", "r2")
    world.run(30 * SECOND)
    assert shape(world, "r2") == 0 and replicator(world)["connected"]


def test_a_copied_request_is_refused_in_a_cluster_removed_from_the_namespace():
    world = opened(
        exists="{}",
        overrides="replicationClusters: [r1],",
        replicated=False,
        policies="replicationClusters: [r1, r2],",
    )
    do(world, "topic.create", cluster="r1", topic="t", partitions=2)
    world.run(SECOND)
    assert shape(world, "r2") is None
    assert rows(world, "topic.creation-refused", reason="copied-request")[0]["detail"].startswith(
        "412 Namespace missing local cluster name"
    )


def test_set_replication_clusters_creates_no_topic_in_a_cluster_removed_from_the_namespace():
    world = opened(exists="{r1: 2}", overrides="replicationClusters: [r1],", replicated=False)
    code, words = refused(
        world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1", "r2"]
    )
    assert code == "412" and "local_cluster=r2" in words and shape(world, "r2") is None


def test_a_topic_excluded_by_its_namespace_is_deleted_when_it_is_loaded():
    world = opened(overrides="replicationClusters: [r1],", replicated=False)
    assert shape(world, "r1") == 0 and shape(world, "r2") is None
    assert [(row["cluster"], row["reason"], row["at_us"]) for row in rows(world, "topic.deleted")] == [
        ("r2", "kept-out", 0)
    ]


# --- allowed clusters (PIP-321) and lists of one


def test_a_cluster_that_is_only_allowed_replicates_to_the_clusters_of_the_list():
    clusters = "r1: {}, r2: {}, r3: {}"
    world = opened(
        exists="{r1: 0, r2: 0, r3: 0}",
        clusters=clusters,
        policies="replicationClusters: [r1, r2], allowedClusters: [r1, r2, r3],",
        replicated=False,
    )
    world.run(SECOND)
    assert (
        sorted(world.summary()["replicators"]["r3"]) == ["r1", "r2"]
        and "r3" not in world.summary()["replicators"]["r1"]
    )


def test_a_list_of_one_cluster_replicates_nothing_whichever_it_names():
    world = opened(policies="replicationClusters: [r1], allowedClusters: [r1, r2],", replicated=False)
    world.run(SECOND)
    assert world.summary()["replicators"] == {"r1": {}, "r2": {}} and shape(world, "r2") == 0


# --- deleting


def test_deleting_a_topic_with_a_connected_producer_is_412():
    world = opened(clients=PRODUCER, replicated=False)
    world.run(SECOND)
    code, words = refused(world, "topic.delete", cluster="r1", topic="t")
    assert (
        code == "412"
        and words == "Topic has 1 client connected Including 0 consumers, 1 producers, and 0 replicators."
    )
    do(world, "producer.stop", producer="p")
    do(world, "topic.delete", cluster="r1", topic="t")
    assert shape(world, "r1") is None


def test_a_finished_producer_does_not_block_deletion():
    world = opened(clients=PRODUCER.replace("every", "count: 3, every"), replicated=False)
    world.run(SECOND)
    do(world, "topic.delete", cluster="r1", topic="t")


def test_topic_policies_are_deleted_with_the_topic_here_and_kept_elsewhere():
    """A topic created again under its name begins without lists of its own.

    The other cluster keeps the global list.
    """
    world = opened(replicated=False)
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1", "r2"])
    world.run(SECOND)
    do(world, "topic.delete", cluster="r1", topic="t", force=True)
    do(world, "topic.create", cluster="r1", topic="t")
    world.run(2 * SECOND)
    assert world.summary()["replicators"]["r1"] == {}
    do(world, "topic.remove-replication-clusters", cluster="r1", topic="t")
    assert rows(world, "policy.changed", reason="replicationClusters")[-1]["at_us"] < world.now_us, (
        "without a list nothing changes"
    )


def test_topic_policies_of_the_scenario_apply_again_to_a_recreated_topic():
    world = opened(replicated=False, topic_more=", replication: [r1 -> r2]")
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"])
    assert world.summary()["replicators"]["r1"] == {}
    do(world, "topic.delete", cluster="r1", topic="t", force=True)
    do(world, "topic.create", cluster="r1", topic="t")
    world.run(SECOND)
    assert replicator(world)["connected"]


def test_logs_only_named_like_partitions_need_at_least_as_many_partitions():
    """AdminResource.getMaxPartitionIndex.

    A count below the highest number is 409, an equal count includes these logs.
    """
    world = opened(exists="{r1: 2}", options="replicationTopicCreation: before, topicConsistencyCheck: false")
    world.run(SECOND)
    assert shape(world, "r2") is None and replicator(world)["connected"]
    assert refused(world, "topic.create", cluster="r2", topic="t", partitions=1) == (
        "409",
        "The topic has a max partition index of 1, the number of partitions must be at least 2",
    )
    do(world, "topic.create", cluster="r2", topic="t", partitions=3)
    world.run(2 * SECOND)
    assert shape(world, "r2") == 3 and world.summary()["violations"] == []


def test_logs_only_named_like_partitions_can_be_deleted():
    world = opened(exists="{r1: 2}", options="replicationTopicCreation: before, topicConsistencyCheck: false")
    world.run(SECOND)
    do(world, "topic.delete", cluster="r2", topic="t", force=True)
    do(world, "topic.create", cluster="r2", topic="t", partitions=1)
    assert shape(world, "r2") == 1


# --- the proposal compares whatever the flag


@pytest.mark.parametrize("option, code", [("proposal", "412"), ("implemented", None), ("before", None)])
def test_pip_370s_flag_skips_the_comparison_except_in_the_proposal(option, code):
    world = opened(
        exists="{r1: 2, r2: 3}",
        replicated=False,
        options=f"replicationTopicCreation: {option}",
        settings="createTopicToRemoteClusterForReplication: false",
    )
    result = world.apply(
        {"do": "topic.set-replication-clusters", "cluster": "r1", "topic": "t", "clusters": ["r1", "r2"]}
    )
    assert result.code == code


@pytest.mark.parametrize(
    "broken, words",
    [
        ("cluster.crash", "r2 can not be asked: it is down"),
        ("link.cut", "r2 can not be asked: the link r1 -> r2 is cut"),
    ],
)
def test_an_unreachable_cluster_is_named_with_its_reason(broken, words):
    world = opened(exists="{r1: 2}", replicated=False)
    do(world, broken, **({"cluster": "r2"} if broken == "cluster.crash" else {"link": "r1 -> r2"}))
    assert refused(
        world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1", "r2"]
    ) == ("500", words)
    assert refused(
        world, "namespace.set-clusters", cluster="r1", namespace=NAMESPACE, clusters=["r1", "r2"]
    ) == ("500", words)


# --- what the stats show when a schema stops replication (GeoPersistentReplicator, ReplicatorStatsImpl)


def test_the_delay_is_the_age_of_the_message_held_back_by_its_schema():
    """A producer keeps a message with a refused schema at the head of its pending sends, and the delay is
    the age of that head.
    """
    clients = "producers: {p: {topic: t, cluster: r1, every: 1s, start: 1s, schema: v1}}"
    world = opened(
        schemas=SCHEMAS,
        overrides="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false",
        clients=clients,
    )
    world.run(10 * SECOND + 500 * MS)
    assert (
        replicator(world)["delay_s"],
        replicator(world)["connected"],
        replicator(world)["replication_backlog"],
    ) == (9, True, 10)
    do(world, "link.cut", link="r1 -> r2")
    assert (replicator(world)["delay_s"], replicator(world)["connected"]) == (0, False), (
        "without a producer there is no delay"
    )


def test_a_registered_schema_leaves_no_delay():
    clients = "producers: {p: {topic: t, cluster: r1, every: 1s, start: 1s, schema: v1}}"
    world = opened(schemas=f"schemas: {{v1: {V1}}}\n", clients=clients)
    world.run(10 * SECOND + 500 * MS)
    assert (replicator(world)["delay_s"], replicator(world)["replication_backlog"]) == (0, 0)


def test_the_note_beside_the_stats_names_the_schema_waited_for():
    clients = "producers: {p: {topic: t, cluster: r1, every: 1s, start: 1s, schema: v1}}"
    world = opened(
        schemas=SCHEMAS,
        overrides="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false",
        clients=clients,
    )
    world.run(10 * SECOND)
    answer = world.admin("stats", cluster="r1", topic="t")
    assert "waited for its schema" in str(answer)


def test_the_delay_curve_agrees_with_the_stats_at_each_instant():
    clients = "producers: {p: {topic: t, cluster: r1, every: 1s, start: 1s, schema: v1}}"
    world = opened(
        schemas=SCHEMAS,
        overrides="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false",
        clients=clients,
    )
    world.run(8 * SECOND)
    do(world, "topic.unload", cluster="r2", topic="t")
    world.run(15 * SECOND)
    do(world, "namespace.set-is-allow-auto-update-schema", cluster="r2", namespace=NAMESPACE, enabled=True)
    do(world, "topic.unload", cluster="r1", topic="t")
    world.run(20 * SECOND)
    curve = world.replicator_starts("r1", "r2", "t")["curve"]
    assert max(curve["delay_us"]) > 6 * SECOND and curve["delay_us"][-1] == 0
    for at_us, delay_us in list(zip(curve["at_us"], curve["delay_us"], strict=True))[::11]:
        world.seek(at_us)
        assert replicator(world)["delay_s"] == delay_us // SECOND, at_us


# --- update-partitions as internalUpdatePartitionedTopicAsync does it


def test_updating_to_the_present_partition_count_repairs_a_mismatch():
    """The local metadata stays; the other clusters receive the request nevertheless."""
    world = opened(exists="{r1: 3, r2: 2}", clients=PRODUCER)
    world.run(3 * SECOND)
    assert not replicator(world)["connected"]
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    assert rows(world, "topic.partitions-changed") == []
    world.run(20 * SECOND)
    assert shape(world, "r2") == 3 and replicator(world)["connected"]
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    world.run(21 * SECOND)
    assert (
        len(rows(world, "topic.partitions-changed")) == 1 and rows(world, "topic.creation-refused") == []
    ), "both have it: nothing to say"


def test_new_partitions_get_the_subscriptions_of_the_first_one_at_earliest():
    """Without that, a subscription whose consumer is disconnected would miss what is published to them."""
    clients = PRODUCER + (
        "\nsubscriptions: {s: {topic: t, type: Shared, initialPosition: Latest}}\nconsumers: {c: "
        "{subscription: s, cluster: r2, stop: 500ms}}"
    )
    world = opened(exists="{r1: 2, r2: 2}", clients=clients)
    world.run(SECOND)
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=4)
    world.run(10 * SECOND)
    parts = world.summary()["subscriptions"]["s"]["r2"]["partitions"]
    assert sorted(parts) == ["t-partition-0", "t-partition-1", "t-partition-2", "t-partition-3"]
    came = {
        name: topic["messages"]
        for name, topic in world.summary()["clusters"]["r2"]["topics"]["t"]["partitions"].items()
    }
    assert all(parts[name]["backlog"] == came[name] > 10 for name in ("t-partition-2", "t-partition-3"))
    made = rows(world, "subscription.created", topic="t-partition-3")
    assert [(row["cluster"], row["at_us"]) for row in made] == [("r2", SECOND + 10 * MS)]


def test_a_plain_topic_may_coexist_with_logs_named_like_partitions():
    world = opened(exists="{r1: 2}", options="replicationTopicCreation: before, topicConsistencyCheck: false")
    world.run(SECOND)
    do(world, "topic.create", cluster="r2", topic="t")
    assert shape(world, "r2") == 0


def test_growing_a_topic_in_every_cluster_creates_the_subscriptions_too():
    clients = PRODUCER + (
        "\nsubscriptions: {s: {topic: t, type: Shared}}\nconsumers: {c: {subscription: s, cluster: r2, "
        "stop: 500ms}}"
    )
    world = opened(exists="{r1: 2, r2: 2}", clients=clients)
    world.run(SECOND)
    do(world, "topic.grow", topic="t", partitions=3)
    world.run(5 * SECOND)
    part = world.summary()["subscriptions"]["s"]["r2"]["partitions"]["t-partition-2"]
    assert (
        part["backlog"]
        == world.summary()["clusters"]["r2"]["topics"]["t"]["partitions"]["t-partition-2"]["messages"]
        > 5
    )


def test_a_creation_request_in_flight_while_the_topic_grows_breaks_no_claim():
    """It carries the count of its time; the copied request that follows corrects it."""
    world = opened(exists="{r1: 2}", replicated=False)
    set_clusters(world, "r1", "r1", "r2")
    world.run(25 * MS)
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    world.run(2 * SECOND)
    assert [(row["count"], row["at_us"]) for row in rows(world, "topic.created")] == [(2, 30 * MS)]
    assert shape(world, "r2") == 3 and replicator(world)["connected"] and world.summary()["violations"] == []


def test_an_unload_ends_the_wait_and_resets_the_backoff():
    """The replicator of the old load is terminated, the new one has its own backoff (AbstractReplicator)."""
    world = opened(exists="{r1: 2, r2: 3}")
    world.run(30 * SECOND)
    assert max(row["duration_us"] for row in rows(world, "replicator.start-refused")) > 11 * SECOND
    do(world, "topic.unload", cluster="r1", topic="t-partition-0")
    world.run(32 * SECOND)
    waits = [
        row["duration_us"]
        for row in rows(world, "replicator.start-refused", topic="t-partition-0")
        if row["at_us"] > 30 * SECOND
    ]
    assert [round(wait / 100_000) for wait in waits[:4]] == [1, 2, 4, 8]
