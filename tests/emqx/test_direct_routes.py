"""Messages that only in-memory sessions, or durable ones with QoS 0, are subscribed to are not kept.

Only messages with a durable route are stored (`t_mixed_qos_subscriptions` of emqx_persistent_session_ds_SUITE).
"""

import pytest

from tests.emqx.group_runs import group, rows, run
from tests.simulator.test_live_figures import counted_groups, live_groups


def given(own, *commands, until="20s"):
    told = "".join(f"  - {{{line}}}\n" for line in commands)
    world = run(
        'nodes: {n: {}}\ngroups: {g: {filter: "t/#", declared: false}}\n'
        f"sessions: {{own: {{node: n, {own}}}, "
        'a: {node: n, start: 12s, subscriptions: ["$share/g/t/#"]}}\n'
        "publishers: {p: {topic: t/x, clients: 1, every: 1s, start: 1s, count: 8}}\n"
        f"commands:\n{told}",
        until,
    )
    assert live_groups(world) == counted_groups(world.summary())
    return world


def numbers(world, client):
    return [row["sequence_id"] for row in rows(world, "message.delivered", client=client)]


@pytest.mark.parametrize(
    "own, first",
    [
        ('durable: false, subscriptions: ["t/#"]', 5),
        ('qos: 0, subscriptions: ["t/#"]', 5),
        ('qos: 0, subscriptions: ["#"]', 5),
        ('subscriptions: ["t/#"]', 0),
        ("", 5),
    ],
)
def test_a_group_with_an_earlier_start_time_reads_what_a_durable_route_stored(own, first):
    world = given(own, "at: 5500ms, do: group.declare, group: g, startTime: 0s")
    assert numbers(world, "a") == list(range(first, 8))
    assert numbers(world, "own") == (list(range(8)) if own else [])
    counted = group(world, "g")
    assert counted["published"] == counted["delivered"] == 8 - first and counted["waiting"] == 0


def test_a_direct_subscription_receives_each_message_once_while_routes_come_and_go():
    """The messages of 3 s to 5 s are kept for the group, those before and after are not."""
    world = given(
        'durable: false, subscriptions: ["t/#"]',
        "at: 2500ms, do: group.declare, group: g",
        "at: 5500ms, do: group.destroy, group: g",
        "at: 6500ms, do: session.unsubscribe, session: own, topic: t/#",
        "at: 7500ms, do: session.subscribe, session: own, topic: t/#",
    )
    assert numbers(world, "own") == [0, 1, 2, 3, 4, 5, 7]
    assert [row["sequence_id"] for row in rows(world, "message.stored")] == [2, 3, 4]


def test_the_same_with_a_new_generation_and_a_reconnect():
    world = given(
        'durable: false, subscriptions: ["t/#"]',
        "at: 2500ms, do: storage.close-generation",
        "at: 4500ms, do: session.disconnect, session: own",
        "at: 6500ms, do: session.connect, session: own",
    )
    assert numbers(world, "own") == [0, 1, 2, 3, 6, 7]
    assert rows(world, "message.stored", "stream.opened", "stream.closed") == []


@pytest.mark.parametrize("durable, subscribed", [("false", 2), ("true", 1)])
def test_a_client_whose_session_was_not_kept_subscribes_again_when_it_reconnects(durable, subscribed):
    """Without a session at the broker (`session present` is 0) the client subscribes as at first."""
    world = given(
        f'durable: {durable}, reconnect: 1s, subscriptions: ["t/#"]',
        "at: 3500ms, do: session.kill, session: own",
    )
    assert len(rows(world, "session.subscribed", client="own")) == subscribed
    assert numbers(world, "own") == [0, 1, 2, *([3] if subscribed == 1 else []), 4, 5, 6, 7]


def test_messages_persisted():
    """Only what the filters of durable sessions with QoS 1 or 2 match is stored (emqx_persistent_messages_SUITE)."""
    topics = [
        "client/1/topic",
        "client/2/topic",
        "client/3/topic/sub",
        "client/4",
        "random/5",
        "random/6/topic",
        "client/7/topic",
        "client/8/topic/sub",
        "random/9",
        "random/10",
    ]
    publishers = ", ".join(
        f"p{number}: {{topic: {topic}, at: [1s]}}" for number, topic in enumerate(topics, 1)
    )
    world = run(
        "nodes: {n: {}}\nsessions:\n  c1: {node: n, subscriptions: [client/+/topic]}\n"
        "  c2: {node: n, qos: 0, subscriptions: [client/+/topic]}\n"
        "  c2b: {node: n, subscriptions: [random/+]}\n"
        '  c3: {node: n, durable: false, qos: 2, subscriptions: ["client/#"]}\n'
        '  c4: {node: n, durable: false, qos: 0, subscriptions: ["random/#"]}\n'
        f"publishers: {{{publishers}}}"
    )
    stored = {row["producer"] for row in rows(world, "message.stored")}
    assert stored == {"p1", "p2", "p5", "p7", "p9", "p10"}
    received = {name: len(numbers(world, name)) for name in ("c1", "c2", "c2b", "c3", "c4")}
    assert received == {"c1": 3, "c2": 3, "c2b": 3, "c3": 6, "c4": 4}
