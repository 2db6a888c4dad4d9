"""Two runs: their first differing row and the events that only one of them has, compared with a plain recount."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simulator.comparison as module
from simulator import World, load_scenario_text
from simulator.comparison import differences, first_difference

SCENARIO = "two-regions"
CUT = {"do": "link.cut", "link": "us-east -> us-west"}
HEAL = {"do": "link.heal", "link": "us-east -> us-west"}
NOTHING = {"first": None, "events": [], "more": False, "entries": {"left": {}, "right": {}}}


def run(*commands: tuple[int, dict], until_us: int = 5_000_000, seed: int | None = None) -> World:
    world = World.open(SCENARIO, seed=seed)
    for at_us, command in commands:
        world.run(at_us)
        assert world.apply(command).ok
    world.run(until_us)
    return world


def recounted(left: World, right: World) -> int | None:
    rows = [[{**row} for row in world.trace.rows(0, len(world.trace))] for world in (left, right)]
    for seq, (one, other) in enumerate(zip(*rows, strict=False)):
        if one != other:
            return seq
    return None if len(rows[0]) == len(rows[1]) else min(map(len, rows))


def test_equal_runs_do_not_differ():
    left, right = run((2_000_000, CUT)), run((2_000_000, CUT))
    assert differences(left.trace, right.trace) == NOTHING


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 4_000_000), st.integers(0, 4_000_000))
def test_the_first_difference_is_that_of_a_plain_recount(one_us, other_us):
    left, right = run((one_us, CUT)), run((other_us, CUT))
    assert first_difference(left.trace, right.trace) == recounted(left, right)


def test_a_command_is_the_first_difference_and_its_consequences_are_listed():
    left, right = run(), run((2_000_000, CUT), (3_000_000, HEAL))
    found = differences(left.trace, right.trace)
    assert found["first"]["at_us"] == 2_000_000
    assert found["first"]["right"]["type"] == "command.applied"
    only_right = {event["row"]["type"] for event in found["events"] if event["side"] == "right"}
    assert {"command.applied", "link.cut", "link.healed"} <= only_right
    only_left = [event["row"] for event in found["events"] if event["side"] == "left"]
    assert only_left and all(row["at_us"] >= 2_000_000 for row in only_left)
    assert found["events"] == sorted(found["events"], key=lambda event: event["at_us"])


def test_a_run_that_ends_earlier_differs_where_it_ends():
    left, right = run(until_us=3_000_000), run(until_us=4_000_000)
    found = differences(left.trace, right.trace)
    assert found["first"]["seq"] == len(left.trace) and found["first"]["left"] is None
    assert {event["side"] for event in found["events"]} == {"right"}


def test_an_event_that_both_runs_have_at_the_same_instant_is_not_listed():
    """A difference shifts the seqs of later rows; events are matched without them."""
    left, right = run(), run((4_500_000, CUT))
    found = differences(left.trace, right.trace)
    ticks = [event for event in found["events"] if event["at_us"] < 4_500_000]
    assert ticks == []


@pytest.mark.parametrize("name, most", [("LISTED_MAX", 3), ("SEARCHED_MAX", 4)])
def test_long_lists_are_cut_off_and_say_so(monkeypatch, name, most):
    monkeypatch.setattr(module, name, most)
    found = differences(run().trace, run((1_500_000, CUT)).trace)
    assert found["more"] and len(found["events"]) <= 2 * most


def messages_of(world: World, from_seq: int) -> dict[tuple, tuple]:
    """The messages stored from a row on, by log, and the entry of each."""
    rows = [row for row in world.trace.rows(from_seq, len(world.trace)) if row["type"] == "message.stored"]
    return {
        (row["cluster"], row["topic"], row["producer"], row["sequence_id"]): (
            f"{row['cluster']}/{row['topic']}",
            row["ledger"],
            row["entry"],
        )
        for row in rows
    }


def unfolded(ranges: dict[str, list[list[int]]]) -> set[tuple]:
    return {
        (log, ledger, entry)
        for log, found in ranges.items()
        for ledger, first, last in found
        for entry in range(first, last + 1)
    }


def test_entries_are_marked_that_have_an_event_or_a_message_of_one_run_only():
    left, right = run(), run((2_000_000, CUT), until_us=4_500_000)
    found = differences(left.trace, right.trace)
    assert not found["more"]
    stored = {
        "left": messages_of(left, found["first"]["seq"]),
        "right": messages_of(right, found["first"]["seq"]),
    }
    for side, other in (("left", "right"), ("right", "left")):
        alone = {entry for message, entry in stored[side].items() if message not in stored[other]}
        events = {
            (f"{row['cluster']}/{row['topic']}", row["ledger"], row["entry"])
            for event in found["events"]
            if event["side"] == side and {"marker", "ledger"} <= (row := event["row"]).keys()
        }
        assert events and unfolded(found["entries"][side]) == alone | events
    assert len(messages_of(left, 0)) > len(messages_of(right, 0)), "the cut link has kept messages back"


def test_ranges_of_marked_entries_are_limited(monkeypatch):
    monkeypatch.setattr(module, "RANGES_MAX", 2)
    found = differences(run().trace, run((1_500_000, CUT)).trace)
    assert [sum(map(len, side.values())) for side in found["entries"].values()] == [2, 2]


def test_runs_of_two_scenarios_differ_where_a_number_stands_for_another_name():
    """Numbers of names are compared only as far as they stand for the same names in both traces."""
    text = """
format: 1
name: one
title: One
family: replicated-subscriptions
until: 1s
clusters: {a: {}, NAME: {}}
links: {default: {latency: 20ms}}
topics: {orders: {clusters: [a, NAME]}}
producers: {web: {topic: orders, cluster: a, start: 50ms, every: 100ms}}
"""
    worlds = []
    for name in ("b", "c"):
        worlds.append(World.from_scenario(load_scenario_text(text.replace("NAME", name))))
        worlds[-1].run()
    left, right = worlds
    assert first_difference(left.trace, right.trace) == recounted(left, right)
    found = differences(left.trace, right.trace)
    assert "b/orders" in found["entries"]["left"] and "c/orders" in found["entries"]["right"]
