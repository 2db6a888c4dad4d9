"""axe finds nothing serious in stories, changed runs and forecasts of a failover that happened, light and dark, wide and narrow."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect
from script.support.browsing import wait_until_at_rest
from tests.browser.test_access import SERIOUS

LOOKS = [("light", {"width": 1440, "height": 900}), ("dark", {"width": 1440, "height": 900}), ("light", {"width": 390, "height": 844})]


def findings(page) -> list[str]:
    """What axe calls serious or critical in the panel that is shown and in the story at the foot; the rest of the page has its own test."""
    wait_until_at_rest(page)
    page.evaluate(AXE_SCRIPT)
    result = page.evaluate("() => axe.run({ include: [['.panel:not([hidden])'], ['.story-bar'], ['.asks']] }, { resultTypes: ['violations'] })")
    serious = [violation for violation in result["violations"] if violation["impact"] in SERIOUS]
    return [f"{violation['id']}: {node['html'][:160]} {node.get('failureSummary', '')[-160:]}" for violation in serious for node in violation["nodes"]]


@pytest.mark.parametrize(("theme", "viewport"), LOOKS, ids=["light", "dark", "phone"])
def test_after_a_failover_with_a_story_told(make_lab, theme, viewport):
    lab = make_lab("region-down-twice", viewport=viewport, color_scheme=theme, reduced_motion="reduce").open("?panel=why-twice")
    lab.seek(20_000_000)
    panel = lab.page.get_by_role("tabpanel")
    panel.get_by_role("button", name=re.compile("^shop.15.,")).first.click()
    lab.page.get_by_role("button", name="Pause", exact=True).first.click()
    lab.page.keyboard.press("]")
    found = [f"story: {line}" for line in findings(lab.page)]
    for tab, words in (("What would have helped", "as it was"), ("Forecast", "Why no snapshot now?")):
        lab.page.get_by_role("tab", name=tab).click()
        expect(panel).to_contain_text(words)
        found += [f"{tab}: {line}" for line in findings(lab.page)]
    assert found == []
    assert lab.troubles == []
