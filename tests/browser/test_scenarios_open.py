"""Every built-in scenario in the page.

It opens, plays, jumps past its story, and the console has no errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from script.support.temporary_site import Site
from simulator import scenario_names
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
def tabs() -> Iterator[dict[Browser, Page]]:
    """The tab of a user who goes through the gallery, one for each browser: a browser that has seen labs
    before does half the work with the next one.
    """
    met: dict[Browser, Page] = {}
    yield met
    for browser, page in met.items():
        if browser.is_connected():
            page.context.close()


@pytest.fixture
def next_lab(browser: Browser, site: Site, tabs: dict[Browser, Page]) -> Iterator[Callable[[str], Lab]]:
    """Opens a lab in the tab of the previous one. A tab on which a problem occurred is not used again."""
    page = tabs.pop(browser, None) or fresh_context(browser).new_page()
    opened: list[Lab] = []

    def open_one(scenario: str) -> Lab:
        opened.append(Lab(page, site, site.open_lab(scenario=scenario)).open())
        return opened[-1]

    yield open_one
    if all(lab.troubles == [] for lab in opened):
        page.goto("about:blank")  # messages of a page that is being left do not belong to the next one
        tabs[browser] = page
    else:
        page.context.close()


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
