"""Tests of frames.

They fit, they add up to the engine's view, and the page's own code reads them as this file does.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from script.benchmarks import scenarios
from simulator import World, load_scenario_text
from simulator.checks import check
from simulator.protocols.pulsar.checks.messages import OneHop
from tests.visualizer.pages import SCENARIO
from tests.visualizer.reading import FrameReader, changed, rows_of, unpacked
from visualizer.live.frames import (
    FRAME_BYTES,
    JUDGED_EVERY_US,
    MOVING_THINGS,
    SNAPSHOT_ROWS,
    Frame,
    FrameMaker,
    Playing,
    changes,
)
from visualizer.live.packing import packed, table
from visualizer.questions.curve import RiskCurves

PAGE = Path(__file__).resolve().parents[2] / "static" / "js"
PLAYING = Playing(True, 1.0)
AT_REST = Playing(False, 1.0)


def world_of(text: str, at_us: int) -> World:
    world = World.from_scenario(load_scenario_text(text))
    world.run(at_us)
    return world


def maker_of(world: World) -> FrameMaker:
    frames = FrameMaker(world, RiskCurves(world, world.scenario))
    frames.begin_epoch(1)
    return frames


def frames_of(world: World, count: int, every_us: int = 50_000) -> list[Frame]:
    """A snapshot frame and the ordinary ones after it."""
    frames, made = maker_of(world), []
    for _ in range(count):
        made.append(frames.next(PLAYING, False)[0])
        world.run(world.now_us + every_us)
    return made


def test_claims_are_checked_up_to_the_last_half_second_while_playing_and_up_to_now_at_rest(monkeypatch):
    """Which claims a frame shows depends on the instant alone, however the lab came there."""
    monkeypatch.setattr(
        OneHop,
        "read",
        lambda self, stretch, known: [(int(seq), "planted") for seq in stretch.of("message.delivered").seqs],
    )
    monkeypatch.setattr(check, "REPORTED_PER_CLAIM", 10_000)

    def shown(world: World, playing: Playing) -> list[int]:
        return [
            one["at_us"]
            for one in json.loads(maker_of(world).next(playing, False)[0].text)["view"]["violations"]
        ]

    stepped, sought = world_of(SCENARIO, 0), world_of(SCENARIO, 3_000_000)
    for at_us in (400_000, 500_000, 740_000, 1_000_000, 1_300_000):
        stepped.run(at_us)
        sought.seek(at_us=at_us)
        delivered = [
            row["at_us"] for row in stepped.trace.rows(0, stepped.seq) if row["type"] == "message.delivered"
        ]
        judged = [one for one in delivered if one <= at_us // JUDGED_EVERY_US * JUDGED_EVERY_US]
        assert shown(stepped, PLAYING) == shown(sought, PLAYING) == judged
        assert shown(stepped, Playing(False, 1.0)) == shown(sought, Playing(False, 1.0)) == delivered
    assert 0 < len(judged) < len(delivered)


@pytest.mark.parametrize(
    "values",
    [[], [7], [7, 8, 9, 10], [None, None, 3], [3, None, 3, 4], [0, 0, 0, -5, None], [1 << 52, -(1 << 52)]],
)
def test_a_packed_column_is_restored_unchanged(values):
    assert unpacked(packed(values)) == values


def test_random_columns_and_tables_are_restored_unchanged():
    draw = random.Random(1)
    for _ in range(200):
        values = [
            draw.choice([None, 0, 1, draw.randrange(-(10**9), 10**9)]) for _ in range(draw.randrange(40))
        ]
        assert unpacked(packed(values)) == values
        rows = [
            {
                name: value
                for name in "abc"
                if (value := draw.choice([None, 3, draw.randrange(100)])) is not None
            }
            for _ in range(draw.randrange(20))
        ]
        rows = [
            {**row, **({"word": draw.choice(["x", "y", "z"])} if draw.random() < 0.5 else {})} for row in rows
        ]
        assert rows_of(table(rows)) == rows


def test_repeated_values_take_almost_no_space():
    assert packed(range(1000, 2000)) == [1000, [1, 999]]
    assert table([{"from": "a", "number": n} for n in range(3)]) == {
        "count": 3,
        "names": ["a"],
        "texts": ["from"],
        "columns": {"from": [[0, 3]], "number": [0, [1, 2]]},
    }


def _random_view(draw: random.Random, depth: int = 3) -> dict[str, Any]:
    return {
        name: _random_view(draw, depth - 1)
        if depth and draw.random() < 0.6
        else draw.choice([None, 1, 2, [], [[1, 2]], {}, "text"])
        for name in draw.sample("abcdef", draw.randrange(1, 5))
    }


def test_changes_lead_from_any_view_to_any_other_with_names_in_order():
    draw = random.Random(2)
    for _ in range(500):
        before, after = _random_view(draw), _random_view(draw)
        other = changed(before, *changes(before, after))
        assert json.dumps(other) == json.dumps(after)
        assert changes(after, after) == ({}, [])


@pytest.mark.parametrize(("regions", "latency_s", "from_us"), [(3, 2, 8_000_000), (12, 1, 4_000_000)])
def test_five_hundred_messages_in_flight_fit_a_frame_of_a_crowded_lab_with_room_to_spare(
    regions, latency_s, from_us
):
    world = world_of(scenarios.crowded(regions, latency_s), from_us)
    _snapshot, *ordinary = frames_of(world, 12)
    for frame in ordinary:
        read = json.loads(frame.text)
        assert read["flights"]["count"] == MOVING_THINGS
        assert sum(one["count"] for one in rows_of(read["flights_total"])) > MOVING_THINGS
        assert len(frame.text.encode()) <= FRAME_BYTES * 0.7


def _everything_at_once(consumers_each: int = 1) -> str:
    """Sixteen regions, four topics, eight subscriptions with held messages: more than a frame can hold."""
    names = [f"region-{number:02}" for number in range(1, 17)]
    topics = "\n".join(f"  topic-{number}: {{clusters: [{', '.join(names)}]}}" for number in range(4))
    producers = "\n".join(
        f"  web-{number}: {{topic: topic-{number}, cluster: {names[number]}, start: 1ms, rate: 100/s}}"
        for number in range(4)
    )
    subscriptions = "\n".join(
        (
            f"  s-{number}: {{topic: topic-{number // 2}, type: Shared, replicateSubscriptionState: true, "
            f"initialPosition: Earliest}}"
        )
        for number in range(8)
    )
    consumers = "\n".join(
        (
            f"  c-{number}-{other}: {{subscription: s-{number}, cluster: {names[number + other - 16]}, "
            f"processing: 1ms, hold: {{share: 30%, for: 60s}}}}"
        )
        for number in range(8)
        for other in range(consumers_each)
    )
    return f"""
format: 1
name: everything-at-once
title: More than a frame can say
family: replicated-subscriptions
seed: 1
until: 600s
clusters: {{{", ".join(f"{name}: {{}}" for name in names)}}}
links:
  default: {{latency: 1s}}
topics:
{topics}
producers:
{producers}
subscriptions:
{subscriptions}
consumers:
{consumers}
"""


def test_an_oversized_frame_is_thinned_until_it_fits():
    frames = frames_of(world_of(_everything_at_once(), 3_000_000), 3, every_us=200_000)
    for frame in frames[1:]:
        read = json.loads(frame.text)
        assert len(frame.text.encode()) <= FRAME_BYTES
        assert read["sampled"] and 0 < read["flights"]["count"] < MOVING_THINGS
        assert sum(one["count"] for one in rows_of(read["flights_total"])) > MOVING_THINGS


def test_the_largest_frames_fit_because_thinning_has_more_than_three_levels():
    world = world_of(_everything_at_once(consumers_each=16), 1_500_000)
    frames = frames_of(world, 3, every_us=100_000)
    assert all(len(frame.text.encode()) <= FRAME_BYTES for frame in frames[1:])


def test_data_left_out_of_a_thinned_frame_is_sent_when_the_lab_is_at_rest():
    world = world_of(_everything_at_once(), 1_000_000)
    frames, reader = maker_of(world), FrameReader()
    reader.read(json.loads(frames.next(PLAYING, False)[0].text))
    world.run(1_400_000)
    seen = reader.read(json.loads(frames.next(PLAYING, False)[0].text))
    assert frames.behind and seen["view"]["clusters"] != world.view()["clusters"]
    while frames.behind:
        seen = reader.read(json.loads(frames.next(AT_REST, False)[0].text))
    assert seen["view"] == json.loads(json.dumps(world.view())) and not seen["sampled"]


def test_rows_left_out_by_fast_playback_are_sent_to_every_page_when_the_lab_is_at_rest():
    world = World.open("three-regions")
    frames = maker_of(world)
    frames.next(PLAYING, False)
    world.run(8_000_000)
    assert json.loads(frames.next(PLAYING, False)[0].text)["rows_from"] > 0, (
        "more control rows than a frame brings"
    )
    assert frames.behind
    frame, snapshot = frames.next(AT_REST, False)
    assert (
        frame is snapshot
        and frame.snapshot
        and rows_of(json.loads(frame.text)["rows"])
        == world.trace.rows(0, world.seq, control_only=True)[-SNAPSHOT_ROWS:]
    )
    assert not frames.behind and not frames.next(AT_REST, False)[0].snapshot


def test_a_thousand_streams_that_appear_while_playing_fit_their_frames_and_are_all_sent_in_the_end():
    world = World.open("groups-thousand-streams")
    world.run(1_150_000)
    frames, reader = maker_of(world), FrameReader()
    reader.read(json.loads(frames.next(PLAYING, False)[0].text))
    for at_us in (1_300_000, 1_950_000, 2_050_000):
        world.run(at_us)
        text = frames.next(PLAYING, False)[0].text
        assert len(text.encode()) <= FRAME_BYTES
        seen = reader.read(json.loads(text))
    assert frames.behind and len(seen["view"]["streams"]) < 1000
    while frames.behind:
        seen = reader.read(json.loads(frames.next(AT_REST, False)[0].text))
    assert (
        json.dumps(seen["view"]) == json.dumps(world.view())
        and len(seen["view"]["groups"]["meters"]["streams"]) == 1000
    )


def test_frames_and_snapshots_show_the_same_view_to_every_viewer():
    """A viewer that starts from a snapshot half-way sees the same as one that followed from the first
    frame.
    """
    world = world_of(SCENARIO, 500_000)
    frames, early, late = maker_of(world), FrameReader(), None
    for number in range(30):
        frame, snapshot = frames.next(PLAYING, number == 12)
        seen = early.read(json.loads(frame.text))
        if snapshot is not None and number == 12:
            late = FrameReader()
            assert late.read(json.loads(snapshot.text))["view"] == seen["view"]
        elif late is not None:
            assert json.dumps(late.read(json.loads(frame.text))["view"]) == json.dumps(seen["view"])
        assert json.dumps(seen["view"]) == json.dumps(json.loads(json.dumps(world.view())))
        if number == 5:
            assert world.apply({"do": "cluster.crash", "cluster": "b"}).ok
        world.run(world.now_us + 50_000)


READ_BY_THE_PAGE = """
import { readFileSync } from "node:fs";
import { decode } from "PAGE/wire/decode.js";
import { reduce } from "PAGE/model/reduce.js";
import { emptyLab } from "PAGE/model/state.js";
let state = emptyLab();
const seen = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
  const frame = decode(text);
  state = reduce(state, frame);
  seen.push({ view: state.view, flights: state.flights, flights_total: state.flights_total, rows: frame.rows, cells: frame.cells, forecast: frame.forecast, number: state.number });
}
console.log(JSON.stringify(seen));
"""


@pytest.mark.parametrize("text", [SCENARIO, scenarios.crowded(4, 1)], ids=["small", "crowded"])
def test_the_pages_own_code_reads_the_same_view_from_frames(text):
    frames = frames_of(world_of(text, 1_500_000), 15)
    node = shutil.which("node")
    assert node, (
        "Node 18 or newer is needed for the tests of the page's modules. Debian: apt-get install nodejs."
    )
    script = READ_BY_THE_PAGE.replace("PAGE", PAGE.as_uri())
    answer = subprocess.run(
        [node, "--input-type=module", "-e", script],
        input=json.dumps([frame.text for frame in frames]),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    reader = FrameReader()
    for frame, by_the_page in zip(frames, json.loads(answer.stdout), strict=True):
        read = reader.read(json.loads(frame.text))
        assert by_the_page == {name: read[name] for name in by_the_page}
