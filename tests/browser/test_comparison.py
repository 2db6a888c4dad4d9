"""Three strategies side by side, in a real browser.

One clock for all columns, by pointer and key; texts that describe the pictures; the link to a lab.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from script.support.browsing import wait_until, wait_until_at_rest
from tests.browser.test_access import findings

HOLE = "strategies-delayed-message"
CLOCKS_SHOWN = """async () => {
  const shown = new Set();
  for (let on = true; on; ) {
    on = globalThis.failoverComparison.getState().at_us < 1600000;
    await unrest.painted();
    shown.add(document.querySelector("[data-part=clock]").textContent);
  }
  return [...shown];
}"""
"""What the clock shows in each frame of its first 1.6 s."""
COLUMNS = ("Local subscription", "Snapshots (PIP-33)", "Acknowledgement-state sync")


@pytest.fixture
def opened(open_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a comparison and waits for its columns."""

    def open_comparison(name: str = HOLE, query: str = "", **options: Any) -> Page:
        return open_page(
            f"/compare/{name}/{query}",
            "() => (globalThis.failoverComparison?.getState().columns.length ?? 0) > 0",
            **options,
        )

    return open_comparison


def seek(page: Page, at_us: int) -> None:
    """Goes to an instant and waits until it is drawn."""
    page.evaluate("at_us => globalThis.failoverComparison.seek(at_us)", at_us)
    wait_until_at_rest(page)


def state(page: Page, what: str) -> Any:
    return page.evaluate(f"() => globalThis.failoverComparison.getState().{what}")


def figures(page: Page) -> list[str]:
    return [
        page.get_by_role("region", name=name, exact=True).locator(".figure").inner_text().replace("\n", " ")
        for name in COLUMNS
    ]


def test_one_clock_controls_all_columns_and_they_count_up(opened):
    page = opened()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    wait_until(page, "() => globalThis.failoverComparison.getState().at_us > 400000")
    page.keyboard.press(" ")
    wait_until(page, "() => !globalThis.failoverComparison.getState().playing")
    seek(page, 4_020_000)
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "If billing moved from blue to green now: 39, 29 or 10 duplicates."
    )
    assert figures(page) == [f"{number} forecast duplicates" for number in (39, 29, 10)]
    seek(page, 8_000_000)
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Since the move to green at 5.9 s: 58, 48 or 9 duplicates of billing."
    )
    assert figures(page) == ["58 duplicates", "48 duplicates", "9 duplicates"]


def test_the_columns_describe_in_text_and_numbers_what_they_draw(opened):
    page = opened()
    seek(page, 8_000_000)
    picture = page.get_by_role(
        "img",
        name=re.compile(
            "^Acknowledgement-state sync: .* 49 of them also in green at the failover. Since the failover: 9 "
            "duplicates"
        ),
    )
    expect(picture).to_be_visible()
    table = page.get_by_role("table")
    expect(table.get_by_role("row", name=re.compile("^behind an unacked message 0 43 0$"))).to_be_visible()
    expect(table.get_by_role("row", name=re.compile("^duplicates 58 48 9$"))).to_be_visible()
    expect(table.get_by_role("row", name=re.compile("^acked after the last sync 0 0 9$"))).to_be_visible()
    seek(page, 1_000_000)
    expect(table.get_by_role("row", name=re.compile("^duplicates – – –$"))).to_be_visible()


def test_speed_scrubbing_and_steps_by_key(opened):
    page = opened()
    page.keyboard.press(".")
    assert state(page, "speed") == 2
    page.keyboard.press(",")
    page.keyboard.press(",")
    assert state(page, "speed") == 0.5
    page.get_by_label("Speed").select_option(label="×5")
    assert state(page, "speed") == 5
    slider = page.get_by_role("slider", name="Instant")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert round(state(page, "at_us")) == 200_000
    expect(slider).to_have_attribute("aria-valuetext", "0.200 seconds")
    slider.evaluate("node => node.blur()")
    seek(page, 0)
    page.keyboard.press("ArrowRight")
    first = state(page, "at_us")
    page.keyboard.press("ArrowRight")
    assert 0 < first < state(page, "at_us"), "from one marker, request or move to the next"
    page.keyboard.press("ArrowLeft")
    assert state(page, "at_us") == first


def test_playback_ends_and_can_start_over(opened):
    page = opened()
    # slowly enough that the test always sees it playing
    page.get_by_label("Speed").select_option(index=0)
    seek(page, state(page, "end_us") - 100)
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Again")).to_be_visible()
    page.get_by_role("button", name="Again").click()
    wait_until(
        page,
        (
            "() => globalThis.failoverComparison.getState().at_us < 3000000 && "
            "globalThis.failoverComparison.getState().playing"
        ),
    )


def test_a_column_opens_as_a_lab_at_the_instant_shown(opened):
    page = opened()
    seek(page, 4_000_000)
    page.get_by_role("region", name=COLUMNS[1], exact=True).get_by_role(
        "button", name="Open as a lab at this instant"
    ).click()
    page.wait_for_url("**/labs/**")
    wait_until(
        page,
        (
            "() => globalThis.failoverLab?.getState().view && globalThis.failoverLab.getState().at_us === "
            "4000000"
        ),
    )
    expect(page).to_have_title(re.compile(re.escape("Snapshots (PIP-33)")))


def test_the_comparison_of_a_run_without_a_failover_states_that(open_page):
    page = open_page("/compare/two-regions/")
    expect(page.get_by_role("alert")).to_contain_text(
        "This run has no failover, so there is nothing to compare."
    )


def test_a_strategy_under_which_the_failover_is_refused_shows_the_reason_and_the_others_play(opened):
    page = opened("tenant-moves")
    seek(page, 11_000_000)
    expect(page.get_by_role("region", name=COLUMNS[1], exact=True)).to_contain_text(
        "No failover under this strategy. migration.switch was refused"
    )
    assert figures(page)[0] == "490 duplicates" and figures(page)[2] == "31 duplicates"
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Since the move to green at 5.0 s: 490 or 31 duplicates of billing."
    )


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_serious_and_nothing_exceeds_the_page(opened, look, width):
    page = opened(query=f"?theme={look}", viewport={"width": width, "height": 844}, reduced_motion="reduce")
    for at_us in (4_020_000, 8_000_000):
        seek(page, at_us)
        assert findings(page) == []
        assert page.evaluate(
            "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )


def test_with_reduced_motion_the_clock_moves_in_steps(opened):
    page = opened(reduced_motion="reduce")
    page.keyboard.press(" ")
    shown = page.evaluate(CLOCKS_SHOWN)
    assert len(shown) > 1 and all(re.fullmatch(r"\d+\.[05]00 s", clock) for clock in shown), shown
