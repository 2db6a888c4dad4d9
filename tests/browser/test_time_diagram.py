"""The space-time diagram and the causal cone in a real browser.

A click highlights the cone everywhere, time pans and zooms, a long run is counted.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

LONG = """
format: 1
name: long
title: Eight minutes of markers
family: replicated-subscriptions
seed: 1
until: 8m
clusters: {a: {}, b: {}, c: {}}
links:
  default: {latency: 40ms}
topics:
  orders: {clusters: [a, b, c]}
producers:
  web: {topic: orders, cluster: a, rate: 8/s}
subscriptions:
  billing: {topic: orders, type: Shared, replicateSubscriptionState: true}
consumers:
  billing-1: {subscription: billing, cluster: a, processing: 2ms}
"""


@pytest.fixture
def lab(make_lab):
    opened = make_lab("region-down").open()
    opened.seek(5_300_000)
    yield opened.at_rest()
    assert opened.troubles == []


def pixels(lab, part: str) -> str:
    """What a canvas shows at rest, as a data address."""
    return lab.at_rest().page.evaluate(
        "part => document.querySelector(`[data-part=${part}]`).toDataURL()", part
    )


def test_a_marker_highlights_its_cone_in_lanes_list_and_diagram_and_esc_clears_it(lab):
    before = pixels(lab, "still"), pixels(lab, "spacetime")
    lab.page.locator(".mark-button[aria-label^='snapshot response']").last.focus()
    lab.page.keyboard.press("Enter")
    strip = lab.page.locator("[data-part=lit]")
    expect(strip).to_contain_text("caused by")
    expect(strip).to_contain_text("led to")
    expect(lab.page.locator(".events .lit").nth(2)).to_be_visible()
    lit = pixels(lab, "still"), pixels(lab, "spacetime")
    assert lit[0] != before[0] and lit[1] != before[1]
    lab.page.keyboard.press("Escape")
    expect(lab.page.get_by_role("region", name="Inspector")).to_be_hidden()
    expect(strip).to_be_visible()
    lab.page.keyboard.press("Escape")
    expect(strip).to_be_hidden()
    expect(lab.page.locator(".events .lit")).to_have_count(0)
    assert pixels(lab, "still") == before[0]


def test_a_row_of_the_list_highlights_its_cone(lab):
    line = lab.page.locator(".event").filter(has_text="S5 completed").first
    line.click()
    expect(lab.page.locator("[data-part=lit]")).to_contain_text("S5 completed")
    expect(line).to_have_attribute("aria-expanded", "true")


def test_time_pans_and_zooms_by_key_and_pointer_and_returns_to_now(lab):
    section = lab.page.locator("#panel-time")
    first = pixels(lab, "spacetime")
    lab.page.keyboard.press("[")
    earlier = pixels(lab, "spacetime")
    lab.page.keyboard.press("m")
    closer = pixels(lab, "spacetime")
    box = section.bounding_box()
    lab.page.mouse.move(box["x"] + 500, box["y"] + 90)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + 700, box["y"] + 90, steps=5)
    lab.page.mouse.up()
    dragged = pixels(lab, "spacetime")
    assert len({first, earlier, closer, dragged}) == 4
    lab.page.keyboard.press("9")
    lab.at_rest()
    assert lab.state("state.at_us") == 5_300_000, "panning moves the window and not the lab"
    lab.page.mouse.dblclick(box["x"] + 300, box["y"] + 90)
    lab.until("state.at_us < 5300000")


def test_a_run_of_a_hundred_thousand_rows_is_counted_and_fetched_by_window(make_lab):
    made = make_lab(yaml=LONG).open()
    made.seek(480_000_000)
    assert made.state("state.view.seq") > 100_000
    for _ in range(7):
        made.page.keyboard.press("n")
    note = made.page.locator("[data-part=time-note]")
    expect(note).to_contain_text("drawn as counts")
    now = pixels(made, "spacetime")
    for _ in range(4):
        made.page.keyboard.press("[")
    assert pixels(made, "spacetime") != now
    for _ in range(7):
        made.page.keyboard.press("m")
    expect(note).not_to_contain_text("drawn as counts")
    assert made.troubles == []


NOTE_FRAMES = """() => {
  globalThis.frames = [];
  const proto = CanvasRenderingContext2D.prototype;
  for (const name of ["moveTo", "lineTo", "fillRect", "fillText"]) {
    const plain = proto[name];
    proto[name] = function (...given) {
      if (this.canvas.dataset.part === "spacetime") note(this.mark, name, given);
      return plain.apply(this, given);
    };
  }
  function note(mark, name, given) {
    const at = document.timeline.currentTime; // of the animation frame
    if (frames.at(-1)?.at !== at) {
      const state = globalThis.failoverLab?.getState();
      frames.push({ at, ticks: [], corners: [], diagram: [], now: null, points: state ? [...state.forecast.map(([us]) => us), state.at_us] : [], playing: state?.playing });
    }
    const shown = frames.at(-1);
    if (mark === "axis" && name === "fillText" && / s$/.test(given[0])) shown.ticks.push([parseFloat(given[0]) * 1e6, given[1]]);
    if (mark === "time-curve" && name === "lineTo") shown.corners.push(given[0]);
    if (["time-region", "time-no-leader"].includes(mark) && name === "lineTo") shown.diagram.push(given[0]);
    if (mark === "time-now") shown.now = given[0] + given[2] / 2;
  }
}"""
"""From now on `frames` has, for each animation frame that painted the time panel, what was painted where."""


@pytest.mark.parametrize(
    ("scenario", "from_us", "to_us"),
    [("region-down", 2_000_000, 3_200_000), ("groups-leader-crash-late", 6_000_000, 7_200_000)],
)
def test_axis_diagram_and_curve_have_one_window_in_every_frame_of_playback(
    make_lab, scenario, from_us, to_us
):
    lab = make_lab(scenario)
    lab.page.add_init_script(f"({NOTE_FRAMES})()")
    lab.open("?panel=time").seek(from_us)
    lab.page.evaluate("() => (frames.length = 0)")
    lab.page.keyboard.press("Space")
    lab.until(f"frames.length > 40 && state.at_us > {to_us}")
    lab.page.keyboard.press("Space")
    lab.until("!state.playing")
    seen = [frame for frame in lab.page.evaluate("frames") if frame["playing"]]
    assert len(seen) > 30
    assert len({frame["now"] for frame in seen}) > 15, "the instant moves on"
    for frame in seen:
        (one_us, one_x), *_, (other_us, other_x) = frame["ticks"][
            1:-1
        ]  # the outer ones may be moved into the page
        px_per_us = (other_x - one_x) / (other_us - one_us)
        known = {round(one_x + (at_us - one_us) * px_per_us) for at_us in frame["points"]}
        assert abs(max(frame["corners"]) - frame["now"]) < 1, "the curve ends at the instant"
        assert abs(max(frame["diagram"]) - frame["now"]) < 1, "the diagram ends at the instant"
        starts = [x for x in frame["corners"] if abs(x - frame["now"]) >= 1]
        assert starts, "a frame without the curve"
        assert all({round(x) - 1, round(x), round(x) + 1} & known for x in starts), "the curve is on the axis"
