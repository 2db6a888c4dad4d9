"""The panel “Shadows” as a person uses it.

The tab that a shadow scenario opens with, the drawing, the figures, the sentence; other labs have nothing to
show.
"""

from __future__ import annotations

from playwright.sync_api import expect


def panel_of(lab):
    return lab.page.get_by_role("tabpanel", name="Shadow topics")


def test_a_shadow_scenario_opens_with_its_shadows_and_a_description(open_lab):
    lab = open_lab("shadow-retention-loss")
    expect(lab.page.get_by_role("tab", name="Shadow topics")).to_have_attribute("aria-selected", "true")
    lab.seek(4_400_000)
    expect(lab.page.locator(".sentence, h1").first).to_contain_text("Lost for orders-audit: 36 messages")
    figures = panel_of(lab).locator("tbody tr")
    expect(figures).to_have_count(2)
    expect(figures.nth(1)).to_contain_text("36 messages")
    expect(panel_of(lab).locator(".says")).to_contain_text("4 entries in 1 ledger serve 2 topics")
    expect(panel_of(lab).locator(".deleted")).to_have_count(1)
    expect(panel_of(lab).locator(".pin")).to_have_count(2)


def test_entries_not_visible_in_the_shadow_are_marked_until_they_are(open_lab):
    lab = open_lab("shadow-source-unload")
    lab.seek(2_290_000)
    expect(panel_of(lab).locator("tbody tr").nth(1)).to_contain_text("23 entries, for 2.2 s")
    expect(panel_of(lab).locator(".unseen")).to_have_count(1)
    lab.seek(2_400_000)
    expect(panel_of(lab).locator("tbody tr").nth(1).locator("td").nth(1)).to_have_text("0")
    expect(panel_of(lab).locator(".unseen")).to_have_count(0)


def test_reads_by_place_are_the_engines(open_lab):
    lab = open_lab("shadow-two-audiences")
    lab.seek(5_000_000)
    rows = panel_of(lab).locator("tbody tr")
    expect(rows.nth(0)).to_contain_text("120 broker cache")
    expect(rows.nth(1)).to_contain_text("40 bookies")
    expect(rows.nth(2)).to_contain_text("40 broker cache, 40 bookies")


def test_a_chosen_shadow_topic_shows_its_lane_and_the_same_panel(open_lab):
    lab = open_lab("shadow-two-audiences")
    lab.seek(3_000_000)
    lab.page.locator("[data-choice=topic] select").select_option("orders-screens")
    expect(panel_of(lab).locator("tbody tr")).to_have_count(3)


def test_a_lab_without_shadows_has_no_such_tab_unless_its_address_requests_it(open_lab):
    lab = open_lab("two-regions")
    expect(lab.page.get_by_role("tab", name="Time")).to_have_attribute("aria-selected", "true")
    expect(lab.page.get_by_role("tab", name="Shadow topics")).to_have_count(0)
    asked = open_lab("two-regions", "?panel=shadows")
    expect(asked.page.get_by_role("tab", name="Shadow topics")).to_have_attribute("aria-selected", "true")
    expect(panel_of(asked)).to_contain_text("No topic here has a shadow topic")
