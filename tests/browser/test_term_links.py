"""Headings of tables and inspectors on the page link to the glossary, and stay in place."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Lab

WITHOUT_LINK = """() => [
  ...document.querySelectorAll("th[scope=col]:not([data-name]), [data-part=risk] th:not([data-name]), [data-part=inspector-title], [data-part=inspector] h3"),
].filter((heading) => heading.checkVisibility() && heading.textContent.trim() && !heading.querySelector("a.term")).map((heading) => heading.textContent.trim())"""
"""Headings in view that are neither links nor names of things in the run."""


def headings_without_link(lab: Lab) -> dict[str, list[str]]:
    """By view of the lab."""
    found = {}
    for tab in lab.page.get_by_role("tab").all():
        tab.click()
        missing = lab.at_rest().page.evaluate(WITHOUT_LINK)
        if missing:
            found[tab.inner_text()] = missing
    return found


def test_headings_of_a_log_lab_link_to_the_glossary(make_lab) -> None:
    lab = make_lab("region-down").open()
    lab.seek(5_300_000)
    link = lab.page.locator("[data-part=risk]").get_by_role("link", name="duplicates", exact=True).last
    expect(link).to_have_attribute("href", "/glossary/#duplicate")
    expect(link).to_have_css("text-decoration-line", "none")
    kept = link.element_handle()
    link.focus()
    expect(link).to_have_css("text-decoration-line", "underline")
    lab.seek(5_350_000)
    assert kept.evaluate("(node) => node.isConnected && document.activeElement === node")
    lab.page.locator(".mark-button").last.focus()
    lab.page.keyboard.press("Enter")
    expect(lab.page.locator("[data-part=inspector-title] a")).to_have_attribute("href", "/glossary/#marker")
    expect(lab.page.locator("[data-part=inspector] .meaning")).to_contain_text("us-west")
    assert lab.at_rest().page.evaluate(WITHOUT_LINK) == []
    lab.page.keyboard.press("Escape")
    assert headings_without_link(lab) == {}
    with lab.page.context.expect_page() as opened:
        link.click()
    expect(opened.value.locator("#duplicate dt")).to_have_text("Duplicate")
    assert lab.troubles == []


def test_headings_of_a_group_lab_link_to_the_glossary(make_lab) -> None:
    lab = make_lab("groups-two-readers").open()
    lab.seek(11_000_000)
    assert headings_without_link(lab) == {}
    assert lab.troubles == []
