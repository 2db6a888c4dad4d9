"""Questions of the panel “Layers”.

The latest transitions of the machines of one client and one stream, messages between its layers, and only new
rows.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from simulator import World
from tests.emqx.group_runs import SECOND
from visualizer.questions.rows import LATEST_ROWS, latest

STREAM = "1/1/meters/heat"


@pytest.fixture(scope="module")
def world() -> World:
    made = World.open("groups-two-readers")
    made.run(11 * SECOND)
    return made


def asked(world: World, client: str = "ben", stream: str = STREAM, after: int = 0) -> dict[str, Any]:
    work = latest(SimpleNamespace(world=world), "meters", client, stream, after)
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


def of_type(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in answer["rows"] if row["type"] == name]


def test_the_last_transitions_of_each_machine_agree_with_the_trace(world):
    answer = asked(world)
    whole = world.trace.rows(0, world.seq)
    moves = {
        "borrower.changed": lambda row: row["client"] == "ben",
        "lease.changed": lambda row: row["client"] == "ben" and row["topic"] == STREAM,
        "assignment.changed": lambda row: row["topic"] == STREAM,
        "leader.elected": lambda row: True,
    }
    for name, about in moves.items():
        last = [row["seq"] for row in whole if row["type"] == name and about(row)][-LATEST_ROWS:]
        assert last and last == [row["seq"] for row in of_type(answer, name) if about(row)][-len(last) :], (
            name
        )
    said = {row["reason"]: row for row in whole if row["type"] == "protocol.sent" and row["client"] == "ben"}
    assert {row["reason"]: row for row in of_type(answer, "protocol.sent")} == said and "ping" in said
    assert {row["client"] for row in answer["rows"] if row["type"] == "progress.told"} == {"ben"}


def test_a_repeated_question_returns_only_new_rows_and_an_unknown_client_has_none(world):
    first = asked(world)
    assert first["seq"] == world.seq and asked(world, after=world.seq)["rows"] == []
    middle = first["rows"][len(first["rows"]) // 2]["seq"]
    assert all(row["seq"] >= middle for row in asked(world, after=middle)["rows"])
    assert {row["type"] for row in asked(world, client="nobody", stream="none")["rows"]} == {"leader.elected"}
