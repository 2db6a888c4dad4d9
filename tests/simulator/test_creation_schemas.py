"""Tests of schemas of topics.

Who may register, what is refused (PIP-433), and how a refused one stops a partition (GeoPersistentReplicator,
ReplicatorStatsImpl).
"""

import pytest

from tests.simulator.creation_runs import NAMESPACE, SCHEMAS, opened, refused, replicator, schemas
from tests.simulator.engine_runs import MS, SECOND, do, numbers, rows

DISABLED = "Schema not found and schema auto updating is disabled."
PRODUCER = "producers: {p: {topic: t, cluster: r1, every: 100ms, start: 50ms, schema: v1}}"


def with_schemas(**given):
    return opened(schemas=SCHEMAS, **{"clients": PRODUCER, **given})


def stored(world, cluster="r2"):
    return numbers(rows(world, "message.stored", cluster=cluster))


# --- registering


def test_an_entry_has_one_schema():
    """An open batch is sent before the first message of another schema: a replicator checks the schema of
    an entry, not of each message in it.
    """
    world = with_schemas(clients=PRODUCER.replace("schema: v1", "schema: v1, batch: 3"))
    world.run(200 * MS)
    do(world, "producer.use-schema", producer="p", schema="v2")
    world.run(SECOND)
    assert [
        (row["at_us"], row["sequence_id"], row["batch_index"])
        for row in rows(world, "message.stored", cluster="r1")
    ][:5] == [(200 * MS, 0, 0), (200 * MS, 1, 1), (450 * MS, 2, 0), (450 * MS, 3, 1), (450 * MS, 4, 2)]
    assert schemas(world, "r2") == ["v1", "v2"]


@pytest.mark.parametrize("may", [True, False])
def test_messages_that_waited_for_their_topic_register_their_schema_when_sent(may):
    world = with_schemas(
        exists="{}",
        policies=f"allowAutoTopicCreation: false, isAllowAutoUpdateSchema: {str(may).lower()},",
        replicated=False,
        clients=PRODUCER.replace("start: 50ms", "start: 50ms, stop: 1s"),
    )
    world.run(SECOND)
    do(world, "topic.create", cluster="r1", topic="t")
    world.run(2 * SECOND)
    first = rows(world, "schema.registered" if may else "schema.refused", cluster="r1")[0]
    later = rows(world, "message.stored" if may else "message.send-failed", cluster="r1")
    assert numbers(later) == list(range(10)) and all(row["seq"] > first["seq"] for row in later)
    assert schemas(world, "r1") == (["v1"] if may else [])


def test_a_producer_registers_versions_from_0_and_the_replicator_registers_them_remotely():
    world = with_schemas()
    world.run(SECOND)
    do(world, "producer.use-schema", producer="p", schema="v2")
    world.run(3 * SECOND)
    assert schemas(world, "r1") == schemas(world, "r2") == ["v1", "v2"]
    assert [(row["cluster"], row["count"], row["reason"]) for row in rows(world, "schema.registered")] == [
        ("r1", 0, "producer"),
        ("r2", 0, "replicator"),
        ("r1", 1, "producer"),
        ("r2", 1, "replicator"),
    ]
    assert stored(world) == list(range(30)) and replicator(world)["replication_backlog"] == 0


def test_the_first_message_of_a_schema_waits_a_round_trip():
    world = with_schemas()
    world.run(SECOND)
    assert rows(world, "schema.registered", cluster="r2")[0]["at_us"] == 60 * MS
    assert rows(world, "message.replicated")[0]["at_us"] == 70 * MS


@pytest.mark.parametrize(
    "strategy, schema, accepted",
    [
        ("FULL", "v2", True),
        ("FULL", "v3", False),
        ("FULL", "text", False),
        ("BACKWARD", "v2", True),
        ("FORWARD", "v3", False),
        ("ALWAYS_COMPATIBLE", "text", True),
        ("ALWAYS_INCOMPATIBLE", "v2", False),
    ],
)
def test_the_strategy_decides_what_a_producer_may_send(strategy, schema, accepted):
    world = with_schemas(policies=f"schemaCompatibilityStrategy: {strategy},")
    world.run(SECOND)
    do(world, "producer.use-schema", producer="p", schema=schema)
    world.run(2 * SECOND)
    assert schemas(world, "r1") == (["v1", schema] if accepted else ["v1"])
    failed = rows(world, "message.send-failed", reason="schema")
    assert len(failed) == (0 if accepted else 10) and len(rows(world, "schema.refused", cluster="r1")) == (
        0 if accepted else 1
    )


def test_a_known_schema_is_never_refused_again():
    world = with_schemas(policies="schemaCompatibilityStrategy: ALWAYS_COMPATIBLE,")
    world.run(SECOND)
    do(world, "producer.use-schema", producer="p", schema="text")
    world.run(SECOND + 200 * MS)
    do(
        world,
        "namespace.set-schema-compatibility-strategy",
        cluster="r1",
        namespace=NAMESPACE,
        strategy="ALWAYS_INCOMPATIBLE",
    )
    do(world, "namespace.set-is-allow-auto-update-schema", cluster="r1", namespace=NAMESPACE, enabled=False)
    do(world, "producer.use-schema", producer="p", schema="v1")
    world.run(2 * SECOND)
    assert rows(world, "message.send-failed") == [] and schemas(world, "r1") == ["v1", "text"]


def test_clients_without_auto_update_may_not_register_even_the_first_schema():
    world = with_schemas(policies="isAllowAutoUpdateSchema: false,")
    world.run(SECOND)
    assert stored(world, "r1") == [] and rows(world, "schema.refused")[0]["detail"] == f"v1: {DISABLED}"
    do(world, "schema.upload", cluster="r1", topic="t", schema="v1")
    world.run(2 * SECOND)
    assert stored(world, "r1") == list(range(10, 20)), "a person may, and then the producer may use it"


def test_the_brokers_switch_applies_where_the_namespace_has_none():
    world = with_schemas(settings="isAllowAutoUpdateSchemaEnabled: false")
    world.run(SECOND)
    assert stored(world, "r1") == []


def test_uploading_must_be_compatible_and_deleting_makes_room():
    world = with_schemas()
    world.run(SECOND)
    code, error = refused(world, "schema.upload", cluster="r1", topic="t", schema="v3")
    assert code == "409" and error.startswith("Incompatible schema")
    do(world, "schema.delete", cluster="r1", topic="t")
    assert schemas(world, "r1") == []
    assert refused(world, "schema.delete", cluster="r1", topic="t")[0] == "404"
    do(world, "schema.upload", cluster="r1", topic="t", schema="v3")
    assert schemas(world, "r1") == ["v3"]


def test_consumers_must_be_able_to_read_the_schema():
    clients = PRODUCER + (
        "\nsubscriptions: {s: {topic: t, type: Shared, initialPosition: Earliest}}\nconsumers:\n  c: "
        "{subscription: s, cluster: r1, start: 500ms, schema: v2}\n  d: {subscription: s, cluster: r1, "
        "start: 500ms, schema: v3}"
    )
    world = with_schemas(clients=clients)
    world.run(2 * SECOND)
    assert [row["client"] for row in rows(world, "consumer.connected")] == ["c"]
    assert {row["client"] for row in rows(world, "schema.refused")} == {"d"} and schemas(world, "r1") == [
        "v1"
    ]


@pytest.mark.parametrize(
    "clients, policies, admitted",
    [
        ("producers: {p: {topic: t, cluster: r1}}", "", False),
        ("producers: {p: {topic: t, cluster: r1, at: [100ms]}}", "", False),
        ("producers: {p: {topic: t, cluster: r2}}", "", True),
        ("producers: {p: {topic: t, cluster: r1, schema: v1}}", "", True),
        (
            "producers: {p: {topic: t, cluster: r1}}",
            "schemaCompatibilityStrategy: ALWAYS_COMPATIBLE,",
            True,
        ),
    ],
    ids=["producer", "data", "elsewhere", "with-schema", "always-compatible"],
)
def test_an_active_topic_without_a_schema_takes_none_from_a_consumer(clients, policies, admitted):
    """PersistentTopic.addSchemaIfIdleOrCheckCompatible; a replicator's producer does not make it active."""
    clients += (
        "\nsubscriptions: {s: {topic: t}}\nconsumers: {c: {subscription: s, cluster: r1, start: 1s, "
        "schema: v1}}"
    )
    world = opened(replicated=False, schemas=SCHEMAS, clients=clients, policies=policies)
    world.run(2 * SECOND)
    assert bool(rows(world, "consumer.connected")) is admitted
    refused = {row["detail"] for row in rows(world, "schema.refused")}
    assert refused == (
        set()
        if admitted
        else {"v1: Failed to add schema to an active topic with empty(BYTES) schema: new schema type AVRO"}
    )
    assert world.summary()["violations"] == []


def test_replicated_data_without_a_schema_makes_the_remote_topic_active():
    clients = (
        "producers: {p: {topic: t, cluster: r1, at: [500ms]}}\nsubscriptions: {s: {topic: t, type: Shared}}\n"
        "consumers: {c: {subscription: s, cluster: r2, schema: v1}, d: {subscription: s, cluster: r2, "
        "start: 1s, schema: v1}}"
    )
    world = opened(schemas=SCHEMAS, clients=clients)
    world.run(2 * SECOND)
    assert len(rows(world, "consumer.connected")) == 2, "the first came before the data, and registered it"
    late = opened(
        schemas=SCHEMAS, clients=clients.replace("cluster: r2, schema", "cluster: r2, start: 2s, schema")
    )
    late.run(3 * SECOND)
    assert rows(late, "consumer.connected") == [] and schemas(late, "r2") == []


def test_a_consumer_registers_the_first_schema():
    clients = "subscriptions: {s: {topic: t}}\nconsumers: {c: {subscription: s, cluster: r1, schema: v1}}"
    world = with_schemas(clients=clients)
    world.run(SECOND)
    assert schemas(world, "r1") == ["v1"] and rows(world, "schema.registered")[0]["reason"] == "consumer"


def test_enforced_validation_refuses_producers_without_a_schema():
    clients = (
        "producers:\n  p: {topic: t, cluster: r1, every: 100ms, start: 50ms, schema: v1}\n  q: {topic: t, "
        "cluster: r1, every: 100ms, start: 60ms}"
    )
    for enforced, failed in (("true", 10), ("false", 0)):
        world = with_schemas(clients=clients, policies=f"schemaValidationEnforced: {enforced},")
        world.run(SECOND)
        assert len(rows(world, "message.send-failed", producer="q")) == failed


# --- the replicator's permission (PIP-433)


@pytest.mark.parametrize(
    "option, allow, flag, passes",
    [
        ("implemented", True, True, True),
        ("implemented", False, True, True),
        ("implemented", False, False, False),
        ("proposal", False, True, True),
        ("before", False, True, False),
        ("before", True, True, True),
    ],
)
def test_permission_to_register_at_the_remote(option, allow, flag, passes):
    overrides = (
        f"isAllowAutoUpdateSchema: {str(allow).lower()}, isAllowAutoUpdateSchemaWithReplicator: "
        f"{str(flag).lower()}"
    )
    world = with_schemas(options=f"replicationTopicCreation: {option}", overrides=overrides)
    world.run(2 * SECOND)
    found = replicator(world)
    assert found["connected"], "which looks healthy either way"
    assert found["delay_s"] == (0 if passes else 1), (
        "the message that is held back is the oldest pending send"
    )
    assert (found["replication_backlog"] == 0) is passes and found["last_error"] == (
        None if passes else DISABLED
    )
    assert len(stored(world)) == (20 if passes else 0)


def test_allowing_all_clients_except_replicators_is_400():
    world = with_schemas()
    assert (
        refused(
            world,
            "namespace.set-is-allow-auto-update-schema",
            cluster="r2",
            namespace=NAMESPACE,
            enabled=True,
            enableForReplicator=False,
        )[0]
        == "400"
    )
    do(
        world,
        "namespace.set-is-allow-auto-update-schema",
        cluster="r2",
        namespace=NAMESPACE,
        enabled=False,
        enableForReplicator=False,
    )


def test_before_pip_433_the_replicator_switch_is_400():
    world = with_schemas(options="replicationTopicCreation: before")
    assert (
        refused(
            world,
            "namespace.set-is-allow-auto-update-schema",
            cluster="r2",
            namespace=NAMESPACE,
            enabled=False,
            enableForReplicator=True,
        )[0]
        == "400"
    )


def test_the_replicators_schema_must_be_compatible_despite_permission():
    world = with_schemas(
        overrides="schemaCompatibilityStrategy: FULL",
        policies="schemaCompatibilityStrategy: ALWAYS_COMPATIBLE,",
    )
    world.run(SECOND)
    do(world, "producer.use-schema", producer="p", schema="v3")
    world.run(3 * SECOND)
    assert schemas(world, "r1") == ["v1", "v3"] and schemas(world, "r2") == ["v1"]
    assert replicator(world)["replication_backlog"] == 20 and replicator(world)["last_error"].startswith(
        "Incompatible schema"
    )


# --- stopped in order (GeoPersistentReplicator)


def test_a_stopped_replicator_needs_both_the_policy_and_a_reconnection():
    world = with_schemas(
        overrides="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false"
    )
    world.run(2 * SECOND)
    for unload in ("r2", "r1"):
        do(world, "topic.unload", cluster=unload, topic="t")
        world.run(world.now_us + SECOND)
    assert stored(world) == [] and len(rows(world, "replicator.stopped")) == 3, "asked anew, refused anew"
    do(
        world,
        "namespace.set-is-allow-auto-update-schema",
        cluster="r2",
        namespace=NAMESPACE,
        enabled=False,
        enableForReplicator=True,
    )
    world.run(world.now_us + 5 * SECOND)
    assert stored(world) == [] and replicator(world)["connected"]
    do(world, "topic.unload", cluster="r2", topic="t")
    world.run(world.now_us + SECOND)
    assert (
        stored(world) == sorted(stored(world))
        and stored(world)[0] == 0
        and replicator(world)["replication_backlog"] == 0
    )


def test_only_the_partition_with_the_refused_message_stops():
    clients = (
        "producers:\n  p: {topic: t, cluster: r1, every: 100ms, start: 50ms, schema: v1, keys: 1}\n  q: "
        "{topic: t, cluster: r1, every: 100ms, start: 60ms, keys: 2}"
    )
    world = with_schemas(
        exists="{r1: 2, r2: 2}",
        clients=clients,
        overrides="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false",
    )
    world.run(2 * SECOND)
    parts = replicator(world)["partitions"]
    stopped = [name for name, one in parts.items() if one["last_error"]]
    assert (
        len(stopped) == 1 and len({row["topic"] for row in rows(world, "message.stored", producer="p")}) == 1
    )
    running = next(one for name, one in parts.items() if name not in stopped)
    assert running["replication_backlog"] == 0 and rows(world, "message.stored", cluster="r2", producer="q")


def test_messages_without_a_schema_before_the_refused_one_arrive():
    clients = (
        "producers:\n  p: {topic: t, cluster: r1, at: [1s, 2s], schema: v1}\n  q: {topic: t, cluster: r1, "
        "at: [500ms, 1500ms]}"
    )
    world = with_schemas(
        clients=clients,
        overrides="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false",
    )
    world.run(5 * SECOND)
    assert [(row["producer"], row["sequence_id"]) for row in rows(world, "message.stored", cluster="r2")] == [
        ("q", 0)
    ]
    assert replicator(world)["replication_backlog"] == 3
    place = rows(world, "replicator.stopped")[0]
    assert (place["ledger"], place["entry"], place["reason"]) == (192, 1, "schema")


def test_a_message_not_meant_for_the_remote_is_skipped_before_its_schema_is_checked():
    clients = "producers: {p: {topic: t, cluster: r1, every: 100ms, schema: v1, replicateTo: []}}"
    world = with_schemas(
        clients=clients,
        overrides="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false",
    )
    world.run(SECOND)
    assert replicator(world)["replication_backlog"] == 0 and rows(world, "replicator.stopped") == []


def test_a_schema_registered_on_both_sides_by_command_needs_no_permission():
    world = with_schemas(
        policies="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false,", overrides=""
    )
    for cluster in ("r1", "r2"):
        do(world, "schema.upload", cluster=cluster, topic="t", schema="v1")
    world.run(2 * SECOND)
    assert stored(world) == list(range(20))


def test_a_deleted_topic_deletes_its_schemas():
    world = with_schemas()
    world.run(SECOND)
    do(world, "topic.delete", cluster="r2", topic="t", force=True)
    world.run(3 * SECOND)
    assert (
        schemas(world, "r2") == ["v1"]
        and rows(world, "schema.registered", cluster="r2")[-1]["at_us"] > SECOND
    )
