"""The panel “When inevitable?” as a person uses it: results arrive, a point goes to its instant, cancelling stops."""

from __future__ import annotations

from playwright.sync_api import expect

from script.support.browsing import wait_until


def panel_of(lab):
    return lab.page.get_by_role("tabpanel", name="When inevitable?")


def run_small(lab, instants: int, reruns: int):
    """Run again from few instants, few times, by keyboard."""
    panel = panel_of(lab)
    panel.locator("summary", has_text="How it is run again").click()
    for name, number in (("instants", instants), ("reruns", reruns)):
        panel.locator(f"input[name={name}]").fill(str(number))
    panel.get_by_role("button", name="Run", exact=True).press("Enter")
    return panel


def test_the_curve_grows_a_point_is_opened_and_another_number_is_asked_for(open_lab):
    lab = open_lab("region-down", "?panel=inevitable")
    panel = run_small(lab, 3, 5)
    expect(panel.locator(".lead-in")).to_contain_text("From 5.700 s on, no re-run has more than")
    expect(panel).to_contain_text("The run itself has 7 duplicates.")
    expect(panel).to_contain_text("constant durations up to 20 % shorter, and random intervals of producers")
    expect(panel.get_by_role("row")).to_have_count(4)
    points = panel.locator("button.point")
    points.first.focus()
    lab.page.keyboard.press("End")
    lab.page.keyboard.press("Enter")
    lab.until("state.at_us === 5700000")
    expect(panel.locator(".chosen")).to_contain_text("5.700 s: 0 of 5 re-runs have more than")
    panel.locator("input[name=more_than]").fill("6")
    panel.locator("input[name=more_than]").press("Enter")
    expect(panel.locator(".chosen")).to_contain_text(
        "5.700 s: 5 of 5 re-runs have more than 6 duplicates, 100 %"
    )
    points.first.click()
    lab.until("state.at_us === 2700000")
    expect(panel.get_by_role("link", name="compare with this run")).to_be_visible()
    with lab.page.context.expect_page() as opened:
        panel.get_by_role("button", name="open as a lab").click()
    wait_until(opened.value, "() => globalThis.failoverLab?.getState().at_us === 5700000")
    assert "re-run" in opened.value.title()
    log = opened.value.evaluate("() => failoverLab.getState().view.branch")
    assert log == 0


def test_it_is_offered_for_groups_and_can_be_cancelled(open_lab):
    lab = open_lab("groups-leader-crash-early", "?panel=inevitable")
    panel = run_small(lab, 20, 100)
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_role("status").first).to_contain_text("Cancelled after")
    expect(panel.get_by_role("button", name="Run again")).to_be_enabled()


def test_a_run_without_a_failover_says_why_there_is_no_curve(open_lab):
    lab = open_lab("two-regions", "?panel=inevitable")
    panel = panel_of(lab)
    panel.get_by_role("button", name="Run", exact=True).click()
    expect(panel).to_contain_text("This run has no failover and no fault")
    panel.locator("summary", has_text="How it is run again").click()
    panel.locator("input[name=reruns]").fill("101")
    panel.get_by_role("button", name="Run again").click()
    assert panel.locator("input[name=reruns]").evaluate("(input) => input.validity.rangeOverflow")
