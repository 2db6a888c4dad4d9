"""Tests of a partitioned link (`link.partition`): TCP holds what was sent.

Source: `PulsarHandler.handleKeepAliveTimeout` (keepAliveIntervalSeconds, 30 s): a connection is closed when a
ping is due and the previous one was not answered. Clusters a and b, 40 ms each way; message 10 leaves a at
1,050 ms, is stored in b at 1,090 ms, and its receipt is back at 1,130 ms.
"""

import pytest

from simulator import load_scenario_text
from simulator.what_if import variants
from tests.simulator.engine_runs import MS, SECOND, at_ms, do, open_world, rows
from tests.simulator.test_broken_process import SILENT, STREAM, stored
from tests.simulator.test_engine_snapshots import body
from tests.simulator.test_random_traffic import PLAIN


def cut(at_ms, link, command="link.partition", settings=SILENT, until="120s", **more):
    world = open_world(body(producers=STREAM, settings=settings, options="", **more), until=until)
    world.run(at_ms * MS)
    do(world, command, link=link)
    return world


def disconnected(world, cluster="a"):
    return at_ms(rows(world, "replicator.disconnected", cluster=cluster))


def test_what_is_held_arrives_in_order_one_latency_after_the_link_is_healed():
    world = cut(1070, "a -> b")
    world.run(2000 * MS)
    assert max(stored(world)) == 9
    do(world, "link.heal", link="a -> b")
    world.run(2500 * MS)
    found = stored(world)
    # 10 was on the wire at the cut, 19 is of 1,950 ms, 20 of 2,050 ms.
    assert [found[number] for number in range(10, 20)] == [[2040]] * 10 and found[20] == [2090]
    assert list(found) == list(range(len(found))) and disconnected(world) == []


def test_a_link_that_heals_before_an_entry_is_due_delays_it_by_the_retransmission():
    # Message 10 was lost on the way at 1,060 ms; TCP sends it again at 1,070 ms, before message 11.
    world = cut(1060, "a -> b")
    world.run(1070 * MS)
    do(world, "link.heal", link="a -> b")
    world.run(1300 * MS)
    assert stored(world)[10] == [1110] and stored(world)[11] == [1190]


def test_with_link_cut_the_connection_breaks_and_everything_is_sent_again():
    world = cut(1070, "a -> b", command="link.cut")
    assert disconnected(world) == [1070]
    world.run(2000 * MS)
    do(world, "link.heal", link="a -> b")
    world.run(9000 * MS)
    assert stored(world)[10][0] > 2040


def test_receipts_are_held_when_the_way_back_is_partitioned():
    world = cut(1100, "b -> a")
    world.run(3000 * MS)
    assert stored(world)[20] == [2090], "entries pass"
    replicator = world.view()["clusters"]["a"]["topics"]["t"]["replicators"]["b"]
    assert replicator["in_flight"] == 20, "messages 10 to 29 have no receipt"
    do(world, "link.heal", link="b -> a")
    world.run(3039 * MS)
    assert world.view()["clusters"]["a"]["topics"]["t"]["replicators"]["b"]["in_flight"] == 20
    world.run(3045 * MS)
    replicator = world.view()["clusters"]["a"]["topics"]["t"]["replicators"]["b"]
    assert replicator["in_flight"] == 0 and disconnected(world) == []


@pytest.mark.parametrize("link", ["a -> b", "b -> a", "a <-> b"])
def test_the_second_ping_after_the_cut_breaks_the_connection(link):
    # Connected at 0; pings at 30 s and 60 s: the one of 30 s has no answer.
    world = cut(1070, link)
    world.run(61 * SECOND)
    assert disconnected(world) == [60_000]
    do(world, "link.heal", link=link)
    world.run(110 * SECOND)
    assert rows(world, "replicator.rewound", cluster="a") and 10 in stored(world)
    assert sorted(stored(world)) == list(range(max(stored(world)) + 1))


def test_a_partition_that_ends_before_the_second_ping_keeps_the_connection():
    world = cut(1070, "a <-> b")
    world.run(59 * SECOND)
    do(world, "link.heal", link="a <-> b")
    world.run(100 * SECOND)
    assert disconnected(world) == [] and all(len(instants) == 1 for instants in stored(world).values())


def test_snapshots_are_requested_in_a_partition_and_their_answers_come_after_it():
    # Connected, so the tick does not refuse (rule 4); with link.cut it would.
    held, reset = (cut(1500, "a <-> b", command, settings="") for command in ("link.partition", "link.cut"))
    for world in (held, reset):
        world.run(4500 * MS)
    requests = [row["at_us"] // MS for row in rows(held, "snapshot.requested", cluster="a")]
    assert [at for at in requests if at > 1500] == [2000, 3000, 4000]
    assert not [row for row in rows(reset, "snapshot.requested", cluster="a") if row["at_us"] > 1500 * MS]
    do(held, "link.heal", link="a <-> b")
    held.run(4800 * MS)
    assert (
        len([row for row in rows(held, "snapshot.completed", cluster="a") if row["at_us"] > 4500 * MS]) == 3
    )


def test_a_full_queue_continues_after_the_held_receipts():
    world = cut(1100, "b -> a", settings=SILENT + ", replicationProducerQueueSize: 10")
    world.run(3000 * MS)
    assert max(stored(world)) == 19, "10 to 19 are without receipt"
    do(world, "link.heal", link="b -> a")
    world.run(4000 * MS)
    assert max(stored(world)) > 35


def test_the_run_without_link_faults_has_no_partition_either():
    commands = (
        "do: link.partition, link: a -> b}\n  - {at: 2s, do: subscription.fail-over, subscription: billing"
    )
    scenario = load_scenario_text(
        PLAIN + f"commands:\n  - {{at: 1s, {commands}, from: a, to: b, mode: crash}}\n"
    )
    [changed] = [one.scenario for one in variants(scenario, []) if one.key == "links-up"]
    assert [command.do for command in changed.commands] == ["subscription.fail-over"]
