"""emqx#18143: in 5.9 and 5.10 a borrower's messages to a leader at another node stay at the borrower's node.

Source: `emqx_ds_shared_sub_proto:send_to_leader` of release 5.10, which casts to `?borrower_node`.
"""

from tests.emqx.group_runs import SECOND, group, instants, rows, run

SHARE = '"$share/g/t/#"'
BODY = f"""
settings: {{n_shards: 4}}
options: {{remoteLeaders: unreachable}}
nodes: {{m: {{}}, n: {{}}}}
links: {{default: {{latency: 5ms}}}}
groups: {{g: {{filter: "t/#"}}}}
publishers: {{p: {{topic: t, every: 100ms, start: 1s, stop: 38s}}}}
sessions:
  a: {{node: m, subscriptions: [{SHARE}]}}
  b: {{node: n, start: 100ms, subscriptions: [{SHARE}]}}
  c: {{node: m, start: 200ms, subscriptions: [{SHARE}]}}
"""


def test_only_sessions_at_the_leaders_node_read():
    world = run(BODY)
    assert instants(world, "a") and instants(world, "c") and not instants(world, "b")
    states = [row["reason"] for row in rows(world, "borrower.changed", client="b")]
    assert states == ["connecting"], "it is never connected, and never reset"
    counted = group(world, "g")
    assert counted["delivered"] == counted["published"] and counted["duplicates"] == 0


def test_each_request_stays_at_the_borrowers_node_and_is_repeated():
    world = run(BODY, until="5s")
    lost = rows(world, "protocol.lost", client="b")
    assert [row["at_us"] for row in lost] == [100_000 + number * SECOND for number in range(5)]
    assert {(row["cluster"], row["peer"], row["reason"], row["detail"]) for row in lost} == {
        ("n", "m", "leader-wanted", "own-node")
    }
    assert not rows(world, "protocol.arrived"), "nothing ever passes from one node to the other"


def test_the_other_node_elects_a_leader_only_when_the_claim_is_too_old():
    """The claim was renewed at 10 s, before the crash of 12 s; a claim is valid for 30 s."""
    world = run(BODY + "commands:\n  - {at: 12s, do: node.crash, node: m}\n", until="45s")
    assert [row["at_us"] // SECOND for row in rows(world, "leader.elected", cluster="n")] == [40]
    assert instants(world, "b")[0] >= 40 * SECOND


def test_a_session_that_moves_to_the_leaders_node_reads():
    world = run(BODY + "commands:\n  - {at: 6s, do: session.connect, session: b, node: m}\n")
    assert instants(world, "b")[0] >= 6 * SECOND


def test_with_reachable_leaders_every_session_reads():
    world = run(BODY.replace("unreachable", "reachable"))
    assert all(instants(world, one) for one in "abc")
    assert not rows(world, "protocol.lost") and group(world, "g")["duplicates"] == 0
