"""Tests of Pulsar's blue-green migration (PIP-188).

As a strategy of a tenant's migration, and by its flags alone.
"""

from tests.oracle.failovers import recount
from tests.simulator.engine_runs import MS, at_ms, open_world, rows
from tests.simulator.test_migration import BASE, CLEAN_UP, everything_arrived, migration, refused, run

GREEN = [
    "at: 1s, do: migration.start, tenant: acme, to: green, strategy: blue-green",
    "at: 2900ms, do: migration.switch, tenant: acme",
    CLEAN_UP,
]
CHECKED = BASE.replace("for: 20s", "for: 4s") + "settings: {clusterMigrationCheckDurationSeconds: 1}\n"


def test_blue_green_drains_blue_without_duplicates_or_reordering():
    world = run(*GREEN, base=CHECKED)
    assert [one["state"] for one in migration(world)["steps"]] == [
        "done",
        "skipped",
        "skipped",
        "done",
        "done",
    ]
    assert rows(world, "message.replicated") == [], "nothing is copied"
    # Checked at every second: at 3 s the producer is redirected; web/50 is held until 4.601 s, when its ack
    # drains the subscription.
    assert [(row["client"], row["at_us"] // MS) for row in rows(world, "client.redirected")] == [
        ("web", 3000),
        ("billing-1", 4601),
        ("billing-1", 4703),
    ]
    failover = world.summary()["failovers"][0]
    assert (
        failover["mode"],
        failover["at_us"],
        failover["duplicates"],
        failover["lost"],
        failover["reordered"],
    ) == ("blue-green", 4_601_000, 0, 0, 0)
    assert world.summary()["lookup"] == {"acme": "green"} and "orders" not in world.topics["blue"]
    everything_arrived(world)


def test_a_cursor_that_the_migration_opened_owes_no_message_from_before_the_subscription():
    """In blue the subscription begins at Latest, after web/50; the migration opens green's at the beginning."""
    base = CHECKED.replace("initialPosition: Earliest", "initialPosition: Latest")
    world = run(*GREEN, base=base.replace("processing: 1ms,", "processing: 1ms, start: 600ms,"))
    created = {row["cluster"]: row for row in rows(world, "subscription.created")}
    assert created["blue"]["entry"] >= 49 and created["green"]["reason"] == "migration"
    counts = (world.summary()["failovers"], recount(world.trace, world.scenario), world.live_failovers())
    assert [[failover["lost"] for failover in failovers] for failovers in counts] == [[0], [0], [0]]


def test_the_drained_cluster_is_no_failover_target():
    world = run(*GREEN[:2], base=CHECKED, until="8s")
    assert world.forecast("billing", "green") == {}, "its topic only sends clients on"
    forecast = world.view()["forecast"]["billing"]
    assert (forecast["from"], forecast["to"]) == ("green", {})
    marked = {name: logs["orders"] for name, logs in forecast["entries"].items()}
    assert list(marked) == ["blue", "green"]
    assert all((log["ranges"], log["causes"], log["messages"]) == ([], [], 0) for log in marked.values())
    assert marked["blue"]["acked"] == [[0, 290]], "in green; nobody reads them here again"
    world.seek(at_us=2_500_000)
    assert list(world.forecast("billing", "blue")) == ["green"]


def test_blue_green_cannot_be_rolled_back():
    world = run(*GREEN[:2], "at: 3500ms, do: migration.roll-back, tenant: acme", base=CHECKED, until="4s")
    assert (
        refused(world) == [("migration.roll-back", "no-way-back")]
        and "terminated" in world.summary()["commands"][-1]["error"]
    )


def test_a_check_period_of_zero_disables_the_check():
    world = run(*GREEN[:2], base=BASE, until="6s")
    assert (
        refused(world) == [("migration.switch", "not-ready")]
        and "0 is off" in world.summary()["commands"][-1]["error"]
    )


def blue_green(settings="clusterMigrationCheckDurationSeconds: 1", clusters="[blue]", commands=()):
    """One topic whose tenant is not in the map: the scenario connects its clients to blue."""
    body = (
        f"settings: {{{settings}}}\nclusters: {{blue: {{}}, green: {{}}, red: {{}}}}\ntopics: {{t: "
        f"{{clusters: {clusters}, namespace: acme/shop}}}}\n"
        "producers: {p: {topic: t, cluster: blue, every: 10ms, stop: 6s}}\n"
        "subscriptions:\n  s: {topic: t, type: Shared, initialPosition: Earliest}\n  slow: {topic: t, "
        "type: Shared, initialPosition: Earliest}\n"
        "consumers:\n  c: {subscription: s, cluster: blue, processing: 1ms}\n  d: {subscription: slow, "
        "cluster: blue, processing: 15ms}\n"
    )
    return open_world(
        body + "commands:\n" + "".join(f"  - {{{one}}}\n" for one in commands),
        until="12s",
        family="tenant-migration",
    )


MARK = "at: 1900ms, do: cluster.migrate, cluster: blue, to: green"
AUTO = "clusterMigrationCheckDurationSeconds: 1, clusterMigrationAutoResourceCreation: true"


def test_snapshots_and_markers_stop_when_the_topic_is_terminated():
    """With replication to red: requested once a second before and after, as a broker does, and stored only
    before.
    """
    world = blue_green(
        clusters="[blue, red]",
        commands=[MARK, "at: 1s, do: subscription.replicate, subscription: s, cluster: blue, enabled: true"],
    )
    world.run()
    (ended,) = [row["at_us"] // MS for row in rows(world, "topic.terminated", cluster="blue")]
    assert {at for at in at_ms(rows(world, "marker.written", cluster="blue")) if at > ended} == set()
    assert world.summary()["snapshots"]["blue"]["completed"] == 1 and world.summary()["violations"] == []
    assert {row["cluster"] for row in rows(world, "client.redirected")} >= {"blue"}


def test_with_auto_creation_the_check_creates_topic_and_subscriptions_and_each_moves_once_drained():
    world = blue_green(AUTO, commands=[MARK])
    world.run()
    made = rows(world, "subscription.created", cluster="green")
    assert [(row["subscription"], row["entry"], row["reason"]) for row in made] == [
        ("s", -1, "migration"),
        ("slow", -1, "migration"),
    ]
    sent_on = {
        row["client"]: row["at_us"] // MS
        for row in reversed(rows(world, "client.redirected", cluster="blue"))
    }
    # Checked every second. p/0 to p/200 are in blue at 2 s, when p is redirected. s works on the last one
    # until 2.001 s, slow (15 ms each) until 3.015 s. Both acknowledge with their next group of 100 ms, and
    # that ack redirects them.
    assert sent_on == {"p": 2000, "c": 2100, "d": 3100}
    assert [row["subscription"] for row in rows(world, "subscription.deleted", cluster="blue")] == [
        "s",
        "slow",
    ]
    assert (
        len(rows(world, "message.delivered", subscription="slow"))
        == 600
        == len(rows(world, "message.delivered", subscription="s"))
    )


def test_a_topic_with_a_replication_backlog_is_terminated_but_no_client_is_redirected_yet():
    world = blue_green(
        AUTO,
        clusters="[blue, red]",
        commands=[
            "at: 1500ms, do: link.cut, link: blue -> red",
            MARK,
            "at: 5s, do: link.heal, link: blue -> red",
        ],
    )
    world.run(4500 * MS)
    assert at_ms(rows(world, "topic.terminated")) == [2000] and rows(world, "topic.migrated") == [] == rows(
        world, "client.redirected"
    )
    assert world.view()["producers"]["p"]["pending"] > 200, "what it publishes meanwhile waits"
    world.run()
    assert rows(world, "topic.migrated") and [
        row["peer"] for row in rows(world, "replicator.removed", cluster="blue")
    ] == ["red"]
    assert len(rows(world, "message.delivered", subscription="s")) == 600


def test_marking_a_cluster_without_a_service_url_is_400_and_an_unmarked_cluster_stays_unchanged():
    world = blue_green(
        commands=[
            "at: 1s, do: cluster.migrate, cluster: blue",
            "at: 1s, do: namespace.migrate, cluster: blue, namespace: acme/shop",
            "at: 1s, do: namespace.migrate, cluster: blue, namespace: acme/none",
            ("at: 1900ms, do: cluster.migrate, cluster: blue, to: green, migrated: false"),
        ]
    )
    world.run()
    assert [one["code"] for one in world.summary()["commands"]] == ["400", "400", "404", "204"]
    assert rows(world, "topic.terminated") == [], "an address alone moves nobody"


def test_redirected_clients_wait_until_their_partition_exists_in_green():
    """A redirected client looks up its partition by name: without the topic it is denied (PIP-414), and
    nothing is lost while it waits.
    """
    body = (
        "settings: {clusterMigrationCheckDurationSeconds: 1}\nclusters: {blue: {}, green: {}}\ntopics: "
        "{t: {clusters: [blue, green], namespace: acme/shop, exists: {blue: 2}, replication: []}}\n"
        "producers: {p: {topic: t, cluster: blue, every: 100ms, stop: 4s}}\nsubscriptions: {s: {topic: "
        "t, type: Shared, initialPosition: Earliest}}\nconsumers: {c: {subscription: s, cluster: "
        "blue}}\n"
        "commands: [{at: 1500ms, do: cluster.migrate, cluster: blue, to: green}, {at: 6s, do: "
        "topic.create, cluster: green, topic: t, partitions: 2}]\n"
    )
    world = open_world(body, until="12s", family="tenant-migration")
    world.run()
    assert [(row["cluster"], row["reason"]) for row in rows(world, "topic.created")] == [("green", "command")]
    stored = rows(world, "message.stored", producer="p")
    assert {row["cluster"] for row in stored if row["at_us"] < 2_000_000} == {"blue"} and min(
        row["at_us"] for row in stored if row["cluster"] == "green"
    ) >= 6_000_000
    delivered = [row["sequence_id"] for row in rows(world, "message.delivered", client="c")]
    assert sorted(delivered) == list(range(40)) and world.summary()["violations"] == []


def test_digest_is_the_same_over_seeks_and_forks():
    world = run(*GREEN, base=CHECKED)
    digest = world.digest()
    for at_us in (9_050_000, 1_200_000, 3_100_000, 5_050_000):
        world.seek(at_us=at_us)
        fork = world.fork()
        fork.run()
        assert fork.digest() == digest, at_us
