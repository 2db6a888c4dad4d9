"""axe finds nothing serious in stories, changed runs and forecasts of a past failover, light and dark,
wide and narrow.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_access import findings, findings_in_both_themes

PART = "{ include: [['.panel:not([hidden])'], ['.story-bar'], ['.questions']] }"
"""The panel that is shown and the story in the footer; the rest of the page has its own test."""


@pytest.mark.parametrize(
    ("viewport", "judged"),
    [({"width": 1440, "height": 900}, findings_in_both_themes), ({"width": 390, "height": 844}, findings)],
    ids=["wide", "phone"],
)
def test_a_story_after_a_failover_has_no_findings(make_lab, viewport, judged):
    lab = make_lab(
        "region-down-twice", viewport=viewport, color_scheme="light", reduced_motion="reduce"
    ).open("?panel=why-duplicates")
    lab.seek(20_000_000)
    panel = lab.page.get_by_role("tabpanel")
    panel.get_by_role("button", name=re.compile("^shop.15.,")).first.click()
    lab.page.get_by_role("button", name="Pause", exact=True).first.click()
    lab.page.keyboard.press("]")
    found = [f"story: {line}" for line in judged(lab.page, PART)]
    for tab, words in (("What would have helped", "as it was"), ("Forecast", "Why no snapshot now?")):
        lab.page.get_by_role("tab", name=tab).click()
        expect(panel).to_contain_text(words)
        found += [f"{tab}: {line}" for line in judged(lab.page, PART)]
    assert found == []
    assert lab.troubles == []
