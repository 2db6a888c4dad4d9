"""The view of a group lab.

Four cursors of each stream, the tables of leader and borrower, and a forecast of what a crash would
redeliver, compared with the actual redelivery.
"""

from __future__ import annotations

import pytest

from simulator import World
from tests.emqx.group_runs import SECOND, open_world, rows

BODY = """
settings: {{n_shards: 3, batch_size: 4}}
nodes: {{n1: {{}}, n2: {{}}}}
links: {{default: {{latency: 30ms}}}}
groups: {{g: {{filter: "t/#"}}}}
publishers: {{p: {{topic: t/x, start: 1s, every: 17ms, stop: 9s}}}}
sessions:
  a: {{node: n1, subscriptions: ["$share/g/t/#"], processing: {processing}}}
  b: {{node: n2, start: 200ms, subscriptions: ["$share/g/t/#"], processing: {processing}}}
  c: {{node: n1, start: 300ms, subscriptions: ["$share/g/t/#"], processing: {processing}}}
"""


def redelivered(world: World, before_us: int) -> set[tuple[str, int]]:
    """Stream and offset of what was delivered up to an instant, and delivered again after it."""
    found = rows(world, "message.delivered", subscription="g")
    early = {(row["topic"], row["entry"]) for row in found if row["at_us"] <= before_us}
    return early & {(row["topic"], row["entry"]) for row in found if row["at_us"] > before_us}


@pytest.mark.parametrize("processing", ["0s", "23ms"])
@pytest.mark.parametrize("at_ms", [4_003, 6_417, 8_888])
def test_the_forecast_of_a_crash_equals_the_actual_redelivery(processing, at_ms):
    world = open_world(BODY.format(processing=processing), until="80s")
    world.run(at_ms * 1000)
    forecast = world.view()["groups"]["g"]["repeats"]
    assert forecast["leader"]["again"] > 0 and sorted(forecast["sessions"]) == ["a", "b", "c"]
    crashes = [({"do": "leader.crash", "group": "g"}, forecast["leader"]["again"])]
    crashes += [
        ({"do": "session.kill", "session": name}, forecast["sessions"][name]["again"]) for name in "abc"
    ]
    for command, again in crashes:
        other = world.fork()
        assert other.apply(command).ok
        other.run(80 * SECOND)
        assert len(redelivered(other, at_ms * 1000)) == again, command


def test_the_cursors_are_ordered_and_a_reader_shows_its_chunk():
    world = open_world(BODY.format(processing="23ms"))
    seen_chunks = 0
    for at_ms in range(1_500, 9_000, 250):
        world.run(at_ms * 1000)
        shown = world.view()
        (leader,) = shown["groups"]["g"]["leaders"].values()
        for name, one in shown["groups"]["g"]["streams"].items():
            believed = leader["streams"][name]
            if believed is None:  # no round has found it yet
                assert one["readers"] == {}
                continue
            for reader in one["readers"].values():
                assert (
                    one["committed"]
                    <= believed["position"]
                    <= reader["acknowledged"]
                    <= reader["delivered"]
                    <= shown["streams"][name]["length"]
                )
                if reader["chunk"] is not None:
                    seen_chunks += 1
                    first, last = reader["chunk"]
                    assert first <= reader["acknowledged"] <= reader["delivered"] <= last <= first + 4
            if believed["state"] == "granted":
                assert list(one["readers"]) == [believed["owner"]]
    assert seen_chunks > 20


def test_two_readers_of_one_stream_are_shown_on_both_sides():
    world = World.open("groups-two-readers")
    world.run(9_900_000)
    shown = world.view()["groups"]["meters"]
    assert all(len(one["readers"]) == 1 for one in shown["streams"].values())
    world.run(11 * SECOND)
    view = world.view()
    shown = view["groups"]["meters"]
    (leader,) = shown["leaders"].values()
    doubled = [name for name, one in shown["streams"].items() if len(one["readers"]) == 2]
    assert len(doubled) == 2 and {leader["streams"][name]["owner"] for name in doubled} == {"ada/0"}
    assert (
        list(leader["borrowers"]) == ["ada/0"]
        and view["sessions"]["ben"]["borrowers"]["ben/0"]["state"] == "connected"
    )
    world.run(12_200_000)  # his ping was not answered: another incarnation of ben looks for a leader
    assert all(len(one["readers"]) == 1 for one in world.view()["groups"]["meters"]["streams"].values())
    assert [(name, one["state"]) for name, one in world.view()["sessions"]["ben"]["borrowers"].items()] == [
        ("ben/1", "connecting")
    ]


def test_a_dead_leaders_claim_is_shown_until_another_leader_has_it():
    world = World.open("groups-leader-crash-late")
    crashed_us = next(command.at_us for command in world.scenario.commands if command.do == "leader.crash")
    world.run(crashed_us + 1)
    shown = world.view()["groups"]["meters"]
    assert (
        shown["leaders"] == {} and shown["claim"]["leader"] == 1 and shown["claim"]["until_us"] > crashed_us
    )
    assert shown["repeats"] == {"leader": None, "sessions": {}}
    world.run(shown["claim"]["until_us"] + 2 * SECOND)
    shown = world.view()["groups"]["meters"]
    assert (
        list(shown["leaders"]) == ["2"]
        and shown["leaders"]["2"]["rounds"]["count"] >= 1
        and shown["leaders"]["2"]["balanced"]
    )
