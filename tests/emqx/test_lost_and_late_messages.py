"""EMQX's timers, and the consequences of each lost, duplicated or late message, as runs.

Sources: `emqx_ds_shared_sub_schema`, `emqx_ds_shared_sub_borrower`, `emqx_ds_shared_sub_leader` of EMQX 5.10.
"""

import pytest

from tests.emqx.group_runs import SECOND, group, open_world, rows, run, tick_after

MS = 1000
SHARE = '"$share/g/t/#"'
TWO = f"""
settings: {{n_shards: 2}}
nodes: {{n: {{}}}}
groups: {{g: {{filter: "t/#"}}}}
publishers: {{p: {{topic: t, every: 100ms, start: 1100ms, stop: 18s}}}}
sessions:
  a: {{node: n, subscriptions: [{SHARE}]}}
  b: {{node: n, start: 4500ms, subscriptions: [{SHARE}]}}
"""
"""Two streams, found and granted to a at 2 s. b connects at 4.5 s: one is revoked in the round of 5 s and
granted to b in that of 6 s.
"""

APART = TWO.replace("nodes: {n: {}}", "nodes: {m: {}, n: {}}\nlinks: {default: {latency: 300ms}}").replace(
    "b: {node: n", "b: {node: m"
)


def sent(world, kind, **equal):
    return [row["at_us"] for row in rows(world, "protocol.sent", reason=kind, **equal)]


def borrower_ends(world, client):
    return [
        (row["at_us"], row["detail"]) for row in rows(world, "borrower.changed", client=client, reason="gone")
    ]


def with_commands(body, *commands):
    return body + "commands:\n" + "".join(f"  - {{{command}}}\n" for command in commands)


# --- timers: the setting, its default, a changed one, and the rows that show it


def alone(more="", body=""):
    return (
        f"settings: {{n_shards: 1{more}}}\nnodes: {{n: {{}}}}\ngroups: {{g: {{filter: "
        f'"t/#"}}}}\npublishers: {{p: {{topic: t, start: 100ms, every: 100ms, stop: 15s}}}}\n{body}'
    )


ONE = f"sessions: {{a: {{node: n, subscriptions: [{SHARE}]}}}}\n"


def leader_wanted_repeated(world):
    asked = sent(world, "leader-wanted")
    return asked[1] - asked[0]


def pings_apart(world):
    pings = sent(world, "ping")
    return pings[1] - pings[0]


def reset_after_ping(world):
    return borrower_ends(world, "a")[0][0] - sent(world, "ping")[0]


def left_after(world):
    return borrower_ends(world, "a")[0][0] - 3 * SECOND


def found_after(world):
    return rows(world, "stream.found")[0]["at_us"]


def grant_repeated(world):
    _round, first, second, *_rest = sent(world, "grant")
    return second - first


def dropped_after(world):
    """In whole seconds: it is detected at the next check of deadlines, within a second."""
    return (rows(world, "borrower.dropped")[0]["at_us"] - 4 * SECOND) // SECOND * SECOND


def committed(world):
    return rows(world, "leader.committed")[0]["at_us"]


def taken_over(world):
    return rows(world, "leader.elected", reason="taken-over")[0]["at_us"]


TIMERS = [
    (
        "session_find_leader_timeout",
        SECOND,
        "400ms",
        400 * MS,
        ONE.replace("node: n,", "node: n, start: 100ms,"),
        ("at: 0s, do: protocol.lose, type: leader-wanted",),
        leader_wanted_repeated,
    ),
    ("session_ping_leader_interval", 4 * SECOND, "3s", 3 * SECOND, ONE, (), pings_apart),
    (
        "session_ping_leader_timeout",
        4 * SECOND,
        "2s",
        2 * SECOND,
        ONE,
        ("at: 1s, do: protocol.lose, type: ping-response",),
        reset_after_ping,
    ),
    (
        "session_unsubscribe_timeout",
        SECOND,
        "1500ms",
        1500 * MS,
        ONE,
        (
            "at: 2s, do: session.pause-acks, session: a",
            f"at: 3s, do: session.unsubscribe, session: a, topic: {SHARE}",
        ),
        left_after,
    ),
    ("leader_renew_streams_interval", SECOND, "700ms", 700 * MS, ONE, (), found_after),
    (
        "leader_periodical_actions_interval",
        SECOND,
        "300ms",
        300 * MS,
        ONE,
        ("at: 500ms, do: protocol.lose, type: grant",) * 2,
        grant_repeated,
    ),
    (
        "leader_borrower_timeout",
        5 * SECOND,
        "7s",
        7 * SECOND,
        ONE,
        ("at: 4500ms, do: session.kill, session: a",),
        dropped_after,
    ),
    ("leader_heartbeat_interval", 10 * SECOND, "3s", 3 * SECOND, ONE, (), committed),
]


@pytest.mark.parametrize(
    "name, default_us, changed, changed_us, sessions, commands, seen",
    TIMERS,
    ids=lambda value: value if isinstance(value, str) and "_" in value and " " not in value else "",
)
def test_each_timer_at_its_default_and_changed(
    name, default_us, changed, changed_us, sessions, commands, seen
):
    for more, expected in (("", default_us), (f", {name}: {changed}", changed_us)):
        world = run(with_commands(alone(more, sessions), *commands) if commands else alone(more, sessions))
        assert seen(world) == expected, name


def test_a_claim_is_valid_for_thirty_seconds():
    body = with_commands(alone("", ONE), "at: 2s, do: leader.crash, group: g")
    assert taken_over(run(body, until="40s")) == 30 * SECOND
    assert (
        taken_over(run(body.replace("n_shards: 1", "n_shards: 1, leader_claim_ttl: 12s"), until="40s"))
        == 12 * SECOND
    )


# --- lost


def test_a_lost_grant_is_repeated_within_a_second_and_no_message_is_skipped():
    world = run(
        with_commands(
            TWO, "at: 1500ms, do: protocol.lose, type: grant", "at: 1500ms, do: protocol.lose, type: grant"
        )
    )
    assert sent(world, "grant")[:4] == [2 * SECOND] * 2 + [tick_after(world, 2 * SECOND)] * 2
    assert group(world, "g")["duplicates"] == group(world, "g")["lost"] == 0


def test_a_lost_first_progress_is_repeated_because_the_grant_is_repeated():
    """The borrower confirms each grant at once, and the session reports all that it reads after a lease:
    four for two streams, all lost.
    """
    more = [f"at: {at}, do: session.{do}-acks, session: a" for at, do in (("1s", "pause"), ("4s", "resume"))]
    world = run(
        with_commands(TWO, *more, *["at: 1500ms, do: protocol.lose, type: update-progress, session: a"] * 4)
    )
    assert (
        sent(world, "grant", client="a")[2] == tick_after(world, 2 * SECOND)
        and group(world, "g")["delivered"] == group(world, "g")["published"]
    )
    assert len(rows(world, "lease.changed", client="a", reason="granted")) == 2, (
        "the repeated grant leases nothing anew"
    )


@pytest.mark.parametrize(
    "lost, again", [("revoke", "revoke"), ("revoked", "revoked"), ("revoke-finished", "revoked")]
)
def test_a_message_lost_in_a_hand_over_is_repeated_within_a_second(lost, again):
    world = run(with_commands(TWO, f"at: 4900ms, do: protocol.lose, type: {lost}"))
    assert sent(world, again)[:2] == [5 * SECOND, tick_after(world, 5 * SECOND)]
    assert rows(world, "lease.changed", client="b", reason="granted")[0]["at_us"] in (6 * SECOND, 7 * SECOND)
    assert (
        group(world, "g")["duplicates"] == 0 and borrower_ends(world, "a") == borrower_ends(world, "b") == []
    )


def test_a_lost_last_progress_is_repeated_with_the_repeated_revoke():
    """The borrower answers a revoke with its progress at once, not yet finished, and the session's last
    progress follows: both lost.
    """
    world = run(with_commands(TWO, *["at: 4950ms, do: protocol.lose, type: update-progress, session: a"] * 3))
    answers = [
        row
        for row in rows(world, "protocol.sent", reason="revoke")
        if row["at_us"] == tick_after(world, 5 * SECOND)
    ]
    assert answers and rows(world, "lease.changed", client="b", reason="granted")[0]["at_us"] in (
        6 * SECOND,
        7 * SECOND,
    )
    assert group(world, "g")["duplicates"] == 0


@pytest.mark.parametrize("lost", ["ping", "ping-response"])
def test_one_lost_ping_or_answer_resets_the_borrower_four_seconds_later(lost):
    world = run(with_commands(TWO, f"at: 1s, do: protocol.lose, type: {lost}, session: a"))
    assert borrower_ends(world, "a")[0][0] in (
        (8 * SECOND,) if lost == "ping-response" else (5 * SECOND, 8 * SECOND)
    )


def test_a_lost_invalidate_is_repaired_by_the_next_ping():
    world = run(
        with_commands(
            TWO,
            "at: 3s, do: protocol.lose, type: ping, session: a",
            "at: 3s, do: protocol.lose, type: invalidate, session: a",
            "at: 3s, do: session.pause-acks, session: a",
        )
    )
    assert borrower_ends(world, "a")[0] == (8 * SECOND, "no answer to its ping")
    world = run(
        with_commands(
            TWO,
            "at: 3s, do: protocol.lose, type: ping, session: a",
            "at: 3s, do: protocol.lose, type: invalidate, session: a",
        )
    )
    assert borrower_ends(world, "a")[0][0] < 6 * SECOND, (
        "its next report, of what it owns no more, gets it invalidated"
    )


# --- duplicated


@pytest.mark.parametrize(
    "kind, by",
    [
        ("revoke", "0s"),
        *(
            (kind, by)
            for kind in ("grant", "ping", "ping-response", "leader-connect-response", "leader-wanted")
            for by in ("0s", "20ms")
        ),
    ],
)
def test_a_duplicated_message_without_consequences(kind, by):
    body = TWO + "options: {secondConnectResponse: tolerated}\n"
    world = run(with_commands(body, f"at: 3900ms, do: protocol.duplicate, type: {kind}, by: {by}"))
    counted = group(world, "g")
    assert (
        borrower_ends(world, "a") == borrower_ends(world, "b") == []
        and counted["duplicates"] == counted["redeliveries"] == 0
    )


def test_a_duplicated_revoked_message_invalidates_a_healthy_borrower():
    """It answers twice, and the second answer finds no owner: all its streams become free, though it did
    nothing wrong.
    """
    world = run(with_commands(TWO, "at: 4900ms, do: protocol.duplicate, type: revoked, by: 20ms"))
    assert borrower_ends(world, "a") == [(5020 * MS, "invalidated by the leader")]
    dropped = rows(world, "borrower.dropped", client="a")[0]
    assert dropped["reason"] == "revoke-finished out of turn" and group(world, "g")["lost"] == 0


def test_an_answer_slower_than_a_tick_invalidates_a_healthy_borrower_without_any_fault():
    """600 ms there and back: `revoked` is sent again before the answer to the first arrives."""
    body = f"""
settings: {{n_shards: 2}}
nodes: {{m: {{}}, n: {{}}}}
links: {{default: {{latency: 300ms}}}}
groups: {{g: {{filter: "t/#"}}}}
publishers: {{p: {{topic: t, every: 100ms, start: 1s, stop: 18s}}}}
sessions:
  lead: {{node: n, subscriptions: [{SHARE}], stop: 1500ms}}
  a: {{node: m, start: 100ms, subscriptions: [{SHARE}]}}
  b: {{node: n, start: 4500ms, subscriptions: [{SHARE}]}}
"""
    world = run(body)
    assert ("invalidated by the leader") in [why for _at, why in borrower_ends(world, "a")] and group(
        world, "g"
    )["lost"] == 0


HANDED_OVER = APART.replace("a: {node: n", "a: {node: m, start: 100ms").replace(
    "sessions:", f"sessions:\n  lead: {{node: n, subscriptions: [{SHARE}], stop: 1500ms}}"
)
"""One hand-over from a, at another node than its leader, to b."""


def invalidated_owners(latency_ms, runs, more="", join_us=3_950_000, a_more=""):
    """In how many runs the previous owner is invalidated; b joins at another instant in each."""
    body = HANDED_OVER.replace("latency: 300ms", f"latency: {latency_ms}ms") + more
    body = body.replace("a: {node: m", "a: {node: m" + a_more)
    found = 0
    for number in range(runs):
        at = f"start: {join_us // MS + 5 * (number % 150)}ms"
        world = run(body.replace("start: 4500ms", at), until=f"{join_us // MS + 8000}ms", seed=number)
        assert rows(world, "lease.changed", client="b", reason="granted")
        found += "invalidated by the leader" in [why for _at, why in borrower_ends(world, "a")]
    return found


@pytest.mark.parametrize("latency_ms, found", [(20, 0), (100, 0), (300, 150)])
def test_rounds_and_checks_keep_their_phase_so_that_happens_always_or_never(latency_ms, found):
    """EMQX's own leader and rank modules gave 0, 0 and 150 of 150 hand-overs.

    Round and check fall on the same instants. The last report reaches the leader a round trip after the revoke,
    and the answer to `revoked` another round trip later; the check between the two repeats `revoked`.
    """
    assert invalidated_owners(latency_ms, 150) == found


@pytest.mark.parametrize("latency_ms, found", [(250, 0), (251, 10)])
def test_the_limit_is_two_round_trips_in_an_interval(latency_ms, found):
    assert invalidated_owners(latency_ms, 10) == found


def test_an_old_leader_keeps_its_phase():
    assert invalidated_owners(100, 20, join_us=63_950_000) == 0


def test_the_first_check_is_one_interval_after_the_start_of_the_leader():
    world = open_world(alone("", ONE.replace("node: n,", "node: n, start: 300ms,")), until="60s")
    for at_us, due_us in ((400 * MS, 1300 * MS), (59 * SECOND, 59_300 * MS)):
        world.run(at_us)
        (leader,) = world.runtime.leaders.values()
        assert leader.due_us("periodical_actions") == leader.due_us("renew_streams") == due_us


def test_a_report_at_any_time_is_repeated_with_a_probability_of_the_round_trip_in_an_interval():
    """A client that is still processing at the revoke reports whenever it is done."""
    runs = 20
    hits = sum(
        invalidated_owners(100, 1, a_more=f", processing: {60 + 11 * number}ms") for number in range(runs)
    )
    assert 0 < hits < runs


@pytest.mark.parametrize("latency_ms", [50, 150, 300])
def test_with_a_drawn_phase_the_frequency_of_that_grows_with_the_latency(latency_ms):
    """A check falls between `revoked` and its answer with a probability of the round trip in an interval."""
    runs = 60
    hits = invalidated_owners(latency_ms, runs, "options: {leaderTimerPhase: drawn}\n")
    expected = runs * 2 * latency_ms // 1000
    assert expected // 3 <= hits <= 2 * expected and 0 < hits < runs


# --- late


def test_a_grant_received_after_the_stream_was_taken_back_is_a_lease_without_owner():
    """The borrower is dropped and reconnects; the grant of the old one has no recipient.

    A grant delayed within its life reads a stream that another borrower owns.
    """
    world = run(with_commands(TWO, "at: 5500ms, do: protocol.delay, type: grant, session: b, by: 3s"))
    counted = group(world, "g")
    assert (
        counted["lost"] == 0
        and counted["delivered"] - counted["duplicates"] - counted["redeliveries"] == counted["published"]
    )


def test_messages_of_one_node_keep_their_order_and_those_of_different_nodes_may_not():
    def order(body):
        world = run(body)
        numbers = {(row["reason"], row["count"]) for row in rows(world, "protocol.sent")}
        assert numbers
        return [row["count"] for row in rows(world, "protocol.arrived")]

    assert order(TWO) == [], "nothing travels"
    late = (
        APART.replace("latency: 300ms", "latency: 5ms, reordering: 40%")
        .replace("every: 100ms", "every: 3ms")
        .replace("stop: 18s", "stop: 8s")
    )
    arrived = order(late)
    assert arrived and arrived != sorted(arrived)


def test_only_the_chosen_message_is_lost():
    """The third report of one stream: neither the two before it nor the reports of the other."""
    world = run(
        with_commands(TWO, "at: 8s, do: protocol.lose, type: update-progress, stream: 1/1/t, skip: 2")
    )
    told = [
        row["count"]
        for row in rows(world, "protocol.sent", reason="update-progress", topic="1/1/t")
        if row["at_us"] > 8 * SECOND
    ]
    (lost,) = rows(world, "protocol.lost")
    assert (lost["count"], lost["topic"], lost["detail"]) == (told[2], "1/1/t", "command") and group(
        world, "g"
    )["duplicates"] == 0


def test_loss_duplication_and_reordering_are_options_of_a_link():
    shares = {"loss": "protocol.lost", "duplication": "protocol.duplicated"}
    for option, event in shares.items():
        world = run(APART.replace("latency: 300ms", f"latency: 5ms, {option}: 20%"))
        assert rows(world, event) and group(world, "g")["lost"] == 0
