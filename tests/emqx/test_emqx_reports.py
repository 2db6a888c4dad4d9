"""User reports about EMQX's shared and persistent sessions as scenarios: YAML in, summary out.

EMQX's own suites of sessions, topics and the queues' API are here too. Each case names its source: an issue
of emqx/emqx, or a test of the release line 5.9/5.10. Durable shared subscriptions promise what the brokers of
those issues could not do.
"""

import io
import json

import pytest

from simulator import headless
from tests.emqx.group_runs import SECOND, group, instants, rows, run

NODES = "nodes: {n: {}}\n"


def commands(*lines):
    return "commands:\n" + "".join(f"  - {{{line}}}\n" for line in lines)


def test_4171_a_new_subscriber_gets_messages_published_while_no_session_was_subscribed():
    """Autoscaled subscribers: two share, one leaves, both leave, and one with another name connects.

    Every message is delivered once, to one session.
    """
    world = run(
        NODES
        + """sessions:
  c1: {node: n, qos: 2, subscriptions: ["$share/group1/topic1/#"]}
  c2: {node: n, qos: 2, subscriptions: ["$share/group1/topic1/#"]}
  c3: {node: n, qos: 2, start: 20s, subscriptions: ["$share/group1/topic1/#"]}
publishers: {p1: {topic: topic1, topics: 2, clients: 4, paused: true}}
"""
        + commands(
            "at: 1s, do: publisher.publish, publisher: p1, count: 100",
            "at: 5s, do: session.disconnect, session: c1",
            "at: 6s, do: publisher.publish, publisher: p1, count: 100",
            "at: 10s, do: session.disconnect, session: c2",
            "at: 11s, do: publisher.publish, publisher: p1, count: 100",
        ),
        "30s",
    )
    counted = group(world, "group1")
    assert (
        counted["published"],
        counted["delivered"],
        counted["acknowledged"],
        counted["duplicates"],
        counted["waiting"],
    ) == (300, 300, 300, 0, 0)
    assert (len(instants(world, "c1")), len(instants(world, "c2")), len(instants(world, "c3"))) == (
        50,
        150,
        100,
    )
    assert min(instants(world, "c3")) < 22 * SECOND


@pytest.mark.parametrize("leave", ["session.kill", "session.disconnect"])
def test_2143_four_subscribers_leave_and_one_reconnects(leave):
    four = ", ".join(f'{name}: {{node: n, subscriptions: ["$share/g/t"]}}' for name in "abcd")
    world = run(
        NODES
        + f"sessions: {{{four}}}\npublishers: {{p: {{topic: t, clients: 1, paused: true}}}}\n"
        + commands(
            *(f"at: 2s, do: {leave}, session: {name}" for name in "abcd"),
            "at: 3s, do: publisher.publish, publisher: p, count: 12",
            "at: 10s, do: session.connect, session: a",
        ),
        "30s",
    )
    assert (
        group(world, "g")["delivered"] == 12 == len(instants(world, "a"))
        and group(world, "g")["duplicates"] == 0
    )


def test_3453_messages_before_the_first_subscription_are_kept_for_a_declared_group_only():
    world = run(
        NODES + 'groups: {kept: {filter: "a/#"}}\nsessions: {c: {node: n, start: 5s, subscriptions: '
        '["$share/kept/a/#", "$share/other/b/#"]}}\n'
        "publishers: {a: {topic: a/x, at: [1s, 2s, 6s]}, b: {topic: b/x, at: [1s, 2s, 6s]}}"
    )
    assert group(world, "kept")["delivered"] == 3 == group(world, "kept")["published"]
    assert group(world, "other")["delivered"] == 1 == group(world, "other")["published"]


def test_1216_unacked_messages_are_redelivered_one_at_a_time():
    """Quality of service 2, one message in flight, and a client that dies while it processes."""
    world = run(
        NODES
        + "settings: {max_inflight: 1, batch_size: 1}\nsessions: {c: {node: n, qos: 2, processing: 150ms, "
        'reconnect: 2s, subscriptions: ["$share/g/t"]}}\n'
        "publishers: {p: {topic: t, qos: 2, clients: 1, every: 200ms, start: 1s, count: 20}}\n"
        + commands("at: 2050ms, do: session.kill, session: c"),
        "30s",
    )
    counted = group(world, "g")
    dead = [row["sequence_id"] for row in rows(world, "message.delivered") if row["at_us"] < 2_050_000]
    acknowledged = [
        row["sequence_id"] for row in rows(world, "message.acknowledged") if row["at_us"] < 2_050_000
    ]
    assert dead == [0, 1, 2, 3, 4, 5] and acknowledged == [0, 1, 2, 3, 4]
    assert (
        counted["published"] == 20
        and counted["lost"] == counted["waiting"] == 0
        and counted["redeliveries"] == 1
    ), "by the session itself"
    assert counted["duplicates"] == counted["by_cause"]["progress_unreported"] == 1, (
        "by the leader, which was told nothing of what the session sent again"
    )


def test_cluster_smoke():
    """t_cluster_smoke: clients at two nodes, publishers beside.

    No message is missing or a duplicate, both clients get some.
    """
    world = run(
        """nodes: {n1: {}, n2: {}, n3: {}}
sessions:
  c1: {node: n1, subscriptions: ["$share/smoke/smoke/#"]}
  c2: {node: n2, start: 4s, subscriptions: ["$share/smoke/smoke/#"]}
publishers: {p: {topic: smoke, topics: 3, clients: 10, every: 50ms, start: 1s, count: 300}}
""",
        "30s",
    )
    counted = group(world, "smoke")
    assert (
        counted["published"],
        counted["delivered"],
        counted["duplicates"],
        counted["redeliveries"],
        counted["lost"],
    ) == (300, 300, 0, 0, 0)
    assert instants(world, "c1") and instants(world, "c2")


def test_leader_election():
    """t_leader_election: the first node that claims leads.

    Of two that claim at once one does; when the leader's node dies another follows, though in this line only
    when the claim is too old.
    """
    world = run(
        """nodes: {n1: {}, n2: {}, n3: {}}
sessions:
  c1: {node: n1, subscriptions: ["$share/g1/t1"]}
  c2: {node: n2, start: 1s, subscriptions: ["$share/g1/t1"]}
  c3: {node: n3, start: 2s, subscriptions: ["$share/g1/t1"]}
"""
        + commands(
            'at: 5s, do: session.subscribe, session: c2, topic: "$share/g2/t2"',
            'at: 5s, do: session.subscribe, session: c3, topic: "$share/g2/t2"',
            "at: 12s, do: node.crash, node: n1",
        ),
        "60s",
    )
    elected = [(row["subscription"], row["cluster"], row["at_us"]) for row in rows(world, "leader.elected")]
    assert elected[0] == ("g1", "n1", 0) and [one[0] for one in elected] == ["g1", "g2", "g1"]
    assert elected[2][1] in ("n2", "n3") and 40 * SECOND <= elected[2][2] <= 42 * SECOND, (
        "30 s after the renewal at 10 s, when a borrower asks"
    )
    assert group(world, "g1")["leader_changes"] == 1 and group(world, "g2")["leader_changes"] == 0


@pytest.mark.parametrize("start, first, twice", [("0s", 0, 150), ("8s", 70, 80), (None, 190, 0)])
def test_a_group_declared_again_starts_at_its_start_time(start, first, twice):
    """The queues' API: POST with a start_time.

    Its first leader does not read it before its next commit; a subscription of its
    own keeps all messages.
    """
    told = "" if start is None else f", startTime: {start}"
    world = run(
        NODES + "options: {undeclaredElection: fails}\n"
        'groups: {g: {filter: "t/#"}}\nsessions: {a: {node: n, subscriptions: ["$share/g/t/#"]}, own: '
        '{node: n, subscriptions: ["t/#"]}}\n'
        "publishers: {p: {topic: t/x, clients: 1, every: 100ms, start: 1s}}\n"
        + commands("at: 5s, do: group.destroy, group: g", "at: 20s, do: group.declare, group: g" + told),
        "30s",
    )
    counted = group(world, "g")
    again = [
        row["sequence_id"]
        for row in rows(world, "message.delivered", client="a")
        if row["at_us"] >= 20 * SECOND
    ]
    assert again[0] == first and counted["duplicates"] == twice, "it had read on until 16 s"
    assert counted["lost"] == counted["waiting"] == 0
    assert counted["published"] == (291 if start is not None else 291 - 40), (
        "what came from 16 s to 20 s is nobody's"
    )


@pytest.mark.parametrize("start, subscribed", [("5s", "20s"), ("10s", "0s")])
def test_a_group_starts_at_its_past_or_future_start_time(start, subscribed):
    world = run(
        NODES + f'groups: {{g: {{filter: "t/#", startTime: {start}}}}}\nsessions: {{a: {{node: n, start: '
        f'{subscribed}, subscriptions: ["$share/g/t/#"]}}}}\n'
        "publishers: {p: {topic: t/x, clients: 1, every: 500ms}}",
        "30s",
    )
    counted, first = group(world, "g"), int(start[:-1])
    assert (
        counted["published"] == counted["delivered"] == 2 * (30 - first) + 1
        and counted["unowned_us"] <= 20 * SECOND
    )
    assert min(row["sequence_id"] for row in rows(world, "message.delivered")) == 2 * first


def test_a_destroyed_group_is_not_read_even_if_its_messages_are_kept_for_another_subscription():
    world = run(
        NODES
        + 'groups: {g: {filter: "t/#"}}\nsessions: {a: {node: n, subscriptions: ["$share/g/t/#"]}, own: '
        '{node: n, subscriptions: ["t/#"]}}\n'
        "publishers: {p: {topic: t/x, clients: 1, every: 100ms, start: 1s}}\n"
        + commands("at: 5s, do: group.destroy, group: g"),
        "30s",
    )
    counted = group(world, "g")
    assert (
        counted["published"] == counted["delivered"] == 150
        and max(instants(world, "a")) <= 16 * SECOND
        and counted["waiting"] == 0
    )


def simulate(tmp_path, body):
    path = tmp_path / "case.yaml"
    path.write_text(
        "format: 1\nname: case\ntitle: case\nfamily: durable-shared-subscriptions\nuntil: 5s\n" + body
    )
    out, err = io.StringIO(), io.StringIO()
    return headless.simulate(str(path), out, err, as_json=True), out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "$share/",
        "$share//",
        "$share//t",
        "$share/g",
        "$share/g/",
        "$share/p+q/1",
        "$share/x#/1",
        "$share/g1/$share/t",
        "$share/g/$queue/t",
        "$queue/$queue/t",
        "$queue/$share/g/t",
    ],
)
def test_invalid_shared_filters_are_refused(tmp_path, text):
    """emqx_topic_SUITE: empty names, wildcards in them, and a share of a share."""
    code, out, err = simulate(tmp_path, NODES + f'sessions: {{c: {{node: n, subscriptions: ["{text}"]}}}}\n')
    assert (code, out) == (2, "") and text in err and "write $" in err


@pytest.mark.parametrize(
    "text, name",
    [
        ("$share/g1/topic/$share", "g1"),
        ("$share/$queue/topic/1", "queue"),
        ("$queue/topic/1", "queue"),
        ("$share/g//", "g"),
    ],
)
def test_valid_shared_filters_are_accepted(tmp_path, text, name):
    body = (
        NODES
        + f'sessions: {{c: {{node: n, subscriptions: ["{text}"]}}}}\n'
        + commands(f'at: 2s, do: session.unsubscribe, session: c, topic: "{text}"')
    )
    code, out, _err = simulate(tmp_path, body)
    summary = json.loads(out)
    assert (
        code == 0
        and list(summary["groups"]) == [name]
        and summary["groups"][name]["sessions"] == 1
        and summary["commands"][0]["ok"]
    )


def test_publish_empty_topic_levels():
    topics = {"t//1": 0, "t//1/": 1, "t//2//": 1, "t//2//foo": 1, "t//2/foo": 0, "t/3/bar": 0}
    publishers = ", ".join(
        f'p{number}: {{topic: "{topic}", at: [1s]}}' for number, topic in enumerate(topics)
    )
    world = run(
        NODES
        + f'sessions: {{c: {{node: n, subscriptions: ["$share/g/t//+//#"]}}}}\npublishers: {{{publishers}}}'
    )
    assert sorted(row["topic"].split("/", 2)[2] for row in rows(world, "message.delivered")) == [
        "t//1/",
        "t//2//",
        "t//2//foo",
    ]


def test_a_repeated_subscribe_changes_nothing():
    """t_session_subscription_idempotency; the steps of issue 3529 subscribe again after each connect, too."""
    share = 'session: c, topic: "$share/g/t"'
    world = run(
        NODES
        + (
            'sessions: {c: {node: n, subscriptions: ["$share/g/t", own]}}\npublishers: {p: {topic: t, every: '
            "500ms, start: 1s}, own: {topic: own, every: 500ms, start: 1s}}\n"
        )
        + commands(
            f"at: 3s, do: session.subscribe, {share}",
            "at: 3s, do: session.subscribe, session: c, topic: own",
            "at: 5s, do: session.disconnect, session: c",
            "at: 6s, do: session.connect, session: c",
            f"at: 6s, do: session.subscribe, {share}",
        )
    )
    counted = group(world, "g")
    assert counted["delivered"] == counted["published"] and counted["duplicates"] == 0
    assert len(rows(world, "session.subscribed")) == 2 and len(rows(world, "borrower.joined")) == 2, (
        "one borrower for each connection"
    )
    own = rows(world, "message.delivered", producer="own")
    assert [row["sequence_id"] for row in own] == sorted({row["sequence_id"] for row in own})


def test_unsubscribe_replay():
    """Messages sent and not acknowledged are redelivered although the client unsubscribed from the filter
    in between; later messages are not delivered.
    """
    body = (
        "sessions: {c: {node: n, qos: 2, paused: true, subscriptions: [unsub, sub]}}\npublishers: {u: "
        "{topic: unsub, clients: 1, paused: true}, s: {topic: sub, clients: 1, paused: true}}\n"
    )
    world = run(
        NODES
        + body
        + commands(
            "at: 1s, do: publisher.publish, publisher: u, count: 2",
            "at: 1s, do: publisher.publish, publisher: s, count: 2",
            "at: 2s, do: session.unsubscribe, session: c, topic: unsub",
            "at: 3s, do: session.disconnect, session: c",
            "at: 4s, do: publisher.publish, publisher: u, count: 2",
            "at: 5s, do: session.resume-acks, session: c",
            "at: 5s, do: session.connect, session: c",
            "at: 7s, do: session.subscribe, session: c, topic: unsub",
            "at: 8s, do: publisher.publish, publisher: u, count: 3",
        )
    )
    got = [
        (row["producer"], row["sequence_id"])
        for row in rows(world, "message.delivered")
        if row["at_us"] >= 5 * SECOND
    ]
    assert got == [("u", 0), ("u", 1), ("s", 0), ("s", 1), ("u", 4), ("u", 5), ("u", 6)]


def test_multiple_subscription_matches():
    """A message is delivered once for each of a client's matching filters, and once to each group."""
    world = run(
        NODES
        + (
            'sessions: {c: {node: n, subscriptions: ["t/+", "t/#", "$share/g/t/+", "$share/h/t/#", '
            '"$queue/t/x"]}}\npublishers: {p: {topic: t/x, at: [1s]}}'
        )
    )
    assert len(instants(world, "c")) == 5 and [
        group(world, name)["delivered"] for name in ("g", "h", "queue")
    ] == [1, 1, 1]


@pytest.mark.parametrize("clean, again", [(False, 3), (True, 0)])
def test_a_clean_start_drops_messages_in_flight_and_a_group_redelivers_them(clean, again):
    """t_clean_start_drops_subscriptions.

    The session's own copy of its chunk is dropped; the leader still leases the stream from before it.
    """
    world = run(
        NODES
        + (
            'sessions: {c: {node: n, paused: true, subscriptions: ["$share/g/t", own]}}\npublishers: {p: '
            "{topic: t, clients: 1, at: [1s, 1s, 1s]}, own: {topic: own, clients: 1, at: [3s]}}\n"
        )
        + commands(
            "at: 2s, do: session.disconnect, session: c",
            "at: 4s, do: session.resume-acks, session: c",
            f"at: 4s, do: session.connect, session: c, clean: {str(clean).lower()}",
        )
    )
    counted = group(world, "g")
    assert counted["delivered"] == 6 + again and counted["lost"] == 0 and counted["acknowledged"] == 3 + again
    assert len(rows(world, "chunk.fetched", reason="again")) == (not clean)
    assert len(rows(world, "message.delivered", producer="own")) == (not clean), (
        "nobody wanted it when it was published, once the session is dropped"
    )


def test_storage_generations():
    """A session reads its own streams of a shard generation by generation: new messages wait while any old one is unacknowledged, in another topic, too.

    A group does not wait.
    """
    world = run(
        NODES
        + 'settings: {n_shards: 1}\nsessions: {own: {node: n, paused: true, subscriptions: ["t/+"]}, shared: '
        '{node: n, paused: true, subscriptions: ["$share/g/t/+"]}}\n'
        "publishers: {p: {topic: t, topics: 2, clients: 1, paused: true}}\n"
        + commands(
            "at: 1s, do: publisher.publish, publisher: p, count: 3",
            "at: 2s, do: storage.close-generation",
            "at: 3s, do: publisher.publish, publisher: p, count: 2",
            "at: 6s, do: session.resume-acks, session: own",
            "at: 7s, do: storage.close-generation",
            "at: 8s, do: publisher.publish, publisher: p, count: 2",
        )
    )
    assert [row["at_us"] for row in rows(world, "message.delivered", client="own")] == [1 * SECOND] * 3 + [
        6 * SECOND
    ] * 2 + [8 * SECOND] * 2
    assert [row["sequence_id"] for row in rows(world, "message.delivered", client="own")] == [
        0,
        2,
        1,
        3,
        4,
        5,
        6,
    ], "stream by stream"
    late = [
        row["at_us"]
        for row in rows(world, "message.delivered", client="shared")
        if row["sequence_id"] in (3, 4)
    ]
    assert len(late) == 2 and max(late) <= 5 * SECOND
