"""The legend: complete for what is painted, and an item highlights its mark and leads to the glossary."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

NOTE_MARKS = """globalThis.paintedMarks = {};
for (const name of ["fill", "stroke", "fillRect", "strokeRect", "fillText", "strokeText"]) {
  const plain = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (...given) {
    const part = this.canvas.dataset.part;
    if (part) (globalThis.paintedMarks[part] ??= {})[this.mark ?? "none"] = true;
    return plain.apply(this, given);
  };
}"""
"""Notes for each canvas with a name the marks that are painted on it."""

PICTURES = ["still", "moving", "spacetime", "group-still", "group-moving"]
SELF_EXPLAINING = {"text", "axis"}

CASES = [
    (
        "three-regions",
        5_200_000,
        {"thread-applied", "thread-building", "wash", "replicated", "time-snapshot"},
    ),
    ("region-down", 6_000_000, {"down", "link-broken", "duplicates-actual", "time-fault", "rail"}),
    (
        "groups-two-readers",
        11_000_000,
        {"ring-client", "ring-leader", "ring-gap", "two-readers", "committed"},
    ),
]


@pytest.mark.parametrize(("scenario", "at_us", "expected"), CASES, ids=[name for name, _, _ in CASES])
def test_everything_painted_has_an_item(make_lab, scenario: str, at_us: int, expected: set[str]) -> None:
    """A part of the picture that names no mark, or one without an item, fails here."""
    lab = make_lab(scenario)
    lab.page.add_init_script(NOTE_MARKS)
    lab.open().seek(at_us)
    lab.at_rest()
    painted = {
        mark
        for part, marks in lab.page.evaluate("() => globalThis.paintedMarks").items()
        if part in PICTURES
        for mark in marks
    }
    more = lab.page.locator("[data-act=legend-all]")
    more.click()
    expect(more).to_have_text("fewer marks")
    listed = set(
        lab.page.evaluate(
            "() => [...document.querySelectorAll('.legend [data-marks]')].flatMap((one) => one.dataset.marks.split(' '))"
        )
    )
    assert painted - SELF_EXPLAINING - listed == set()
    assert expected <= painted
    assert lab.troubles == []


def test_an_item_highlights_its_mark_and_leads_to_the_glossary(make_lab) -> None:
    lab = make_lab("three-regions").open()
    lab.seek(5_200_000)
    still = lab.page.locator("canvas[data-part=still]")
    plain = still.evaluate("(canvas) => canvas.toDataURL()")
    item = lab.page.locator(".legend-item", has_text="positions of a snapshot")
    item.click()
    meaning = lab.page.locator("[data-part=legend-meaning]")
    expect(meaning).to_contain_text("connects the positions that correspond")
    expect(meaning.get_by_role("link", name="Glossary")).to_have_attribute("href", "/glossary/#snapshot")
    expect(item).to_have_attribute("aria-pressed", "true")
    lab.at_rest()
    assert still.evaluate("(canvas) => canvas.toDataURL()") != plain
    lab.page.keyboard.press("Escape")
    expect(meaning).to_be_hidden()
    lab.at_rest()
    assert still.evaluate("(canvas) => canvas.toDataURL()") == plain
    assert lab.troubles == []


def test_an_item_that_is_not_in_the_picture_says_so(make_lab) -> None:
    lab = make_lab("three-regions").open()
    lab.seek(5_200_000)
    lab.page.locator("[data-act=legend-all]").click()
    lab.page.locator(".legend-item", has_text="region down").click()
    expect(lab.page.locator("[data-part=legend-meaning]")).to_contain_text("None is in the picture now.")
    assert lab.troubles == []
