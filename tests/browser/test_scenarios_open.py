"""Every built-in scenario in the page: it opens, plays, jumps past its story, and the console stays silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from simulator import scenario_names
from script.support.temporary_site import Site
from tests.browser.conftest import Lab, fresh_context

DRAWN = """() => {
  const canvas = document.querySelector(".groups [data-part=group-still]") ?? document.querySelector("[data-part=still]");
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  let inked = 0;
  for (let at = 3; at < pixels.length; at += 4) inked += pixels[at] > 0 ? 1 : 0;
  return inked;
}"""


@pytest.fixture(scope="module")
def visitors() -> Iterator[dict[Browser, BrowserContext]]:
    """Somebody who goes through the gallery, one for each browser: who has seen labs before has half the work with the next one."""
    met: dict[Browser, BrowserContext] = {}
    yield met
    for browser, context in met.items():
        if browser.is_connected():
            context.close()


@pytest.fixture
def next_lab(browser: Browser, site: Site, visitors: dict[Browser, BrowserContext]) -> Iterator[Callable[[str], Lab]]:
    """Opens a lab in a tab of its own."""
    if browser not in visitors:
        visitors[browser] = fresh_context(browser)
    page = visitors[browser].new_page()
    yield lambda scenario: Lab(page, site, site.open_lab(scenario=scenario)).open()
    page.close()


@pytest.mark.parametrize("name", scenario_names())
def test_scenario_runs_in_the_page(next_lab, name):
    lab = next_lab(name)
    lab.page.keyboard.press("Space")
    lab.until("state.playing && state.at_us > 0")
    lab.page.keyboard.press("Space")
    lab.until("!state.playing")
    end_us = lab.state("state.welcome.until_us")
    for share in (0.5, 1):
        lab.seek(int(end_us * share))
        assert lab.page.evaluate(DRAWN) > 1000
    expect(lab.page.locator("[data-part=sentence]")).not_to_contain_text("Connecting")
    expect(lab.page.locator("[data-part=events] li").first).to_be_attached()
    assert lab.state("state.view.violations.length") == 0
    assert lab.troubles == []
