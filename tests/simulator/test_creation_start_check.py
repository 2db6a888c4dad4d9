"""The replicator's start check, row by row, before PIP-433 and since (#24652).

Waiting replicators and retries.
"""

import pytest

from simulator.protocols.pulsar.creation.replicator_start import (
    CREATE,
    REFUSE,
    START,
    Sides,
    judge_by_admin,
    judge_by_producer,
)
from tests.simulator.creation_runs import NAMESPACE, opened, replicator, shape
from tests.simulator.engine_runs import MS, SECOND, do, rows

PRODUCER = "producers: {p: {topic: t, cluster: r1, every: 100ms, start: 50ms}}"
DIFFERENT = (
    "Can not start replicator because the partitions between local and remote cluster are different. "
    "local: {}, remote: {}"
)


def sides(local, remote, partition=-1, creates=True, has_name=None):
    name = "t" if partition < 0 else f"t-partition-{partition}"
    there = (
        remote is not None and (partition < remote if partition >= 0 else remote == 0)
        if has_name is None
        else has_name
    )
    return Sides("t", name, partition, local, remote, there, "r2", creates)


# --- the pure table


@pytest.mark.parametrize("creates", [True, False])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_the_same_shape_starts_whatever_the_flag(n, creates):
    assert judge_by_admin(sides(n, n, 0 if n else -1, creates)).action == START


@pytest.mark.parametrize("creates", [True, False])
@pytest.mark.parametrize("local, remote", [(2, 4), (4, 2), (0, 4), (4, 0), (1, 0), (0, 1)])
def test_different_shapes_are_refused_whatever_the_flag(local, remote, creates):
    verdict = judge_by_admin(sides(local, remote, 0 if local else -1, creates))
    assert (verdict.action, verdict.words) == (REFUSE, DIFFERENT.format(local, remote))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_missing_remote_topic_is_created_in_the_same_shape_or_requested(n):
    assert (
        judge_by_admin(sides(n, None, 0 if n else -1)).action,
        judge_by_admin(sides(n, None, 0 if n else -1)).shape,
    ) == (CREATE, n)
    verdict = judge_by_admin(sides(n, None, 0 if n else -1, creates=False))
    wanted = (
        f"Please create a partitioned topic with {n} partitions on the remote cluster"
        if n
        else "Please create a non-partitioned topic on the remote cluster"
    )
    assert verdict.action == REFUSE and verdict.reason == "no-remote-topic"
    assert (
        verdict.words.startswith("Can not start replicator because there is no topic on the remote cluster")
        and wanted in verdict.words
    )


def test_without_metadata_at_home_the_full_name_is_a_plain_topic():
    assert (
        judge_by_admin(sides(None, None, 1)).action == CREATE
        and judge_by_admin(sides(None, None, 1)).shape == 0
    )
    assert judge_by_admin(sides(None, 4, 1, has_name=True)).action == START
    assert (
        "create a non-partitioned topic on the remote cluster: t-partition-1 in r2"
        in judge_by_admin(sides(None, None, 1, creates=False)).words
    )


@pytest.mark.parametrize(
    "local, remote, partition, may_create, consistency, action, reason",
    [
        (0, 4, -1, None, True, REFUSE, "remote-partitioned"),
        (0, 0, -1, None, True, START, ""),
        (0, None, -1, None, True, CREATE, ""),
        (0, None, -1, "no", True, REFUSE, "auto-creation-not-allowed"),
        (4, 2, 1, None, True, START, ""),
        (4, 2, 2, None, True, REFUSE, "no-such-partition"),
        (4, 0, 2, None, True, REFUSE, "no-partitioned-topic"),
        (4, None, 2, None, True, REFUSE, "no-partitioned-topic"),
        (4, None, 2, None, False, CREATE, ""),
        (4, None, 2, "no", False, REFUSE, "auto-creation-not-allowed"),
    ],
)
def test_start_check_before_pip_433(local, remote, partition, may_create, consistency, action, reason):
    verdict = judge_by_producer(sides(local, remote, partition), may_create, consistency)
    assert (verdict.action, verdict.reason) == (action, reason)


def test_before_pip_433_the_flag_of_pip_370_forbids_creation_too():
    assert judge_by_producer(sides(0, None, -1, creates=False), None, True).reason == "no-remote-topic"


# --- in the run


@pytest.mark.parametrize(
    "exists, words",
    [
        ("{r1: 2, r2: 3}", DIFFERENT.format(2, 3)),
        ("{r1: 2, r2: 0}", DIFFERENT.format(2, 0)),
        ("{r1: 0, r2: 3}", DIFFERENT.format(0, 3)),
    ],
)
@pytest.mark.parametrize("option", ["implemented", "proposal"])
def test_a_mismatch_is_retried_without_end_while_writes_continue(exists, words, option):
    world = opened(exists=exists, options=f"replicationTopicCreation: {option}", clients=PRODUCER, until="5m")
    world.run(290 * SECOND)
    first, found = rows(world, "replicator.start-refused")[0], replicator(world)
    assert first["at_us"] == 20 * MS and first["detail"] == words, "the question takes one round trip"
    assert (found["state"], found["connected"], found["delay_s"], found["last_error"]) == (
        "disconnected",
        False,
        0,
        words,
    )
    # 290 s of one message each 100 ms from 50 ms on; replication cursors exist from the start.
    assert found["replication_backlog"] == 2900
    assert len(rows(world, "message.receipted")) == 2900 and rows(world, "message.stored", cluster="r2") == []
    assert shape(world, "r2") == int(exists[-2]), "nothing over there is changed"


def test_waits_double_from_100_ms_to_a_minute_with_a_little_jitter():
    world = opened(exists="{r1: 0, r2: 3}", until="10m")
    world.run()
    told = rows(world, "replicator.start-refused")
    assert [row["count"] for row in told] == list(range(1, len(told) + 1))
    for number, row in enumerate(told):
        wait_us = min(100 * MS << number, 60 * SECOND)
        assert abs(row["duration_us"] - wait_us) <= wait_us * 5 // 100
    assert len({row["duration_us"] for row in told[10:]}) > 1, "jitter"
    for row, after in zip(told, told[1:], strict=False):
        assert after["at_us"] == row["at_us"] + row["duration_us"] + 20 * MS


def test_a_missing_topic_is_created_whatever_the_remotes_policy():
    world = opened(
        exists="{r1: 4}",
        overrides="allowAutoTopicCreation: false",
        settings="allowAutoTopicCreation: false",
        clients=PRODUCER,
    )
    world.run(5 * SECOND)
    made = rows(world, "topic.created")
    assert [(row["cluster"], row["peer"], row["topic"], row["count"], row["reason"]) for row in made] == [
        ("r2", "r1", "t", 4, "replicator")
    ]
    assert made[0]["at_us"] == 30 * MS, "the question's round trip, then half a trip for the order"
    assert (
        shape(world, "r2") == 4
        and replicator(world)["connected"]
        and replicator(world)["replication_backlog"] == 0
    )


def test_replicators_that_create_at_the_same_time_get_a_conflict_and_one_retry():
    world = opened(exists="{r1: 3}")
    world.run(SECOND)
    conflicts = rows(world, "replicator.start-refused")
    assert [(row["topic"], row["reason"], row["detail"]) for row in conflicts] == [
        (f"t-partition-{n}", "conflict", "409 This topic already exists") for n in (1, 2)
    ]
    assert len(rows(world, "replicator.started", cluster="r1")) == 3 and replicator(world)["retries"] == 2


@pytest.mark.parametrize("n", [0, 2])
def test_with_the_flag_off_the_replicator_waits_until_the_topic_is_created(n):
    world = opened(
        exists=f"{{r1: {n}}}", settings="createTopicToRemoteClusterForReplication: false", clients=PRODUCER
    )
    world.run(3 * SECOND)
    assert (
        shape(world, "r2") is None
        and not replicator(world)["connected"]
        and "Please create a" in replicator(world)["last_error"]
    )
    do(world, "topic.create", cluster="r2", topic="t", partitions=n)
    world.run(10 * SECOND)
    found = replicator(world)
    assert (
        found["connected"]
        and found["replication_backlog"] == 0
        and found["last_error"] is None
        and found["retries"] >= 4
    )


def test_a_later_match_is_found_by_the_next_retry():
    world = opened(exists="{r1: 4, r2: 2}", clients=PRODUCER)
    world.run(2 * SECOND)
    do(world, "topic.update-partitions", cluster="r2", topic="t", partitions=4)
    world.run(10 * SECOND)
    assert replicator(world)["connected"] and replicator(world)["replication_backlog"] == 0


def test_success_resets_the_backoff():
    world = opened(exists="{r1: 4, r2: 2}")
    world.run(2 * SECOND)
    do(world, "topic.update-partitions", cluster="r2", topic="t", partitions=4)
    world.run(10 * SECOND)
    before = replicator(world)["retries"]
    do(world, "topic.unload", cluster="r2", topic="t")
    world.run(10 * SECOND + 300 * MS)
    assert replicator(world)["connected"], "the first wait is 100 ms again"
    assert replicator(world)["retries"] == before + 4


def test_an_unloaded_topic_does_not_retry_and_checks_again_when_loaded():
    world = opened(exists="{r1: 0, r2: 3}")
    world.run(SECOND)
    do(world, "cluster.crash", cluster="r1")
    asked = len(rows(world, "replicator.start-refused"))
    world.run(20 * SECOND)
    assert len(rows(world, "replicator.start-refused")) == asked
    do(world, "cluster.restart", cluster="r1")
    world.run(21 * SECOND)
    assert len(rows(world, "replicator.start-refused")) > asked


def test_before_pip_433_without_pip_414_users_get_three_topics():
    """PIP-370's discussion: {tp}, {tp}-partition-0 and {tp}-partition-1, of which a consumer of {tp} reads
    the wrong one.
    """
    clients = PRODUCER + (
        "\nsubscriptions: {s: {topic: t, initialPosition: Earliest}}\nconsumers: {c: {subscription: s, "
        "cluster: r2, start: 1s}}"
    )
    world = opened(
        exists="{r1: 2}",
        options="replicationTopicCreation: before, topicConsistencyCheck: false",
        clients=clients,
    )
    world.run(5 * SECOND)
    assert sorted(world.topics["r2"]) == ["t", "t-partition-0", "t-partition-1"] and shape(world, "r2") == 0
    assert replicator(world)["connected"], "all looks well"
    assert len(rows(world, "message.stored", cluster="r2")) == 50 and rows(world, "message.delivered") == []


def test_before_pip_433_the_remotes_policy_decides():
    for allowed, there in (("true", 0), ("false", None)):
        world = opened(
            exists="{r1: 0}",
            options="replicationTopicCreation: before",
            overrides=f"allowAutoTopicCreation: {allowed}",
            clients=PRODUCER,
        )
        world.run(2 * SECOND)
        assert shape(world, "r2") == there


def test_a_deleted_remote_topic_is_created_again_by_the_replicator():
    world = opened(clients=PRODUCER)
    world.run(2 * SECOND)
    do(world, "topic.delete", cluster="r2", topic="t", force=True)
    assert shape(world, "r2") is None
    world.run(4 * SECOND)
    assert (
        shape(world, "r2") == 0
        and replicator(world)["connected"]
        and rows(world, "topic.created")[-1]["reason"] == "reconnection"
    )


def test_the_flag_of_pip_370_is_read_when_brokers_start():
    world = opened(exists="{r1: 0}", settings="createTopicToRemoteClusterForReplication: false")
    do(world, "setting.change", cluster="r1", setting="createTopicToRemoteClusterForReplication", value=True)
    world.run(10 * SECOND)
    assert shape(world, "r2") is None
    do(world, "cluster.crash", cluster="r1")
    do(world, "cluster.restart", cluster="r1")
    world.run(12 * SECOND)
    assert shape(world, "r2") == 0 and replicator(world)["connected"]


@pytest.mark.parametrize(
    "broken", [{"do": "link.cut", "link": "r1 -> r2"}, {"do": "cluster.crash", "cluster": "r2"}]
)
def test_a_creation_request_in_flight_when_the_connection_breaks_creates_nothing(broken):
    world = opened(exists="{r1: 2}")
    world.run(25 * MS)  # the lookup was answered at 20 ms, the creation request arrives at 30 ms
    assert world.apply(broken).ok
    world.run(SECOND)
    assert rows(world, "topic.created") == [] and not replicator(world)["connected"]
    assert world.apply(
        {"do": "link.heal", "link": "r1 -> r2"}
        if "link" in broken
        else {"do": "cluster.restart", "cluster": "r2"}
    ).ok
    world.run(10 * SECOND)
    assert shape(world, "r2") == 2 and replicator(world)["connected"]


# --- start checks in a command's answer and in the summary

NO_CREATION = "createTopicToRemoteClusterForReplication: false"


@pytest.mark.parametrize(
    "there, partitions, given, expected",
    [
        ("{r2: 3}", 3, {}, ("passed", "200", 3, 3)),
        ("{r2: 3}", 4, {}, ("refused", "200", 4, 3)),
        ("{r2: 3}", 0, {}, ("refused", "200", 0, 3)),
        ("{r2: 0}", 2, {}, ("refused", "200", 2, 0)),
        ("{}", 0, {"options": "replicationTopicCreation: proposal"}, ("created", "204", 0, 0)),
        ("{}", 2, {"settings": NO_CREATION}, ("refused", "404", 2, None)),
        ("{r2: 3}", 2, {"options": "replicationTopicCreation: before"}, ("passed", None, 2, 3)),
        ("{r2: 3}", 0, {"options": "replicationTopicCreation: before"}, ("refused", None, 0, 3)),
    ],
)
def test_a_commands_answer_has_the_outcome_of_its_replicators_start_checks(
    there, partitions, given, expected
):
    world = opened(exists=there, **given)
    do(world, "topic.create", cluster="r1", topic="t", partitions=partitions)
    world.run(3 * SECOND)  # retries in between: their outcome belongs to the same command
    [told] = world.summary()["commands"]
    names = [f"t-partition-{number}" for number in range(partitions)] if partitions else ["t"]
    assert (told["code"], [one["topic"] for one in told["start_checks"]]) == ("204", names), (
        "the request is done, whatever comes of the check"
    )
    for one in told["start_checks"]:
        assert (
            (one["from"], one["to"]),
            tuple(one[key] for key in ("outcome", "code", "local", "remote")),
        ) == (("r1", "r2"), expected)
        assert (one["error"] is None) == (expected[0] != "refused")
    assert replicator(world)["start_check"] == dict(
        zip(("outcome", "code", "local", "remote"), expected, strict=True)
    )


def test_the_outcome_of_a_command_is_kept_when_its_replicators_are_removed_or_recreated():
    world = opened(exists="{}", options="replicationTopicCreation: proposal")
    do(world, "topic.create", cluster="r1", topic="t", partitions=2)
    world.run(SECOND)
    do(world, "topic.unload", cluster="r1", topic="t")  # new replicators, which the unload created
    world.run(2 * SECOND)
    do(world, "topic.set-replication-clusters", cluster="r1", topic="t", clusters=["r1"])
    world.run(3 * SECOND)
    created, unloaded, taken_off = (
        [(one["topic"], one["outcome"], one["code"]) for one in told.get("start_checks", ())]
        for told in world.summary()["commands"]
    )
    assert created == [("t-partition-0", "created", "204"), ("t-partition-1", "passed", "200")]
    assert (unloaded, taken_off) == ([(name, "passed", "200") for name, *_rest in created], [])


def test_a_creation_request_that_is_refused_has_its_code_in_the_answer():
    world = opened(
        exists="{}",
        replicated=False,
        policies="replicationClusters: [r1, r2],",
        overrides="replicationClusters: [r1]",
        options="replicationTopicCreation: proposal",
    )
    do(world, "topic.create", cluster="r1", topic="t", partitions=0)
    world.run(3 * SECOND)
    [one] = world.summary()["commands"][0]["start_checks"]
    assert (one["outcome"], one["code"], one["remote"]) == ("refused", "412", None) and one[
        "error"
    ].startswith("412 ")


def test_of_partitions_that_request_creation_together_one_gets_204_and_the_others_find_the_topic():
    world = opened(exists="{}", options="replicationTopicCreation: proposal")
    do(world, "topic.create", cluster="r1", topic="t", partitions=3)
    seen = []
    for at_ms in (39, 50, 1000):  # the round trip of the lookup, of the creation request, and a retry
        world.run(at_ms * MS)
        seen.append([part["start_check"]["code"] for part in replicator(world)["partitions"].values()])
    assert seen == [["404", "404", "404"], ["204", "409", "409"], ["204", "200", "200"]]


def test_a_start_without_a_command_is_not_attributed_to_a_command():
    world = opened(exists="{r1: 2, r2: 3}")
    do(
        world,
        "namespace.set-schema-compatibility-strategy",
        cluster="r2",
        namespace=NAMESPACE,
        strategy="FULL",
    )
    world.run(SECOND)
    assert (
        "start_checks" not in world.summary()["commands"][0]
        and replicator(world)["start_check"]["outcome"] == "refused"
    )
