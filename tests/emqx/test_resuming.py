"""What a session sends again when its client returns, as emqx_persistent_session_ds keeps it."""

import pytest

from tests.emqx.group_runs import SECOND, group, rows, run


def given(*commands, sessions, publishers, until="30s", options=""):
    told = "".join(f"  - {{{line}}}\n" for line in commands)
    return run(
        f"nodes: {{n: {{}}}}\n{options}settings: {{n_shards: 1}}\nsessions: {{{sessions}}}\n"
        f"publishers: {{{publishers}}}\ncommands:\n{told}",
        until,
    )


def again(world, client="a"):
    """The instants at which the session sent a chunk again, with its stream and first offset."""
    return [
        (row["at_us"] // SECOND, row["topic"], row["entry"])
        for row in rows(world, "chunk.fetched", client=client, reason="again")
    ]


@pytest.mark.parametrize("leave", ["session.disconnect", "session.kill"])
def test_each_reconnect_sends_only_the_chunk_of_the_latest_lease_again(leave):
    """The lease after a reconnect replaces the stream's record, which holds the chunk of the lease before."""
    world = given(
        "at: 1s, do: publisher.publish, publisher: p, count: 3",
        *(
            f"at: {at_s}s, do: {do}, session: a"
            for left_s in (10, 20, 30)
            for at_s, do in ((left_s, leave), (left_s + 8, "session.connect"))
        ),
        "at: 45s, do: session.resume-acks, session: a",
        sessions='a: {node: n, paused: true, subscriptions: ["$share/g/t"]}',
        publishers="p: {topic: t, clients: 1, paused: true}",
        until="60s",
    )
    assert again(world) == [(18, "0/1/t", 0), (28, "0/1/t", 0), (38, "0/1/t", 0)]
    counted = group(world, "g")
    assert counted["delivered"] == 3 * (1 + 2 * 3) and counted["acknowledged"] == 3 * 2, (
        "each time by the session and by the lease"
    )
    assert counted["lost"] == counted["waiting"] == 0


def test_a_reset_borrowers_chunk_is_not_sent_again_once_the_stream_is_leased_again():
    """While the connection lasts the client may still acknowledge it."""
    world = given(
        "at: 1s, do: publisher.publish, publisher: p, count: 3",
        "at: 3s, do: protocol.lose, type: ping-response",
        "at: 20s, do: session.disconnect, session: a",
        "at: 21s, do: session.resume-acks, session: a",
        "at: 21s, do: session.connect, session: a",
        sessions='a: {node: n, paused: true, subscriptions: ["$share/g/t"]}',
        publishers="p: {topic: t, clients: 1, paused: true}",
    )
    assert [row["detail"] for row in rows(world, "borrower.changed", reason="gone")][0] == (
        "no answer to its ping"
    )
    assert again(world) == [(21, "0/1/t", 0)]
    assert group(world, "g")["delivered"] == 4 * 3 and group(world, "g")["acknowledged"] == 2 * 3


def test_subscriptions_to_the_same_stream_have_records_of_their_own():
    """A client that unsubscribed and subscribed again is sent the chunks of both subscriptions."""
    share = 'session: a, topic: "$share/g/t"'
    world = given(
        "at: 1s, do: publisher.publish, publisher: p, count: 3",
        f"at: 5s, do: session.unsubscribe, {share}",
        f"at: 10s, do: session.subscribe, {share}",
        "at: 20s, do: session.disconnect, session: a",
        "at: 21s, do: session.connect, session: a",
        sessions='a: {node: n, paused: true, subscriptions: ["$share/g/t"]}',
        publishers="p: {topic: t, clients: 1, paused: true}",
    )
    assert again(world) == [(21, "0/1/t", 0), (21, "0/1/t", 0)]


@pytest.mark.parametrize("share", ["", "$share/g/"])
def test_chunks_are_sent_again_in_the_order_in_which_they_were_fetched(share):
    """Both streams were read before, t/x first; of the chunks in flight that of t/y is older."""
    world = given(
        "at: 1s, do: publisher.publish, publisher: x, count: 1",
        "at: 3s, do: publisher.publish, publisher: y, count: 1",
        "at: 5s, do: session.pause-acks, session: a",
        "at: 6s, do: publisher.publish, publisher: y, count: 2",
        "at: 7s, do: publisher.publish, publisher: x, count: 2",
        "at: 8s, do: session.disconnect, session: a",
        "at: 9s, do: session.connect, session: a",
        "at: 10s, do: session.disconnect, session: a",
        "at: 11s, do: session.connect, session: a",
        sessions=f'a: {{node: n, subscriptions: ["{share}t/#"]}}',
        publishers="x: {topic: t/x, clients: 1, paused: true}, y: {topic: t/y, clients: 1, paused: true}",
    )
    assert again(world)[:2] == [(9, "0/1/t/y", 1), (9, "0/1/t/x", 1)]
    resent = [row["topic"] for row in rows(world, "message.delivered") if row["at_us"] == 9 * SECOND]
    assert resent[:4] == ["0/1/t/y"] * 2 + ["0/1/t/x"] * 2
    if not share:
        assert again(world)[2:] == [(11, "0/1/t/y", 1), (11, "0/1/t/x", 1)]


@pytest.mark.parametrize(
    "qos, options, got",
    [
        (0, "options: {endOfStream: handled}\n", [0, 1, 4, 5]),
        (0, "options: {endOfStream: handled, qos0Subscriptions: durable}\n", [0, 1, 2, 3, 4, 5]),
        (1, "options: {endOfStream: handled}\n", [0, 1, 2, 3, 4, 5]),
    ],
)
@pytest.mark.parametrize("generation", ["", "at: 3500ms, do: storage.close-generation"])
def test_a_private_subscription_with_quality_0_misses_what_is_published_while_its_client_is_away(
    qos, options, got, generation
):
    """t_mixed_qos_subscription_mode_switch: since 5.10 it is a direct subscription. A group reads on."""
    world = given(
        "at: 1s, do: publisher.publish, publisher: p, count: 2",
        "at: 2s, do: session.disconnect, session: a",
        "at: 3s, do: publisher.publish, publisher: p, count: 1",
        *([generation] if generation else []),
        "at: 4s, do: publisher.publish, publisher: p, count: 1",
        "at: 5s, do: session.connect, session: a",
        "at: 7s, do: publisher.publish, publisher: p, count: 2",
        sessions=f'a: {{node: n, qos: {qos}, subscriptions: [t, "$share/g/t"]}}',
        publishers="p: {topic: t, clients: 1, paused: true}",
        options=options,
    )
    private = rows(world, "message.delivered", subscription=None)
    assert [row["sequence_id"] for row in private] == got
    assert group(world, "g")["delivered"] == 6


@pytest.mark.parametrize("share", ["", "$share/g/"])
def test_only_messages_that_were_sent_before_are_marked_as_duplicates(share):
    """The client has room for two of three messages; what is published later was never sent before."""
    world = run(
        "nodes: {n: {}}\nsettings: {max_inflight: 2}\n"
        f'sessions: {{a: {{node: n, paused: true, subscriptions: ["{share}t"]}}}}\n'
        "publishers: {p: {topic: t, clients: 1, paused: true}}\ncommands:\n"
        "  - {at: 1s, do: publisher.publish, publisher: p, count: 3}\n"
        "  - {at: 4s, do: session.disconnect, session: a}\n"
        "  - {at: 5s, do: session.resume-acks, session: a}\n"
        "  - {at: 5s, do: session.connect, session: a}\n"
        "  - {at: 8s, do: session.disconnect, session: a}\n"
        "  - {at: 9s, do: session.connect, session: a}\n"
        "  - {at: 12s, do: publisher.publish, publisher: p, count: 1}\n"
    )
    marked = [(row["sequence_id"], row["count"]) for row in rows(world, "message.delivered")]
    resent = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0)]
    leased = [(0, 0), (1, 0), (2, 0)] if share else []  # the new lease's messages have new packet ids
    assert marked == [*resent, *leased, (3, 0)]


def test_publish_many_while_client_is_gone_qos1():
    """The same case of emqx_persistent_session_SUITE: four of seven are acknowledged, then five are published.

    After the reconnect the three come first, in their old order and marked as duplicates, then the five.
    """
    topics = [
        "t/42/foo",
        "msg/feed/me",
        "loc/1/2/42",
        "loc/3/4/5",
        "loc/3/4/6",
        "t/100/foo",
        "msg/feed/friend",
    ]
    publishers = ", ".join(
        f"p{number}: {{topic: {topic}, clients: 1, paused: true}}" for number, topic in enumerate(topics)
    )
    planned = [(1000 + place, number) for place, number in enumerate([0, 0, 1, 2, 0, 3, 1])]
    planned += [(2000 + place, number) for place, number in enumerate([4, 5, 5, 6, 1])]
    world = given(
        *(
            f"at: {at_ms}ms, do: publisher.publish, publisher: p{number}, count: 1"
            for at_ms, number in planned
        ),
        "at: 1450ms, do: session.disconnect, session: a",
        "at: 3s, do: session.connect, session: a",
        sessions='a: {node: n, processing: 100ms, subscriptions: [t/+/foo, "msg/feed/#", loc/+/+/+]}',
        publishers=publishers,
    )
    delivered = [
        (row["producer"], row["sequence_id"], row["count"]) for row in rows(world, "message.delivered")
    ]
    assert len(delivered) == 7 + 3 + 5
    assert delivered[7:10] == [(name, number, 1) for name, number, _dup in delivered[4:7]]
    assert {dup for _name, _number, dup in delivered[:7] + delivered[10:]} == {0}
