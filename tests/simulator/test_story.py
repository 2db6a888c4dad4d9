"""The story of a message.

For every cause by name, consistent with its rows, and for every message of every scenario.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator import World, scenario_names
from simulator.protocols.pulsar.stories.steps import groups, is_harm, page, story_of
from simulator.protocols.pulsar.stories.words import CAUSES, KINDS, LOSSES, WHY
from simulator.protocols.pulsar.verdicts.causes import CAUSES as COUNTED
from simulator.protocols.pulsar.verdicts.causes import MIGRATION_CAUSES as OF_MIGRATION
from tests.simulator.test_counting_causes import SECOND_US, acknowledged_at_a, after_crash, incomplete
from tests.simulator.trace_builder import LATENCY_US, TraceBuilder

ROOT = Path(__file__).resolve().parents[2]


def resent_copy() -> TraceBuilder:
    world = acknowledged_at_a()
    world.store([0], "b", "a")
    world.apply("b", "a", world.update("a", 1, 0, {"b": 0}), 0)
    after_crash(world).deliver([0], "b")
    return world


def subscription_missing() -> TraceBuilder:
    world = TraceBuilder()
    world.create("a")
    world.publish([0], "a", to=["b"])
    world.consume([0], "a")
    world.fail_over("a", "b", "planned")
    world.create("b")
    world.deliver([0], "b")
    return world


def not_replicated() -> TraceBuilder:
    world = after_crash(acknowledged_at_a(replicated=False))
    world.deliver([0], "b")
    return world


def cursor_went_back() -> TraceBuilder:
    world = acknowledged_at_a()
    world.apply("b", "a", world.update("a", 1, 0, {"b": 0}), 0)
    world.wait().fail_over("a", "b", "planned")
    world.move("b", -1, "reset")
    world.deliver([0], "b")
    return world


def ack_not_registered() -> TraceBuilder:
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish([0], "a", to=["b"])
    world.deliver([0], "a")
    world.ack([0], "a")
    after_crash(world).deliver([0], "b")
    return world


def not_in_target_yet() -> TraceBuilder:
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish([0], "a")
    world.consume([0], "a")
    world.move("a", 0)
    world.fail_over("a", "b", "planned")
    world.wait().store([0], "b", "a")
    world.deliver([0], "b")
    return world


def ack_hole() -> TraceBuilder:
    world = TraceBuilder()
    world.create("a")
    world.create("b", reason="update")
    world.publish([0, 1], "a", to=["b"])
    world.deliver([0], "a")
    world.consume([1], "a")
    after_crash(world).deliver([1], "b")
    return world


def update_in_flight() -> TraceBuilder:
    world = acknowledged_at_a()
    marker = world.update("a", 1, 0, {"b": 0})
    world.wait().travel("marker.sent", "a", "b", marker)
    after_crash(world).deliver([0], "b")
    return world


def snapshot_evicted() -> TraceBuilder:
    world = acknowledged_at_a()
    world.snapshot("a", 7, 0, {"b": 0})
    world.cached("a", 7, 0)
    world.ours("snapshot.evicted", "a", snapshot=7, reason="cache-rule")
    after_crash(world).deliver([0], "b")
    return world


def snapshot_unused() -> TraceBuilder:
    world = acknowledged_at_a()
    world.snapshot("a", 7, 0, {"b": 0})
    world.cached("a", 7, 0)
    after_crash(world).deliver([0], "b")
    return world


def snapshot_incomplete() -> TraceBuilder:
    world = incomplete().wait(2 * LATENCY_US)
    after_crash(world).deliver([0], "b")
    return world


def after_newest_snapshot() -> TraceBuilder:
    world = acknowledged_at_a(count=3)
    world.snapshot("a", 1, 1, {"b": 1})
    world.cached("a", 1, 1)
    world.apply("b", "a", world.update("a", 1, 1, {"b": 1}), 1)
    after_crash(world).deliver([2], "b")
    return world


MADE = {
    # builder: what its story shows beside the message's own life
    resent_copy: ("earlier_copy", "second_copy"),
    subscription_missing: ("created",),
    not_replicated: ("flag",),
    cursor_went_back: ("covered", "went_back"),
    ack_not_registered: ("end",),
    not_in_target_yet: (),
    ack_hole: ("mark_delete", "hole", "held"),
    update_in_flight: ("update", "position", "whereabouts"),
    snapshot_evicted: ("asked", "snapshot", "covers", "evicted"),
    snapshot_unused: ("asked", "snapshot", "covers", "cache"),
    snapshot_incomplete: ("attempt",),
    after_newest_snapshot: ("asked", "covers", "newest_snapshot"),
}


@pytest.mark.parametrize("build", MADE, ids=lambda build: build.__name__)
def test_every_cause_has_a_story(build):
    world, cause = build(), build.__name__
    failover = world.failover()
    assert [group["cause"] for group in groups(failover) if group["kind"] == "duplicates"] == [cause]
    case, steps = story_of(world.trace, failover, "duplicates", 0)
    kinds = [step.kind for step in steps]
    assert case.cause == cause
    assert kinds[-1] == "again" and kinds.index("why") < kinds.index("failover") + 1
    assert {"published", "delivered", "acknowledged", "why", "failover", *MADE[build]} <= set(kinds)
    check_consistent_with_rows(world.trace, steps)


def test_every_cause_of_counting_has_a_builder():
    # those of acknowledgement-state sync: test_acknowledgement_sync.py
    assert [build.__name__ for build in MADE] == [cause.name for cause in COUNTED]
    assert [cause.name for cause in OF_MIGRATION] == list(CAUSES)


def test_every_why_of_the_counting_page_has_a_sentence():
    table = re.findall(
        r"^\| \d+[ab]? \| `(\w+)` \| .* \| ([\w, -]+) \| [\w, ]+ \|$",
        (ROOT / "docs/counting.md").read_text(),
        re.MULTILINE,
    )
    documented = {(cause, why) for cause, whys in table for why in whys.split(", ")}
    assert len(table) == 14 and documented == {key for key in WHY if key[0] in CAUSES}
    assert {cause for cause, _ in WHY} == {*CAUSES, *LOSSES}


def check_consistent_with_rows(trace, steps) -> None:
    assert [step.seq for step in steps] == sorted(step.seq for step in steps)
    for step in steps:
        row = trace.row(step.seq)
        assert (step.at_us, dict(step.row)) == (row["at_us"], row)
        assert step.words.endswith((".", "!")) and "{" not in step.words and ". " not in step.words, (
            step.words
        )


def test_a_held_message_is_named_as_the_one_that_held_the_mark_delete():
    world = World.open("ack-hole-delayed-message")
    world.run()
    failover = world.counted().failovers[0]
    place = page(failover, "duplicates", "ack_hole", 0, 1)["messages"][0]["place"]
    _, steps = story_of(world.trace, failover, "duplicates", place)
    assert any(step.kind == "hole" and "shop/15" in step.words for step in steps)


@pytest.mark.parametrize("name", scenario_names())
def test_every_group_of_every_scenario_adds_up_and_has_stories(name):
    world = World.open(name)
    world.run()
    for failover in world.counted().failovers:
        totals = dict.fromkeys(KINDS, 0)
        for group in groups(failover):
            totals[group["kind"]] += group["count"]
            listed = [
                page(failover, group["kind"], group["cause"], first, 7)
                for first in range(0, group["count"], 7)
            ]
            places = [message["place"] for part in listed for message in part["messages"]]
            assert len(set(places)) == len(places) == group["count"] == listed[0]["total"]
            assert "{" not in group["heading"] + group["says"]
            for place in {places[0], places[-1]}:
                case, steps = story_of(world.trace, failover, group["kind"], place)
                assert case.cause == group["cause"] and any(step.kind == "why" for step in steps)
                check_consistent_with_rows(world.trace, steps)
        assert totals == {
            "duplicates": failover.duplicates,
            "redeliveries": failover.redeliveries,
            "stranded": failover.stranded,
            "lost": failover.lost,
        }


def test_a_story_ends_where_counting_ended():
    world = World.open("crash-returns-stranded")
    world.run()
    half = next(row["seq"] for row in world.trace.rows(types=["cluster.restarted"]))
    early = World.open("crash-returns-stranded")
    early.run(world.trace.at_us(half))
    failover = early.counted().failovers[0]
    _, steps = story_of(early.trace, failover, "stranded", 0)
    assert not any(step.kind == "returned" for step in steps) and "none has arrived since" in steps[-2].words
    _, later = story_of(world.trace, world.counted().failovers[0], "stranded", 0)
    assert any(step.kind == "returned" for step in later)


def test_only_what_never_arrives_is_harm_among_the_messages_not_replicated():
    """crash-returns-stranded: what was only in the crashed region is on the way once it is back."""
    world = World.open("crash-returns-stranded")
    world.run()
    back = next(row["seq"] for row in world.trace.rows(types=["cluster.restarted"]))
    whole, early = world.counted().failovers[0], World.open("crash-returns-stranded")
    early.run(world.trace.at_us(back) - 1)
    down = early.counted().failovers[0]
    unread = [place for place, one in enumerate(down.stranded_list) if one.unprocessed]
    processed = [place for place, one in enumerate(down.stranded_list) if not one.unprocessed]
    assert unread
    assert all(is_harm(early.trace, down, "stranded", place, len(early.trace)) for place in unread)
    assert not any(is_harm(early.trace, down, "stranded", place, len(early.trace)) for place in processed)
    assert not any(is_harm(world.trace, whole, "stranded", place, len(world.trace)) for place in unread)
    kinds = {
        kind: is_harm(world.trace, whole, kind, 0, len(world.trace))
        for kind in ("duplicates", "redeliveries")
    }
    assert kinds == {"duplicates": True, "redeliveries": False}


def test_an_unknown_kind_is_refused_with_a_reason():
    world = after_newest_snapshot()
    with pytest.raises(ValueError, match="duplicates, redeliveries, stranded, lost"):
        page(world.failover(), "spilt")
    with pytest.raises(IndexError):
        story_of(world.trace, world.failover(), "duplicates", 1)


def test_long_lists_are_paged_without_building_the_whole_list():
    world = World.open("slow-consumer-oldest-first")
    world.run()
    failover = world.counted().failovers[0]
    last = page(failover, "duplicates", "snapshot_evicted", 240, 50)
    assert last["total"] == 250 and len(last["messages"]) == 10
    assert page(failover, "duplicates", "", 0, 1)["total"] == failover.duplicates
    assert last["messages"][0]["at_us"] > SECOND_US
