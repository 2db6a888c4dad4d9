"""Questions of the diagram of messages between nodes.

The rows of a window, the state before it, repeated messages, counts of a crowded window.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from simulator import World
from simulator.protocols.table import PROTOCOLS
from tests.emqx.group_runs import SECOND, open_world
from visualizer.live.wire import Refused
from visualizer.questions.rows import BINS, LISTED_ROWS, node_messages


def asked(
    world: World, from_us: int, to_us: int, clients: tuple[str, ...] = (), group: str = "meters"
) -> dict[str, Any]:
    work = node_messages(SimpleNamespace(world=world), group, clients, from_us, to_us)
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


@pytest.fixture(scope="module")
def two_readers() -> World:
    world = World.open("groups-two-readers")
    world.run()
    return world


def test_a_window_has_its_groups_rows_and_the_latest_state_before_it(two_readers):
    answer = asked(two_readers, 7 * SECOND, 11 * SECOND)
    assert answer["count"] == len(answer["rows"]) and all(
        7 * SECOND <= row["at_us"] <= 11 * SECOND for row in answer["rows"]
    )
    whole = [
        row
        for row in two_readers.trace.rows(0, len(two_readers.trace))
        if row["type"] == "protocol.sent" and 7 * SECOND <= row["at_us"] <= 11 * SECOND
    ]
    assert [row["seq"] for row in answer["rows"] if row["type"] == "protocol.sent"] == [
        row["seq"] for row in whole
    ]
    leases = [(row["client"], row["topic"][0]) for row in answer["before"] if row["type"] == "lease.changed"]
    assert len(leases) == 4 and {client for client, _shard in leases} == {"ada", "ben"}
    assert [row["type"] for row in answer["before"]].count("borrower.joined") == 2


def test_a_disconnected_borrower_has_no_state_before_the_window(two_readers):
    before = asked(two_readers, 13 * SECOND, 14 * SECOND)["before"]
    assert {row["client"] for row in before if row["type"] == "lease.changed"} == {"ada"}


def test_only_the_requested_sessions_are_returned(two_readers):
    rows = asked(two_readers, 7 * SECOND, 11 * SECOND, ("ben",))["rows"]
    assert {row.get("client") for row in rows} == {"ben", None}


def test_messages_repeated_by_a_timer_are_marked():
    world = open_world(
        """
settings: {n_shards: 1}
nodes: {n1: {}, n2: {}}
links: {default: {latency: 1ms}}
groups: {meters: {filter: "t/#"}}
publishers: {p: {topic: t, start: 300ms, every: 90ms, stop: 4s}}
sessions:
  far: {node: n2, subscriptions: ["$share/meters/t/#"]}
  near: {node: n1, start: 10s, subscriptions: ["$share/meters/t/#"]}
commands:
  - {at: 10ms, do: protocol.lose, type: grant}
""",
        until="6s",
    )
    world.run()
    answer = asked(world, 0, 6 * SECOND)
    grants = [
        row["seq"] for row in answer["rows"] if row["type"] == "protocol.sent" and row["reason"] == "grant"
    ]
    assert len(grants) == 2, "lost once, then said again"
    assert answer["again"] == grants[1:] and "grant" in PROTOCOLS["emqx"].live.messages.resent


def test_a_crowded_window_is_counted_by_session_and_kind_and_adds_up():
    world = World.open("groups-thousand-streams")
    world.run()
    answer = asked(world, 0, 6 * SECOND, ("s000", "s001"))
    assert len(answer["rows"]) == answer["count"] <= LISTED_ROWS
    crowd = asked(world, 0, 6 * SECOND)
    assert crowd["count"] > LISTED_ROWS and "rows" not in crowd
    rows = [
        row
        for row in world.trace.rows(0, len(world.trace), types=("protocol.sent",))
        if row["client"] == "s000"
    ]
    counts = crowd["bins"]["counts"]["s000"]
    assert sum(map(sum, counts.values())) == len(rows) and all(
        len(numbers) == BINS for numbers in counts.values()
    )


def test_an_unknown_group_is_refused_with_a_reason(two_readers):
    with pytest.raises(Refused) as refused:
        asked(two_readers, 0, SECOND, group="nobody")
    assert refused.value.hint
