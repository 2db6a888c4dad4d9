"""From 360 to 2560 px nothing is wider than the page, no text is cut off, and no text overlaps another."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from script.support.browsing import wait_until_at_rest

SIZES = [(360, 740), (390, 844), (768, 1024), (1024, 768), (1440, 900), (1920, 1080), (2560, 1440)]

MISFITS = """() => {
  const bad = [];
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) bad.push(`the page is ${wide} px too wide`);
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest(".sr, .skip, [hidden], [aria-hidden=true], dialog:not([open]), option, script, style, noscript, .js-plotly-plot, .notices")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) if (box.width > 1 && box.height > 1) texts.push({ element, words: node.textContent.trim().slice(0, 40), box: seen(element, box) });
    const style = getComputedStyle(element);
    if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 && style.overflowX === "hidden" && style.textOverflow !== "ellipsis") bad.push(`cut off: ${node.textContent.trim().slice(0, 60)}`);
  }
  // what scrolls inside a box is seen only as far as the box shows it
  function seen(element, box) {
    let { left, top, right, bottom } = box;
    for (let at = element; at; at = at.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(at);
      if (overflowX === "visible" && overflowY === "visible") continue;
      const frame = at.getBoundingClientRect();
      left = Math.max(left, frame.left);
      right = Math.min(right, frame.right);
      top = Math.max(top, frame.top);
      bottom = Math.min(bottom, frame.bottom);
    }
    return { left, top, right, bottom };
  }
  const fixed = (element) => {
    for (let at = element; at; at = at.parentElement) if (["fixed", "sticky"].includes(getComputedStyle(at).position)) return at;
    return null;
  };
  for (const one of texts) one.layer = fixed(one.element);
  for (let a = 0; a < texts.length; a++) {
    for (let b = a + 1; b < texts.length; b++) {
      const one = texts[a];
      const other = texts[b];
      if (one.layer !== other.layer || one.element === other.element) continue;
      const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      if (across > 2 && down > 3) bad.push(`“${one.words}” lies over “${other.words}” by ${Math.round(across)} × ${Math.round(down)} px`);
    }
  }
  for (const { box, words, element } of texts) {
    if (!fixed(element) && (box.left < -1 || box.right > innerWidth + 1) && box.right > box.left) bad.push(`beyond the page: ${words}`);
  }
  return bad;
}"""

# the longest text that the section on time shows while it fetches or counts: no note may reach the buttons
# beside it
WITH_A_LONG_NOTE = f"""() => {{
  const note = document.querySelector("[data-part=time-note]");
  const words = note.textContent;
  note.textContent = "Fetching this stretch, and counting what is in it… ".repeat(6);
  const bad = ({MISFITS})();
  note.textContent = words;
  return bad;
}}"""


HIDDEN_BY_CONTROLS = """() => {
  const controls = document.querySelector(".transport").getBoundingClientRect().top;
  const shown = innerHeight >= 1080 ? [".stage", ".time", ".curve-caption"] : innerWidth >= 1000 ? [".stage"] : [];
  return shown.map((name) => [name, document.querySelector(name).getBoundingClientRect().bottom - controls])
    .filter(([, px]) => px > 0).map(([name, px]) => `${Math.round(px)} px of ${name} lie behind the controls`);
}"""
"""On a page that is not scrolled: the lanes on every wide page, the time diagram from 1080 px of height."""


def misfits(page: Any, how: str = MISFITS) -> list[str]:
    """What does not fit on the page at rest, as text."""
    wait_until_at_rest(page)
    return page.evaluate(how)


@pytest.fixture(scope="module")
def runs(site):
    """One lab per scenario for all sizes; each with another part that may not fit."""
    return {
        name: site.open_lab(scenario=name)
        for name in ("region-down", "figure-4", "groups-two-readers", "groups-thousand-streams")
    }


class Of:
    def __init__(self, made):
        self.made = made


LOOKS = {
    "": SIZES,
    "?theme=dark": [size for size in SIZES if size[0] < 1000],
    "?mode=projector": [(1280, 720), *(size for size in SIZES if size[0] >= 1000)],
}
"""Each size in two modes; phones are not projected."""


INSTANTS = {"region-down": 5_850_000, "figure-4": 2_900_000, "groups-two-readers": 11_000_000}
CASES = [
    *((name, look) for look in LOOKS for name in ("region-down", "figure-4")),
    ("groups-two-readers", ""),
]


OPENED_ANEW = "region-down"
"""The lab that is opened at each size, in one page: a browser that has seen it before does half the work.

The others are opened once, and their window is resized.
"""


@pytest.mark.parametrize(("name", "look"), CASES)
def test_a_lab_fits_every_width(make_lab, runs, name, look):
    lab, bad = make_lab(of=Of(runs[name])), {}
    for place, (width, height) in enumerate(LOOKS[look]):
        lab.page.set_viewport_size({"width": width, "height": height})
        if place == 0 or name == OPENED_ANEW:
            lab.page.goto("about:blank")
            lab.troubles.clear()  # its texts when it was left
            lab.open(look)
            lab.seek(INSTANTS[name])
        found = misfits(lab.page)
        found += [line for line in misfits(lab.page, WITH_A_LONG_NOTE) if line not in found]
        if name == OPENED_ANEW:
            found += misfits(lab.page, HIDDEN_BY_CONTROLS)
        if found:
            bad[f"{width} × {height}"] = found
        assert lab.troubles == []
    assert bad == {}


UNDER_THE_CONTROLS = """(part) => {
  const controls = document.querySelector(".transport").getBoundingClientRect().top;
  return [...document.querySelectorAll(part)].map((one) => Math.round(one.getBoundingClientRect().bottom - controls)).filter((px) => px > 0);
}"""
LOW = {"width": 1280, "height": 720}


@pytest.mark.parametrize("name", ["region-down", "figure-4", "groups-two-readers"])
def test_the_tabs_of_panels_are_on_a_low_screen(make_lab, runs, name):
    lab = make_lab(of=Of(runs[name]), viewport=LOW)
    for at_us in (0, INSTANTS[name]):
        lab.open()
        lab.seek(at_us)
        assert lab.at_rest().page.evaluate(UNDER_THE_CONTROLS, "[role=tab]") == []


@pytest.mark.parametrize("scenario", ["two-regions", "region-down"])
def test_the_time_panel_is_on_a_low_screen_during_a_tour(make_lab, scenario):
    lab = make_lab(scenario, viewport=LOW)
    lab.page.goto(f"{lab.site.address}{lab.made['url']}#token={lab.made['token']}&tour=1")
    next_step = lab.page.locator("[data-act=tour-next]")
    expect(next_step).to_be_visible()
    next_step.click()
    lab.until("state.at_us > 0 && !state.playing")
    lab.page.locator("#tab-time").evaluate("(tab) => tab.click()")
    assert lab.at_rest().page.evaluate(UNDER_THE_CONTROLS, "[data-part=time]") == []


def test_a_thousand_streams_fit_a_phone(make_lab, runs):
    lab = make_lab(of=Of(runs["groups-thousand-streams"]))
    lab.page.set_viewport_size({"width": 360, "height": 740})
    lab.open()
    lab.seek(2_600_000)
    assert misfits(lab.page) == []


CUT_WORDS = """() => {
  const draw = CanvasRenderingContext2D.prototype.fillText;
  const cut = new Set();
  globalThis.cutWords = cut;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...most) {
    const width = Math.min(this.measureText(text).width, ...most);
    const left = x - { left: 0, start: 0, center: width / 2, right: width, end: width }[this.textAlign];
    const at = (px) => this.getTransform().transformPoint({ x: px, y }).x;
    if (at(left) < -1 || at(left + width) > this.canvas.width + 1) cut.add(text);
    draw.call(this, text, x, y, ...most);
  };
}"""
"""From now on `cutWords` has the texts that a canvas shows only partly."""


def test_texts_in_the_diagram_of_messages_between_nodes_are_not_cut_off(make_lab, runs):
    lab = make_lab(of=Of(runs["groups-two-readers"]))
    lab.page.add_init_script(f"({CUT_WORDS})()")
    lab.open("?panel=node-messages")
    for width, height in [(1440, 900), (390, 844)]:
        lab.page.set_viewport_size({"width": width, "height": height})
        lab.seek(11_000_000 + width)
        lab.at_rest().page.evaluate("() => cutWords.clear()")
        lab.seek(11_000_000)
        assert lab.at_rest().page.evaluate("() => [...cutWords]") == []


@pytest.mark.parametrize("width", [360, 390, 768])
def test_the_navigation_fits_one_line(open_page, width):
    page = open_page("/experiments/")  # the longest name, in bold here
    page.set_viewport_size({"width": width, "height": 844})
    tops = page.evaluate(
        "() => [...document.querySelectorAll('.rooms a')].map((link) => link.getBoundingClientRect().top)"
    )
    assert len(tops) == 7 and len(set(tops)) == 1
    assert misfits(page) == []
    page.add_style_tag(content=":root { --sans: 'DejaVu Sans' }")  # the widest of the fonts named there
    cut = page.evaluate(
        "() => { const { scrollWidth, clientWidth } = document.querySelector('.rooms'); return scrollWidth - clientWidth; }"
    )
    assert cut == 0, f"the last link is cut by {cut} px"


TOO_SMALL = """() => [...document.querySelectorAll(".handle")].filter((handle) => handle.checkVisibility() && handle.textContent.trim()).flatMap((handle) => {
  const box = handle.getBoundingClientRect();
  const around = getComputedStyle(handle, "::after");
  const height = box.height - Number.parseFloat(around.top) - Number.parseFloat(around.bottom);
  return height >= 40 ? [] : [`${handle.textContent.trim()}: ${Math.round(height)} px`];
})"""


@pytest.mark.parametrize(("name", "at_us"), [("region-down", 5_300_000), ("groups-two-readers", 11_000_000)])
def test_touch_targets_of_breakable_parts_are_large_enough(make_lab, runs, name, at_us):
    """On a phone: 40 px at least, including the space around a button."""
    lab = make_lab(of=Of(runs[name]))
    lab.page.set_viewport_size({"width": 390, "height": 844})
    lab.open()
    lab.seek(at_us)
    lab.at_rest()
    assert lab.page.evaluate("() => document.querySelectorAll('.handle').length") > 3
    assert lab.page.evaluate(TOO_SMALL) == []


def test_a_planted_fault_is_detected(make_lab, runs):
    lab = make_lab(of=Of(runs["figure-4"])).open()
    lab.at_rest().page.evaluate(
        "() => { const words = document.querySelector('.watch').cloneNode(true); words.style.marginTop = "
        "'-32px'; document.querySelector('.watch').after(words); }"
    )
    assert any("lies over" in line for line in misfits(lab.page))
