"""Pulsar's tests of blue-green migration, `ClusterMigrationTest`, as runs of the lab that must end as Pulsar asserts it.

There a check is triggered by the test. Here it runs every minute, so that effects between two checks are
distinguished from those of a check.
"""

import pytest

from tests.simulator.engine_runs import MS, open_world, rows

CHECK_S = 60


def migrated(clients, commands, namespaces="", topics="", settings="", until="130s"):
    """blue and green; t in blue alone, with p's five messages from 100 ms on and s's first consumer closed
    before them.
    """
    world = open_world(
        f"settings: {{clusterMigrationCheckDurationSeconds: {CHECK_S}{settings}}}\nclusters: {{blue: "
        f"{{}}, green: {{}}, red: {{}}}}\nlinks: {{default: {{latency: 10ms}}}}\n"
        f"{namespaces}topics:\n  t: {{clusters: [blue], namespace: acme/shop}}\n{topics}{clients}"
        "commands:\n" + "".join(f"  - {{{one}}}\n" for one in commands),
        until=until,
        family="tenant-migration",
    )
    world.run()
    assert world.summary()["violations"] == []
    return world


def sent_on(world, client):
    """When a broker redirected the client to green, in ms."""
    return [
        row["at_us"] // MS
        for row in rows(world, "client.redirected", client=client)
        if row["peer"] == "green"
    ]


def delivered(world, client):
    """(cluster, message) in order."""
    return [
        (row["cluster"], f"{row['producer']}/{row['sequence_id']}")
        for row in rows(world, "message.delivered", client=client)
    ]


CLIENTS = """producers:
  p: {topic: t, cluster: blue, at: [100ms, 200ms, 300ms, 400ms, 500ms, 61s]}
  late: {topic: t, cluster: blue, start: 70s, every: 100ms, count: 2}
  fresh: {topic: n, cluster: blue, start: 80s, every: 100ms, count: 2}
  again: {topic: t, cluster: blue, start: 100s, every: 100ms, count: 2}
subscriptions:
  s: {topic: t, type: TYPE, initialPosition: Earliest}
  m: {topic: t, type: TYPE, initialPosition: Latest}
  k: {topic: t, type: TYPE, initialPosition: Latest}
  z: {topic: n, type: TYPE, initialPosition: Earliest}
consumers:
  before: {subscription: s, cluster: blue, stop: 50ms}
  c: {subscription: s, cluster: blue, start: 65s}
  d: {subscription: m, cluster: blue, start: 67s}
  e: {subscription: z, cluster: blue, start: 79s}
  f: {subscription: k, cluster: blue, start: 99s}
"""


@pytest.mark.parametrize("type_", ["Shared", "Key_Shared"])
def test_cluster_migration(type_):
    commands = [
        "at: 1s, do: cluster.migrate, cluster: blue, to: green",
        "at: 90s, do: cluster.crash, cluster: blue, clients: false",
        "at: 95s, do: cluster.restart, cluster: blue",
    ]
    world = migrated(
        CLIENTS.replace("TYPE", type_),
        commands,
        topics="  n: {clusters: [blue], namespace: acme/shop, exists: {}}\n",
    )
    assert [row["topic"] for row in rows(world, "topic.terminated", cluster="blue")] == ["t"], (
        "and no topic is made there any more"
    )
    # The backlog is read in blue, then the consumer leaves it at once: no check causes that, the next is at
    # 120 s.
    assert (
        delivered(world, "c")[:5] == [("blue", f"p/{number}") for number in range(5)]
        and sent_on(world, "c")[0] == 65_000
    )
    assert delivered(world, "c")[5:] == [
        ("green", name) for name in ("p/5", "late/0", "late/1", "again/0", "again/1")
    ]
    # Producers and new subscriptions of a migrated topic, and clients of a topic that blue does not have, are
    # redirected immediately.
    assert {name: sent_on(world, name) for name in ("p", "late", "d", "fresh", "e")} == {
        "p": [60_000],
        "late": [70_000],
        "d": [67_000],
        "fresh": [80_000],
        "e": [79_000],
    }
    assert [row["cluster"] for row in rows(world, "topic.created", topic="n")] == ["green"]
    assert delivered(world, "e") == [("green", "fresh/0"), ("green", "fresh/1")]
    # The broker in blue is restarted: clients that connect to it then are redirected like those before.
    assert sent_on(world, "f") == [99_000] and sent_on(world, "again") == [100_000]
    assert delivered(world, "f") == [("green", "again/0"), ("green", "again/1")]
    assert [row["subscription"] for row in rows(world, "subscription.deleted", cluster="blue")] == ["s"], (
        "the check of 120 s leaves nothing behind"
    )


@pytest.mark.parametrize("of_cluster, of_namespace", [(True, False), (False, True), (True, True)])
def test_namespace_migration(of_cluster, of_namespace):
    clients = """producers:
  p: {topic: t, cluster: blue, at: [100ms, 61s]}
  q: {topic: u, cluster: blue, at: [100ms, 61s]}
subscriptions: {s: {topic: t, type: Shared, initialPosition: Earliest}, o: {topic: u, type: Shared, initialPosition: Earliest}}
consumers: {c: {subscription: s, cluster: blue, acknowledgmentGroupTime: 0s}, d: {subscription: o, cluster: blue, acknowledgmentGroupTime: 0s}}
"""
    commands = [
        f"at: 1s, do: cluster.migrate, cluster: blue, to: green, migrated: {str(of_cluster).lower()}",
        (
            f"at: 1s, do: namespace.migrate, cluster: blue, namespace: acme/shop, migrated: "
            f"{str(of_namespace).lower()}"
        ),
    ]
    world = migrated(
        clients, commands, topics="  u: {clusters: [blue], namespace: acme/other}\n", until="70s"
    )
    other = "green" if of_cluster else "blue"
    assert delivered(world, "c") == [("blue", "p/0"), ("green", "p/1")] and delivered(world, "d") == [
        ("blue", "q/0"),
        (other, "q/1"),
    ]
    assert [row["topic"] for row in rows(world, "topic.migrated")] == (["t", "u"] if of_cluster else ["t"])


def test_cluster_migration_with_replication_backlog():
    """red, which blue replicates to, is down: the producer is disconnected and not redirected until red
    has everything.
    """
    clients = """producers: {p: {topic: r, cluster: blue, at: [100ms, 2s, 61s], sendTimeout: 0s}}
subscriptions: {s: {topic: r, type: Shared, initialPosition: Earliest}}
consumers: {c: {subscription: s, cluster: blue, acknowledgmentGroupTime: 0s}}
"""
    commands = [
        "at: 1s, do: cluster.crash, cluster: red",
        "at: 3s, do: cluster.migrate, cluster: blue, to: green",
        "at: 90s, do: cluster.restart, cluster: red",
    ]
    world = migrated(clients, commands, topics="  r: {clusters: [blue, red], namespace: acme/shop}\n")
    assert [row["at_us"] // MS for row in rows(world, "topic.terminated", topic="r")] == [60_000]
    assert sent_on(world, "p") == [120_000], "at the first check after the backlog is gone"
    assert [
        (row["cluster"], row["sequence_id"])
        for row in rows(world, "message.stored", producer="p")
        if "peer" not in row
    ] == [("blue", 0), ("blue", 1), ("green", 2)]
    assert [
        (row["cluster"], row["sequence_id"])
        for row in rows(world, "message.stored", producer="p", cluster="red")
    ] == [("red", 0), ("red", 1)]


def test_cluster_migration_with_resource_created():
    """Subscriptions are created in green before any producer connects there, so green loses nothing."""
    clients = """producers: {p: {topic: t, cluster: blue, at: [61s, 62s, 63s]}}
subscriptions: {s1: {topic: t, initialPosition: Earliest}, s2: {topic: t, initialPosition: Earliest}}
consumers: {c: {subscription: s1, cluster: blue, start: 65s}}
"""
    create = [
        (
            f"at: 500ms, do: subscription.create, cluster: blue, subscription: {name}, initialPosition: "
            f"Earliest"
        )
        for name in ("s1", "s2")
    ]
    world = migrated(
        clients,
        [*create, "at: 1s, do: cluster.migrate, cluster: blue, to: green"],
        settings=", clusterMigrationAutoResourceCreation: true",
        until="70s",
    )
    assert [
        (row["subscription"], row["reason"]) for row in rows(world, "subscription.created", cluster="green")
    ] == [("s1", "migration"), ("s2", "migration")]
    assert delivered(world, "c") == [("green", "p/0"), ("green", "p/1"), ("green", "p/2")]
