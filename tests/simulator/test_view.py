"""What the view lists: bounded lists beside their totals."""

from __future__ import annotations

import pytest

from script.benchmarks import scenarios
from simulator import World, load_scenario_text
from simulator.views import pulsar


def controller_after(link_s: int, seconds: int) -> dict:
    """The view of A's snapshot controller on a slow link, where snapshots stay pending."""
    text = scenarios.holes(seconds * scenarios.RATE_PER_S).replace("latency: 5s", f"latency: {link_s}s").replace(f"rate: {scenarios.RATE_PER_S}/s", "rate: 20/s")
    world = World.from_scenario(load_scenario_text(text))
    world.run(seconds * 1_000_000)
    return world.view()["clusters"]["a"]["topics"]["orders"]["controller"]


def test_every_pending_snapshot_is_listed():
    shown = controller_after(5, 30)
    assert len(shown["pending"]) == shown["pending_total"] >= 10


def test_beyond_its_bound_the_newest_are_listed_and_the_total_stays(monkeypatch: pytest.MonkeyPatch):
    whole = controller_after(5, 30)
    monkeypatch.setattr(pulsar, "PENDING_MAX", 4)
    shown = controller_after(5, 30)
    assert shown["pending"] == whole["pending"][-4:] and shown["pending_total"] == whole["pending_total"]


def test_what_other_clusters_said_is_what_the_filter_stage_will_not_send():
    """The ranges that the page takes out of "comes twice" are those that the engine then filters."""
    world = World.open("strategies-delayed-message")
    world.run(world.scenario.commands[0].at_us - 1)
    target = world.scenario.commands[0].arguments["to"]
    shown = world.view()["clusters"][target]["topics"]["orders"]["subscriptions"]["billing"]
    said = [index for first, last in shown["said"] for index in range(first, last + 1)]
    assert said and min(said) > shown["mark_delete_index"]
    before = world.seq
    world.run()
    log = {(row["ledger"], row["entry"]) for row in (world.trace.row(seq) for seq in world.trace.seqs(before, world.seq, types=("message.filtered",))) if row["cluster"] == target}
    positions = {world.runtime.clusters[target].topics["orders"].log.position(index) for index in said}
    assert positions <= log
