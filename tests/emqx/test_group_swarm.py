"""Random schedules of durable shared subscriptions.

Safety under any faults, and liveness once faults have stopped.

Safety is what the checks claim, that causes are found for every duplicate, and that nothing is lost.
Liveness: 45 s after the last fault, with clients that acknowledge and every session connected, each stream
has one owner that reads it, nothing waits, and the streams are balanced to within one.
"""

from __future__ import annotations

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from simulator import World
from simulator.protocols.emqx.commands.declared import LIVE_SETTINGS
from simulator.protocols.emqx.protocol import MESSAGES
from simulator.scenarios.settings import SETTINGS
from simulator.scenarios.units import format_duration
from tests.emqx.group_runs import SECOND, open_world
from tests.examples import examples

FAULTS_UNTIL_MS, BOUND_US = 20_000, 45 * SECOND
SHIPPED = {
    "lateProgress": "last-write-wins",
    "resetWhileUnsubscribing": "resubscribes",
    "reassignmentTimers": "multiply",
    "endOfStream": "kills-leader",
    "replayedGeneration": "forgotten",
    "secondConnectResponse": "crashes",
    "secondRevokeFinished": "invalidates",
    "revokeCarriesEpoch": "true",
    "redeclaredGroup": "adopted",
    "undeclaredElection": "claims",
    "remoteLeaders": "unreachable",
    "leaderTimerPhase": "drawn",
}
"""Options beside those of the profile `proposal`: the faults as shipped, an epoch, and timers that have drifted."""
SHARE = '"$share/g/t/#"'
SESSIONS, NODES = ("a", "b", "c"), ("n1", "n2")

session = st.sampled_from(SESSIONS)
commands = st.one_of(
    st.builds(
        "session.{}, session: {}".format,
        st.sampled_from(("kill", "disconnect", "connect", "pause-acks", "resume-acks")),
        session,
    ),
    st.builds("session.connect, session: {}, clean: true".format, session),
    st.builds("session.connect, session: {}, node: {}".format, session, st.sampled_from(NODES)),
    st.builds(
        "node.stop, node: {}, evacuate: {}".format, st.sampled_from(NODES), st.sampled_from(("true", "false"))
    ),
    st.builds("store.fail, for: {}s, node: {}".format, st.integers(1, 15), st.sampled_from(NODES)),
    st.builds(
        "config.update, setting: {}, value: {}ms".format,
        st.sampled_from(LIVE_SETTINGS),
        st.integers(300, 4_000),
    ),
    st.sampled_from(
        (
            "group.destroy, group: g",
            "group.declare, group: g",
            "group.declare, group: g, startTime: 0s",
            "group.declare, group: g, startTime: 6s",
        )
    ),
    st.builds(
        "session.{}, session: {}, topic: {}".format,
        st.sampled_from(("subscribe", "unsubscribe")),
        session,
        st.just(SHARE),
    ),
    st.sampled_from(
        (
            "leader.crash, group: g",
            "leader.stop, group: g",
            "storage.close-generation",
            "storage.add-shards, count: 1",
            "store.fail, for: 3s",
        )
    ),
    st.builds("node.{}, node: {}".format, st.sampled_from(("crash", "restart")), st.sampled_from(NODES)),
    st.builds("link.{}, link: n1 <-> n2".format, st.sampled_from(("cut", "heal"))),
    st.builds("protocol.lose, type: {}".format, st.sampled_from(MESSAGES)),
    st.builds("protocol.delay, type: {}, by: {}ms".format, st.sampled_from(MESSAGES), st.integers(1, 12_000)),
    st.builds(
        "protocol.duplicate, type: {}, by: {}ms".format, st.sampled_from(MESSAGES), st.integers(0, 3_000)
    ),
)
planned = st.lists(st.tuples(st.integers(100, FAULTS_UNTIL_MS), commands), max_size=14)
link = st.sampled_from(
    (
        "",
        ", loss: 10%",
        ", duplication: 20%",
        ", reordering: 30%",
        ", loss: 5%, duplication: 5%, reordering: 10%",
    )
)
NO_FAULTS: dict[str, str] = {}


def world_of(schedule, seed, link, batch, processing, options=NO_FAULTS, shards=3) -> World:
    lines = "".join(f"  - {{at: {at}ms, do: {words}}}\n" for at, words in sorted(schedule))
    sessions = "".join(
        (
            f"  {name}: {{node: {NODES[place % 2]}, start: {place * 900}ms, processing: {processing}, "
            f"reconnect: 2s, subscriptions: [{SHARE}, own/x]}}\n"
        )
        for place, name in enumerate(SESSIONS)
    )
    chosen = {"emqx": "proposal", "remoteLeaders": "reachable", **options}
    told = ", ".join(f"{name}: {value}" for name, value in chosen.items())
    return open_world(
        f"""
settings: {{n_shards: {shards}, batch_size: {batch}}}
options: {{{told}}}
nodes: {{n1: {{}}, n2: {{}}}}
links: {{default: {{latency: {{distribution: uniform, low: 1ms, high: 30ms}}{link}}}}}
groups: {{g: {{filter: "t/#"}}}}
publishers: {{p: {{topic: t, start: 300ms, every: 110ms, stop: 25s}}, light: {{topic: t/light, qos: 0, every: 300ms, clients: 1, stop: 25s}}, own: {{topic: own/x, every: 500ms, stop: 25s}}}}
sessions:
{sessions}{"commands:" if lines else ""}
{lines}""",
        until="2m",
        seed=seed,
    )


def safe(world: World) -> dict:
    """The group's figures, after checking what must hold under any faults."""
    summary = world.summary()
    counted = summary["groups"]["g"]
    assert summary["violations"] == [] and counted["lost"] == 0
    live = world.view()["groups"]["g"]["figures"]
    assert {name: counted[name] for name in live if name in counted} == {
        name: live[name] for name in live if name in counted
    }
    assert sum(counted["by_cause"].values()) == counted["duplicates"]
    assert (
        counted["delivered"]
        - counted["duplicates"]
        - counted["redeliveries"]
        + counted["waiting"]
        + counted["lost_qos0"]
        == counted["published"]
    )
    return counted


def undelivered(world: World) -> set[int]:
    """Messages with QoS 1 published since the group was last declared that no session has received.

    What was undelivered when the group was destroyed stays so: its progress was deleted.
    """
    rows = world.trace.rows()
    declared = max(row["seq"] for row in rows if row["type"] == "group.declared")
    published, delivered = (
        {
            row["sequence_id"]
            for row in rows
            if row["type"] == kind and row.get("producer") == "p" and row["seq"] > since
        }
        for kind, since in (("message.published", declared), ("message.delivered", 0))
    )
    return published - delivered


@examples(15, suppress_health_check=[HealthCheck.too_slow])
@given(
    planned,
    st.integers(0, 1000),
    link,
    st.sampled_from((1, 3, 100)),
    st.sampled_from(("0s", "20ms")),
    st.sets(st.sampled_from(sorted(SHIPPED))),
)
def test_under_any_faults_nothing_is_lost_and_every_duplicate_has_a_cause(
    schedule, seed, link, batch, processing, shipped
):
    world = world_of(
        schedule, seed, link, batch, processing, {name: SHIPPED[name] for name in sorted(shipped)}
    )
    world.run(60 * SECOND)
    safe(world)


@examples(8, suppress_health_check=[HealthCheck.too_slow])
@given(planned, st.integers(0, 1000), st.sampled_from((1, 3, 100)))
def test_a_group_recovers_within_45_s_after_the_last_fault(schedule, seed, batch):
    """The links work; the claim of a leader that died may hold for 30 s, a borrower's deadlines for eight more.

    Without an epoch a late revoke would leave its stream unread.
    """
    world = world_of(schedule, seed, "", batch, "0s", {"revokeCarriesEpoch": "true"})
    world.run(FAULTS_UNTIL_MS * 1000)
    view = world.view()
    for name in NODES:
        if view["clusters"][name]["state"] == "down":
            world.apply({"do": "node.restart", "node": name})
    world.apply({"do": "link.heal", "link": "n1 <-> n2"})
    world.runtime.network.orders.clear()
    for name in LIVE_SETTINGS:  # with a timeout below the interval of pings borrowers are dropped permanently
        world.apply(
            {"do": "config.update", "setting": name, "value": format_duration(SETTINGS[name].default)}
        )
    world.apply({"do": "group.declare", "group": "g"})  # where it was destroyed
    for name in SESSIONS:
        if view["sessions"][name]["acks_paused"]:
            world.apply({"do": "session.resume-acks", "session": name})
        if view["sessions"][name]["state"] == "offline":
            assert world.apply({"do": "session.connect", "session": name}).ok
        if not any(text.startswith("$share") for text in world.view()["sessions"][name]["subscriptions"]):
            assert world.apply({"do": "session.subscribe", "session": name, "topic": "$share/g/t/#"}).ok
    world.run(FAULTS_UNTIL_MS * 1000 + BOUND_US)
    assert safe(world)["lost"] == 0 and not undelivered(world)
    view = world.view()
    assert view["groups"]["g"]["stability"]["stable"]
    (leader,) = view["groups"]["g"]["leaders"].values()
    # the others are read to their end
    dealt = {name: one for name, one in leader["streams"].items() if one is not None}
    assert {one["state"] for one in dealt.values()} <= {"granted"}
    shares = [one["streams"] for one in leader["borrowers"].values()]
    assert len(shares) == len(SESSIONS) and max(shares) - min(shares) <= 1
    read = [
        name
        for name, one in view["groups"]["g"]["streams"].items()
        for reader in one["readers"].values()
        if reader["lease"] == "granted"
    ]
    assert sorted(read) == sorted(dealt)
    for later_us in range(SECOND, 15 * SECOND, 2 * SECOND + 1):  # past a commit, pings and rounds
        world.run(FAULTS_UNTIL_MS * 1000 + BOUND_US + later_us)
        assert world.view()["groups"]["g"]["stability"]["stable"], "and from then on"


@examples(4)
@given(planned, st.integers(0, 1000), link, st.lists(st.integers(1, 40_000), min_size=1, max_size=4))
def test_digest_is_the_same_over_cuts_seeks_and_forks(schedule, seed, link, cuts):
    whole = world_of(schedule, seed, link, 3, "20ms")
    whole.run(40 * SECOND)
    world = world_of(schedule, seed, link, 3, "20ms")
    for at_ms in cuts:
        world.seek(at_us=at_ms * 1000)
        world.view()
        world.summary()
        fork = world.fork()
    world.seek(at_us=40 * SECOND)
    fork.run(40 * SECOND)
    assert world.digest() == whole.digest() == fork.digest()
    again = World.replay(whole.scenario, whole.seed, whole.command_log, 40 * SECOND)
    assert again.digest() == whole.digest()
