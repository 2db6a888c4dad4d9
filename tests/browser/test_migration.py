"""The panel “Tenant migration” as a person uses it.

The tab that a tenant's scenario opens with, steps, conditions, the map, and its buttons.
"""

from __future__ import annotations

from playwright.sync_api import expect


def panel_of(lab):
    return lab.page.get_by_role("tabpanel", name="Tenant migration")


def test_a_tenants_scenario_opens_with_its_migration_and_the_map_moves_clients(open_lab):
    lab = open_lab("tenant-moves")
    expect(lab.page.get_by_role("tab", name="Tenant migration")).to_have_attribute("aria-selected", "true")
    expect(panel_of(lab)).to_contain_text("No migration is running. LookupService: acme is in blue")
    lab.seek(4_900_000)
    expect(panel_of(lab).locator(".says").first).to_contain_text("it is safe to switch")
    expect(panel_of(lab).locator(".says").first).to_contain_text("17 duplicates")
    expect(panel_of(lab).locator(".steps li")).to_have_count(5)
    expect(panel_of(lab).locator(".waits li")).to_have_count(10)
    expect(panel_of(lab).locator(".unmet")).to_have_count(0)
    lab.seek(5_050_000)
    expect(panel_of(lab).locator("svg")).to_have_attribute(
        "aria-label",
        "acme is in green (LookupService). 0 clients in blue, 0 in green, 2 without a broker.",
    )
    lab.seek(11_000_000)
    expect(panel_of(lab).locator(".says").first).to_contain_text("acme is in green. Nothing is left in blue.")


def test_a_failed_lookup_service_is_drawn_with_its_clients_and_the_acks_synced_to_green(open_lab):
    lab = open_lab("tenant-moves")
    expect(panel_of(lab).locator("svg")).to_have_attribute(
        "aria-label",
        "acme is in blue (LookupService). 0 clients in blue, 0 in green, 2 without a broker.",
    )
    lab.seek(4_800_000)
    side = lab.page.get_by_role("region", name="Acknowledgement sync")
    expect(side).to_contain_text("blue → green: 459 of 469 acknowledged entries synced")
    expect(side).to_contain_text("10 not synced: last update applied at 4.740 s, next in 900 ms")
    for command in ({"do": "lookup.stop"}, {"do": "topic.unload", "cluster": "blue", "topic": "orders"}):
        lab.page.evaluate("command => failoverLab.link.command(command)", command)
    lab.seek(5_200_000)
    expect(panel_of(lab).locator("svg")).to_have_attribute(
        "aria-label",
        "acme is in blue (LookupService down). 0 clients in blue, 0 in green, 2 without a broker.",
    )
    expect(panel_of(lab).locator("svg .name.refused")).to_have_text(["billing-1 ×2", "web ×2"])
    expect(panel_of(lab)).to_contain_text(
        "2 without a broker: billing-1 (2 failed lookups), web (2 failed lookups)"
    )
    expect(side).to_contain_text("459 of 469 acknowledged entries synced")


def test_a_failed_step_shows_the_reason_and_is_retried_by_its_button(open_lab):
    lab = open_lab("tenant-link-fails")
    lab.seek(2_600_000)
    failed = panel_of(lab).locator(".steps li.failed")
    expect(failed).to_contain_text(
        "the link blue -> green is cut: green has received acknowledgements of 0 of 1 subscriptions"
    )
    panel_of(lab).get_by_role("button", name="Retry").click()
    expect(panel_of(lab).locator(".steps li.running")).to_contain_text("2 attempts")


def test_a_lab_without_tenants_explains_what_is_missing(open_lab):
    lab = open_lab("two-regions", "?panel=migration")
    expect(panel_of(lab)).to_contain_text("No tenant of this scenario")
