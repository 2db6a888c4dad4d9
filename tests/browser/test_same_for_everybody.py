"""Two viewers of one lab at one instant see the same in a real browser, pixel by pixel, whether it was
played, opened or sought there.
"""

from __future__ import annotations

from typing import Any

import pytest

SHOWN = """() => {
  const part = (name) => document.querySelector(`[data-part=${name}]`);
  const seen = (node) => node.offsetParent !== null;
  const shown = {};
  for (const name of ["sentence", "risk", "ack-sync-section", "building", "caches", "words", "partitions", "time-note", "curve-caption"]) shown[name] = part(name)?.innerText;
  shown.panel = [...document.querySelectorAll(".panel")].filter(seen).map((panel) => panel.innerText).join();
  shown.handles = [...document.querySelectorAll(".mark-button, .handle, .group-handle")].filter(seen).map((one) => [one.getAttribute("aria-label"), one.innerText, one.getAttribute("style")].join());
  for (const canvas of document.querySelectorAll("canvas")) {
    const name = canvas.dataset.part ?? canvas.parentElement.dataset.part ?? canvas.parentElement.className;
    if (seen(canvas) && !canvas.closest("li")) shown[`picture ${name}`] = canvas.toDataURL();
  }
  for (const [at, chart] of [...document.querySelectorAll(".curves")].filter(seen).entries()) shown[`chart ${at}`] = [...chart.querySelectorAll("path, text")].map((one) => `${one.getAttribute("d")} ${one.getAttribute("transform")} ${one.textContent}`);
  const list = part("events");
  const box = list.getBoundingClientRect();
  const lines = [...list.querySelectorAll("li")].map((line) => ({ text: line.innerText, ahead: line.classList.contains("ahead"), top: line.getBoundingClientRect().top - box.top }));
  shown.events = lines.filter(({ ahead }) => !ahead).map(({ text }) => text);
  shown.view = lines.map(({ text, top }) => `${Math.round(top)} ${text}`);
  return { shown, present: (lines.find(({ ahead }) => !ahead)?.top ?? 0) / box.height };
}"""
"""What is visible: texts, places of what can be clicked, pictures as data addresses, lines of charts, rows
of the event list and where they are.
"""

DIFFERING_PIXELS = """async ([pictures, rounding]) => {
  const pixelsOf = async (address) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(address.split(",")[1]), (letter) => letter.charCodeAt(0))]));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height);
  };
  const [one, other] = await Promise.all(pictures.map(pixelsOf));
  if (one.width !== other.width || one.height !== other.height) return one.width * one.height;
  const differs = (at) => [0, 1, 2, 3].some((channel) => Math.abs(one.data[at + channel] - other.data[at + channel]) > rounding);
  return Array.from({ length: one.width * one.height }, (_, pixel) => differs(4 * pixel)).filter(Boolean).length;
}"""
"""The number of pixels that differ between two pictures by more than `rounding` in any channel."""

ROUNDING = 4
"""The same strokes, drawn again, may become so much lighter or darker where they cross."""

PIXELS_MAX = 12
"""Ends of strokes may differ by more: six pixels at the brackets of three snapshots."""

BRANCH_AS_RUN = {"picture scrub", "picture spacetime", "picture lines", "view", "panel"}
"""These also show how far the branch has run: rows ahead, planned commands, time that was not run yet."""

FORECAST_AS_RUN = BRANCH_AS_RUN | {"chart 0"}
"""The chart of the forecast panel also marks each failover up to where the branch has run."""


def _seen(lab: Any) -> dict[str, Any]:
    seen = lab.at_rest().page.evaluate(SHOWN)
    assert seen["shown"]["sentence"] and seen["shown"]["events"]
    assert 0 <= seen["present"] <= 0.4, (
        "the newest row up to the instant stands in the upper third of the event list"
    )
    return seen


def _differing(
    lab: Any, one: dict[str, Any], other: dict[str, Any], without: set[str] = frozenset()
) -> list[str]:
    found = []
    for name in {**one["shown"], **other["shown"]}:
        pair = [seen["shown"].get(name) for seen in (one, other)]
        if name in without or pair[0] == pair[1]:
            continue
        if (
            not name.startswith("picture")
            or None in pair
            or lab.page.evaluate(DIFFERING_PIXELS, [pair, ROUNDING]) > PIXELS_MAX
        ):
            found.append(name)
    return found


@pytest.mark.parametrize(
    ("scenario", "speed", "at_us", "query"),
    [
        ("region-down", 20, 5_000_000, ""),
        ("region-down", 20, 10_000_000, ""),
        ("groups-killed", 8, 8_000_000, ""),
        ("region-down-twice", 1000, 5_500_000, "?panel=forecast"),
    ],
)
def test_a_lab_played_opened_or_sought_back_shows_the_same(make_lab, scenario, speed, at_us, query):
    owner = make_lab(scenario).open(query)
    owner.page.evaluate("speed => failoverLab.link.play(speed)", speed)
    owner.until(f"state.at_us >= {at_us}")
    owner.page.evaluate("() => failoverLab.link.pause()")
    owner.until("!state.playing")
    played = _seen(owner)
    at_us = owner.state("state.at_us")
    opened = make_lab(of=owner).open(query, owner=False)
    assert _differing(owner, played, _seen(opened)) == []
    owner.seek(at_us + 3_000_000)
    owner.at_rest()
    owner.seek(at_us)
    opened.until(f"state.at_us === {at_us} && state.epoch === {owner.state('state.epoch')}")
    sought = _seen(owner)
    assert _differing(owner, played, sought, FORECAST_AS_RUN if "forecast" in query else BRANCH_AS_RUN) == []
    assert _differing(owner, sought, _seen(opened)) == []
    reloaded = _seen(opened.open(query, owner=False))
    assert _differing(owner, sought, reloaded) == []
    assert owner.troubles == opened.troubles == []
