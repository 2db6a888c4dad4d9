"""axe finds nothing serious.

The lab with everything open, the gallery and the other pages, light and dark.
"""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect

from script.support.browsing import wait_until_at_rest
from tests.browser.conftest import Lab, fresh_context

SERIOUS = {"serious", "critical"}
THEMES = ("light", "dark")

WHOLE = "document"
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""The rules of axe that a theme can break: contrast, and links recognised only by their colour."""


def findings(page: Any, part: str = WHOLE, only: dict[str, Any] | None = None) -> list[str]:
    """What axe calls serious or critical on the page at rest, one line each with the element.

    The script is taken from the wheel, into this page only.
    """
    wait_until_at_rest(page)
    if not page.evaluate("() => Boolean(globalThis.axe)"):
        page.evaluate(AXE_SCRIPT)
    result = page.evaluate(
        (
            f"only => axe.run({part}, {{ resultTypes: ['violations'], ...(only ? {{ runOnly: only }} : {{}}) "
            f"}})"
        ),
        only,
    )
    return [
        (
            f"{violation['impact']} {violation['id']}: {node['html'][:160]} "
            f"({(node.get('failureSummary') or '').splitlines()[-1].strip()})"
        )
        for violation in result["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


def findings_in_both_themes(page: Any, part: str = WHOLE) -> list[str]:
    """By every rule in the light theme, by those about colours in the dark one, to which the page switches
    without a reload.
    """
    found = [f"light: {line}" for line in findings(page, part)]
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {line}" for line in findings(page, part, COLOURS)]
    page.emulate_media(color_scheme="light")
    return found


@pytest.fixture
def lab(make_lab):
    opened = make_lab("region-down", color_scheme="light", reduced_motion="reduce").open()
    opened.seek(5_300_000)
    yield opened.at_rest()
    assert opened.troubles == []


def open_things(lab: Lab):
    """Each state of the page in turn: what is open then, and how it is closed again."""
    page = lab.page
    yield "as it opens"
    page.keyboard.press("t")
    yield "this instant in words"
    page.keyboard.press("t")
    page.locator(".event").first.click()
    expect(page.locator("[data-part=lit]")).to_be_visible()
    yield "a lit cone"
    page.locator(".mark-button").last.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Inspector")).to_be_visible()
    yield "a look inside"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="us-west", exact=True).click()
    yield "the menu of a region"
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    yield "the failover dialog"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_text("Animation of a range").click()
    yield "the dialog that shares the lab"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    yield "the keys"
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.get_by_role("menuitem", name="Any command").click()
    yield "the form of a command"
    page.keyboard.press("Escape")
    page.evaluate(
        "() => failoverLab.link.command({ do: 'link.cut', link: 'us-east <-> us-west' }, { apart: true })"
    )
    lab.until("state.branches.length === 2")
    page.keyboard.press("y")
    yield "the branches"
    page.keyboard.press("Escape")
    for tab in page.get_by_role("tab").all():
        tab.click()
        yield f"the view {tab.inner_text()}"


def test_the_lab_with_everything_open_has_no_findings(lab):
    found = [f"{state}: {line}" for state in open_things(lab) for line in findings_in_both_themes(lab.page)]
    assert found == []


def test_a_phone_has_no_findings(make_lab):
    lab = make_lab(
        "region-down", viewport={"width": 390, "height": 844}, color_scheme="light", has_touch=True
    ).open()
    lab.seek(5_300_000)
    assert findings_in_both_themes(lab.page) == []


@pytest.mark.parametrize("path", ["/", "/my-set-up/", "/labs/", "/labs/nosuchlab/", "/nowhere/"])
def test_the_other_pages_have_no_findings(browser, site, path):
    context = fresh_context(browser, color_scheme="light")
    page = context.new_page()
    page.goto(f"{site.address}{path}")
    found = findings_in_both_themes(page)
    context.close()
    assert found == []


def test_a_planted_fault_is_detected(open_page):
    page = open_page("/")
    page.evaluate(
        "() => { const image = document.createElement('img'); image.src = "
        "'/static/icons/failover-lab.svg'; document.querySelector('main, body').append(image); }"
    )
    found = findings(page)
    assert any("image-alt" in line for line in found)


def test_a_planted_fault_of_one_theme_is_detected(open_page):
    page = open_page("/")
    plant = (
        "theme => { const sheet = new CSSStyleSheet(); sheet.replaceSync(`@media (prefers-color-scheme: "
        "${theme}) { h1 { color: #777 !important; background: #888 !important; } }`); "
        "document.adoptedStyleSheets = [sheet]; }"
    )
    for theme in THEMES:
        page.evaluate(plant, theme)
        found = findings_in_both_themes(page)
        assert found and all(line.startswith(f"{theme}: serious color-contrast") for line in found)
