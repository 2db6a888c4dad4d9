"""Creating, growing and deleting topics in one cluster.

What clients may do, what is copied (PIP-370, #25312), what is refused (PersistentTopic).
"""

import pytest

from simulator import World, load_scenario_text
from tests.simulator.creation_runs import NAMESPACE, opened, refused, replicator, shape
from tests.simulator.engine_runs import MS, SECOND, do, rows

PRODUCER = "producers: {p: {topic: t, cluster: r1, every: 100ms, start: 50ms}}"
CONSUMER = (
    "subscriptions: {s: {topic: t, type: Shared, initialPosition: Earliest}}\nconsumers: {c: "
    "{subscription: s, cluster: r2, start: 1s}}"
)


# --- auto-creation by clients


@pytest.mark.parametrize(
    "settings, policies, partitions",
    [
        ("", "", 0),
        ("allowAutoTopicCreationType: partitioned", "", 1),
        ("allowAutoTopicCreationType: partitioned, defaultNumPartitions: 3", "", 3),
        (
            "allowAutoTopicCreationType: partitioned, defaultNumPartitions: 3",
            "allowAutoTopicCreationType: non-partitioned,",
            0,
        ),
        ("", "allowAutoTopicCreationType: partitioned, defaultNumPartitions: 2,", 2),
        ("allowAutoTopicCreation: false", "allowAutoTopicCreation: true,", 0),
    ],
)
def test_connecting_creates_the_topic_that_policies_describe(settings, policies, partitions):
    world = opened(exists="{}", settings=settings, policies=policies, clients=PRODUCER, replicated=False)
    world.run(SECOND)
    made = rows(world, "topic.created")
    assert [(row["cluster"], row["client"], row["count"], row["reason"], row["at_us"]) for row in made] == [
        ("r1", "p", partitions, "client", 50 * MS)
    ]
    assert len(rows(world, "message.receipted")) == 10


@pytest.mark.parametrize(
    "settings, policies", [("allowAutoTopicCreation: false", ""), ("", "allowAutoTopicCreation: false,")]
)
def test_a_producer_refused_by_policy_keeps_retrying(settings, policies):
    world = opened(
        exists="{}",
        settings=settings,
        policies=policies,
        clients=PRODUCER.replace("start: 50ms", "start: 50ms, sendTimeout: 1s"),
        replicated=False,
    )
    world.run(3 * SECOND)
    assert shape(world, "r1") is None and rows(world, "message.stored") == []
    told = rows(world, "topic.creation-refused")
    assert len(told) == 1 and told[0]["client"] == "p" and "does not exist" in told[0]["detail"], (
        "said once, not at every try"
    )
    assert len(rows(world, "message.send-failed", reason="timeout")) >= 19
    do(world, "topic.create", cluster="r1", topic="t", partitions=2)
    world.run(4 * SECOND)
    # Messages that have not failed yet are sent now, to the partitions chosen for them; the rest follows.
    assert len(rows(world, "message.receipted")) + len(rows(world, "message.send-failed")) == 40
    assert {row["topic"] for row in rows(world, "message.stored")} == {"t-partition-0", "t-partition-1"}


def test_a_consumer_creates_a_topic_too():
    world = opened(
        exists="{}",
        policies="allowAutoTopicCreationType: partitioned, defaultNumPartitions: 2,",
        clients=CONSUMER,
        replicated=False,
    )
    world.run(2 * SECOND)
    assert rows(world, "topic.created")[0]["client"] == "c" and shape(world, "r2") == 2
    assert sorted(row["topic"] for row in rows(world, "consumer.connected")) == [
        "t-partition-0",
        "t-partition-1",
    ]


def test_a_refused_consumer_retries_until_the_topic_exists():
    world = opened(exists="{}", settings="allowAutoTopicCreation: false", clients=CONSUMER, replicated=False)
    world.run(3 * SECOND)
    assert rows(world, "consumer.connected") == [] and len(rows(world, "topic.creation-refused")) == 1
    do(world, "topic.create", cluster="r2", topic="t")
    world.run(6 * SECOND)
    assert len(rows(world, "consumer.connected")) == 1


def test_a_cluster_missing_from_the_namespaces_list_refuses_creation():
    world = opened(exists="{}", policies="", overrides="", clients=CONSUMER, replicated=False)
    do(world, "namespace.set-clusters", cluster="r2", namespace=NAMESPACE, clusters=["r1"])
    world.run(2 * SECOND)
    assert (
        "Namespace missing local cluster name in clusters list: local_cluster=r2"
        in rows(world, "topic.creation-refused")[0]["detail"]
    )


@pytest.mark.parametrize("option, adopted", [("implemented", True), ("proposal", False), ("before", False)])
def test_the_shape_of_a_remote_topic_is_adopted_since_25312(option, adopted):
    world = opened(
        exists="{r2: 4}",
        options=f"replicationTopicCreation: {option}",
        policies="allowAutoTopicCreationType: partitioned, defaultNumPartitions: 2,",
        clients=PRODUCER,
    )
    world.run(3 * SECOND)
    assert shape(world, "r1") == (4 if adopted else 2)
    assert replicator(world)["connected"] is (adopted or option == "before")


def test_remotes_are_queried_in_sorted_order_and_unreachable_ones_are_skipped():
    given = {
        "clusters": "r1: {}, r2: {}, r3: {}",
        "exists": "{r2: 4, r3: 5}",
        "replicated": False,
        "policies": "replicationClusters: [r1, r2, r3],",
    }
    early = PRODUCER.replace("50ms", "5ms")  # before the others' replicators have created it
    world = opened(**given, clients=early)
    world.run(SECOND)
    assert (shape(world, "r1"), rows(world, "topic.created")[0]["peer"]) == (4, "r2")
    world = opened(**given, clients=early)
    do(world, "link.cut", link="r1 -> r2")
    world.run(SECOND)
    assert (shape(world, "r1"), rows(world, "topic.created")[0]["peer"]) == (5, "r3")


# --- create-partitioned-topic (PIP-370, #25312)


@pytest.mark.parametrize(
    "option, flag, local_only, copied",
    [
        ("implemented", "true", False, True),
        ("before", "true", False, True),
        ("proposal", "true", False, False),
        ("implemented", "false", False, False),
        ("implemented", "true", True, False),
    ],
)
def test_the_creation_request_is_copied_to_remotes(option, flag, local_only, copied):
    world = opened(
        exists="{}",
        options=f"replicationTopicCreation: {option}",
        settings=f"createTopicToRemoteClusterForReplication: {flag}",
    )
    do(world, "topic.create", cluster="r1", topic="t", partitions=4, createLocalTopicOnly=local_only)
    assert shape(world, "r1") == 4 and shape(world, "r2") is None, "in the background"
    world.run(10 * MS)
    assert shape(world, "r2") == (4 if copied else None)
    if copied:
        assert rows(world, "topic.created", cluster="r2")[0]["reason"] == "copied-request"
    world.run(5 * SECOND)
    # What is not copied is created by the replicator, unless the flag forbids that too (before PIP-433 a
    # missing partition is denied).
    assert shape(world, "r2") == (4 if copied or flag == "true" else None)


def test_a_plain_topic_is_not_copied_but_created_by_the_replicator():
    world = opened(exists="{}")
    do(world, "topic.create", cluster="r1", topic="t")
    world.run(SECOND)
    assert [row["reason"] for row in rows(world, "topic.created")] == ["command", "replicator"]


def test_errors_of_the_copy_are_only_logged():
    world = opened(exists="{r2: 5}")
    do(world, "topic.create", cluster="r1", topic="t", partitions=4)
    world.run(SECOND)
    logged = rows(world, "topic.creation-refused")[0]
    assert (logged["cluster"], logged["peer"], logged["reason"]) == ("r2", "r1", "copied-request")
    assert logged["detail"].startswith("409 This topic already exists: There is an exists topic")
    assert "local: 4, remote: 5" in replicator(world)["last_error"]


def test_a_copy_of_what_exists_already_is_no_error():
    """It has createLocalTopicOnly, with which an existing partitioned topic is no conflict (#24225)."""
    world = opened(exists="{r2: 4}")
    do(world, "topic.create", cluster="r1", topic="t", partitions=4)
    world.run(SECOND)
    assert rows(world, "topic.creation-refused") == [] and replicator(world)["connected"]
    assert world.summary()["violations"] == []


@pytest.mark.parametrize(
    "exists, partitions, code, error",
    [
        (4, 4, None, None),
        (4, 5, None, None),
        (
            4,
            3,
            "409",
            "The topic has a max partition index of 3, the number of partitions must be at least 4",
        ),
        (0, 4, "409", "This topic already exists"),
        (4, 0, "409", "This topic already exists"),
    ],
)
def test_creating_an_existing_topic_in_this_cluster_only(exists, partitions, code, error):
    """AdminResource.internalCreatePartitionedTopic since #24225: the metadata stays as it is."""
    world = opened(exists=f"{{r1: {exists}}}", replicated=False)
    result = world.apply(
        {
            "do": "topic.create",
            "cluster": "r1",
            "topic": "t",
            "partitions": partitions,
            "createLocalTopicOnly": True,
        }
    )
    assert (result.code, result.error) == (code, error) and shape(world, "r1") == exists


def test_creation_is_copied_to_the_namespaces_clusters_only():
    """AdminResource.internalCreatePartitionedTopicToReplicatedClustersInBackground."""
    world = opened(exists="{}", replicated=False, topic_more=", replication: [r1 -> r2]")
    do(world, "topic.create", cluster="r1", topic="t", partitions=4)
    world.run(SECOND)
    assert rows(world, "topic.created", cluster="r2")[0]["reason"] == "replicator"
    assert world.summary()["violations"] == []


def test_creating_an_existing_topic_is_409_and_without_the_namespace_404():
    world = opened()
    assert refused(world, "topic.create", cluster="r1", topic="t", partitions=3) == (
        "409",
        "This topic already exists",
    )
    text = opened(exists="{r1: 0}", replicated=False).scenario.canonical_text.replace(
        "overrides: {r2: {}}", "clusters: [r1]"
    )
    assert (
        refused(World.from_scenario(load_scenario_text(text)), "topic.create", cluster="r2", topic="t")[0]
        == "404"
    )


# --- topic-level set-replication-clusters (PIP-370, #25312)

LIST = {"cluster": "r1", "topic": "t", "clusters": ["r1", "r2"]}


@pytest.mark.parametrize(
    "option, flag, there",
    [
        ("implemented", "true", 4),
        ("before", "true", 4),
        ("proposal", "true", None),
        ("implemented", "false", None),
    ],
)
def test_set_replication_clusters_creates_the_remote_topic_at_once(option, flag, there):
    world = opened(
        exists="{r1: 4}",
        replicated=False,
        options=f"replicationTopicCreation: {option}",
        settings=f"createTopicToRemoteClusterForReplication: {flag}",
    )
    do(world, "topic.set-replication-clusters", **LIST)
    assert shape(world, "r2") == there
    world.run(5 * SECOND)
    assert replicator(world)["connected"] is (flag == "true")


@pytest.mark.parametrize("remote", [3, 0])
def test_a_different_count_is_412_and_the_policy_is_unchanged(remote):
    world = opened(exists=f"{{r1: 4, r2: {remote}}}", replicated=False)
    code, error = refused(world, "topic.set-replication-clusters", **LIST)
    assert (
        code == "412"
        and "with different partitions" in error
        and error.endswith(
            f" with different partitions {remote} on the remote cluster r2, you want to create it with "
            f"partitions 4"
        )
    )
    assert world.summary()["replicators"]["r1"] == {}


def test_with_the_flag_off_partition_counts_are_not_compared():
    world = opened(
        exists="{r1: 4, r2: 3}", replicated=False, settings="createTopicToRemoteClusterForReplication: false"
    )
    do(world, "topic.set-replication-clusters", **LIST)
    world.run(SECOND)
    assert "local: 4, remote: 3" in replicator(world)["last_error"]


@pytest.mark.parametrize(
    "given, code",
    [
        ({"clusters": []}, "412"),
        ({"clusters": ["r2"]}, "412"),
        ({"clusters": ["r1", "r9"]}, "403"),
        ({"topic": "u"}, None),
    ],
)
def test_other_refusals_of_set_replication_clusters(given, code):
    world = opened(replicated=False)
    result = world.apply({"do": "topic.set-replication-clusters", **LIST, **given})
    assert not result.ok and (code is None or result.code == code)


@pytest.mark.parametrize("command", ["topic.set-replication-clusters", "topic.remove-replication-clusters"])
def test_a_topics_list_needs_topic_level_policies(command):
    """PersistentTopicsBase.preValidation, before it looks for the topic."""
    world = opened(exists="{}", settings="topicLevelPoliciesEnabled: false")
    given = LIST if command == "topic.set-replication-clusters" else {"cluster": "r1", "topic": "t"}
    assert refused(world, command, **given) == (
        "405",
        "Topic level policies is disabled, to enable the topic level policy and retry.",
    )


def test_refusals_of_a_global_list():
    """PersistentTopicsBase.internalSetReplicationClusters.

    Only a namespace's replication copies global policies.
    """
    alone = opened(replicated=False)
    code, words = refused(alone, "topic.set-replication-clusters", **LIST, **{"global": True})
    assert code == "412" and words.startswith(
        "Please do not use the global topic level policy when namespace-level replication is not enabled"
    )
    both = opened(clusters="r1: {}, r2: {}, r3: {}")
    code, words = refused(
        both,
        "topic.set-replication-clusters",
        cluster="r1",
        topic="t",
        clusters=["r1", "r3"],
        **{"global": True},
    )
    assert code == "412" and words.startswith(
        "The policies at the global topic level will only be copied to the clusters included in the "
        "namespace level replication."
    )


def test_a_global_list_without_the_local_cluster_deletes_the_local_topic():
    world = opened(exists="{r1: 1, r2: 1}", overrides="", clients="")
    world.run(SECOND)
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r2"], **{"global": True})
    world.run(3 * SECOND)
    assert shape(world, "r1") is None and shape(world, "r2") == 1 and world.summary()["violations"] == []


def test_peer_clusters_are_refused_at_topic_level_where_allowed_clusters_do_not_apply():
    clusters, more = "r1: {}, r2: {}, r3: {}", "allowedClusters: [r1, r2],"
    text = opened(clusters=clusters, policies=more, replicated=False).scenario.canonical_text
    peers = World.from_scenario(
        load_scenario_text(text.replace("  r1: {}\n", "  r1: {peerClusters: [r3]}\n", 1))
    )
    assert refused(
        peers, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1", "r3"]
    ) == ("409", "r1's peer-clusters [r3] can't be part of replication-clusters [r1, r3]")
    do(
        World.from_scenario(load_scenario_text(text)),
        "topic.set-replication-clusters",
        cluster="r1",
        topic="t",
        clusters=["r1", "r3"],
    )


def test_the_topics_list_takes_precedence_until_it_is_removed():
    world = opened(clients=PRODUCER)
    world.run(SECOND)
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"])
    assert world.summary()["replicators"]["r1"] == {}
    do(world, "topic.remove-replication-clusters", cluster="r1", topic="t")
    world.run(2 * SECOND)
    assert replicator(world)["connected"]


def test_topic_policies_create_change_events_in_the_shape_of_a_remote_since_25312():
    given = {
        "policies": "allowAutoTopicCreationType: partitioned, defaultNumPartitions: 1,",
        "overrides": "changeEventsPartitions: 0",
    }
    for option, wanted in (("implemented", "0"), ("before", "1")):
        world = opened(options=f"replicationTopicCreation: {option}", **given)
        do(world, "topic.set-replication-clusters", **LIST)
        assert (
            rows(world, "policy.changed", reason="changeEventsPartitions")[0]["detail"]
            == f"{NAMESPACE}: {wanted}"
        )


# --- more partitions (PersistentTopic)


def test_namespace_replication_grows_the_remote_topic_too():
    world = opened(exists="{r1: 2, r2: 2}")
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    world.run(SECOND)
    assert shape(world, "r2") == 3 and replicator(world)["connected"]


def test_a_topic_level_list_of_one_leaves_the_remote_topic_unchanged():
    world = opened(exists="{r1: 2, r2: 2}")
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"])
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    world.run(3 * SECOND)
    assert (shape(world, "r1"), shape(world, "r2")) == (3, 2)


def test_a_global_list_does_not_decide_who_gets_more_partitions():
    """PersistentTopicsBase.getReplicationClusters reads local policies and the namespace's list."""
    clusters = "r1: {}, r2: {}, r3: {}"
    world = opened(
        exists="{r1: 2, r2: 2, r3: 2}",
        clusters=clusters,
        replicated=False,
        policies="replicationClusters: [r1, r2, r3],",
    )
    world.run(SECOND)
    do(world, "topic.set-replication-clusters", cluster="r3", topic="t", clusters=["r3"])
    names = ["r1", "r2"]
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=names, **{"global": True})
    world.run(2 * SECOND)
    do(world, "topic.update-partitions", cluster="r1", topic="t", partitions=3)
    world.run(3 * SECOND)
    assert [shape(world, name) for name in ("r1", "r2", "r3")] == [3, 3, 3]
    assert world.summary()["violations"] == []


def test_more_partitions_where_the_cluster_is_only_allowed_stay_there():
    """The broker answers 422 after it has changed its own metadata."""
    world = opened(
        exists="{r1: 2, r2: 2, r3: 2}",
        clusters="r1: {}, r2: {}, r3: {}",
        replicated=False,
        policies="replicationClusters: [r1, r2], allowedClusters: [r1, r2, r3],",
    )
    world.run(SECOND)
    do(world, "topic.update-partitions", cluster="r3", topic="t", partitions=3)
    world.run(2 * SECOND)
    assert [shape(world, name) for name in ("r1", "r2", "r3")] == [2, 2, 3]
    (refused_copy,) = rows(world, "topic.creation-refused")
    assert refused_copy["detail"] == "422 Local cluster is not part of replicate cluster list"


@pytest.mark.parametrize(
    "exists, wanted, code",
    [
        ("{r1: 3, r2: 3}", 2, "422"),
        ("{r1: 2, r2: 2}", 1, "422"),
        ("{r1: 0, r2: 0}", 3, "409"),
        ("{r2: 0}", 3, "409"),
    ],
)
def test_partitions_can_only_be_added(exists, wanted, code):
    assert (
        refused(
            opened(exists=exists, replicated=False),
            "topic.update-partitions",
            cluster="r1",
            topic="t",
            partitions=wanted,
        )[0]
        == code
    )


# --- deleting (PersistentTopic)


def test_delete_is_422_with_outbound_replicators_and_412_with_inbound_ones():
    world = opened()
    world.run(SECOND)
    assert refused(world, "topic.delete", cluster="r1", topic="t")[0] == "422"
    code, error = refused(world, "topic.delete", cluster="r2", topic="t")
    assert code == "412" and "1 replicators" in error


def test_forced_delete_removes_the_topic_with_its_messages_subscriptions_and_replicators():
    clients = PRODUCER + (
        "\nsubscriptions: {s: {topic: t, initialPosition: Earliest}}\nconsumers: {c: {subscription: s, "
        "cluster: r1}}"
    )
    world = opened(clients=clients, settings="allowAutoTopicCreation: false")
    world.run(2 * SECOND)
    do(world, "topic.delete", cluster="r1", topic="t", force=True)
    assert shape(world, "r1") is None and "t" not in world.topics["r1"]
    assert rows(world, "subscription.deleted") and rows(world, "replicator.removed")
    assert len(rows(world, "message.removed", cluster="r1")) == len(
        rows(world, "message.stored", cluster="r1")
    )
    world.run(3 * SECOND)
    assert "does not exist" in rows(world, "topic.creation-refused")[0]["detail"]
    assert world.summary()["violations"] == []


def test_delete_is_allowed_after_replication_is_off():
    world = opened()
    world.run(SECOND)
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"])
    do(world, "topic.delete", cluster="r1", topic="t")
    do(world, "topic.delete", cluster="r2", topic="t")
    assert shape(world, "r1") is shape(world, "r2") is None


def test_deleting_a_topic_with_consumers_is_412():
    world = opened(clients=CONSUMER.replace("cluster: r2, start: 1s", "cluster: r1"), replicated=False)
    world.run(SECOND)
    assert refused(world, "topic.delete", cluster="r1", topic="t")[0] == "412"


def test_a_recreated_topic_is_empty_and_its_positions_continue():
    world = opened(clients=PRODUCER, replicated=False)
    world.run(2 * SECOND)
    first = [(row["ledger"], row["entry"]) for row in rows(world, "message.stored")]
    do(world, "topic.delete", cluster="r1", topic="t", force=True)
    world.run(4 * SECOND)
    again = [(row["ledger"], row["entry"]) for row in rows(world, "message.stored")][len(first) :]
    assert rows(world, "topic.created")[-1]["client"] == "p" and again and min(again) > max(first)
    told = world.summary()["clusters"]["r1"]["topics"]["t"]
    assert told["messages"] == told["entries"] == len(again)


def test_a_cluster_removed_from_the_list_loses_the_topic_unless_it_is_allowed():
    for allowed, kept in (("", False), ("allowedClusters: [r1, r2],", True)):
        world = opened(policies=allowed)
        world.run(SECOND)
        do(world, "namespace.set-clusters", cluster="r1", namespace=NAMESPACE, clusters=["r2"])
        assert (shape(world, "r1") is not None) is kept
        assert [row["reason"] for row in rows(world, "topic.deleted")] == ([] if kept else ["kept-out"])


def test_commands_for_the_lists_of_all_clusters_are_refused_under_namespace_replication():
    assert (
        refused(opened(), "replication.remove-cluster", topic="t", cluster="r2")[0] == "namespace-replication"
    )
    assert (
        refused(opened(replicated=False), "replication.add-cluster", topic="t", cluster="r2")[0]
        == "namespace-replication"
    )


# --- what counts for a topic that does not exist yet (BrokerService, AdminResource)

PARTITIONED = "allowAutoTopicCreationType: partitioned, defaultNumPartitions: 2,"


def test_with_the_flag_off_no_shape_of_a_remote_topic_is_adopted():
    """getRemotePartitionedTopicMetadataForAutoCreation asks nobody without PIP-370's switch."""
    world = opened(
        exists="{r2: 4}",
        settings="createTopicToRemoteClusterForReplication: false",
        policies=PARTITIONED,
        clients=PRODUCER,
    )
    world.run(SECOND)
    assert shape(world, "r1") == 2 and world.summary()["violations"] == []


@pytest.mark.parametrize(
    "replicated, own, adopted", [(True, "", 4), (False, ", replication: [r1 -> r2]", 2), (False, "", 2)]
)
def test_only_the_namespaces_list_names_remotes_to_adopt_from(replicated, own, adopted):
    world = opened(
        exists="{r2: 4}", replicated=replicated, topic_more=own, policies=PARTITIONED, clients=PRODUCER
    )
    world.run(SECOND)
    assert shape(world, "r1") == adopted and world.summary()["violations"] == []
