"""The lab page where a run ends while a failover still delivers messages again: its numbers are lower bounds."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.conftest import Lab
from tests.scenarios.test_headless import SLOW

PHONE = {"width": 390, "height": 844}


def test_the_headline_of_a_failover_that_still_delivers_is_a_lower_bound(
    make_lab: Callable[..., Lab],
) -> None:
    lab = make_lab(yaml=SLOW, viewport=PHONE, color_scheme="light", reduced_motion="reduce").open()
    headline = lab.page.locator("[data-part=sentence]")
    lab.seek(4_200_000)
    expect(headline).to_have_text(re.compile(r"us-east has delivered \d+ duplicates so far\."))
    lab.seek(4_400_000)
    expect(headline).to_have_text(
        re.compile(r"us-east has delivered at least 56 duplicates, still delivering at the end\.")
    )
    assert lab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    row = lab.page.locator("[data-part=risk] tr", has_text="still to be delivered again")
    expect(row.locator("td")).to_have_text("39")
    lab.seek(4_900_000)
    expect(headline).to_have_text(re.compile(r"us-east has delivered 94 duplicates\."))
    assert lab.troubles == []


def test_panels_of_a_run_that_ended_too_early_give_lower_bounds(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab(yaml=SLOW).open("?panel=forecast")
    lab.seek(4_400_000)
    outcomes = lab.page.locator("section.forecast .scrolls tr", has_text="us-west → us-east")
    expect(outcomes).to_contain_text("→ at least 56")
    why = make_lab(of=lab).open("?panel=why-duplicates", owner=False)
    expect(why.page.locator(".lead-in")).to_contain_text(
        "at least 56 duplicates, still delivering (39 messages to be delivered again)"
    )
    assert lab.troubles == [] == why.troubles
