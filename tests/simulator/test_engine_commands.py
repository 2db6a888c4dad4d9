"""Tests of every command.

Accepted with the effect that it promises, and refused with a code, what is wrong and what would be right,
nothing changed.

One scenario serves all: topic t in a and b, topic parts (two partitions) in both, topics alone and mine in a
only, mine of the tenant acme.
"""

import json

import pytest

from simulator import COMMANDS as ALL_COMMANDS
from tests.simulator.command_cases_migration import MIGRATION_CASES
from tests.simulator.engine_runs import MS, SECOND, do, numbers, open_world, rows, subscription, topic

# these are in tests/emqx/test_group_commands.py
COMMANDS = {name: command for name, command in ALL_COMMANDS.items() if command.protocol != "emqx"}

BODY = """
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
tenants: {acme: {cluster: a}}
topics:
  {t: {clusters: [a, b]}, parts: {clusters: [a, b], partitions: 2}, alone: {clusters: [a]}, dark: {clusters: [a], shadowOf: alone, shadowReplication: false},
   dusk: {clusters: [a], shadowOf: parts, exists: {}}, mine: {clusters: [a], namespace: acme/shop}}
producers:
  p: {topic: t, cluster: a, start: 50ms, every: 100ms}
  q: {topic: t, cluster: b, paused: true, every: 100ms}
subscriptions:
  s: {topic: t, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
  s2: {topic: alone, type: Shared}
consumers:
  c1: {subscription: s, cluster: a, acknowledgmentGroupTime: 0s, hold: {messages: [p/3, p/4]}}
  c2: {subscription: s, cluster: b, start: 1h}
  c3: {subscription: s2, cluster: a}
"""
AT_US = 1010 * MS


def world_after(*before):
    """The world at 1.01 s (p/0 to p/9 are published, 3 and 4 held, a snapshot is in flight) after some
    commands.
    """
    world = open_world(BODY, until="1m", family="tenant-migration")
    world.run(AT_US)
    for command in before:
        assert world.apply(command).ok, command
    return world


def state(world):
    """Everything that a command might change."""
    return (
        world.digest(),
        json.dumps(world.view(), sort_keys=True),
        world.command_log,
        world.branches,
        world.now_us,
        world.seq,
        world.summary()["commands"],
    )


def client_state(world, name):
    return rows(world, "client.changed", client=name)[-1]["reason"]


def later(check, ms):
    """A check some time after the command."""

    def run_and_check(world):
        world.run(AT_US + ms * MS)
        return check(world)

    return run_and_check


def published(world, name="p"):
    return len(rows(world, "message.published", producer=name))


# command: (before, arguments, effect), (before, arguments, code)
FAIL_OVER = {"subscription": "s", "from": "a", "to": "b", "mode": "planned"}
TO_B = {"cluster": "a", "topic": "t", "to": "b"}
CUT = {"do": "link.cut", "link": "a -> b"}
CASES = {
    "producer.publish": (
        ([], {"producer": "p", "count": 5}, lambda w: published(w) == 15),
        ([{"do": "producer.stop", "producer": "p"}], {"producer": "p"}, "wrong-state"),
    ),
    "producer.start": (
        (
            [{"do": "producer.stop", "producer": "p"}],
            {"producer": "p"},
            later(lambda w: published(w) == 15, 500),
        ),
        ([], {"producer": "p"}, "wrong-state"),
    ),
    "producer.stop": (
        (
            [],
            {"producer": "p"},
            later(lambda w: published(w) == 10 and client_state(w, "p") == "stopped", 500),
        ),
        ([{"do": "producer.stop", "producer": "p"}], {"producer": "p"}, "wrong-state"),
    ),
    "producer.pause": (
        (
            [],
            {"producer": "p"},
            later(lambda w: published(w) == 10 and client_state(w, "p") == "paused", 500),
        ),
        ([], {"producer": "q"}, "wrong-state"),
    ),
    "producer.resume": (
        ([], {"producer": "q"}, later(lambda w: published(w, "q") == 5, 450)),
        ([], {"producer": "p"}, "wrong-state"),
    ),
    "producer.slow": (
        ([], {"producer": "p", "every": "10ms"}, later(lambda w: published(w) == 20, 100)),
        ([], {"producer": "p", "every": "quickly"}, None),
    ),
    "consumer.start": (
        ([], {"consumer": "c2"}, lambda w: "c2" in subscription(w, "b")["consumers"]),
        ([], {"consumer": "c1"}, "wrong-state"),
    ),
    "consumer.stop": (
        ([], {"consumer": "c3"}, lambda w: client_state(w, "c3") == "closed"),
        ([], {"consumer": "c2"}, "wrong-state"),
    ),
    "consumer.pause": (
        ([], {"consumer": "c1"}, later(lambda w: len(rows(w, "message.delivered")) == 10, 500)),
        ([{"do": "consumer.pause", "consumer": "c1"}], {"consumer": "c1"}, "wrong-state"),
    ),
    "consumer.resume": (
        (
            [{"do": "consumer.pause", "consumer": "c1"}],
            {"consumer": "c1"},
            later(lambda w: len(rows(w, "message.delivered")) == 15, 500),
        ),
        ([], {"consumer": "c1"}, "wrong-state"),
    ),
    "consumer.slow": (
        (
            [],
            {"consumer": "c1", "processing": "10s"},
            later(lambda w: len(rows(w, "message.acknowledged")) == 8, 500),
        ),
        ([], {"consumer": "nobody", "processing": "10s"}, "unknown-name"),
    ),
    "client.kill": (
        (
            [],
            {"client": "c1"},
            lambda w: client_state(w, "c1") == "killed" and not subscription(w, "a")["dispatching"],
        ),
        ([{"do": "client.kill", "client": "c1"}], {"client": "c1"}, "wrong-state"),
    ),
    "client.close": (
        ([], {"client": "p"}, lambda w: client_state(w, "p") == "stopped"),
        ([], {"client": "c2"}, "wrong-state"),
    ),
    "consumer.hold": (
        (
            [],
            {"consumer": "c1", "messages": ["p/12"], "for": "1s"},
            later(lambda w: numbers(rows(w, "message.held"))[-1] == 12, 500),
        ),
        ([], {"consumer": "c1"}, "missing-argument"),
    ),
    "consumer.release": (
        (
            [],
            {"consumer": "c1", "messages": ["p/3"]},
            lambda w: numbers(rows(w, "message.acknowledged"))[-1] == 3,
        ),
        ([], {"consumer": "c1", "messages": ["p/5"]}, "not-held"),
    ),
    "consumer.negative-acknowledge": (
        (
            [],
            {"consumer": "c1", "messages": ["p/3"]},
            lambda w: numbers(rows(w, "message.negatively-acknowledged")) == [3],
        ),
        ([], {"consumer": "c1", "messages": ["p/5"]}, "not-in-hand"),
    ),
    "cluster.crash": (
        ([], {"cluster": "a"}, lambda w: w.view()["clusters"]["a"]["state"] == "down"),
        ([{"do": "cluster.crash", "cluster": "a"}], {"cluster": "a"}, "not-up"),
    ),
    "cluster.restart": (
        (
            [{"do": "cluster.crash", "cluster": "a"}],
            {"cluster": "a"},
            lambda w: w.view()["clusters"]["a"]["state"] == "up",
        ),
        ([], {"cluster": "a"}, "not-down"),
    ),
    "cluster.lose": (
        (
            [{"do": "cluster.crash", "cluster": "a"}],
            {"cluster": "a"},
            lambda w: w.view()["clusters"]["a"]["state"] == "lost",
        ),
        ([{"do": "cluster.lose", "cluster": "a"}], {"cluster": "a"}, "not-up"),
    ),
    "topic.unload": (
        (
            [],
            {"cluster": "b", "topic": "parts-partition-1"},
            lambda w: [r["topic"] for r in rows(w, "topic.unloaded")] == ["parts-partition-1"],
        ),
        ([], {"cluster": "b", "topic": "alone"}, "no-topic"),
    ),
    "topic.crash": (
        (
            [],
            {"cluster": "b", "topic": "parts-partition-1"},
            lambda w: [r["reason"] for r in rows(w, "topic.unloaded")] == ["crash"],
        ),
        (
            [{"do": "topic.crash", "cluster": "b", "topic": "t", "downtime": "1h"}],
            {"cluster": "b", "topic": "t"},
            "not-loaded",
        ),
    ),
    "topic.terminate": (
        ([], {"cluster": "a", "topic": "alone"}, lambda w: len(rows(w, "topic.terminated")) == 1),
        ([], {"cluster": "a", "topic": "dark"}, "NotAllowed"),
    ),
    "topic.truncate": (
        ([], {"cluster": "a", "topic": "t"}, lambda w: numbers(rows(w, "message.skipped")) == [3, 4]),
        ([], {"cluster": "a", "topic": "dark"}, "NotAllowed"),
    ),
    "topic.offload": (
        (
            [
                {"do": "setting.change", "setting": "managedLedgerOffloadDriver", "value": "aws-s3"},
                {"do": "topic.unload", "cluster": "a", "topic": "t"},
            ],
            {"cluster": "a", "topic": "t"},
            lambda w: len(rows(w, "ledger.offloaded")) == 1,
        ),
        ([], {"cluster": "a", "topic": "t"}, "412"),
    ),
    "producer.send": (
        ([], {"producer": "p"}, lambda w: published(w) == 11),
        ([], {"producer": "p", "position": "5:5"}, "NotAllowed"),
    ),
    "schema.get": (
        ([], None, None),  # see test_shadow_topics.py: the scenario must declare schemas
        ([], {"cluster": "a", "topic": "t"}, "404"),
    ),
    "schema.list": (
        ([], {"cluster": "a", "topic": "t"}, lambda w: w.summary()["commands"][-1]["answer"] == []),
        ([], {"cluster": "b", "topic": "alone"}, "404"),
    ),
    "schema.version": (
        ([], None, None),  # see test_shadow_topics.py
        ([], {"cluster": "a", "topic": "t", "schema": "nobody"}, "unknown-name"),
    ),
    "shadow.create": (
        (
            [],
            {"cluster": "a", "topic": "dusk", "source": "parts"},
            lambda w: len([n for n in w.view()["clusters"]["a"]["topics"] if n.startswith("dusk")]) == 2,
        ),
        ([], {"cluster": "a", "topic": "dark", "source": "alone"}, "409"),
    ),
    "shadow.delete": (
        ([], {"cluster": "a", "topic": "dark"}, lambda w: "dark" not in w.view()["clusters"]["a"]["topics"]),
        ([], {"cluster": "a", "topic": "alone"}, "404"),
    ),
    "shadow.source": (
        ([], {"cluster": "a", "topic": "dark"}, lambda w: w.summary()["commands"][-1]["answer"] == "alone"),
        ([], {"cluster": "a", "topic": "dusk"}, "404"),
    ),
    "shadow.set": (
        (
            [],
            {"cluster": "a", "topic": "alone", "shadows": ["dark"]},
            lambda w: [r["topic"] for r in rows(w, "shadow.replicator-created")] == ["dark"],
        ),
        ([], {"cluster": "a", "topic": "alone", "shadows": ["nobody"]}, "412"),
    ),
    "shadow.list": (
        ([], {"cluster": "a", "topic": "alone"}, lambda w: w.summary()["commands"][-1]["answer"] == []),
        ([], {"cluster": "b", "topic": "alone"}, "404"),
    ),
    "shadow.remove": (
        ([], {"cluster": "a", "topic": "alone"}, lambda w: rows(w, "shadow.topics-set")[0]["count"] == 0),
        (
            [{"do": "setting.change", "setting": "topicLevelPoliciesEnabled", "value": False}],
            {"cluster": "a", "topic": "alone"},
            "405",
        ),
    ),
    "link.cut": (
        ([], {"link": "a <-> b"}, lambda w: {x["state"] for x in w.view()["links"].values()} == {"cut"}),
        ([{"do": "link.cut", "link": "a -> b"}], {"link": "a -> b"}, "already-cut"),
    ),
    "link.partition": (
        ([], {"link": "a <-> b"}, lambda w: {x["state"] for x in w.view()["links"].values()} == {"cut"}),
        ([{"do": "link.partition", "link": "a -> b"}], {"link": "a -> b"}, "already-cut"),
    ),
    "link.heal": (
        (
            [{"do": "link.cut", "link": "a -> b"}],
            {"link": "a -> b"},
            lambda w: w.view()["links"]["a -> b"]["state"] == "up",
        ),
        ([], {"link": "a -> b"}, "not-broken"),
    ),
    "link.slow": (
        (
            [],
            {"link": "a -> b", "latency": "1s"},
            lambda w: w.view()["links"]["a -> b"] == {"state": "up", "latency_us": SECOND, "slowed": True},
        ),
        ([], {"link": "a -> c", "latency": "1s"}, "unknown-name"),
    ),
    "draws.reseed": (
        ([], {"seed": 5, "spread": "10%"}, lambda w: w.runtime.seed == 5 and w.seed != 5),
        ([], {"seed": 5, "spread": "91%"}, "bad-value"),
    ),
    "marker.delay": (
        (
            [],
            {"cluster": "a", "type": "snapshot_request", "by": "2s"},
            later(lambda w: len(rows(w, "marker.delayed")) == 1, 1500),
        ),
        ([], {"cluster": "a", "type": "snapshot_request"}, "missing-argument"),
    ),
    "marker.drop": (
        (
            [],
            {"cluster": "a", "type": "snapshot_request"},
            later(lambda w: len(rows(w, "marker.dropped")) == 1, 1500),
        ),
        ([], {"cluster": "a", "type": "postcard"}, None),
    ),
    "subscription.reset": (
        (
            [],
            {"subscription": "s", "cluster": "a", "position": "earliest"},
            later(lambda w: len(rows(w, "message.delivered")) > 20, 300),
        ),
        ([], {"subscription": "s", "cluster": "b", "position": "earliest"}, "no-subscription"),
    ),
    "subscription.sync-acknowledgements": (
        ([], None, None),  # see test_acknowledgement_sync.py: the scenario must enable it
        ([], {"subscription": "s", "from": "a", "to": "b"}, "no-sync"),
    ),
    "subscription.skip": (
        (
            [],
            {"subscription": "s", "cluster": "a", "count": 1},
            lambda w: numbers(rows(w, "message.skipped")) == [3],
        ),
        (
            [{"do": "cluster.crash", "cluster": "a"}],
            {"subscription": "s", "cluster": "a", "count": 1},
            "cluster-down",
        ),
    ),
    "subscription.clear": (
        ([], {"subscription": "s", "cluster": "a"}, lambda w: subscription(w, "a")["backlog"] == 0),
        ([], {"subscription": "s2", "cluster": "b"}, "no-topic"),
    ),
    "subscription.expire-messages": (
        (
            [{"do": "client.kill", "client": "c1"}],
            {"subscription": "s", "cluster": "a", "position": "196:6"},
            lambda w: numbers(rows(w, "message.expired")) == [3, 4],
        ),
        ([], {"subscription": "s", "cluster": "b", "expireTime": "0s"}, "404"),
    ),
    "replication.skip": (
        ([CUT], {**TO_B, "count": 3}, lambda w: len(rows(w, "message.not-replicated", reason="skipped")) > 0),
        ([], {**TO_B, "topic": "parts", "count": 3}, "405"),
    ),
    "replication.clear": (
        ([CUT], TO_B, lambda w: topic(w, "a")["replicators"]["b"]["backlog"] == 0),
        ([], {**TO_B, "to": "a"}, "404"),
    ),
    "replication.expire-messages": (([], None, None), ([], {**TO_B, "expireTime": "0s"}, "409")),
    "replication.reset": (([], None, None), ([], {**TO_B, "position": "earliest"}, "404")),
    "subscription.create": (
        (
            [],
            {"subscription": "s", "cluster": "b", "replicated": True},
            lambda w: subscription(w, "b")["replicated"],
        ),
        ([], {"subscription": "s", "cluster": "a"}, "exists"),
    ),
    "subscription.delete": (
        (
            [{"do": "client.kill", "client": "c1"}],
            {"subscription": "s", "cluster": "a"},
            lambda w: "s" not in topic(w, "a")["subscriptions"],
        ),
        ([], {"subscription": "s", "cluster": "a"}, "has-consumers"),
    ),
    "subscription.replicate": (
        (
            [],
            {"subscription": "s", "cluster": "a", "enabled": False},
            lambda w: not subscription(w, "a")["replicated"],
        ),
        (
            [{"do": "setting.change", "setting": "enableReplicatedSubscriptions", "value": False}],
            {"subscription": "s", "cluster": "a", "enabled": True},
            "feature-off",
        ),
    ),
    "replication.remove-cluster": (
        ([], {"topic": "t", "cluster": "b"}, lambda w: topic(w, "a")["replicators"] == {}),
        ([], {"topic": "alone", "cluster": "b"}, "not-listed"),
    ),
    "replication.add-cluster": (
        (
            [{"do": "replication.remove-cluster", "topic": "t", "cluster": "b"}],
            {"topic": "t", "cluster": "b"},
            lambda w: list(topic(w, "b")["replicators"]) == ["a"],
        ),
        ([], {"topic": "t", "cluster": "b"}, "listed"),
    ),
    "topic.grow": (
        (
            [],
            {"topic": "parts", "partitions": 4},
            lambda w: len([n for n in w.view()["clusters"]["b"]["topics"] if n.startswith("parts")]) == 4,
        ),
        ([], {"topic": "t", "partitions": 4}, "not-partitioned"),
    ),
    "setting.change": (
        (
            [],
            {"cluster": "a", "setting": "ttlDurationDefaultInSeconds", "value": 5},
            lambda w: rows(w, "setting.changed")[0]["cluster"] == "a",
        ),
        ([], {"setting": "ttlDurationDefaultInSeconds", "value": -1}, None),
    ),
    "snapshot.finish-partial": (
        ([], None, None),  # see test_finish_partial_needs_an_answer
        ([], {"cluster": "a", "topic": "t"}, "nothing-pending"),
    ),
    "subscription.fail-over": (
        (
            [{"do": "consumer.release", "consumer": "c1"}],
            FAIL_OVER,
            lambda w: "c1" in subscription(w, "b")["consumers"],
        ),
        ([], {**FAIL_OVER, "subscription": "s2"}, "no-topic"),
    ),
    # namespaces, topics and schemas of one cluster: more in test_creation_*.py
    "namespace.create": (
        (
            [],
            {"cluster": "a", "namespace": "acme/new"},
            lambda w: rows(w, "namespace.created")[0]["detail"] == "acme/new",
        ),
        ([], {"cluster": "a", "namespace": "public/default"}, "409"),
    ),
    "namespace.set-clusters": (
        (
            [],
            {"cluster": "a", "namespace": "public/default", "clusters": ["a", "b"]},
            lambda w: rows(w, "policy.changed")[0]["detail"] == "public/default: [a, b]",
        ),
        ([], {"cluster": "a", "namespace": "public/default", "clusters": ["a", "nowhere"]}, "403"),
    ),
    "namespace.set-auto-topic-creation": (
        (
            [],
            {"cluster": "a", "namespace": "public/default", "allowAutoTopicCreation": False},
            lambda w: rows(w, "policy.changed", reason="allowAutoTopicCreation") != [],
        ),
        (
            [],
            {"cluster": "a", "namespace": "public/default", "allowAutoTopicCreationType": "partitioned"},
            "412",
        ),
    ),
    "namespace.remove-auto-topic-creation": (
        ([], {"cluster": "a", "namespace": "public/default"}, lambda w: len(rows(w, "policy.changed")) == 3),
        ([], {"cluster": "a", "namespace": "no/where"}, "404"),
    ),
    "namespace.set-schema-compatibility-strategy": (
        (
            [],
            {"cluster": "a", "namespace": "public/default", "strategy": "FORWARD"},
            lambda w: rows(w, "policy.changed")[0]["detail"] == "public/default: FORWARD",
        ),
        ([], {"cluster": "a", "namespace": "no/where", "strategy": "FORWARD"}, "404"),
    ),
    "namespace.set-is-allow-auto-update-schema": (
        (
            [],
            {"cluster": "a", "namespace": "public/default", "enabled": False, "enableForReplicator": False},
            lambda w: len(rows(w, "policy.changed")) == 2,
        ),
        (
            [],
            {"cluster": "a", "namespace": "public/default", "enabled": True, "enableForReplicator": False},
            "400",
        ),
    ),
    "namespace.set-backlog-quota": (
        (
            [],
            {
                "cluster": "a",
                "namespace": "public/default",
                "limit": "10MB",
                "policy": "consumer_backlog_eviction",
            },
            lambda w: rows(w, "policy.changed", reason="backlogQuotas") != [],
        ),
        ([], {"cluster": "a", "namespace": "public/default", "policy": "producer_exception"}, "400"),
    ),
    "namespace.remove-backlog-quota": (
        ([], {"cluster": "a", "namespace": "public/default"}, lambda w: rows(w, "policy.changed") != []),
        ([], {"cluster": "a", "namespace": "no/where"}, "404"),
    ),
    "topic.create": (
        (
            [],
            {"cluster": "b", "topic": "alone", "partitions": 2},
            lambda w: w.summary()["topics"]["b"]["alone"]["partitions"] == 2,
        ),
        ([], {"cluster": "a", "topic": "alone"}, "409"),
    ),
    "topic.delete": (
        (
            [],
            {"cluster": "a", "topic": "alone", "force": True},
            lambda w: rows(w, "topic.deleted")[0]["reason"] == "forced",
        ),
        ([], {"cluster": "a", "topic": "t"}, "422"),
    ),
    "topic.update-partitions": (
        (
            [],
            {"cluster": "a", "topic": "parts", "partitions": 3},
            lambda w: w.summary()["topics"]["a"]["parts"]["partitions"] == 3,
        ),
        ([], {"cluster": "a", "topic": "t", "partitions": 3}, "409"),
    ),
    "topic.set-replication-clusters": (
        (
            [],
            {"cluster": "a", "topic": "t", "clusters": ["a"]},
            lambda w: topic(w, "a")["replicators"] == {} and list(topic(w, "b")["replicators"]) == ["a"],
        ),
        ([], {"cluster": "a", "topic": "t", "clusters": ["b"]}, "412"),
    ),
    "topic.remove-replication-clusters": (
        ([], {"cluster": "a", "topic": "t"}, lambda w: topic(w, "a")["replicators"] == {}),
        ([], {"cluster": "b", "topic": "alone"}, "404"),
    ),
    "schema.upload": (
        ([], None, None),  # see test_creation_schemas.py: the scenario must declare schemas
        ([], {"cluster": "a", "topic": "t", "schema": "order"}, "unknown-name"),
    ),
    "schema.delete": (([], None, None), ([], {"cluster": "a", "topic": "t"}, "404")),
    "producer.use-schema": (([], None, None), ([], {"producer": "p"}, "no-schemas")),
    **MIGRATION_CASES,
}


def admin_status(name):
    """Status of an accepted command that uses the REST interface.

    It is 200 with an answer, 204 without; None for all others.
    """
    if name in ("shadow.list", "shadow.source", "schema.list", "schema.upload", "schema.delete"):
        return "200"
    by_admin = (
        "topic.create",
        "topic.delete",
        "topic.update-partitions",
        "topic.set-replication-clusters",
        "topic.remove-replication-clusters",
        "cluster.migrate",
    )
    by_admin += tuple(f"replication.{one}" for one in ("skip", "clear", "expire-messages"))
    by_admin += ("subscription.expire-messages",)
    return "204" if name in by_admin or name.startswith(("shadow.", "namespace.")) else None


def test_every_command_has_a_case():
    assert sorted(CASES) == sorted(COMMANDS)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[0][1] is not None])
def test_accepted_commands_have_their_effect(name):
    before, arguments, effect = CASES[name][0]
    world = world_after(*before)
    log = len(world.command_log)
    result = world.apply({"do": name, **arguments})
    assert result.ok and (result.code, result.error, result.hint) == (None, None, None), result
    assert len(world.command_log) == log + 1 and world.command_log[-1]["do"] == name
    assert rows(world, "command.applied")[-1]["reason"] == name
    assert effect(world)
    # tests/simulator/test_creation_start_check.py
    told = {key: value for key, value in world.summary()["commands"][log].items() if key != "start_checks"}
    assert {**told, "code": None, "answer": None} == {
        "at_us": AT_US,
        "command": name,
        "ok": True,
        "code": None,
        "error": None,
        "hint": None,
        "answer": None,
    }
    assert told["code"] == admin_status(name)


@pytest.mark.parametrize("name", list(CASES))
def test_refused_commands_give_a_reason_and_change_nothing(name):
    before, arguments, code = CASES[name][1]
    world = world_after(*before)
    unchanged = state(world)
    result = world.apply({"do": name, **arguments})
    assert not result.ok and result.error and result.hint, result
    assert code is None or result.code == code, result
    assert result.code and state(world) == unchanged


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in COMMANDS
        if COMMANDS[name].arguments and any(key.required for key in COMMANDS[name].arguments)
    ],
)
def test_missing_and_unknown_arguments_are_refused(name):
    world = world_after()
    unchanged = state(world)
    for arguments in ({}, {**(CASES[name][0][1] or {"cluster": "a", "topic": "t"}), "colour": "blue"}):
        result = world.apply({"do": name, **arguments})
        assert not result.ok and result.code and result.error, (name, arguments, result)
    assert state(world) == unchanged


@pytest.mark.parametrize(
    "before, command, code",
    [
        ([], {"do": "cluster.explode"}, "unknown-command"),
        ([], {}, "missing-argument"),
        ([{"do": "cluster.lose", "cluster": "a"}], {"do": "cluster.restart", "cluster": "a"}, "not-down"),
        (
            [{"do": "cluster.crash", "cluster": "a"}],
            {"do": "subscription.fail-over", **FAIL_OVER},
            "source-down",
        ),
        (
            [{"do": "cluster.crash", "cluster": "a"}],
            {"do": "topic.unload", "cluster": "a", "topic": "t"},
            "cluster-down",
        ),
        ([], {"do": "subscription.fail-over", **FAIL_OVER, "to": "a"}, None),
        (
            [],
            {"do": "subscription.fail-over", "subscription": "s2", "from": "b", "to": "a", "mode": "crash"},
            "no-consumers",
        ),
        ([], {"do": "subscription.reset", "subscription": "s", "cluster": "a"}, "missing-argument"),
        (
            [],
            {
                "do": "subscription.reset",
                "subscription": "s",
                "cluster": "a",
                "position": "earliest",
                "time": "1s",
            },
            None,
        ),
        ([], {"do": "topic.grow", "topic": "parts", "partitions": 2}, "not-more"),
        ([], {"do": "replication.add-cluster", "topic": "alone", "cluster": "b"}, "no-topic"),
        ([], {"do": "link.heal", "link": "a <-> b"}, "not-broken"),
        ([], {"do": "client.kill", "client": "nobody"}, "unknown-name"),
    ],
)
def test_other_refusals(before, command, code):
    world = world_after(*before)
    unchanged = state(world)
    result = world.apply(command)
    assert not result.ok and result.error and (code is None or result.code == code), result
    assert state(world) == unchanged


def test_finish_partial_needs_an_answer():
    world = world_after({"do": "link.slow", "link": "b -> a", "latency": "300ms"})
    command = {"do": "snapshot.finish-partial", "cluster": "a", "topic": "t"}
    assert world.apply(command).code == "nothing-pending", "pending, but nobody has answered"
    # three clusters: c answers at 1.08 s, b after five seconds
    body = BODY.replace("a: {}, b: {}", "a: {}, b: {}, c: {}").replace(
        "t: {clusters: [a, b]}", "t: {clusters: [a, b, c]}"
    )
    world = open_world(body, until="1m", family="tenant-migration")
    do(world, "link.slow", link="b -> a", latency="5s")
    world.run(1090 * MS)
    do(world, "snapshot.finish-partial", cluster="a", topic="t")
    assert rows(world, "snapshot.completed")[0]["reason"] == "partial"
    assert [row["peer"] for row in rows(world, "snapshot.position")] == ["c"]


def test_a_refused_command_of_the_file_is_a_row_and_the_run_continues():
    world = open_world(
        BODY
        + (
            "commands:\n  - {at: 1s, do: consumer.start, consumer: c1}\n  - {at: 2s, do: link.cut, "
            "link: a -> "
            "b}\n"
        ),
        until="3s",
        family="tenant-migration",
    )
    world.run()
    told = world.summary()["commands"]
    assert [(row["command"], row["ok"], row["code"]) for row in told] == [
        ("consumer.start", False, "wrong-state"),
        ("link.cut", True, None),
    ]
    assert told[0]["error"] and [row["reason"] for row in rows(world, "command.refused")] == [
        "consumer.start"
    ]


def test_dynamic_settings_take_effect_at_once_and_static_ones_at_the_next_load():
    # Dynamic settings take effect immediately; static ones (the snapshot period) when the topic is loaded
    # again.
    world = open_world(BODY, until="1m", family="tenant-migration")
    do(world, "setting.change", setting="ttlDurationDefaultInSeconds", value=1)
    do(world, "setting.change", setting="replicatedSubscriptionsSnapshotFrequencyMillis", value=100)
    do(world, "link.cut", link="a -> b")
    world.run(3500 * MS)
    do(world, "link.heal", link="a -> b")
    world.run(8 * SECOND)  # the try at about 6.3 s succeeds
    assert rows(world, "message.not-replicated", reason="expired"), "TTL holds at once"
    ticks = [
        row["at_us"]
        for kind in ("snapshot.requested", "snapshot.refused")
        for row in rows(world, kind, cluster="a")
    ]
    assert all(at_us % SECOND == 0 for at_us in ticks)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run(11 * SECOND)
    assert len(rows(world, "snapshot.requested", cluster="a", count=1)) > 20


@pytest.mark.parametrize(
    "setting, value, check",
    [
        ("replicationProducerQueueSize", 3, lambda w: topic(w, "a")["replicators"]["b"]["in_flight"] == 3),
        ("maxUnackedMessagesPerConsumer", 3, lambda w: rows(w, "consumer.blocked") != []),
    ],
)
def test_frequently_read_settings_follow_a_change(setting, value, check):
    world = open_world(
        BODY.replace("hold: {messages: [p/3, p/4]}", "hold: {share: 100%}"),
        until="1m",
        family="tenant-migration",
    )
    world.run(SECOND)
    do(world, "setting.change", setting=setting, value=value)
    if setting == "replicationProducerQueueSize":  # static: at the next load
        do(world, "topic.unload", cluster="a", topic="t")
        world.run(2 * SECOND)
    do(world, "producer.publish", producer="p", count=30)
    assert check(world)
