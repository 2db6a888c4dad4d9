"""Every built-in scenario in the page: it opens, plays, jumps past its story, and the console stays silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from simulator import scenario_names
from script.support.temporary_site import Site
from tests.browser.conftest import WIDE, Lab, note_troubles

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
def next_lab(browser: Browser, site: Site) -> Iterator[Callable[[str], Lab]]:
    """Opens lab after lab in one page, as somebody who goes through the gallery does: less than half the work of a browser that is new each time."""
    context = browser.new_context(viewport=WIDE)
    page, troubles = context.new_page(), []
    note_troubles(page, site.address, troubles)

    def open_next(scenario: str) -> Lab:
        page.goto("about:blank")  # the lab before is left: what it still says is its own
        troubles.clear()
        return Lab(page, site, site.open_lab(scenario=scenario), troubles).open()

    yield open_next
    context.close()


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
        lab.page.wait_for_timeout(120)
        assert lab.page.evaluate(DRAWN) > 1000
    assert "Connecting" not in lab.page.locator("[data-part=sentence]").inner_text()
    assert lab.page.locator("[data-part=events] li").count() > 0
    assert lab.state("state.view.violations.length") == 0
    assert lab.troubles == []
