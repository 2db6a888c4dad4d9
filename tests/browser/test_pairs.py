"""Two branches on one clock, driven in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from script.support.browsing import wait_until, wait_until_at_rest

TEXTS_DRAWN = """
const fill = CanvasRenderingContext2D.prototype.fillText, reset = CanvasRenderingContext2D.prototype.reset;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  (this.canvas.drawnTexts ??= []).push({ text, x: rest[0], y: rest[1] });
  return fill.call(this, text, ...rest);
};
CanvasRenderingContext2D.prototype.reset = function () {
  this.canvas.drawnTexts = [];
  return reset.call(this);
};
"""
"""Keeps with each canvas the texts that are drawn on it."""
SHOWN = """() => [...document.querySelectorAll("iframe")].map(({ contentDocument: page, contentWindow }) => {
  const state = contentWindow.failoverLab.getState(), watched = contentWindow.failoverLab.getWatched();
  const words = (part) => page.querySelector(`[data-part=${part}]`)?.textContent ?? "";
  const lanes = [...page.querySelectorAll(".lane-heading")].map((box) => ({
    name: box.querySelector(".name").textContent, x: parseFloat(box.style.left), y: parseFloat(box.style.top) }));
  const along = lanes.every(({ y }) => y === 0) ? "x" : "y"; // in a narrow frame the lanes are columns
  const begin = lanes.find(({ name }) => name === watched.target)[along];
  const end = Math.min(...lanes.map((lane) => lane[along]).filter((one) => one > begin), Infinity);
  const drawn = page.querySelector("canvas[data-part=still]").drawnTexts ?? [];
  return {
    forecast: state.view.forecast[watched.subscription].to[watched.target].duplicates,
    sentence: words("sentence"),
    figures: page.querySelector("[data-part=risk] tbody tr td.on")?.textContent ?? "",
    labels: drawn.filter((one) => one[along] >= begin && one[along] < end).map(({ text }) => text),
  };
})"""

HALVED = "period-halved"
"""The change of "what would have helped" that halves the time between snapshots."""

NOTE_AXIS = """() => {
  globalThis.axis = "";
  let ticks = null;
  const plain = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...more) {
    if (this.canvas.dataset.part === "spacetime" && this.mark === "axis" && / s$/.test(text)) {
      ticks ??= (queueMicrotask(() => ((axis = JSON.stringify(ticks)), (ticks = null))), []);
      ticks.push([text, Math.round(x)]);
    }
    return plain.call(this, text, x, ...more);
  };
}"""
"""From now on `axis` has the instants on the time axis and where they are, as text."""


def test_two_branches_play_on_one_clock(open_lab):
    lab = open_lab("two-regions")
    lab.seek(6_000_000)
    lab.seek(3_000_000)
    lab.page.evaluate("() => failoverLab.link.command({ do: 'link.cut', link: 'us-east -> us-west' })")
    lab.until("state.branches.length === 2 && state.view.branch === 1")
    lab.page.evaluate("() => document.querySelector('[data-act=branches]').click()")
    lab.page.get_by_role("link", name="Compare with the shown branch").click()
    page = lab.page
    expect(page.get_by_role("heading", level=1)).to_have_text("Both runs are the same until 3.000 s.")
    expect(page.locator("[data-part=clock]")).to_have_text("3.000 s")
    only_right = page.get_by_role("button", name="only the second").first
    expect(only_right).to_contain_text("cut a link: us-east → us-west")
    frames = (
        "[...document.querySelectorAll('iframe')].map((frame) => frame.contentWindow.failoverLab.getState())"
    )
    page.get_by_role("button", name="Next difference").click()
    page.locator("[data-part=differences] button").last.click()
    wait_until(page, f"() => {{ const [a, b] = {frames}; return a.at_us === b.at_us && a.at_us > 3e6; }}")
    states = page.evaluate(f"() => {frames}.map((state) => state.view.links['us-east -> us-west'].state)")
    assert states == ["up", "cut"], "the later branch is the second"
    expect(page.locator("[data-part=only]")).to_be_visible()
    legends = page.evaluate(
        "() => [...document.querySelectorAll('iframe')].map((frame) => {"
        " const item = frame.contentDocument.querySelector('[data-marks=only-here]');"
        " item.click(); return item.textContent; })"
    )
    assert legends == ["only in this run"] * 2
    for number in range(2):
        none = f"document.querySelectorAll('iframe')[{number}].contentDocument.querySelector('[data-part=legend-none]')"
        wait_until(page, f"() => {none} && {none}.textContent === ''")


@pytest.mark.parametrize(
    ("scenario", "fork_us", "command", "instants"),
    [
        (
            "two-regions",
            2_000_000,
            "{ do: 'link.cut', link: 'us-east -> us-west' }",
            (
                0,
                1_900_000,
                1_950_000,
                1_980_000,
                1_990_000,
                2_000_000,
                2_010_000,
                2_050_000,
                2_100_000,
                6_000_000,
            ),
        ),
        (
            "three-regions",
            1_500_000,
            "{ do: 'link.slow', link: 'us-west -> eu-central', latency: '200 ms' }",
            (1_290_000, 1_548_387, 2_322_580, 3_096_774, 5_000_000),
        ),
        (
            "producers-everywhere",
            3_000_000,
            "{ do: 'link.cut', link: 'us-east -> us-west' }",
            (1_548_387, 3_483_870, 3_870_967, 4_258_064, 6_193_548),
        ),
    ],
)
def test_headline_lanes_and_figures_of_both_branches_have_one_number(
    make_lab, scenario, fork_us, command, instants
):
    lab = make_lab(scenario)
    lab.page.context.add_init_script(TEXTS_DRAWN)
    lab.open()
    lab.seek(max(instants))
    lab.seek(fork_us)
    lab.page.evaluate(f"() => failoverLab.link.command({command})")
    lab.until("state.branches.length === 2 && state.view.branch === 1")
    page = lab.page
    page.goto(f"{lab.site.address}{lab.made['url']}beside/?left=branch-0&right=branch-1")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Both runs are the same until")
    labelled = 0
    for at_us in instants:
        page.evaluate(
            "at_us => { for (const frame of document.querySelectorAll('iframe'))"
            " frame.contentWindow.failoverLab.link.seek(at_us); }",
            at_us,
        )
        wait_until(
            page,
            f"() => [...document.querySelectorAll('iframe')].every(({{ contentWindow }}) => "
            f"contentWindow.failoverLab.getState().at_us === {at_us})",
        )
        wait_until_at_rest(page)
        for frame in page.frames[1:]:
            wait_until_at_rest(frame)
        for shown in page.evaluate(SHOWN):
            number = shown["forecast"]
            words = "no duplicates" if number == 0 else f"{number} duplicate{'' if number == 1 else 's'}"
            assert f"would deliver {words}." in shown["sentence"], (at_us, shown)
            assert int(shown["figures"]) == number, (at_us, shown)
            for label in shown["labels"]:
                found = re.match(r"(\d+)(?: of (\d+))? duplicates?$", label)
                if found:
                    assert int(found[2] or found[1]) == number, (at_us, shown)
                    labelled += 1
    assert labelled > len(instants) // 2


def test_two_runs_stand_one_above_the_other_on_one_axis_where_a_figure_differs(open_lab):
    lab = open_lab("periodic-snapshots")
    lab.seek(9_000_000)
    page = lab.page
    page.context.add_init_script(f"({NOTE_AXIS})()")
    page.goto(f"{lab.site.address}{lab.made['url']}beside/?left=branch-0&right=variant-{HALVED}")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("The first figure that differs, at ")
    at_us = 1e6 * float(re.search(r"differs, at ([\d.]+) s", heading.text_content())[1])
    labs = "[...document.querySelectorAll('iframe')].map((frame) => frame.contentWindow.failoverLab)"
    wait_until(page, f"() => {labs}.every((lab) => lab.getState().at_us >= {at_us})")
    wait_until(
        page, f"() => {{ const [a, b] = {labs}; return a.timeAxis()?.span_us !== b.timeAxis()?.span_us; }}"
    )
    axes = "[...document.querySelectorAll('iframe')].map((frame) => frame.contentWindow.axis)"
    wait_until(page, f"() => {{ const [a, b] = {axes}; return a.length > 20 && a === b; }}")
    first, second = (box.bounding_box() for box in page.locator("iframe").all())
    assert first["x"] == second["x"] and first["width"] == second["width"]
    assert second["y"] >= first["y"] + first["height"]


def test_a_kept_set_up_is_opened_beside_a_changed_one(open_page):
    page = open_page("/my-set-up/", "() => !document.querySelector('[data-act=keep]').hidden")
    compare = page.get_by_role("button", name="Compare with the kept one")
    expect(compare).to_be_disabled()
    page.get_by_role("button", name="Keep to compare").click()
    page.evaluate("() => { location.search = '?period=200'; }")
    expect(compare).to_be_enabled()
    compare.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Both runs are the same until")
    expect(page.get_by_role("table").first).to_be_visible()
    assert "#left=" in page.url and "&right=" in page.url
