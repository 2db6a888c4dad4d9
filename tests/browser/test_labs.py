"""A user's labs in a real browser.

Listed from the tokens it holds, shared by link, copied by a viewer, renamed, deleted.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from script.support.browsing import wait_until

AT_US = 5_840_000


@pytest.fixture
def lab(make_lab):
    opened = make_lab("region-down", permissions=["clipboard-read", "clipboard-write"]).open()
    opened.seek(AT_US)
    yield opened
    assert opened.troubles == []


def my_labs(lab: Any) -> Page:
    lab.page.goto(f"{lab.site.address}/labs/")
    expect(lab.page.get_by_text("Loading labs…")).to_have_count(0)
    lab.at_rest()
    return lab.page


def clipboard(page: Page) -> str:
    return page.evaluate("() => navigator.clipboard.readText()")


def test_a_lab_is_listed_only_in_a_browser_with_its_token(lab, make_lab):
    page = my_labs(lab)
    card = page.get_by_role("listitem").filter(
        has=page.get_by_role("link", name="Region crash: duplicates since the last snapshot")
    )
    expect(card).to_contain_text("region-down · seed 1 · at 5.840 s")
    expect(card).to_contain_text(re.compile("used (just now|.* ago), made"))
    canvas = card.locator("canvas")
    drawn = canvas.evaluate(
        "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size"
    )
    assert drawn > 20, "the picture is drawn"
    stranger = make_lab(of=lab)
    stranger.page.goto(f"{lab.site.address}/labs/")
    expect(stranger.page.get_by_text("No labs in this browser yet.")).to_be_visible()


@pytest.fixture
def allowed_refusal(lab):
    """A test that makes the server refuse expects one response of 400."""
    yield
    refused = [trouble for trouble in lab.troubles if "400" in trouble]
    assert refused
    for trouble in refused:
        lab.troubles.remove(trouble)


@pytest.mark.usefixtures("allowed_refusal")
def test_a_lab_is_renamed_in_place_with_the_keyboard(lab):
    page = my_labs(lab)
    page.get_by_role("button", name=re.compile("^Rename")).focus()
    page.keyboard.press("Enter")
    page.keyboard.type("Before the change")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Before the change")).to_be_visible()
    expect(page.get_by_role("button", name="Rename: Before the change")).to_be_focused()
    page.get_by_role("link", name="Before the change").click()
    expect(page.locator(".here b")).to_have_text("Before the change")
    page.go_back()
    page.get_by_role("button", name=re.compile("^Rename")).click()
    page.get_by_label("Title").fill(" ")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="no title")).to_be_visible()
    page.keyboard.press("Escape")


def test_deleting_names_what_is_lost_and_asks_for_confirmation(lab):
    lab.page.evaluate("() => failoverLab.link.command({ do: 'link.cut', link: 'us-east -> eu-central' })")
    lab.until("state.view.links['us-east -> eu-central'].state === 'cut'")
    page = my_labs(lab)
    page.get_by_role("button", name=re.compile("^Delete: ")).click()
    dialog = page.get_by_role(
        "dialog", name=re.compile("Delete “Region crash: duplicates since the last snapshot")
    )
    expect(dialog).to_contain_text("It is at 5.840 s; the 1 command given to it")
    expect(dialog.get_by_role("button", name="Keep it")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Region crash: duplicates since the last snapshot")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Delete: ")).click()
    dialog.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_text("No labs in this browser yet.")).to_be_visible()
    assert page.evaluate("() => Object.keys(localStorage).filter((key) => key.includes('token'))") == []


def test_the_owners_link_makes_another_browser_an_owner(lab, make_lab):
    lab.page.get_by_role("button", name="Share").click()
    dialog = lab.page.get_by_role("dialog", name="Share this lab")
    dialog.get_by_role("button", name="Copy", exact=True).first.click()
    expect(dialog.get_by_role("status")).to_have_text("The viewer's link is copied.")
    assert clipboard(lab.page) == lab.site.address + lab.made["url"]
    dialog.locator("[data-copy=owner-link]").click()
    expect(dialog).to_contain_text("It cannot be revoked.")
    wait_until(
        lab.page,
        "async token => (await navigator.clipboard.readText()).endsWith(`#token=${token}`)",
        lab.made["token"],
    )
    link = clipboard(lab.page)
    lab.page.keyboard.press("Escape")
    other = make_lab(of=lab)
    other.page.goto(link)
    wait_until(other.page, "() => globalThis.failoverLab?.getState().welcome?.owner === true")
    my_labs(other)
    expect(
        other.page.get_by_role("link", name="Region crash: duplicates since the last snapshot")
    ).to_be_visible()


def test_a_viewer_takes_a_copy_at_the_same_instant(lab, make_lab):
    viewer = make_lab(of=lab).open(owner=False)
    viewer.until(f"state.at_us === {AT_US}")
    viewer.page.get_by_role("button", name="Share").click()
    expect(viewer.page.get_by_label("Owner's link")).to_be_hidden()
    viewer.page.keyboard.press("Escape")
    before = viewer.state("JSON.stringify(state.view.clusters)")
    viewer.page.get_by_role("banner").get_by_role("button", name="Take a copy").click()
    viewer.page.wait_for_url(lambda url: lab.made["id"] not in url)
    wait_until(
        viewer.page,
        (
            "at_us => globalThis.failoverLab?.getState().view && globalThis.failoverLab.getState().at_us === "
            "at_us"
        ),
        AT_US,
    )
    assert viewer.state("state.welcome.owner") is True
    assert viewer.state("JSON.stringify(state.view.clusters)") == before
    viewer.page.keyboard.press("ArrowRight")
    viewer.until(f"state.at_us > {AT_US}")
    assert lab.state("state.at_us") == AT_US, "the other lab stays where it is"
    my_labs(viewer)
    expect(viewer.page.get_by_role("listitem").filter(has_text="region-down")).to_have_count(1)
    assert viewer.troubles == []


def test_an_owner_sees_no_button_for_viewers(lab):
    expect(lab.page.get_by_role("banner").get_by_role("button", name="Take a copy")).to_be_hidden()


@pytest.mark.parametrize("width", [360, 1440])
def test_the_list_fits_the_window(lab, width):
    page = my_labs(lab)
    page.set_viewport_size({"width": width, "height": 800})
    assert lab.at_rest().page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
