"""Tests of history.

Seek, step, step back, fork and branch are exact; a command in the past begins a branch; the row bound;
replay.

Issue, Engine 6: "seek, step, step back, fork, all exact; a command given at a past instant starts a new
branch, the old one stays … A lab holds at most 5,000,000 rows (a named bound): it then pauses and says so."
"""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import ROWS_MAX, World
from tests.simulator.engine_runs import MS, SECOND, do, open_world, rows, topic

BODY = """
settings: {managedLedgerMaxEntriesPerLedger: 40, managedLedgerMinLedgerRolloverTimeMinutes: 0, retentionCheckIntervalInSeconds: 2}
clusters: {a: {}, b: {}, c: {}}
links: {default: {latency: {distribution: lognormal, median: 40ms, sigma: 0.5}}}
topics: {t: {clusters: [a, b, c]}, parts: {clusters: [a, b], partitions: 2}}
producers:
  p: {topic: t, cluster: a, rate: 50/s, arrivals: poisson, keys: 5}
  q: {topic: t, cluster: b, rate: 20/s, batch: 3}
  r: {topic: parts, cluster: a, rate: 20/s}
subscriptions:
  s: {topic: t, type: Key_Shared, replicateSubscriptionState: true, initialPosition: Earliest}
  s2: {topic: parts, type: Shared, replicateSubscriptionState: true}
consumers:
  c1: {subscription: s, cluster: a, processing: {distribution: lognormal, median: 5ms, sigma: 0.5}, hold: {share: 5%, for: 1s}}
  c2: {subscription: s, cluster: a, processing: 3ms, negativeAcknowledge: {share: 5%}, negativeAckRedeliveryDelay: 700ms}
  c3: {subscription: s2, cluster: a}
commands:
  - {at: 1200ms, do: link.cut, link: b -> a}
  - {at: 1900ms, do: link.heal, link: b -> a}
  - {at: 2500ms, do: topic.unload, cluster: a, topic: t}
  - {at: 3300ms, do: cluster.crash, cluster: a}
  - {at: 3300ms, do: subscription.fail-over, subscription: s, from: a, to: c, mode: crash}
  - {at: 4100ms, do: cluster.restart, cluster: a}
  - {at: 4500ms, do: topic.grow, topic: parts, partitions: 3}
"""
END_US = 6 * SECOND


def state(world):
    """All visible state, except how far the branch has run."""
    shown = world.view()
    del shown["furthest_us"], shown["branch"]
    return world.now_us, world.seq, world.digest(), json.dumps(shown, sort_keys=True)


@pytest.fixture(scope="module")
def straight():
    """States at certain instants of a run that only ever went forward."""
    world, found = open_world(BODY, until="6s"), {}
    for at_us in (
        0,
        1,
        700 * MS,
        1200 * MS,
        1_234_567,
        2500 * MS,
        3_299_999,
        3300 * MS,
        4100 * MS,
        5 * SECOND,
        END_US,
    ):
        world.run(at_us)
        found[at_us] = state(world)
    return found


# --- seek


def test_seek_back_and_forth_is_exact(straight):
    world = open_world(BODY, until="6s")
    world.run()
    for at_us in (
        2500 * MS,
        0,
        END_US,
        1_234_567,
        3300 * MS,
        3_299_999,
        1,
        4100 * MS,
        700 * MS,
        5 * SECOND,
        1200 * MS,
    ):
        world.seek(at_us=at_us)
        assert state(world) == straight[at_us], at_us


def test_seek_beyond_the_front_runs_further(straight):
    world = open_world(BODY, until="6s")
    world.seek(at_us=END_US)
    assert state(world) == straight[END_US] and world.furthest_us == END_US


def test_seek_to_a_row_goes_to_the_end_of_its_instant():
    world = open_world(BODY, until="6s")
    world.run()
    wanted = rows(world, "snapshot.completed")[2]
    world.seek(seq=wanted["seq"])
    assert world.now_us == wanted["at_us"] and world.seq > wanted["seq"]
    assert world.trace.at_us(world.seq - 1) == wanted["at_us"] < world.trace.at_us(world.seq)


def test_seek_in_slices_gives_the_same_state(straight):
    world = open_world(BODY, until="6s")
    world.run()
    seek, slices = world.begin_seek(at_us=2500 * MS), 1
    while seek.step(events=10):
        slices += 1
    assert slices > 5 and state(world) == straight[2500 * MS]


def test_checkpoints_are_used_and_exact(straight):
    # Many checkpoints (one each 500 rows): seeks load the nearest and run the rest.
    from simulator import branch

    kept, branch.CHECKPOINT_ROWS_MIN, branch.ROW_BYTES = (
        (branch.CHECKPOINT_ROWS_MIN, branch.ROW_BYTES),
        500,
        1 << 30,
    )
    try:
        world = open_world(BODY, until="6s")
        while world.advance(END_US, 50):
            pass
        assert len(world._branch.checkpoints) > 8
        for at_us in sorted(straight, key=lambda at_us: at_us * 7919 % 1_000_003):
            world.seek(at_us=at_us)
            assert state(world) == straight[at_us], at_us
    finally:
        branch.CHECKPOINT_ROWS_MIN, branch.ROW_BYTES = kept


# --- step


@pytest.mark.parametrize("filter_", [None, "control", {"message": ["p", 30]}, {"subscription": "s2"}])
def test_step_visits_every_instant_with_a_row_that_matches(filter_):
    world = open_world(BODY, until="6s")
    world.run(3 * SECOND)
    end = world.seq
    if filter_ in (None, "control"):
        wanted = world.trace.rows(0, end, control_only=True)
    elif "message" in filter_:
        wanted = [
            row
            for row in world.trace.rows(0, end)
            if (row.get("producer"), row.get("sequence_id")) == ("p", 30)
        ]
    else:
        wanted = [row for row in world.trace.rows(0, end) if row.get("subscription") == "s2"]
    instants = sorted({row["at_us"] for row in wanted if row["at_us"] > 0})[:40]
    world.seek(at_us=0)
    seen = []
    while len(seen) < len(instants):
        row = world.step(filter_)
        seen.append(row["at_us"])
        assert world.now_us == row["at_us"]
    assert seen == instants and len(seen) > 3
    back = [world.step_back(filter_)["at_us"] for _ in range(len(seen) - 1)]
    assert back == instants[-2::-1]


def test_step_everything_goes_instant_by_instant():
    world = open_world(BODY, until="6s")
    world.run(500 * MS)
    instants = sorted({row["at_us"] for row in world.trace.rows(0, world.seq) if row["at_us"]})[:30]
    world.seek(at_us=0)
    assert [world.step("everything")["at_us"] for _ in instants] == instants


def test_step_and_step_back_are_inverse():
    world = open_world(BODY, until="6s")
    world.run(2 * SECOND)
    world.step()
    before = state(world)
    for _ in range(5):
        world.step()
    for _ in range(5):
        world.step_back()
    assert state(world) == before


def test_step_runs_forward_when_needed_and_returns_none_without_a_match():
    world = open_world(BODY, until="6s")
    row = world.step({"message": ["p", 10]})
    assert row["type"] == "message.published" and world.now_us == row["at_us"] == world.furthest_us
    quiet = open_world(
        (
            "clusters: {a: {}}\ntopics: {t: {clusters: [a]}}\nproducers: {p: {topic: t, cluster: a, at: "
            "[1s]}}\n"
        ),
        until="5s",
    )
    assert quiet.step({"message": ["p", 0]})["at_us"] == SECOND
    assert quiet.step({"message": ["p", 7]}) is None
    assert quiet.step_back({"message": ["p", 7]}) is None and quiet.now_us == 0


def test_an_unknown_filter_is_refused_with_a_reason():
    with pytest.raises(ValueError, match="is not a filter"):
        open_world(BODY).step("nonsense")


# --- fork


def test_a_fork_continues_like_its_parent_and_does_not_change_it(straight):
    world = open_world(BODY, until="6s")
    world.run(2500 * MS)
    fork = world.fork()
    fork.run(END_US)
    assert state(fork) == straight[END_US] and state(world) == straight[2500 * MS]
    do(fork, "cluster.lose", cluster="b")
    fork.run(END_US + SECOND)
    world.run(END_US)
    assert state(world) == straight[END_US]
    fork.seek(at_us=1200 * MS)
    assert state(fork) == straight[1200 * MS], "the past is shared"


def test_fork_from_the_past_of_a_branch(straight):
    world = open_world(BODY, until="6s")
    world.run()
    world.seek(at_us=1_234_567)
    fork = world.fork()
    assert fork.furthest_us == 1_234_567
    fork.run(END_US)
    assert state(fork) == straight[END_US]


# --- branches and commands


def test_a_command_in_the_past_begins_a_branch_and_the_old_one_stays(straight):
    world = open_world(BODY, until="6s")
    world.run()
    world.seek(at_us=2500 * MS)
    do(world, "link.cut", link="a <-> b")
    assert world.branch == 1 and world.furthest_us == 2500 * MS
    described = world.branches
    assert [(one["number"], one["parent"], one["at_us"]) for one in described] == [
        (0, None, 0),
        (1, 0, 2500 * MS),
    ]
    assert described[1]["command"]["do"] == "link.cut"
    world.run(END_US)
    changed = state(world)
    assert changed != straight[END_US] and rows(world, "link.cut", cluster="a")
    world.seek(at_us=1200 * MS)
    assert state(world) == straight[1200 * MS]
    world.seek(at_us=END_US)
    assert state(world) == changed
    world.switch_branch(0)
    world.seek(at_us=END_US)
    assert state(world) == straight[END_US] and not rows(world, "link.cut", cluster="a")
    world.switch_branch(1)
    assert state(world) == changed


def test_a_command_at_the_front_makes_no_branch():
    world = open_world(BODY, until="6s")
    world.run(2500 * MS)
    do(world, "link.cut", link="a <-> b")
    world.run(3 * SECOND)
    do(world, "link.heal", link="a <-> b")
    assert world.branch == 0 and len(world.branches) == 1 and len(world.command_log) == 2


def test_a_branch_of_a_branch_before_the_first_cut():
    world = open_world(BODY, until="6s")
    world.run()
    world.seek(at_us=3 * SECOND)
    do(world, "consumer.pause", consumer="c1")
    world.run(4 * SECOND)
    world.seek(at_us=SECOND)
    do(world, "consumer.pause", consumer="c2")
    assert world.branch == 2 and world.branches[2]["parent"] == 1
    world.run(5 * SECOND)
    assert [entry["consumer"] for entry in world.command_log] == ["c2"], (
        "what came by hand after the cut does not come here"
    )
    for number in (0, 1, 2, 1, 0, 2):
        world.switch_branch(number)
        world.seek(at_us=4 * SECOND)
        paused = {row["client"] for row in rows(world, "client.changed", reason="paused")}
        assert paused == {0: set(), 1: {"c1"}, 2: {"c2"}}[number]


def test_a_refused_command_in_the_past_makes_no_branch():
    world = open_world(BODY, until="6s")
    world.run()
    world.seek(at_us=SECOND)
    before = state(world)
    assert not world.apply({"do": "cluster.restart", "cluster": "a"}).ok
    assert world.branch == 0 and state(world) == before and world.furthest_us == END_US


def test_seeking_over_live_commands_repeats_them():
    world = open_world(BODY, until="6s")
    world.run(SECOND)
    do(world, "consumer.slow", consumer="c1", processing="50ms")
    do(world, "producer.publish", producer="p", count=20)
    world.run(2 * SECOND)
    do(world, "marker.drop", cluster="a", type="subscription_update")
    world.run(END_US)
    there = state(world)
    for at_us in (500 * MS, SECOND, 1500 * MS, 2 * SECOND, 0):
        world.seek(at_us=at_us)
    world.seek(at_us=END_US)
    assert state(world) == there and len(world.command_log) == 3 and world.branch == 0


def test_replay_of_the_command_log_gives_the_same_bytes():
    world = open_world(BODY, until="6s")
    world.run(1500 * MS)
    do(world, "client.kill", client="c2")
    world.run(3_299_000)
    world.seek(at_us=2 * SECOND)
    do(world, "subscription.fail-over", subscription="s", from_="a", to="b", mode="planned", producers=True)
    do(world, "topic.grow", topic="parts", partitions=4)
    world.run(END_US)
    do(world, "setting.change", setting="ttlDurationDefaultInSeconds", value=2)
    world.run(END_US + SECOND)
    replayed = World.replay(
        world.scenario, world.seed, json.loads(json.dumps(world.command_log)), END_US + SECOND
    )
    assert replayed.digest() == world.digest()
    assert state(replayed)[:3] == state(world)[:3]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["seek", "run", "step", "back", "command", "fork", "switch"]),
            st.integers(0, 6000),
        ),
        min_size=4,
        max_size=12,
    )
)
def test_replaying_the_log_after_any_operations_gives_the_same_bytes(moves):
    commands = [
        {"do": "consumer.pause", "consumer": "c1"},
        {"do": "consumer.resume", "consumer": "c1"},
        {"do": "link.cut", "link": "a -> b"},
        {"do": "link.heal", "link": "a -> b"},
        {"do": "topic.unload", "cluster": "b", "topic": "t"},
        {"do": "client.close", "client": "c2"},
        {"do": "cluster.crash", "cluster": "b"},
        {"do": "cluster.restart", "cluster": "b"},
    ]
    world = open_world(BODY, until="6s")
    for move, value in moves:
        if move == "seek":
            world.seek(at_us=value * MS)
        elif move == "run":
            world.run(max(world.now_us, value * MS))
        elif move == "step":
            world.step()
        elif move == "back":
            world.step_back()
        elif move == "command":
            world.apply(commands[value % len(commands)])
        elif move == "fork":
            world = world.fork()
        else:
            world.switch_branch(value % len(world.branches))
    world.seek(at_us=max(world.now_us, 4 * SECOND))
    replayed = World.replay(world.scenario, world.seed, world.command_log, world.now_us)
    assert replayed.digest() == world.digest()
    assert state(replayed)[3] == state(world)[3]


# --- the bound


def test_the_bound_is_five_million_rows():
    assert ROWS_MAX == 5_000_000
    assert open_world(BODY).rows_max == ROWS_MAX


def test_a_full_lab_pauses_with_a_message_however_it_was_cut():
    # Reached with a small bound: the run stops before the instant that does not fit, however it is cut into
    # slices.
    lengths = []
    for events in (1, 7, 100_000):
        world = open_world(BODY, until="6s", rows_max=2000)
        while world.advance(END_US, events):
            pass
        assert world.limit_reached and "2,000" in world.limit_reached and world.now_us < END_US
        assert 2000 - 200 < len(world.trace) <= 2000, "short of what the next instant would bring"
        lengths.append((len(world.trace), world.now_us, world.digest()))
    assert len(set(lengths)) == 1, lengths


def test_a_full_lab_can_be_viewed_sought_in_and_branched():
    world = open_world(BODY, until="6s", rows_max=2000)
    world.run()
    stopped_us, full = world.now_us, len(world.trace)
    world.run(END_US)
    assert (world.now_us, len(world.trace)) == (stopped_us, full)
    world.seek(at_us=200 * MS)
    there = state(world)
    world.seek(at_us=END_US)
    assert len(world.trace) == full
    world.seek(at_us=200 * MS)
    assert state(world) == there
    do(world, "producer.pause", producer="p")
    assert world.branch == 1 and world.limit_reached is None
    world.run(300 * MS)
    assert world.now_us == 300 * MS


def test_step_in_a_full_lab_returns_none():
    world = open_world(BODY, until="6s", rows_max=2000)
    world.run()
    assert world.step({"message": ["p", 100_000]}) is None


def test_without_a_bound_the_run_continues():
    world = open_world(BODY, until="6s", rows_max=None)
    world.run()
    assert world.limit_reached is None and world.now_us == END_US and len(world.trace) > 2000


def test_a_topic_grown_in_a_branch_is_unchanged_in_the_other():
    world = open_world(BODY, until="6s")
    world.run(4 * SECOND)
    world.seek(at_us=SECOND)
    do(world, "topic.grow", topic="parts", partitions=5)
    world.run(3 * SECOND)
    assert topic(world, "a", "parts-partition-4")["length"] > 0
    world.switch_branch(0)
    world.seek(at_us=3 * SECOND)
    assert "parts-partition-2" not in world.view()["clusters"]["a"]["topics"]
    world.switch_branch(1)
    world.seek(at_us=500 * MS)
    world.seek(at_us=3 * SECOND)
    assert topic(world, "a", "parts-partition-4")["length"] > 0
