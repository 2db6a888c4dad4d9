"""Tests of tenants' migrations.

The LookupService and its clients, the five steps, failures and retries, rolling back, blue-green.

Sources: the migration article (figures 11 and 12) and PIP-188. The scenario of most tests is the built-in one
without faults; its numbers are derived beside its `expect`.
"""

import pytest

from simulator import World, load_scenario_text
from simulator.scenarios import builtin_text
from tests.simulator.engine_runs import MS, at_ms, do, numbers, rows

BASE = builtin_text("tenant-moves").split("\ncommands:")[0] + "\n"
PARTS = BASE.replace("clusters: [blue], namespace", "clusters: [blue], partitions: 3, namespace")
START = "at: 1s, do: migration.start, tenant: acme, to: green"
SWITCH = "at: 5s, do: migration.switch, tenant: acme"
CLEAN_UP = "at: 9s, do: migration.clean-up, tenant: acme"
BACK = "at: 6s, do: migration.roll-back, tenant: acme"


def world_of(*commands, base=BASE, until=None):
    """A world at instant 0 with its commands scheduled."""
    text = base if until is None else base.replace("until: 12s", f"until: {until}")
    text += "commands:\n" + "".join(f"  - {{{command}}}\n" for command in commands) if commands else ""
    return World.from_scenario(load_scenario_text(text))


def run(*commands, **more):
    """The same, run to its end."""
    world = world_of(*commands, **more)
    world.run()
    return world


def migration(world):
    return world.summary()["migrations"][-1]


def step(world, name):
    return next(one for one in migration(world)["steps"] if one["name"] == name)


def refused(world):
    """(command, code) of every refused command."""
    return [(one["command"], one["code"]) for one in world.summary()["commands"] if not one["ok"]]


def everything_arrived(world):
    """Every message with a receipt was delivered to the application, and none is counted lost."""
    told = {(row["producer"], row["sequence_id"]) for row in rows(world, "message.receipted")}
    handed = {(row["producer"], row["sequence_id"]) for row in rows(world, "message.delivered")}
    assert told <= handed, sorted(told - handed)[:5]
    assert [one["lost"] for one in world.summary()["failovers"] if one["lost"]] == []
    assert world.summary()["violations"] == []


# --- lookup


def test_a_client_without_a_cluster_asks_for_partitions_then_for_its_broker_and_connects():
    world = world_of()
    world.run(200 * MS)
    # lookupLatency is 2 ms: sent at 0, at the service 1 ms later, back after 2; then the lookup itself.
    assert [(row["at_us"] // MS, row["client"], row["reason"]) for row in rows(world, "lookup.answered")] == [
        (1, "billing-1", "partition-metadata"),
        (3, "billing-1", "lookup"),
        (101, "web", "partition-metadata"),
        (103, "web", "lookup"),
    ]
    assert at_ms(rows(world, "consumer.connected")) == [4] and at_ms(rows(world, "producer.connected")) == [
        104
    ]
    stored = rows(world, "message.stored")[0]
    assert stored["at_us"] == 104 * MS and stored["sequence_id"] == 0, (
        "what was published before is sent once it is connected"
    )
    assert not rows(world, "producer.connected", client="nobody")


def test_a_client_with_a_schema_asks_for_it_between_partitions_and_lookup():
    schema = (
        "schemas: {order: {type: AVRO, definition: {type: record, name: Order, fields: [{name: id, type: "
        "long}]}}}\n"
    )
    base = BASE.replace("every: 10ms, stop: 7s", "every: 10ms, stop: 7s, schema: order") + schema
    world = run(START, SWITCH, CLEAN_UP, base=base)
    asked = [(row["at_us"] // MS, row["reason"]) for row in rows(world, "lookup.answered", client="web")]
    assert asked == [(101, "partition-metadata"), (103, "schema"), (105, "lookup"), (5101, "lookup")], (
        "after the unload the lookup alone"
    )
    everything_arrived(world)


def test_permissions_apply_to_clients_that_look_up():
    for writer, reader, expected in (
        ("writer", "reader", (True, True)),
        ("reader", "writer", (False, False)),
        ("writer", "writer", (True, False)),
    ):
        base = (
            BASE.replace("web: {", f"web: {{role: {writer}, ").replace(
                "billing-1: {", f"billing-1: {{role: {reader}, "
            )
            + "roles: {reader: {consume: [orders]}, writer: {produce: [orders]}}\n"
        )
        world = run(START, SWITCH, base=base, until="7s")
        assert (bool(rows(world, "message.stored")), bool(rows(world, "message.delivered"))) == expected, (
            writer,
            reader,
        )


def test_data_does_not_go_through_the_lookup_service():
    world = run("at: 2s, do: lookup.stop", until="4s")
    assert len(rows(world, "message.delivered")) > 380, "existing connections go on"
    assert rows(world, "lookup.failed") == []


def test_without_the_lookup_service_disconnected_clients_retry_with_backoff():
    world = run(
        "at: 2s, do: lookup.stop",
        "at: 2s, do: topic.unload, cluster: blue, topic: orders",
        "at: 4s, do: lookup.start",
        until="8s",
    )
    asked = at_ms(rows(world, "lookup.failed", client="web"))
    # 100 ms after the unload, then after 200, 400 and 800 ms, each plus the two milliseconds of the previous
    # request
    assert asked == [2101, 2303, 2705, 3507]
    assert [row["count"] for row in rows(world, "lookup.failed", client="web")] == [2, 3, 4, 5]
    assert at_ms(rows(world, "producer.connected", client="web"))[1:] == [5110]
    everything_arrived(world)


def test_clients_that_look_up_survive_a_crash_of_their_cluster():
    world = run(
        "at: 2s, do: cluster.crash, cluster: blue", "at: 3s, do: cluster.restart, cluster: blue", until="8s"
    )
    assert {row["reason"] for row in rows(world, "lookup.failed")} == {"cluster-down"}
    assert rows(world, "client.changed", reason="crash") == []
    everything_arrived(world)


def test_a_fail_over_command_does_not_move_clients_that_look_up():
    world = run(
        "at: 2s, do: subscription.fail-over, subscription: billing, from: blue, to: green, mode: crash",
        until="3s",
    )
    assert refused(world) == [("subscription.fail-over", "looks-up")]


# --- the five steps


def test_every_resource_is_created_in_order_and_deleted_in_reverse():
    world = run(START, SWITCH, CLEAN_UP)
    made = [(row["reason"], row["detail"]) for row in rows(world, "resource.created")]
    assert made == [
        ("tenant", "acme"),
        ("role", "shop-app"),
        ("namespace", "acme/shop"),
        ("topic", "orders"),
        ("subscription", "billing"),
    ]
    assert [(row["reason"], row["detail"]) for row in rows(world, "resource.deleted")] == made[::-1]
    assert {row["cluster"] for row in rows(world, "resource.deleted")} == {"blue"}
    everything_arrived(world)


def test_during_the_switch_clients_are_connected_to_both_clusters():
    # Three partitions are unloaded 100 ms apart; the consumer has sessions in both clusters until the last.
    world = world_of(START, SWITCH, CLEAN_UP, base=PARTS)
    world.run(5150 * MS)
    connected = world.view()["lookup"]["clients"]["acme"]["connected"]
    assert "billing-1" in connected["blue"] and "billing-1" in connected["green"]
    world.run()
    assert migration(world)["state"] == "finished" and world.summary()["lookup"] == {"acme": "green"}
    everything_arrived(world)


def test_a_client_whose_lookup_answered_the_old_cluster_is_redirected_again():
    # billing-2 asks at 4.999 s; the service answers "blue" a millisecond later, it connects there at 5.001 s,
    # after the unload.
    base = BASE.replace(
        "consumers:\n", "consumers:\n  billing-2: {subscription: billing, start: 4997ms, processing: 1ms}\n"
    )
    world = run(START, SWITCH, base=base, until="9s")
    assert at_ms(rows(world, "consumer.connected", client="billing-2", cluster="blue")) == [5001]
    assert list(at_ms(rows(world, "topic.unloaded", cluster="blue", reason="migration"))) == [
        5000,
        6000,
    ]
    assert step(world, "switch")["state"] == "done"
    everything_arrived(world)


def test_a_step_begins_only_in_its_turn_and_when_its_precondition_holds():
    world = world_of()
    world.run(1 * 1_000_000)
    do(world, "migration.start", tenant="acme", to="green", through="metadata")
    world.run(1_600_000)
    assert migration(world)["state"] == "waiting" and step(world, "topic-data")["state"] == "waiting", (
        "through: metadata"
    )
    assert world.apply({"do": "migration.switch", "tenant": "acme"}).code == "wrong-state"
    do(world, "migration.advance", tenant="acme")
    world.run(1_900_000)
    do(world, "migration.advance", tenant="acme")
    world.run(2_100_000)
    assert [one["state"] for one in migration(world)["steps"]] == [
        "done",
        "done",
        "done",
        "waiting",
        "waiting",
    ]
    do(world, "link.slow", link="blue -> green", latency="5s")
    world.run(4_000_000)
    answer = world.apply({"do": "migration.switch", "tenant": "acme"})
    assert (
        answer.code == "not-ready"
        and "the oldest published" in answer.error
        and "in blue and not in green" in answer.error
    )
    do(world, "migration.switch", tenant="acme", force=True)
    world.run()
    everything_arrived(world)


def test_clean_up_waits_until_no_client_needs_the_source():
    hold = BASE.replace(
        "consumers:\n", "consumers:\n  fixed: {subscription: billing, cluster: blue, processing: 1ms}\n"
    )
    world = run(START, SWITCH, CLEAN_UP, base=hold)
    assert refused(world) == [("migration.clean-up", "not-ready")]
    told = world.summary()["commands"][-1]["error"]
    assert "1 client is connected in blue: fixed" in told
    assert world.view()["migrations"][0]["way_back"] is None, (
        "nothing was deleted: it can still be rolled back"
    )


def test_the_old_backlog_is_copied_only_with_start_at_earliest():
    slow = BASE.replace("processing: 1ms", "processing: 15ms")
    world = run(START, SWITCH, base=slow, until="20s")
    assert step(world, "topic-data")["state"] == "done"
    everything_arrived(world)
    world = run(START + ", startAt: latest", SWITCH, base=slow, until="20s")
    assert refused(world) == [("migration.switch", "not-ready")]
    assert "never to be copied" in world.summary()["commands"][-1]["error"]
    world = run(
        START + ", startAt: latest",
        SWITCH + ", force: true",
        "at: 15s, do: migration.clean-up, tenant: acme",
        base=slow,
        until="20s",
    )
    failover = world.summary()["failovers"][0]
    assert (
        failover["lost"] == failover["forecast"]["lost"] == failover["lost_by_cause"]["never_replicated"] > 0
    )
    assert (
        refused(world) == [("migration.clean-up", "not-ready")]
        and "in blue alone" in world.summary()["commands"][-1]["error"]
    )


# --- failures and retries


@pytest.mark.parametrize(
    "cut_ms, name", [(1150, "metadata"), (1550, "topic-data"), (1720, "consumption-progress")]
)
@pytest.mark.parametrize(
    "fault, repair",
    [
        ("link.cut, link: blue <-> green", "link.heal, link: blue <-> green"),
        ("cluster.crash, cluster: green", "cluster.restart, cluster: green"),
        ("cluster.crash, cluster: blue", "cluster.restart, cluster: blue"),
    ],
)
def test_a_fault_in_a_step_is_reported_and_another_attempt_finishes_it(cut_ms, name, fault, repair):
    later = (SWITCH.replace("5s", "9s"), CLEAN_UP.replace("9s", "15s"))
    world = run(
        START,
        f"at: {cut_ms}ms, do: {fault}",
        f"at: 3s, do: {repair}",
        "at: 3500ms, do: migration.resume, tenant: acme",
        *later,
        until="20s",
    )
    failed = rows(world, "migration.step-failed")
    assert [row["reason"] for row in failed] == [name] and (
        " is cut: " in failed[0]["detail"] or " is down: " in failed[0]["detail"]
    )
    assert step(world, name)["attempts"] == 2 and migration(world)["state"] == "finished"
    everything_arrived(world)


def test_a_target_that_crashes_in_the_switch_fails_it_and_clients_connect_after_the_restart():
    world = run(
        START,
        SWITCH,
        "at: 5050ms, do: cluster.crash, cluster: green",
        "at: 6s, do: cluster.restart, cluster: green",
        "at: 6500ms, do: migration.resume, tenant: acme",
    )
    assert [row["reason"] for row in rows(world, "migration.step-failed")] == ["switch"]
    assert step(world, "switch") | {"state": "done", "attempts": 2} == step(world, "switch")
    everything_arrived(world)


def test_a_source_that_crashes_in_clean_up_fails_it_and_a_retry_finishes():
    world = run(
        START,
        SWITCH,
        CLEAN_UP,
        "at: 9015ms, do: cluster.crash, cluster: blue",
        "at: 10s, do: cluster.restart, cluster: blue",
        "at: 10500ms, do: migration.resume, tenant: acme",
    )
    assert step(world, "clean-up")["attempts"] == 2 and migration(world)["state"] == "finished"
    assert "orders" not in world.topics["blue"]


def test_a_migration_paused_in_any_step_resumes_without_another_attempt():
    world = run(
        START,
        "at: 1150ms, do: migration.pause, tenant: acme",
        "at: 3s, do: migration.resume, tenant: acme",
        until="5s",
    )
    assert at_ms(rows(world, "resource.created"))[:2] == [1080, 3080]
    assert step(world, "metadata") | {"attempts": 1, "state": "done"} == step(world, "metadata")


def test_after_an_early_switch_the_skipped_steps_are_finished_later():
    world = run(START, "at: 1450ms, do: migration.switch, tenant: acme, force: true", CLEAN_UP)
    assert [one["state"] for one in migration(world)["steps"]] == ["done"] * 5 and migration(world)[
        "state"
    ] == "finished"
    failover = world.summary()["failovers"][0]
    assert (
        failover["duplicates"]
        == failover["by_cause"]["not_in_target_yet"] + failover["by_cause"]["ack_not_registered"]
        > 100
    )
    everything_arrived(world)


# --- what a switch costs now


@pytest.mark.parametrize("at_ms_", [2500, 2705, 3333, 4000, 4741, 5555])
@pytest.mark.parametrize(
    "base",
    [BASE.replace("processing: 1ms", "processing: 0ms"), PARTS.replace("processing: 1ms", "processing: 0ms")],
    ids=["plain", "partitions"],
)
def test_the_forecast_equals_the_actual_figures_where_its_premise_holds(at_ms_, base):
    # The premise: the source crashes at this instant, nothing more leaves it, and no message is delivered and
    # not acked.
    world = world_of(START, base=base, until="30s")
    world.run(at_ms_ * MS)
    cost = world.view()["migrations"][0]["cost"]
    assert cost["sum"] == cost["subscriptions"]["billing"] == world.forecast("billing", "blue")["green"]
    do(world, "migration.switch", tenant="acme", force=True)
    do(world, "cluster.crash", cluster="blue")
    world.run(30_000_000)
    outcome = world.summary()["failovers"][0]
    assert {name: outcome[name] for name in cost["sum"]} == cost["sum"]
    assert outcome["forecast"] == {name: cost["sum"][name] for name in outcome["forecast"]}


# --- rolling back


@pytest.mark.parametrize("at_ms_", [1050, 1550, 1750, 3000])
def test_clients_do_not_notice_a_roll_back_before_the_switch(at_ms_):
    world = run(START, f"at: {at_ms_}ms, do: migration.roll-back, tenant: acme")
    assert migration(world) | {
        "state": "rolled-back",
        "rolled_back": True,
        "switched_at_us": None,
    } == migration(world)
    assert world.topics == {"blue": ["orders"], "green": []} and world.summary()["failovers"] == []
    assert len(rows(world, "consumer.connected")) == 1
    everything_arrived(world)


def test_a_roll_back_after_the_switch_keeps_messages_and_acks_of_the_target():
    world = run(START, SWITCH, BACK, until="14s")
    assert migration(world)["rolled_back"] and world.summary()["lookup"] == {"acme": "blue"}
    assert world.topics == {"blue": ["orders"], "green": []}
    there, back = world.summary()["failovers"]
    assert (there["mode"], back["mode"]) == ("migration", "roll-back") and (back["from"], back["to"]) == (
        "green",
        "blue",
    )
    published = [row for row in rows(world, "message.stored", cluster="green") if "peer" not in row]
    assert len(published) > 80 and {row["sequence_id"] for row in published} <= set(
        numbers(rows(world, "message.stored", cluster="blue", peer="green"))
    )
    everything_arrived(world)


def test_a_roll_back_over_a_cut_link_delays_clean_up_until_everything_is_copied_back():
    world = world_of(
        START,
        SWITCH,
        "at: 5500ms, do: link.cut, link: blue <-> green",
        BACK,
        "at: 8s, do: link.heal, link: blue <-> green",
        until="20s",
    )
    world.run(7900 * MS)
    waits = [one["words"] for one in world.view()["migrations"][0]["waits_for"] if not one["holds"]]
    assert waits and "blue has not received all that billing acknowledged" in waits[0], waits
    assert world.topics["green"] == ["orders"]
    world.run()
    assert migration(world)["rolled_back"] and world.topics["green"] == []
    everything_arrived(world)


def test_no_roll_back_once_clean_up_has_begun_or_the_old_cluster_is_down():
    world = run(
        START,
        SWITCH,
        "at: 6s, do: cluster.crash, cluster: blue",
        "at: 7s, do: migration.roll-back, tenant: acme",
        until="8s",
    )
    assert refused(world) == [("migration.roll-back", "no-way-back")]
    world = run(START, SWITCH, CLEAN_UP, "at: 9015ms, do: migration.roll-back, tenant: acme")
    assert (
        refused(world) == [("migration.roll-back", "no-way-back")] and migration(world)["state"] == "finished"
    )


def test_a_tenant_can_migrate_there_and_back():
    base = BASE.replace("for: 20s", "for: 1s")
    again = [
        command.replace("green", "blue")
        for command in (
            START.replace("1s", "10s"),
            SWITCH.replace("5s", "14s"),
            CLEAN_UP.replace("9s", "17s"),
        )
    ]
    world = run(START, SWITCH, CLEAN_UP, *again, base=base.replace("stop: 7s", "stop: 16s"), until="20s")
    assert [one["state"] for one in world.summary()["migrations"]] == ["finished", "finished"]
    assert world.summary()["lookup"] == {"acme": "blue"}
    everything_arrived(world)


# --- strategies


@pytest.mark.parametrize(
    "strategy, cause", [("none", "not_replicated"), ("snapshots", "after_newest_snapshot")]
)
def test_each_strategy_has_its_own_cause_of_duplicates(strategy, cause):
    base = BASE.replace(", hold: {messages: [web/50], for: 20s}", "")
    world = run(f"{START}, strategy: {strategy}", SWITCH, CLEAN_UP, base=base)
    assert migration(world)["strategy"] == strategy and migration(world)["state"] == "finished"
    assert world.summary()["failovers"][0]["by_cause"][cause] > 20
    everything_arrived(world)


# --- one run, however it is cut


@pytest.mark.parametrize(
    "commands, base",
    [
        ([START, SWITCH, CLEAN_UP], BASE),
        ([START, SWITCH, BACK], PARTS),
        ([START, SWITCH, CLEAN_UP], PARTS),
        (
            [
                START,
                "at: 1720ms, do: link.cut, link: blue <-> green",
                "at: 2s, do: migration.switch, tenant: acme, force: true",
            ],
            PARTS,
        ),
    ],
)
def test_digest_is_the_same_over_seeks_and_forks(commands, base):
    world = run(*commands, base=base)
    digest = world.digest()
    for at_us in (9_050_000, 1_200_000, 5_150_000, 1_730_000, 9_500_000):
        world.seek(at_us=at_us)
        fork = world.fork()
        fork.run()
        assert fork.digest() == digest, at_us
    world.run()
    assert world.digest() == digest


# --- shadow topics share ledgers, which do not move

SHADE = BASE.replace(
    "namespace: acme/shop}",
    "namespace: acme/shop}\n  shade: {clusters: [blue], namespace: acme/shop, shadowOf: orders}",
)


def test_a_tenant_with_shadow_topics_cannot_migrate():
    alone = [
        "at: 500ms, do: migration.start, tenant: acme, to: green",
        "at: 900ms, do: shadow.delete, cluster: blue, topic: shade, force: true",
    ]
    world = run(*alone, START, SWITCH, CLEAN_UP, base=SHADE)
    assert (
        refused(world) == [("migration.start", "shadow-topics")]
        and "shade of acme" in world.summary()["commands"][0]["error"]
    )
    assert migration(world)["state"] == "finished" and [
        sorted(world.topics[name]) for name in ("blue", "green")
    ] == [[], ["orders"]]
    everything_arrived(world)


def test_the_blue_green_check_skips_shadow_topics():
    world = run(
        "at: 1900ms, do: cluster.migrate, cluster: blue, to: green",
        base=SHADE + "settings: {clusterMigrationCheckDurationSeconds: 1}\n",
        until="4s",
    )
    assert (
        [row["topic"] for row in rows(world, "topic.terminated")]
        == ["orders"]
        == [row["topic"] for row in rows(world, "topic.migrated")]
    )
    assert [row["reason"] for row in rows(world, "shadow.confirmed")][-1] == "terminated" and world.summary()[
        "violations"
    ] == []


# --- rolling back a switch that was forced before its steps were done

HASTY = [START + ", through: metadata", "at: 2s, do: migration.switch, tenant: acme, force: true"]


@pytest.mark.parametrize("strategy", ["acknowledgement-sync", "snapshots", "none"])
def test_rolling_back_a_switch_forced_before_the_data_was_copied_copies_the_targets_messages_back(
    strategy,
):
    """Nothing was copied at the switch at 2 s.

    The slow reader leaves most of the messages published since then in green, and all of them are copied to
    blue before green is cleaned up.
    """
    slow = BASE.replace("processing: 1ms", "processing: 15ms")
    world = run(HASTY[0] + f", strategy: {strategy}", HASTY[1], BACK, base=slow, until="30s")
    assert migration(world)["rolled_back"] and [one["state"] for one in migration(world)["steps"][1:3]] == [
        "undone",
        "undone" if strategy != "none" else "skipped",
    ]
    assert "orders" not in world.topics["green"]
    everything_arrived(world)


@pytest.mark.parametrize("then", ["restart", "lose"])
def test_rolling_back_a_forced_switch_while_the_target_is_down(then):
    down = ["at: 5900ms, do: cluster.crash, cluster: green", f"at: 8s, do: cluster.{then}, cluster: green"]
    world = run(*HASTY, *down, BACK, until="30s")
    assert (
        migration(world)["rolled_back"]
        and world.summary()["lookup"] == {"acme": "blue"}
        and world.summary()["violations"] == []
    )
    if then == "restart":
        everything_arrived(world)


def test_an_undo_leaves_what_contains_a_topic_that_replication_created():
    """The list of its topic makes a replicator create it in green as soon as the namespace is there."""
    listed = (
        "at: 0s, do: topic.set-replication-clusters, cluster: blue, topic: orders, clusters: [blue, green]"
    )
    world = run(listed, START, BACK)
    created = rows(world, "topic.created")
    assert [(row["topic"], row["reason"]) for row in created if row["topic"] == "orders"] == [
        ("orders", "replicator")
    ]
    deleted = [row["reason"] for row in rows(world, "resource.deleted")]
    assert "subscription" in deleted and not {"topic", "namespace", "tenant"} & set(deleted)
    assert world.violations == []
