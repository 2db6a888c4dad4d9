"""Tests of what still arrives when a broker process dies (`cluster.crash` with `fault: process`).

Source: kernel and network deliver what a dead process had written to its sockets; what is sent to it is lost
(`AbstractReplicator`, `ServerCnx.channelInactive`). Clusters a and b, 40 ms each way; the message of 1,050 ms
leaves a then, is stored in b at 1,090 ms, and its receipt is back at 1,130 ms.
"""

import pytest

from tests.simulator.engine_runs import MS, at_ms, do, open_world, rows
from tests.simulator.test_engine_snapshots import body

STREAM = "p: {topic: t, cluster: a, start: 50ms, every: 100ms}"
SILENT = "enableReplicatedSubscriptions: false"
CRASHES = ["host", "process"]


def crashed(cluster, at_ms, fault, settings=SILENT, producers=STREAM, **more):
    """A run in which a cluster crashes at an instant; its clients stay alive."""
    world = open_world(body(producers=producers, settings=settings, options="", **more), until="20s")
    world.run(at_ms * MS)
    do(world, "cluster.crash", cluster=cluster, fault=fault, clients=False)
    return world


def stored(world, cluster="b", source="a"):
    """Instants (ms) at which messages of `source` were stored, by sequence id."""
    result = {}
    for row in rows(world, "message.stored", cluster=cluster, peer=source):
        result.setdefault(row["sequence_id"], []).append(row["at_us"] / MS)
    return result


@pytest.mark.parametrize("fault, last", [("host", 9), ("process", 10)])
def test_what_a_dead_process_had_sent_arrives_and_what_a_dead_host_had_sent_does_not(fault, last):
    world = crashed("a", 1070, fault)
    world.run(3000 * MS)
    found = stored(world)
    assert max(found) == last
    if fault == "process":
        assert found[10] == [1090]


@pytest.mark.parametrize("fault", CRASHES)
def test_nobody_receives_the_receipts_of_a_dead_process(fault):
    # Message 10 reaches b at 1,090 ms, when a is dead: after its restart a sends it, to b for the second time.
    world = crashed("a", 1070, fault)
    world.run(1500 * MS)
    do(world, "cluster.restart", cluster="a")
    world.run(4000 * MS)
    assert len(stored(world)[10]) == (2 if fault == "process" else 1)


def test_deduplication_drops_the_copies_that_are_sent_again():
    world = crashed("a", 1070, "process", settings=SILENT + ", brokerDeduplicationEnabled: true")
    world.run(1500 * MS)
    do(world, "cluster.restart", cluster="a")
    world.run(4000 * MS)
    assert all(len(instants) == 1 for instants in stored(world).values())
    assert 10 in {row["sequence_id"] for row in rows(world, "message.deduplicated", cluster="b")}


@pytest.mark.parametrize("fault, copies", [("host", 2), ("process", 1)])
def test_receipts_that_a_dead_process_had_sent_move_the_senders_cursor(fault, copies):
    # b dies at 1,100 ms, after it stored message 10 and before its receipt reached a.
    world = crashed("b", 1100, fault)
    world.run(1500 * MS)
    do(world, "cluster.restart", cluster="b")
    world.run(4000 * MS)
    assert len(stored(world)[10]) == copies
    assert len(stored(world)[11]) == 1, "published at 1,150 ms, to a dead process"


@pytest.mark.parametrize("fault, noticed", [("host", 1100), ("process", 1140)])
def test_the_sender_notices_the_end_of_a_connection_after_its_last_receipt(fault, noticed):
    world = crashed("b", 1100, fault)
    world.run(3000 * MS)
    assert at_ms(rows(world, "replicator.disconnected", cluster="a")) == [noticed]


def test_the_end_of_a_connection_does_not_overtake_a_slow_receipt():
    # The receipt of message 10 leaves b at 1,090 ms on a slow link, which works again before b dies.
    world = open_world(body(producers=STREAM, settings=SILENT, options=""), until="20s")
    world.run(1080 * MS)
    do(world, "link.slow", link="b -> a", latency="1s")
    world.run(1095 * MS)
    do(world, "link.heal", link="b -> a")
    world.run(1100 * MS)
    do(world, "cluster.crash", cluster="b", fault="process", clients=False)
    world.run(3000 * MS)
    assert at_ms(rows(world, "replicator.disconnected", cluster="a")) == [2090]


def test_what_is_sent_to_a_dead_process_is_lost_and_sent_again():
    # Message 10 is on the wire when b dies; b restarts before it would arrive, on a closed connection.
    world = crashed("b", 1060, "process")
    world.run(1070 * MS)
    do(world, "cluster.restart", cluster="b")
    world.run(1099 * MS)
    assert 10 not in stored(world)
    world.run(4000 * MS)
    assert len(stored(world)[10]) == 1 and stored(world)[10][0] > 1100


def test_markers_of_a_dead_process_are_handled_and_those_of_a_dead_host_are_lost():
    for fault in CRASHES:
        world = crashed("a", 1020, fault, settings="")
        world.run(3000 * MS)
        request = rows(world, "marker.written", cluster="a", reason="snapshot_request")[0]["marker"]
        handled = [row["marker"] for row in rows(world, "marker.handled", cluster="b")]
        lost = [row["marker"] for row in rows(world, "marker.lost", cluster="a")]
        assert (request in handled) == (fault == "process") and (request in lost) == (fault == "host")


def test_a_cut_link_and_a_crash_of_the_target_lose_what_a_dead_process_had_sent():
    for name, arguments in (("link.cut", {"link": "a -> b"}), ("cluster.crash", {"cluster": "b"})):
        world = crashed("a", 1070, "process")
        do(world, name, **arguments)
        world.run(3000 * MS)
        assert max(stored(world)) == 9


def test_a_restarted_broker_connects_when_the_entries_of_its_dead_process_have_arrived():
    world = open_world(body(producers=STREAM, settings=SILENT, options=""), until="20s")
    world.run(1000 * MS)
    do(world, "link.slow", link="a -> b", latency="2s")
    world.run(1070 * MS)
    do(world, "cluster.crash", cluster="a", fault="process", clients=False)
    do(world, "cluster.restart", cluster="a")
    replicator = world.view()["clusters"]["a"]["topics"]["t"]["replicators"]["b"]
    assert replicator["state"] == "disconnected"
    world.run(12_000 * MS)
    assert stored(world)[10][0] == 3050
    started = [at for at in at_ms(rows(world, "replicator.started", cluster="a")) if at > 1070]
    assert started[0] > 3050


def test_a_request_of_acknowledgement_sync_that_a_dead_process_had_sent_is_applied():
    for fault in CRASHES:
        world = crashed(
            "a",
            1020,
            fault,
            settings="",
            subscription="type: Shared, acknowledgementSync: periodic, ackSyncPeriod: 500ms",
        )
        world.run(1500 * MS)
        sent = [row["seq"] for row in rows(world, "acknowledgements.sent", cluster="a")]
        applied = [row["cause_seq"] for row in rows(world, "acknowledgements.applied", cluster="b")]
        assert (sent[-1] in applied) == (fault == "process")


def test_without_the_argument_the_hosts_fail_and_the_log_is_as_before():
    # Saved labs and their digests have no `fault`.
    world = open_world(body(producers=STREAM, settings=SILENT, options=""), until="20s")
    world.run(1070 * MS)
    do(world, "cluster.crash", cluster="a", clients=False)
    world.run(3000 * MS)
    assert max(stored(world)) == 9
    assert rows(world, "command.applied")[0]["detail"] == '{"clients": false, "cluster": "a"}'
