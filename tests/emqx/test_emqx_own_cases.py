"""The expectations of EMQX's own suite of shared subscriptions (emqx_ds_shared_sub_SUITE, release line 5.9/5.10), case by case.

Its clients acknowledge at once and expire after two hours; a publisher is one MQTT client, so all its
messages go to one shard, a stream for each topic. Cases that exist in two variants there, with the group
declared before and without, have both here.
"""

import pytest

from tests.emqx.group_runs import SECOND, group, instants, rows, run

DECLARED = pytest.mark.parametrize("declared", [True, False], ids=["declare_explicit", "declare_implicit"])


def body(name, topic, declared=True, sessions="", publishers="", commands=""):
    groups = f'groups: {{{name}: {{filter: "{topic}/#", declared: {str(declared).lower()}}}}}\n'
    return f"nodes: {{n: {{}}}}\n{groups}sessions: {{{sessions}}}\npublishers: {{{publishers}}}\n" + (
        f"commands:\n{commands}" if commands else ""
    )


def client(name, share, start="0s", more=""):
    return f'{name}: {{node: n, start: {start}, subscriptions: ["{share}"]{more}}}'


def publisher(topic, more, topics=2):
    return f"pub: {{topic: {topic}, topics: {topics}, clients: 1, {more}}}"


@DECLARED
def test_lease_initial(declared):
    world = run(
        body(
            "gr1", "topic1", declared, client("c", "$share/gr1/topic1/#"), publisher("topic1", "at: [1s, 3s]")
        )
    )
    assert [row["sequence_id"] for row in rows(world, "message.delivered")] == [0, 1] and max(
        instants(world, "c")
    ) <= 13 * SECOND


def test_declare_triggers_persistence():
    """Messages published before the first subscription are kept for the declared group.

    Other topics are not kept at all.
    """
    world = run(
        body(
            "dtp",
            "topic1",
            True,
            client("c", "$share/dtp/topic1/#", "2s"),
            (
                "pub: {topic: topic1, topics: 3, clients: 1, at: [100ms, 200ms, 300ms, 3s]}, "
                "other: {topic: topic2/1, at: [250ms, 350ms]}"
            ),
        )
    )
    assert sorted(row["sequence_id"] for row in rows(world, "message.delivered", producer="pub")) == [
        0,
        1,
        2,
        3,
    ]
    assert rows(world, "message.stored", producer="other") == [] and max(instants(world, "c")) < 8 * SECOND


@DECLARED
def test_destroy_queue_live_clients(declared):
    two = f"{client('c1', '$share/dqlc/t1337/#')}, {client('c2', '$share/dqlc/t1337/#')}"
    world = run(
        body(
            "dqlc",
            "t1337",
            declared,
            two,
            publisher("t1337", "at: [1s, 1001ms, 1002ms, 1003ms, 5s, 5001ms]", 4),
            "  - {at: 4s, do: group.destroy, group: dqlc}\n",
        )
    )
    assert sorted(row["sequence_id"] for row in rows(world, "message.delivered")) == [0, 1, 2, 3]
    assert len(rows(world, "message.published")) == 6, "no more publishes after the group was destroyed"


@DECLARED
def test_two_clients(declared):
    two = f"{client('c1', '$share/gr4/topic4/#')}, {client('c2', '$share/gr4/topic4/#')}"
    world = run(body("gr4", "topic4", declared, two, publisher("topic4", "at: [1s, 1001ms, 3s, 3001ms]")))
    assert sorted(row["sequence_id"] for row in rows(world, "message.delivered")) == [0, 1, 2, 3]


@DECLARED
@pytest.mark.parametrize("end", ["session.kill", "session.disconnect"])
def test_client_loss(declared, end):
    """There the client is killed and its session notices.

    A killed session, which notices nothing, must do too.
    """
    two = f"{client('c1', '$share/gr5/topic5/#')}, {client('c2', '$share/gr5/topic5/#')}"
    world = run(
        body(
            "gr5",
            "topic5",
            declared,
            two,
            publisher("topic5", "at: [1s, 1001ms, 2001ms, 2002ms]"),
            f"  - {{at: 2s, do: {end}, session: c1}}\n",
        )
    )
    late = [row for row in rows(world, "message.delivered") if row["sequence_id"] in (2, 3)]
    assert {row["sequence_id"] for row in late} == {2, 3} and max(row["at_us"] for row in late) <= 12 * SECOND


@DECLARED
def test_stream_revoke(declared):
    two = f"{client('c1', '$share/gr6/topic6/#')}, {client('c2', '$share/gr6/topic6/#', '3s')}"
    world = run(body("gr6", "topic6", declared, two, publisher("topic6", "at: [1s, 1001ms, 9s, 9001ms]")))
    leased = rows(world, "lease.changed", client="c2", reason="granted")
    assert leased and leased[0]["at_us"] <= 8 * SECOND
    counted = group(world, "gr6")
    assert counted["delivered"] == 4 and counted["duplicates"] == counted["redeliveries"] == 0


@DECLARED
def test_graceful_disconnect(declared):
    two = f"{client('c1', '$share/gr4/topic7/#')}, {client('c2', '$share/gr4/topic7/#')}"
    world = run(
        body(
            "gr4",
            "topic7",
            declared,
            two,
            publisher("topic7", "at: [1s, 1001ms, 3001ms, 3002ms]"),
            "  - {at: 3s, do: session.disconnect, session: c1}\n",
        )
    )
    late = [row["at_us"] for row in rows(world, "message.delivered") if row["sequence_id"] in (2, 3)]
    assert len(late) == 2 and max(late) <= 5 * SECOND, "before any timeout"


@DECLARED
def test_leader_state_preserved(declared):
    """The registry is purged: the leader ends in order.

    A third client gets the messages published afterwards, and no duplicates.
    """
    three = (
        f"{client('c1', '$share/lsp/topic42/#', '0s', ', stop: 4s')}, "
        f"{client('c2', '$share/lsp/topic42/#', '0s', ', stop: 4s')}, "
        f"{client('c3', '$share/lsp/topic42/#', '6s')}"
    )
    world = run(
        body(
            "lsp",
            "topic42",
            declared,
            three,
            publisher("topic42", "at: [1s, 1001ms, 5500ms, 5501ms]"),
            "  - {at: 4500ms, do: leader.stop, group: lsp}\n",
        )
    )
    assert [row["sequence_id"] for row in rows(world, "message.delivered", client="c3")] == [2, 3]
    assert max(instants(world, "c3")) <= 8 * SECOND and group(world, "lsp")["leader_changes"] == 1


@DECLARED
def test_intensive_reassign(declared):
    three = ", ".join(
        client(f"c{number}", "$share/gr8/topic8/#", start)
        for number, start in ((1, "0s"), (2, "2s"), (3, "2s"))
    )
    world = run(
        body("gr8", "topic8", declared, three, publisher("topic8", "every: 1ms, start: 1s, count: 4000", 3))
    )
    counted = group(world, "gr8")
    assert (
        counted["published"] == counted["delivered"] == 4000
        and counted["duplicates"] == counted["redeliveries"] == counted["lost"] == 0
    )


def test_multiple_groups():
    """Fifty groups of one name, twenty clients with two or three of them each: every message is delivered
    to one session, once.
    """
    groups = ", ".join(f'g{number}: {{group: multi, filter: "t/mg/{number}/#"}}' for number in range(50))
    clients = ", ".join(
        (
            f"c{number}: {{node: n, subscriptions: "
            f"[{', '.join(f'$share/multi/t/mg/{one}/#' for one in range(number, 50, 20))}]}}"
        )
        .replace("$share", '"$share')
        .replace("/#", '/#"')
        for number in range(20)
    )
    publishers = ", ".join(
        f"p{number}: {{topic: t/mg/{number}, topics: 20, clients: 1, every: 200ms, start: 1s, count: 20}}"
        for number in range(50)
    )
    world = run(
        f"nodes: {{n: {{}}}}\ngroups: {{{groups}}}\nsessions: {{{clients}}}\npublishers: {{{publishers}}}"
    )
    counted = world.summary()["groups"]
    assert len(counted) == 50 and sum(one["delivered"] for one in counted.values()) == 1000
    assert {(one["published"], one["delivered"], one["duplicates"]) for one in counted.values()} == {
        (20, 20, 0)
    }


@DECLARED
def test_unsubscribe(declared):
    two = f"{client('c1', '$share/gr9/topic9/#')}, {client('c2', '$share/gr9/topic9/#', '2s')}"
    commands = '  - {at: 2s, do: session.unsubscribe, session: c1, topic: "$share/gr9/topic9/#"}\n'
    world = run(
        body(
            "gr9",
            "topic9",
            declared,
            two,
            publisher("topic9", "every: 1ms, start: 1s, count: 4000", 3),
            commands,
        )
    )
    counted = group(world, "gr9")
    assert counted["delivered"] == 4000 and counted["duplicates"] == counted["redeliveries"] == 0


@DECLARED
def test_quick_resubscribe(declared):
    two = f"{client('c1', '$share/gr10/topic10/#')}, {client('c2', '$share/gr10/topic10/#', '2s')}"
    share = 'session: c1, topic: "$share/gr10/topic10/#"'
    commands = "".join(
        f"  - {{at: {2000 + 5 * turn}ms, do: session.{do}, {share}}}\n"
        for turn in range(10)
        for do in ("unsubscribe", "subscribe")
    )
    world = run(
        body(
            "gr10",
            "topic10",
            declared,
            two,
            publisher("topic10", "every: 1ms, start: 1s, count: 4000", 3),
            commands,
        )
    )
    counted = group(world, "gr10")
    assert counted["delivered"] == 4000 and counted["duplicates"] == counted["redeliveries"] == 0


@DECLARED
def test_disconnect_no_double_replay_1(declared):
    two = (
        f"{client('c1', '$share/gr11/topic11/#')}, "
        f"{client('c2', '$share/gr11/topic11/#', '0s', ', stop: 2s')}"
    )
    world = run(
        body("gr11", "topic11", declared, two, publisher("topic11", "every: 1ms, start: 1s, count: 4000", 3))
    )
    counted = group(world, "gr11")
    assert counted["published"] == 4000 and counted["lost"] == counted["waiting"] == 0, (
        "none is missing; some may come twice"
    )


@DECLARED
def test_disconnect_no_double_replay_2(declared):
    """One of twenty is acknowledged, then the client disconnects: the whole chunk is redelivered,
    including the acknowledged message.
    """
    two = (
        f"{client('c1', '$share/gr12/topic12/#', '0s', ', processing: 600ms, stop: 2s')}, "
        f"{client('c2', '$share/gr12/topic12/#', '3s')}"
    )
    at = ", ".join(["1s"] * 20)
    world = run(body("gr12", "topic12", declared, two, publisher("topic12/1", f"at: [{at}]", 1)))
    counted = group(world, "gr12")
    assert (
        counted["published"] == 20
        and counted["acknowledged"] == 21
        and counted["by_cause"]["chunk_repeated"] == counted["duplicates"] == 1
    )


@DECLARED
def test_lease_reconnect(declared):
    """While no node can claim leadership the borrower sends leader-wanted each second, and finds a leader
    when the store is back.
    """
    more = "  - {at: 500ms, do: store.fail, for: 2s}\n"
    world = run(
        body(
            "gr2",
            "topic2",
            declared,
            client("c", "$share/gr2/topic2/#", "1s"),
            publisher("topic2", "at: [6s]"),
            more,
        )
    )
    asked = [
        row["at_us"] for row in rows(world, "protocol.sent", reason="leader-wanted", client="c", peer="n")
    ]
    assert (
        len(rows(world, "election.failed")) == 2 and rows(world, "leader.elected")[0]["at_us"] == 3 * SECOND
    )
    assert asked[:2] == [1 * SECOND, 2 * SECOND] and len(instants(world, "c")) == 1


@DECLARED
def test_renew_lease_timeout(declared):
    """The leader ended: a ping times out, and only then the borrower connects to a new one, within ten
    seconds.
    """
    world = run(
        body(
            "gr3",
            "topic3",
            declared,
            client("c", "$share/gr3/topic3/#"),
            commands="  - {at: 1s, do: leader.stop, group: gr3}\n",
        )
    )
    reset = next(row for row in rows(world, "borrower.changed", reason="gone"))
    joined = rows(world, "borrower.joined")
    assert (
        reset["detail"] == "no answer to its ping"
        and joined[-1]["at_us"] >= reset["at_us"]
        and joined[-1]["at_us"] <= 11 * SECOND
    )
