"""What the view lists: bounded lists beside their totals."""

from __future__ import annotations

import pytest

from script.benchmarks import scenarios
from simulator import World, load_scenario, load_scenario_text
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.views import view as pulsar


def controller_after(link_s: int, seconds: int) -> dict:
    """The view of A's snapshot controller on a slow link, where snapshots stay pending."""
    text = (
        scenarios.holes(seconds * scenarios.RATE_PER_S)
        .replace("latency: 5s", f"latency: {link_s}s")
        .replace(f"rate: {scenarios.RATE_PER_S}/s", "rate: 20/s")
    )
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


def test_entries_that_the_filter_stage_drops_are_not_marked_as_duplicates():
    world = World.open("strategies-delayed-message")
    world.run(world.scenario.commands[0].at_us - 1)
    target = world.scenario.commands[0].arguments["to"]
    marked = world.view()["forecast"]["billing"]["entries"][target]["orders"]["ranges"]
    before = world.seq
    world.run()
    dropped = {
        (row["ledger"], row["entry"])
        for row in (
            world.trace.row(seq) for seq in world.trace.seqs(before, world.seq, types=("message.filtered",))
        )
        if row["cluster"] == target
    }
    log = world.runtime.clusters[target].topics["orders"].log
    duplicates = {log.position(index) for first, last in marked for index in range(first, last + 1)}
    assert dropped and duplicates and not dropped & duplicates


def test_synced_acks_in_the_view_agree_with_the_rows():
    """At every instant: entries acknowledged, those in the newest request that arrived and its instant,
    and requests in flight.
    """
    world = World.open("strategies-delayed-message")
    for at_us in (900_000, 1_020_000, 2_500_000, 4_900_000):
        world.run(at_us)
        sync = world.view()["clusters"]["blue"]["topics"]["orders"]["subscriptions"]["billing"]["sync"]
        rows = [
            world.trace.row(seq)
            for seq in world.trace.seqs(
                types=("acknowledgements.sent", "acknowledgements.applied", "message.registered")
            )
        ]
        arrived = [
            row for row in rows if row["type"] == "acknowledgements.applied" and row["cluster"] == "green"
        ]
        sent = sum(row["type"] == "acknowledgements.sent" and row["cluster"] == "blue" for row in rows)
        entries = arrived[-1]["to_entry"] + 1 + arrived[-1]["count"] if arrived else 0
        assert sync["peers"] == {
            "green": {
                "entries": entries,
                "at_us": arrived[-1]["at_us"] if arrived else None,
                "on_the_wire": sent - len(arrived),
            }
        }
        assert (
            sync["acknowledged"]
            == sum(row["type"] == "message.registered" and row["cluster"] == "blue" for row in rows)
            > 0
        )
        assert sync["every_us"] == 1_000_000 and 0 < sync["next_us"] - at_us <= 1_000_000


@pytest.mark.parametrize(
    ("scenario", "causes"),
    [
        ("update-in-flight", {"missing", "snapshot", "update"}),
        ("ack-hole-delayed-message", {"missing", "snapshot", "hole"}),
        ("local-subscription-earliest", {"missing", "local"}),
        ("unsafe-partial-snapshot", {"missing", "snapshot"}),
    ],
)
def test_each_entry_that_would_be_a_duplicate_has_one_cause(scenario: str, causes: set[str]):
    world, seen = World.from_scenario(load_scenario(scenario)), set()
    for step in range(61):
        world.run(world.scenario.until_us * step // 60)
        for forecast in world.view()["forecast"].values():
            for cluster, logs in forecast["entries"].items():
                for log in logs.values():
                    named = [
                        [cause for first, last, cause in log["causes"] if first <= index <= last]
                        for pair in log["ranges"]
                        for index in range(pair[0], pair[1] + 1)
                    ]
                    if cluster == forecast["from"]:
                        assert log["causes"] == []
                    else:
                        assert all(len(causes) == 1 for causes in named)
                        seen |= {cause for [cause] in named}
    assert seen == causes


def test_as_many_entries_are_marked_lost_and_missing_as_the_failover_counts():
    world = World.open("unsafe-partial-snapshot")
    world.run(5_200_000)
    view = world.view()
    [over] = view["failovers"]
    lost = view["forecast"]["billing"]["entries"][over["to"]]["orders"]["lost"]
    assert sum(last - first + 1 for first, last in lost) == over["lost"] == 1
    world = World.open("crash-returns-stranded")
    counted = set()
    for step in range(61):
        world.run(world.scenario.until_us * step // 60)
        for over in world.view()["failovers"]:
            if world.view()["clusters"][over["from"]]["state"] == "up":
                continue
            log = world.view()["forecast"]["billing"]["entries"][over["from"]]["orders"]
            missing = sum(last - first + 1 for first, last in log["missing"])
            assert missing == over["stranded"] - over["stranded_returned"]
            counted.add(missing)
    assert counted and max(counted) > 0


def test_entries_before_a_cursor_that_began_late_are_lost_unless_the_source_acked_them():
    """The new cursor begins after entry 195, and entries 0 to 99 were acknowledged in us-west."""
    world = World.open("local-subscription-latest")
    world.run(2_100_000)
    view = world.view()
    subscription = view["clusters"]["us-east"]["topics"]["orders"]["subscriptions"]["billing"]
    entries = view["forecast"]["billing"]["entries"]
    assert subscription["mark_delete_index"] >= 195
    assert entries["us-east"]["orders"]["lost"] == [[100, 195]]
    assert "acked" not in entries["us-east"]["orders"] and "lost" not in entries["us-west"]["orders"]
    assert entries["us-west"]["orders"]["ranges"] == [[196, 199]], "what us-east acked so far"


def test_a_frame_says_from_which_entry_on_its_marks_are_complete(monkeypatch: pytest.MonkeyPatch):
    def marked() -> dict:
        world = World.open("region-down")
        world.run(3_210_000)
        return world.view()["forecast"]["billing"]["entries"]["us-east"]["orders"]

    whole = marked()
    assert len(whole["ranges"]) > 2 and "from" not in whole
    monkeypatch.setattr(forecasting, "MARKED_RANGES_MAX", 2)
    cut = marked()
    assert (cut["ranges"], cut["from"]) == (whole["ranges"][-2:], whole["ranges"][-2][0])
    assert cut["messages"] == whole["messages"]
