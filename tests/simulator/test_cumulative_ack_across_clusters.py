"""A consumer that survives a move to another cluster keeps its last cumulative ack, and drops messages there.

Sources: apache/pulsar#25291, `ConsumerImpl.messageReceived` and `connectionOpened`, and
`PersistentAcknowledgmentsGroupingTracker` of pulsar-client 4.2.4; `ConsumerImpl.setRedirectedClusterURI` for the
redirect of a blue-green migration. Counts are compared with the plain recount.
"""

import pytest

from simulator import World, load_scenario_text
from tests.oracle.failovers import recount
from tests.simulator.engine_runs import at_ms, numbers, rows

HEAD = "format: 1\nname: case\ntitle: a consumer is moved\n"
SECOND = 1_000_000
COMPARED = (
    "duplicates",
    "redeliveries",
    "extra_deliveries",
    "lost",
    "lost_recovered",
    "lost_by_cause",
    "caught_up_us",
    "drained_us",
    "first_delivery_us",
)


def played(text):
    world = World.from_scenario(load_scenario_text(HEAD + text))
    world.run()
    return world


def moves(world):
    """The failovers of the summary, after a comparison with the plain recount and the live windows."""
    summary = world.summary()
    assert summary["violations"] == []
    for counted, plain in zip(summary["failovers"], recount(world.trace, world.scenario), strict=True):
        assert {key: counted[key] for key in COMPARED} == {key: plain[key] for key in COMPARED}
    live = [one.window.figures() for one in world.runtime.failovers]
    for name in ("duplicates", "lost", "caught_up_us", "drained_us"):
        assert [one[name] for one in live] == [one[name] for one in summary["failovers"]], name
    return summary["failovers"]


def causes(failover):
    return {cause: count for cause, count in failover["lost_by_cause"].items() if count}


# --- blue-green migration


def blue_green(
    blue=1000, green=10, consumer="", partitions="", producer="", options="redirectClearsCumulativeAck: false"
):
    return played(
        "family: tenant-migration\nuntil: 40s\n"
        "settings: {clusterMigrationCheckDurationSeconds: 1, clusterMigrationAutoResourceCreation: true}\n"
        f"options: {{{options}}}\n"
        f"clusters: {{blue: {{firstLedger: {blue}}}, green: {{firstLedger: {green}}}}}\n"
        "links: {default: {latency: 20ms}}\nnamespaces: {acme/ns: {clusters: [blue]}}\n"
        f"topics: {{t: {{clusters: [blue, green], namespace: acme/ns, exists: {{blue: {partitions or 0}}}}}}}\n"
        "tenants: {acme: {cluster: blue}}\n"
        f"producers: {{p: {{topic: t, start: 50ms, every: 100ms, count: 200{producer}}}}}\n"
        "subscriptions: {s: {topic: t, initialPosition: Earliest}}\n"
        f"consumers: {{c: {{subscription: s, acknowledge: cumulative{consumer}}}}}\n"
        "commands: [{at: 5s, do: migration.start, tenant: acme, to: green, strategy: blue-green, through: switch}]\n"
    )


@pytest.mark.parametrize(
    "more", [{}, {"partitions": 3}, {"producer": ", batch: 5"}], ids=["one", "partitions", "batches"]
)
def test_before_23693_a_redirected_consumer_drops_everything_that_is_not_above_its_last_ack(more):
    world = blue_green(**more)
    in_green = numbers(rows(world, "message.stored", cluster="green"))
    (move,) = moves(world)
    assert rows(world, "message.delivered", cluster="green") == [] and len(in_green) > 100
    assert causes(move) == {"dropped_by_client": len(in_green)} and move["lost"] == len(in_green)
    assert world.summary()["subscriptions"]["s"]["green"]["acknowledged"] == 0


@pytest.mark.parametrize(
    "more",
    [
        {"options": ""},
        {"blue": 10, "green": 1000},
        {"consumer": ", acknowledgmentGroupTime: 0s"},
    ],
    ids=["since #23693", "higher ledgers", "ungrouped"],
)
def test_nothing_is_dropped_after(more):
    world = blue_green(**more)
    (move,) = moves(world)
    assert causes(move) == {} and rows(world, "message.dropped") == []


# --- AutoClusterFailover and back

UNLOADS = "  - {at: 14s, do: topic.unload, cluster: b, topic: t}\n  - {at: 15s, do: topic.unload, cluster: b, topic: t}\n"
NEW_CLIENT = "  - {at: 25s, do: client.kill, client: c}\n  - {at: 26s, do: consumer.start, consumer: c}\n"


def probed(a=1000, b=10, consumer="", partitions="", producer="", commands="", until="40s", back="true"):
    return played(
        f"family: replicated-subscriptions\nuntil: {until}\n"
        f"clusters: {{a: {{firstLedger: {a}}}, b: {{firstLedger: {b}}}}}\nlinks: {{default: {{latency: 40ms}}}}\n"
        f"topics: {{t: {{clusters: [a, b]{partitions}}}}}\n"
        f"producers: {{p: {{topic: t, cluster: b, start: 50ms, every: 100ms, stop: 30s{producer}}}}}\n"
        "subscriptions: {s: {topic: t, initialPosition: Earliest}}\n"
        f"consumers: {{c: {{subscription: s, cluster: a, acknowledge: cumulative{consumer}}}}}\n"
        "commands:\n"
        "  - {at: 0s, do: subscription.fail-over, subscription: s, from: a, to: b, mode: auto, probeInterval: 1s, "
        f"failoverDelay: 3s, switchBackDelay: 5s, switchBack: {back}}}\n"
        "  - {at: 5700ms, do: cluster.crash, cluster: a, fault: process, clients: false}\n"
        "  - {at: 20200ms, do: cluster.restart, cluster: a}\n" + commands
    )


def test_the_surviving_consumer_connects_when_its_retry_is_due_and_drops_all():
    # Retries 0.1, 0.3, 0.7, 1.5, 3.1 and 6.3 s after 5.7 s; moved at 9 s, so the one at 12 s connects to b.
    world = probed(back="false")
    (move,) = moves(world)
    assert at_ms(rows(world, "consumer.connected", cluster="b")) == [12_000]
    # p/57 to p/299 were never acknowledged: acked at 5.69 s was p/56, published 5.65 s, 40 ms away.
    assert causes(move) == {"dropped_by_client": 243} and move["duplicates"] == 0
    dropped = rows(world, "message.dropped")
    assert numbers(dropped) == list(range(300)) and {row["peer"] for row in dropped} == {"a"}
    assert {(row["to_ledger"], row["to_entry"]) for row in dropped} == {(1000, 56)}


@pytest.mark.parametrize("more", [{"partitions": ", partitions: 3"}, {"producer": ", batch: 5"}], ids=str)
def test_partitions_and_batches_are_dropped_alike(more):
    (move,) = moves(probed(back="false", **more))
    assert set(causes(move)) == {"dropped_by_client"} and move["first_delivery_us"] is None


def test_back_in_the_first_cluster_the_ack_counts_again():
    away, back = moves(world := probed())
    assert away["lost"] == away["lost_recovered"] == 203 and back["lost"] == 0
    foreign = [row for row in rows(world, "message.dropped") if row["cluster"] != row["peer"]]
    assert {row["cluster"] for row in foreign} == {"b"}


def test_higher_ledgers_drop_nothing_on_the_way_there_and_everything_on_the_way_back():
    away, back = moves(probed(a=10, b=1000))
    assert away["lost"] == 0 and causes(back) == {"dropped_by_client": back["lost"]} and back["lost"] > 30


@pytest.mark.parametrize("kill_ms", [15_000, 30_000])
def test_a_new_client_gets_what_the_old_one_dropped(kill_ms):
    commands = (
        f"  - {{at: {kill_ms}ms, do: client.kill, client: c}}\n"
        f"  - {{at: {kill_ms + 1000}ms, do: consumer.start, consumer: c}}\n"
    )
    world = probed(back="false", commands=commands)
    (move,) = moves(world)
    assert move["lost"] == 0 and set(numbers(rows(world, "message.delivered"))) == set(range(300))


def test_a_later_cumulative_ack_covers_what_was_dropped():
    # Two unloads open ledgers 10 and 11 in b; the last ack is in a's ledger 10. What b stores in ledger 11 is
    # delivered, and its cumulative ack moves the mark-delete past the dropped messages, which a new client does not
    # get any more.
    world = probed(a=10, b=9, back="false", commands=UNLOADS + NEW_CLIENT)
    (move,) = moves(world)
    assert [row["ledger"] for row in rows(world, "ledger.opened", cluster="b")] == [9, 10, 11]
    # p/57 to p/149, published at 14.95 s
    assert causes(move) == {"dropped_by_client": 93} and move["lost_recovered"] == 0
    assert set(range(57, 150)).isdisjoint(numbers(rows(world, "message.delivered")))
    assert world.summary()["subscriptions"]["s"]["b"]["backlog"] == 0


def test_a_new_client_drains_what_the_old_one_dropped_before_and_after_an_unload():
    # Ledgers 9 to 11 are below a's 20. The new client gets everything at 26 s and acknowledges it at once; the
    # first ledgers are trimmed at that instant, after they were covered.
    (move,) = moves(probed(a=20, b=9, back="false", commands=UNLOADS + NEW_CLIENT))
    assert move["lost"] == 0 and move["drained_us"] == 26 * SECOND


# --- the LookupService of a tenant


@pytest.mark.parametrize("ledgers, drops", [((1000, 10), True), ((10, 1000), False)], ids=["lower", "higher"])
def test_a_tenant_that_moves(ledgers, drops):
    blue, green = ledgers
    world = played(
        "family: tenant-migration\nuntil: 12s\n"
        f"clusters: {{blue: {{firstLedger: {blue}}}, green: {{firstLedger: {green}}}}}\n"
        "links: {default: {latency: 40ms}}\ntenants: {acme: {cluster: blue}}\n"
        "topics: {orders: {clusters: [blue], namespace: acme/shop}}\n"
        "producers: {web: {topic: orders, start: 100ms, every: 10ms, stop: 7s}}\n"
        "subscriptions: {billing: {topic: orders, initialPosition: Earliest}}\n"
        "consumers: {c: {subscription: billing, processing: 1ms, acknowledge: cumulative}}\n"
        "commands:\n  - {at: 1s, do: migration.start, tenant: acme, to: green}\n"
        "  - {at: 5s, do: migration.switch, tenant: acme, force: true}\n"
    )
    (move,) = moves(world)
    assert bool(causes(move)) == drops and set(causes(move)) <= {"dropped_by_client"}
    assert bool(rows(world, "message.delivered", cluster="green")) != drops


# --- one cluster


@pytest.mark.parametrize("command", ["topic.unload", "topic.crash"])
def test_in_one_cluster_the_ack_covers_what_is_dropped(command):
    world = played(
        "family: replicated-subscriptions\nuntil: 10s\nclusters: {a: {}}\ntopics: {t: {clusters: [a]}}\n"
        "producers: {p: {topic: t, cluster: a, start: 50ms, every: 100ms, count: 60}}\n"
        "subscriptions: {s: {topic: t, initialPosition: Earliest}}\n"
        "consumers: {c: {subscription: s, cluster: a, acknowledge: cumulative, processing: 30ms}}\n"
        f"commands: [{{at: 3120ms, do: {command}, cluster: a, topic: t}}]\n"
    )
    assert set(numbers(rows(world, "message.delivered"))) == set(range(60))
    assert {row["peer"] for row in rows(world, "message.dropped")} <= {"a"}
    assert world.summary()["subscriptions"]["s"]["a"]["backlog"] == 0
    assert world.runtime.dropped == {} and world.summary()["violations"] == []
