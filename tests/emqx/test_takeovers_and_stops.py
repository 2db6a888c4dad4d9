"""Commands that hand a group over.

Takeover of a session, a node stopped in order or cut off from the store, timers changed while they run.
"""

import pytest

from tests.emqx.group_runs import SECOND, group, rows, run, tick_after

MS = 1000
BODY = """
settings: {n_shards: 2}
nodes: {n1: {}, n2: {}}
links: {default: {latency: 1ms}}
groups: {g: {filter: "t/#"}}
publishers: {p: {topic: t, start: 1s, every: 100ms, stop: 58s}}
sessions:
  a: {node: n1, subscriptions: ["$share/g/t/#"], reconnect: 2s}
  b: {node: n2, start: 100ms, subscriptions: ["$share/g/t/#"], reconnect: 2s}
"""


def given(*commands, body=BODY, until="60s"):
    return run(body + "commands:\n" + "".join(f"  - {{{command}}}\n" for command in commands), until=until)


def test_a_takeover_notifies_no_leader_and_the_old_borrower_stays_until_its_deadline():
    """emqx_cm:takeover_kick ends the old channel without emqx_persistent_session_ds:disconnect.

    Only the client itself has the new connection.
    """
    world = given("at: 10s, do: session.connect, session: b, node: n1")
    (ended,) = rows(world, "session.disconnected", client="b")
    assert (ended["reason"], ended["at_us"], ended["cluster"]) == ("taken-over", 10 * SECOND, "n2")
    assert (
        rows(world, "session.connected", client="b")[-1]["cluster"] == "n1"
        and rows(world, "session.connected", client="b")[-1]["reason"] == "resumed"
    )
    assert list(rows(world, "protocol.sent", client="b", reason="disconnect")) == []
    (dropped,) = rows(world, "borrower.dropped", client="b")
    last_ping = [
        row["at_us"]
        for row in rows(world, "protocol.arrived", client="b", reason="ping")
        if row["at_us"] < 10 * SECOND
    ][-1]
    assert dropped["count"] == 0 and dropped["at_us"] == tick_after(world, last_ping + 5 * SECOND - 1)
    assert group(world, "g")["lost"] == group(world, "g")["waiting"] == 0


def test_a_takeover_at_the_same_node_and_of_an_in_memory_session():
    world = given(
        "at: 10s, do: session.connect, session: own",
        body=BODY + "  own: {node: n1, durable: false, paused: true, subscriptions: [t/#]}\n",
    )
    resumed = [row for row in rows(world, "session.connected", client="own") if row["reason"] == "resumed"]
    assert len(resumed) == 1 and rows(world, "chunk.fetched", client="own", reason="again"), (
        "its subscriptions and its chunk move with it"
    )


@pytest.mark.parametrize("evacuate, reason, told", [(False, "node-stop", 0), (True, "evacuated", 1)])
def test_a_node_that_stops_releases_its_leaders_claims(evacuate, reason, told):
    """n2 has followed the claim since 0.1 s and forwards connects until 30 s.

    Then the claim does not exist any more.

    Connections are closed without a message; evacuation disconnects them in order first.
    """
    world = given(f"at: 12s, do: node.stop, node: n1, evacuate: {str(evacuate).lower()}")
    assert (
        rows(world, "leader.ended")[0]["reason"] == "node-stop"
        and rows(world, "leader.committed")[-1]["at_us"] <= 60 * SECOND
    )
    assert [row["at_us"] for row in rows(world, "leader.committed")][:2] == [10 * SECOND, 12 * SECOND]
    assert rows(world, "session.disconnected", client="a")[0]["reason"] == reason
    assert (
        len(
            [
                row
                for row in rows(world, "protocol.sent", client="a", reason="disconnect")
                if row["at_us"] == 12 * SECOND
            ]
        )
        == told
    )
    second = rows(world, "leader.elected")[1]
    assert (
        second["cluster"] == "n2"
        and second["reason"] == "first"
        and 30 * SECOND <= second["at_us"] <= 31 * SECOND
    ), "after a crash it would be 40 s"
    assert group(world, "g")["lost"] == group(world, "g")["waiting"] == 0


def test_a_node_cut_off_from_the_store_has_a_second_leader_beside_its_own_with_default_timers():
    """Leader 1 renewed its claim at 10 s and waits from 20 s on for at most 60 s, handling nothing.

    From 40 s on another may take over.

    At 80 s it continues, and at 90 s its claim is too old.
    """
    world = given(
        "at: 12s, do: store.fail, for: 5m, node: n1",
        body=BODY.replace("stop: 58s", "stop: 100s"),
        until="120s",
    )
    (blocked,), (unblocked,) = rows(world, "leader.blocked"), rows(world, "leader.unblocked")
    assert (blocked["at_us"], unblocked["at_us"], unblocked["reason"]) == (
        20 * SECOND,
        80 * SECOND,
        "timeout",
    )
    first, second = rows(world, "leader.elected")
    assert (
        second["cluster"] == "n2"
        and second["reason"] == "taken-over"
        and 40 * SECOND <= second["at_us"] <= 42 * SECOND
    )
    (ended,) = rows(world, "leader.ended")
    assert ended["count"] == 1 and ended["reason"] == "its claim is too old" and ended["at_us"] == 90 * SECOND
    world.seek(at_us=60 * SECOND)
    leaders = world.view()["groups"]["g"]["leaders"]
    assert (
        sorted(leaders) == ["1", "2"]
        and leaders["1"]["blocked_us"] == 20 * SECOND
        and leaders["2"]["blocked_us"] is None
    )
    assert world.summary()["violations"] == [] and world.summary()["groups"]["g"]["lost"] == 0


@pytest.mark.parametrize("length, answered, leaders", [("15s", 27 * SECOND, 1), ("40s", 52 * SECOND, 2)])
def test_a_delayed_commit_is_accepted_if_no_other_leader_took_over(length, answered, leaders):
    """Its claim has the instant of the request, 20 s.

    With another leader since 40 s the store refuses it, and it ends.
    """
    world = given(f"at: 12s, do: store.fail, for: {length}, node: n1", until="59s")
    assert (
        rows(world, "leader.unblocked")[0]["at_us"] == answered
        and rows(world, "leader.unblocked")[0]["reason"] == "answered"
    )
    assert len(rows(world, "leader.elected")) == leaders
    ended = [row["reason"] for row in rows(world, "leader.ended", count=1)]
    assert (
        ended == (["another leader has the claim"] if leaders == 2 else []) and group(world, "g")["lost"] == 0
    )


def test_a_changed_timer_applies_from_its_next_start():
    world = given(
        "at: 5s, do: config.update, setting: session_ping_leader_interval, value: 1s",
        "at: 5s, do: config.update, setting: leader_borrower_timeout, value: 3s",
    )
    pings = [row["at_us"] for row in rows(world, "protocol.sent", client="a", reason="ping")]
    assert pings[:2] == [4 * SECOND, 8 * SECOND] and {
        after - before for before, after in zip(pings[1:], pings[2:])
    } == {SECOND}
    assert (
        rows(world, "borrower.dropped") == []
        and world.view()["spans_us"]["session_ping_leader_interval"] == SECOND
    )
    assert group(world, "g")["duplicates"] == group(world, "g")["waiting"] == 0
