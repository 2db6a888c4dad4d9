"""The first instants of a leader: the connect that led to its election, then its first round.

The elector becomes the leader with that connect in its mailbox (`emqx_ds_shared_sub_leader:become`).
"""

from tests.emqx.group_runs import SECOND, group, rows, run


def given(*commands, start="0s", until="60s"):
    told = "".join(f"  - {{{line}}}\n" for line in commands)
    return run(
        'nodes: {n: {}}\ngroups: {g: {filter: "t/#"}}\n'
        f'sessions: {{a: {{node: n, start: {start}, subscriptions: ["$share/g/t/#"]}}}}\n'
        "publishers: {x: {topic: t/x, clients: 1, paused: true}, y: {topic: t/y, clients: 1, paused: true}}\n"
        f"commands:\n{told}",
        until,
    )


def leader_messages(world, at_us):
    """(kind, stream) of the messages that a leader sent at an instant."""
    return [
        (row["reason"], row.get("topic"))
        for row in rows(world, "protocol.sent")
        if row["at_us"] == at_us and row["reason"] in ("grant", "leader-connect-response")
    ]


def test_a_leader_without_stored_streams_answers_the_connect_and_grants_in_its_first_round():
    world = given("at: 1s, do: publisher.publish, publisher: x, count: 1", start="3s")
    assert leader_messages(world, 3 * SECOND) == [
        ("leader-connect-response", None),
        ("grant", rows(world, "stream.found")[0]["topic"]),
    ]
    assert group(world, "g")["delivered"] == 1


def test_streams_that_were_not_committed_are_granted_one_round_after_those_that_were():
    """The stream of t/y is found after the commit of 10 s; the claim is free when it is 30 s old, at 40 s.

    The first round finds it while the grants for the connect have no answer yet, so the borrower is not
    stable.
    """
    world = given(
        "at: 1s, do: publisher.publish, publisher: x, count: 1",
        "at: 12s, do: publisher.publish, publisher: y, count: 1",
        "at: 15s, do: leader.crash, group: g",
    )
    (second,) = [row["at_us"] for row in rows(world, "leader.elected", count=2)]
    grants = [(row["at_us"] - second, row["topic"]) for row in rows(world, "protocol.sent", reason="grant")]
    late = [(after_us, topic.split("/", 2)[2]) for after_us, topic in grants if after_us >= 0]
    assert late == [(0, "t/x"), (SECOND, "t/y")]
    found = rows(world, "stream.found", count=2)
    assert [row["at_us"] for row in found] == [second]
