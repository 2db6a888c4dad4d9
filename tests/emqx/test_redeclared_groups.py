"""A group that is destroyed and declared again while its leader and its clients live."""

import pytest

from tests.emqx.group_runs import SECOND, group, rows, run
from tests.simulator.test_live_figures import counted_groups, live_groups


def given(*commands, options="", until="40s", more=""):
    told = "".join(f"  - {{{line}}}\n" for line in commands)
    world = run(
        f'nodes: {{n: {{}}}}\n{options}groups: {{g: {{filter: "t/#"}}}}\n'
        f'sessions: {{a: {{node: n, subscriptions: ["$share/g/t/#"]}}{more}}}\n'
        f"publishers: {{p: {{topic: t/x, clients: 1, every: 500ms, start: 1s}}}}\ncommands:\n{told}",
        until,
    )
    assert live_groups(world) == counted_groups(world.summary())
    return world


def ends(world):
    return [(row["at_us"] // SECOND, row["reason"]) for row in rows(world, "leader.ended")]


AGAIN = pytest.mark.parametrize(
    "again, more",
    [
        ("do: group.declare, group: g", ""),
        ('do: session.subscribe, session: b, topic: "$share/g/t/#"', ", b: {node: n}"),
    ],
    ids=["explicit", "implicit"],
)


@AGAIN
def test_a_leader_without_a_commit_goes_on_with_a_group_that_is_declared_again(again, more):
    """Every new group's store has the same sequence number, so the leader's precondition holds."""
    world = given(
        "at: 3250ms, do: group.destroy, group: g",
        f"at: 4250ms, {again}",
        more=more,
    )
    assert ends(world) == []
    assert rows(world, "leader.committed")[0]["at_us"] == 10 * SECOND
    counted = group(world, "g")
    assert counted["published"] == counted["delivered"] == 79 - 2, "two were not stored"
    assert counted["duplicates"] == counted["lost"] == counted["waiting"] == 0


@pytest.mark.parametrize(
    "destroyed_s, options",
    [(3, "options: {redeclaredGroup: fenced}\n"), (12, "")],
    ids=["option", "committed"],
)
def test_a_leader_whose_commit_does_not_fit_the_new_group_ends_and_the_next_begins_again(
    destroyed_s, options
):
    world = given(
        f"at: {destroyed_s}s, do: group.destroy, group: g",
        f"at: {destroyed_s + 1}s, do: group.declare, group: g",
        options=options,
    )
    assert ends(world) == [(10 if destroyed_s == 3 else 20, "another leader has committed")]
    assert group(world, "g")["duplicates"] > 0 == group(world, "g")["lost"]


@pytest.mark.parametrize("options, first", [("", None), ("options: {redeclaredGroup: fenced}\n", 0)])
def test_the_new_start_time_takes_effect_only_with_a_new_leader(options, first):
    """The leader read the group's properties when it was elected."""
    world = given(
        "at: 3s, do: group.destroy, group: g",
        "at: 4s, do: group.declare, group: g, startTime: 0s",
        options=options,
        more=', own: {node: n, subscriptions: ["t/#"]}',
    )
    late = [
        row["sequence_id"]
        for row in rows(world, "message.delivered", client="a")
        if row["at_us"] >= 10 * SECOND
    ]
    assert late[0] == 18
    assert (min(late) == first) if first is not None else late == sorted(late)


@pytest.mark.parametrize(
    "options, again_s", [("options: {undeclaredElection: fails}\n", 20), ("", 46)], ids=["fails", "default"]
)
def test_as_shipped_an_undeclared_groups_claim_delays_its_leader_by_thirty_seconds(options, again_s):
    """The borrower that lost its leader at 16 s asks each second.

    The claim of 16 s is too old at 46 s.
    """
    world = given(
        "at: 5s, do: group.destroy, group: g",
        "at: 19500ms, do: group.declare, group: g",
        options=options,
        until="60s",
    )
    assert [row["at_us"] // SECOND for row in rows(world, "leader.elected")] == [0, again_s]
    followed = rows(world, "leader.followed")
    assert [row["at_us"] // SECOND for row in followed] == ([] if options else [17])
    assert group(world, "g")["lost"] == 0
