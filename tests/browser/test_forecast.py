"""The panel “Forecast” as a person uses it.

Figures, curves with failovers beside them, and why no snapshot is requested.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from script.support.browsing import wait_until


@pytest.fixture
def lab(make_lab):
    opened = make_lab("region-down-twice").open("?panel=forecast")
    yield opened
    assert opened.troubles == []


def panel_of(lab):
    return lab.page.get_by_role("tabpanel", name="Forecast")


def test_the_figures_are_the_engines_with_the_remotes_lag(lab):
    lab.seek(3_900_000)
    figures = lab.state("state.view.forecast.billing.to")
    for remote, told in figures.items():
        row = panel_of(lab).locator(".now-figures tbody tr").filter(has_text=remote)
        expect(row.locator("td").nth(0)).to_have_text(str(told["duplicates"]))
        expect(row.locator("td").nth(3)).to_have_text(re.compile(r"\d+(\.\d)? m?s"))


def test_forecast_and_actual_are_side_by_side_before_any_duplicate(lab):
    lab.seek(20_000_000)
    lab.seek(3_000_000)
    rows = panel_of(lab).locator("tbody tr").filter(has_text="→")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("us-east → eu-central, 9.000 s")
    expect(rows.nth(1).locator("td").nth(0)).to_have_text("50 → 50")


def test_the_curve_grows_while_it_plays(lab):
    lab.page.evaluate("() => failoverLab.link.play(5)")
    lab.until("state.at_us > 6000000")
    lab.page.evaluate("() => failoverLab.link.pause()")
    wait_until(lab.page, "() => document.querySelectorAll('.curves .scatterlayer .trace').length >= 4")
    wait_until(
        lab.page,
        (
            "() => [...document.querySelectorAll('.curves .scatterlayer path.js-line')].some((line) => "
            "line.getAttribute('d').length > 100)"
        ),
    )
    expect(panel_of(lab).locator(".curves")).to_have_attribute(
        "aria-label", re.compile("Failovers: at 4.700 s to us-east, forecast 7, actual 7 duplicates")
    )


def test_why_no_snapshot_names_the_rule_the_region_and_the_remedy(lab):
    lab.seek(8_000_000)
    panel = panel_of(lab)
    expect(panel).to_contain_text("us-east skips the next snapshot.")
    expect(panel.locator(".rules").first.locator(".stops")).to_contain_text("us-west is down")
    expect(panel.locator(".until").first).to_contain_text("taken off the topic's replication list")
    lab.seek(12_300_000)
    expect(panel).to_contain_text("Nothing blocks the next snapshot")
    expect(panel.locator(".rules").nth(0).locator(".stops")).to_have_count(0)


def test_on_a_phone_the_panel_has_one_column(make_lab):
    lab = make_lab("region-down", viewport={"width": 390, "height": 844}, has_touch=True).open(
        "?panel=forecast"
    )
    lab.seek(5_200_000)
    expect(panel_of(lab)).to_contain_text("Nothing blocks the next snapshot")
    assert lab.at_rest().page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert lab.troubles == []
