"""Tests of namespace.set-clusters.

Every outcome (`NamespacesBase`, PIP-433), with code and both sides' values, under the three rules.

The cases of Pulsar's SetReplicationClustersValidationTest come first, method by method.
"""

import pytest

from simulator import World, load_scenario_text
from tests.simulator.creation_runs import NAMESPACE, opened, refused, replicator, shape
from tests.simulator.engine_runs import SECOND, do, rows

BOTH = {"cluster": "r1", "namespace": NAMESPACE, "clusters": ["r1", "r2"]}


def apart(**given):
    """No replication yet."""
    return opened(replicated=False, **given)


def changed(world, old, new):
    """The same scenario with one value changed."""
    return World.from_scenario(load_scenario_text(world.scenario.canonical_text.replace(old, new)))


# --- SetReplicationClustersValidationTest


def test_success_without_topics():
    world = apart(exists="{}")
    do(world, "namespace.set-clusters", **BOTH)
    assert rows(world, "policy.changed")[-1]["detail"] == f"{NAMESPACE}: [r1, r2]"


def test_matching_partitioned_topics():
    world = apart(exists="{r1: 4, r2: 4}")
    do(world, "namespace.set-clusters", **BOTH)
    world.run(SECOND)
    assert replicator(world)["connected"]


def test_mismatched_partitioned_topics():
    code, error = refused(apart(exists="{r1: 4, r2: 8}"), "namespace.set-clusters", **BOTH)
    assert code == "409" and "Partition count mismatch" in error
    assert "local cluster has 4 partitions" in error and "has 8 partitions" in error


def test_a_topic_that_only_the_local_cluster_has():
    world = apart(exists="{r1: 4}")
    do(world, "namespace.set-clusters", **BOTH)
    world.run(SECOND)
    assert shape(world, "r2") == 4


def test_non_partitioned_against_partitioned():
    code, error = refused(apart(exists="{r1: 0, r2: 4}"), "namespace.set-clusters", **BOTH)
    assert code == "409" and "Topic type mismatch" in error
    assert "non-partitioned topic" in error and "partitioned topic with 4 partitions" in error
    # NamespacesBase.compareTopicPartitions: a partitioned local topic is compared by counts, and a plain
    # remote topic has 0.
    assert (
        "local cluster has 4 partitions, remote cluster 'r2' has 0 partitions"
        in refused(apart(exists="{r1: 4, r2: 0}"), "namespace.set-clusters", **BOTH)[1]
    )


def test_matching_auto_creation_policies():
    do(
        apart(policies="allowAutoTopicCreationType: partitioned, defaultNumPartitions: 4,"),
        "namespace.set-clusters",
        **BOTH,
    )


@pytest.mark.parametrize(
    "policies, there, named",
    [
        (
            "",
            "allowAutoTopicCreationType: partitioned",
            "topicType: local=non-partitioned, remote=partitioned",
        ),
        (
            "allowAutoTopicCreationType: partitioned, defaultNumPartitions: 4,",
            "defaultNumPartitions: 8",
            ": defaultNumPartitions: local=4, remote=8. ",
        ),
    ],
)
def test_mismatched_auto_creation_policies(policies, there, named):
    code, error = refused(apart(policies=policies, overrides=there), "namespace.set-clusters", **BOTH)
    assert code == "409" and "auto-topic creation policy mismatch" in error and named in error
    assert f"for namespace '{NAMESPACE}' between local cluster and remote cluster 'r2'" in error


def test_nothing_is_compared_when_the_local_cluster_is_not_in_the_list():
    world = apart(exists="{r1: 1, r2: 4}")
    do(world, "namespace.set-clusters", cluster="r1", namespace=NAMESPACE, clusters=["r2"])
    assert shape(world, "r1") is None, "and its topics are deleted here"


# --- the rest of PIP-433


@pytest.mark.parametrize(
    "listed, code, words",
    [
        ([], "412", "should not be null or empty"),
        (["r1", "r9"], "403", "Invalid cluster id: r9"),
        (["r1", "r3"], "409", "r1's peer-clusters [r3] can't be part of replication-clusters [r1, r3]"),
        (["r1", "r4"], "400", "not in the list of allowed clusters"),
    ],
)
def test_invalid_lists_are_refused(listed, code, words):
    plain = apart(
        clusters="r1: {}, r2: {}, r3: {}, r4: {}", exists="{r1: 0}", policies="allowedClusters: [r1, r2, r3],"
    )
    world = changed(plain, "  r1: {}\n", "  r1: {peerClusters: [r3]}\n")
    assert (
        refused(world, "namespace.set-clusters", cluster="r1", namespace=NAMESPACE, clusters=listed)[0]
        == code
    )
    assert (
        words
        in refused(world, "namespace.set-clusters", cluster="r1", namespace=NAMESPACE, clusters=listed)[1]
    )


def test_the_order_of_the_first_checks():
    world = apart(exists="{r1: 4, r2: 8}", policies="allowedClusters: [r1],")
    assert refused(world, "namespace.set-clusters", **{**BOTH, "clusters": ["r1", "r2", "r9"]})[0] == "403"
    assert refused(world, "namespace.set-clusters", **BOTH)[0] == "400"


def test_a_missing_namespace_is_404():
    world = apart(exists="{r1: 0}")
    assert (
        refused(world, "namespace.set-clusters", cluster="r1", namespace="no/where", clusters=["r1"])[0]
        == "404"
    )
    lacking = changed(world, "overrides: {r2: {}}", "clusters: [r1]")
    code, error = refused(lacking, "namespace.set-clusters", **BOTH)
    # NamespacesBase.validateClusterPairCompatibility, word for word
    assert (code, error) == (
        "409",
        f"Failed to check auto-topic creation policy for namespace '{NAMESPACE}' between local cluster and "
        f"remote cluster 'r1' -> 'r2'. "
        "Please ensure the namespace exists on the remote side.",
    )
    do(lacking, "namespace.create", cluster="r2", namespace=NAMESPACE)
    do(lacking, "namespace.set-clusters", **BOTH)
    lacking.run(SECOND)
    assert replicator(lacking)["connected"] and shape(lacking, "r2") == 0


def test_without_comparison_every_list_is_accepted():
    world = apart(
        exists="{r1: 4, r2: 8}", overrides="defaultNumPartitions: 3, allowAutoTopicCreationType: partitioned"
    )
    do(world, "namespace.set-clusters", **BOTH, compareTopicPartitions=False)
    world.run(SECOND)
    assert "local: 4, remote: 8" in replicator(world)["last_error"], "the replicators find it out"


def test_only_clusters_that_are_new_in_the_list_are_compared():
    world = opened(exists="{r1: 4, r2: 8}")
    do(world, "namespace.set-clusters", **BOTH)


def test_a_remote_excluded_by_its_own_policy_is_not_compared():
    world = apart(exists="{r1: 4, r2: 8}", overrides="replicationClusters: [r1]")
    do(world, "namespace.set-clusters", **BOTH)
    allowed = apart(exists="{r1: 4, r2: 8}", overrides="replicationClusters: [r1], allowedClusters: [r1, r2]")
    assert refused(allowed, "namespace.set-clusters", **BOTH)[0] == "409", "one that its namespace allows is"


def test_change_events_are_compared_too():
    code, error = refused(
        apart(policies="changeEventsPartitions: 0,", overrides="changeEventsPartitions: 1"),
        "namespace.set-clusters",
        **BOTH,
    )
    assert (
        code == "409"
        and "Topic type mismatch" in error
        and f"'persistent://{NAMESPACE}/__change_events'" in error
    )
    code, error = refused(
        apart(policies="changeEventsPartitions: 2,", overrides="changeEventsPartitions: 1"),
        "namespace.set-clusters",
        **BOTH,
    )
    assert (
        code == "409"
        and (
            f"Partition count mismatch for __change_events system topic "
            f"'persistent://{NAMESPACE}/__change_events'"
        )
        in error
    )


def test_the_allow_switch_is_compared_by_the_proposal_only():
    given = {"policies": "allowAutoTopicCreation: true,", "overrides": "allowAutoTopicCreation: false"}
    do(apart(**given), "namespace.set-clusters", **BOTH)
    code, error = refused(
        apart(options="replicationTopicCreation: proposal", **given), "namespace.set-clusters", **BOTH
    )
    assert code == "409" and "allowAutoTopicCreation: local=true, remote=false" in error


def test_broker_settings_apply_where_the_namespace_has_none():
    world = apart(exists="{}")
    do(world, "setting.change", cluster="r2", setting="defaultNumPartitions", value=2)
    assert "defaultNumPartitions: local=1, remote=2" in refused(world, "namespace.set-clusters", **BOTH)[1]
    do(
        world,
        "namespace.set-auto-topic-creation",
        cluster="r2",
        namespace=NAMESPACE,
        allowAutoTopicCreationType="non-partitioned",
        defaultNumPartitions=1,
    )
    do(world, "namespace.set-clusters", **BOTH)


def test_the_proposal_always_compares_and_releases_before_it_never_do():
    different = {"exists": "{r1: 4, r2: 8}"}
    assert (
        refused(
            apart(options="replicationTopicCreation: proposal", **different),
            "namespace.set-clusters",
            **BOTH,
            compareTopicPartitions=False,
        )[0]
        == "409"
    )
    do(apart(options="replicationTopicCreation: before", **different), "namespace.set-clusters", **BOTH)


def test_an_unreachable_remote_is_500():
    world = apart(exists="{r1: 4, r2: 8}")
    do(world, "link.cut", link="r1 -> r2")
    assert refused(world, "namespace.set-clusters", **BOTH)[0] == "500"


@pytest.mark.parametrize(
    "kind, number, code",
    [
        ("non-partitioned", 5, "412"),
        ("non-partitioned", 1, None),
        ("non-partitioned", 0, None),
        ("partitioned", 0, "412"),
        ("partitioned", 3, None),
    ],
)
def test_the_override_itself_is_validated(kind, number, code):
    """AutoTopicCreationOverrideTest, since #25163."""
    world = apart()
    given = {
        "cluster": "r1",
        "namespace": NAMESPACE,
        "allowAutoTopicCreationType": kind,
        "defaultNumPartitions": number,
    }
    if code is None:
        do(world, "namespace.set-auto-topic-creation", **given)
    else:
        assert refused(world, "namespace.set-auto-topic-creation", **given)[0] == code


@pytest.mark.parametrize(
    "given, code",
    [
        ({"allowAutoTopicCreation": False, "defaultNumPartitions": 5}, None),
        ({"allowAutoTopicCreation": False, "allowAutoTopicCreationType": "partitioned"}, None),
        ({"defaultNumPartitions": 5}, "412"),
    ],
)
def test_an_override_that_forbids_creation_is_not_validated(given, code):
    """AutoTopicCreationOverrideImpl.validateOverride; pulsar-admin's type is non-partitioned without --type."""
    result = apart().apply(
        {"do": "namespace.set-auto-topic-creation", "cluster": "r1", "namespace": NAMESPACE, **given}
    )
    assert result.code == code


@pytest.mark.parametrize(
    "command, given, code",
    [
        ("namespace.set-clusters", {"clusters": []}, "412"),
        ("namespace.set-clusters", {"clusters": ["r1", "r9"]}, "403"),
        ("namespace.set-clusters", {"clusters": ["r1", "r2"]}, "404"),
        ("namespace.set-auto-topic-creation", {"allowAutoTopicCreationType": "partitioned"}, "412"),
        ("namespace.set-is-allow-auto-update-schema", {"enabled": True, "enableForReplicator": False}, "400"),
    ],
)
def test_an_invalid_request_is_refused_before_the_namespace_is_looked_for(command, given, code):
    world = changed(opened(exists="{r1: 0}", replicated=False), "overrides: {r2: {}}", "clusters: [r1]")
    assert refused(world, command, cluster="r2", namespace=NAMESPACE, **given)[0] == code


def test_removing_a_cluster_deletes_the_cursor_and_adding_it_again_starts_at_the_end():
    clients = "producers: {p: {topic: t, cluster: r1, every: 100ms, start: 50ms}}"
    world = opened(clients=clients)
    world.run(2 * SECOND)
    do(world, "namespace.set-clusters", cluster="r1", namespace=NAMESPACE, clusters=["r1"])
    world.run(4 * SECOND)
    assert world.summary()["replicators"]["r1"] == {}
    do(world, "namespace.set-clusters", **BOTH)
    world.run(6 * SECOND)
    # 20 messages up to 2 s, 20 from 4 s on; those between were never due to be replicated.
    assert (
        len(rows(world, "message.stored", cluster="r2")) == 40
        and replicator(world)["replication_backlog"] == 0
    )
