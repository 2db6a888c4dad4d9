"""Tests of the option `appendTime`: an entry can be read, and is confirmed, when its append is complete.

Source: `OpAddEntry.run` completes an append, then `ManagedLedgerImpl.notifyCursors` notifies the waiting
cursors; `ReplicatedSubscriptionsController.receivedSnapshotRequest` responds with the last confirmed entry.
"""

import pytest

from simulator import World
from tests.simulator.checked import violations_of
from tests.simulator.engine_runs import MS, at_ms, do, open_world, rows, run
from tests.simulator.random_scenarios import random_scenario
from tests.simulator.test_tail_reads import body, dispatched, replicated, snapshots_ms

FOUR_MS = "forcedControllerStart: false, appendTime: 4ms"


@pytest.mark.parametrize("type_", ["Shared", "Exclusive", "Key_Shared"])
@pytest.mark.parametrize(
    ("delay_ms", "published", "wanted"),
    [
        (0, "50,54", [54, 58]),
        (10, "50", [54]),
        (10, "50,54", [54, 64]),  # the first read ends at 54, and the next one waits until 64
        (10, "50,59", [54, 64]),
        (10, "50,61", [54, 65]),
    ],
)
def test_an_entry_is_read_when_its_append_is_complete(type_, delay_ms, published, wanted):
    world = run(body(f"a {published}", delay_ms=delay_ms, type_=type_, options=FOUR_MS), until="1s")
    assert dispatched(world) == replicated(world) == wanted


def test_a_copy_is_delivered_when_its_own_append_is_complete():
    text = body("b 50", delay_ms=0, latency="40ms", options=FOUR_MS)
    assert dispatched(run(text, until="1s")) == [50 + 4 + 40 + 4]


@pytest.mark.parametrize(("delay_ms", "append_ms"), [(0, 0), (0, 4), (0, 9)])
def test_a_snapshot_waits_for_four_appends(delay_ms, append_ms):
    options = f"forcedControllerStart: false, appendTime: {append_ms}ms"
    text = body("a every: 100ms", delay_ms=delay_ms, latency="40ms", options=options, period_ms=1000)
    assert set(snapshots_ms(run(text, until="5s"))) == {80 + 4 * append_ms}


def test_a_response_has_the_last_entry_whose_append_is_complete():
    text = body("a every: 100ms", "b every: 1ms", delay_ms=0, latency="40ms", options=FOUR_MS, period_ms=1000)
    world = run(text, until="4s")
    handled = [
        row for row in rows(world, "marker.handled", cluster="b") if row["reason"] == "snapshot_request"
    ]
    answered = [(row["to_ledger"], row["to_entry"]) for row in rows(world, "snapshot.answered", cluster="a")]
    stored = [
        row
        for event in ("message.stored", "marker.stored", "marker.written")
        for row in rows(world, event, cluster="b")
    ]

    def last(of: dict, complete_ms: int) -> tuple[int, int]:
        at_us = of["at_us"] - complete_ms * MS
        return max((row["ledger"], row["entry"]) for row in stored if row["at_us"] <= at_us)

    assert answered == [last(row, 4) for row in handled] and len(answered) == 4
    assert all(last(row, 4) < last(row, 1) for row in handled)


def test_appends_complete_in_order():
    """An append that takes long holds back the ones after it."""
    drawn = "appendTime: {distribution: uniform, low: 1ms, high: 30ms}"
    options = f"forcedControllerStart: false, {drawn}"
    world = run(body("a every: 5ms", delay_ms=0, type_="Exclusive", options=options), until="4s")
    stored = at_ms(rows(world, "message.stored", cluster="a"))
    read = dispatched(world)
    waits = [end - begin for begin, end in zip(stored, read, strict=False)]
    assert len(waits) > 700 and read == sorted(read)
    assert min(waits) >= 1 and max(waits) <= 30 and len(set(waits)) > 400
    ends = [begin + 30 for begin in stored]  # no later than the longest draw
    assert all(end <= limit for end, limit in zip(read, ends, strict=False))
    together = sum(one == other for one, other in zip(read, read[1:], strict=False))
    assert 200 < together < 700  # with 5 ms between messages, most wait for an earlier one


def test_an_append_time_belongs_to_the_entry():
    """Who reads the log changes nothing about when its entries can be read."""
    drawn = "forcedControllerStart: false, appendTime: {distribution: lognormal, median: 5ms, sigma: 0.8}"
    texts = [
        body("a every: 100ms", delay_ms=0, type_=type_, options=drawn) for type_ in ("Shared", "Exclusive")
    ]
    one, other = (replicated(run(text, until="2s")) for text in texts)
    assert one == other
    assert replicated(run(texts[0], until="2s", seed=2)) != one


def test_an_unload_completes_the_appends_under_way():
    world = open_world(body("a 50,51,52", delay_ms=0, options=FOUR_MS), until="1s")
    world.run(until_us=53 * MS)
    do(world, "topic.unload", cluster="a", topic="t")
    world.run()
    assert sorted(at_ms(rows(world, "message.replicated", cluster="a"))) == [53.0] * 3
    assert len(rows(world, "message.delivered", cluster="a")) == 3


LONG_TAIL = "{distribution: lognormal, median: 5ms, sigma: 1.0}"


@pytest.mark.parametrize("seed", range(8))
def test_random_scenarios_with_an_append_time(seed):
    """No claim breaks, and one digest however the run is cut, sought and forked."""
    time = "4ms" if seed % 2 else LONG_TAIL
    text = random_scenario(seed).replace("options:\n", f"options:\n  appendTime: {time}\n", 1)
    world = World.open(text)
    world.run()
    digest = world.digest()
    assert violations_of(world, 83) == []
    cut = World.open(text)
    for at_us in (1_003_300, 2_718_281, 5_000_000, 7_654_321):
        cut.run(at_us)
        cut.view()
    for at_us in (2_718_281, 9_000_001, 1_003_300):
        cut.seek(at_us=at_us)
        fork = cut.fork()
        fork.run()
        assert fork.digest() == digest
    cut.run()
    assert cut.digest() == digest
