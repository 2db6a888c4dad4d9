"""Which redelivery follows from which cause, which node leads, and what a session reads, as runs.

Sources: `emqx_persistent_session_ds_shared_subs`, `emqx_ds_shared_sub_elector`, `emqx_ds_shared_sub_leader`
of EMQX 5.10.
"""

import pytest

from tests.emqx.group_runs import SECOND, group, instants, rows, run, tick_after
from tests.emqx.test_lost_and_late_messages import borrower_ends, sent, with_commands

MS = 1000
SHARE = '"$share/g/t/#"'


def body(
    sessions,
    publishers="p: {topic: t, start: 1100ms, every: 100ms, stop: 18s}",
    settings="n_shards: 1",
    more="",
):
    return (
        f"settings: {{{settings}}}\nnodes: {{n: {{}}, m: {{}}}}\nlinks: {{default: {{latency: "
        f'1ms}}}}\ngroups: {{g: {{filter: "t/#"}}}}\npublishers: {{{publishers}}}\nsessions: '
        f"{{{sessions}}}\n{more}"
    )


def one(name, node="n", more=""):
    return f"{name}: {{node: {node}, subscriptions: [{SHARE}]{more}}}"


def at_once(count, at="3s"):
    return f"p: {{topic: t, at: [{', '.join([at] * count)}], clients: 1}}"


# --- sessions that end


def test_a_killed_session_is_dropped_five_to_six_seconds_after_its_last_ping_and_redelivers_its_chunk():
    """Ten in one chunk, two acknowledged: all ten are delivered again at the new owner, the two as
    duplicates.
    """
    world = run(
        with_commands(
            body(f"{one('a', more=', processing: 400ms')}, {one('b', more=', start: 500ms')}", at_once(10)),
            "at: 4530ms, do: session.kill, session: a",
        )
    )
    ping, (dropped,) = sent(world, "ping", client="a")[-1], rows(world, "borrower.dropped", client="a")
    assert 5 * SECOND <= dropped["at_us"] - ping <= 6 * SECOND and dropped["reason"] == "expired"
    regranted = rows(world, "lease.changed", client="b", reason="granted")[0]["at_us"]
    assert regranted - dropped["at_us"] <= SECOND
    counted = group(world, "g")
    assert (
        counted["delivered"] == 20
        and counted["duplicates"] == counted["by_cause"]["chunk_repeated"] >= 1
        and counted["redeliveries"] == 10 - counted["duplicates"]
    )


def test_a_lost_connection_hands_over_at_once_from_the_start_of_the_chunk():
    world = run(
        with_commands(
            body(f"{one('a', more=', processing: 400ms')}, {one('b', more=', start: 500ms')}", at_once(10)),
            "at: 4530ms, do: session.disconnect, session: a",
        )
    )
    lease = rows(world, "lease.changed", client="b", reason="granted")[0]
    assert lease["at_us"] == 4530 * MS and lease["entry"] == 0 and group(world, "g")["delivered"] == 20


def test_a_revoked_stream_stays_until_its_chunk_is_acknowledged_then_there_are_no_duplicates():
    """No limit: the revoke is repeated each second, and no other session reads the stream in between."""
    sessions = f"{one('a', more=', paused: true')}, {one('b', more=', start: 4500ms')}"
    world = run(
        with_commands(
            body(sessions, "p: {topic: t, start: 1100ms, every: 100ms, stop: 16s}", "n_shards: 2"),
            "at: 17500ms, do: session.resume-acks, session: a",
        ),
        until="30s",
    )
    said = sent(world, "revoke")
    assert said[:2] == [5 * SECOND, tick_after(world, 5 * SECOND)] and {
        after - before for before, after in zip(said[1:], said[2:])
    } == {SECOND}
    assert said[-1] <= 17_500 * MS < said[-1] + SECOND
    assert rows(world, "lease.changed", client="b", reason="granted")[0]["at_us"] == 18 * SECOND
    counted = group(world, "g")
    assert counted["duplicates"] == counted["redeliveries"] == counted["waiting"] == 0


def test_a_revoked_stream_whose_client_leaves_redelivers_its_chunk():
    sessions = f"{one('a', more=', paused: true')}, {one('b', more=', start: 4500ms')}"
    world = run(
        with_commands(
            body(sessions, "p: {topic: t, start: 1100ms, every: 100ms, count: 20}", "n_shards: 2"),
            "at: 9s, do: session.disconnect, session: a",
        )
    )
    counted = group(world, "g")
    assert (
        counted["redeliveries"] == counted["delivered"] - 20 > 0
        and counted["duplicates"] == 0
        and min(instants(world, "b")) == 9 * SECOND
    )


@pytest.mark.parametrize("acknowledged_ms, twice", [(800, False), (1200, True)])
def test_an_unsubscribe_waits_a_second_for_acknowledgements(acknowledged_ms, twice):
    world = run(
        with_commands(
            body(f"{one('a', more=', paused: true')}, {one('b', more=', start: 500ms')}", at_once(5)),
            f"at: 5s, do: session.unsubscribe, session: a, topic: {SHARE}",
            f"at: {5000 + acknowledged_ms}ms, do: session.resume-acks, session: a",
        )
    )
    counted = group(world, "g")
    assert (counted["redeliveries"] == 5) is twice and (counted["delivered"] == 5) is not twice
    assert borrower_ends(world, "a")[0][0] == 5 * SECOND + min(acknowledged_ms, 1000) * MS


def test_an_unsubscribe_sends_only_a_disconnect():
    """No separate progress is sent: the positions are part of the disconnect
    (`emqx_ds_shared_sub_borrower`).
    """
    world = run(
        with_commands(body(one("a")), f"at: 5050ms, do: session.unsubscribe, session: a, topic: {SHARE}")
    )
    assert [
        row["reason"] for row in rows(world, "protocol.sent", client="a") if row["at_us"] == 5050 * MS
    ] == ["disconnect"]
    assert group(world, "g")["waiting"] == group(world, "g")["published"] - group(world, "g")["delivered"] > 0


def test_a_reset_of_a_live_borrower_redelivers_to_the_same_client():
    world = run(
        with_commands(
            body(one("a", more=", processing: 50ms"), "p: {topic: t, start: 1100ms, every: 20ms, stop: 15s}"),
            "at: 3s, do: protocol.lose, type: ping-response",
        )
    )
    first = list(rows(world, "lease.changed", client="a", reason="granted"))
    assert (
        borrower_ends(world, "a")[0] == (8 * SECOND, "no answer to its ping")
        and len(first) == 2
        and first[1]["at_us"] >= 8 * SECOND
    )
    counted = group(world, "g")
    assert (
        counted["redeliveries"] + counted["duplicates"] > 0
        and counted["handovers"] == 0
        and counted["lost"] == 0
    )


def test_acks_after_the_end_of_the_borrower_are_not_reported():
    world = run(
        with_commands(
            body(f"{one('a', more=', paused: true')}, {one('b', more=', start: 500ms')}", at_once(5)),
            "at: 3500ms, do: protocol.lose, type: ping, session: a",
            "at: 9500ms, do: session.resume-acks, session: a",
        )
    )
    told = [
        row["count"]
        for row in rows(world, "protocol.sent", reason="update-progress", client="a")
        if row["at_us"] >= 9500 * MS
    ]
    assert (
        group(world, "g")["delivered"] == 10
        and len(rows(world, "progress.told", client="a")) == 2
        and len(told) == 1
    ), "the chunk of the new borrower alone"


def test_a_reconnected_session_redelivers_its_own_chunk_whatever_the_leader_did():
    sessions = f"{one('a', more=', processing: 400ms')}, {one('b', more=', start: 500ms')}"
    world = run(
        with_commands(
            body(sessions, at_once(10)),
            "at: 4530ms, do: session.disconnect, session: a",
            "at: 6s, do: session.connect, session: a",
        )
    )
    (again,) = rows(world, "chunk.fetched", client="a", reason="again")
    acknowledged = len(
        [row for row in rows(world, "message.acknowledged", client="a") if row["at_us"] < 5 * SECOND]
    )
    assert again["at_us"] == 6 * SECOND and (again["entry"], again["to_entry"]) == (acknowledged, 10)
    counted = group(world, "g")
    assert counted["delivered"] == 10 + 10 + 10 - acknowledged, (
        "a, b, and a once more what was not acknowledged"
    )
    assert counted["by_cause"]["chunk_repeated"] == counted["duplicates"]


# --- leaders


def test_a_leader_that_ends_in_order_leaves_two_readers_of_one_stream():
    """Nothing fences the old reader: it keeps reading, and its reports reach no leader, until its ping is
    not answered.
    """
    sessions = f"{one('a')}, {one('b', more=', start: 6100ms')}"
    world = run(
        with_commands(body(sessions, settings="n_shards: 4"), "at: 6s, do: leader.stop, group: g"),
        until="30s",
    )
    counted = group(world, "g")
    assert (
        counted["leader_changes"] == 1
        and counted["two_readers"] == 4
        and 4 * 4 * SECOND <= counted["two_readers_us"] <= 4 * 8 * SECOND
    )
    assert counted["by_cause"]["owner_declared_dead"] > 0 and counted["lost"] == counted["waiting"] == 0
    assert borrower_ends(world, "a")[0] == (12 * SECOND, "no answer to its ping")


def test_after_the_leaders_node_dies_no_session_reads_for_twenty_to_thirty_seconds():
    sessions = f"{one('a')}, {one('b', 'm', ', start: 200ms')}"
    world = run(
        with_commands(
            body(sessions, "p: {topic: t, start: 1100ms, every: 100ms, stop: 40s}", "n_shards: 2"),
            "at: 5s, do: node.crash, node: n",
        ),
        until="50s",
    )
    second = rows(world, "leader.elected")[1]
    assert (
        second["cluster"] == "m"
        and second["reason"] == "taken-over"
        and 30 * SECOND <= second["at_us"] <= 31 * SECOND
    )
    reset = borrower_ends(world, "b")[0][0]
    quiet = [at for at in instants(world, "b") if reset < at < second["at_us"]]
    assert quiet == [] and 8 * SECOND <= reset <= 13 * SECOND
    counted = group(world, "g")
    assert (
        counted["by_cause"]["progress_unpersisted"] > 0
        and counted["by_cause"]["progress_unreported"] > 0
        and counted["lost"] == counted["waiting"] == 0
    )


def test_after_a_takeover_the_first_reconnected_session_is_granted_every_stream():
    """The share of the only borrower that the new leader has registered is all.

    A round revokes the surplus as soon as others connect.
    """
    sessions = f"{one('a')}, {one('b')}, {one('c')}"
    world = run(
        with_commands(body(sessions, settings="n_shards: 12"), "at: 6500ms, do: leader.stop, group: g"),
        until="30s",
    )
    back = [row for row in rows(world, "borrower.joined") if row["at_us"] > 6500 * MS]
    offers = list(rows(world, "assignment.changed", reason="granting", ledger=2))
    assert [row["client"] for row in offers[:12]] == [back[0]["client"]] * 12 and offers[11]["at_us"] == back[
        0
    ]["at_us"]
    shares = [
        sum(row["reason"] == "granted" for row in rows(world, "assignment.changed", ledger=2, client=name))
        for name in ("a", "b", "c")
    ]
    assert sorted(shares) == [4, 4, 12] and group(world, "g")["lost"] == 0


def test_a_disconnected_node_reads_beside_the_new_owner_for_one_to_three_seconds():
    world = run(
        with_commands(
            body(f"{one('a')}, {one('b', 'm', ', start: 100ms')}", settings="n_shards: 2"),
            "at: 6s, do: link.cut, link: n <-> m",
        )
    )
    counted = group(world, "g")
    assert counted["two_readers"] == 1 and SECOND <= counted["two_readers_us"] <= 3 * SECOND


def test_a_store_unavailable_for_longer_than_a_claim_is_valid_ends_the_leader():
    """It may not renew a claim that old.

    It ends at the heartbeat that would renew, commits nothing while the store does not answer, and the next
    leader's sessions read again.
    """
    world = run(
        with_commands(
            body(one("a"), "p: {topic: t, start: 1100ms, every: 1s, stop: 60s}"),
            "at: 15s, do: store.fail, for: 40s",
        ),
        until="90s",
    )
    (ended,) = rows(world, "leader.ended")
    assert ended["reason"] == "its claim is too old" and ended["at_us"] == 40 * SECOND
    counted = group(world, "g")
    assert (
        rows(world, "leader.elected")[1]["reason"] == "taken-over"
        and counted["by_cause"]["progress_unpersisted"] > 0
        and counted["lost"] == counted["waiting"] == 0
    )


def test_a_leader_with_an_expired_claim_still_commits_if_no_other_took_it():
    """The commit at its end checks which leader has the claim, not how old it is
    (`emqx_ds_shared_sub_store`: claim equals mine, root as I last committed).
    """
    world = run(
        with_commands(
            body(
                one("a"),
                "p: {topic: t, start: 1100ms, every: 1s, stop: 38s}",
                "n_shards: 1, leader_heartbeat_interval: 10s, leader_claim_ttl: 12s",
            ),
            "at: 9s, do: store.fail, for: 10500ms",
        ),
        until="60s",
    )
    (ended,) = rows(world, "leader.ended")
    assert ended["reason"] == "its claim is too old" and ended["at_us"] == 20 * SECOND
    assert [row["at_us"] for row in rows(world, "leader.committed")][0] == 20 * SECOND
    assert group(world, "g")["by_cause"]["progress_unpersisted"] == 0


def test_two_nodes_that_claim_leadership_at_once_get_one_leader():
    world = run(body(f"{one('a')}, {one('b', 'm')}"))
    assert len(rows(world, "leader.elected")) == 1 and len(rows(world, "leader.followed")) == 1


def test_a_store_that_does_not_answer_delays_an_election():
    world = run(with_commands(body(one("a", more=", start: 1s")), "at: 500ms, do: store.fail, for: 2s"))
    assert rows(world, "leader.elected")[0]["at_us"] == 3 * SECOND


# --- generations


def test_closed_streams_do_not_count_toward_the_targets():
    """Four streams of generation 1 end while one of them is still leased to a slow client: the three of
    generation 2 are assigned to two borrowers as two and one.
    """
    sessions = f"{one('a')}, {one('b', more=', start: 100ms')}"
    world = run(
        with_commands(
            "options: {endOfStream: handled}\n"
            + body(sessions, "p: {topic: t, start: 1100ms, every: 100ms, stop: 18s}", "n_shards: 3"),
            "at: 5050ms, do: storage.close-generation",
            *["at: 5040ms, do: protocol.lose, type: revoke-finished"] * 3,
        )
    )
    world.seek(at_us=6100 * MS)
    (process,) = world.runtime.leaders_of("g")
    assert sorted(process.leader.targets().values()) == [1, 2]


@pytest.mark.parametrize("shipped", [False, True])
def test_the_end_of_a_stream_reported_in_a_disconnect(shipped):
    """The code saves a disconnect's positions as it saves a progress: an end crashes it there too."""
    options = "" if shipped else "options: {endOfStream: handled}\n"
    world = run(
        options
        + with_commands(
            body(one("a"), settings="n_shards: 1"),
            "at: 5040ms, do: protocol.lose, type: update-progress",
            "at: 5050ms, do: storage.close-generation",
            "at: 5060ms, do: session.disconnect, session: a",
        )
    )
    assert len(rows(world, "leader.ended")) == (1 if shipped else 0)


def test_later_generations_are_read_beside_an_unfinished_one():
    """Only order inside one stream is kept: b reads generation 2 while a still holds generation 1."""
    sessions = f"{one('a', more=', paused: true')}, {one('b', more=', start: 4s')}"
    world = run(
        with_commands(body(sessions, settings="n_shards: 1"), "at: 5050ms, do: storage.close-generation")
    )
    assert {row["ledger"] for row in rows(world, "message.delivered", client="a")} == {1} and {
        row["ledger"] for row in rows(world, "message.delivered", client="b")
    } == {2}


def test_a_group_does_not_read_a_generation_that_ended_before_it_started():
    world = run(
        'settings: {n_shards: 2}\nnodes: {n: {}}\ngroups: {g: {filter: "t/#", startTime: '
        "5s}}\npublishers: {p: {topic: t, every: 100ms, stop: 8s}}\n"
        f"sessions: {{a: {{node: n, start: 9s, subscriptions: [{SHARE}]}}}}\ncommands: [{{at: "
        f"3050ms, do: storage.close-generation}}]"
    )
    assert {row["topic"][:4] for row in rows(world, "stream.found")} == {"0/2/", "1/2/"}
    counted = group(world, "g")
    assert counted["published"] == counted["delivered"] == 30


# --- reading: quality of service, chunks, one scheduler


def test_quality_0_may_be_lost_in_a_crash_and_is_counted_apart():
    """The client is busy with 32 messages of quality 1, so 40 of quality 0 wait in the session: reported
    as finished, and lost with it.
    """
    publishers = (
        "heavy: {topic: own/x, at: ["
        + ", ".join(["3s"] * 40)
        + "], clients: 1}, light: {topic: t, qos: 0, at: ["
        + ", ".join(["3100ms"] * 40)
        + "], clients: 1}"
    )
    sessions = (
        f"a: {{node: n, subscriptions: [{SHARE}, own/x], paused: true}}, {one('b', more=', start: 5s')}"
    )
    world = run(
        with_commands(body(sessions, publishers, "n_shards: 1"), "at: 6s, do: session.kill, session: a")
    )
    counted = group(world, "g")
    assert counted["lost_qos0"] == 40 and counted["lost"] == 0 and counted["delivered"] == 0


@pytest.mark.parametrize("publisher, subscriber", [(1, 1), (2, 2), (1, 2), (2, 1)])
def test_messages_of_quality_above_0_are_never_lost(publisher, subscriber):
    publishers = (
        f"heavy: {{topic: own/x, at: [{', '.join(['3s'] * 40)}], clients: 1}}, p: {{topic: t, qos: "
        f"{publisher}, at: [{', '.join(['3100ms'] * 40)}], clients: 1}}"
    )
    sessions = (
        f"a: {{node: n, qos: {subscriber}, subscriptions: [{SHARE}, own/x], paused: true}}, "
        f"{one('b', more=', start: 5s')}"
    )
    world = run(
        with_commands(body(sessions, publishers, "n_shards: 1"), "at: 6s, do: session.kill, session: a")
    )
    counted = group(world, "g")
    assert (
        counted["delivered"] == counted["acknowledged"] == 40 and counted["lost"] == counted["lost_qos0"] == 0
    )


def test_quality_0_never_blocks_a_stream():
    world = run(
        body(one("a", more=", paused: true"), "p: {topic: t, qos: 0, start: 1100ms, every: 100ms, stop: 9s}")
    )
    assert group(world, "g")["delivered"] == 79


def test_messages_waiting_in_a_quality_0_subscribers_session_are_lost_and_counted_apart():
    publishers = f"heavy: {{topic: t, at: [{', '.join(['3s'] * 40)}], clients: 1}}"
    sessions = f"a: {{node: n, qos: 0, subscriptions: [{SHARE}]}}, {one('b', more=', start: 5s')}"
    world = run(
        with_commands(body(sessions, publishers, "n_shards: 1"), "at: 6s, do: session.kill, session: a")
    )
    assert group(world, "g")["lost"] == 0


def test_a_chunk_is_one_batch_at_most():
    world = run(body(one("a", more=", processing: 1ms"), at_once(250), "n_shards: 1"))
    chunks = [(row["entry"], row["to_entry"]) for row in rows(world, "chunk.fetched")]
    assert chunks == [(0, 100), (100, 200), (200, 250)]
    assert [row["entry"] for row in rows(world, "progress.told")] == [100, 200, 250]
    world = run(body(one("a", more=", processing: 1ms"), at_once(250), "n_shards: 1, batch_size: 7"))
    assert max(row["to_entry"] - row["entry"] for row in rows(world, "chunk.fetched")) == 7


def test_at_most_max_inflight_wait_for_an_acknowledgement():
    for settings, most in (("n_shards: 1", 32), ("n_shards: 1, max_inflight: 5", 5)):
        assert len(instants(run(body(one("a", more=", paused: true"), at_once(80), settings)), "a")) == most


@pytest.mark.parametrize("heavy", ["own/x", "t"])
def test_neither_private_nor_borrowed_streams_starve_the_other(heavy):
    """A thousand messages of one kind are stored.

    Ten of the other, published later, are read within a few chunks and not after all.
    """
    light = "t" if heavy == "own/x" else "own/x"
    publishers = (
        f"heavy: {{topic: {heavy}, at: [{', '.join(['3s'] * 1000)}], clients: 1}}, light: {{topic: "
        f"{light}, start: 3100ms, every: 100ms, count: 10, clients: 1}}"
    )
    world = run(
        body(f"a: {{node: n, subscriptions: [{SHARE}, own/x], processing: 5ms}}", publishers, "n_shards: 1")
    )
    came = [row["at_us"] for row in rows(world, "message.delivered", producer="light")]
    last_heavy = max(row["at_us"] for row in rows(world, "message.delivered", producer="heavy"))
    assert len(came) == 10 and came[-1] < last_heavy and came[0] <= 5500 * MS


def test_a_lease_in_one_group_makes_the_session_report_all_its_streams():
    """After any lease or revoke all completely acknowledged positions are reported again, of every
    subscription (`emqx_persistent_session_ds_shared_subs`).
    """
    world = run(
        "settings: {n_shards: 1}\nnodes: {n: {}}\ngroups: {g: {filter: t}, h: {filter: u}}\n"
        "publishers: {p: {topic: t, at: [1100ms]}, q: {topic: u, at: [4500ms]}}\nsessions: {a: "
        "{node: n, subscriptions: [$share/g/t, $share/h/u]}}"
    )
    told = [
        row for row in rows(world, "protocol.sent", reason="update-progress") if row["at_us"] == 5 * SECOND
    ]
    assert {row["subscription"] for row in told} == {"g", "h"}


def test_several_borrowers_of_one_subscription_during_quick_unsubscribe_and_subscribe():
    """The old ones wait for acknowledgements, the new one connects: at most all exist side by side, each
    stream has one owner, and there are no duplicates.
    """
    commands = [
        f"at: {5000 + 50 * turn}ms, do: session.{do}, session: a, topic: {SHARE}"
        for turn in range(4)
        for do in ("unsubscribe", "subscribe")
    ]
    world = run(
        with_commands(
            body(
                one("a", more=", processing: 40ms"),
                "p: {topic: t, start: 1100ms, every: 50ms, stop: 15s}",
                "n_shards: 2",
            ),
            *commands,
        )
    )
    world.seek(at_us=5170 * MS)
    assert len(world.view()["sessions"]["a"]["borrowers"]) >= 2
    world.seek(at_us=20 * SECOND)
    counted = group(world, "g")
    assert counted["duplicates"] == counted["redeliveries"] == counted["lost"] == counted["waiting"] == 0
    assert len({row["count"] for row in rows(world, "borrower.changed", client="a")}) == 5


# --- permitted subscriptions


@pytest.mark.parametrize("share, group_name", [("$queue/t/#", "queue"), ("$share/x/t/#", "x")])
def test_an_undeclared_group_starts_at_its_first_subscription(share, group_name):
    world = run(
        f"settings: {{n_shards: 1}}\nnodes: {{n: {{}}}}\npublishers: {{p: {{topic: t/1, every: 100ms, "
        f"stop: 9s}}, kept: {{topic: u}}}}\nsessions: {{a: {{node: n, start: 3050ms, subscriptions: "
        f'["{share}"]}}}}'
    )
    assert group(world, group_name)["published"] == group(world, group_name)["delivered"] == 59


@pytest.mark.parametrize(
    "wanted, topics",
    [
        ("t/+", ["t/a", "t/b"]),
        ("t/#", ["t", "t/a", "t/b", "t/a/x"]),
        ("+/a", ["t/a"]),
        ("#", ["t", "t/a", "t/b", "t/a/x"]),
        ("t/+/x", ["t/a/x"]),
        ("t", ["t"]),
    ],
)
def test_wildcard_filters_match_topics_as_in_mqtt(wanted, topics):
    names = ["t", "t/a", "t/b", "t/a/x", "$SYS/a"]
    publishers = ", ".join(f"p{number}: {{topic: {name}, at: [1s]}}" for number, name in enumerate(names))
    world = run(
        f'nodes: {{n: {{}}}}\ngroups: {{g: {{filter: "{wanted}"}}}}\npublishers: '
        f'{{{publishers}}}\nsessions: {{a: {{node: n, subscriptions: ["$share/g/{wanted}"]}}}}'
    )
    assert sorted(row["topic"].split("/", 2)[2] for row in rows(world, "message.delivered")) == sorted(topics)


# --- nodes


def test_a_client_whose_node_is_down_retries_at_another_node():
    world = run(
        with_commands(body(one("a", "m", ", start: 3s, reconnect: 1s")), "at: 1s, do: node.crash, node: m")
    )
    assert (
        rows(world, "session.connected", client="a")[0]["at_us"] == 4 * SECOND
        and group(world, "g")["waiting"] == 0
    )


def test_an_in_memory_session_leaves_no_state_behind():
    world = run(
        with_commands(
            (
                "nodes: {n: {}}\npublishers: {p: {topic: t, every: 100ms}}\nsessions: {a: {node: n, durable: "
                "false, subscriptions: [t]}}\n"
            ),
            "at: 5s, do: session.disconnect, session: a",
        )
    )
    assert 4 * SECOND < max(instants(world, "a")) <= 5 * SECOND
    assert rows(world, "message.stored") == [] and world.runtime.storage.direct == {}
